// Sets that follow from the declared one (derived.h), on a GPU: the same laws over arrays of the
// judge's device memory.
#pragma once

#include "oracle/derived.h"
#include "oracle/gpu_oracle.h"

// A law with its order of rows on the device.
struct gpu_law {
    struct derived_law law;
    struct gpu_oracle *oracle;
    cuda_pointer order;  // 0: rows stay
};

bool gpu_law_open(struct gpu_law *g, struct gpu_oracle *on, const struct oracle *o,
                  enum oracle_set set, struct error *err);
void gpu_law_close(struct gpu_law *g);

// One array made from another, which lies elsewhere.
struct gpu_copy {
    cuda_pointer from, to;
    int64_t bytes;
};
// An input, from its declared data.
bool gpu_law_input(const struct gpu_law *g, int input, const struct gpu_copy *c, struct error *err);
// What is expected of an output (high, low and spread; parts of no bytes are not there), from what
// is expected on declared data.
bool gpu_law_output(const struct gpu_law *g, int output, const struct gpu_copy parts[3],
                    struct error *err);

// Some rows of an array, one after the other: `n` of so many bytes, whose numbers are in `rows` on
// the device.
struct gpu_rows {
    cuda_pointer rows;
    int64_t n, bytes;
};
bool gpu_take_rows(struct gpu_oracle *o, const struct gpu_rows *r, cuda_pointer from,
                   cuda_pointer to, struct error *err);
