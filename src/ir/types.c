// The small floats share one pair of conversions: their fields are moved to where f32 has
// them, and one exact multiplication by a power of two repairs the exponent, subnormal numbers
// included.
#include "ir/types.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const struct dtype_info dtype_infos[DTYPE_COUNT] = {
#define DTYPE(id, name, bits, kind, digits, exponent) \
    {name, bits, DTYPE_KIND_##kind, digits, exponent},
#include "ir/types.def"
#undef DTYPE
};

const char *dtype_name(enum dtype t) {
    assert((unsigned)t < DTYPE_COUNT);
    return dtype_infos[t].name;
}

static const struct {
    const char *name, *note;
} c_types[DTYPE_COUNT] = {
    [DTYPE_F32] = {"float", NULL},
    [DTYPE_BOOL] = {"unsigned char", "0 or 1, a byte each"},
    [DTYPE_F64] = {"double", NULL},
    [DTYPE_F16] = {"unsigned short", "bits: 1 of sign, 5 of exponent, 10 of fraction"},
    [DTYPE_BF16] = {"unsigned short", "bits: the upper half of a float's"},
    [DTYPE_F8E4M3] = {"unsigned char", "bits: 1 of sign, 4 of exponent, 3 of fraction; 0x7f and "
                                       "0xff are NaN, none is infinite"},
    [DTYPE_F8E5M2] = {"unsigned char", "bits: 1 of sign, 5 of exponent, 2 of fraction"},
    [DTYPE_I8] = {"signed char", NULL},
    [DTYPE_U8] = {"unsigned char", NULL},
    [DTYPE_I4] = {"unsigned char", "two to a byte, the first in the low four bits"},
    [DTYPE_I32] = {"int", NULL},
    [DTYPE_I64] = {"long long", NULL},
};

const char *dtype_c_name(enum dtype t) {
    assert((unsigned)t < DTYPE_COUNT);
    return c_types[t].name;
}

const char *dtype_c_note(enum dtype t) {
    assert((unsigned)t < DTYPE_COUNT);
    return c_types[t].note;
}

bool dtype_find(const char *name, enum dtype *t) {
    for (int i = 0; i < DTYPE_COUNT; i++)
        if (strcmp(dtype_infos[i].name, name) == 0) {
            *t = (enum dtype)i;
            return true;
        }
    return false;
}

int64_t dtype_size(enum dtype t, int64_t count) {
    return t == DTYPE_I4 ? (count + 1) / 2 : count * (dtype_infos[t].bits / 8);
}

static enum dtype arithmetic(enum dtype t) {
    switch (dtype_infos[t].kind) {
    case DTYPE_KIND_FLOAT:
        return t == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
    case DTYPE_KIND_INTEGER:
        return t == DTYPE_I64 ? DTYPE_I64 : DTYPE_I32;
    default:
        return DTYPE_BOOL;
    }
}

enum dtype dtype_promote(enum dtype a, enum dtype b) {
    a = arithmetic(a);
    b = arithmetic(b);
    if (a == b || b == DTYPE_BOOL)
        return a;
    if (a == DTYPE_BOOL)
        return b;
    if (dtype_is_float(a) && dtype_is_float(b))
        return DTYPE_F64;
    if (dtype_is_float(a) || dtype_is_float(b))
        return dtype_is_float(a) ? a : b;
    return DTYPE_I64;
}

double dtype_max(enum dtype t) {
    const struct dtype_info *i = &dtype_infos[t];
    if (t == DTYPE_F8E4M3)
        return 448;
    if (i->kind != DTYPE_KIND_FLOAT)
        return ldexp(1, i->digits) - 1;
    return ldexp(2 - ldexp(1, 1 - i->digits), (1 << (i->exponent - 1)) - 1);
}

double dtype_min(enum dtype t) {
    const struct dtype_info *i = &dtype_infos[t];
    if (i->kind == DTYPE_KIND_FLOAT)
        return -dtype_max(t);
    return i->kind == DTYPE_KIND_BOOL || t == DTYPE_U8 ? 0 : -ldexp(1, i->digits);
}

