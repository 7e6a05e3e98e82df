// How many blocks a multiprocessor holds, and which of its resources says so: the arithmetic that
// the driver does, for kernels that are not loaded here.
#pragma once

#include "model/target.h"
#include "record/metrics.h"

enum occupancy_limit {
    LIMIT_REGISTERS,
    LIMIT_SHARED,
    LIMIT_BLOCKS,   // that it can hold
    LIMIT_THREADS,  // likewise
    LIMIT_COUNT
};

struct occupancy {
    double blocks;  // NAN where the launch or the target does not say enough
    double share;   // of the threads that it can hold
    enum occupancy_limit by;
    double fits[LIMIT_COUNT];  // blocks, if only this were in the way
};

struct occupancy occupancy_of(const struct target *t, const struct metrics *m);

// Set blocks per multiprocessor, occupancy and waves where they are absent and can be reckoned.
void occupancy_complete(const struct target *t, struct metrics *m);
