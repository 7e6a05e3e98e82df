#include "loop/execute.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "loop/loop.h"

struct value {
    float lane[LANES_MAX];  // LOOP_F32; LOOP_MASK: 0 or 1
    int64_t index;          // LOOP_INDEX
};

// Who wrote an element: nobody, or (launch, block) as one number.
enum { NOBODY = 0, BEFORE = 1 };  // BEFORE: input data, or an earlier launch

struct memory {
    float *element;
    int64_t *writer;  // per element
    int64_t count;    // floats: elements times lanes
};

struct machine {
    const struct loop_program *program;
    struct memory *memory;  // by buffer id
    struct value *var;      // by variable id
    int64_t self;           // this block as a writer
    struct error *err;
    bool failed;
};

static struct value eval(struct machine *m, const struct loop_expr *e);

static void fail(struct machine *m, const struct loop_buffer *b, int64_t i, const char *what) {
    if (!m->failed)
        error_set(m->err, ERROR_PARSE, "%s[%lld] %s (it has %lld elements)", b->name, (long long)i,
                  what, (long long)b->count);
    m->failed = true;
}

// The float that lane `lane` of element `i` is, or NULL after a failure.
static int64_t locate(struct machine *m, const struct loop_buffer *b, int64_t i, int lane) {
    if (i < 0 || i >= b->count) {
        fail(m, b, i, "is out of bounds");
        return -1;
    }
    return i * b->lanes + lane;
}

static float read_element(struct machine *m, const struct loop_buffer *b, int64_t i, int lane) {
    struct memory *mem = &m->memory[b->id];
    int64_t at = locate(m, b, i, lane);
    if (at < 0)
        return NAN;
    if (mem->writer[at] == NOBODY)
        fail(m, b, i, "is read before it is written");
    if (mem->writer[at] != BEFORE && mem->writer[at] != m->self)
        fail(m, b, i, "is read while another block writes it");
    return mem->element[at];
}

static void write_element(struct machine *m, const struct loop_buffer *b, int64_t i, int lane,
                          float value) {
    struct memory *mem = &m->memory[b->id];
    int64_t at = locate(m, b, i, lane);
    if (at < 0)
        return;
    if (b->space == LOOP_GLOBAL && b->role == LOOP_INPUT)
        fail(m, b, i, "is an input and cannot be written");
    if (mem->writer[at] > BEFORE && mem->writer[at] != m->self)
        fail(m, b, i, "is written by two blocks");
    mem->element[at] = value;
    mem->writer[at] = m->self;
}

static struct value load(struct machine *m, const struct loop_expr *e) {
    struct value v = {{0}, 0};
    int64_t i = eval(m, e->arg[0]).index;
    bool in_register = e->buffer->space == LOOP_REGISTER;
    for (int l = 0; l < e->lanes; l++)
        v.lane[l] = in_register ? read_element(m, e->buffer, i, l)
                                : read_element(m, e->buffer, i + l * e->stride, 0);
    return v;
}

static int64_t index_op(enum loop_op op, int64_t x, int64_t y) {
    switch (op) {
    case LOOP_ADD:
        return x + y;
    case LOOP_SUB:
        return x - y;
    case LOOP_MUL:
        return x * y;
    case LOOP_DIV:
        return x / y;
    case LOOP_MOD:
        return x % y;
    case LOOP_MIN:
        return x < y ? x : y;
    default:
        assert(op == LOOP_MAX);
        return x > y ? x : y;
    }
}

static float larger(float x, float y) {
    return x != x || x > y ? x : y;
}

static float smaller(float x, float y) {
    return x != x || x < y ? x : y;
}

static float float_op(enum loop_op op, float x, float y, float z) {
    switch (op) {
    case LOOP_ADD:
        return x + y;
    case LOOP_SUB:
        return x - y;
    case LOOP_MUL:
        return x * y;
    case LOOP_DIV:
        return x / y;
    case LOOP_MIN:
        return smaller(x, y);
    case LOOP_MAX:
        return larger(x, y);
    case LOOP_NEG:
        return -x;
    case LOOP_ABS:
        return fabsf(x);
    case LOOP_LT:
        return x < y;
    case LOOP_LE:
        return x <= y;
    case LOOP_EQ:
        return x == y;
    case LOOP_SELECT:
        return x != 0 ? y : z;
    case LOOP_FMA:
        return fmaf(x, y, z);
    case LOOP_EXP:
        return expf(x);
    case LOOP_LOG:
        return logf(x);
    case LOOP_SQRT:
        return sqrtf(x);
    case LOOP_RSQRT:
        return 1 / sqrtf(x);
    case LOOP_TANH:
        return tanhf(x);
    default:
        assert(op == LOOP_ERF);
        return erff(x);
    }
}

// Across lanes, halves first, as hone_math.h does it.
static float across(enum loop_op op, const float *lane, int lanes) {
    if (lanes == 1)
        return lane[0];
    float x = across(op, lane, lanes / 2), y = across(op, lane + lanes / 2, lanes / 2);
    switch (op) {
    case LOOP_LANES_SUM:
        return x + y;
    case LOOP_LANES_PROD:
        return x * y;
    case LOOP_LANES_MIN:
        return smaller(x, y);
    default:
        return larger(x, y);
    }
}

