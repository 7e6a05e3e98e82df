// Every cell carries who wrote it and when, so races between blocks, and between threads of one
// barrier interval, are found and not merely possible. The blocks of a block group run in lockstep,
// as if they were one block, each with shared memory of its own.
#include "loop/execute.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "loop/execute_machine.h"
#include "loop/loop.h"

static void eval(struct machine *m, const struct loop_expr *e, union cell *v);

void machine_fail(struct machine *m, const struct loop_buffer *b, int64_t i, const char *what) {
    if (!m->failed)
        error_set(m->err, ERROR_PARSE, "%s[%lld] %s (it has %lld elements)", b->name, (long long)i,
                  what, (long long)b->count);
    m->failed = true;
}

// The cell that lane `lane` of element `i` is, or -1 after a failure.
static int64_t locate(struct machine *m, const struct loop_buffer *b, int64_t i, int lane) {
    if (i < 0 || i >= b->count) {
        machine_fail(m, b, i, "is out of bounds");
        return -1;
    }
    const struct memory *mem = &m->memory[b->id];
    int64_t of_block = mem->per_block ? mem->per_block * (m->thread / m->per_block) : 0;
    return mem->per_thread * m->thread + of_block + i * b->lanes + lane;
}

// The lanes of a variable of the thread whose turn it is.
static union cell *var_of(const struct machine *m, const struct loop_var *var) {
    return m->vars[var->id] + (int64_t)m->thread * var->lanes;
}

// The same where it may be bound for the first time.
static union cell *bind(struct machine *m, const struct loop_var *var) {
    if (!m->vars[var->id])
        m->vars[var->id] = arena_array(m->arena, union cell, (int64_t)m->threads_max * var->lanes);
    return var_of(m, var);
}

// Did the threads of this warp meet since?
static bool is_ordered(const struct machine *m, int warp, int sync) {
    return warp == m->thread / WARP && sync < m->syncs[warp];
}

static void touch_read(struct machine *m, const struct loop_buffer *b, int64_t i,
                       struct touch *touch) {
    int self = m->thread + 1, warp = m->thread / WARP;
    if (touch->writer && touch->writer != self && touch->write_epoch == m->epoch &&
        !is_ordered(m, (touch->writer - 1) / WARP, touch->write_sync))
        machine_fail(m, b, i, "is read by a thread before a barrier after another wrote it");
    bool first = touch->read_epoch != m->epoch || !touch->reader;
    touch->reader = first || touch->reader == self ? self : MANY;
    touch->read_warp = first || touch->read_warp == warp ? warp : MANY;
    touch->read_epoch = m->epoch;
    touch->read_sync = m->syncs[warp];
}

static void touch_write(struct machine *m, const struct loop_buffer *b, int64_t i,
                        struct touch *touch) {
    int self = m->thread + 1;
    if (touch->writer && touch->writer != self && touch->write_epoch == m->epoch &&
        !is_ordered(m, (touch->writer - 1) / WARP, touch->write_sync))
        machine_fail(m, b, i, "is written by two threads");
    if (touch->reader && touch->reader != self && touch->read_epoch == m->epoch &&
        !is_ordered(m, touch->read_warp, touch->read_sync))
        machine_fail(m, b, i, "is written by a thread before a barrier after another read it");
    touch->writer = self;
    touch->write_epoch = m->epoch;
    touch->write_sync = m->syncs[m->thread / WARP];
    touch->write_fence = m->fences[m->thread];
}

// The first element that shares a byte with this one, and how many do.
static int64_t first_in_byte(const struct loop_buffer *b, int64_t at, int64_t *n) {
    bool packed = b->space != LOOP_REGISTER && b->dtype == DTYPE_I4;
    int64_t first = packed ? at / 2 * 2 : at;
    *n = packed && first + 1 < b->count ? 2 : 1;
    return first;
}

// Who wrote the cell, as far as it is there: what earlier blocks left in memory of a block is not.
static int64_t writer_of(const struct machine *m, const struct loop_buffer *b, int64_t at) {
    int64_t writer = m->memory[b->id].writer[at];
    return b->space != LOOP_GLOBAL && writer > NOBODY && writer < m->first ? NOBODY : writer;
}

void machine_check_access(struct machine *m, const struct loop_buffer *b, int64_t i,
                          enum reach how) {
    if (b->space != LOOP_GLOBAL)
        return;
    m->does[b->id] |= how;
    if (!m->is_programmatic || m->has_waited[m->thread])
        return;
    if (m->in_flight[b->id] & (how == REACH_READS ? REACH_WRITES : REACH_READS | REACH_WRITES))
        machine_fail(m, b, i, "is touched by a thread that has not waited for the launch before");
}

