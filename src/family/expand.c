// One function per operation, over a table; identities are chosen for accuracy near their zeros.
#include "family/expand.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "loop/loop_build.h"

typedef const struct loop_expr *value;
typedef value (*expand_fn)(struct loop_builder *b, value x, value y);

static value real(struct loop_builder *b, double v) {
    return loop_real(b->program->arena, v);
}

static value unary(struct loop_builder *b, enum loop_op op, value x) {
    return loop_let(b, "part", loop_unary(b->program->arena, op, x));
}

static value binary(struct loop_builder *b, enum loop_op op, value x, value y) {
    return loop_let(b, "part", loop_binary(b->program->arena, op, x, y));
}

// A condition has one reader, so it needs no name.
static value compare(struct loop_builder *b, enum loop_op op, value x, value y) {
    return loop_binary(b->program->arena, op, x, y);
}

static value choose(struct loop_builder *b, value condition, value yes, value no) {
    return loop_let(b, "part", loop_ternary(b->program->arena, LOOP_SELECT, condition, yes, no));
}

// ---- truth values

static value not_so(struct loop_builder *b, value condition) {
    return compare(b, LOOP_EQ, choose(b, condition, real(b, 0), real(b, 1)), real(b, 1));
}

static value expand_ne(struct loop_builder *b, value x, value y) {
    return not_so(b, compare(b, LOOP_EQ, x, y));
}

static value expand_isnan(struct loop_builder *b, value x, value y) {
    (void)y;
    return not_so(b, compare(b, LOOP_EQ, x, x));
}

static value expand_isinf(struct loop_builder *b, value x, value y) {
    (void)y;
    return compare(b, LOOP_EQ, unary(b, LOOP_ABS, x), real(b, INFINITY));
}

static value expand_and(struct loop_builder *b, value x, value y) {
    return compare(b, LOOP_EQ, binary(b, LOOP_MUL, x, y), real(b, 1));
}

static value expand_or(struct loop_builder *b, value x, value y) {
    return compare(b, LOOP_LT, real(b, 0), binary(b, LOOP_ADD, x, y));
}

static value expand_xor(struct loop_builder *b, value x, value y) {
    return compare(b, LOOP_EQ, binary(b, LOOP_ADD, x, y), real(b, 1));
}

static value expand_not(struct loop_builder *b, value x, value y) {
    (void)y;
    return compare(b, LOOP_EQ, x, real(b, 0));
}

// ---- to whole numbers

// The size of x rounded to even: beyond 2^23 there are no fractions, below it adding 2^23 rounds.
static value whole_size(struct loop_builder *b, value size) {
    value shifted = binary(b, LOOP_ADD, size, real(b, 8388608));
    value rounded = binary(b, LOOP_SUB, shifted, real(b, 8388608));
    return choose(b, compare(b, LOOP_LT, size, real(b, 8388608)), rounded, size);
}

static value with_sign(struct loop_builder *b, value size, value x) {
    return choose(b, compare(b, LOOP_LT, x, real(b, 0)), unary(b, LOOP_NEG, size), size);
}

static value expand_round(struct loop_builder *b, value x, value y) {
    (void)y;
    return with_sign(b, whole_size(b, unary(b, LOOP_ABS, x)), x);
}

static value expand_trunc(struct loop_builder *b, value x, value y) {
    (void)y;
    value size = unary(b, LOOP_ABS, x), whole = whole_size(b, size);
    value over = choose(b, compare(b, LOOP_LT, size, whole), real(b, 1), real(b, 0));
    return with_sign(b, binary(b, LOOP_SUB, whole, over), x);
}

static value expand_floor(struct loop_builder *b, value x, value y) {
    value whole = expand_round(b, x, y);
    value over = choose(b, compare(b, LOOP_LT, x, whole), real(b, 1), real(b, 0));
    return binary(b, LOOP_SUB, whole, over);
}

static value expand_ceil(struct loop_builder *b, value x, value y) {
    value whole = expand_round(b, x, y);
    value under = choose(b, compare(b, LOOP_LT, whole, x), real(b, 1), real(b, 0));
    return binary(b, LOOP_ADD, whole, under);
}

static value expand_sign(struct loop_builder *b, value x, value y) {
    (void)y;
    value low = choose(b, compare(b, LOOP_LT, x, real(b, 0)), real(b, -1), x);
    return choose(b, compare(b, LOOP_LT, real(b, 0), x), real(b, 1), low);
}

// ---- functions

