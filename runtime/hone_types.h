// Storage types and arithmetic beyond float for emitted code: one text for emitted C, CUDA and the
// fibre runtime (dev.h includes it). After hone_math.h it has vectors as well (hone_lanes.h).
//
// hone_from_T takes an element as it is stored (f16 and bf16: unsigned short, f8: unsigned
// char) to what it is computed in, hone_to_T takes that back, to nearest and ties to even; what is
// too large becomes infinite, in f8e4m3 NaN. hone_round_T is both. Integers wrap around, and
// nothing here is undefined for any argument. On GPUs f16 and bf16 have instructions, whose
// NaN have other bits; elsewhere it is bit arithmetic without branches. Two elements of i4 share
// a byte, the even one in its low half: hone_put_i4 writes both.
#ifndef HONE_TYPES_H
#define HONE_TYPES_H

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define HONE_T static __device__ __forceinline__
#define HONE_C(name) name
HONE_T unsigned hone_bits(float x) {
    return __float_as_uint(x);
}
HONE_T float hone_float(unsigned bits) {
    return __uint_as_float(bits);
}
#else
#define HONE_T static inline __attribute__((always_inline, unused))
#define HONE_C(name) __builtin_##name
HONE_T unsigned hone_bits(float x) {
    union {
        float f;
        unsigned u;
    } v = {x};
    return v.u;
}
HONE_T float hone_float(unsigned bits) {
    union {
        unsigned u;
        float f;
    } v = {bits};
    return v.f;
}
#endif

// Small floats.

// A float without sign, given by its bits and too small to overflow, as one with `fraction` bits of
// fraction and this bias. Below its smallest normal number, adding the power of two whose last
// place is the type's rounds.
HONE_T unsigned hone_narrow(unsigned m, int fraction, int bias) {
    int drop = 23 - fraction;
    unsigned least = (unsigned)(128 - bias) << 23, unit = (unsigned)(128 - bias + drop) << 23;
    unsigned small = hone_bits(hone_float(m) + hone_float(unit)) - unit;
    unsigned half = (1u << (drop - 1)) - 1 + (m >> drop & 1);
    unsigned normal = (m - ((unsigned)(127 - bias) << 23) + half) >> drop;
    return m < least ? small : normal;
}

// The reverse, of a finite number.
HONE_T float hone_widen(unsigned m, int fraction, int bias) {
    unsigned least = (unsigned)(128 - bias) << 23, moved = m << (23 - fraction);
    float small = hone_float(moved + least) - hone_float(least);
    return m >> fraction ? hone_float(moved + ((unsigned)(127 - bias) << 23)) : small;
}

HONE_T float hone_with_sign(float x, unsigned sign) {
    return hone_float(hone_bits(x) | sign);
}

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
HONE_T float hone_from_f16(unsigned short h) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}
HONE_T unsigned short hone_to_f16(float x) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
HONE_T unsigned short hone_to_bf16(float x) {
    unsigned short h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
#else
#if defined(__F16C__)
HONE_T float hone_from_f16(unsigned short h) {
    typedef short halves __attribute__((vector_size(16)));
    return __builtin_ia32_vcvtph2ps((halves){(short)h})[0];
}
HONE_T unsigned short hone_to_f16(float x) {
    typedef float quad __attribute__((vector_size(16)));
    unsigned short nan = (unsigned short)((hone_bits(x) >> 16 & 0x8000u) | 0x7e00u);
    return x != x ? nan : (unsigned short)__builtin_ia32_vcvtps2ph((quad){x}, 0)[0];
}
#else
HONE_T float hone_from_f16(unsigned short h) {
    unsigned m = h & 0x7fffu;
    float x = m < 0x7c00 ? hone_widen(m, 10, 15) : hone_float(m << 13 | 0x7f800000u);
    return hone_with_sign(x, (h & 0x8000u) << 16);
}
HONE_T unsigned short hone_to_f16(float x) {
    unsigned m = hone_bits(x) & 0x7fffffffu, sign = hone_bits(x) >> 16 & 0x8000u;
    unsigned h = m < 0x47800000u ? hone_narrow(m, 10, 15) : m > 0x7f800000u ? 0x7e00u : 0x7c00u;
    return (unsigned short)(h | sign);
}
#endif
HONE_T unsigned short hone_to_bf16(float x) {
    unsigned u = hone_bits(x), m = u & 0x7fffffffu;
    unsigned rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (unsigned short)(m > 0x7f800000u ? (u >> 16 & 0x8000u) | 0x7fc0u : rounded);
}
#endif
HONE_T float hone_from_bf16(unsigned short h) {
    return hone_float((unsigned)h << 16);
}
HONE_T float hone_from_f8e4m3(unsigned char b) {
    unsigned m = b & 0x7fu;
    float x = m < 0x7f ? hone_widen(m, 3, 7) : hone_float(0x7fc00000u);
    return hone_with_sign(x, (b & 0x80u) << 24);
}
HONE_T unsigned char hone_to_f8e4m3(float x) {
    unsigned m = hone_bits(x) & 0x7fffffffu, b = m < 0x44000000u ? hone_narrow(m, 3, 7) : 0x7fu;
    return (unsigned char)((b < 0x7f ? b : 0x7f) | (hone_bits(x) >> 24 & 0x80u));
}
HONE_T float hone_from_f8e5m2(unsigned char b) {
    unsigned m = b & 0x7fu;
    float x = m < 0x7c ? hone_widen(m, 2, 15) : hone_float(m << 21 | 0x7f800000u);
    return hone_with_sign(x, (b & 0x80u) << 24);
}
HONE_T unsigned char hone_to_f8e5m2(float x) {
    unsigned m = hone_bits(x) & 0x7fffffffu;
    unsigned b = m < 0x47800000u ? hone_narrow(m, 2, 15) : m > 0x7f800000u ? 0x7fu : 0x7cu;
    return (unsigned char)(b | (hone_bits(x) >> 24 & 0x80u));
}

// A double cut to float, with its last bit set where something was cut off: rounding that to a
// smaller type is rounding the double.
HONE_T float hone_odd(double x) {
    float f = (float)x;
    unsigned u = hone_bits(f);
    u -= HONE_C(fabs)((double)f) > HONE_C(fabs)(x);
    return hone_float(f == f && (double)f != x ? u | 1u : u);
}

#define HONE_ROUND_TO(t)                      \
    HONE_T float hone_round_##t(float x) {    \
        return hone_from_##t(hone_to_##t(x)); \
    }                                         \
    HONE_T float hone_round64_##t(double x) { \
        return hone_round_##t(hone_odd(x));   \
    }
