// Shared by gpu_reduce.c (threads along or across, one result for each team) and gpu_strips.c (a
// strip of rows of a product for each).
#pragma once

#include "family/gemm_form.h"
#include "family/gpu.h"
#include "family/gpu_reduce.h"

struct reduce_build {
    struct lowering *l;
    const struct kernel_stage *stage;
    struct gpu_reduction f;
    enum op op;                                  // the reduction's
    enum loop_dtype type;                        // what it is computed in
    const char *name;                            // and its name
    struct gpu_fold folds[GPU_REDUCE_ROWS_MAX];  // one, or one for each of a thread's rows
    int threads, results, vec, n_rows;
    bool is_strips;
    struct gpu_edge walk_edge;  // of rows that are peeled
    int64_t span, n_splits;
    struct loop_buffer *partial;  // scratch; NULL: one block has it all
    struct gpu_kernel kernel;
    const struct loop_expr *split;                   // which part of the terms
    const struct loop_expr *m[GPU_REDUCE_ROWS_MAX];  // a thread's rows of a product
    struct scope *at;                                // results fixed
};

const struct loop_expr *reduce_op(const struct reduce_build *x, enum loop_op op,
                                  const struct loop_expr *p, const struct loop_expr *q);
const struct loop_expr *reduce_int(const struct reduce_build *x, int64_t value);

// The kernel, of so many groups of results, each shared by `n_splits` blocks.
void reduce_open(struct reduce_build *x, const struct loop_expr *groups, struct loop_builder *b);
// Of the block's part of the terms.
const struct loop_expr *reduce_first(const struct reduce_build *x);
const struct loop_expr *reduce_end(const struct reduce_build *x, const struct loop_expr *all);
void reduce_walk(struct reduce_build *x, struct gpu_walk *w, struct loop_builder *b);
// The first thread of a team stores what the team has of result number `row`, at the scope x->at.
void reduce_store(struct reduce_build *x, struct loop_builder *b, const struct gpu_team *team,
                  const struct loop_expr *result, const struct loop_expr *row);

// gpu_strips.c: are rows moved in whole vectors though they begin anywhere; how many teams there
// are; the kernel; and what its walk calls.
bool strips_are_peeled(const struct gpu_reduction *f, const struct kernel_stage *s);
int64_t strips_teams(const struct gpu_reduction *f, const struct kernel_stage *s);
void strips_lower(struct reduce_build *x);
void strips_add(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                const struct loop_expr *item);
