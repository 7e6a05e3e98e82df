// What the expressions of ops.def call besides the C library.
#pragma once

#include <math.h>
#include <stdint.h>

#include "ir/types.h"

// The remainder with the sign of the divisor, as Python has it.
static inline double op_modulo(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline double op_shift_left(double a, double b) {
    return b < 0 || b > 62 ? 0 : (double)(int64_t)((uint64_t)dtype_whole(a) << (int)b);
}

static inline double op_shift_right(double a, double b) {
    return b < 0 || b > 62 ? -(a < 0) : (double)(dtype_whole(a) >> (int)b);
}