HONE_ROUND_TO(f16)
HONE_ROUND_TO(bf16)
HONE_ROUND_TO(f8e4m3)
HONE_ROUND_TO(f8e5m2)
#undef HONE_ROUND_TO

// Small integers.

HONE_T int hone_round_i8(int x) {
    return (signed char)x;
}
HONE_T int hone_round_u8(int x) {
    return (unsigned char)x;
}
HONE_T int hone_round_i4(int x) {
    return (int)((unsigned)x << 28) >> 28;
}
HONE_T int hone_get_i4(const unsigned char *from, long i) {
    return hone_round_i4(from[i / 2] >> (i % 2 * 4));
}
HONE_T void hone_put_i4(unsigned char *to, long i, int v) {
    int shift = (int)(i % 2) * 4;
    to[i / 2] = (unsigned char)((to[i / 2] & (0xf0 >> shift)) | (v & 15) << shift);
}

// Whole numbers: `type` is called `t`, has `limit` for its largest number and `wide`, its unsigned
// relative, to wrap around in.
#define HONE_WHOLE(type, wide, t, limit)                                         \
    HONE_T type hone_add_##t(type a, type b) {                                   \
        return (type)((wide)a + (wide)b);                                        \
    }                                                                            \
    HONE_T type hone_sub_##t(type a, type b) {                                   \
        return (type)((wide)a - (wide)b);                                        \
    }                                                                            \
    HONE_T type hone_mul_##t(type a, type b) {                                   \
        return (type)((wide)a * (wide)b);                                        \
    }                                                                            \
    HONE_T type hone_neg_##t(type a) {                                           \
        return (type)(0 - (wide)a);                                              \
    }                                                                            \
    HONE_T type hone_abs_##t(type a) {                                           \
        return a < 0 ? hone_neg_##t(a) : a;                                      \
    }                                                                            \
    HONE_T type hone_min_##t(type a, type b) {                                   \
        return a < b ? a : b;                                                    \
    }                                                                            \
    HONE_T type hone_max_##t(type a, type b) {                                   \
        return a > b ? a : b;                                                    \
    }                                                                            \
    HONE_T type hone_floordiv_##t(type a, type b) {                              \
        if (b == 0 || b == -1)                                                   \
            return b == 0 ? 0 : hone_neg_##t(a);                                 \
        return a / b - (a % b != 0 && (a % b < 0) != (b < 0));                   \
    }                                                                            \
    HONE_T type hone_mod_##t(type a, type b) {                                   \
        if (b == 0 || b == -1)                                                   \
            return 0;                                                            \
        return a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b;         \
    }                                                                            \
    HONE_T type hone_shl_##t(type a, type b) {                                   \
        return b < 0 || b > 62 ? 0 : (type)((unsigned long long)a << b);         \
    }                                                                            \
    HONE_T type hone_shr_##t(type a, type b) {                                   \
        return b < 0 || b > 62 ? -(type)(a < 0) : (type)((long long)a >> b);     \
    }                                                                            \
    HONE_T type hone_##t##_of_f32(float x) {                                     \
        float end = (float)limit + 1;                                            \
        return x != x ? 0 : x >= end ? limit : x <= -end ? -limit - 1 : (type)x; \
    }                                                                            \
    HONE_T type hone_##t##_of_f64(double x) {                                    \
        double end = (double)limit + 1;                                          \
        return x != x ? 0 : x >= end ? limit : x <= -end ? -limit - 1 : (type)x; \
    }
