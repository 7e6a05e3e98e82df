// Inside the interpreter: structural operations over whole arrays. Only interpret*.c include this.
#pragma once

#include "ir/detail.h"
#include "ir/interpret.h"
#include "ir/reading_fold.h"
#include "ir/recurrence.h"

// One node with its arguments. `variance` of an argument may be NULL: then it is exact.
struct structural {
    const struct graph *graph;
    const struct node *node;
    struct reading out;
    struct reading args[ARGS_MAX];
    char *fault;  // FAULT_MAX bytes; empty until an index is out of range
    struct reading_products how;
};

// A loop with its arguments, and the results that somebody asks for.
enum { LOOP_RESULTS_MAX = OUTPUTS_MAX };
struct structural_loop {
    const struct recurrence *recurrence;
    struct reading args[ARGS_MAX];
    const struct node *nodes[LOOP_RESULTS_MAX];
    struct reading results[LOOP_RESULTS_MAX];
    int n_results;
    char *fault;
};
void structural_recurrence(struct structural_loop *l);

// Nodes whose values are those of the evaluation before; the first one fills `arrays`.
struct structural_kept {
    const bool *is_same;     // per node; no input and no output
    struct reading *arrays;  // the caller frees them
};

// A problem whose inputs are readings. The outputs' arrays are the caller's to free; none of them
// may be an input.
void structural_interpret(const struct problem *p, const struct reading *inputs,
                          const struct structural_kept *kept, struct reading *outputs, char *fault);

// Compute any node of a class from OP_CLASS_IOTA on, but for recurrences.
void structural_store(struct structural *s);

// Is row i of the result (its axis 0) made of row i of the arguments that carry rows, and of
// nothing else that does? `carries` says which nodes do; that of `id`, the node, is set.
bool structural_keeps_rows(const struct graph *g, const struct node *n, bool *carries, node_id id);

// Its parts, one file each.
void structural_move(struct structural *s);
void structural_gather(struct structural *s);
void structural_scatter(struct structural *s);
void structural_ragged_scatter(struct structural *s);
void structural_scan(struct structural *s);
void structural_order(struct structural *s);
void structural_conv(struct structural *s);
void structural_pool(struct structural *s);
void structural_ragged(struct structural *s);

// Element `index` of argument `arg`, a whole number of [0, size), in the value's reading or the
// honest one; outside, the fault is noted and the result is -1.
int64_t structural_index(struct structural *s, int arg, int64_t index, int64_t size, bool honest);

static inline const struct shape *structural_shape(const struct structural *s, int arg) {
    return &s->graph->nodes[s->node->arg[arg]].shape;
}

static inline double structural_variance(const struct reading *r, int64_t i) {
    return r->variance ? r->variance[i] : 0;
}

static inline struct reading structural_at(const struct reading *r, int64_t offset) {
    return (struct reading){.value = r->value + offset,
                            .variance = r->variance ? r->variance + offset : NULL,
                            .honest = r->honest ? r->honest + offset : NULL,
                            .wide = r->wide ? r->wide + offset : NULL,
                            .type = r->type};
}

// Element i as a sum or product of one.
static inline struct reading_partial structural_element(const struct reading *r, int64_t i) {
    struct reading_partial p = {.value = r->value[i], .variance = structural_variance(r, i)};
    p.wide = reading_honest(r, i);
    p.honest = (float)p.wide;
    p.terms = 1;
    p.carried = p.variance;
    p.squares = p.value * p.value;
    p.size = fabs(p.value);
    p.low = reading_low(p.value);
    return p;
}

static inline void structural_put(const struct reading *r, int64_t i,
                                  const struct reading_partial *p) {
    r->value[i] = p->value;
    r->variance[i] = p->variance;
    reading_set_honest(r, i, r->type == DTYPE_F32 ? (double)p->honest : p->wide);
}

// n elements from[0], from[stride], ... as they are.
void structural_copy(const struct reading *out, const struct reading *from, int64_t stride,
                     int64_t n);

// Arrays of their own for the three readings, for scratch.
struct reading structural_scratch(int64_t count, bool with_variance, enum dtype type);
void structural_free(struct reading *r);

// Product of one matrix in whatever type the result has.
void structural_matmul(const struct reading_matmul *mm);
