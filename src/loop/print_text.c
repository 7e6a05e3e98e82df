// Expressions with as few parentheses as C's precedence needs, statements, and the choice of int or
// int64_t for each index.
#include "loop/print_text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "ir/cutlass.h"
#include "loop/loop_call.h"
#include "loop/range.h"

static bool is_in_use(const struct printer *p, const char *name) {
    for (int i = 0; i < p->n_scope; i++)
        if (strcmp(p->scope[i].name, name) == 0)
            return true;
    return loop_name_is_taken(p->program, name);
}

void text_bind(struct printer *p, const struct loop_var *var, const char *name) {
    if (p->n_scope == p->cap_scope) {
        struct text_name *scope = arena_array(p->arena, struct text_name, p->cap_scope * 2 + 64);
        if (p->n_scope > 0)
            memcpy(scope, p->scope, sizeof *scope * (size_t)p->n_scope);
        p->scope = scope;
        p->cap_scope = p->cap_scope * 2 + 64;
    }
    p->scope[p->n_scope++] = (struct text_name){var, name};
}

const char *text_declare(struct printer *p, const struct loop_var *var, const char *stem) {
    stem = loop_identifier(p->arena, stem);
    const char *name = stem;
    // A value next to the array that it is an element of.
    if (loop_name_is_taken(p->program, name))
        name = arena_printf(p->arena, "%s_v", stem);
    for (int i = 2; is_in_use(p, name); i++)
        name = arena_printf(p->arena, "%s_%d", stem, i);
    text_bind(p, var, name);
    return name;
}

static const char *name_of(const struct printer *p, const struct loop_var *var) {
    for (int i = p->n_scope - 1; i >= 0; i--)
        if (p->scope[i].var == var)
            return p->scope[i].name;
    assert(!"variable is in scope");
    return "";
}

static bool fits_int(int64_t low, int64_t high) {
    return low >= INT32_MIN && high <= INT32_MAX;
}

const char *text_index_type(const struct printer *p, int64_t low, int64_t high) {
    return p->is_cuda && fits_int(low, high) ? "int" : "long";
}

const char *text_register(struct printer *p, const struct loop_buffer *b, int64_t i) {
    if (b->count == 1)
        return b->name;
    return arena_printf(p->arena, p->is_cuda ? "%s[%lld]" : "%s_%lld", b->name, (long long)i);
}

// One operand of two, the other a vector: C brings a scalar to the vector's lanes by itself.
static void operand(struct printer *p, const struct loop_expr *e, const struct loop_expr *other,
                    int bind) {
    bool implicit = e->op == LOOP_BROADCAST && other->op != LOOP_BROADCAST;
    text_expr(p, implicit ? e->arg[0] : e, bind);
}

bool text_is_wide(const struct printer *p, const struct loop_expr *e) {
    struct range r = range_of(e);
    bool is_named = e->op == LOOP_VAR || e->op == LOOP_TO_INDEX;
    if (!fits_int(r.low, r.high) || (is_named && !p->is_cuda))
        return true;
    if (e->op == LOOP_TO_INDEX)
        return false;
    for (int i = 0; i < loop_ops[e->op].arity; i++)
        if (text_is_wide(p, e->arg[i]))
            return true;
    return false;
}

// Both operands are ints, but the result needs more: sizes are ints in C, and so are most
// indices in CUDA.
static bool needs_widening(const struct printer *p, const struct loop_expr *e) {
    int64_t v;
    if (p->in_plan || e->dtype != LOOP_INDEX || text_is_wide(p, e->arg[0]) ||
        text_is_wide(p, e->arg[1]))
        return false;
    return p->is_cuda ? text_is_wide(p, e)
                      : e->op == LOOP_MUL && range_constant(e, &v) && v > INT32_MAX;
}

