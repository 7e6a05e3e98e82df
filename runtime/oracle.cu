// The truth on a GPU: the readings of ir/interpret*.c (value, variance, honest) element by element,
// driven by the tables of hone_oracle.h, so that nothing is compiled for a problem. Plain C without
// barriers or shared memory, as judge.cu: tests run it on a CPU, where it agrees with the
// interpreter to the bit. On a GPU the functions of the mathematical library may differ in the last
// bit of float64, and sums of variances may be fused; the order of honest sums is the same.
//
// Every thread takes the elements (results, blocks of a sum, pieces of a product) first(),
// first() + stride(), ...
#include "hone_inputs.h"
#include "hone_oracle_product.h"

// ---- inputs

// As inputs_fill() of ir/inputs.c. A thread has four elements, so that none shares a byte.
JUDGE_KERNEL oracle_fill(struct hone_source s, u64 n, void *out, int type) {
    for (u64 i = first(); i < (n + 3) / 4; i += stride()) {
        float four[4];
        if (type == STORED_F32)
            hone_input4(&s, i, four);
        for (int k = 0; k < 4; k++)
            if (4 * i + k < n) {
                if (type == STORED_F32)
                    ((float *)out)[4 * i + k] = four[k];
                else
                    stored_put(type, out, 4 * i + k,
                               stored_drawn(type, hone_input(&s, 4 * i + k, type == STORED_F64)));
            }
    }
}

// Stored elements as kernels read them: in float, or in double where the type is wide.
JUDGE_KERNEL oracle_widen(const void *from, int type, u64 n, void *to) {
    int is_wide = stored_is_wide(type);
    for (u64 i = first(); i < n; i += stride()) {
        double v = stored_get(type, from, i);
        if (is_wide)
            ((double *)to)[i] = v;
        else
            ((float *)to)[i] = (float)v;
    }
}

// The reverse, of honest results. Four elements each, as above.
JUDGE_KERNEL oracle_keep(struct oracle_array from, u64 n, void *to) {
    for (u64 i = first(); i < (n + 3) / 4; i += stride())
        for (int k = 0; k < 4; k++)
            if (4 * i + k < n)
                stored_put(from.type, to, 4 * i + k, oracle_honest(&from, 4 * i + k));
}

// ---- arrays made from others: as in eval/derived.c

// Rows of `length` units of so many bytes: the i-th of `to` is number rows[i] of `from`.
JUDGE_KERNEL oracle_rows(const void *from, void *to, const u64 *rows, u64 n, u64 length,
                         u64 unit) {
    for (u64 i = first(); i < n * length; i += stride()) {
        u64 at = rows[i / length] * length + i % length;
        if (unit == 8)
            ((u64 *)to)[i] = ((const u64 *)from)[at];
        else if (unit == 4)
            ((unsigned *)to)[i] = ((const unsigned *)from)[at];
        else if (unit == 2)
            ((unsigned short *)to)[i] = ((const unsigned short *)from)[at];
        else
            ((unsigned char *)to)[i] = ((const unsigned char *)from)[at];
    }
}

// By a power of two, so exact but at the ends of the type. May be done in place.
JUDGE_KERNEL oracle_scale(const float *from, float *to, float factor, u64 n) {
    for (u64 i = first(); i < n; i += stride())
        to[i] = ORACLE_MUL(from[i], factor);
}

// Where derived_is_edge() nothing is claimed.
JUDGE_KERNEL oracle_edges(const float *high, float *spread, u64 n) {
    for (u64 i = first(); i < n; i += stride())
        if (!isfinite(high[i]) || (high[i] != 0 && fabsf(high[i]) < 1e-30f))
            spread[i] = ORACLE_NAN;
}

// ---- by element: as in ir/interpret_elementwise.c, from the same rows of ops.def

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
        double stray = (i & 1 ? ORACLE_STRAYS : -ORACLE_STRAYS) * sqrt(i < 2 ? x.variance
                                                                             : y.variance);
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
    p.honest = stored_round(to == STORED_BOOL ? STORED_BOOL : t,
                            oracle_value(op, x.honest, y.honest));
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

// The condition may be wrong by honest rounding: then either branch is right.
JUDGE_FN struct oracle_point oracle_where(const struct oracle_map *m, struct oracle_point x,
                                          struct oracle_point y, struct oracle_point z) {
    struct oracle_point p = x.value != 0 ? y : z;
    double height = y.value - z.value, square = height * height;
    if (x.variance > 0 && m->type == ORACLE_PLAIN)
        p.variance = fmax(p.variance, square);
    else if (x.variance > 0)
        p.variance = square > p.variance ? square : p.variance;
    p.honest = x.honest != 0 ? y.honest : z.honest;
    if (m->type != ORACLE_PLAIN)
        p.honest = stored_convert(m->args[x.honest != 0 ? 1 : 2].array.type, m->out.type, p.honest);
    return p;
}

