// Recursion over the syntax tree: subscripts by Python's rules, powers that have an operation of
// their own, names, calls (call.h, composite.h, structure.h).
#include "lang/value.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "ir/detail.h"
#include "lang/call.h"
#include "lang/composite.h"
#include "lang/steps.h"
#include "lang/structure.h"

static struct operand value(struct value_scope *s, const struct label *l, const struct expr *e);

// Give up on the statement without a word: the mistake is elsewhere and was reported.
static noreturn void give_up(struct value_scope *s) {
    longjmp(*s->builder.mistakes->on_mistake, 1);
}

struct symbol *value_symbol(struct value_scope *s, const struct expr *e) {
    const struct frame *frame = s->builder.frame;
    struct symbol *found = names_find(frame ? frame->names : &s->names, e->text);
    struct mistakes *m = s->builder.mistakes;
    if (!found && !frame && s->steps && !call_is_function(e->text))
        return steps_import(s, e);
    if (!found && call_is_function(e->text))
        mistake_fail(m, e->at, NULL, "'%s' is a function; call it, as in %s(x)", e->text, e->text);
    if (!found) {
        const char *near = names_nearest(s->builder.arena, &s->names, e->text);
        mistake_fail(m, e->at, near, "nothing is named '%s'", e->text);
    }
    if (found->kind == SYMBOL_BROKEN)
        give_up(s);
    if (found->kind == SYMBOL_OPEN)
        mistake_fail(m, e->at, NULL, "'%s' is used in its own value", e->text);
    if (found->kind == SYMBOL_LOCAL)
        mistake_fail(m, e->at, NULL,
                     "'%s' belongs to the loop at line %d; what is needed after it is a state, or "
                     "kept there with all[t] = %s",
                     e->text, found->at.at.line, e->text);
    found->is_used = true;
    return found;
}

// `inf` is a number unless somebody calls a value so.
static bool is_infinity(const struct value_scope *s, const struct expr *e) {
    const struct frame *frame = s->builder.frame;
    return strcmp(e->text, "inf") == 0 && !names_find(frame ? frame->names : &s->names, "inf");
}

static struct operand name_value(struct value_scope *s, const struct expr *e) {
    if (is_infinity(s, e))
        return (struct operand){.is_number = true, .number = INFINITY};
    const struct symbol *found = value_symbol(s, e);
    if (found->kind == SYMBOL_DIM)
        return (struct operand){
            .is_number = true,
            .is_whole = true,
            .number = (double)s->builder.graph->dims[found->index].size,
        };
    if (found->kind == SYMBOL_NUMBER)
        return (struct operand){
            .is_number = true, .is_whole = found->is_whole, .number = found->number};
    if (found->kind == SYMBOL_STEP)
        mistake_fail(s->builder.mistakes, e->at, NULL,
                     "'%s' counts steps and stands in subscripts alone: x[:, %s]", e->text,
                     e->text);
    if (found->node < 0)
        mistake_fail(s->builder.mistakes, e->at, NULL, "output '%s' is read before it is assigned",
                     e->text);
    return (struct operand){.node = found->node};
}

static struct operand number_value(struct value_scope *s, const struct expr *e) {
    if (!isfinite(e->number))
        mistake_fail(s->builder.mistakes, e->at, NULL, "%s is too large for f64", e->text);
    bool is_whole = !strpbrk(e->text, ".eE");
    return (struct operand){.is_number = true, .number = e->number, .is_whole = is_whole};
}

// What a subscript takes of an axis.
struct slice_axis {
    int64_t start, step, size;
};

static struct operand transpose_value(struct value_scope *s, const struct label *l,
                                      const struct expr *e) {
    struct builder *b = &s->builder;
    struct label part = {.at = e->args[0]->at};
    node_id id = build_node(b, &part, value(s, &part, e->args[0]));
    const struct shape from = build_get(b, id)->shape;
    if (from.rank != 2)
        mistake_fail(b->mistakes, e->at, NULL, ".T takes a matrix; this value has shape %s",
                     shape_print(b->arena, b->graph, &from));
    struct shape to = {
        .rank = 2, .size = {from.size[1], from.size[0]}, .dim = {from.dim[1], from.dim[0]}};
    return build_view(b, l, id, &to, (int[]){1, 0});
}

static int64_t clamp(int64_t x, int64_t low, int64_t high) {
    return x < low ? low : x > high ? high : x;
}