static void infix(struct printer *p, const struct loop_expr *e, int own, int bind) {
    const struct loop_expr *x = e->arg[0], *y = e->arg[1];
    bool parens = own < bind;
    if (parens)
        str_puts(&p->out, "(");
    bool widens = needs_widening(p, e);
    str_puts(&p->out, widens ? "(long)" : "");
    operand(p, x, y, widens ? BIND_UNARY : own);
    str_printf(&p->out, " %s ", loop_ops[e->op].text);
    // Sums of indices need no order, unless ints would be added before the wide one among them;
    // floats keep theirs, and so do - / %.
    bool free_order = e->op == LOOP_ADD && e->dtype == LOOP_INDEX &&
                      (!p->is_cuda || text_is_wide(p, x) || !text_is_wide(p, y));
    operand(p, y, x, free_order ? own : own + 1);
    if (parens)
        str_puts(&p->out, ")");
}

// min, max and select of indices and scalars have no operator but ?:.
static void choose(struct printer *p, const struct loop_expr *e) {
    const struct loop_expr *x = e->arg[0], *y = e->arg[1];
    str_puts(&p->out, "(");
    if (e->op == LOOP_SELECT) {
        text_expr(p, x, BIND_COMPARE);
        str_puts(&p->out, " ? ");
        text_expr(p, y, BIND_COMPARE);
        str_puts(&p->out, " : ");
        text_expr(p, e->arg[2], BIND_COMPARE);
    } else {
        text_expr(p, x, BIND_ADD);
        str_puts(&p->out, e->op == LOOP_MIN ? " < " : " > ");
        text_expr(p, y, BIND_ADD);
        str_puts(&p->out, " ? ");
        text_expr(p, x, BIND_ADD);
        str_puts(&p->out, " : ");
        text_expr(p, y, BIND_ADD);
    }
    str_puts(&p->out, ")");
}

static void fma_expr(struct printer *p, const struct loop_expr *e, int bind) {
    bool parens = bind > BIND_ADD;
    str_puts(&p->out, parens ? "(" : "");
    operand(p, e->arg[0], e->arg[1], BIND_MUL);
    str_puts(&p->out, " * ");
    operand(p, e->arg[1], e->arg[0], BIND_UNARY);
    str_puts(&p->out, " + ");
    operand(p, e->arg[2], e->arg[0], BIND_MUL);
    str_puts(&p->out, parens ? ")" : "");
}

// Operators of C that bits and masks are combined with, always in parentheses.
static void combine(struct printer *p, const struct loop_expr *e) {
    str_puts(&p->out, "(");
    text_expr(p, e->arg[0], BIND_UNARY);
    str_printf(&p->out, " %s ", loop_ops[e->op].text);
    text_expr(p, e->arg[1], BIND_UNARY);
    str_puts(&p->out, ")");
}

// -x and !x, of vectors of masks ~x.
static void prefix(struct printer *p, const struct loop_expr *e) {
    str_puts(&p->out, e->op == LOOP_NOT && e->lanes > 1 ? "~" : loop_ops[e->op].text);
    text_expr(p, e->arg[0], BIND_UNARY + 1);
}

// How tightly C binds the operation; BIND_ANY: it is no operator between two floats or indices.
static int infix_bind(const struct loop_expr *e) {
    bool is_whole = e->arg[0]->dtype == LOOP_I32 || e->arg[0]->dtype == LOOP_I64;
    switch (e->op) {
    case LOOP_ADD:
    case LOOP_SUB:
        return is_whole ? BIND_ANY : BIND_ADD;
    case LOOP_MUL:
    case LOOP_DIV:
        return is_whole ? BIND_ANY : BIND_MUL;
    case LOOP_MOD:
        return e->dtype == LOOP_INDEX ? BIND_MUL : BIND_ANY;
    case LOOP_LT:
    case LOOP_LE:
    case LOOP_EQ:
    case LOOP_NE:
        return BIND_COMPARE;
    default:
        return BIND_ANY;
    }
}

