// The bound: two times, never mixed.
//
// limit: least work / what the hardware could do at its top clock. Nothing honest is
// faster; a time below 0.98 limit is an alarm. reach: a fixed cost per launch plus
// the larger of least work / measured ceiling. It is what a kernel can be expected
// to attain here, and every score is a fraction of it.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "ir/problem.h"
#include "model/target.h"

// Least work: every input read once, every output written once, intermediates free.
struct work {
    double bytes_read, bytes_written;
    double flops;           // contractions and reductions and elementwise, as in ops.def
    double contract_flops;  // the part in contractions
};

enum bound_side { BOUND_MEMORY, BOUND_COMPUTE, BOUND_LAUNCH };

struct bound {
    struct work work;
    double limit_s;
    double limit_memory_s, limit_compute_s;
    double reach_s;  // NAN without ceilings
    double reach_fixed_s, reach_memory_s, reach_compute_s;
    enum bound_side side;  // what reach (or limit, without ceilings) is made of
};

void work_count(const struct problem *p, struct work *w);
void bound_compute(const struct problem *p, const struct target *t, struct bound *b);
const char *bound_side_name(enum bound_side s);
json_t *bound_to_json(const struct bound *b);
bool bound_from_json(const json_t *json, struct bound *b, struct error *err);

// "memory-bound: 134.2 MB at 21.3 GB/s takes 6.30 ms; ..." for a person.
const char *bound_explain(struct arena *a, const struct bound *b, const struct target *t);
