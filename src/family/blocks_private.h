// What blocks_lower.c and blocks_stats.c build one kernel of `rowwise as blocks` with.
#pragma once

#include "family/blocks_lower.h"
#include "family/gpu.h"
#include "family/laws.h"
#include "family/rows_keep.h"

struct blocks_build {
    struct lowering *l;
    const struct kernel_stage *stage;
    const struct rows_form *form;
    struct rows_keep keep;
    int n_kept;  // groups of the space
    int threads, blocks, rows;
    int64_t span;  // elements of a part
    struct gpu_kernel kernel;
    struct gpu_team team;
    struct gpu_walk walk;
    struct gpu_edge edge;
    const struct loop_expr *rank, *group, *row;
    struct loop_buffer *counts;  // of a group that is no cluster
    int now;                     // the walk being built, from 1
    node_id *folded;             // the reductions of this walk
    struct loop_buffer **kept;   // per node: registers, or a shared array
    struct loop_buffer **kept_edge;
    struct scope *at;              // the row is fixed
    const struct law_match *once;  // statistics in one walk or one meeting; NULL: level by level
    bool takes_stats;              // of once->node[0], in this walk
    struct loop_buffer *count, *mean, *squares, *edge_count, *edge_value;  // of a thread
};

static inline const struct loop_expr *build_op(const struct blocks_build *x, enum loop_op op,
                                               const struct loop_expr *p,
                                               const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

static inline const struct loop_expr *build_int(const struct blocks_build *x, int64_t value) {
    return loop_int(x->l->arena, value);
}

// blocks_lower.c: a walk over the block's part with the reductions of level x->now, but `skip` (-1:
// none); x->walk.folds then has the block's results, of the nodes in x->folded.
void blocks_fold(struct blocks_build *x, node_id skip);
// Thread 0 stores what the block has: `n` arrays, an element for each block of each row. Then the
// row's blocks meet.
void blocks_exchange(struct blocks_build *x, const char *const *names,
                     const struct loop_expr *const *values, int n, struct loop_buffer **parts);
// What one block of the row stored.
const struct loop_expr *blocks_part(const struct blocks_build *x, const struct loop_buffer *parts,
                                    const struct loop_expr *rank);
// A walk of each warp over the row's blocks; its folds are to be initialised by the caller.
struct blocks_gather {
    struct gpu_team warp;
    struct gpu_walk walk;
};
void blocks_open_gather(struct blocks_build *x, struct blocks_gather *g);

// blocks_stats.c: both levels of x->once, and all else of level 1, in one meeting; afterwards the
// anchors are defined in x->at.
void blocks_build_once(struct blocks_build *x);
// Called in a walk that takes statistics (x->takes_stats), with a vector, or at an edge.
void blocks_add_stats(struct blocks_build *x, struct loop_builder *b, const struct loop_expr *value,
                      bool is_edge);
