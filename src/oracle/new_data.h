// The data of one timed call: drawn for it alone, by a seed that is used once, as fast as memory
// takes them.
//
// They are drawn from the declared distributions, but not as the sets are that verify a candidate:
// those are the same bits on every machine and take some nanoseconds an element. Here an element
// takes a few operations that vectorise. They cannot be distinguished from the declared set by
// their values: uniform and normal ones lie on the same grid, with the same tails. What is neither
// (whole numbers, places, sorted, computed) is drawn as the declared set is, by another seed.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ir/problem.h"

struct new_data {
    const struct problem *problem;
    int input;
    uint64_t seed;
    int n_threads;
    bool bypasses_caches;  // leave nothing of it in a cache, as far as the machine can
};
void new_data_fill(const struct new_data *d, void *out);
