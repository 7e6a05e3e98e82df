// Which sources go to a row, or ask for it, for every row: lists on a GPU, from indices that are
// known only when the kernels run. A source takes a number from its row's counter; rows then take
// as many places as they counted, and sources go to theirs. Who comes first is not said, so a list
// has its sources in any order, and the lists lie in any order; where that matters they are put in
// order.
#pragma once

#include "family/gpu.h"

struct row_lists {
    struct lowering *l;
    const char *name;  // of what is scattered or gathered
    int64_t n_sources, n_rows;
    // The row of source `q`, from 0 to n_rows - 1.
    const struct loop_expr *(*row_of)(void *ctx, struct loop_builder *b, const struct loop_expr *q);
    void *ctx;
    // What the kernels leave: `count[row]` sources from source[first[row]] on.
    struct loop_buffer *first, *count, *source;
    struct loop_buffer *slot, *taken;  // on the way there
};

// Three kernels, and one more that puts every list in the order of its sources.
void row_lists_build(struct row_lists *x, bool is_ordered);
// Where the list of a row begins, and where it ends.
const struct loop_expr *row_lists_first(const struct row_lists *x, const struct loop_expr *row);
const struct loop_expr *row_lists_last(const struct row_lists *x, const struct loop_expr *row);
// The source at place `k`.
const struct loop_expr *row_lists_source(const struct row_lists *x, const struct loop_expr *k);
