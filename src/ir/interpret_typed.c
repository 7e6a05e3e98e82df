// The readings where something is not f32: integers, f64, casts, and everything that jumps.
// Element by element through functions: plain rather than fast, since what is fast about the
// language is f32.
//
// An integer is computed exactly and wraps around in its type. A jump (floor, a comparison,
// a cast to an integer) of an operand that honest rounding may carry across it is uncertain
// by the height of the jump.
#include <assert.h>
#include <math.h>

#include "hone_storage.h"
#include "ir/interpret.h"
#include "ir/op_functions.h"
#include "ir/reading_fold.h"

double reading_round_to(enum dtype t, double v, double carried) {
    return stored_rounding((int)t, v, carried);
}

double interpret_rounding(enum dtype t, double v) {
    return reading_round_to(t, v, 1);
}

// ---- the rows of ops.def as functions

#define FUNCTION(name, expression)                     \
    static double name(double A, double B, double Y) { \
        (void)A;                                       \
        (void)B;                                       \
        (void)Y;                                       \
        return expression;                             \
    }
#define OP(id, name, class, arity, types, flops, pipe)
#define UNARY(id, name, types, flops, pipe, value, slope) \
    FUNCTION(value_##id, value) FUNCTION(slope_##id, slope)
#define BINARY(id, name, types, flops, pipe, value, slope_a, slope_b) \
    FUNCTION(value_##id, value) FUNCTION(slope_##id, slope_a) FUNCTION(slope2_##id, slope_b)
#define STEP1(id, name, types, flops, pipe, value) FUNCTION(value_##id, value)
#define STEP2(id, name, types, flops, pipe, value) FUNCTION(value_##id, value)
#define PICK(id, name, flops, takes_a) \
    FUNCTION(value_##id, (takes_a) ? A : B) FUNCTION(slope_##id, takes_a)
#define TEST(id, name, arity, types, value) FUNCTION(value_##id, value)
#include "ir/ops.def"
#include "ir/ops_end.h"

// Value and slopes of one elementwise operation of ops.def, as functions; for a jump `slope_a`
// is NULL.
typedef double (*op_fn)(double A, double B, double Y);
struct op_functions {
    op_fn value, slope_a, slope_b;
    bool is_pick;  // `slope_a` says whether A is taken
};

static const struct op_functions op_functions[OP_COUNT] = {
#define OP(id, name, class, arity, types, flops, pipe)
#define UNARY(id, name, types, flops, pipe, value, slope) \
    [OP_##id] = {value_##id, slope_##id, NULL, false},
#define BINARY(id, name, types, flops, pipe, value, slope_a, slope_b) \
    [OP_##id] = {value_##id, slope_##id, slope2_##id, false},
#define STEP1(id, name, types, flops, pipe, value) [OP_##id] = {value_##id, NULL, NULL, false},
#define STEP2(id, name, types, flops, pipe, value) [OP_##id] = {value_##id, NULL, NULL, false},
#define PICK(id, name, flops, takes_a) [OP_##id] = {value_##id, slope_##id, NULL, true},
#define TEST(id, name, arity, types, value) [OP_##id] = {value_##id, NULL, NULL, false},
#include "ir/ops.def"
#include "ir/ops_end.h"
};

double op_evaluate(enum op op, double a, double b) {
    assert(op_functions[op].value);
    return op_functions[op].value(a, b, 0);
}

// ---- by element

// Operands and result of one element.
struct element {
    double a, b;    // truth
    double va, vb;  // variances
    double h, g;    // honest, in the type that is computed in
    double value, variance, honest;
};

// An operation on integers is exact, and only a product is too wide for a double.
static double whole_value(enum op op, enum dtype t, double a, double b) {
    int64_t r;
    if (op == OP_MUL)
        r = (int64_t)((uint64_t)dtype_whole(a) * (uint64_t)dtype_whole(b));
    else if ((op == OP_FLOORDIV || op == OP_MOD) && b == 0)
        r = 0;
    else
        r = dtype_whole(op_evaluate(op, a, b));
    return (double)dtype_wrap(t, r);
}

static double larger_square(double variance, double difference) {
    double square = difference * difference;
    return square > variance ? square : variance;
}

double reading_jump(enum op op, const double at[2], const double variance[2], double y) {
    op_fn f = op_functions[op].value;
    double square = 0;
    for (int i = 0; i < 4; i++) {
        double stray = (i & 1 ? READING_STRAYS : -READING_STRAYS) * sqrt(variance[i / 2]);
        double moved = f(at[0] + (i < 2 ? stray : 0), at[1] + (i < 2 ? 0 : stray), 0);
        square = stray != 0 ? larger_square(square, moved - y) : square;
    }
    return square;
}

static double carried(double slope, double variance) {
    return variance == 0 ? 0 : slope * slope * variance;
}

static double jump(enum op op, const struct element *e) {
    return reading_jump(op, (double[]){e->a, e->b}, (double[]){e->va, e->vb}, e->value);
}

static void compute(enum op op, enum dtype t, struct element *e) {
    const struct op_functions *f = &op_functions[op];
    if (dtype_is_integer(t)) {
        e->value = whole_value(op, t, e->a, e->b);
        e->honest = whole_value(op, t, e->h, e->g);
        e->variance = jump(op, e);
        return;
    }
    e->value = f->value(e->a, e->b, 0);
    e->honest = dtype_round(t, f->value(e->h, e->g, 0));
    if (f->is_pick) {
        e->variance = stored_pick(e->a, e->b, e->va, e->vb, f->slope_a(e->a, e->b, 0) != 0);
    } else if (f->slope_a) {
        double c = carried(f->slope_a(e->a, e->b, e->value), e->va);
        c += f->slope_b ? carried(f->slope_b(e->a, e->b, e->value), e->vb) : 0;
        bool is_rough = op_infos[op].pipe == OP_PIPE_TRANSCENDENTAL || op == OP_DIV;
        e->variance = c + reading_round_to(t, e->value, is_rough ? 1 : c);
    } else {
        e->variance = jump(op, e);
    }
}

// The condition may be wrong by honest rounding: then either branch is right, with its own error.
static void run_where(struct reading out, const struct reading *args, int n) {
    for (int i = 0; i < n; i++) {
        const struct reading *yes = &args[1], *no = &args[2];
        bool holds = args[0].value[i] != 0;
        out.value[i] = holds ? yes->value[i] : no->value[i];
        out.variance[i] = holds ? yes->variance[i] : no->variance[i];
        if (args[0].variance[i] > 0) {
            double height = yes->value[i] - no->value[i];
            double square = height * height + (holds ? no : yes)->variance[i];
            out.variance[i] = square > out.variance[i] ? square : out.variance[i];
        }
        const struct reading *chosen = reading_honest(&args[0], i) != 0 ? yes : no;
        double honest = dtype_convert(chosen->type, out.type, reading_honest(chosen, i));
        reading_set_honest(&out, i, honest);
    }
}

// The truth does not round: only that a value became an integer is part of it.
static void run_cast(struct reading out, const struct reading *args, int n) {
    enum dtype from = args[0].type, to = out.type;
    for (int i = 0; i < n; i++) {
        double v = args[0].value[i], variance = args[0].variance[i];
        out.value[i] = dtype_is_float(to) ? v : dtype_convert(from, to, v);
        out.variance[i] = variance + reading_round_to(to, v, variance);
        if (!dtype_is_float(to) && variance > 0) {
            // A deviation of one and more is the height of a jump, or as good as that.
            double stray = READING_STRAYS * sqrt(variance);
            stray = stray < 1 ? stray : sqrt(variance);
            double up = dtype_convert(from, to, v + stray) - out.value[i];
            double down = dtype_convert(from, to, v - stray) - out.value[i];
            out.variance[i] = larger_square(larger_square(0, up), down);
        }
        reading_set_honest(&out, i, dtype_convert(from, to, reading_honest(&args[0], i)));
    }
}

// What the operation is computed in: its result's type, for a test that of its operands.
static enum dtype computed_in(enum op op, struct reading out, const struct reading *args) {
    return out.type == DTYPE_BOOL ? dtype_promote(args[0].type, args[op_infos[op].arity - 1].type)
                                  : out.type;
}

void reading_elementwise_typed(enum op op, struct reading out, const struct reading *args, int n) {
    if (op == OP_WHERE || op == OP_CAST) {
        if (op == OP_WHERE)
            run_where(out, args, n);
        else
            run_cast(out, args, n);
        return;
    }
    enum dtype t = computed_in(op, out, args);
    bool is_test = out.type == DTYPE_BOOL, has_two = op_infos[op].arity == 2;
    for (int i = 0; i < n; i++) {
        struct element e = {.a = args[0].value[i], .va = args[0].variance[i]};
        e.h = dtype_convert(args[0].type, t, reading_honest(&args[0], i));
        if (has_two) {
            e.b = args[1].value[i];
            e.vb = args[1].variance[i];
            e.g = dtype_convert(args[1].type, t, reading_honest(&args[1], i));
        }
        compute(op, is_test ? DTYPE_BOOL : t, &e);
        out.value[i] = e.value;
        out.variance[i] = e.variance;
        reading_set_honest(&out, i, e.honest);
    }
}

// ---- reductions

// NaN is the largest and the smallest.
static bool beats(enum op op, double a, double b) {
    if (a != a || b != b)
        return a != a && b == b;
    return op == OP_ARGMAX || op == OP_RMAX || op == OP_ANY ? a > b : a < b;
}

// The better of both in each reading; of equals the first. `p` stands before `q`.
static struct reading_partial better(enum op op, struct reading_partial p,
                                     struct reading_partial q) {
    bool second = beats(op, q.value, p.value);
    struct reading_partial r = second ? q : p, loser = second ? p : q;
    bool honest_second = beats(op, q.wide, p.wide);
    r.wide = honest_second ? q.wide : p.wide;
    r.honest_at = honest_second ? q.honest_at : p.honest_at;
    // Of those who are not the best, the one that may yet be it.
    if (loser.variance + r.variance > 0 &&
        (r.other != r.other || beats(op, loser.value, r.other))) {
        r.other = loser.value;
        r.other_variance = loser.variance;
    }
    return r;
}

// Two sums of floats become one: as of f32 (reading_vary()), with the steps of the type.
static struct reading_partial plus(enum dtype t, struct reading_partial p,
                                   struct reading_partial q) {
    struct reading_partial r = {.value = p.value + q.value,
                                .wide = dtype_round(t, p.wide + q.wide),
                                .terms = p.terms + q.terms,
                                .carried = p.carried + q.carried,
                                .squares = p.squares + q.squares,
                                .size = p.size + q.size,
                                .low = p.low < q.low ? p.low : q.low};
    bool is_exact = r.low == READING_NO_BIT || r.size <= ldexp(1, dtype_infos[t].digits + r.low);
    r.variance = r.carried;
    if (r.carried > 0 || t == DTYPE_F64 || !is_exact)
        r.variance +=
            (r.terms - 1) * reading_round_to(t, sqrt(reading_sum_square(r.value, r.squares)), 1);
    return r;
}

struct reading_partial reading_join_typed(const struct reading_fold *f, struct reading_partial p,
                                          struct reading_partial q) {
    struct reading_partial r = {0};
    if (f->op != OP_RSUM && f->op != OP_RPROD)
        return better(f->op, p, q);
    bool adds = f->op == OP_RSUM;
    if (dtype_is_integer(f->type)) {
        enum op op = adds ? OP_ADD : OP_MUL;
        r.value = whole_value(op, f->type, p.value, q.value);
        r.wide = whole_value(op, f->type, p.wide, q.wide);
        r.variance = p.variance + q.variance;
        return r;
    }
    if (adds)
        return plus(f->type, p, q);
    r.value = p.value * q.value;
    r.wide = dtype_round(f->type, p.wide * q.wide);
    r.variance = carried(q.value, p.variance) + carried(p.value, q.variance);
    r.variance += reading_round_to(f->type, r.value, r.variance);
    return r;
}

// A term of a sum, or one of those of whom the best is looked for.
static struct reading_partial term(double value, double variance, double honest) {
    return (struct reading_partial){.value = value,
                                    .variance = variance,
                                    .wide = honest,
                                    .terms = 1,
                                    .carried = variance,
                                    .squares = value * value,
                                    .size = fabs(value),
                                    .low = reading_low(value)};
}

struct reading_partial reading_run_typed(const struct reading_fold *f, struct reading x, int n) {
    struct reading_partial p = {0};
    for (int i = 0; i < n; i++) {
        struct reading_partial q = term(x.value[i], x.variance[i], reading_honest(&x, i));
        q.at = q.honest_at = f->n_runs * RUN_MAX + i;
        q.other = NAN;
        p = i ? reading_join_typed(f, p, q) : q;
    }
    return p;
}

// ---- products

void reading_matmul_typed(const struct reading_matmul *mm) {
    struct reading_fold f = {.op = OP_RSUM, .type = mm->out.type};
    bool is_whole = dtype_is_integer(f.type);
    for (int64_t i = 0; i < mm->m * mm->n; i++) {
        struct reading_partial sum = {0};
        for (int64_t k = 0; k < mm->k; k++) {
            int64_t l = i / mm->n * mm->k + k, r = k * mm->n + i % mm->n;
            double a = mm->left.value[l], b = mm->right.value[r];
            double h = reading_honest(&mm->left, l), g = reading_honest(&mm->right, r);
            double value = is_whole ? whole_value(OP_MUL, f.type, a, b) : a * b;
            double honest =
                is_whole ? whole_value(OP_MUL, f.type, h, g) : dtype_round(f.type, h * g);
            double variance = mm->left.variance ? carried(b, mm->left.variance[l]) : 0;
            variance += mm->right.variance ? carried(a, mm->right.variance[r]) : 0;
            variance += reading_round_to(f.type, value, variance);
            struct reading_partial p = term(value, variance, honest);
            sum = k ? reading_join_typed(&f, sum, p) : p;
        }
        mm->out.value[i] = sum.value;
        mm->out.variance[i] = sum.variance;
        reading_set_honest(&mm->out, i, sum.wide);
    }
}
