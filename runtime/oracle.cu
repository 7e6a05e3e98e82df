// The truth on a GPU: the readings of ir/interpret*.c (value, variance, honest) element by element,
// driven by the tables of hone_oracle.h, so that nothing is compiled for a problem. Plain C without
// barriers or shared memory, as judge.cu: tests run it on a CPU, where it agrees with the
// interpreter to the bit. On a GPU the functions of the mathematical library may differ in the last
// bit of float64, and sums of variances may be fused; the order of honest sums is the same.
//
// Every thread takes the elements (results, blocks of a sum, pieces of a product) first(),
// first() + stride(), ...
#include "hone_inputs.h"
#include "hone_judge.h"
#include "hone_oracle.h"

enum op {
#define OP(id, name, class, arity, types, flops, pipe) OP_##id,
#include "ops.def"
#undef OP
};

#ifdef __CUDACC__
#define ORACLE_MUL(a, b) __fmul_rn(a, b)
#define ORACLE_PLUS(a, b) __fadd_rn(a, b)
#define ORACLE_HIGH(v) ((unsigned)__double2hiint(v))
#define ORACLE_LOW(v) ((unsigned)__double2loint(v))
#define ORACLE_TRAILING(bits) (__ffsll((long long)(bits)) - 1)
#define ORACLE_NAN __int_as_float(0x7fc00000)
#define ORACLE_RARE static __device__ __noinline__
#define HUGE_VAL JUDGE_INFINITY
#else
#define ORACLE_MUL(a, b) ((a) * (b))
#define ORACLE_PLUS(a, b) ((a) + (b))
#define ORACLE_HIGH(v) oracle_half(v, 32)
#define ORACLE_LOW(v) oracle_half(v, 0)
#define ORACLE_TRAILING(bits) __builtin_ctzll(bits)
#define ORACLE_NAN NAN
#define ORACLE_RARE static
JUDGE_FN unsigned oracle_half(double v, int shift) {
    u64 bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    return (unsigned)(bits >> shift);
}
#endif

// ---- inputs

JUDGE_KERNEL oracle_fill(struct hone_source s, u64 n, float *out) {
    for (u64 i = first(); i < (n + 3) / 4; i += stride()) {
        float four[4];
        hone_input4(&s, i, four);
        for (int k = 0; k < 4; k++)
            if (4 * i + k < n)
                out[4 * i + k] = four[k];
    }
}

// ---- arrays made from others: as in eval/derived.c

