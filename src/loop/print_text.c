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

static void group_barrier(struct printer *p, const struct loop_stmt *s) {
    if (!s->buffer) {
        str_puts(&p->out, "hone_cluster_barrier();\n");
        return;
    }
    str_puts(&p->out, "hone_group_barrier(&");
    text_element(p, s->buffer, s->index);
    str_printf(&p->out, ", %d);\n", p->kernel->blocks_per_group);
}

// Pointers that the compiler knows nothing of before the wait, so that no load comes before it.
static void renew(struct printer *p) {
    struct text_usage u = text_use(p->arena, p->program, p->kernel);
    for (int i = 0; i < p->program->n_buffers; i++) {
        if (!text_is_renewed(p->kernel, p->program->buffers[i], &u))
            continue;
        text_begin_line(p);
        str_printf(&p->out, "hone_renew(%s);\n", p->program->buffers[i]->name);
    }
}

// hone_mma_bf16(&sum[8], &lhs[4], &rhs[0]);
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
    case LOOP_GROUP_BARRIER:
        group_barrier(p, s);
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
    if (s->kind != LOOP_STORE || p->half || !text_paired_store(s))
        return false;
    p->half = s;
    return true;
}

void text_block(struct printer *p, const struct loop_block *b) {
    for (const struct loop_stmt *s = b->first; s; s = s->next) {
        if (is_said_elsewhere(p, b, s))
            continue;
        if (p->half && s == text_paired_store(p->half)) {
            text_begin_line(p);
            text_store_pair(p, p->half, s);
            p->half = NULL;
        } else {
            stmt(p, s);
        }
    }
}
