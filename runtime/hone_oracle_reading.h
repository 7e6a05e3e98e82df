// What all kernels of oracle.cu are made of: one element in three readings (value, variance,
// honest), arrays of them, and where elements are. The words of ir/reading.h say why it is computed
// so.
#ifndef HONE_ORACLE_READING_H
#define HONE_ORACLE_READING_H

#include "hone_judge.h"
#include "hone_oracle.h"
#include "hone_storage.h"

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
#undef HUGE_VAL
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

// ---- readings: as in ir/reading.h, whose words say why

#define ORACLE_ROUND (3.552713678800501e-15 / 3)      // 2^-48 / 3
#define ORACLE_QUANTUM (1.9636373861190906e-90 / 12)  // 2^-298 / 12
enum { ORACLE_NO_BIT = 1 << 20, ORACLE_ALL_BITS = -(1 << 20), ORACLE_STRAYS = 4 };
enum { ORACLE_NOTHING = -104 };  // exponents below have no exponential in f32

struct oracle_point {
    double value, variance, honest;
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

JUDGE_FN int oracle_sums_exactly(double size, int low, int lack) {
    return low == ORACLE_NO_BIT || (low >= -149 && size <= ldexp(1.0, 24 - lack + low));
}

// ---- where elements are

JUDGE_FN u64 oracle_least(u64 a, u64 b) {
    return a < b ? a : b;
}

// Functions that divide are not inlined: they are called from so many places that compiling them
// would take long.
ORACLE_RARE u64 oracle_far_place(const struct oracle_axes *a, u64 i) {
    u64 place = 0;
    for (int axis = a->rank - 1; axis > 0; axis--) {
        place += i % a->size[axis] * a->stride[axis];
        i /= a->size[axis];
    }
    return a->rank ? place + i * a->stride[0] : place;
}

JUDGE_FN u64 oracle_place(const struct oracle_axes *a, u64 i) {
    return a->is_flat ? i : oracle_far_place(a, i);
}

JUDGE_FN double oracle_honest(const struct oracle_array *a, u64 place) {
    return a->is_wide ? ((const double *)a->honest)[place]
                      : (double)((const float *)a->honest)[place];
}

JUDGE_FN struct oracle_point oracle_read(const struct oracle_array *a, u64 place) {
    struct oracle_point p = {a->number, 0, a->is_wide ? a->number : (double)(float)a->number};
    if (a->honest) {
        p.honest = oracle_honest(a, place);
        p.value = a->value ? ((const double *)a->value)[place] : p.honest;
    }
    if (a->variance)
        p.variance = ((const double *)a->variance)[place];
    return p;
}

// One of f32.
JUDGE_FN struct oracle_point oracle_input(const struct oracle_array *a, u64 place) {
    float f = ((const float *)a->honest)[place];
    struct oracle_point p = {(double)f, 0, (double)f};
    return p;
}

JUDGE_FN void oracle_write(const struct oracle_array *a, u64 place, struct oracle_point p) {
    // A double holds whole numbers up to 2^53.
    if (a->fault && fabs(p.value) > 9007199254740992.0)
        *(int *)a->fault = 1;
    ((double *)a->value)[place] = p.value;
    ((double *)a->variance)[place] = p.variance;
    if (a->is_wide)
        ((double *)a->honest)[place] = p.honest;
    else
        ((float *)a->honest)[place] = (float)p.honest;
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

#endif