// What has a form of its own, not that of a call.
static bool special(struct printer *p, const struct loop_expr *e, int bind) {
    switch (e->op) {
    case LOOP_AND:
    case LOOP_OR:
    case LOOP_XOR:
        combine(p, e);
        return true;
    case LOOP_NOT:
        prefix(p, e);
        return true;
    case LOOP_NEG:
        if (e->dtype == LOOP_F32 || e->dtype == LOOP_F64)
            prefix(p, e);
        else
            text_call(p, e);
        return true;
    case LOOP_FMA:
        fma_expr(p, e, bind);
        return true;
    case LOOP_CAST:
        text_cast(p, e, bind);
        return true;
    case LOOP_ROUND_TO:
        text_round_to(p, e);
        return true;
    case LOOP_TO_INDEX:
        text_to_index(p, e);
        return true;
    default:
        return false;
    }
}

void text_expr(struct printer *p, const struct loop_expr *e, int bind) {
    switch (e->op) {
    case LOOP_CONST:
        text_constant(p, e);
        return;
    case LOOP_VAR:
        str_puts(&p->out, name_of(p, e->var));
        return;
    case LOOP_LOAD:
        text_load(p, e, bind);
        return;
    default:
        break;
    }
    int own = loop_ops[e->op].arity == 2 ? infix_bind(e) : BIND_ANY;
    if (own != BIND_ANY)
        infix(p, e, own, bind);
    else if (special(p, e, bind))
        return;
    else if ((e->op == LOOP_SELECT && e->lanes == 1) || e->dtype == LOOP_INDEX)
        choose(p, e);
    else
        text_call(p, e);
}

void text_begin_line(struct printer *p) {
    str_printf(&p->out, "%*s", 4 * p->indent, "");
}

// Is `e` the element that the store writes?
static bool is_target(const struct loop_expr *e, const struct loop_stmt *s) {
    return e->op == LOOP_LOAD && e->buffer == s->buffer && e->lanes == s->value->lanes &&
           range_same(e->arg[0], s->index);
}

// acc += x, where the value is acc + x.
static bool accumulate(struct printer *p, const struct loop_stmt *s) {
    const struct loop_expr *v = s->value;
    bool is_float = v->dtype == LOOP_F32 || v->dtype == LOOP_F64;
    bool converts = s->buffer->dtype != DTYPE_F32 && s->buffer->dtype != DTYPE_F64;
    if (!is_float || (s->buffer->space != LOOP_REGISTER && (v->lanes > 1 || converts)))
        return false;
    bool adds = v->op == LOOP_ADD && is_target(v->arg[0], s);
    bool fuses = v->op == LOOP_FMA && is_target(v->arg[2], s);
    if (!adds && !fuses)
        return false;
    text_element(p, s->buffer, s->index);
    str_puts(&p->out, " += ");
    operand(p, adds ? v->arg[1] : v->arg[0], adds ? v->arg[0] : v->arg[1], BIND_MUL);
    if (fuses) {
        str_puts(&p->out, " * ");
        operand(p, v->arg[1], v->arg[0], BIND_UNARY);
    }
    str_puts(&p->out, ";\n");
    return true;
}

static void store(struct printer *p, const struct loop_stmt *s) {
    if (!accumulate(p, s))
        text_store(p, s);
}

static void body(struct printer *p, const struct loop_block *b, int scope) {
    str_puts(&p->out, ") {\n");
    p->indent++;
    text_block(p, b);
    p->indent--;
    text_begin_line(p);
    str_puts(&p->out, "}\n");
    p->n_scope = scope;
}

