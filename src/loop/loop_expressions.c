// Expressions, simplified as they are built by the ranges of their variables.
#include <assert.h>

#include "base/arena.h"
#include "loop/loop_build.h"
#include "loop/range.h"

static struct loop_expr *new_expr(struct arena *a, enum loop_op op, enum loop_dtype dtype,
                                  int lanes) {
    struct loop_expr *e = arena_new(a, struct loop_expr);
    e->op = op;
    e->dtype = dtype;
    e->lanes = lanes;
    return e;
}

const struct loop_expr *loop_int(struct arena *a, int64_t value) {
    struct loop_expr *e = new_expr(a, LOOP_CONST, LOOP_INDEX, 1);
    e->integer = value;
    return e;
}

const struct loop_expr *loop_named(struct arena *a, struct loop_size size) {
    struct loop_expr *e = new_expr(a, LOOP_CONST, LOOP_INDEX, 1);
    e->integer = size.value;
    e->name = size.name;
    return e;
}

const struct loop_expr *loop_ref(struct arena *a, const struct loop_var *var) {
    struct loop_expr *e = new_expr(a, LOOP_VAR, var->dtype, var->lanes);
    e->var = var;
    return e;
}

const struct loop_expr *loop_broadcast(struct arena *a, const struct loop_expr *x, int lanes) {
    if (x->lanes == lanes)
        return x;
    assert(x->lanes == 1 && x->dtype != LOOP_INDEX);
    struct loop_expr *e = new_expr(a, LOOP_BROADCAST, x->dtype, lanes);
    e->arg[0] = x;
    return e;
}

const struct loop_expr *loop_unary(struct arena *a, enum loop_op op, const struct loop_expr *x) {
    assert(loop_ops[op].arity == 1 && op != LOOP_LOAD && op != LOOP_BROADCAST);
    assert(op != LOOP_CAST && op != LOOP_ROUND_TO && op != LOOP_TO_INDEX);
    bool across = op >= LOOP_LANES_SUM && op <= LOOP_LANES_ALL;
    if ((across || op == LOOP_LANES_REVERSED) && x->lanes == 1)
        return x;
    if ((op == LOOP_LANES_BEFORE_SUM || op == LOOP_LANES_BEFORE_PROD) && x->lanes == 1)
        return loop_number(a, x->dtype, op == LOOP_LANES_BEFORE_PROD);
    struct loop_expr *e = new_expr(a, op, x->dtype, across ? 1 : x->lanes);
    e->arg[0] = x;
    return e;
}

static bool is_int(const struct loop_expr *e, int64_t value) {
    int64_t v;
    return range_constant(e, &v) && v == value;
}

static bool is_literal(const struct loop_expr *e) {
    return e->op == LOOP_CONST && !e->name;
}

static int64_t fold(enum loop_op op, int64_t x, int64_t y) {
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
    case LOOP_XOR:
        return x ^ y;
    case LOOP_MIN:
        return x < y ? x : y;
    default:
        return x > y ? x : y;
    }
}

// x + 0, x - x, (x + y) - x, (x + 2) + 1; NULL when nothing simpler is known.
static const struct loop_expr *simplify_sum(struct arena *a, enum loop_op op,
                                            const struct loop_expr *x, const struct loop_expr *y) {
    int64_t v;
    if (is_int(y, 0))
        return x;
    if (op == LOOP_ADD && is_int(x, 0))
        return y;
    if (op == LOOP_SUB && range_difference(x, y, &v))
        return loop_int(a, v);
    if (x->op != LOOP_ADD)
        return NULL;
    if (op == LOOP_SUB && range_same(x->arg[0], y))
        return x->arg[1];
    if (!is_literal(y) || !is_literal(x->arg[1]))
        return NULL;
    v = x->arg[1]->integer + (op == LOOP_ADD ? y->integer : -y->integer);
    return v < 0 ? NULL : loop_binary(a, LOOP_ADD, x->arg[0], loop_int(a, v));
}

// x * 1, x * 0, (x / c) * c where c divides x.
static const struct loop_expr *simplify_product(struct arena *a, const struct loop_expr *x,
                                                const struct loop_expr *y) {
    int64_t v, c;
    if (is_int(y, 1))
        return x;
    if (is_int(x, 1))
        return y;
    if (is_int(x, 0) || is_int(y, 0))
        return loop_int(a, 0);
    bool undoes = x->op == LOOP_DIV && range_constant(y, &c) && is_int(x->arg[1], c);
    return undoes && range_constant(x->arg[0], &v) && v % c == 0 ? x->arg[0] : NULL;
}

