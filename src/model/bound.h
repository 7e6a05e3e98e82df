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
#include "model/realise.h"
#include "model/target.h"

// Least work: every input read once, every output written once, intermediates free. What is never
// asked for (outside a slice, a mask, the rows that indices name) does not count.
struct work {
    double bytes_read, bytes_written;
    double bytes_again;     // second reads of values whose groups do not fit the chip
    double bytes_least;     // read whatever the data: for the limit
    double flops;           // contractions and reductions and elementwise, as in ops.def
    double contract_flops;  // the part in contractions
    double vector_ops;      // instructions of the rest, a multiplication and an addition in one
    double function_ops;    // exp and its kind
    bool hangs_on_data;     // bytes of one draw of the inputs: least, not tight
    bool is_collapsed;      // sums of products count as products of sums
    bool is_prepared;       // values made of params alone are read in their place
};

enum bound_side { BOUND_MEMORY, BOUND_COMPUTE, BOUND_LAUNCH };

struct bound {
    struct work work;
    double limit_s;
    double limit_memory_s, limit_compute_s;
    double reach_s;  // NAN without ceilings
    double reach_fixed_s, reach_memory_s, reach_compute_s;
    double reach_pipe_s[PIPE_COUNT];          // what reach_compute_s is made of
    struct realisation limit_way, reach_way;  // of the largest contraction
    enum bound_side side;                     // what reach (or limit, without ceilings) is made of
};

// The pipe that takes longest.
enum pipe bound_pipe(const struct bound *b);

void work_count(const struct problem *p, const struct target *t, struct work *w);
void bound_compute(const struct problem *p, const struct target *t, struct bound *b);
const char *bound_side_name(enum bound_side s);
json_t *bound_to_json(const struct bound *b);
bool bound_from_json(const json_t *json, struct bound *b, struct error *err);

// Three digits and a prefix: "134 MB", "2.15 GFLOP".
const char *bound_quantity(struct arena *a, double value, const char *unit);

// For a person: least work, what binds and by how much, what comes next, what would change it.
const char *bound_explain(struct arena *a, const struct problem *p, const struct bound *b,
                          const struct target *t);

// The roofline as text, at most 80 columns: the device's slope and roofs, and the problem on it.
// "" when there is nothing to draw (no arithmetic, or no rates).
const char *bound_roofline(struct arena *a, const struct bound *b, const struct target *t);
