// Kernels that compute nothing, tried on one set after the other. One that passes on all of them
// makes the problem degenerate: a verdict on it says nothing. The constant is the mean of what is
// expected on the first set: another one for each set would have to be computed.
#pragma once

#include "oracle/oracle.h"

enum null_kernel { NULL_ZEROS, NULL_COPY, NULL_CONSTANT, NULL_COUNT };
struct null_kernels {
    unsigned passing;  // a bit for each that has passed so far
    bool has_constants;
    double constants[OUTPUTS_MAX];
};
void null_kernels_start(struct null_kernels *t);
// `inputs`: the set's data.
void null_kernels_try(const struct oracle *o, enum oracle_set set, const void *const *inputs,
                      struct null_kernels *t);
// What the first of those that are left does ("writing zeros"); NULL: none is left.
const char *null_kernels_text(const struct null_kernels *t);
