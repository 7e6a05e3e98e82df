// Building what has to do with types: constants, casts, what storage keeps.
#include <assert.h>
#include <math.h>

#include "base/arena.h"
#include "loop/loop_build.h"

enum loop_dtype loop_arithmetic(enum dtype dtype) {
    switch (dtype_infos[dtype].kind) {
    case DTYPE_KIND_FLOAT:
        return dtype == DTYPE_F64 ? LOOP_F64 : LOOP_F32;
    case DTYPE_KIND_INTEGER:
        return dtype == DTYPE_I64 ? LOOP_I64 : LOOP_I32;
    default:
        return LOOP_MASK;
    }
}

static bool is_float(enum loop_dtype t) {
    return t == LOOP_F32 || t == LOOP_F64;
}

static bool is_whole(enum loop_dtype t) {
    return t == LOOP_I32 || t == LOOP_I64;
}

// The storage type that holds exactly the values of a type.
static enum dtype storage_of(enum loop_dtype t) {
    static const enum dtype same[LOOP_DTYPE_COUNT] = {
        [LOOP_F32] = DTYPE_F32, [LOOP_F64] = DTYPE_F64,   [LOOP_I32] = DTYPE_I32,
        [LOOP_I64] = DTYPE_I64, [LOOP_MASK] = DTYPE_BOOL, [LOOP_INDEX] = DTYPE_I64};
    return same[t];
}

static struct loop_expr *new_expr(struct arena *a, enum loop_op op, enum loop_dtype dtype,
                                  const struct loop_expr *x) {
    struct loop_expr *e = arena_new(a, struct loop_expr);
    *e = (struct loop_expr){.op = op, .dtype = dtype, .lanes = x ? x->lanes : 1, .arg = {x}};
    return e;
}

const struct loop_expr *loop_real_of(struct arena *a, enum loop_dtype dtype, double value) {
    assert(is_float(dtype));
    struct loop_expr *e = new_expr(a, LOOP_CONST, dtype, NULL);
    e->real = dtype == LOOP_F32 ? (float)value : value;
    return e;
}

const struct loop_expr *loop_real(struct arena *a, double value) {
    return loop_real_of(a, LOOP_F32, value);
}

const struct loop_expr *loop_whole(struct arena *a, enum loop_dtype dtype, int64_t value) {
    assert(is_whole(dtype));
    struct loop_expr *e = new_expr(a, LOOP_CONST, dtype, NULL);
    e->integer = dtype_wrap(storage_of(dtype), value);
    return e;
}

const struct loop_expr *loop_truth(struct arena *a, bool value) {
    struct loop_expr *e = new_expr(a, LOOP_CONST, LOOP_MASK, NULL);
    e->integer = value;
    return e;
}

const struct loop_expr *loop_number(struct arena *a, enum loop_dtype dtype, double value) {
    if (is_float(dtype))
        return loop_real_of(a, dtype, value);
    if (dtype == LOOP_MASK)
        return loop_truth(a, value != 0);
    int64_t whole = dtype_whole(value);
    if (dtype == LOOP_I32 && whole != (int32_t)whole)
        whole = whole < 0 ? INT32_MIN : INT32_MAX;
    return loop_whole(a, dtype, whole);
}

static const struct loop_expr *cast_constant(struct arena *a, const struct loop_expr *x,
                                             enum loop_dtype to) {
    if (is_float(x->dtype))
        return loop_number(a, to, to == LOOP_MASK ? x->real != 0 : x->real);
    if (is_float(to))
        return to == LOOP_F32 ? loop_real_of(a, to, (double)(float)x->integer)
                              : loop_real_of(a, to, (double)x->integer);
    return to == LOOP_MASK ? loop_truth(a, x->integer != 0) : loop_whole(a, to, x->integer);
}

const struct loop_expr *loop_cast(struct arena *a, const struct loop_expr *x, enum loop_dtype to) {
    if (x->dtype == to)
        return x;
    if (to == LOOP_INDEX) {
        assert(!is_float(x->dtype));
        bool narrow = x->dtype == LOOP_I32 || x->dtype == LOOP_MASK;
        return loop_to_index(a, loop_cast(a, x, narrow ? LOOP_I32 : LOOP_I64),
                             narrow ? INT32_MIN : INT64_MIN, narrow ? INT32_MAX : INT64_MAX);
    }
    if (x->op == LOOP_CONST && !x->name)
        return cast_constant(a, x, to);
    if (x->op == LOOP_BROADCAST)
        return loop_broadcast(a, loop_cast(a, x->arg[0], to), x->lanes);
    return new_expr(a, LOOP_CAST, to, x);
}

// A float cut to a whole number stops at the ends of a narrow type, too.
static const struct loop_expr *clamp(struct arena *a, const struct loop_expr *x, enum dtype t) {
    const struct loop_expr *low = loop_whole(a, LOOP_I32, (int64_t)dtype_min(t));
    const struct loop_expr *high = loop_whole(a, LOOP_I32, (int64_t)dtype_max(t));
    return loop_binary(a, LOOP_MIN, loop_binary(a, LOOP_MAX, x, low), high);
}

const struct loop_expr *loop_round_to(struct arena *a, const struct loop_expr *x,
                                      enum dtype storage) {
    enum loop_dtype to = loop_arithmetic(storage);
    if (storage == storage_of(to))
        return loop_cast(a, x, to);
    if (is_float(x->dtype) && to == LOOP_I32)
        return clamp(a, loop_cast(a, x, to), storage);
    // From a double at once: rounding to f32 on the way could tip a tie.
    if (x->dtype != LOOP_F64)
        x = loop_cast(a, x, to);
    struct loop_expr *e = new_expr(a, LOOP_ROUND_TO, to, x);
    e->storage = storage;
    return e;
}

const struct loop_expr *loop_to_index(struct arena *a, const struct loop_expr *x, int64_t low,
                                      int64_t high) {
    assert(is_whole(x->dtype) && x->lanes == 1 && low <= high);
    if (low == high)
        return loop_int(a, low);
    if (x->op == LOOP_CONST)
        return loop_int(a, x->integer < low ? low : x->integer > high ? high : x->integer);
    struct loop_expr *e = new_expr(a, LOOP_TO_INDEX, LOOP_INDEX, x);
    e->low = low;
    e->high = high;
    return e;
}