static void for_stmt(struct printer *p, const struct loop_stmt *s) {
    // The ends are printed before the variable is in scope.
    int scope = p->n_scope;
    struct str out = p->out;
    p->out = (struct str){0};
    text_expr(p, s->begin, BIND_ANY);
    const char *begin = str_take(p->arena, &p->out);
    text_expr(p, s->end, BIND_ADD);
    const char *end = str_take(p->arena, &p->out);
    p->out = out;

    const char *name = text_declare(p, s->var, s->var->name);
    if (s->unroll) {
        str_puts(&p->out, "#pragma unroll\n");
        text_begin_line(p);
    }
    if (s->rolled && p->is_cuda) {
        str_puts(&p->out, "#pragma unroll 1\n");
        text_begin_line(p);
    }
    // The variable goes one step beyond its last value, of which nothing may be known.
    int64_t high = s->var->high > INT64_MAX - s->step ? INT64_MAX : s->var->high + s->step;
    str_printf(&p->out, "for (%s %s = %s; %s < %s; ", text_index_type(p, s->var->low, high), name,
               begin, name, end);
    if (s->step == 1)
        str_printf(&p->out, "%s++", name);
    else
        str_printf(&p->out, "%s += %lld", name, (long long)s->step);
    body(p, &s->body, scope);
}

static void let_stmt(struct printer *p, const struct loop_stmt *s) {
    struct str out = p->out;
    p->out = (struct str){0};
    text_expr(p, s->value, BIND_ANY);
    const char *value = str_take(p->arena, &p->out);
    p->out = out;
    const char *name = text_declare(p, s->var, s->var->name);
    const char *type = s->var->dtype == LOOP_INDEX ? text_index_type(p, s->var->low, s->var->high)
                                                   : text_type(p, s->var->dtype, s->var->lanes);
    str_printf(&p->out, "%s %s = %s;\n", type, name, value);
}

static void meet(struct printer *p, const struct loop_stmt *s) {
    if (!s->buffer) {
        str_puts(&p->out, "hone_cluster_barrier();\n");
        return;
    }
    str_puts(&p->out, "hone_gang_barrier(&");
    text_element(p, s->buffer, s->index);
    str_printf(&p->out, ", %d);\n", p->kernel->gang);
}

// hone_mma_bf16(&sum[8], &lhs[4], &rhs[0]);
// Does a kernel only read the data, while a launch before it may still write it?
static bool is_renewed(const struct loop_kernel *k, const struct loop_buffer *b,
                       const struct text_usage *u) {
    return k->is_programmatic && b->space == LOOP_GLOBAL && !b->map && b->role != LOOP_INPUT &&
           u->read[b->id] && !u->written[b->id];
}

// Pointers that the compiler knows nothing of before the wait, so that no load comes before it.
static void renew(struct printer *p) {
    struct text_usage u = text_use(p->arena, p->program, p->kernel);
    for (int i = 0; i < p->program->n_buffers; i++) {
        if (!is_renewed(p->kernel, p->program->buffers[i], &u))
            continue;
        text_begin_line(p);
        str_printf(&p->out, "hone_renew(%s);\n", p->program->buffers[i]->name);
    }
}

static void intrinsic(struct printer *p, const struct loop_stmt *s) {
    const struct intrinsic_info *info = &intrinsic_infos[s->intrinsic];
    str_printf(&p->out, "%s(", info->text);
    for (int i = 0; i < INTRINSIC_OPERANDS_MAX && info->operand[i].kind != OPERAND_NONE; i++) {
        const struct loop_operand *o = &s->operand[i];
        str_puts(&p->out, i ? ", " : "");
        if (o->buffer && o->buffer->map) {
            str_printf(&p->out, "&%s", o->buffer->name);
        } else if (o->buffer) {
            str_puts(&p->out, "&");
            text_element(p, o->buffer, o->index);
        } else {
            text_expr(p, o->index, BIND_ANY);
        }
    }
    str_puts(&p->out, ");\n");
    if (s->intrinsic == INTRINSIC_LAUNCH_WAIT)
        renew(p);
}