// Python's rules for one axis: which elements start:stop:step names.
static void slice_axis(struct value_scope *s, const struct subscript *sub, int64_t size,
                       struct slice_axis *out) {
    struct mistakes *m = s->builder.mistakes;
    out->step = sub->step ? value_whole(s, sub->step) : 1;
    if (out->step == 0)
        mistake_fail(m, sub->step->at, NULL, "a step is not 0");
    // Beyond the axis a slice stops at its end, as in NumPy.
    int64_t low = out->step > 0 ? 0 : -1, high = out->step > 0 ? size : size - 1;
    int64_t bound[2] = {out->step > 0 ? low : high, out->step > 0 ? high : low};
    const struct expr *given[2] = {sub->start, sub->stop};
    for (int i = 0; i < 2; i++) {
        if (!given[i])
            continue;
        int64_t at = value_whole(s, given[i]);
        bound[i] = clamp(at < 0 ? at + size : at, low, high);
    }
    int64_t span = out->step > 0 ? bound[1] - bound[0] : bound[0] - bound[1];
    int64_t stride = out->step > 0 ? out->step : -out->step;
    if (span <= 0)
        mistake_fail(m, sub->at, NULL, "this slice of an axis of size %lld is empty",
                     (long long)size);
    out->start = bound[0];
    out->size = (span + stride - 1) / stride;
}

static int64_t index_axis(struct value_scope *s, const struct subscript *sub, int64_t size) {
    int64_t at = value_whole(s, sub->start);
    if (at < -size || at >= size)
        mistake_fail(s->builder.mistakes, sub->at, NULL,
                     "index %lld is outside an axis of size %lld", (long long)at, (long long)size);
    return at < 0 ? at + size : at;
}

// What x[...] makes of a value: first a part of each axis (`taken`), then the axes that stay and
// the new ones (`to`, `view`).
struct subscripting {
    struct shape from, taken, to;
    struct node_detail *detail;
    int view[RANK_MAX];
    int axis;  // of `from`, the next one
    bool is_sliced;
};

static void take_axis(struct value_scope *s, const struct subscript *sub, struct subscripting *x) {
    struct slice_axis part = {.size = 1, .step = 1};
    int64_t size = x->from.size[x->axis];
    if (sub->kind == SUBSCRIPT_SLICE)
        slice_axis(s, sub, size, &part);
    else
        part.start = index_axis(s, sub, size);
    bool is_whole = part.size == size && part.step == 1;
    x->detail->start[x->axis] = part.start;
    x->detail->step[x->axis] = part.step;
    x->taken.size[x->axis] = part.size;
    x->taken.dim[x->axis] = is_whole ? x->from.dim[x->axis] : -1;
    x->is_sliced |= !is_whole;
    if (sub->kind == SUBSCRIPT_SLICE) {
        x->to.size[x->to.rank] = part.size;
        x->to.dim[x->to.rank] = x->taken.dim[x->axis];
        x->view[x->to.rank++] = x->axis;
    }
    x->axis++;
}

static void read_subscripts(struct value_scope *s, const struct expr *e, struct subscripting *x) {
    static const struct subscript everything = {.kind = SUBSCRIPT_SLICE};
    struct mistakes *m = s->builder.mistakes;
    for (int i = 0; i < e->n_subscripts || x->axis < x->from.rank; i++) {
        const struct subscript *sub = i < e->n_subscripts ? &e->subscripts[i] : &everything;
        if (sub->kind != SUBSCRIPT_NEW && x->axis == x->from.rank)
            mistake_fail(m, sub->at, NULL,
                         "more subscripts than the %d axes of a value of shape %s", x->from.rank,
                         shape_print(s->builder.arena, s->builder.graph, &x->from));
        if (sub->kind != SUBSCRIPT_INDEX && x->to.rank == RANK_MAX)
            mistake_fail(m, e->at, NULL, "no value has more than %d axes", RANK_MAX);
        if (sub->kind != SUBSCRIPT_NEW) {
            take_axis(s, sub, x);
            continue;
        }
        x->to.size[x->to.rank] = 1;
        x->to.dim[x->to.rank] = -1;
        x->view[x->to.rank++] = -1;
    }
}