JUDGE_FN struct oracle_point oracle_compute(const struct oracle_map *m, struct oracle_point x,
                                            struct oracle_point y) {
    struct oracle_point p;
    double sizes = x.value * x.value + y.value * y.value;
    int is_exponential = m->op == OP_EXP || m->op == OP_EXP2;
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
    if (is_exponential && x.variance > 1 &&
        x.value + ORACLE_STRAYS * sqrt(x.variance) > ORACLE_NOTHING)
        p.variance = JUDGE_INFINITY;
    return p;
}

JUDGE_KERNEL oracle_map(struct oracle_map m) {
    const struct oracle_point none = {0, 0, 0};
    for (u64 i = first(); i < m.n; i += stride()) {
        struct oracle_point x = oracle_read(&m.args[0].array, oracle_place(&m.args[0].axes, i));
        struct oracle_point y = none;
        if (m.n_args > 1)
            y = oracle_read(&m.args[1].array, oracle_place(&m.args[1].axes, i));
        if (m.n_args > 2)
            x = oracle_where(&m, x, y,
                             oracle_read(&m.args[2].array, oracle_place(&m.args[2].axes, i)));
        else if (m.op != ORACLE_COPY)
            x = oracle_compute(&m, x, y);
        oracle_write(&m.out, i, x);
    }
}

// ---- reductions: as in ir/interpret_reduce.c

JUDGE_FN struct oracle_partial oracle_plus(struct oracle_partial p, struct oracle_partial q) {
    p.value += q.value;
    p.variance += q.variance;
    p.honest = ORACLE_PLUS(p.honest, q.honest);
    p.squares += q.squares;
    p.size += q.size;
    p.low = p.low < q.low ? p.low : q.low;
    return p;
}

// The variance of a sum of n terms: one chain of them, in any order.
JUDGE_FN double oracle_vary(struct oracle_partial p, double n) {
    if (!(p.variance > 0) && oracle_sums_exactly(p.size, p.low))
        return p.variance;  // 0, or nothing is known
    return p.variance +
           (n - 1) * ((p.squares / 2 + (p.value * p.value - p.squares) / 3) * ORACLE_ROUND +
                      ORACLE_QUANTUM);
}

JUDGE_FN struct oracle_partial oracle_times(struct oracle_partial p, struct oracle_partial q) {
    double variance = q.value * q.value * p.variance + p.value * p.value * q.variance;
    p.value *= q.value;
    p.honest = ORACLE_MUL(p.honest, q.honest);
    p.variance = variance + oracle_rounding(p.value, variance);
    return p;
}

JUDGE_FN struct oracle_partial oracle_extreme(int is_max, struct oracle_partial p,
                                              struct oracle_partial q) {
    if ((is_max ? q.value > p.value : q.value < p.value) || q.value != q.value) {
        p.value = q.value;
        p.variance = q.variance;
    }
    if ((is_max ? q.honest > p.honest : q.honest < p.honest) || q.honest != q.honest)
        p.honest = q.honest;
    return p;
}

JUDGE_FN struct oracle_partial oracle_pair(int op, struct oracle_partial p,
                                           struct oracle_partial q) {
    if (op == OP_RSUM)
        return oracle_plus(p, q);
    if (op == OP_RPROD)
        return oracle_times(p, q);
    return oracle_extreme(op == OP_RMAX, p, q);
}

JUDGE_FN struct oracle_partial oracle_partial_of(struct oracle_point x) {
    struct oracle_partial p = {x.value, x.variance, 0, x.value * x.value, (float)x.honest, 0};
    return p;
}

JUDGE_FN void oracle_add_term(struct oracle_partial *p, struct oracle_point x) {
    p->value += x.value;
    p->squares += x.value * x.value;
    p->variance += x.variance;
    p->honest = ORACLE_PLUS(p->honest, (float)x.honest);
}

