// The bound: three times, never mixed.
//
// speed of light: least bytes and the textbook count of operations at the data sheet's peaks, the
// figure that people know; absent where no data sheet says. reach: a fixed cost per launch plus the
// larger of least work / measured ceiling. It is what a kernel can be expected to attain here, and
// every score is a fraction of it. limit: what nothing honest beats, cleverer sums included, at the
// top clock; a time below 0.98 limit is an alarm, and it is for nothing else. Where it is below the
// speed of light, its reasons say why (model/reason.h).
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "ir/problem.h"
#include "model/realise.h"
#include "model/reason.h"
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
    double chain_ops;       // of steps that wait for one another, each as long as a multiply-add
    bool depends_on_data;   // bytes of one draw of the inputs: least, not tight
    bool is_collapsed;      // sums of products count as products of sums
    bool is_prepared;       // values made of params alone are read in their place
};

// Chain: steps that wait for one another.
enum bound_side { BOUND_MEMORY, BOUND_COMPUTE, BOUND_LAUNCH, BOUND_CHAIN };

// What a time at stated rates is made of.
struct load {
    double bytes, bytes_per_s;
    struct pipe_load {
        double flops;  // as a textbook counts
        double ops;    // through the pipe: f32 as three TF32 products has three times the flops
        double per_s;  // seconds: ops / per_s
    } pipe[PIPE_COUNT];
    struct pipe_load rest;  // outside contractions
    enum pipe rest_pipe;    // that does the rest too: f32 or f64
};

struct bound {
    struct work work;
    double light_s;  // the speed of light; NAN where no data sheet says
    double light_memory_s, light_compute_s;
    struct load light;
    double limit_s;
    double limit_memory_s, limit_compute_s;
    struct load limit;
    struct limit_reason reason[REASON_SIDES];  // why the limit is below the speed of light
    // What the limit leaves out of the products of its longest pipe, and of the bytes.
    double left_out[REASON_SIDES][CAUSE_COUNT];
    double reach_s;  // NAN without ceilings
    double reach_fixed_s, reach_memory_s, reach_compute_s;
    double reach_pipe_s[PIPE_COUNT];          // what reach_compute_s is made of
    double reach_flops[PIPE_COUNT];           // of contractions, as a textbook counts
    struct realisation limit_way, reach_way;  // of the largest contraction
    enum bound_side side;  // what reach is made of; without it the speed of light, or the limit
};

// The pipe that takes longest.
enum pipe bound_pipe(const struct bound *b);

// Seconds of one pipe, with the rest where it does that; and the pipe that takes longest.
double load_pipe_s(const struct load *l, enum pipe p);
enum pipe load_longest(const struct load *l);

// Seconds that the steps of loops take one after the other, at the top clock.
double bound_chain_s(const struct bound *b, const struct target *t);

void work_count(const struct problem *p, const struct target *t, struct work *w);
// All absent.
void bound_init(struct bound *b);
void bound_compute(const struct problem *p, const struct target *t, struct bound *b);
const char *bound_side_name(enum bound_side s);
json_t *bound_to_json(const struct bound *b);
bool bound_from_json(const json_t *json, struct bound *b, struct error *err);

// Three digits and a prefix: "134 MB", "2.15 GFLOP".
const char *bound_quantity(struct arena *a, double value, const char *unit);

// One line each, or NULL where there is nothing to say: why the limit is below the speed of light,
// and why reach is.
const char *bound_limit_why(struct arena *a, const struct bound *b);
const char *bound_reach_why(const struct bound *b);
// "memory-bound; speed of light 1.11 ms, reach 1.3 ms, limit 555 µs (fast products ...)".
const char *bound_line(struct arena *a, const struct bound *b);

// For a person: least work, what binds and by how much, what comes next, what would change it.
const char *bound_explain(struct arena *a, const struct problem *p, const struct bound *b,
                          const struct target *t);

// The roofline as text in so many columns, at most 80: the device's slope and roofs, and the
// problem on it.
// "" when there is nothing to draw (no arithmetic, or no rates).
const char *bound_roofline(struct arena *a, const struct bound *b, const struct target *t,
                           int columns);
