// A sweep: one loop over a group of the space, in vectors, several at a time, with the
// remainders that the sizes call for and no others.
//
//     for (j = 0; j < N / 32 * 32; j += 32)    unrolled vectors
//     for (j = N / 32 * 32; j < N / 8 * 8; j += 8)    single vectors
//     for (j = N / 8 * 8; j < N; j++)    scalars
#pragma once

#include "family/point.h"

struct sweep {
    const char *name;  // of the loop variable
    int group;
    const struct loop_expr *begin, *end;
    const struct loop_expr *head;    // scalars before the first vector; NULL: none
    const struct loop_expr *offset;  // the group's index is this plus the variable; NULL: 0
    int64_t multiple;                // every length is a multiple of this; 1: nothing known
    int lanes;
    int unroll;  // vectors per turn
};

// Called to build the body. `copy` is which of the unrolled vectors it is, 0 elsewhere.
typedef void (*sweep_fn)(void *ctx, struct scope *s, const struct loop_expr *copy);

void sweep_build(struct scope *outer, const struct sweep *w, sweep_fn fn, void *ctx);

// Where in the sweep a body stands: the group's index without the offset.
const struct loop_expr *sweep_position(const struct sweep *w, const struct scope *s);

// For .multiple, when `count` elements are dealt out in runs of `run`.
int64_t sweep_multiple(int64_t count, int64_t run);

// Which parts it has.
struct sweep_parts {
    bool vectors;  // unrolled or single
    bool scalars;
};
struct sweep_parts sweep_parts(struct arena *a, const struct sweep *w);
