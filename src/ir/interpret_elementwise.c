// One loop per row of ops.def, for f32 (and bool, and whatever f32 holds): value, variance
// (by the slope) and honest reading, which is the same expression rounded. Every basic
// operation on two floats in double and rounded once is the operation in float, and compilers
// know it.
#include <assert.h>
#include <math.h>

#include "hone_storage.h"
#include "ir/op_functions.h"
#include "ir/reading.h"

// What an operand's variance contributes. An exact operand contributes nothing even where
// the derivative is infinite.
static inline double carried(double slope, double variance) {
    return variance == 0 ? 0 : slope * slope * variance;
}

// Carried variance c, and what rounding the result v adds. That a function, or a quotient, happens
// to be a number that f32 holds is no promise: others take reciprocals and polynomials.
static inline double rounded(double v, double c, bool is_rough) {
    return c + reading_round_from(v, is_rough ? 1 : c);
}
#define ROUGH_VECTOR 0
#define ROUGH_TRANSCENDENTAL 1
#define ROUGH(id, pipe) (ROUGH_##pipe || OP_##id == OP_DIV)

#define EACH(i, n) for (int i = 0; i < (n); i++)

#define LOOP1(id, VALUE, VARIANCE)                                                            \
    READING_HOT static void run_##id(struct reading out, const struct reading *args, int n) { \
        const double *restrict a = args[0].value, *restrict va = args[0].variance;            \
        const float *restrict h = args[0].honest;                                             \
        EACH(i, n) {                                                                          \
            double A = a[i], V = va[i], Y = VALUE;                                            \
            (void)V;                                                                          \
            out.variance[i] = VARIANCE;                                                       \
            out.value[i] = Y;                                                                 \
        }                                                                                     \
        EACH(i, n) {                                                                          \
            double A = (double)h[i];                                                          \
            out.honest[i] = (float)(VALUE);                                                   \
        }                                                                                     \
    }

#define LOOP2(id, VALUE, VARIANCE)                                                            \
    READING_HOT static void run_##id(struct reading out, const struct reading *args, int n) { \
        const double *restrict a = args[0].value, *restrict va = args[0].variance;            \
        const double *restrict b = args[1].value, *restrict vb = args[1].variance;            \
        const float *restrict h = args[0].honest, *restrict g = args[1].honest;               \
        EACH(i, n) {                                                                          \
            double A = a[i], B = b[i], V = va[i], W = vb[i], Y = VALUE;                       \
            (void)V;                                                                          \
            (void)W;                                                                          \
            out.variance[i] = VARIANCE;                                                       \
            out.value[i] = Y;                                                                 \
        }                                                                                     \
        EACH(i, n) {                                                                          \
            double A = (double)h[i], B = (double)g[i];                                        \
            out.honest[i] = (float)(VALUE);                                                   \
        }                                                                                     \
    }

// Exact operands do not stray across a jump.
#define JUMP1(id) (V > 0 ? reading_jump(OP_##id, (double[]){A, 0}, (double[]){V, 0}, Y) : 0)
#define JUMP2(id) (V + W > 0 ? reading_jump(OP_##id, (double[]){A, B}, (double[]){V, W}, Y) : 0)

#define OP(id, name, class, arity, types, flops, pipe)
#define UNARY(id, name, types, flops, pipe, value, slope) \
    LOOP1(id, value, rounded(Y, carried(slope, V), ROUGH(id, pipe)))
#define BINARY(id, name, types, flops, pipe, value, slope_a, slope_b) \
    LOOP2(id, value, rounded(Y, carried(slope_a, V) + carried(slope_b, W), ROUGH(id, pipe)))
#define STEP1(id, name, types, flops, pipe, value) LOOP1(id, value, JUMP1(id))
#define STEP2(id, name, types, flops, pipe, value) LOOP2(id, value, JUMP2(id))
// A choice does not round.
#define PICK(id, name, flops, takes_a) \
    LOOP2(id, (takes_a) ? A : B, stored_pick(A, B, V, W, takes_a))
#define TEST(id, name, arity, types, value) LOOP##arity(id, value, JUMP##arity(id))
#include "ir/ops.def"
#include "ir/ops_end.h"

// The condition may be wrong by honest rounding: then either branch is right, with its own error.
static void run_WHERE(struct reading out, const struct reading *args, int n) {
    EACH(i, n) {
        bool holds = args[0].value[i] != 0;
        const struct reading *chosen = &args[holds ? 1 : 2], *other = &args[holds ? 2 : 1];
        out.value[i] = chosen->value[i];
        out.variance[i] = chosen->variance[i];
        if (args[0].variance[i] > 0) {
            double height = args[1].value[i] - args[2].value[i];
            out.variance[i] = fmax(out.variance[i], height * height + other->variance[i]);
        }
        out.honest[i] = args[args[0].honest[i] != 0 ? 1 : 2].honest[i];
    }
}

typedef void (*run_fn)(struct reading out, const struct reading *args, int n);

static const run_fn runs[OP_COUNT] = {
#define OP(id, name, class, arity, types, flops, pipe)
#define UNARY(id, name, types, flops, pipe, value, slope) [OP_##id] = run_##id,
#define BINARY(id, name, types, flops, pipe, value, slope_a, slope_b) [OP_##id] = run_##id,
#define STEP1(id, name, types, flops, pipe, value) [OP_##id] = run_##id,
#define STEP2(id, name, types, flops, pipe, value) [OP_##id] = run_##id,
#define PICK(id, name, flops, takes_a) [OP_##id] = run_##id,
#define TEST(id, name, arity, types, value) [OP_##id] = run_##id,
#include "ir/ops.def"
#include "ir/ops_end.h"
    [OP_WHERE] = run_WHERE,
};

void reading_exponent(struct reading out, const struct reading *args, int n) {
    EACH(i, n) {
        double A = args[0].value[i], B = args[1].value[i];
        out.variance[i] += (A * A + B * B) * READING_ROUND;
    }
}

// Within reach of the operand the function is not straight.
static double flat_doubt(enum op op, double a, double v, double y) {
    return v * READING_STRAYS * READING_STRAYS > 1
               ? reading_jump(op, (double[]){a, 0}, (double[]){v, 0}, y)
               : 0;
}

void reading_doubt(enum op op, struct reading out, const struct reading *args, int n) {
    switch (op) {
    case OP_EXP:
    case OP_EXP2:
    case OP_EXPM1:
        EACH(i, n) {
            double v = args[0].variance[i];
            if (v > 1 && args[0].value[i] + READING_STRAYS * sqrt(v) > READING_NOTHING)
                out.variance[i] = INFINITY;
        }
        break;
    case OP_TANH:
    case OP_ERF:
    case OP_ERFC:
    case OP_ATAN:
    case OP_SIN:
    case OP_COS:
        EACH(i, n) {
            double doubt = flat_doubt(op, args[0].value[i], args[0].variance[i], out.value[i]);
            if (doubt > out.variance[i])
                out.variance[i] = doubt;
        }
        break;
    case OP_MUL:
        EACH(i, n) {
            double v = args[0].variance[i], w = args[1].variance[i];
            out.variance[i] += v > 0 && w > 0 ? v * w : 0;
        }
        break;
    default:
        break;
    }
}

void reading_elementwise(enum op op, struct reading out, const struct reading *args, int n) {
    bool is_plain = runs[op] && (out.type == DTYPE_F32 || out.type == DTYPE_BOOL);
    for (int i = 0; i < op_infos[op].arity; i++)
        is_plain &= args[i].honest != NULL;
    if (is_plain)
        runs[op](out, args, n);
    else
        reading_elementwise_typed(op, out, args, n);
}