static struct value eval(struct machine *m, const struct loop_expr *e) {
    struct value v = {{0}, 0};
    if (e->op == LOOP_CONST) {
        v.index = e->integer;
        v.lane[0] = (float)e->real;
        return v;
    }
    if (e->op == LOOP_VAR)
        return m->var[e->var->id];
    if (e->op == LOOP_LOAD)
        return load(m, e);

    struct value arg[3] = {0};
    for (int i = 0; i < loop_ops[e->op].arity; i++)
        arg[i] = eval(m, e->arg[i]);
    if (e->dtype == LOOP_INDEX) {
        v.index = index_op(e->op, arg[0].index, arg[1].index);
    } else if (e->op == LOOP_BROADCAST) {
        for (int l = 0; l < e->lanes; l++)
            v.lane[l] = arg[0].lane[0];
    } else if (e->op >= LOOP_LANES_SUM && e->op <= LOOP_LANES_MAX) {
        v.lane[0] = across(e->op, arg[0].lane, e->arg[0]->lanes);
    } else {
        for (int l = 0; l < e->lanes; l++)
            v.lane[l] = float_op(e->op, arg[0].lane[l], arg[1].lane[l], arg[2].lane[l]);
    }
    return v;
}

static void run_block(struct machine *m, const struct loop_block *block);

static void run_store(struct machine *m, const struct loop_stmt *s) {
    int64_t at = eval(m, s->index).index;
    struct value v = eval(m, s->value);
    bool in_register = s->buffer->space == LOOP_REGISTER;
    for (int l = 0; l < s->value->lanes; l++)
        write_element(m, s->buffer, in_register ? at : at + l, in_register ? l : 0, v.lane[l]);
    // Streaming stores trap where they are not aligned; every buffer begins aligned.
    if (s->stream && at % s->value->lanes != 0)
        fail(m, s->buffer, at, "is streamed to but not aligned");
}

static void run_stmt(struct machine *m, const struct loop_stmt *s) {
    switch (s->kind) {
    case LOOP_FOR: {
        int64_t end = eval(m, s->end).index;
        for (int64_t i = eval(m, s->begin).index; i < end && !m->failed; i += s->step) {
            m->var[s->var->id].index = i;
            run_block(m, &s->body);
        }
        break;
    }
    case LOOP_IF:
        if (eval(m, s->low).index < eval(m, s->high).index)
            run_block(m, &s->body);
        break;
    case LOOP_LET:
        m->var[s->var->id] = eval(m, s->value);
        break;
    case LOOP_STORE:
        run_store(m, s);
        break;
    case LOOP_PREFETCH:
    case LOOP_NOTE:
        break;
    }
}

static void run_block(struct machine *m, const struct loop_block *block) {
    for (const struct loop_stmt *s = block->first; s && !m->failed; s = s->next)
        run_stmt(m, s);
}

static void forget(struct memory *mem) {
    memset(mem->writer, 0, sizeof *mem->writer * (size_t)mem->count);
}

static void run_kernel(struct machine *m, const struct loop_kernel *k) {
    int64_t grid = eval(m, k->grid).index;
    for (int64_t b = 0; b < grid && !m->failed; b++) {
        m->self = BEFORE + 1 + b;
        m->var[k->block->id].index = b;
        for (int i = 0; i < m->program->n_buffers; i++)
            if (m->program->buffers[i]->space != LOOP_GLOBAL)
                forget(&m->memory[i]);
        run_block(m, &k->body);
    }
    // What this launch wrote is there for the next.
    for (int i = 0; i < m->program->n_buffers; i++)
        for (int64_t j = 0; j < m->memory[i].count; j++)
            if (m->memory[i].writer[j] != NOBODY)
                m->memory[i].writer[j] = BEFORE;
}

bool execute(const struct loop_program *p, float *const *data, struct error *err) {
    struct arena a = {0};
    struct machine m = {.program = p, .err = err};
    m.memory = arena_array(&a, struct memory, p->n_buffers);
    m.var = arena_array(&a, struct value, p->n_vars);
    for (int i = 0; i < p->n_buffers; i++) {
        const struct loop_buffer *b = p->buffers[i];
        struct memory *mem = &m.memory[i];
        mem->count = b->count * b->lanes;
        mem->writer = arena_array(&a, int64_t, mem->count);
        bool given = b->space == LOOP_GLOBAL && b->role != LOOP_SCRATCH;
        assert(!given || data[i]);
        mem->element = given ? data[i] : arena_array(&a, float, mem->count);
        if (given && b->role == LOOP_INPUT)
            for (int64_t j = 0; j < mem->count; j++)
                mem->writer[j] = BEFORE;
    }
    for (int i = 0; i < p->n_kernels && !m.failed; i++)
        run_kernel(&m, p->kernels[i]);
    arena_reset(&a);
    return !m.failed;
}
