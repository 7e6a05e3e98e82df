// Stored elements of every type as doubles, and back: for programs that check a kernel from
// outside. Rounding is to nearest, ties to even; what is too large is infinite, in f8e4m3 NaN. A
// double that becomes an integer is cut toward zero and stops at the ends of the range. i4 is
// packed two to a byte, the element of even index in the low four bits.
#ifndef HONE_ELEMENTS_H
#define HONE_ELEMENTS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum hone_type {
    HONE_F32,
    HONE_BOOL,
    HONE_F64,
    HONE_F16,
    HONE_BF16,
    HONE_F8E4M3,
    HONE_F8E5M2,
    HONE_I8,
    HONE_U8,
    HONE_I4,
    HONE_I32,
    HONE_I64
};

// A small float: digits of the significand with the leading one, bits of the exponent.
struct hone_small {
    int digits, exponent, bits;
};

static inline struct hone_small hone_small(int type) {
    static const struct hone_small small[] = {[HONE_F16] = {11, 5, 16},
                                              [HONE_BF16] = {8, 8, 16},
                                              [HONE_F8E4M3] = {4, 4, 8},
                                              [HONE_F8E5M2] = {3, 5, 8}};
    return small[type];
}

static inline double hone_small_get(int type, uint32_t bits) {
    struct hone_small s = hone_small(type);
    int fraction_bits = s.digits - 1, bias = (1 << (s.exponent - 1)) - 1;
    int exponent = (int)(bits >> fraction_bits & ((1u << s.exponent) - 1));
    uint32_t fraction = bits & ((1u << fraction_bits) - 1);
    int is_last = exponent == (1 << s.exponent) - 1;
    double v;
    if (is_last && type == HONE_F8E4M3 && fraction == (1u << fraction_bits) - 1)
        v = NAN;
    else if (is_last && type != HONE_F8E4M3)
        v = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        v = ldexp(fraction, 1 - bias - fraction_bits);
    else
        v = ldexp(fraction + (1u << fraction_bits), exponent - bias - fraction_bits);
    return bits >> (s.bits - 1) & 1 ? -v : v;
}

static inline uint32_t hone_small_bits(int type, double v) {
    struct hone_small s = hone_small(type);
    int fraction_bits = s.digits - 1, bias = (1 << (s.exponent - 1)) - 1, e;
    uint32_t sign = signbit(v) ? 1u << (s.bits - 1) : 0;
    uint32_t last = ((1u << s.exponent) - 1) << fraction_bits;
    uint32_t most = type == HONE_F8E4M3 ? last | ((1u << fraction_bits) - 2) : last - 1;
    uint32_t over = type == HONE_F8E4M3 ? most + 1 : last;
    if (isnan(v))
        return sign | (s.bits == 8 ? 0x7fu : last | 1u << (fraction_bits - 1));
    if (isinf(v))
        return sign | over;
    if (v == 0)
        return sign;
    frexp(v, &e);
    e = e - 1 < 1 - bias ? 1 - bias : e - 1;
    // With the exponent of subnormal numbers there is no leading one to take off, and it is 0.
    double steps = rint(ldexp(fabs(v), fraction_bits - e)) + ldexp(e + bias - 1, fraction_bits);
    return sign | (steps > most ? over : (uint32_t)steps);
}

static inline double hone_get(int type, const void *data, long i) {
    const uint8_t *bytes = (const uint8_t *)data;
    switch (type) {
    case HONE_F64:
        return ((const double *)data)[i];
    case HONE_F32:
        return ((const float *)data)[i];
    case HONE_F16:
    case HONE_BF16:
        return hone_small_get(type, ((const uint16_t *)data)[i]);
    case HONE_F8E4M3:
    case HONE_F8E5M2:
        return hone_small_get(type, bytes[i]);
    case HONE_I64:
        return (double)((const int64_t *)data)[i];
    case HONE_I32:
        return ((const int32_t *)data)[i];
    case HONE_I8:
        return ((const int8_t *)data)[i];
    case HONE_I4: {
        int v = bytes[i / 2] >> (i % 2 ? 4 : 0) & 15;
        return v > 7 ? v - 16 : v;
    }
    default:
        return bytes[i];
    }
}

static inline double hone_whole_in(double v, double low, double high) {
    v = isnan(v) ? 0 : trunc(v);
    return v < low ? low : v > high ? high : v;
}

static inline void hone_put(int type, void *data, long i, double v) {
    uint8_t *bytes = (uint8_t *)data;
    switch (type) {
    case HONE_F64:
        ((double *)data)[i] = v;
        break;
    case HONE_F32:
        ((float *)data)[i] = (float)v;
        break;
    case HONE_F16:
    case HONE_BF16:
        ((uint16_t *)data)[i] = (uint16_t)hone_small_bits(type, v);
        break;
    case HONE_F8E4M3:
    case HONE_F8E5M2:
        bytes[i] = (uint8_t)hone_small_bits(type, v);
        break;
    case HONE_I64:
        ((int64_t *)data)[i] = v >= 9223372036854775808.0   ? INT64_MAX
                               : v < -9223372036854775808.0 ? INT64_MIN
                               : isnan(v)                   ? 0
                                                            : (int64_t)v;
        break;
    case HONE_I32:
        ((int32_t *)data)[i] = (int32_t)hone_whole_in(v, -2147483648.0, 2147483647.0);
        break;
    case HONE_I8:
        bytes[i] = (uint8_t)(int8_t)hone_whole_in(v, -128, 127);
        break;
    case HONE_U8:
        bytes[i] = (uint8_t)hone_whole_in(v, 0, 255);
        break;
    case HONE_I4: {
        int nibble = (int)hone_whole_in(v, -8, 7) & 15;
        bytes[i / 2] =
            (uint8_t)(i % 2 ? (bytes[i / 2] & 15) | nibble << 4 : (bytes[i / 2] & 0xf0) | nibble);
        break;
    }
    default:
        bytes[i] = v != 0;
    }
}

// v as the type keeps it.
static inline double hone_stored(int type, double v) {
    uint64_t word = 0;
    hone_put(type, &word, 0, v);
    return hone_get(type, &word, 0);
}

// A draw: beyond the largest number of a float type it stops there.
static inline double hone_drawn(int type, double v) {
    static const double most[] = {
        [HONE_F16] = 65504, [HONE_BF16] = 0x1.fep127, [HONE_F8E4M3] = 448, [HONE_F8E5M2] = 57344};
    int is_small = type >= HONE_F16 && type <= HONE_F8E5M2;
    return is_small && fabs(v) > most[type] ? copysign(most[type], v) : v;
}

#endif