static void stmt(struct printer *p, const struct loop_stmt *s) {
    text_begin_line(p);
    switch (s->kind) {
    case LOOP_FOR:
        for_stmt(p, s);
        break;
    case LOOP_IF:
        str_puts(&p->out, "if (");
        text_expr(p, s->low, BIND_ADD);
        str_puts(&p->out, " < ");
        text_expr(p, s->high, BIND_ADD);
        body(p, &s->body, p->n_scope);
        break;
    case LOOP_LET:
        let_stmt(p, s);
        break;
    case LOOP_STORE:
        store(p, s);
        break;
    case LOOP_PREFETCH:
        str_puts(&p->out, p->is_cuda ? "hone_prefetch(&" : "__builtin_prefetch(&");
        text_element(p, s->buffer, s->index);
        // Into the second cache: the first is in use by what is computed meanwhile.
        str_puts(&p->out, p->is_cuda ? ");\n" : ", 0, 2);\n");
        break;
    case LOOP_NOTE:
        str_printf(&p->out, "// %s\n", s->text);
        break;
    case LOOP_BARRIER:
        str_puts(&p->out, "hone_barrier();\n");
        break;
    case LOOP_MEET:
        meet(p, s);
        break;
    case LOOP_INTRINSIC:
        intrinsic(p, s);
        break;
    }
}

// What this statement and another are said as one with: nothing here.
static bool is_said_elsewhere(struct printer *p, const struct loop_block *b,
                              const struct loop_stmt *s) {
    if (p->is_cuda)
        return false;
    if (s->kind == LOOP_PREFETCH)
        return text_is_asked(b, s);
    if (s->kind != LOOP_STORE || p->half || !text_other_half(s))
        return false;
    p->half = s;
    return true;
}

void text_block(struct printer *p, const struct loop_block *b) {
    for (const struct loop_stmt *s = b->first; s; s = s->next) {
        if (is_said_elsewhere(p, b, s))
            continue;
        if (p->half && s == text_other_half(p->half)) {
            text_begin_line(p);
            text_store_pair(p, p->half, s);
            p->half = NULL;
        } else {
            stmt(p, s);
        }
    }
}

struct user {
    const struct loop_kernel *kernel;
    struct text_usage *usage;
};

// Is the operation, or what it loads, one of hone_types.h?
static bool is_of_types(const struct loop_expr *e) {
    switch (e->op) {
    case LOOP_LOAD:
        return e->buffer->space != LOOP_REGISTER && e->buffer->dtype != DTYPE_F32;
    case LOOP_MOD:
    case LOOP_FLOORDIV:
    case LOOP_ROUND_TO:
    case LOOP_TO_INDEX:
        return e->op != LOOP_MOD || e->dtype != LOOP_INDEX;
    default:
        return e->dtype == LOOP_F64 || e->dtype == LOOP_I32 || e->dtype == LOOP_I64;
    }
}

static bool is_of_functions(const struct loop_expr *e) {
    bool across = e->op == LOOP_LANES_ANY || e->op == LOOP_LANES_ALL;
    bool mask = e->lanes > 1 && (e->op == LOOP_CAST || e->op == LOOP_SELECT);
    return (e->op >= LOOP_SIN && e->op <= LOOP_ATAN2) || across ||
           (mask && (e->op == LOOP_CAST || e->dtype == LOOP_MASK));
}

static void use_expr(const struct user *u, const struct loop_expr *e) {
    if (!e)
        return;
    u->usage->types |= is_of_types(e);
    u->usage->functions |= is_of_functions(e);
    if (e->dtype == LOOP_F32)
        u->usage->op[e->op] = true;
    if (e->op == LOOP_LOAD)
        u->usage->read[e->buffer->id] = true;
    if (e->op == LOOP_VAR) {
        u->usage->block |= e->var == u->kernel->block;
        u->usage->thread |= e->var == u->kernel->thread;
    }
    for (int i = 0; i < loop_ops[e->op].arity; i++)
        use_expr(u, e->arg[i]);
}

static void use_operands(const struct user *u, const struct loop_stmt *s) {
    const struct operand_info *want = intrinsic_infos[s->intrinsic].operand;
    for (int i = 0; i < INTRINSIC_OPERANDS_MAX && want[i].kind != OPERAND_NONE; i++) {
        use_expr(u, s->operand[i].index);
        if (s->operand[i].buffer && want[i].use & USE_READ)
            u->usage->read[s->operand[i].buffer->id] = true;
        if (s->operand[i].buffer && want[i].use & USE_WRITE)
            u->usage->written[s->operand[i].buffer->id] = true;
    }
}