union cell machine_read(struct machine *m, const struct loop_buffer *b, int64_t i, int lane) {
    struct memory *mem = &m->memory[b->id];
    int64_t at = locate(m, b, i, lane), n;
    if (at < 0)
        return (union cell){0};
    machine_check_access(m, b, i, REACH_READS);
    int64_t writer = writer_of(m, b, at);
    if (writer == UNDER_WAY)
        machine_fail(m, b, i, "is read while a copy to it is under way");
    if (writer == TAKEN_FROM)
        machine_fail(m, b, i, "is read while others take from it");
    if (writer == NOBODY)
        machine_fail(m, b, i, "is read before it is written");
    if (writer > BEFORE && writer != m->self)
        machine_fail(m, b, i, "is read while another block writes it");
    if (mem->touch)
        touch_read(m, b, i, &mem->touch[first_in_byte(b, at, &n)]);
    return b->space == LOOP_REGISTER ? ((union cell *)mem->bytes)[at]
                                     : cell_get(b->dtype, mem->bytes, at);
}

void machine_write(struct machine *m, const struct loop_buffer *b, int64_t i, int lane,
                   union cell value) {
    struct memory *mem = &m->memory[b->id];
    int64_t at = locate(m, b, i, lane), n;
    if (at < 0)
        return;
    machine_check_access(m, b, i, REACH_WRITES);
    if (b->space == LOOP_GLOBAL && b->role == LOOP_INPUT)
        machine_fail(m, b, i, "is an input and cannot be written");
    if (mem->writer[at] == UNDER_WAY)
        machine_fail(m, b, i, "is written while a copy to it is under way");
    if (mem->writer[at] == TAKEN_FROM)
        machine_fail(m, b, i, "is written while others take from it");
    if (b->space == LOOP_SHARED && async_is_read(m, b, i))
        machine_fail(m, b, i, "is written while a product reads it");
    int64_t first = first_in_byte(b, at, &n);
    for (int64_t j = first; j < first + n; j++)
        if (writer_of(m, b, j) > BEFORE && mem->writer[j] != m->self)
            machine_fail(m, b, i, "is written by two blocks");
    if (mem->touch)
        touch_write(m, b, i, &mem->touch[first]);
    if (b->space == LOOP_REGISTER)
        ((union cell *)mem->bytes)[at] = value;
    else if (!m->failed)
        cell_put(b->dtype, mem->bytes, at, value);
    mem->writer[at] = m->self;
}

int32_t machine_take(struct machine *m, const struct loop_buffer *b, int64_t i, int32_t more) {
    struct memory *mem = &m->memory[b->id];
    int64_t at = locate(m, b, i, 0);
    if (at < 0)
        return 0;
    machine_check_access(m, b, i, REACH_WRITES);
    if (mem->writer[at] != BEFORE && mem->writer[at] != TAKEN_FROM)
        machine_fail(m, b, i, "is taken from, and was not written by an earlier launch");
    int32_t had = (int32_t)cell_get(b->dtype, mem->bytes, at).whole;
    cell_put(b->dtype, mem->bytes, at,
             (union cell){.whole = (int32_t)((uint32_t)had + (uint32_t)more)});
    mem->writer[at] = TAKEN_FROM;
    return had;
}

void machine_add(struct machine *m, const struct loop_buffer *b, int64_t i, double value) {
    struct memory *mem = &m->memory[b->id];
    int64_t at = locate(m, b, i, 0);
    if (at < 0)
        return;
    struct touch *touch = &mem->touch[at];
    if (touch->writer == ADDERS && touch->write_epoch == m->epoch)
        touch->writer = m->thread + 1;
    double sum = machine_read(m, b, i, 0).real + value;
    machine_write(m, b, i, 0, (union cell){.real = (double)(float)sum});
    touch->writer = ADDERS;
    touch->reader = 0;
}

static bool is_across(enum loop_op op) {
    return op >= LOOP_LANES_SUM && op <= LOOP_LANES_ALL;
}

static union cell eval_one(struct machine *m, const struct loop_expr *e);

// Most of what is evaluated is sums and products of indices.
static bool is_index_arithmetic(const struct loop_expr *e) {
    return e->dtype == LOOP_INDEX && (e->op == LOOP_ADD || e->op == LOOP_SUB || e->op == LOOP_MUL);
}