static struct operand subscript_value(struct value_scope *s, const struct label *l,
                                      const struct expr *e) {
    struct builder *b = &s->builder;
    struct label part = {.at = e->args[0]->at};
    struct expr rest = *e;
    node_id id;
    if (steps_is_slice(s, e))
        id = steps_slice(s, &rest);
    else
        id = build_node(b, &part, value(s, &part, e->args[0]));
    e = &rest;
    struct subscripting x = {.from = build_get(b, id)->shape, .taken = build_get(b, id)->shape};
    x.detail = arena_new(b->arena, struct node_detail);
    read_subscripts(s, e, &x);
    if (x.is_sliced) {
        bool keeps_axes = x.to.rank == x.from.rank;
        for (int i = 0; i < x.to.rank; i++)
            keeps_axes &= x.view[i] == i;
        struct node n = {.op = OP_SLICE, .shape = x.taken, .detail = x.detail, .arg = {id}};
        n.dtype = build_get(b, id)->dtype;
        struct operand slice = build_add(b, keeps_axes ? l : &part, n);
        if (keeps_axes)
            return slice;
        id = slice.node;
    }
    return build_view(b, l, id, &x.to, x.view);
}

static enum op binary_op(const char *text) {
    static const struct {
        const char *text;
        enum op op;
    } rows[] = {{"+", OP_ADD}, {"-", OP_SUB},       {"*", OP_MUL}, {"/", OP_DIV}, {"@", OP_MATMUL},
                {"<", OP_LT},  {"<=", OP_LE},       {">", OP_LT},  {">=", OP_LE}, {"==", OP_EQ},
                {"!=", OP_NE}, {"//", OP_FLOORDIV}, {"%", OP_MOD}, {"**", OP_POW}};
    size_t i = 0;
    while (strcmp(rows[i].text, text) != 0)
        i++;
    return rows[i].op;
}

// Powers that have an operation of their own: more exact than pow, and faster.
static bool plain_power(struct builder *b, const struct label *l, const struct operand *args,
                        struct operand *out) {
    struct operand x = args[0], one = {.is_number = true, .number = 1};
    if (!args[1].is_number || x.is_number)
        return false;
    double power = args[1].number;
    bool is_real = !dtype_is_integer(build_get(b, x.node)->dtype);
    if (power == 2)
        *out = build_elementwise(b, l, OP_MUL, (struct operand[]){x, x});
    else if (power == 0.5 && is_real)
        *out = build_elementwise(b, l, OP_SQRT, &x);
    else if (power == -0.5 && is_real)
        *out = build_elementwise(b, l, OP_RSQRT, &x);
    else if (power == -1 && is_real)
        *out = build_elementwise(b, l, OP_DIV, (struct operand[]){one, x});
    else if (power == 3) {
        struct label part = {.at = l->at};
        struct operand square = build_elementwise(b, &part, OP_MUL, (struct operand[]){x, x});
        *out = build_elementwise(b, l, OP_MUL, (struct operand[]){square, x});
    } else
        return false;
    return true;
}

static struct operand binary_value(struct value_scope *s, const struct label *l,
                                   const struct expr *e) {
    struct builder *b = &s->builder;
    struct operand args[2];
    for (int i = 0; i < 2; i++)
        args[i] = value(s, &(struct label){.at = e->args[i]->at}, e->args[i]);
    enum op op = binary_op(e->text);
    if (op == OP_MATMUL) {
        struct label part = {.at = l->at};
        node_id left = build_node(b, &part, args[0]), right = build_node(b, &part, args[1]);
        return build_matmul(b, l, left, right);
    }
    struct operand power;
    if (op == OP_POW && plain_power(b, l, args, &power))
        return power;
    // a > b is b < a.
    struct operand swapped[2] = {args[1], args[0]};
    return build_elementwise(b, l, op, e->text[0] == '>' ? swapped : args);
}

static struct operand call_value(struct value_scope *s, const struct label *l,
                                 const struct expr *e) {
    if (structure_is(e->text))
        return structure_build(s, l, e);
    if (composite_is_inner(s, e->text))
        return composite_inner(s, l, e);
    if (composite_is(e->text))
        return composite_build(s, l, e);
    struct operand args[ARGS_MAX];
    e = call_reduction(&s->builder, e);
    call_check(&s->builder, e);
    for (int i = 0; i < e->n_args; i++)
        args[i] = value(s, &(struct label){.at = e->args[i]->at}, e->args[i]);
    return call_build(&s->builder, l, e, args);
}