static void use_block(const struct user *u, const struct loop_block *b) {
    for (const struct loop_stmt *s = b->first; s; s = s->next) {
        if (s->kind == LOOP_INTRINSIC)
            use_operands(u, s);
        if (s->kind == LOOP_STORE) {
            u->usage->written[s->buffer->id] = true;
            u->usage->types |= s->buffer->space != LOOP_REGISTER && s->buffer->dtype != DTYPE_F32;
        }
        if (s->kind == LOOP_PREFETCH)
            u->usage->read[s->buffer->id] = true;
        if (s->kind == LOOP_MEET && s->buffer)
            u->usage->written[s->buffer->id] = true;
        const struct loop_expr *all[] = {s->begin, s->end, s->low, s->high, s->index, s->value};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            use_expr(u, all[i]);
        use_block(u, &s->body);
    }
}

struct text_usage text_use(struct arena *a, const struct loop_program *p,
                           const struct loop_kernel *k) {
    struct text_usage usage = {.read = arena_array(a, bool, p->n_buffers)};
    usage.written = arena_array(a, bool, p->n_buffers);
    use_block(&(struct user){k, &usage}, &k->body);
    return usage;
}

void text_shape(struct printer *p, const struct loop_buffer *b, const char *between) {
    for (int i = 0; i < b->rank; i++) {
        str_puts(&p->out, i ? between : "");
        text_expr(p, loop_named(p->arena, b->shape[i]), BIND_ANY);
    }
}

void text_count(struct printer *p, const struct loop_buffer *b) {
    bool packed = b->dtype == DTYPE_I4;
    str_puts(&p->out, packed ? "(" : "");
    text_shape(p, b, " * ");
    str_puts(&p->out, packed ? " + 1) / 2" : "");
}

void text_dims(struct printer *p, const char *assertion) {
    const struct loop_program *program = p->program;
    for (int i = 0; i < program->n_dims; i++)
        str_printf(&p->out, "#ifndef %s\n#define %s %lld\n#endif\n", program->dims[i].name,
                   program->dims[i].name, (long long)program->dims[i].value);
    str_puts(&p->out, program->n_dims ? "\n" : "");
    // Tails and guards were left out where these sizes allow it.
    for (int i = 0; i < program->n_dims; i++)
        str_printf(&p->out, "%s(%s == %lld, \"lowered for %s = %lld\");\n", assertion,
                   program->dims[i].name, (long long)program->dims[i].value, program->dims[i].name,
                   (long long)program->dims[i].value);
    str_puts(&p->out, program->n_dims ? "\n" : "");
}

void text_scratch(struct printer *p) {
    for (int i = 0; i < p->program->n_buffers; i++) {
        const struct loop_buffer *b = p->program->buffers[i];
        if (b->space != LOOP_GLOBAL || b->role != LOOP_SCRATCH)
            continue;
        str_printf(&p->out, "#pragma hone scratch %s %s[", b->plan, dtype_name(b->dtype));
        text_shape(p, b, ", ");
        str_printf(&p->out, "%s%s\n", b->rank ? "]" : "1]", b->is_zeroed ? " = 0" : "");
    }
}

static void map_list(struct printer *p, const char *name, const int64_t *list, int n,
                     int64_t unit) {
    str_printf(&p->out, " %s(", name);
    for (int i = 0; i < n; i++)
        str_printf(&p->out, "%s%lld", i ? ", " : "", (long long)(list[i] * unit));
    str_puts(&p->out, ")");
}

