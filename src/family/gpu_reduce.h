// Sums and other folds of many terms on a GPU, for reductions and for products of few results.
//
// When the last axis is kept, threads lie *across* results, next to each other in memory, and
// several may share a result, each taking every so many terms; they meet in shared memory.
// Otherwise a team of threads lies *along* what is reduced. With `split` several blocks share a
// result; what they have goes to scratch, and a second kernel ends it.
#pragma once

#include "family/emitter.h"

struct gemm_form;

struct gpu_reduction {
    node_id anchor;
    struct axis_map at;               // the anchor's axes in those of the stage's value
    const struct gemm_form *product;  // what is summed is this product; NULL: a reduction
    struct axis_map arg;              // of a reduction's argument
    bool across;                      // threads lie across results
    int n_kept;                       // groups of the space
    int64_t n_results;                // elements of a value
    int64_t n_terms;                  // per result
    int64_t n_neighbours;  // lanes along the axis that vectors lie on, as space_lanes() says
};

// A product as sums along K.
struct gpu_reduction gpu_reduction_of_product(const struct gemm_form *p);

extern const struct knob gpu_reduce_knobs[];  // threads, results, vec, split

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
