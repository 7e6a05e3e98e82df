// Storage types: what a value is kept as, and how a number becomes one.
//
// A stored element is handled as a double, which holds every value of every type but the
// i64 beyond 2^53. Rounding is to nearest, ties to even. What does not fit: a float becomes
// infinite, in f8e4m3 NaN; a float that becomes an integer is cut toward zero and stops at
// the ends of the range, NaN is 0; an integer that becomes a narrower one wraps around.
//
// i4 is packed two to a byte, the element of even index in the low four bits; an array of
// them is whole bytes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum dtype {
#define DTYPE(id, name, bits, kind, digits, exponent) DTYPE_##id,
#include "ir/types.def"
#undef DTYPE
    DTYPE_COUNT
};

enum dtype_kind { DTYPE_KIND_BOOL, DTYPE_KIND_INTEGER, DTYPE_KIND_FLOAT };

struct dtype_info {
    const char *name;
    int bits;
    enum dtype_kind kind;
    int digits, exponent;  // as in types.def
};
extern const struct dtype_info dtype_infos[DTYPE_COUNT];

const char *dtype_name(enum dtype t);
// The C type that an element is kept in, and what a reader must know beyond its name, or NULL.
const char *dtype_c_name(enum dtype t);
const char *dtype_c_note(enum dtype t);
bool dtype_find(const char *name, enum dtype *t);
static inline bool dtype_is_float(enum dtype t) {
    return dtype_infos[t].kind == DTYPE_KIND_FLOAT;
}
static inline bool dtype_is_integer(enum dtype t) {
    return dtype_infos[t].kind == DTYPE_KIND_INTEGER;
}
// Does f32 not hold every value of the type?
static inline bool dtype_is_wide(enum dtype t) {
    return dtype_infos[t].digits > 24;
}

// Bytes of an array of `count` elements.
int64_t dtype_size(enum dtype t, int64_t count);

// The type in which operands of these types are computed: f64 or f32 when one of them is a
// float, f64 if one is f64; else i64 or i32. Bool counts as nothing: it gives way to any other.
enum dtype dtype_promote(enum dtype a, enum dtype b);

// The least and the largest finite value.
double dtype_min(enum dtype t);
double dtype_max(enum dtype t);

// The value as the type keeps it, where it comes from a float (dtype_round) or from a value of
// type `from` (dtype_convert).
double dtype_round(enum dtype t, double v);
double dtype_convert(enum dtype from, enum dtype to, double v);

// v with a significand of `digits` binary digits, no end to its exponent: tf32 has 11.
double dtype_round_digits(int digits, double v);

// How far x is from the nearest number that rounds to `v`, a value of the float type; 0: it does so
// itself. Of an infinite v (or f8e4m3's NaN) those are the numbers that overflow.
double dtype_rounding_distance(enum dtype t, double v, double x);

// Cut toward zero, stopping at the ends of i64; NaN is 0.
int64_t dtype_whole(double v);

// An integer brought into the type's range by wrapping around.
int64_t dtype_wrap(enum dtype t, int64_t v);

// Element `index` of an array. dtype_put stores dtype_round(t, v); bool stores v != 0. Two
// threads must not put into one byte of i4.
double dtype_get(enum dtype t, const void *data, int64_t index);
void dtype_put(enum dtype t, void *data, int64_t index, double v);

// Does element `index` hold what bytes of the word, repeated from the array's start, would be?
bool dtype_holds_word(enum dtype t, const void *data, int64_t index, uint32_t word);

// Elements [begin, begin + count) as doubles.
void dtype_get_run(enum dtype t, const void *data, int64_t begin, int64_t count, double *out);
