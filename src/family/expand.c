// One function per operation, over a table; identities are chosen for accuracy near their zeros.
#include "family/expand.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "loop/loop_build.h"

typedef const struct loop_expr *value;
typedef value (*expand_fn)(struct loop_builder *b, value x);

static bool is_float(value x) {
    return x->dtype == LOOP_F32 || x->dtype == LOOP_F64;
}

static value expand_isnan(struct loop_builder *b, value x) {
    struct arena *a = b->program->arena;
    return is_float(x) ? loop_binary(a, LOOP_NE, x, x) : loop_truth(a, false);
}

static value expand_isinf(struct loop_builder *b, value x) {
    struct arena *a = b->program->arena;
    if (!is_float(x))
        return loop_truth(a, false);
    return loop_binary(a, LOOP_EQ, loop_unary(a, LOOP_ABS, x), loop_number(a, x->dtype, INFINITY));
}

// NaN stays what it is, and so does 0 with its sign.
static value expand_sign(struct loop_builder *b, value x) {
    struct arena *a = b->program->arena;
    value zero = loop_number(a, x->dtype, 0), one = loop_number(a, x->dtype, 1);
    value less = loop_binary(a, LOOP_LT, x, zero), more = loop_binary(a, LOOP_LT, zero, x);
    value low = loop_ternary(a, LOOP_SELECT, less, loop_number(a, x->dtype, -1), x);
    return loop_ternary(a, LOOP_SELECT, more, one, loop_let(b, "low", low));
}

// Whole numbers have no fraction to cut.
static value whole(struct loop_builder *b, value x, enum loop_op op) {
    return is_float(x) ? loop_unary(b->program->arena, op, x) : x;
}

static value expand_floor(struct loop_builder *b, value x) {
    return whole(b, x, LOOP_FLOOR);
}

static value expand_ceil(struct loop_builder *b, value x) {
    return whole(b, x, LOOP_CEIL);
}

static value expand_round(struct loop_builder *b, value x) {
    return whole(b, x, LOOP_ROUND);
}

static value expand_trunc(struct loop_builder *b, value x) {
    return whole(b, x, LOOP_TRUNC);
}

static const expand_fn expansions[OP_COUNT] = {
    [OP_ISNAN] = expand_isnan, [OP_ISINF] = expand_isinf, [OP_SIGN] = expand_sign,
    [OP_FLOOR] = expand_floor, [OP_CEIL] = expand_ceil,   [OP_ROUND] = expand_round,
    [OP_TRUNC] = expand_trunc,
};

bool expand_has(enum op op) {
    return expansions[op] != NULL;
}

const struct loop_expr *expand_build(struct loop_builder *b, const struct node *n,
                                     const struct loop_expr *const *args) {
    assert(expand_has(n->op));
    return expansions[n->op](b, args[0]);
}
