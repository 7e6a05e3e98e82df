// The arithmetic of the loop language on single values, for execute.c.
#pragma once

#include "loop/loop.h"

// One lane of a value: floats in `real` (F32 as a double that a float holds exactly), all other
// types in `whole`.
union cell {
    double real;
    int64_t whole;
};

static inline bool cell_is_real(enum loop_dtype t) {
    return t == LOOP_F32 || t == LOOP_F64;
}

// An operation by element on operands of type `type`; CAST, ROUND_TO and TO_INDEX go by `e`.
union cell cell_apply(const struct loop_expr *e, enum loop_dtype type, const union cell *arg);

// Across `n` values, halves first, as hone_math.h does it. `op`: one of those across lanes.
union cell cell_across(enum loop_op op, enum loop_dtype type, const union cell *value, int n);

// What those before each of `n` values make together by LOOP_ADD or LOOP_MUL.
void cell_exclusive_scan(enum loop_op op, enum loop_dtype type, const union cell *value, int n,
                         union cell *before);

// Element `index` of memory of a storage type.
union cell cell_get(enum dtype t, const void *data, int64_t index);
void cell_put(enum dtype t, void *data, int64_t index, union cell v);
