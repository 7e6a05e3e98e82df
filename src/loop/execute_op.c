// One switch per kind of operand (f32, f64, whole numbers, masks); results are wrapped to their
// type.
#include "loop/execute_op.h"

#include <assert.h>
#include <math.h>

#include "loop/loop_build.h"

// Functions of one float, in both precisions.
struct function {
    float (*single)(float);
    double (*wide)(double);
};

static float root_inverse_single(float x) {
    return 1 / sqrtf(x);
}

static double root_inverse(double x) {
    return 1 / sqrt(x);
}

static double gelu(double x) {
    return 0.5 * x * (1 + erf(x * sqrt(0.5)));
}

static float gelu_single(float x) {
    return (float)gelu((double)x);
}

static float inverse_single(float x) {
    return 1.0f / x;
}

static double inverse(double x) {
    return 1.0 / x;
}

#define FUNCTION(id, name) [LOOP_##id] = {name##f, name}
static const struct function functions[LOOP_OP_COUNT] = {
    FUNCTION(ABS, fabs),
    FUNCTION(EXP, exp),
    [LOOP_EXP_QUICK] = {expf, exp},
    [LOOP_GELU_QUICK] = {gelu_single, gelu},
    [LOOP_ERF_QUICK] = {erff, erf},
    [LOOP_INVERSE_QUICK] = {inverse_single, inverse},
    FUNCTION(LOG, log),
    FUNCTION(SQRT, sqrt),
    [LOOP_RSQRT] = {root_inverse_single, root_inverse},
    FUNCTION(TANH, tanh),
    FUNCTION(ERF, erf),
    FUNCTION(SIN, sin),
    FUNCTION(COS, cos),
    FUNCTION(TAN, tan),
    FUNCTION(ASIN, asin),
    FUNCTION(ACOS, acos),
    FUNCTION(ATAN, atan),
    FUNCTION(SINH, sinh),
    FUNCTION(COSH, cosh),
    FUNCTION(EXP2, exp2),
    FUNCTION(EXPM1, expm1),
    FUNCTION(LOG2, log2),
    FUNCTION(LOG10, log10),
    FUNCTION(LOG1P, log1p),
    FUNCTION(ERFC, erfc),
    FUNCTION(FLOOR, floor),
    FUNCTION(CEIL, ceil),
    FUNCTION(ROUND, rint),
    FUNCTION(TRUNC, trunc),
};

// The same operations in both precisions: `f` ends the names of the library's functions.
#define FLOAT_OPS(name, type, field, f)                              \
    static type name##_modulo(type x, type y) {                      \
        type r = fmod##f(x, y);                                      \
        return r != 0 && (r < 0) != (y < 0) ? r + y : r;             \
    }                                                                \
                                                                     \
    static type name##_op(enum loop_op op, type x, type y, type z) { \
        if (functions[op].field)                                     \
            return functions[op].field(x);                           \
        switch (op) {                                                \
        case LOOP_ADD:                                               \
            return x + y;                                            \
        case LOOP_SUB:                                               \
            return x - y;                                            \
        case LOOP_MUL:                                               \
            return x * y;                                            \
        case LOOP_DIV:                                               \
            return x / y;                                            \
        case LOOP_MOD:                                               \
            return name##_modulo(x, y);                              \
        case LOOP_FLOORDIV:                                          \
            return floor##f(x / y);                                  \
        case LOOP_MIN:                                               \
            return x != x || x < y ? x : y;                          \
        case LOOP_MAX:                                               \
            return x != x || x > y ? x : y;                          \
        case LOOP_NEG:                                               \
            return -x;                                               \
        case LOOP_FMA:                                               \
            return fma##f(x, y, z);                                  \
        case LOOP_POW:                                               \
            return pow##f(x, y);                                     \
        default:                                                     \
            assert(op == LOOP_ATAN2);                                \
            return atan2##f(x, y);                                   \
        }                                                            \
    }
FLOAT_OPS(single, float, single, f)
FLOAT_OPS(wide, double, wide, )

static int64_t floor_divide(int64_t x, int64_t y) {
    if (y == 0 || y == -1)
        return y == 0 ? 0 : (int64_t)(0 - (uint64_t)x);
    int64_t q = x / y;
    return q - (x % y != 0 && (x % y < 0) != (y < 0));
}

