// Sums and other folds of many terms on a GPU, for reductions and for products of few results.
//
// When the last axis is kept, threads lie *across* results, next to each other in memory, and
// several may share a result, each taking every so many terms; they meet in shared memory.
// Otherwise a team of threads lies *along* what is reduced. With `split` several blocks share a
// result; what they have goes to scratch, and a second kernel ends it.
#pragma once

#include "family/emitter.h"

struct gemm_form;

enum { GPU_REDUCE_ROWS_MAX = 8 };

struct gpu_reduction {
    node_id anchor;
    struct axis_map at;               // the anchor's axes in those of the stage's value
    const struct gemm_form *product;  // what is summed is this product; NULL: a reduction
    int rows;                         // of a product, that a thread has side by side; 0 and 1: one
    bool peels;  // of a product: rows of the left factor lie in memory one behind the other
    struct axis_map arg;   // of a reduction's argument
    bool across;           // threads lie across results
    int n_kept;            // groups of the space
    int64_t n_results;     // elements of a value
    int64_t n_terms;       // per result
    int64_t n_neighbours;  // lanes along the axis that vectors lie on, as space_lanes() says
};

// A product as sums along K, by the stage's knobs.
struct gpu_reduction gpu_reduction_of_product(const struct gemm_form *p,
                                              const struct kernel_stage *s);

extern const struct knob gpu_reduce_knobs[];  // threads, results, vec, split
extern const struct knob gpu_dot_knobs[];     // and rows

void gpu_reduce_defaults(const struct gpu_reduction *f, const struct target *t,
                         struct kernel_stage *s);
bool gpu_reduce_legal(const struct gpu_reduction *f, const struct target *t,
                      const struct kernel_stage *s, struct objection *why);

// requires: the space is built, its groups are those of the results, then those of the terms.
void gpu_reduce_lower(struct lowering *l, const struct gpu_reduction *f,
                      const struct kernel_stage *stage);

// Seconds when so many bytes are moved.
double gpu_reduce_estimate(const struct gpu_reduction *f, const struct target *t,
                           const struct kernel_stage *s, double bytes);