// x / 1, x % 1, x / y and x % y where x is below y, (x * 8) / 4 and its rest.
static const struct loop_expr *simplify_quotient(struct arena *a, enum loop_op op,
                                                 const struct loop_expr *x,
                                                 const struct loop_expr *y) {
    if (is_int(y, 1))
        return op == LOOP_DIV ? x : loop_int(a, 0);
    if (range_of(x).low >= 0 && range_of(x).high < range_of(y).low)
        return op == LOOP_DIV ? loop_int(a, 0) : x;
    int64_t by = is_literal(y) ? y->integer : 0;
    if (by <= 0 || x->op != LOOP_MUL || !is_literal(x->arg[1]) || x->arg[1]->integer % by != 0)
        return NULL;
    return op == LOOP_MOD
               ? loop_int(a, 0)
               : loop_binary(a, LOOP_MUL, x->arg[0], loop_int(a, x->arg[1]->integer / by));
}

// A comparison whose result the ranges decide; NULL: they do not.
static const struct loop_expr *decide(struct arena *a, enum loop_op op, const struct loop_expr *x,
                                      const struct loop_expr *y) {
    int64_t d;
    bool known = range_difference(x, y, &d);
    struct range r = range_of(x), s = range_of(y);
    if (op == LOOP_EQ || op == LOOP_NE) {
        bool apart = known ? d != 0 : r.high < s.low || s.high < r.low;
        return known || apart ? loop_truth(a, apart == (op == LOOP_NE)) : NULL;
    }
    if (known)
        return loop_truth(a, op == LOOP_LT ? d < 0 : d <= 0);
    if (op == LOOP_LT ? r.high < s.low : range_at_most(x, y))
        return loop_truth(a, true);
    return (op == LOOP_LT ? range_at_most(y, x) : s.high < r.low) ? loop_truth(a, false) : NULL;
}

static const struct loop_expr *simplify(struct arena *a, enum loop_op op, const struct loop_expr *x,
                                        const struct loop_expr *y) {
    if (op >= LOOP_LT && op <= LOOP_NE)
        return decide(a, op, x, y);
    if (is_literal(x) && is_literal(y))
        return loop_int(a, fold(op, x->integer, y->integer));
    switch (op) {
    case LOOP_ADD:
    case LOOP_SUB:
        return simplify_sum(a, op, x, y);
    case LOOP_MUL:
        return simplify_product(a, x, y);
    case LOOP_DIV:
    case LOOP_MOD:
        return simplify_quotient(a, op, x, y);
    case LOOP_XOR:
        return is_int(x, 0) ? y : is_int(y, 0) ? x : NULL;
    default:
        if (range_at_most(x, y))
            return op == LOOP_MIN ? x : y;
        return !range_at_most(y, x) ? NULL : op == LOOP_MIN ? y : x;
    }
}

const struct loop_expr *loop_binary(struct arena *a, enum loop_op op, const struct loop_expr *x,
                                    const struct loop_expr *y) {
    assert(loop_ops[op].arity == 2 && x->dtype == y->dtype);
    assert(loop_ops[op].takes >> x->dtype & 1);
    bool compares = op >= LOOP_LT && op <= LOOP_NE;
    if (x->dtype == LOOP_INDEX) {
        const struct loop_expr *simple = simplify(a, op, x, y);
        if (simple)
            return simple;
    }
    int lanes = x->lanes > y->lanes ? x->lanes : y->lanes;
    struct loop_expr *e = new_expr(a, op, compares ? LOOP_MASK : x->dtype, lanes);
    e->arg[0] = loop_broadcast(a, x, lanes);
    e->arg[1] = loop_broadcast(a, y, lanes);
    return e;
}

const struct loop_expr *loop_lane(struct arena *a, const struct loop_expr *x,
                                  const struct loop_expr *lane) {
    assert((x->dtype == LOOP_F32 || x->dtype == LOOP_I32) && lane->dtype == LOOP_INDEX);
    if (x->lanes == 1)
        return x;
    struct loop_expr *e = new_expr(a, LOOP_LANE, x->dtype, 1);
    e->arg[0] = x;
    e->arg[1] = lane;
    return e;
}

