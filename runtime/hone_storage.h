// Storage types as numbers: what an element is worth as a double, and how a double becomes one. One
// text for the host (src/ir/types.c, whose header says the rules) and for the kernels that compute
// what is expected, so that both round alike; types.def has a row for each type.
#ifndef HONE_STORAGE_H
#define HONE_STORAGE_H

#include "hone_rng.h"

#ifdef __CUDACC__
#define STORED_NAN __longlong_as_double(0x7ff8000000000000ll)
#define STORED_INFINITY __longlong_as_double(0x7ff0000000000000ll)
#define STORED_BITS(f) __float_as_uint(f)
#define STORED_FLOAT(u) __uint_as_float(u)
#define STORED_LONG_BITS(v) ((uint64_t)__double_as_longlong(v))
#define STORED_DOUBLE(u) __longlong_as_double((long long)(u))
#define STORED_FN static __device__ __forceinline__
#define STORED_RARE static __device__ __noinline__
#else
#include <math.h>
#define STORED_NAN ((double)NAN)
#define STORED_INFINITY ((double)INFINITY)
#define STORED_BITS(f) stored_bits(f)
#define STORED_FLOAT(u) stored_float(u)
#define STORED_LONG_BITS(v) stored_long_bits(v)
#define STORED_DOUBLE(u) stored_double(u)
#define STORED_FN static inline
#define STORED_RARE static inline
static inline uint32_t stored_bits(float f) {
    uint32_t u;
    __builtin_memcpy(&u, &f, sizeof u);
    return u;
}
static inline float stored_float(uint32_t u) {
    float f;
    __builtin_memcpy(&f, &u, sizeof f);
    return f;
}
static inline uint64_t stored_long_bits(double v) {
    uint64_t u;
    __builtin_memcpy(&u, &v, sizeof u);
    return u;
}
static inline double stored_double(uint64_t u) {
    double v;
    __builtin_memcpy(&v, &u, sizeof v);
    return v;
}
#endif

// 2^e, where that is a normal double; the library's ldexp took two fifths of a verdict in bf16.
STORED_FN double stored_power(int e) {
    return STORED_DOUBLE((uint64_t)(e + 1023) << 52);
}
// The exponent of a finite number; of zero and of what no normal double is, -1023.
STORED_FN int stored_exponent(double v) {
    return (int)(STORED_LONG_BITS(v) >> 52 & 0x7ff) - 1023;
}

// In the order of the host's enum dtype.
enum {
#define DTYPE(id, name, bits, kind, digits, exponent) STORED_##id,
#include "types.def"
#undef DTYPE
    STORED_COUNT
};
enum { STORED_KIND_BOOL, STORED_KIND_INTEGER, STORED_KIND_FLOAT };

struct stored_type {
    int bits, kind, digits, exponent;  // as in types.def
};

STORED_FN struct stored_type stored_type(int t) {
    struct stored_type i = {0, 0, 0, 0};
    switch (t) {
#define DTYPE(id, name, b, k, d, e) \
    case STORED_##id:               \
        i.bits = b;                 \
        i.kind = STORED_KIND_##k;   \
        i.digits = d;               \
        i.exponent = e;             \
        break;
#include "types.def"
#undef DTYPE
    default:
        break;
    }
    return i;
}

STORED_FN int stored_is_float(int t) {
    return stored_type(t).kind == STORED_KIND_FLOAT;
}
STORED_FN int stored_is_integer(int t) {
    return stored_type(t).kind == STORED_KIND_INTEGER;
}
// Does f32 not hold every value of the type?
STORED_FN int stored_is_wide(int t) {
    return stored_type(t).digits > 24;
}

STORED_FN double stored_max(int t) {
    struct stored_type i = stored_type(t);
    if (t == STORED_F8E4M3)
        return 448;
    if (i.kind != STORED_KIND_FLOAT)
        return stored_power(i.digits) - 1;
    return (2 - stored_power(1 - i.digits)) * stored_power((1 << (i.exponent - 1)) - 1);
}

STORED_FN double stored_min(int t) {
    struct stored_type i = stored_type(t);
    if (i.kind == STORED_KIND_FLOAT)
        return -stored_max(t);
    return i.kind == STORED_KIND_BOOL || t == STORED_U8 ? 0 : -stored_power(i.digits);
}

// To a multiple of 2^(e - digits + 1), where e is v's exponent but at least `least`: next to a
// number whose last bit that is nothing smaller remains.
STORED_FN double stored_round_at(double v, int digits, int least) {
    int e = stored_exponent(v);
    if (e > 960)  // infinite, not a number, or beyond every type that is rounded here
        return v;
    double coarse = 1.5 * stored_power((e > least ? e : least) - digits + 1 + 52);
    return copysign((fabs(v) + coarse) - coarse, v);
}

STORED_RARE double stored_round_float(int t, double v) {
    struct stored_type i = stored_type(t);
    if (t == STORED_F64)
        return v;
    if (t == STORED_F32)
        return (double)(float)v;
    double r = stored_round_at(v, i.digits, 2 - (1 << (i.exponent - 1)));
    if (fabs(r) > stored_max(t))
        return copysign(t == STORED_F8E4M3 ? STORED_NAN : STORED_INFINITY, v);
    return r;
}

