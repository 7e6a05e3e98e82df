// The tables of types; their arithmetic is in runtime/hone_storage.h, which devices share.
#include "ir/types.h"

#include <assert.h>
#include <string.h>

#include "hone_storage.h"

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
    return stored_max((int)t);
}

double dtype_min(enum dtype t) {
    return stored_min((int)t);
}

double dtype_round_digits(int digits, double v) {
    return stored_round_at(v, digits, -1022);
}

double dtype_rounding_distance(enum dtype t, double v, double x) {
    return stored_miss((int)t, v, x);
}

double dtype_round(enum dtype t, double v) {
    return stored_round((int)t, v);
}

int64_t dtype_wrap(enum dtype t, int64_t v) {
    assert(dtype_is_integer(t));
    return stored_wrap((int)t, v);
}

int64_t dtype_whole(double v) {
    return stored_whole(v);
}

double dtype_convert(enum dtype from, enum dtype to, double v) {
    return stored_convert((int)from, (int)to, v);
}

double dtype_get(enum dtype t, const void *data, int64_t index) {
    return stored_get((int)t, data, (uint64_t)index);
}

bool dtype_holds_word(enum dtype t, const void *data, int64_t index, uint32_t word) {
    return stored_holds_word((int)t, data, (uint64_t)index, word);
}

void dtype_put(enum dtype t, void *data, int64_t index, double v) {
    stored_put((int)t, data, (uint64_t)index, v);
}

void dtype_get_run(enum dtype t, const void *data, int64_t begin, int64_t count, double *out) {
    for (int64_t i = 0; i < count; i++)
        out[i] = dtype_get(t, data, begin + i);
}