static union cell index_arithmetic(struct machine *m, const struct loop_expr *e) {
    uint64_t x = (uint64_t)eval_one(m, e->arg[0]).whole;
    uint64_t y = (uint64_t)eval_one(m, e->arg[1]).whole;
    uint64_t z = e->op == LOOP_ADD ? x + y : e->op == LOOP_SUB ? x - y : x * y;
    return (union cell){.whole = (int64_t)z};
}

// Nearly all of it has one lane: that way copies no vectors.
static union cell eval_one(struct machine *m, const struct loop_expr *e) {
    assert(e->lanes == 1);
    if (e->op == LOOP_CONST)
        return cell_is_real(e->dtype) ? (union cell){.real = e->real}
                                      : (union cell){.whole = e->integer};
    if (e->op == LOOP_VAR)
        return var_of(m, e->var)[0];
    if (is_index_arithmetic(e))
        return index_arithmetic(m, e);
    if (e->op == LOOP_LOAD)
        return machine_read(m, e->buffer, machine_index(m, e->arg[0]), 0);
    if (e->op == LOOP_SELECT)
        return eval_one(m, e->arg[eval_one(m, e->arg[0]).whole ? 1 : 2]);
    if (e->arg[0]->lanes > 1) {
        union cell v[LANES_MAX];
        eval(m, e->arg[0], v);
        if (e->op != LOOP_LANE)
            return cell_across(e->op, e->dtype, v, e->arg[0]->lanes);
        int64_t lane = machine_index(m, e->arg[1]);
        assert(lane >= 0 && lane < e->arg[0]->lanes);
        return v[lane];
    }
    union cell arg[3] = {{0}};
    for (int i = 0; i < loop_ops[e->op].arity; i++)
        arg[i] = eval_one(m, e->arg[i]);
    if (e->op == LOOP_LANES_BEFORE_SUM || e->op == LOOP_LANES_BEFORE_PROD) {
        cell_exclusive_scan(e->op == LOOP_LANES_BEFORE_SUM ? LOOP_ADD : LOOP_MUL, e->dtype, arg, 1,
                            arg);
        return arg[0];
    }
    bool is_itself = e->op == LOOP_BROADCAST || e->op == LOOP_LANE || is_across(e->op) ||
                     e->op == LOOP_LANES_REVERSED;
    return is_itself ? arg[0] : cell_apply(e, e->arg[0]->dtype, arg);
}

int64_t machine_index(struct machine *m, const struct loop_expr *e) {
    assert(e->dtype == LOOP_INDEX);
    return eval_one(m, e).whole;
}

static void load(struct machine *m, const struct loop_expr *e, union cell *v) {
    int64_t i = machine_index(m, e->arg[0]);
    bool in_register = e->buffer->space == LOOP_REGISTER;
    for (int l = 0; l < e->lanes; l++)
        v[l] = in_register ? machine_read(m, e->buffer, i, l)
                           : machine_read(m, e->buffer, i + l * e->stride, 0);
}

// What kind of operation it is by element, lane for lane.
static void apply(const struct loop_expr *e, union cell (*arg)[LANES_MAX], union cell *v) {
    enum loop_dtype type = e->arg[0]->dtype;
    int arity = loop_ops[e->op].arity;
    for (int l = 0; l < e->lanes; l++) {
        union cell operands[3] = {{0}};
        for (int i = 0; i < arity; i++)
            operands[i] = arg[i][l];
        v[l] = cell_apply(e, type, operands);
    }
}

// Runs of two vectors in turns.
static void interleave(const struct loop_expr *e, union cell (*arg)[LANES_MAX], union cell *v) {
    int64_t run = e->stride, skip = e->op == LOOP_LANES_ODD ? run : 0;
    for (int64_t l = 0; l < e->lanes; l++) {
        int64_t turn = l / run % 2;
        v[l] = arg[turn][l - turn * run + skip];
    }
}

