// A fold: one reduction along a sweep, in as many accumulators as the sweep has copies and
// lanes. Long sums are cut into chunks whose results are added, so that the error stays
// that of short sums. Accumulators are of the type that the reduced value is computed in; only
// those of LOOP_F32 and LOOP_MASK have lanes, so that the sweep of any other has one.
#pragma once

#include "family/point.h"
#include "family/sweep.h"

struct fold {
    const struct lowering *lowering;
    node_id node;             // the reduction
    enum loop_dtype type;     // of accumulators
    enum loop_op op, across;  // on accumulators, and between the lanes of one
    double identity;
    struct loop_buffer *vectors;  // NULL: the sweep has no vector part
    struct loop_buffer *scalar;   // NULL: it has no scalar part
    int n_vectors;
    const struct loop_expr *result;  // once built
};

// The operation and its identity.
void fold_choose(struct fold *f, enum op op);
// How memory keeps an accumulator of the type exactly.
enum dtype fold_storage(enum loop_dtype type);
// The accumulator's first value.
const struct loop_expr *fold_start(const struct fold *f, struct arena *a);
void fold_init(struct fold *f, struct lowering *l, node_id node, const struct sweep *w);

// In the sweep's body: take one more (vector of) value.
void fold_add(struct fold *f, struct scope *s, const struct loop_expr *value,
              const struct loop_expr *copy);

// All folds along one sweep.
struct folds {
    struct fold *fold;
    int n;
};

// Called to build the loops over `w`, by sweep_build, with fold_add in their body.
typedef void (*fold_sweep_fn)(void *ctx, struct scope *s, const struct sweep *w);

// Build the sweep with its folds around it; results are let-bound in `outer`.
void folds_build(struct folds *folds, struct scope *outer, const struct sweep *w, fold_sweep_fn fn,
                 void *ctx);
