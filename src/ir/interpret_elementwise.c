// One loop per operation; each computes value, variance (by the derivative) and honest f32.
#include <assert.h>
#include <math.h>

#include "ir/reading.h"

// What an operand's variance contributes. An exact operand contributes nothing even where
// the derivative is infinite.
static inline double carried(double derivative_squared, double variance) {
    return variance == 0 ? 0 : derivative_squared * variance;
}

// Carried variance c, and what rounding the result v adds.
static inline double rounded(double v, double c) {
    return c + reading_round_from(v, c);
}

#define EACH(i, n) for (int i = 0; i < (n); i++)

// Loops over one argument: A value, V variance, H honest; over two: also B, W, G.
#define UNARY(name, VALUE, DERIVATIVE2, HONEST)                                           \
    READING_HOT static void name(struct reading out, const struct reading *args, int n) { \
        const double *restrict a = args[0].value, *restrict va = args[0].variance;        \
        const float *restrict h = args[0].honest;                                         \
        EACH(i, n) {                                                                      \
            double A = a[i], v = VALUE;                                                   \
            out.variance[i] = rounded(v, carried(DERIVATIVE2, va[i]));                    \
            out.value[i] = v;                                                             \
        }                                                                                 \
        EACH(i, n) {                                                                      \
            float H = h[i];                                                               \
            out.honest[i] = HONEST;                                                       \
        }                                                                                 \
    }

#define BINARY(name, VALUE, VARIANCE, HONEST)                                             \
    READING_HOT static void name(struct reading out, const struct reading *args, int n) { \
        const double *restrict a = args[0].value, *restrict va = args[0].variance;        \
        const double *restrict b = args[1].value, *restrict vb = args[1].variance;        \
        const float *restrict h = args[0].honest, *restrict g = args[1].honest;           \
        EACH(i, n) {                                                                      \
            double A = a[i], B = b[i], V = va[i], W = vb[i], v = VALUE;                   \
            out.variance[i] = VARIANCE;                                                   \
            out.value[i] = v;                                                             \
        }                                                                                 \
        EACH(i, n) {                                                                      \
            float H = h[i], G = g[i];                                                     \
            out.honest[i] = HONEST;                                                       \
        }                                                                                 \
    }

// clang-format off
UNARY(run_neg,   -A,          1.0,                      -H)
UNARY(run_abs,   fabs(A),     1.0,                      fabsf(H))
UNARY(run_exp,   exp(A),      v * v,                    (float)exp((double)H))
UNARY(run_log,   log(A),      1 / (A * A),              (float)log((double)H))
UNARY(run_sqrt,  sqrt(A),     0.25 / A,                 sqrtf(H))
UNARY(run_rsqrt, 1 / sqrt(A), 0.25 * v * v / (A * A),   (float)(1 / sqrt((double)H)))
UNARY(run_tanh,  tanh(A),     (1 - v * v) * (1 - v * v), (float)tanh((double)H))
// The derivative of erf is 2/sqrt(pi) exp(-x^2); its square has 4/pi.
UNARY(run_erf,   erf(A),      1.2732395447351628 * exp(-2 * A * A), (float)erf((double)H))

BINARY(run_add, A + B, rounded(v, V + W), H + G)
BINARY(run_sub, A - B, rounded(v, V + W), H - G)
BINARY(run_mul, A * B, rounded(v, carried(B * B, V) + carried(A * A, W)), H * G)
BINARY(run_div, A / B, rounded(v, carried(1 / (B * B), V) + carried(v * v / (B * B), W)), H / G)
// NaN wins, as in NumPy; a choice does not round.
BINARY(run_max, A > B || A != A ? A : B, A > B || A != A ? V : W, H > G || H != H ? H : G)
BINARY(run_min, A < B || A != A ? A : B, A < B || A != A ? V : W, H < G || H != H ? H : G)
BINARY(run_lt,  A < B,  0 * (V + W), H < G)
BINARY(run_le,  A <= B, 0 * (V + W), H <= G)
BINARY(run_eq,  A == B, 0 * (V + W), H == G)
// clang-format on

static void run_where(struct reading out, const struct reading *args, int n) {
    EACH(i, n) {
        const struct reading *chosen = &args[args[0].value[i] != 0 ? 1 : 2];
        out.value[i] = chosen->value[i];
        out.variance[i] = chosen->variance[i];
        out.honest[i] = args[args[0].honest[i] != 0 ? 1 : 2].honest[i];
    }
}

typedef void (*run_fn)(struct reading out, const struct reading *args, int n);

void reading_elementwise(enum op op, struct reading out, const struct reading *args, int n) {
    static const run_fn runs[OP_COUNT] = {
        [OP_NEG] = run_neg,   [OP_ABS] = run_abs,     [OP_EXP] = run_exp,   [OP_LOG] = run_log,
        [OP_SQRT] = run_sqrt, [OP_RSQRT] = run_rsqrt, [OP_TANH] = run_tanh, [OP_ERF] = run_erf,
        [OP_ADD] = run_add,   [OP_SUB] = run_sub,     [OP_MUL] = run_mul,   [OP_DIV] = run_div,
        [OP_MAX] = run_max,   [OP_MIN] = run_min,     [OP_LT] = run_lt,     [OP_LE] = run_le,
        [OP_EQ] = run_eq,     [OP_WHERE] = run_where,
    };
    assert(runs[op]);
    runs[op](out, args, n);
}