// As many lanes of *v as the expression has.
static void eval(struct machine *m, const struct loop_expr *e, union cell *v) {
    union cell arg[3][LANES_MAX];
    if (e->lanes == 1) {
        v[0] = eval_one(m, e);
        return;
    }
    if (e->op == LOOP_VAR) {
        memcpy(v, var_of(m, e->var), sizeof(union cell) * (size_t)e->lanes);
        return;
    }
    if (e->op == LOOP_LOAD) {
        load(m, e, v);
        return;
    }
    for (int i = 0; i < loop_ops[e->op].arity; i++)
        eval(m, e->arg[i], arg[i]);
    if (e->op == LOOP_BROADCAST) {
        for (int l = 0; l < e->lanes; l++)
            v[l] = arg[0][0];
    } else if (e->op == LOOP_LANES_REVERSED) {
        for (int l = 0; l < e->lanes; l++)
            v[l] = arg[0][e->lanes - 1 - l];
    } else if (e->op == LOOP_LANES_EVEN || e->op == LOOP_LANES_ODD) {
        interleave(e, arg, v);
    } else if (e->op == LOOP_LANES_SLID) {
        for (int l = 0; l < e->lanes; l++)
            v[l] = l < e->stride ? arg[0][e->lanes - e->stride + l] : arg[1][l - e->stride];
    } else if (e->op == LOOP_LANES_BEFORE_SUM || e->op == LOOP_LANES_BEFORE_PROD) {
        cell_exclusive_scan(e->op == LOOP_LANES_BEFORE_SUM ? LOOP_ADD : LOOP_MUL, e->dtype, arg[0],
                            e->lanes, v);
    } else {
        apply(e, arg, v);
    }
}

static void run_block(struct machine *m, const struct loop_block *block, const bool *active);

void machine_yield(struct machine *m, int thread) {
    m->thread = thread;
    m->self = m->first + (m->n_threads == m->per_block ? 0 : thread / m->per_block);
}

static void run_store(struct machine *m, const struct loop_stmt *s) {
    int64_t at = machine_index(m, s->index);
    union cell v[LANES_MAX];
    eval(m, s->value, v);
    bool in_register = s->buffer->space == LOOP_REGISTER;
    for (int l = 0; l < s->value->lanes; l++)
        machine_write(m, s->buffer, in_register ? at : at + l, in_register ? l : 0, v[l]);
    // Streaming stores trap where they are not aligned; every buffer begins aligned.
    if (s->stream && at % s->value->lanes != 0)
        machine_fail(m, s->buffer, at, "is streamed to but not aligned");
}

bool machine_any(const struct machine *m, const bool *active) {
    for (int t = 0; t < m->n_threads; t++)
        if (active[t])
            return true;
    return false;
}

static bool *copy_mask(const struct machine *m, const bool *active) {
    bool *copy = malloc((size_t)m->n_threads);
    assert(copy);
    memcpy(copy, active, (size_t)m->n_threads);
    return copy;
}

static void run_for(struct machine *m, const struct loop_stmt *s, const bool *outer) {
    bool *active = copy_mask(m, outer);
    for (int64_t step = 0; !m->failed; step++) {
        for (int t = 0; t < m->n_threads; t++) {
            machine_yield(m, t);
            if (!active[t])
                continue;
            union cell *var = bind(m, s->var);
            int64_t i = step == 0 ? machine_index(m, s->begin) : var->whole + s->step;
            // The end may not change while the loop runs: no index does.
            active[t] = i < machine_index(m, s->end);
            var->whole = i;
        }
        if (!machine_any(m, active))
            break;
        run_block(m, &s->body, active);
    }
    free(active);
}

static void run_if(struct machine *m, const struct loop_stmt *s, const bool *outer) {
    bool *active = copy_mask(m, outer);
    for (int t = 0; t < m->n_threads; t++) {
        machine_yield(m, t);
        active[t] = active[t] && machine_index(m, s->low) < machine_index(m, s->high);
    }
    if (machine_any(m, active))
        run_block(m, &s->body, active);
    free(active);
}

static enum loop_op lanes_op(enum loop_op op) {
    return op - LOOP_WARP_SUM + LOOP_LANES_SUM;
}

// What thread number `i` of a warp gets.
static union cell across_warp(const struct loop_expr *e, const union cell *lane, int i) {
    union cell before[WARP];
    if (e->op == LOOP_WARP_LAST)
        return lane[WARP - 1];
    if (e->op != LOOP_WARP_BEFORE_SUM && e->op != LOOP_WARP_BEFORE_PROD)
        return cell_across(lanes_op(e->op), e->dtype, lane, WARP);
    cell_exclusive_scan(e->op == LOOP_WARP_BEFORE_SUM ? LOOP_ADD : LOOP_MUL, e->dtype, lane, WARP,
                        before);
    return before[i];
}

