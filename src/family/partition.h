// How points are dealt out to the blocks of a CPU kernel: runs of the innermost group, or several
// whole ones ("rows"), some `grain` elements to a block.
#pragma once

#include "family/sweep.h"

struct partition {
    int64_t n_rows, n_columns;
    int64_t rows, columns;  // of one block
};

// The first `n_groups` groups of a space.
struct partition partition_space(const struct space *space, int n_groups, int64_t grain);

struct partition_kernel {
    const char *name;
    int n_groups;
    int64_t grain;
    int lanes, unroll;
    bool has_edges;      // vectors are for [begin, end) of the innermost group alone
    int64_t begin, end;  // of it
};

// A kernel that has `fn` build what is done at every point, in vectors along the innermost group.
void partition_kernel(struct lowering *l, const struct partition_kernel *k, sweep_fn fn, void *ctx);
