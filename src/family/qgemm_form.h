// The form of a product with quantised weights: x[.., K] times the transpose of w[N, K], whole
// numbers of 4 or 8 bits, each row of which has a scale or one for every group of columns; as
// qmatmul of the language writes it, or `x @ (w * scales[:, None]).T`, or without scales.
#pragma once

#include "family/emitter.h"
#include "family/gpu.h"

struct qgemm_form {
    node_id anchor;   // the product
    node_id x, w;     // materialised, in the order of their axes
    node_id scales;   // [N] or [N, groups], materialised; -1: none
    int64_t m, n, k;  // rows of x, all leading axes together
    int64_t group;    // columns of w that have one scale: K where a row has one
    enum dtype of_x, of_w;
    int scale_bytes;  // of one; 0: there are none
};

bool qgemm_find(struct form *form, struct objection *why);

// The space of results: rows (perhaps several groups), and columns behind them.
void qgemm_build_space(struct lowering *l, const struct qgemm_form *f);

// The kernel of a stage: `blocks` of `threads`, or clusters of `split` blocks.
struct gpu_kernel qgemm_open_kernel(struct lowering *l, const char *name, int64_t blocks, int split,
                                    int threads, struct loop_builder *b);