HONE_WHOLE(int, unsigned, i32, 0x7fffffff)
HONE_WHOLE(long long, unsigned long long, i64, 0x7fffffffffffffffLL)
#undef HONE_WHOLE

// A number from memory as an index between `low` and `high`.
HONE_T int hone_to_int(long long x, int low, int high) {
    return x < low ? low : x > high ? high : (int)x;
}
HONE_T long hone_to_long(long long x, long low, long high) {
    return x < low ? low : x > high ? high : (long)x;
}

// Functions of the library, in float (hone_sin1, hone_exp2_1) and double (hone_sin_f64): the
// library's name, and the stem of those in float, to which the lanes are added.
#define HONE_FUNCTIONS(F) \
    F(sin, sin)           \
    F(cos, cos)           \
    F(tan, tan)           \
    F(asin, asin)         \
    F(acos, acos)         \
    F(atan, atan)         \
    F(sinh, sinh)         \
    F(cosh, cosh)         \
    F(exp2, exp2_)        \
    F(expm1, expm1_)      \
    F(log2, log2_)        \
    F(log10, log10_)      \
    F(log1p, log1p)       \
    F(erfc, erfc)         \
    F(floor, floor)       \
    F(ceil, ceil)         \
    F(rint, rint)         \
    F(trunc, trunc)
#define HONE_FUNCTIONS2(F) \
    F(pow)                 \
    F(atan2_)              \
    F(floordiv)            \
    F(mod)
#define HONE_FUNCTION(name, stem)               \
    HONE_T float hone_##stem##1(float x) {      \
        return HONE_C(name##f)(x);              \
    }                                           \
    HONE_T double hone_##name##_f64(double x) { \
        return HONE_C(name)(x);                 \
    }
HONE_FUNCTIONS(HONE_FUNCTION)
#undef HONE_FUNCTION

#define HONE_FUNCTION(name)                     \
    HONE_T double hone_##name##_f64(double x) { \
        return HONE_C(name)(x);                 \
    }
HONE_FUNCTION(exp)
HONE_FUNCTION(log)
HONE_FUNCTION(sqrt)
HONE_FUNCTION(tanh)
HONE_FUNCTION(erf)
#undef HONE_FUNCTION

HONE_T double hone_abs_f64(double x) {
    return HONE_C(fabs)(x);
}
HONE_T double hone_rsqrt_f64(double x) {
    return 1 / HONE_C(sqrt)(x);
}
HONE_T double hone_min_f64(double a, double b) {
    return a != a || a < b ? a : b;
}
HONE_T double hone_max_f64(double a, double b) {
    return a != a || a > b ? a : b;
}
HONE_T float hone_pow1(float a, float b) {
    return HONE_C(powf)(a, b);
}
HONE_T double hone_pow_f64(double a, double b) {
    return HONE_C(pow)(a, b);
}
HONE_T float hone_atan2_1(float a, float b) {
    return HONE_C(atan2f)(a, b);
}
HONE_T double hone_atan2_f64(double a, double b) {
    return HONE_C(atan2)(a, b);
}
// Toward minus infinity; the remainder has the divisor's sign.
HONE_T float hone_floordiv1(float a, float b) {
    return HONE_C(floorf)(a / b);
}
HONE_T double hone_floordiv_f64(double a, double b) {
    return HONE_C(floor)(a / b);
}
HONE_T float hone_mod1(float a, float b) {
    float r = HONE_C(fmodf)(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
HONE_T double hone_mod_f64(double a, double b) {
    double r = HONE_C(fmod)(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// Vectors.

#ifdef HONE_MATH_H
#define HONE_W HONE_JOIN(u32x, HONE_LANES)  // as HONE_I, without sign
#define HONE_H HONE_JOIN(u16u, HONE_LANES)  // 16 bits for each lane, anywhere in memory
#define HONE_B HONE_JOIN(u8u, HONE_LANES)   // and 8 bits
#define HONE_OF(name, type) HONE_JOIN(HONE_(name), _##type)
#define HONE_SUFFIX HONE_LANES
#define HONE_LANES 4
#include "hone_lanes.h"
#undef HONE_LANES
#define HONE_LANES 8
#include "hone_lanes.h"
#undef HONE_LANES
#define HONE_LANES 16
#include "hone_lanes.h"
#undef HONE_LANES
#undef HONE_SUFFIX
#endif

#endif
