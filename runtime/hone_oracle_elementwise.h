// By element: as in ir/interpret_elementwise.c and ir/interpret_typed.c, from the same rows of
// ops.def.
#ifndef HONE_ORACLE_ELEMENTWISE_H
#define HONE_ORACLE_ELEMENTWISE_H

#include "hone_oracle_reading.h"

// What the rows call, as in ir/op_functions.h.
#define dtype_whole(v) stored_whole(v)
JUDGE_FN double op_modulo(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
JUDGE_FN double op_shift_left(double a, double b) {
    return b < 0 || b > 62 ? 0 : (double)(int64_t)((u64)stored_whole(a) << (int)b);
}
JUDGE_FN double op_shift_right(double a, double b) {
    return b < 0 || b > 62 ? -(double)(a < 0) : (double)(stored_whole(a) >> (int)b);
}

// What each operation is.
enum { ORACLE_SMOOTH, ORACLE_JUMPS, ORACLE_PICKS, ORACLE_ROUGH };
#define ORACLE_KIND_VECTOR ORACLE_SMOOTH
#define ORACLE_KIND_TRANSCENDENTAL ORACLE_ROUGH
#define ORACLE_CASE(id, result) \
    case OP_##id:               \
        return result;

JUDGE_FN int oracle_kind(int op) {
    switch (op) {
#define OP(id, name, class, arity, types, flops, pipe)
#define UNARY(id, name, types, flops, pipe, value, slope) ORACLE_CASE(id, ORACLE_KIND_##pipe)
#define BINARY(id, name, types, flops, pipe, value, slope_a, slope_b) \
    ORACLE_CASE(id, OP_##id == OP_DIV ? ORACLE_ROUGH : ORACLE_KIND_##pipe)
#define STEP1(id, name, types, flops, pipe, value) ORACLE_CASE(id, ORACLE_JUMPS)
#define STEP2(id, name, types, flops, pipe, value) ORACLE_CASE(id, ORACLE_JUMPS)
#define PICK(id, name, flops, takes_a) ORACLE_CASE(id, ORACLE_PICKS)
#define TEST(id, name, arity, types, value) ORACLE_CASE(id, ORACLE_JUMPS)
#include "ops.def"
    default:
        return ORACLE_SMOOTH;
    }
}
#undef UNARY
#undef BINARY
#undef STEP1
#undef STEP2
#undef PICK
#undef TEST

ORACLE_RARE double oracle_value(int op, double A, double B) {
    switch (op) {
#define UNARY(id, name, types, flops, pipe, value, slope) ORACLE_CASE(id, value)
#define BINARY(id, name, types, flops, pipe, value, slope_a, slope_b) ORACLE_CASE(id, value)
#define STEP1(id, name, types, flops, pipe, value) ORACLE_CASE(id, value)
#define STEP2(id, name, types, flops, pipe, value) ORACLE_CASE(id, value)
#define PICK(id, name, flops, takes_a) ORACLE_CASE(id, (takes_a) ? A : B)
#define TEST(id, name, arity, types, value) ORACLE_CASE(id, value)
#include "ops.def"
    default:
        return A;
    }
}
#undef UNARY
#undef BINARY
#undef STEP1
#undef STEP2
#undef PICK
#undef TEST

// The slope along A; of a choice whether A is taken.
ORACLE_RARE double oracle_slope_a(int op, double A, double B, double Y) {
    switch (op) {
#define UNARY(id, name, types, flops, pipe, value, slope) ORACLE_CASE(id, slope)
#define BINARY(id, name, types, flops, pipe, value, slope_a, slope_b) ORACLE_CASE(id, slope_a)
#define STEP1(id, name, types, flops, pipe, value)
#define STEP2(id, name, types, flops, pipe, value)
#define PICK(id, name, flops, takes_a) ORACLE_CASE(id, takes_a)
#define TEST(id, name, arity, types, value)
#include "ops.def"
    default:
        return 1;  // a copy
    }
}
#undef UNARY
#undef BINARY
#undef PICK

ORACLE_RARE double oracle_slope_b(int op, double A, double B, double Y) {
    switch (op) {
#define UNARY(id, name, types, flops, pipe, value, slope)
#define BINARY(id, name, types, flops, pipe, value, slope_a, slope_b) ORACLE_CASE(id, slope_b)
#define PICK(id, name, flops, takes_a)
#include "ops.def"
    default:
        return 0;
    }
}
#undef OP
#undef UNARY
#undef BINARY
#undef STEP1
#undef STEP2
#undef PICK
#undef TEST

JUDGE_FN double oracle_carried(double slope, double variance) {
    return variance == 0 ? 0 : slope * slope * variance;
}

// The square of the highest jump within reach: reading_jump() of ir/interpret_typed.c.
ORACLE_RARE double oracle_jump(int op, struct oracle_point x, struct oracle_point y, double Y) {
    double square = 0;
    for (int i = 0; i < 4; i++) {
        double stray =
            (i & 1 ? ORACLE_STRAYS : -ORACLE_STRAYS) * sqrt(i < 2 ? x.variance : y.variance);
        double moved =
            oracle_value(op, x.value + (i < 2 ? stray : 0), y.value + (i < 2 ? 0 : stray)) - Y;
        if (stray != 0 && moved * moved > square)
            square = moved * moved;
    }
    return square;
}

JUDGE_FN struct oracle_point oracle_apply(int op, struct oracle_point x, struct oracle_point y) {
    double Y = oracle_value(op, x.value, y.value), V = x.variance, W = y.variance, c;
    struct oracle_point p = {Y, 0, (double)(float)oracle_value(op, x.honest, y.honest)};
    int kind = oracle_kind(op);
    switch (kind) {
    case ORACLE_PICKS:
        p.variance =
            stored_pick(x.value, y.value, V, W, oracle_slope_a(op, x.value, y.value, Y) != 0);
        return p;
    case ORACLE_JUMPS:
        p.variance = V + W > 0 ? oracle_jump(op, x, y, Y) : 0;
        return p;
    default:
        c = V == 0 ? 0 : oracle_carried(oracle_slope_a(op, x.value, y.value, Y), V);
        c += W == 0 ? 0 : oracle_carried(oracle_slope_b(op, x.value, y.value, Y), W);
        p.variance = c + oracle_rounding(Y, kind == ORACLE_ROUGH ? 1 : c);
        return p;
    }
}

// ---- what is not f32: as in ir/interpret_typed.c

// An operation on integers is exact, and only a product is too wide for a double.
JUDGE_FN double oracle_whole(int op, int t, double a, double b) {
    int64_t r;
    if (op == OP_MUL)
        r = (int64_t)((u64)stored_whole(a) * (u64)stored_whole(b));
    else if ((op == OP_FLOORDIV || op == OP_MOD) && b == 0)
        r = 0;
    else
        r = stored_whole(oracle_value(op, a, b));
    return (double)stored_wrap(t, r);
}

// Operands `x` and `y`, whose honest readings are in type `t`; `to` is the result's.
ORACLE_RARE struct oracle_point oracle_apply_typed(int op, int t, int to, struct oracle_point x,
                                                   struct oracle_point y) {
    struct oracle_point p;
    int kind = oracle_kind(op);
    if (to != STORED_BOOL && stored_is_integer(t)) {
        p.value = oracle_whole(op, t, x.value, y.value);
        p.honest = oracle_whole(op, t, x.honest, y.honest);
        p.variance = oracle_jump(op, x, y, p.value);
        return p;
    }
    p.value = oracle_value(op, x.value, y.value);
    p.honest =
        stored_round(to == STORED_BOOL ? STORED_BOOL : t, oracle_value(op, x.honest, y.honest));
    if (kind == ORACLE_PICKS) {
        p.variance = stored_pick(x.value, y.value, x.variance, y.variance,
                                 oracle_slope_a(op, x.value, y.value, 0) != 0);
    } else if (kind == ORACLE_JUMPS) {
        p.variance = oracle_jump(op, x, y, p.value);
    } else {
        double c = oracle_carried(oracle_slope_a(op, x.value, y.value, p.value), x.variance);
        c += y.variance == 0
                 ? 0
                 : oracle_carried(oracle_slope_b(op, x.value, y.value, p.value), y.variance);
        p.variance = c + stored_rounding(t, p.value, kind == ORACLE_ROUGH ? 1 : c);
    }
    return p;
}

// The truth does not round: only that a value became an integer is part of it.
ORACLE_RARE struct oracle_point oracle_cast(int from, int to, struct oracle_point x) {
    struct oracle_point p = {x.value, x.variance + stored_rounding(to, x.value, x.variance),
                             stored_convert(from, to, x.honest)};
    if (stored_is_float(to))
        return p;
    p.value = stored_convert(from, to, x.value);
    if (x.variance > 0) {
        // A deviation of one and more is the height of a jump, or as good as that.
        double stray = ORACLE_STRAYS * sqrt(x.variance);
        stray = stray < 1 ? stray : sqrt(x.variance);
        double up = stored_convert(from, to, x.value + stray) - p.value;
        double down = stored_convert(from, to, x.value - stray) - p.value;
        p.variance = up * up > 0 ? up * up : 0;
        p.variance = down * down > p.variance ? down * down : p.variance;
    }
    return p;
}

// The condition may be wrong by honest rounding: then either branch is right, with its own error.
JUDGE_FN struct oracle_point oracle_where(const struct oracle_map *m, struct oracle_point x,
                                          struct oracle_point y, struct oracle_point z) {
    struct oracle_point p = x.value != 0 ? y : z;
    double height = y.value - z.value;
    double square = height * height + (x.value != 0 ? z : y).variance;
    if (x.variance > 0 && m->type == ORACLE_PLAIN)
        p.variance = fmax(p.variance, square);
    else if (x.variance > 0)
        p.variance = square > p.variance ? square : p.variance;
    p.honest = x.honest != 0 ? y.honest : z.honest;
    if (m->type != ORACLE_PLAIN)
        p.honest = stored_convert(m->args[x.honest != 0 ? 1 : 2].array.type, m->out.type, p.honest);
    return p;
}

// What operands that stray far add to a variance: reading_doubt() of ir/interpret_elementwise.c.
JUDGE_FN double oracle_doubt(int op, struct oracle_point x, struct oracle_point y,
                             struct oracle_point p) {
    const struct oracle_point none = {0, 0, 0};
    double V = x.variance, doubt = 0;
    switch (op) {
    case OP_EXP:
    case OP_EXP2:
    case OP_EXPM1:
        if (V > 1 && x.value + ORACLE_STRAYS * sqrt(V) > ORACLE_NOTHING)
            return JUDGE_INFINITY;
        break;
    case OP_TANH:
    case OP_ERF:
    case OP_ERFC:
    case OP_ATAN:
    case OP_SIN:
    case OP_COS:
        if (V * ORACLE_STRAYS * ORACLE_STRAYS > 1)
            doubt = oracle_jump(op, x, none, p.value);
        break;
    case OP_MUL:
        return V > 0 && y.variance > 0 ? p.variance + V * y.variance : p.variance;
    default:
        break;
    }
    return doubt > p.variance ? doubt : p.variance;
}

JUDGE_FN struct oracle_point oracle_compute(const struct oracle_map *m, struct oracle_point x,
                                            struct oracle_point y) {
    struct oracle_point p;
    double sizes = x.value * x.value + y.value * y.value;
    if (m->op == OP_CAST)
        return oracle_cast(m->args[0].array.type, m->out.type, x);
    if (m->type == ORACLE_PLAIN) {
        p = oracle_apply(m->op, x, y);
    } else {
        struct oracle_point a = x, b = y;
        a.honest = stored_convert(m->args[0].array.type, m->type, x.honest);
        if (m->n_args > 1)
            b.honest = stored_convert(m->args[1].array.type, m->type, y.honest);
        p = oracle_apply_typed(m->op, m->type, m->out.type, a, b);
    }
    if (m->is_exponent)
        p.variance += sizes * ORACLE_ROUND;
    if (x.variance > 0)
        p.variance = oracle_doubt(m->op, x, y, p);
    return p;
}

JUDGE_FN struct oracle_point oracle_argument(const struct oracle_map *m, int k, u64 i, u64 t) {
    return oracle_read(&m->args[k].array, oracle_place(&m->args[k].axes, i) + t * m->advance[k]);
}

JUDGE_FN void oracle_map_element(const struct oracle_map *m, u64 i, u64 t) {
    const struct oracle_point none = {0, 0, 0};
    struct oracle_point x = oracle_argument(m, 0, i, t);
    struct oracle_point y = m->n_args > 1 ? oracle_argument(m, 1, i, t) : none;
    if (m->n_args > 2)
        x = oracle_where(m, x, y, oracle_argument(m, 2, i, t));
    else if (m->op != ORACLE_COPY)
        x = oracle_compute(m, x, y);
    oracle_write(&m->out, oracle_place(&m->to, i) + t * m->advance_to, x);
}

JUDGE_KERNEL oracle_map(struct oracle_map m) {
    for (u64 i = first(); i < m.n; i += stride())
        oracle_map_element(&m, i, 0);
}

// Not inlined a second time: oracle.cu takes long to compile.
ORACLE_RARE void oracle_chain_element(const struct oracle_map *m, u64 i, u64 t) {
    oracle_map_element(m, i, t);
}

// Several of a loop's step, one after the other, element by element: what one of them makes, a
// later one reads at the same element, and so in the same thread.
JUDGE_KERNEL oracle_chain(u64 maps, u64 n_maps, u64 n, u64 t) {
    for (u64 i = first(); i < n; i += stride())
        for (u64 k = 0; k < n_maps; k++)
            oracle_chain_element((const struct oracle_map *)maps + k, i, t);
}

#endif