// To a multiple of 2^(e - digits + 1), where e is v's exponent but at least `least`.
static double round_at(double v, int digits, int least) {
    if (v == 0 || !isfinite(v))
        return v;
    int e = ilogb(v);
    int quantum = (e > least ? e : least) - digits + 1;
    return ldexp(rint(ldexp(v, -quantum)), quantum);
}

double dtype_round_digits(int digits, double v) {
    return round_at(v, digits, -1022);
}

static double round_float(enum dtype t, double v) {
    if (t == DTYPE_F64)
        return v;
    if (t == DTYPE_F32)
        return (float)v;
    const struct dtype_info *i = &dtype_infos[t];
    double r = round_at(v, i->digits, 2 - (1 << (i->exponent - 1)));
    if (fabs(r) > dtype_max(t))
        return t == DTYPE_F8E4M3 ? copysign(NAN, v) : copysign(INFINITY, v);
    return r;
}

// The exponent of the step between v and the next larger number of the type.
static int step_exponent(const struct dtype_info *i, double v) {
    int least = 2 - (1 << (i->exponent - 1)), e = v == 0 ? least : ilogb(v);
    return (e > least ? e : least) - i->digits + 1;
}

double dtype_miss(enum dtype t, double v, double x) {
    const struct dtype_info *i = &dtype_infos[t];
    double r = round_float(t, x), max = dtype_max(t);
    bool overflows = isinf(v) || (t == DTYPE_F8E4M3 && isnan(v));
    if (r == v || (isnan(r) && isnan(v)))
        return 0;
    if (isnan(x) || (isnan(v) && !overflows))
        return INFINITY;
    if (overflows) {
        double edge = max + ldexp(0.5, step_exponent(i, max));
        return isnan(v) || signbit(v) == signbit(x) ? fabs(edge - fabs(x)) : edge + fabs(x);
    }
    double size = fabs(v), y = signbit(v) ? -x : x;
    int above = step_exponent(i, size), below = step_exponent(i, nextafter(size, 0));
    double low = v == 0 ? -ldexp(0.5, above) : size - ldexp(0.5, below);
    return y < low ? low - y : y - (size + ldexp(0.5, above));
}

double dtype_round(enum dtype t, double v) {
    if (t == DTYPE_BOOL)
        return v != 0;
    if (dtype_is_float(t))
        return round_float(t, v);
    if (v != v)
        return 0;
    double whole = trunc(v), low = dtype_min(t), high = dtype_max(t);
    return whole < low ? low : whole > high ? high : whole + 0.0;
}

int64_t dtype_wrap(enum dtype t, int64_t v) {
    assert(dtype_is_integer(t));
    int unused = 64 - dtype_infos[t].bits;
    if (t == DTYPE_U8)
        return v & 0xff;
    return (int64_t)((uint64_t)v << unused) >> unused;
}

int64_t dtype_whole(double v) {
    return v != v ? 0 : v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
}

double dtype_convert(enum dtype from, enum dtype to, double v) {
    if (dtype_is_integer(from) && dtype_is_integer(to))
        return (double)dtype_wrap(to, dtype_whole(v));
    return dtype_round(to, v);
}

// ---- bits

static uint32_t float_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static float bits_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

// 2^(127 - bias): from an exponent read with f32's bias to the type's own.
static float exponent_gap(const struct dtype_info *i) {
    return bits_float((uint32_t)(127 + 128 - (1 << (i->exponent - 1))) << 23);
}

static double small_get(enum dtype t, uint32_t bits) {
    const struct dtype_info *i = &dtype_infos[t];
    uint32_t sign = bits >> (i->bits - 1), magnitude = bits & ((1u << (i->bits - 1)) - 1);
    uint32_t infinite = ((1u << i->exponent) - 1) << (i->digits - 1);
    double v;
    if (t == DTYPE_F8E4M3 ? magnitude == 0x7f : magnitude > infinite)
        v = NAN;
    else if (t != DTYPE_F8E4M3 && magnitude == infinite)
        v = INFINITY;
    else
        v = (double)bits_float(magnitude << (24 - i->digits)) * (double)exponent_gap(i);
    return sign ? -v : v;
}