static struct operand value(struct value_scope *s, const struct label *l, const struct expr *e) {
    struct label own = *l;
    own.at = e->at;
    switch (e->kind) {
    case EXPR_NUMBER:
        return number_value(s, e);
    case EXPR_NAME:
        return name_value(s, e);
    case EXPR_NEGATE: {
        struct operand arg = value(s, &(struct label){.at = e->args[0]->at}, e->args[0]);
        return build_elementwise(&s->builder, &own, OP_NEG, &arg);
    }
    case EXPR_BINARY:
        return binary_value(s, &own, e);
    case EXPR_CALL:
        return call_value(s, &own, e);
    case EXPR_TRANSPOSE:
        return transpose_value(s, &own, e);
    case EXPR_SUBSCRIPT:
        return subscript_value(s, &own, e);
    case EXPR_TUPLE:
        mistake_fail(s->builder.mistakes, e->at, NULL, "a list is not a value here");
    case EXPR_STRING:
        mistake_fail(s->builder.mistakes, e->at, NULL, "a string is not a value here");
    }
    give_up(s);
}

struct operand value_operand(struct value_scope *s, const struct label *l, const struct expr *e) {
    return value(s, l, e);
}

node_id value_build(struct value_scope *s, const struct label *l, const struct expr *e) {
    struct builder *b = &s->builder;
    struct operand x = value(s, l, e);
    // Another name for what a loop gives is that result itself, so that it can be stored under it.
    if (!x.is_number && e->kind == EXPR_NAME && build_get(b, x.node)->op == OP_RECUR)
        return build_add(b, l, *build_get(b, x.node)).node;
    // `y = x` is a value of its own: a view that changes nothing.
    if (!x.is_number && e->kind == EXPR_NAME) {
        struct shape shape = build_get(b, x.node)->shape;
        return build_view(b, l, x.node, &shape, (int[]){0, 1, 2, 3, 4, 5}).node;
    }
    return build_node(b, l, x);
}

// Keeps negation and division of what was computed so far free of overflow.
static const int64_t SIZE_LIMIT = INT64_MAX / 2;

static int64_t size_value(struct value_scope *s, const struct expr *e) {
    struct mistakes *m = s->builder.mistakes;
    if (e->kind == EXPR_NUMBER) {
        if (e->number != floor(e->number) || e->number > 9e15)
            mistake_fail(m, e->at, NULL, "a size is a whole number up to 2^31, not %s", e->text);
        return (int64_t)e->number;
    }
    if (e->kind == EXPR_NAME) {
        const struct symbol *found = value_symbol(s, e);
        if (found->kind == SYMBOL_NUMBER && found->number == floor(found->number))
            return (int64_t)found->number;
        if (found->kind == SYMBOL_STEP)
            mistake_fail(m, e->at, NULL,
                         "'%s' stands alone as a subscript: x[:, %s]; for other positions take a "
                         "part before the loop, such as x[:, 1:]",
                         e->text, e->text);
        if (found->kind != SYMBOL_DIM)
            mistake_fail(m, e->at, NULL, "'%s' is not a dim; sizes are made of dims and numbers",
                         e->text);
        return s->builder.graph->dims[found->index].size;
    }
    if (e->kind == EXPR_NEGATE)
        return -size_value(s, e->args[0]);
    if (e->kind != EXPR_BINARY || !strchr("+-*/", e->text[0]))
        mistake_fail(m, e->at, NULL, "a size is made of dims, numbers, and + - * /");

    int64_t l = size_value(s, e->args[0]), r = size_value(s, e->args[1]), result = 0;
    bool overflow = false;
    switch (e->text[0]) {
    case '+':
        overflow = __builtin_add_overflow(l, r, &result);
        break;
    case '-':
        overflow = __builtin_sub_overflow(l, r, &result);
        break;
    case '*':
        overflow = __builtin_mul_overflow(l, r, &result);
        break;
    default:
        if (r == 0 || l % r != 0)
            mistake_fail(m, e->at, NULL, "%lld / %lld is not a whole number", (long long)l,
                         (long long)r);
        result = l / r;
    }
    if (overflow || result > SIZE_LIMIT || result < -SIZE_LIMIT)
        mistake_fail(m, e->at, NULL, "this size does not fit in 63 bits");
    return result;
}

int64_t value_whole(struct value_scope *s, const struct expr *e) {
    return size_value(s, e);
}

int64_t value_size(struct value_scope *s, const struct expr *e) {
    int64_t size = size_value(s, e);
    if (size < 1 || size > (int64_t)1 << 31)
        mistake_fail(s->builder.mistakes, e->at, NULL, "a size is from 1 to 2^31, and this is %lld",
                     (long long)size);
    return size;
}