static int64_t floor_modulo(int64_t x, int64_t y) {
    if (y == 0 || y == -1)
        return 0;
    int64_t r = x % y;
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static int64_t bits_op(enum loop_op op, int64_t x, int64_t y) {
    bool in_reach = y >= 0 && y <= 62;
    switch (op) {
    case LOOP_AND:
        return x & y;
    case LOOP_OR:
        return x | y;
    case LOOP_XOR:
        return x ^ y;
    case LOOP_NOT:
        return !x;
    case LOOP_SHL:
        return in_reach ? (int64_t)((uint64_t)x << y) : 0;
    default:
        assert(op == LOOP_SHR);
        return in_reach ? x >> y : -(x < 0);
    }
}

// Not yet wrapped into the type. Indices divide as C does.
static int64_t whole_op(enum loop_op op, enum loop_dtype type, int64_t x, int64_t y) {
    switch (op) {
    case LOOP_ADD:
        return (int64_t)((uint64_t)x + (uint64_t)y);
    case LOOP_SUB:
        return (int64_t)((uint64_t)x - (uint64_t)y);
    case LOOP_MUL:
        return (int64_t)((uint64_t)x * (uint64_t)y);
    case LOOP_DIV:
        return x / y;
    case LOOP_MOD:
        return type == LOOP_INDEX ? x % y : floor_modulo(x, y);
    case LOOP_FLOORDIV:
        return floor_divide(x, y);
    case LOOP_MIN:
        return x < y ? x : y;
    case LOOP_MAX:
        return x > y ? x : y;
    case LOOP_NEG:
        return (int64_t)(0 - (uint64_t)x);
    case LOOP_ABS:
        return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
    default:
        return bits_op(op, x, y);
    }
}

static bool compare(enum loop_op op, enum loop_dtype type, union cell x, union cell y) {
    bool real = cell_is_real(type);
    bool less = real ? x.real < y.real : x.whole < y.whole;
    bool equal = real ? x.real == y.real : x.whole == y.whole;
    switch (op) {
    case LOOP_LT:
        return less;
    case LOOP_LE:
        return less || equal;
    case LOOP_EQ:
        return equal;
    default:
        return !equal;
    }
}

static int64_t wrap(enum loop_dtype t, int64_t v) {
    return t == LOOP_I32 ? (int32_t)v : v;
}

static union cell cast(enum loop_dtype from, enum loop_dtype to, union cell x) {
    bool real = cell_is_real(from);
    if (to == LOOP_MASK)
        return (union cell){.whole = real ? x.real != 0 : x.whole != 0};
    if (to == LOOP_F64)
        return (union cell){.real = real ? x.real : (double)x.whole};
    if (to == LOOP_F32)
        return (union cell){.real = real ? (float)x.real : (float)x.whole};
    if (!real)
        return (union cell){.whole = wrap(to, x.whole)};
    if (to == LOOP_I32)
        return (union cell){.whole = (int64_t)dtype_round(DTYPE_I32, x.real)};
    return (union cell){.whole = dtype_whole(x.real)};
}

static union cell keep(enum dtype storage, union cell x) {
    if (dtype_is_float(storage))
        return (union cell){.real = dtype_round(storage, x.real)};
    return (union cell){.whole = dtype_wrap(storage, x.whole)};
}

static int64_t clamp(const struct loop_expr *e, int64_t v) {
    return v < e->low ? e->low : v > e->high ? e->high : v;
}

union cell cell_apply(const struct loop_expr *e, enum loop_dtype type, const union cell *arg) {
    enum loop_op op = e->op;
    if (op == LOOP_SELECT)
        return arg[0].whole ? arg[1] : arg[2];
    if (op == LOOP_CAST)
        return cast(type, e->dtype, arg[0]);
    if (op == LOOP_ROUND_TO)
        return keep(e->storage, arg[0]);
    if (op == LOOP_TO_INDEX)
        return (union cell){.whole = clamp(e, arg[0].whole)};
    if (op >= LOOP_LT && op <= LOOP_NE)
        return (union cell){.whole = compare(op, type, arg[0], arg[1])};
    if (type == LOOP_F32)
        return (union cell){
            .real = single_op(op, (float)arg[0].real, (float)arg[1].real, (float)arg[2].real)};
    if (type == LOOP_F64)
        return (union cell){.real = wide_op(op, arg[0].real, arg[1].real, arg[2].real)};
    return (union cell){.whole = wrap(type, whole_op(op, type, arg[0].whole, arg[1].whole))};
}

union cell cell_across(enum loop_op op, enum loop_dtype type, const union cell *value, int n) {
    static const enum loop_op joins[] = {LOOP_ADD, LOOP_MUL, LOOP_MIN, LOOP_MAX, LOOP_OR, LOOP_AND};
    if (n == 1)
        return value[0];
    union cell half[3] = {cell_across(op, type, value, n / 2),
                          cell_across(op, type, value + n / 2, n / 2)};
    struct loop_expr e = {.op = joins[op - LOOP_LANES_SUM], .dtype = type};
    return cell_apply(&e, type, half);
}

void cell_exclusive_scan(enum loop_op op, enum loop_dtype type, const union cell *value, int n,
                         union cell *before) {
    bool is_real = type == LOOP_F32 || type == LOOP_F64;
    struct loop_expr e = {.op = op, .dtype = type};
    before[0] =
        is_real ? (union cell){.real = op == LOOP_MUL} : (union cell){.whole = op == LOOP_MUL};
    for (int i = 1; i < n; i++)
        before[i] = cell_apply(&e, type, (union cell[3]){before[i - 1], value[i - 1]});
}

union cell cell_get(enum dtype t, const void *data, int64_t index) {
    if (t == DTYPE_I64)
        return (union cell){.whole = ((const int64_t *)data)[index]};
    double v = dtype_get(t, data, index);
    return dtype_is_float(t) ? (union cell){.real = v} : (union cell){.whole = (int64_t)v};
}

void cell_put(enum dtype t, void *data, int64_t index, union cell v) {
    if (t == DTYPE_I64)
        ((int64_t *)data)[index] = v.whole;
    else if (dtype_is_integer(t))
        dtype_put(t, data, index, (double)dtype_wrap(t, v.whole));
    else
        dtype_put(t, data, index, dtype_is_float(t) ? v.real : (double)v.whole);
}
