// Demand: how many elements of every value a computation has to have, walked back from the
// outputs. A slice asks for a part of its argument, a triangular mask for half, a gather for the
// rows that its indices name. It decides which bytes must be read and which flops must be done.
//
// Two readings. DEMAND_LEAST is a lower bound whatever the data: for the limit. DEMAND_USUAL is
// what a good kernel touches on the declared inputs: for reach.
#pragma once

#include <stdbool.h>

#include "ir/problem.h"

struct arena;

enum demand_mode { DEMAND_LEAST, DEMAND_USUAL };

struct demand {
    double *need;           // per node: elements
    double *flops;          // per node: of the operation, as ir/work.h counts, for what is needed
    double *textbook;       // per node: the same before algebra leaves anything out
    double *left;           // per node: the share of flops that algebra leaves (model/collapse.h)
    bool *is_prepared;      // per node: depends on params and constants alone, made before timing
    struct demand **inner;  // per node: of the first result of a loop, that of its body, else NULL
    double *input_bytes;    // per input of the problem; 0 when a prepared value is smaller
    double prepared_bytes;  // of prepared values read in place of params
    bool is_collapsed;      // products were left out that a sum takes away
    bool depends_on_data;   // some of it was counted on one draw of the indices
};

void demand_compute(struct arena *a, const struct problem *p, enum demand_mode mode,
                    struct demand *d);