STORED_RARE double stored_round(int t, double v) {
    if (t == STORED_BOOL)
        return v != 0;
    if (stored_is_float(t))
        return stored_round_float(t, v);
    if (v != v)
        return 0;
    double whole = trunc(v), low = stored_min(t), high = stored_max(t);
    return whole < low ? low : whole > high ? high : whole + 0.0;
}

STORED_FN int64_t stored_wrap(int t, int64_t v) {
    int unused = 64 - stored_type(t).bits;
    if (t == STORED_U8)
        return v & 0xff;
    return (int64_t)((uint64_t)v << unused) >> unused;
}

STORED_FN int64_t stored_whole(double v) {
    const int64_t most = 0x7fffffffffffffffLL;
    return v != v                       ? 0
           : v >= 9223372036854775808.0 ? most
           : v < -9223372036854775808.0 ? -most - 1
                                        : (int64_t)v;
}

STORED_FN double stored_convert(int from, int to, double v) {
    if (stored_is_integer(from) && stored_is_integer(to))
        return (double)stored_wrap(to, stored_whole(v));
    return stored_round(to, v);
}

// The exponent of the step between v and the next larger number of the type.
STORED_FN int stored_step(struct stored_type i, double v) {
    int least = 2 - (1 << (i.exponent - 1)), e = stored_exponent(v);
    return (e > least ? e : least) - i.digits + 1;
}

// How far x is from the nearest number that rounds to v: dtype_rounding_distance() of ir/types.h.
STORED_RARE double stored_miss(int t, double v, double x) {
    struct stored_type i = stored_type(t);
    double r = stored_round_float(t, x), max = stored_max(t);
    int overflows = isinf(v) || (t == STORED_F8E4M3 && isnan(v));
    if (r == v || (isnan(r) && isnan(v)))
        return 0;
    if (isnan(x) || (isnan(v) && !overflows))
        return STORED_INFINITY;
    if (overflows) {
        double edge = max + stored_power(stored_step(i, max) - 1);
        return isnan(v) || !signbit(v) == !signbit(x) ? fabs(edge - fabs(x)) : edge + fabs(x);
    }
    double size = fabs(v), y = signbit(v) ? -x : x;
    int above = stored_step(i, size), below = stored_step(i, nextafter(size, 0.0));
    double low = v == 0 ? -stored_power(above - 1) : size - stored_power(below - 1);
    return y < low ? low - y : y - (size + stored_power(above - 1));
}

// ---- bits
//
// The small floats share one pair of conversions: their fields are moved to where f32 has them, and
// one exact multiplication by a power of two repairs the exponent, subnormal numbers included.

// 2^(127 - bias): from an exponent read with f32's bias to the type's own.
STORED_FN double stored_gap(struct stored_type i) {
    return (double)STORED_FLOAT((uint32_t)(127 + 128 - (1 << (i.exponent - 1))) << 23);
}

STORED_FN double stored_small_get(int t, uint32_t bits) {
    struct stored_type i = stored_type(t);
    uint32_t sign = bits >> (i.bits - 1), magnitude = bits & ((1u << (i.bits - 1)) - 1);
    uint32_t infinite = ((1u << i.exponent) - 1) << (i.digits - 1);
    double v;
    if (t == STORED_F8E4M3 ? magnitude == 0x7f : magnitude > infinite)
        v = STORED_NAN;
    else if (t != STORED_F8E4M3 && magnitude == infinite)
        v = STORED_INFINITY;
    else
        v = (double)STORED_FLOAT(magnitude << (24 - i.digits)) * stored_gap(i);
    return sign ? -v : v;
}

STORED_FN uint32_t stored_small_bits(int t, double v) {
    struct stored_type i = stored_type(t);
    uint32_t sign = signbit(v) ? 1u << (i.bits - 1) : 0;
    uint32_t infinite = ((1u << i.exponent) - 1) << (i.digits - 1);
    v = fabs(stored_round_float(t, v));
    if (v != v)  // the quiet one in 16 bits, as many ones as there are in 8
        return sign | (i.bits == 8 ? 0x7fu : infinite | 1u << (i.digits - 2));
    if (isinf(v))
        return sign | infinite;
    return sign | STORED_BITS((float)(v / stored_gap(i))) >> (24 - i.digits);
}

STORED_FN double stored_get(int t, const void *data, uint64_t index) {
    const unsigned char *bytes = (const unsigned char *)data;
    switch (t) {
    case STORED_F64:
        return ((const double *)data)[index];
    case STORED_F32:
        return (double)((const float *)data)[index];
    case STORED_F16:
    case STORED_BF16:
        return stored_small_get(t, ((const unsigned short *)data)[index]);
    case STORED_F8E4M3:
    case STORED_F8E5M2:
        return stored_small_get(t, bytes[index]);
    case STORED_I64:
        return (double)((const int64_t *)data)[index];
    case STORED_I32:
        return ((const int32_t *)data)[index];
    case STORED_I8:
        return (signed char)bytes[index];
    case STORED_U8:
        return bytes[index];
    case STORED_I4:
        return (double)stored_wrap(STORED_I4, bytes[index / 2] >> (index % 2 ? 4 : 0));
    default:
        return bytes[index] != 0;
    }
}