// The next elements of a walk, all of them read before the first is used: who adds in sequence would
// wait for memory at every term. What kind of array it is is asked once, since the compiler moves no
// load across a question.
enum { ORACLE_AHEAD = 8 };
#define ORACLE_EACH_AHEAD _Pragma("unroll") for (int i = 0; i < ORACLE_AHEAD; i++)
JUDGE_FN void oracle_read_ahead(const struct oracle_reduce *r, struct oracle_walk *w, int n,
                                struct oracle_point *points) {
    const struct oracle_array *a = &r->from;
    u64 place[ORACLE_AHEAD];
    ORACLE_EACH_AHEAD {
        place[i] = w->place;
        if (i + 1 < n)
            oracle_step(w, &r->reduced);
    }
    if (a->value && a->variance && a->honest && !a->is_wide) {
        const double *value = (const double *)a->value, *variance = (const double *)a->variance;
        const float *honest = (const float *)a->honest;
        ORACLE_EACH_AHEAD points[i].value = value[place[i]];
        ORACLE_EACH_AHEAD points[i].variance = variance[place[i]];
        ORACLE_EACH_AHEAD points[i].honest = (double)honest[place[i]];
    } else if (a->honest && !a->value && !a->is_wide) {
        ORACLE_EACH_AHEAD points[i] = oracle_input(a, place[i]);
    } else {
        ORACLE_EACH_AHEAD points[i] = oracle_read(a, place[i]);
    }
}

JUDGE_FN void oracle_measure_term(struct oracle_partial *p, double v) {
    int low = oracle_low_bit(v);
    p->low = low < p->low ? low : p->low;
    p->size += fabs(v);
}

// Sizes and lowest bit of exact terms.
JUDGE_FN void oracle_measure_run(const struct oracle_reduce *r, u64 base, u64 start, int n,
                                 struct oracle_partial *p) {
    struct oracle_walk w;
    struct oracle_point x[ORACLE_AHEAD];
    p->low = ORACLE_NO_BIT;
    oracle_walk_to(&w, &r->reduced, base, start);
    for (int done = 0; done < n; done += ORACLE_AHEAD) {
        oracle_read_ahead(r, &w, n - done, x);
#pragma unroll
        for (int i = 0; i < ORACLE_AHEAD; i++)
            if (done + i < n)
                oracle_measure_term(p, x[i].value);
    }
}

// One block of a reduction: `n` terms in sequence.
JUDGE_FN struct oracle_partial oracle_run(const struct oracle_reduce *r, u64 base, u64 start,
                                          int n) {
    struct oracle_walk w;
    struct oracle_point x[ORACLE_AHEAD];
    oracle_walk_to(&w, &r->reduced, base, start);
    struct oracle_partial p = oracle_partial_of(oracle_read(&r->from, w.place));
    oracle_step(&w, &r->reduced);
    for (int done = 1; done < n; done += ORACLE_AHEAD) {
        oracle_read_ahead(r, &w, n - done, x);
#pragma unroll
        for (int i = 0; i < ORACLE_AHEAD; i++)
            if (done + i < n && r->op == OP_RSUM)
                oracle_add_term(&p, x[i]);
            else if (done + i < n)
                p = oracle_pair(r->op, p, oracle_partial_of(x[i]));
    }
    if (r->op == OP_RSUM && !(p.variance > 0))
        oracle_measure_run(r, base, start, n, &p);
    if (r->op == OP_RSUM && r->is_mean)
        p.low = ORACLE_ALL_BITS;
    return p;
}

// Every block of every result.
JUDGE_KERNEL oracle_runs(struct oracle_reduce r) {
    struct oracle_partial *partials = (struct oracle_partial *)r.partials;
    for (u64 i = first(); i < r.n * (u64)r.n_runs; i += stride()) {
        u64 start = i / r.n * ORACLE_RUN, left = r.length - start;
        partials[i] = oracle_run(&r, oracle_place(&r.kept, i % r.n), start,
                                 left < ORACLE_RUN ? (int)left : ORACLE_RUN);
    }
}

// Results that come one after the other, joined in pairs of equal size: ir/interpret_reduce.c's
// binary counter.
struct oracle_counter {
    int op;
    u64 n;
    struct oracle_partial levels[ORACLE_LEVELS];
};

JUDGE_FN void oracle_count(struct oracle_counter *c, struct oracle_partial p) {
    int level = 0;
    for (; c->n >> level & 1; level++)
        p = oracle_pair(c->op, c->levels[level], p);
    c->levels[level] = p;
    c->n++;
}

JUDGE_FN struct oracle_partial oracle_total(const struct oracle_counter *c) {
    int level = 0;
    while (!(c->n >> level & 1))
        level++;
    struct oracle_partial p = c->levels[level++];
    for (; c->n >> level; level++)
        if (c->n >> level & 1)
            p = oracle_pair(c->op, c->levels[level], p);
    return p;
}