// Rows of `length` elements: the i-th of `to` is number rows[i] of `from`.
JUDGE_KERNEL oracle_rows(const float *from, float *to, const u64 *rows, u64 n, u64 length) {
    for (u64 i = first(); i < n * length; i += stride())
        to[i] = from[rows[i / length] * length + i % length];
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

// ---- readings: as in ir/reading.h, whose words say why

#define ORACLE_ROUND (3.552713678800501e-15 / 3)     // 2^-48 / 3
#define ORACLE_QUANTUM (1.9636373861190906e-90 / 12)  // 2^-298 / 12
enum { ORACLE_NO_BIT = 1 << 20, ORACLE_ALL_BITS = -(1 << 20), ORACLE_STRAYS = 4 };
enum { ORACLE_NOTHING = -104 };  // exponents below have no exponential in f32

struct oracle_point {
    double value, variance;
    float honest;
};

// Of a sum `variance` is what its terms bring; oracle_vary() adds what rounding partial sums does.
struct oracle_partial {
    double value, variance, size, squares;
    float honest;
    int low;
};

// Does f32 not hold v? Inside the range of its normal numbers the last 29 bits say so.
JUDGE_FN int oracle_inexact(double v) {
    if (ORACLE_LOW(v) & 0x1fffffffu)
        return 1;
    unsigned exponent = ORACLE_HIGH(v) & 0x7ff00000u;
    if (exponent >= 0x38100000u && exponent <= 0x47e00000u)
        return 0;
    return (double)(float)v != v;
}

JUDGE_FN double oracle_rounding(double v, double carried) {
    return carried > 0 || oracle_inexact(v) ? v * v * ORACLE_ROUND + ORACLE_QUANTUM : 0;
}

JUDGE_FN int oracle_low_bit(double v) {
    u64 bits = (u64)ORACLE_HIGH(v) << 32 | ORACLE_LOW(v);
    int exponent = (int)(bits >> 52 & 0x7ff);
    u64 mantissa = bits & 0xfffffffffffffull;
    if (exponent == 0x7ff)
        return ORACLE_ALL_BITS;
    if (exponent == 0)
        return mantissa ? ORACLE_TRAILING(mantissa) - 1074 : ORACLE_NO_BIT;
    return exponent - 1075 + ORACLE_TRAILING(mantissa | 0x10000000000000ull);
}

JUDGE_FN int oracle_sums_exactly(double size, int low) {
    return low == ORACLE_NO_BIT || (low >= -149 && size <= ldexp(1.0, 24 + low));
}

// ---- where elements are

JUDGE_FN u64 oracle_place(const struct oracle_axes *a, u64 i) {
    u64 place = 0;
    if (a->is_flat)
        return i;
    for (int axis = a->rank - 1; axis > 0; axis--) {
        place += i % a->size[axis] * a->stride[axis];
        i /= a->size[axis];
    }
    return a->rank ? place + i * a->stride[0] : place;
}

JUDGE_FN struct oracle_point oracle_read(const struct oracle_array *a, u64 place) {
    struct oracle_point p = {a->number, 0, (float)a->number};
    if (a->honest) {
        p.honest = ((const float *)a->honest)[place];
        p.value = a->value ? ((const double *)a->value)[place] : (double)p.honest;
    }
    if (a->variance)
        p.variance = ((const double *)a->variance)[place];
    return p;
}

JUDGE_FN struct oracle_point oracle_input(const struct oracle_array *a, u64 place) {
    float f = ((const float *)a->honest)[place];
    struct oracle_point p = {(double)f, 0, f};
    return p;
}

JUDGE_FN void oracle_write(const struct oracle_array *a, u64 place, struct oracle_point p) {
    ((double *)a->value)[place] = p.value;
    ((double *)a->variance)[place] = p.variance;
    ((float *)a->honest)[place] = p.honest;
}

// ---- by element: as in ir/interpret_elementwise.c, from the same rows of ops.def

JUDGE_FN double op_modulo(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// What each operation is. Those on integers are left to the host.
enum { ORACLE_SMOOTH, ORACLE_JUMPS, ORACLE_PICKS, ORACLE_ROUGH };
#define ORACLE_KIND_VECTOR ORACLE_SMOOTH
#define ORACLE_KIND_TRANSCENDENTAL ORACLE_ROUGH
#define ORACLE_CASE(id, result) \
    case OP_##id:               \
        return result;
#define ORACLE_STEP_NUMBER(id, result) ORACLE_CASE(id, result)
#define ORACLE_STEP_WHOLE(id, result)

JUDGE_FN int oracle_kind(int op) {
    switch (op) {
#define OP(id, name, class, arity, types, flops, pipe)
#define UNARY(id, name, types, flops, pipe, value, slope) ORACLE_CASE(id, ORACLE_KIND_##pipe)
#define BINARY(id, name, types, flops, pipe, value, slope_a, slope_b) \
    ORACLE_CASE(id, OP_##id == OP_DIV ? ORACLE_ROUGH : ORACLE_KIND_##pipe)
#define STEP1(id, name, types, flops, pipe, value) ORACLE_STEP_##types(id, ORACLE_JUMPS)
#define STEP2(id, name, types, flops, pipe, value) ORACLE_STEP_##types(id, ORACLE_JUMPS)
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
#define STEP1(id, name, types, flops, pipe, value) ORACLE_STEP_##types(id, value)
#define STEP2(id, name, types, flops, pipe, value) ORACLE_STEP_##types(id, value)
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
    struct oracle_point p = {Y, 0, (float)oracle_value(op, (double)x.honest, (double)y.honest)};
    int kind = oracle_kind(op);
    switch (kind) {
    case ORACLE_PICKS:
        p.variance = oracle_slope_a(op, x.value, y.value, Y) != 0 ? V : W;
        return p;
    case ORACLE_JUMPS:
        p.variance = V + W > 0 ? oracle_jump(op, x, y, Y) : 0;
        return p;
    default:
        c = V == 0 ? 0 : oracle_carried(oracle_slope_a(op, x.value, y.value, Y), V);
        c += W == 0 ? 0 : oracle_carried(oracle_slope_b(op, x.value, y.value, Y), W);
        p.variance = c + oracle_rounding(Y, kind == ORACLE_ROUGH ? 1 : c);
        if ((op == OP_EXP || op == OP_EXP2) && V > 1 &&
            x.value + ORACLE_STRAYS * sqrt(V) > ORACLE_NOTHING)
            p.variance = JUDGE_INFINITY;
        return p;
    }
}

// The condition may be wrong by honest rounding: then either branch is right.
JUDGE_FN struct oracle_point oracle_where(struct oracle_point x, struct oracle_point y,
                                          struct oracle_point z) {
    struct oracle_point p = x.value != 0 ? y : z;
    double height = y.value - z.value;
    if (x.variance > 0)
        p.variance = fmax(p.variance, height * height);
    p.honest = x.honest != 0 ? y.honest : z.honest;
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
            x = oracle_where(x, y, oracle_read(&m.args[2].array, oracle_place(&m.args[2].axes, i)));
        else if (m.op != ORACLE_COPY) {
            double sizes = x.value * x.value + y.value * y.value;
            x = oracle_apply(m.op, x, y);
            if (m.is_exponent)
                x.variance += sizes * ORACLE_ROUND;
        }
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

// A walk along some axes, element by element.
struct oracle_walk {
    u64 place, at[ORACLE_RANK];
};

JUDGE_FN void oracle_walk_to(struct oracle_walk *w, const struct oracle_axes *a, u64 base, u64 i) {
    w->place = base + oracle_place(a, i);
    for (int axis = a->rank - 1; axis >= 0; axis--) {
        w->at[axis] = i % a->size[axis];
        i /= a->size[axis];
    }
}

JUDGE_FN void oracle_step(struct oracle_walk *w, const struct oracle_axes *a) {
    if (a->rank == 1) {
        w->place += a->stride[0];
        return;
    }
    for (int axis = a->rank - 1; axis >= 0; axis--) {
        w->place += a->stride[axis];
        if (++w->at[axis] < a->size[axis])
            return;
        w->place -= a->stride[axis] * a->size[axis];
        w->at[axis] = 0;
    }
}

JUDGE_FN struct oracle_partial oracle_partial_of(struct oracle_point x) {
    struct oracle_partial p = {x.value, x.variance, 0, x.value * x.value, x.honest, 0};
    return p;
}

JUDGE_FN void oracle_add_term(struct oracle_partial *p, struct oracle_point x) {
    p->value += x.value;
    p->squares += x.value * x.value;
    p->variance += x.variance;
    p->honest = ORACLE_PLUS(p->honest, x.honest);
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
    if (a->value && a->variance && a->honest) {
        const double *value = (const double *)a->value, *variance = (const double *)a->variance;
        const float *honest = (const float *)a->honest;
        ORACLE_EACH_AHEAD points[i].value = value[place[i]];
        ORACLE_EACH_AHEAD points[i].variance = variance[place[i]];
        ORACLE_EACH_AHEAD points[i].honest = honest[place[i]];
    } else if (a->honest && !a->value) {
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
            struct oracle_point x = {p.value, p.variance, p.honest};
            if (r.op == OP_RSUM)
                x.variance = oracle_vary(p, (double)r.length);
            oracle_write(&r.out, result, x);
        }
    }
}

// ---- products: as in ir/interpret_matmul.c

enum { ORACLE_SIDE = 4, ORACLE_SPAN = ORACLE_TILE / ORACLE_SIDE };

// One thread has SIDE x SIDE results, SPAN apart, so that neighbours read neighbours.
struct oracle_piece {
    u64 row, column, out;                       // of the first; `out` among the partial results
    u64 left[ORACLE_SIDE], right[ORACLE_SIDE];  // places at k = 0
    double value[ORACLE_SIDE][ORACLE_SIDE], squares[ORACLE_SIDE][ORACLE_SIDE];
    double products[ORACLE_SIDE][ORACLE_SIDE];  // squares of those that are rounded
    double fourth[ORACLE_SIDE][ORACLE_SIDE];    // of inputs sizes, else carried variance
    float honest[ORACLE_SIDE][ORACLE_SIDE];
};

// -0 is what changes nothing when something is added to it.
JUDGE_FN void oracle_clear(struct oracle_piece *t) {
#pragma unroll
    for (int i = 0; i < ORACLE_SIDE; i++)
#pragma unroll
        for (int j = 0; j < ORACLE_SIDE; j++) {
            t->value[i][j] = -0.0;
            t->squares[i][j] = t->products[i][j] = t->fourth[i][j] = 0;
            t->honest[i][j] = -0.0f;
        }
}

JUDGE_FN void oracle_multiply(const struct oracle_product *p, struct oracle_piece *t, u64 k,
                              int is_exact) {
    struct oracle_point a[ORACLE_SIDE], b[ORACLE_SIDE];
#pragma unroll
    for (int i = 0; i < ORACLE_SIDE; i++) {
        u64 left = t->left[i] + k * p->left_k, right = t->right[i] + k * p->right_k;
        a[i] = is_exact ? oracle_input(&p->left, left) : oracle_read(&p->left, left);
        b[i] = is_exact ? oracle_input(&p->right, right) : oracle_read(&p->right, right);
    }
#pragma unroll
    for (int i = 0; i < ORACLE_SIDE; i++)
#pragma unroll
        for (int j = 0; j < ORACLE_SIDE; j++) {
            double product = a[i].value * b[j].value, square = product * product;
            t->value[i][j] += product;
            t->squares[i][j] += square;
            if (oracle_inexact(product))
                t->products[i][j] += square;
            t->honest[i][j] =
                ORACLE_PLUS(t->honest[i][j], ORACLE_MUL(a[i].honest, b[j].honest));
            if (is_exact)
                t->fourth[i][j] += fabs(product);
            else
                t->fourth[i][j] += b[j].value * b[j].value * a[i].variance +
                                   b[j].variance * (a[i].value * a[i].value);
        }
}

// The sums of one run, each to its place among the partial results; oracle_finish does the rest.
JUDGE_FN void oracle_end_run(const struct oracle_product *p, const struct oracle_piece *t,
                             int is_exact) {
    struct oracle_partial *partials = (struct oracle_partial *)p->partials;
#pragma unroll
    for (int i = 0; i < ORACLE_SIDE; i++)
#pragma unroll
        for (int j = 0; j < ORACLE_SIDE; j++) {
            struct oracle_partial s = {t->value[i][j],   t->products[i][j] * ORACLE_ROUND,
                                       t->fourth[i][j],  t->squares[i][j],
                                       t->honest[i][j], 0};
            if (!is_exact) {
                s.variance += s.size;
                s.size = 0;
            }
            if (t->row + i * ORACLE_SPAN < p->m && t->column + j * ORACLE_SPAN < p->n)
                partials[t->out + i * ORACLE_SPAN * p->n + j * ORACLE_SPAN] = s;
        }
}

// `is_exact` is a constant, so that each case has code of its own.
JUDGE_FN void oracle_one_run(const struct oracle_product *p, struct oracle_piece *t, u64 start,
                             int is_exact) {
    int n = p->k - start < ORACLE_RUN ? (int)(p->k - start) : ORACLE_RUN;
    oracle_clear(t);
    for (int k = 0; k < n; k++)
        oracle_multiply(p, t, start + k, is_exact);
    oracle_end_run(p, t, is_exact);
}

JUDGE_FN u64 oracle_least(u64 a, u64 b) {
    return a < b ? a : b;
}

// Every run of every result; oracle_join makes one of them.
JUDGE_KERNEL oracle_matmul(struct oracle_product p) {
    u64 across = (p.n + ORACLE_TILE - 1) / ORACLE_TILE, down = (p.m + ORACLE_TILE - 1) / ORACLE_TILE;
    u64 n_runs = (p.k + ORACLE_RUN - 1) / ORACLE_RUN, tiles = p.batch * across * down;
    for (u64 t = first(); t < tiles * n_runs * ORACLE_GROUP; t += stride()) {
        u64 tile = t / ORACLE_GROUP % tiles, run = t / ORACLE_GROUP / tiles;
        u64 batch = tile / (across * down);
        struct oracle_piece piece;
        piece.row = tile / across % down * ORACLE_TILE + t % ORACLE_GROUP / ORACLE_SPAN;
        piece.column = tile % across * ORACLE_TILE + t % ORACLE_SPAN;
        piece.out = ((run * p.batch + batch) * p.m + piece.row) * p.n + piece.column;
        for (int i = 0; i < ORACLE_SIDE; i++) {
            // Beyond the edge the last row or column is computed again, and not written.
            piece.left[i] = oracle_place(&p.left_batch, batch) +
                            oracle_least(piece.row + i * ORACLE_SPAN, p.m - 1) * p.left_m;
            piece.right[i] = oracle_place(&p.right_batch, batch) +
                             oracle_least(piece.column + i * ORACLE_SPAN, p.n - 1) * p.right_n;
        }
        if (p.is_exact)
            oracle_one_run(&p, &piece, run * ORACLE_RUN, 1);
        else
            oracle_one_run(&p, &piece, run * ORACLE_RUN, 0);
    }
}

// Sizes and lowest bits of the products, which say whether their sum is exact: looked for only where
// none was rounded.
JUDGE_KERNEL oracle_finish(struct oracle_product p) {
    struct oracle_partial *partials = (struct oracle_partial *)p.partials;
    u64 n_runs = (p.k + ORACLE_RUN - 1) / ORACLE_RUN, results = p.batch * p.m * p.n;
    for (u64 t = first(); t < results * n_runs; t += stride()) {
        struct oracle_partial s = partials[t];
        u64 start = t / results * ORACLE_RUN, batch = t % results / (p.m * p.n);
        u64 left = oracle_place(&p.left_batch, batch) + t / p.n % p.m * p.left_m;
        u64 right = oracle_place(&p.right_batch, batch) + t % p.n * p.right_n;
        int low_left = ORACLE_NO_BIT, low_right = ORACLE_NO_BIT, is_exact = !(s.variance > 0);
        for (u64 k = start; is_exact && k < start + ORACLE_RUN && k < p.k; k++) {
            double a = oracle_read(&p.left, left + k * p.left_k).value;
            double b = oracle_read(&p.right, right + k * p.right_k).value;
            int low_a = oracle_low_bit(a), low_b = oracle_low_bit(b);
            low_left = low_a < low_left ? low_a : low_left;
            low_right = low_b < low_right ? low_b : low_right;
            s.size += p.is_exact ? 0 : fabs(a * b);
        }
        int is_zero = low_left == ORACLE_NO_BIT || low_right == ORACLE_NO_BIT;
        s.low = is_zero ? ORACLE_NO_BIT : low_left + low_right;
        partials[t] = s;
    }
}

// ---- what is expected: as in eval/oracle.c

JUDGE_KERNEL oracle_put(struct oracle_put o, struct judge_part *parts) {
    struct judge_part part = {0, 0, 0, 0, 0, 0};
    float *high = (float *)o.high, *low = (float *)o.low, *spread = (float *)o.spread;
    for (u64 i = first(); i < o.n; i += stride()) {
        struct oracle_point x = oracle_read(&o.from, i);
        float h = (float)x.value, l = isfinite(h) ? (float)(x.value - (double)h) : 0;
        double deviation = isfinite(x.value) ? sqrt(x.variance) : 0;
        float s = (float)(deviation > 0 && deviation < 1.401298464324817e-45
                              ? 1.401298464324817e-45
                              : deviation);
        if (isinf(s))
            s = ORACLE_NAN;
        double error = judge_error(x.honest, (double)h + (double)l, s);
        if (!isfinite(error) || (o.allows_overflow && !isfinite(h)))
            s = ORACLE_NAN;
        high[o.at + i] = h;
        low[o.at + i] = l;
        spread[o.at + i] = s;
        if (!isfinite(error))
            continue;
        part.sum += error * error;
        part.max = error > part.max ? error : part.max;
    }
    judge_leave(parts, part);
}

JUDGE_KERNEL oracle_mean(const float *high, const float *low, u64 n, struct judge_part *parts) {
    struct judge_part part = {0, 0, 0, 0, 0, 0};
    for (u64 i = first(); i < n; i += stride())
        part.sum += (double)high[i] + (double)low[i];
    judge_leave(parts, part);
}

JUDGE_KERNEL oracle_guess(struct oracle_guess g, struct judge_part *parts) {
    struct judge_part part = {0, 0, 0, 0, 0, 0};
    const float *data = (const float *)g.data;
    const float *high = (const float *)g.high, *low = (const float *)g.low;
    const float *spread = (const float *)g.spread;
    for (u64 i = first(); i < g.n; i += stride()) {
        float value = data ? data[i % g.count] : g.constant;
        double error = judge_error(value, (double)high[i] + (double)low[i], spread[i]);
        part.sum += error * error;
        part.max = error > part.max ? error : part.max;
    }
    judge_leave(parts, part);
}