static uint32_t small_bits(enum dtype t, double v) {
    const struct dtype_info *i = &dtype_infos[t];
    uint32_t sign = signbit(v) ? 1u << (i->bits - 1) : 0;
    uint32_t infinite = ((1u << i->exponent) - 1) << (i->digits - 1);
    v = fabs(round_float(t, v));
    if (v != v)  // the quiet one in 16 bits, as many ones as there are in 8
        return sign | (i->bits == 8 ? 0x7fu : infinite | 1u << (i->digits - 2));
    if (isinf(v))
        return sign | infinite;
    return sign | float_bits((float)(v / (double)exponent_gap(i))) >> (24 - i->digits);
}

double dtype_get(enum dtype t, const void *data, int64_t index) {
    switch (t) {
    case DTYPE_F64:
        return ((const double *)data)[index];
    case DTYPE_F32:
        return ((const float *)data)[index];
    case DTYPE_F16:
    case DTYPE_BF16:
        return small_get(t, ((const uint16_t *)data)[index]);
    case DTYPE_F8E4M3:
    case DTYPE_F8E5M2:
        return small_get(t, ((const uint8_t *)data)[index]);
    case DTYPE_I64:
        return (double)((const int64_t *)data)[index];
    case DTYPE_I32:
        return ((const int32_t *)data)[index];
    case DTYPE_I8:
        return ((const int8_t *)data)[index];
    case DTYPE_U8:
        return ((const uint8_t *)data)[index];
    case DTYPE_I4:
        return (double)dtype_wrap(DTYPE_I4,
                                  ((const uint8_t *)data)[index / 2] >> (index % 2 ? 4 : 0));
    default:
        return ((const uint8_t *)data)[index] != 0;
    }
}

bool dtype_holds_word(enum dtype t, const void *data, int64_t index, uint32_t word) {
    const uint8_t *bytes = data;
    int size = dtype_infos[t].bits / 8;
    if (t == DTYPE_I4) {
        int shift = index % 2 ? 4 : 0;
        return ((bytes[index / 2] ^ word >> (8 * (index / 2 % 4))) >> shift & 15) == 0;
    }
    for (int64_t i = index * size; i < (index + 1) * size; i++)
        if (bytes[i] != (uint8_t)(word >> (8 * (i % 4))))
            return false;
    return true;
}

static void put_integer(enum dtype t, void *data, int64_t index, double v) {
    int64_t whole = dtype_whole(dtype_round(t, v));
    switch (t) {
    case DTYPE_I64:
        ((int64_t *)data)[index] = whole;
        break;
    case DTYPE_I32:
        ((int32_t *)data)[index] = (int32_t)whole;
        break;
    case DTYPE_I4: {
        uint8_t *byte = (uint8_t *)data + index / 2;
        int shift = index % 2 ? 4 : 0;
        *byte = (uint8_t)((*byte & (0xf0 >> shift)) | (int)(whole & 15) << shift);
        break;
    }
    default:
        ((uint8_t *)data)[index] = (uint8_t)whole;
    }
}

void dtype_put(enum dtype t, void *data, int64_t index, double v) {
    switch (t) {
    case DTYPE_F64:
        ((double *)data)[index] = v;
        break;
    case DTYPE_F32:
        ((float *)data)[index] = (float)v;
        break;
    case DTYPE_F16:
    case DTYPE_BF16:
        ((uint16_t *)data)[index] = (uint16_t)small_bits(t, v);
        break;
    case DTYPE_F8E4M3:
    case DTYPE_F8E5M2:
        ((uint8_t *)data)[index] = (uint8_t)small_bits(t, v);
        break;
    default:
        put_integer(t, data, index, v);
    }
}

void dtype_get_run(enum dtype t, const void *data, int64_t begin, int64_t count, double *out) {
    for (int64_t i = 0; i < count; i++)
        out[i] = dtype_get(t, data, begin + i);
}