// ORACLE_FOLD partial results into one, for every result. Joining groups of a power of two first
// gives the same pairs; the last time the result itself is written.
JUDGE_KERNEL oracle_join(struct oracle_reduce r) {
    const struct oracle_partial *partials = (const struct oracle_partial *)r.partials;
    struct oracle_partial *joined = (struct oracle_partial *)r.joined;
    u64 groups = ((u64)r.n_runs + ORACLE_FOLD - 1) / ORACLE_FOLD;
    for (u64 i = first(); i < r.n * groups; i += stride()) {
        u64 begin = i / r.n * ORACLE_FOLD, result = i % r.n;
        struct oracle_counter c;
        c.op = r.op;
        c.n = 0;
        for (u64 k = begin; k < begin + ORACLE_FOLD && k < (u64)r.n_runs; k++)
            oracle_count(&c, partials[k * r.n + result]);
        struct oracle_partial p = oracle_total(&c);
        if (groups > 1) {
            joined[i] = p;
        } else {
            struct oracle_point x = {p.value, p.variance, (double)p.honest};
            if (r.op == OP_RSUM)
                x.variance = oracle_vary(p, (double)r.length);
            oracle_write(&r.out, result, x);
        }
    }
}

// ---- what is expected: as in eval/oracle.c, and of other types than f32 in eval/oracle_typed.c

// One element of f32, and the honest computation's error.
JUDGE_FN double oracle_put_float(const struct oracle_put *o, u64 at, struct oracle_point x) {
    float h = (float)x.value, l = isfinite(h) ? (float)(x.value - (double)h) : 0;
    double deviation = isfinite(x.value) ? sqrt(x.variance) : 0;
    float s = (float)(deviation > 0 && deviation < 1.401298464324817e-45 ? 1.401298464324817e-45
                                                                         : deviation);
    if (isinf(s))
        s = ORACLE_NAN;
    double error = judge_error((float)x.honest, (double)h + (double)l, s);
    if (!isfinite(error) || (o->allows_overflow && !isfinite(h)))
        s = ORACLE_NAN;
    ((float *)o->high)[at] = h;
    ((float *)o->low)[at] = l;
    ((float *)o->spread)[at] = s;
    return error;
}

JUDGE_FN double oracle_put_typed(const struct oracle_put *o, u64 at, struct oracle_point x) {
    int t = o->from.type;
    double unit = stored_unit(t, x.value, isfinite(x.value) ? sqrt(x.variance) : 0);
    if (o->allows_overflow && stored_is_float(t) && !isfinite(stored_round(t, x.value)))
        unit = STORED_NAN;
    double error = stored_error(t, x.honest, x.value, unit);
    ((double *)o->high)[at] = x.value;
    ((double *)o->spread)[at] = isfinite(error) ? unit : STORED_NAN;
    return error;
}

JUDGE_KERNEL oracle_put(struct oracle_put o, struct judge_part *parts) {
    struct judge_part part = {0, 0, 0, 0, 0, 0};
    for (u64 i = first(); i < o.n; i += stride()) {
        struct oracle_point x = oracle_read(&o.from, i);
        double error = o.from.type == STORED_F32 ? oracle_put_float(&o, o.at + i, x)
                                                 : oracle_put_typed(&o, o.at + i, x);
        if (!isfinite(error))
            continue;
        part.sum += error * error;
        part.max = error > part.max ? error : part.max;
    }
    judge_leave(parts, part);
}

JUDGE_FN double oracle_truth(int type, u64 high, u64 low, u64 i) {
    return type == STORED_F32
               ? (double)((const float *)high)[i] + (double)((const float *)low)[i]
               : ((const double *)high)[i];
}

JUDGE_KERNEL oracle_mean(int type, u64 high, u64 low, u64 n, struct judge_part *parts) {
    struct judge_part part = {0, 0, 0, 0, 0, 0};
    for (u64 i = first(); i < n; i += stride())
        part.sum += oracle_truth(type, high, low, i);
    judge_leave(parts, part);
}

// The same of stored elements.
JUDGE_KERNEL oracle_sum(const void *data, int type, u64 n, struct judge_part *parts) {
    struct judge_part part = {0, 0, 0, 0, 0, 0};
    for (u64 i = first(); i < n; i += stride())
        part.sum += stored_get(type, data, i);
    judge_leave(parts, part);
}

JUDGE_KERNEL oracle_guess(struct oracle_guess g, struct judge_part *parts) {
    struct judge_part part = {0, 0, 0, 0, 0, 0};
    for (u64 i = first(); i < g.n; i += stride()) {
        double value = g.constant, truth = oracle_truth(g.type, g.high, g.low, i), error;
        if (g.data)
            value = stored_get(g.data_type, (const void *)g.data, i % g.count);
        value = stored_round(g.type, value);
        error = g.type == STORED_F32
                    ? judge_error((float)value, truth, (double)((const float *)g.spread)[i])
                    : stored_error(g.type, value, truth, ((const double *)g.spread)[i]);
        part.sum += error * error;
        part.max = error > part.max ? error : part.max;
    }
    judge_leave(parts, part);
}