// Two threads must not put into one byte of i4.
STORED_FN void stored_put(int t, void *data, uint64_t index, double v) {
    unsigned char *bytes = (unsigned char *)data;
    switch (t) {
    case STORED_F64:
        ((double *)data)[index] = v;
        break;
    case STORED_F32:
        ((float *)data)[index] = (float)v;
        break;
    case STORED_F16:
    case STORED_BF16:
        ((unsigned short *)data)[index] = (unsigned short)stored_small_bits(t, v);
        break;
    case STORED_F8E4M3:
    case STORED_F8E5M2:
        bytes[index] = (unsigned char)stored_small_bits(t, v);
        break;
    default: {
        int64_t whole = stored_whole(stored_round(t, v));
        int shift = index % 2 ? 4 : 0;
        if (t == STORED_I64)
            ((int64_t *)data)[index] = whole;
        else if (t == STORED_I32)
            ((int32_t *)data)[index] = (int32_t)whole;
        else if (t == STORED_I4)
            bytes[index / 2] =
                (unsigned char)((bytes[index / 2] & (0xf0 >> shift)) | (int)(whole & 15) << shift);
        else
            bytes[index] = (unsigned char)whole;
    }
    }
}

// Does element `index` hold what bytes of the word, repeated from the array's start, would be?
STORED_FN int stored_holds_word(int t, const void *data, uint64_t index, uint32_t word) {
    const unsigned char *bytes = (const unsigned char *)data;
    uint64_t size = (uint64_t)stored_type(t).bits / 8;
    if (t == STORED_I4) {
        int shift = index % 2 ? 4 : 0;
        return ((bytes[index / 2] ^ word >> (8 * (index / 2 % 4))) >> shift & 15) == 0;
    }
    for (uint64_t i = index * size; i < (index + 1) * size; i++)
        if (bytes[i] != (unsigned char)(word >> (8 * (i % 4))))
            return 0;
    return 1;
}

// A draw as the type stores it. What is beyond its range stops at its ends: a set that multiplies
// draws is to test kernels, not what they make of infinities.
STORED_FN double stored_drawn(int t, double v) {
    if (stored_is_float(t) && t != STORED_F32 && fabs(v) > stored_max(t))
        return copysign(stored_max(t), v);
    return stored_round(t, v);
}

// ---- errors

// What rounding v to a type adds to a variance, when `carried` is what its operands bring. Of f64
// every result counts as rounded, since the truth itself is no finer.
STORED_FN double stored_rounding(int t, double v, double carried) {
    struct stored_type i = stored_type(t);
    if (i.kind != STORED_KIND_FLOAT || !(carried > 0 || t == STORED_F64 || stored_round(t, v) != v))
        return 0;
    double u = stored_power(-i.digits);
    double quantum = t == STORED_F64 ? 0 : stored_power(3 - (1 << (i.exponent - 1)) - i.digits);
    return v * v * u * u / 3 + quantum * quantum / 12;
}

// Of the larger or the smaller of A and B, whose variances are V and W: one of them, unchanged. But
// where they are so near that honest rounding decides which, the more uncertain one may be it.
STORED_FN double stored_pick(double A, double B, double V, double W, int takes_a) {
    double taken = takes_a ? V : W, other = takes_a ? W : V, apart = A - B;
    return other > taken && apart * apart <= 16 * (V + W) ? other : taken;
}

// The unit in which an element's error is counted, of any type but f32, from its spread.
STORED_FN double stored_unit(int t, double truth, double spread) {
    if (isnan(spread) || t == STORED_F64)
        return spread;
    if (stored_is_float(t)) {
        // A difference of nearly equal numbers is what float64 makes of them: nothing was rounded.
        double square = spread * spread, before = square - stored_rounding(t, truth, 1);
        return before > square * 1e-14 ? sqrt(before) : 0;
    }
    // As many jumps of 1 as there may have been, at most four deviations.
    return fmax(spread, fmin(4 * spread, spread * spread));
}

// The error of one element of any type but f32, in these units.
STORED_FN double stored_error(int t, double value, double truth, double unit) {
    if (isnan(unit))
        return 0;
    if (!stored_is_float(t))
        return fabs(value - truth) <= unit ? 0 : STORED_INFINITY;
    if (isnan(truth) || isinf(truth)) {
        double stored = stored_round(t, truth);
        return stored == value || (isnan(stored) && isnan(value)) ? 0 : STORED_INFINITY;
    }
    // Fast functions flush what f32 keeps as subnormal numbers, as for f32.
    if (value == 0 &&
        fabs(truth) < (t == STORED_F64 ? 2.2250738585072014e-308 : 1.1754943508222875e-38))
        return 0;
    double miss = t == STORED_F64 ? fabs(value - truth) : stored_miss(t, value, truth);
    if (miss == 0)
        return 0;
    return unit > 0 && !isnan(miss) ? miss / unit : STORED_INFINITY;
}

#endif