// Near 0 from t = tanh(x / 2): exp(x) - 1 = 2 t / (1 - t).
static value expand_expm1(struct loop_builder *b, value x, value y) {
    (void)y;
    value t = unary(b, LOOP_TANH, binary(b, LOOP_MUL, x, real(b, 0.5)));
    value near = binary(b, LOOP_DIV, binary(b, LOOP_ADD, t, t), binary(b, LOOP_SUB, real(b, 1), t));
    value far = binary(b, LOOP_SUB, unary(b, LOOP_EXP, x), real(b, 1));
    return choose(b, compare(b, LOOP_LT, unary(b, LOOP_ABS, x), real(b, 0.5)), near, far);
}

// With u = 1 + x rounded, log(u) x / (u - 1): the error of u cancels.
static value expand_log1p(struct loop_builder *b, value x, value y) {
    (void)y;
    value u = binary(b, LOOP_ADD, x, real(b, 1)), log = unary(b, LOOP_LOG, u);
    value ratio = binary(b, LOOP_DIV, x, binary(b, LOOP_SUB, u, real(b, 1)));
    value small = choose(b, compare(b, LOOP_EQ, u, real(b, 1)), x, binary(b, LOOP_MUL, log, ratio));
    return choose(b, compare(b, LOOP_LT, real(b, 0x1p24), x), log, small);
}

// log(x) times a constant in two parts, the first of few digits.
static value scaled_log(struct loop_builder *b, value x, double high, double low) {
    value log = unary(b, LOOP_LOG, x);
    struct arena *a = b->program->arena;
    value rest = binary(b, LOOP_MUL, log, real(b, low));
    return loop_let(b, "part", loop_ternary(a, LOOP_FMA, log, real(b, high), rest));
}

static value expand_log2(struct loop_builder *b, value x, value y) {
    (void)y;
    return scaled_log(b, x, 1.4375, 0.0051950408889634074);
}

static value expand_log10(struct loop_builder *b, value x, value y) {
    (void)y;
    return scaled_log(b, x, 0.43359375, 0.00070073190325182765);
}

static value exp_of_neg(struct loop_builder *b, value x) {
    return unary(b, LOOP_EXP, unary(b, LOOP_NEG, x));
}

// Near 0 from t = tanh(x / 2): sinh(x) = 2 t / (1 - t^2).
static value expand_sinh(struct loop_builder *b, value x, value y) {
    (void)y;
    value t = unary(b, LOOP_TANH, binary(b, LOOP_MUL, x, real(b, 0.5)));
    value rest = binary(b, LOOP_SUB, real(b, 1), binary(b, LOOP_MUL, t, t));
    value near = binary(b, LOOP_DIV, binary(b, LOOP_ADD, t, t), rest);
    value twice = binary(b, LOOP_SUB, unary(b, LOOP_EXP, x), exp_of_neg(b, x));
    value far = binary(b, LOOP_MUL, twice, real(b, 0.5));
    return choose(b, compare(b, LOOP_LT, unary(b, LOOP_ABS, x), real(b, 1)), near, far);
}

static value expand_cosh(struct loop_builder *b, value x, value y) {
    (void)y;
    value twice = binary(b, LOOP_ADD, unary(b, LOOP_EXP, x), exp_of_neg(b, x));
    return binary(b, LOOP_MUL, twice, real(b, 0.5));
}

static const expand_fn expansions[OP_COUNT] = {
    [OP_NE] = expand_ne,       [OP_ISNAN] = expand_isnan, [OP_ISINF] = expand_isinf,
    [OP_AND] = expand_and,     [OP_OR] = expand_or,       [OP_XOR] = expand_xor,
    [OP_NOT] = expand_not,     [OP_ROUND] = expand_round, [OP_TRUNC] = expand_trunc,
    [OP_FLOOR] = expand_floor, [OP_CEIL] = expand_ceil,   [OP_SIGN] = expand_sign,
    [OP_EXPM1] = expand_expm1, [OP_LOG1P] = expand_log1p, [OP_LOG2] = expand_log2,
    [OP_LOG10] = expand_log10, [OP_SINH] = expand_sinh,   [OP_COSH] = expand_cosh,
};

bool expand_has(enum op op) {
    return expansions[op] != NULL;
}

const struct loop_expr *expand_build(struct loop_builder *b, const struct node *n,
                                     const struct loop_expr *const *args) {
    assert(expand_has(n->op));
    return expansions[n->op](b, args[0], args[1]);
}