void text_maps(struct printer *p) {
    for (int i = 0; i < p->program->n_buffers; i++) {
        const struct loop_map *m = p->program->buffers[i]->map;
        if (!m)
            continue;
        str_printf(&p->out, "#pragma hone tensormap %s = %s", p->program->buffers[i]->plan,
                   m->of->plan);
        map_list(p, "dims", m->dims, m->rank, 1);
        if (m->rank > 1)
            map_list(p, "strides", m->strides + 1, m->rank - 1, dtype_size(m->of->dtype, 1));
        map_list(p, "box", m->box, m->rank, 1);
        if (m->swizzle_bytes)
            str_printf(&p->out, " swizzle(%d)", m->swizzle_bytes);
        str_puts(&p->out, "\n");
    }
}

// Is it an argument of the kernel?
static bool is_argument(const struct loop_buffer *b, const struct text_usage *u) {
    return (b->space == LOOP_GLOBAL || b->space == LOOP_MAP) &&
           (u->read[b->id] || u->written[b->id]);
}

void text_grid(struct printer *p, const struct loop_kernel *k) {
    str_printf(&p->out, "#pragma hone launch %s grid(", k->name);
    p->in_plan = true;
    text_expr(p, k->grid, BIND_ANY);
    p->in_plan = false;
    str_puts(&p->out, ")");
}

// What nvcc compiles for it, for readers: who compiles it makes the text anew.
static void cutlass_comment(struct printer *p, const struct loop_call *c) {
    enum dtype types[CALL_BUFFERS_MAX];
    for (int i = 0; i < c->n_args; i++)
        types[i] = c->args[i]->dtype;
    for (const char *line = cutlass_text(p->arena, &c->call, types); *line;) {
        size_t len = strcspn(line, "\n");
        str_printf(&p->out, "//%s%.*s\n", len ? " " : "", (int)len, line);
        line += len + (line[len] == '\n');
    }
}

void text_library_call(struct printer *p, const struct loop_kernel *k) {
    str_puts(&p->out, "#pragma hone ");
    call_print(&p->out, &k->call->call);
    str_puts(&p->out, " args(");
    for (int i = 0; i < k->call->n_args; i++)
        str_printf(&p->out, "%s%s", i ? ", " : "", k->call->args[i]->plan);
    str_puts(&p->out, ")\n");
    if (k->call->call.kind == CALL_CUTLASS)
        cutlass_comment(p, k->call);
}

void text_arguments(struct printer *p, const struct loop_kernel *k) {
    struct text_usage u = text_use(p->arena, p->program, k);
    str_puts(&p->out, " args(");
    const char *comma = "";
    for (int i = 0; i < p->program->n_buffers; i++) {
        const struct loop_buffer *b = p->program->buffers[i];
        if (!is_argument(b, &u))
            continue;
        str_printf(&p->out, "%s%s", comma, b->plan);
        comma = ", ";
    }
    str_puts(&p->out, ")\n");
}

// May the compiler take it that nobody else changes the data while the kernel runs? Not where
// threads read what others write: such loads could be moved across barriers, or go through the
// read-only cache.
static bool is_restricted(const struct printer *p, const struct loop_kernel *k,
                          const struct loop_buffer *b, const struct text_usage *u) {
    bool is_exchanged = u->read[b->id] && u->written[b->id];
    return !p->is_cuda || k->threads == 0 || !(is_exchanged || is_renewed(k, b, u));
}

void text_parameters(struct printer *p, const struct loop_kernel *k, const char *restrict_word,
                     const char *comma) {
    struct text_usage u = text_use(p->arena, p->program, k);
    for (int i = 0; i < p->program->n_buffers; i++) {
        const struct loop_buffer *b = p->program->buffers[i];
        if (!is_argument(b, &u))
            continue;
        if (b->map) {
            str_printf(&p->out, "%sHONE_MAP(%s)", comma, b->name);
            comma = ", ";
            continue;
        }
        bool is_alone = is_restricted(p, k, b, &u);
        str_printf(&p->out, "%s%s%s *%s%s%s", comma, u.written[i] ? "" : "const ",
                   text_storage(b->dtype), is_alone ? restrict_word : "", is_alone ? " " : "",
                   b->name);
        comma = ", ";
    }
}