static void run_warps(struct machine *m, const struct loop_stmt *s, const bool *active) {
    for (int first = 0; first < m->n_threads; first += WARP) {
        union cell lane[WARP];
        int n = 0;
        for (int i = 0; i < WARP; i++) {
            machine_yield(m, first + i);
            n += active[first + i];
            if (active[first + i])
                lane[i] = eval_one(m, s->value->arg[0]);
        }
        if (n != 0 && n != WARP && !m->failed)
            m->failed = !error_set(m->err, ERROR_PARSE, "%s: only %d threads of a warp take part",
                                   s->var->name, n);
        for (int i = 0; i < WARP && n == WARP; i++) {
            machine_yield(m, first + i);
            bind(m, s->var)[0] = across_warp(s->value, lane, i);
        }
    }
}

static void run_barrier(struct machine *m, const bool *active) {
    for (int t = 0; t < m->n_threads; t++)
        if (!active[t] && !m->failed)
            m->failed = !error_set(m->err, ERROR_PARSE, "thread %d does not come to a barrier", t);
    m->epoch++;
}

// What the blocks of the block group wrote is there for all of them.
static void run_group_barrier(struct machine *m, const bool *active) {
    run_barrier(m, active);
    m->met = m->epoch;
    int64_t last = m->first + m->n_threads / m->per_block - 1;
    for (int i = 0; i < m->program->n_buffers; i++) {
        struct memory *mem = &m->memory[i];
        if (m->program->buffers[i]->space != LOOP_GLOBAL)
            continue;
        for (int64_t j = 0; j < mem->count; j++)
            if (mem->writer[j] >= m->first && mem->writer[j] <= last)
                mem->writer[j] = BEFORE;
    }
}

static void run_stmt(struct machine *m, const struct loop_stmt *s, const bool *active) {
    switch (s->kind) {
    case LOOP_FOR:
        run_for(m, s, active);
        return;
    case LOOP_IF:
        run_if(m, s, active);
        return;
    case LOOP_BARRIER:
        run_barrier(m, active);
        return;
    case LOOP_GROUP_BARRIER:
        run_group_barrier(m, active);
        return;
    case LOOP_INTRINSIC:
        execute_intrinsic(m, s, active);
        return;
    case LOOP_PREFETCH:
    case LOOP_NOTE:
        return;
    case LOOP_LET:
        if (s->value->op >= LOOP_WARP_SUM && s->value->op <= LOOP_WARP_LAST) {
            run_warps(m, s, active);
            return;
        }
        break;
    case LOOP_STORE:
        break;
    }
    for (int t = 0; t < m->n_threads && !m->failed; t++) {
        machine_yield(m, t);
        if (active[t] && s->kind == LOOP_LET)
            eval(m, s->value, bind(m, s->var));
        else if (active[t])
            run_store(m, s);
    }
}

static void run_block(struct machine *m, const struct loop_block *block, const bool *active) {
    for (const struct loop_stmt *s = block->first; s && !m->failed; s = s->next) {
        if (s->is_role)
            s = roles_run(m, s, active);
        else
            run_stmt(m, s, active);
    }
}

void machine_run(struct machine *m, const struct loop_stmt *s, const bool *active) {
    run_stmt(m, s, active);
}

static int blocks_per_group(const struct loop_kernel *k) {
    return k->blocks_per_group ? k->blocks_per_group : 1;
}

static void run_block_group(struct machine *m, const struct loop_kernel *k, int64_t group,
                            const bool *active) {
    int64_t block = group * blocks_per_group(k);
    m->first = BEFORE + 1 + block;
    m->epoch++;  // what was touched in earlier blocks is of earlier epochs
    flights_clear(m);
    for (int t = 0; t < m->n_threads; t++) {
        machine_yield(m, t);
        bind(m, k->block)->whole = block + t / m->per_block;
        if (k->threads)
            bind(m, k->thread)->whole = t % m->per_block;
    }
    for (int i = 0; i < m->program->n_buffers && m->had_flights; i++)
        if (m->program->buffers[i]->space != LOOP_GLOBAL)
            memset(m->memory[i].writer, 0, sizeof(int64_t) * (size_t)m->memory[i].count);
    m->had_flights = false;
    async_begin(m);
    memset(m->has_waited, 0, (size_t)m->n_threads);
    run_block(m, &k->body, active);
    async_end(m);
    for (int t = 0; t < m->n_threads && k->is_programmatic && !m->failed; t++)
        if (!m->has_waited[t])
            m->failed =
                !error_set(m->err, ERROR_PARSE,
                           "%s: thread %d ends without waiting for the launch before", k->name, t);
}