const struct loop_expr *loop_interleave(struct arena *a, enum loop_op op, const struct loop_expr *x,
                                        const struct loop_expr *y, int run) {
    assert(op == LOOP_LANES_EVEN || op == LOOP_LANES_ODD || op == LOOP_LANES_SLID);
    assert(x->dtype == LOOP_F32 && y->dtype == LOOP_F32);
    int lanes = x->lanes > y->lanes ? x->lanes : y->lanes;
    struct loop_expr *e = new_expr(a, op, LOOP_F32, lanes);
    e->arg[0] = loop_broadcast(a, x, lanes);
    e->arg[1] = loop_broadcast(a, y, lanes);
    e->stride = run;
    return e;
}

const struct loop_expr *loop_ternary(struct arena *a, enum loop_op op, const struct loop_expr *x,
                                     const struct loop_expr *y, const struct loop_expr *z) {
    assert(op == LOOP_SELECT || op == LOOP_FMA);
    assert(y->dtype == z->dtype && x->dtype == (op == LOOP_SELECT ? LOOP_MASK : y->dtype));
    if (op == LOOP_SELECT && x->op == LOOP_CONST)
        return x->integer ? y : z;
    int lanes = x->lanes > y->lanes ? x->lanes : y->lanes;
    lanes = z->lanes > lanes ? z->lanes : lanes;
    struct loop_expr *e = new_expr(a, op, y->dtype, lanes);
    e->arg[0] = loop_broadcast(a, x, lanes);
    e->arg[1] = loop_broadcast(a, y, lanes);
    e->arg[2] = loop_broadcast(a, z, lanes);
    return e;
}

const struct loop_expr *loop_load(struct arena *a, const struct loop_buffer *buffer,
                                  const struct loop_expr *index, int lanes, int64_t stride) {
    assert(index->dtype == LOOP_INDEX && lanes <= LANES_MAX);
    assert(buffer->space != LOOP_REGISTER || lanes == buffer->lanes);
    struct loop_expr *e = new_expr(a, LOOP_LOAD, buffer->value, lanes);
    e->buffer = buffer;
    e->arg[0] = index;
    e->stride = lanes == 1 ? 1 : stride;
    return e;
}

const struct loop_expr *loop_ceildiv(struct arena *a, const struct loop_expr *x, int64_t y) {
    int64_t v;
    if (range_constant(x, &v) && v % y == 0)
        return loop_binary(a, LOOP_DIV, x, loop_int(a, y));
    return loop_binary(a, LOOP_DIV, loop_binary(a, LOOP_ADD, x, loop_int(a, y - 1)),
                       loop_int(a, y));
}

// Is it a multiple of `by` for certain?
static bool is_multiple(const struct loop_expr *e, int64_t by) {
    int64_t v;
    if (range_constant(e, &v))
        return v % by == 0;
    if (e->op == LOOP_MUL)
        return is_multiple(e->arg[0], by) || is_multiple(e->arg[1], by);
    return e->op == LOOP_ADD && is_multiple(e->arg[0], by) && is_multiple(e->arg[1], by);
}

// x % by without what is a multiple of `by` in it.
static const struct loop_expr *rest_of(struct arena *a, const struct loop_expr *x, int64_t by) {
    if (x->op == LOOP_ADD && is_multiple(x->arg[0], by))
        return rest_of(a, x->arg[1], by);
    if (x->op == LOOP_ADD && is_multiple(x->arg[1], by))
        return rest_of(a, x->arg[0], by);
    if (x->op == LOOP_MOD && is_literal(x->arg[1]) && x->arg[1]->integer % by == 0)
        return rest_of(a, x->arg[0], by);
    return loop_binary(a, LOOP_MOD, x, loop_int(a, by));
}

const struct loop_expr *loop_swizzle(struct arena *a, const struct loop_expr *row,
                                     const struct loop_expr *piece, int row_bytes) {
    assert(row_bytes == 32 || row_bytes == 64 || row_bytes == 128);
    // Eight rows of 128 bytes, or as many as lie in 1024.
    const struct loop_expr *turn = rest_of(a, row, 8);
    return loop_binary(a, LOOP_XOR, piece,
                       loop_binary(a, LOOP_DIV, turn, loop_int(a, 128 / row_bytes)));
}