// What this launch wrote is there for the next.
static void end_launch(struct machine *m) {
    for (int i = 0; i < m->program->n_buffers; i++)
        for (int64_t j = 0; j < m->memory[i].count; j++)
            if (m->memory[i].writer[j] > BEFORE || m->memory[i].writer[j] == TAKEN_FROM)
                m->memory[i].writer[j] = BEFORE;
}

// Launches that have ended are in flight no more: those before one that does not begin early.
static void begin_launch(struct machine *m, const struct loop_kernel *k) {
    size_t n = (size_t)m->program->n_buffers;
    m->is_programmatic = k->is_programmatic;
    for (size_t i = 0; i < n; i++)
        m->in_flight[i] = k->is_programmatic ? m->in_flight[i] | m->does[i] : 0;
    memset(m->does, 0, n);
}

static void run_kernel(struct machine *m, const struct loop_kernel *k) {
    begin_launch(m, k);
    if (k->call) {
        execute_call(m, k);
        end_launch(m);
        return;
    }
    machine_yield(m, 0);
    int64_t grid = machine_index(m, k->grid);
    m->per_block = k->threads ? k->threads : 1;
    m->n_threads = m->per_block * blocks_per_group(k);
    assert(grid % blocks_per_group(k) == 0);
    bool *active = malloc((size_t)m->n_threads);
    assert(active);
    memset(active, true, (size_t)m->n_threads);
    for (int64_t g = 0; g < grid / blocks_per_group(k) && !m->failed; g++)
        run_block_group(m, k, g, active);
    free(active);
    end_launch(m);
}

static int most_threads(const struct loop_program *p) {
    int most = 1;
    for (int i = 0; i < p->n_kernels; i++)
        if (p->kernels[i]->threads * blocks_per_group(p->kernels[i]) > most)
            most = p->kernels[i]->threads * blocks_per_group(p->kernels[i]);
    return most;
}

static int most_blocks(const struct loop_program *p) {
    int most = 1;
    for (int i = 0; i < p->n_kernels; i++)
        most = blocks_per_group(p->kernels[i]) > most ? blocks_per_group(p->kernels[i]) : most;
    return most;
}

static void make_memory(struct machine *m, struct arena *a, const struct loop_buffer *b, void *data,
                        int threads) {
    struct memory *mem = &m->memory[b->id];
    bool given = b->space == LOOP_GLOBAL && b->role != LOOP_SCRATCH;
    assert(!given || data);
    mem->count = b->count * b->lanes;
    if (b->space == LOOP_REGISTER) {
        mem->per_thread = mem->count;
        mem->count *= threads;
    } else if (b->space == LOOP_SHARED) {
        mem->per_block = mem->count;
        mem->count *= most_blocks(m->program);
    }
    if (b->space != LOOP_REGISTER && threads > 1 && !(given && b->role == LOOP_INPUT)) {
        mem->touch = arena_array(a, struct touch, mem->count);
    }
    mem->writer = arena_array(a, int64_t, mem->count);
    int64_t bytes = b->space == LOOP_REGISTER ? mem->count * (int64_t)sizeof(union cell)
                                              : dtype_size(b->dtype, mem->count);
    mem->bytes = given ? data : arena_array(a, char, bytes);
    // Memory of an arena is zeroed.
    bool is_there = (given && b->role == LOOP_INPUT) || b->is_zeroed;
    if (is_there)
        for (int64_t j = 0; j < mem->count; j++)
            mem->writer[j] = BEFORE;
}

bool execute(const struct loop_program *p, void *const *data, struct error *err) {
    struct arena a = {0};
    int threads = most_threads(p);
    struct machine m = {.program = p,
                        .err = err,
                        .n_threads = 1,
                        .per_block = 1,
                        .arena = &a,
                        .threads_max = threads};
    m.memory = arena_array(&a, struct memory, p->n_buffers);
    m.vars = arena_array(&a, union cell *, p->n_vars);
    for (int i = 0; i < p->n_buffers; i++)
        make_memory(&m, &a, p->buffers[i], data[i], threads);
    m.flights = arena_array(&a, struct flight, threads);
    m.syncs = arena_array(&a, int, threads / WARP + 1);
    m.fences = arena_array(&a, int, threads);
    m.has_waited = arena_array(&a, bool, threads);
    m.in_flight = arena_array(&a, unsigned char, p->n_buffers);
    m.does = arena_array(&a, unsigned char, p->n_buffers);
    for (int i = 0; i < p->n_kernels && !m.failed; i++)
        run_kernel(&m, p->kernels[i]);
    flights_free(&m, threads);
    async_free(&m);
    arena_reset(&a);
    return !m.failed;
}
