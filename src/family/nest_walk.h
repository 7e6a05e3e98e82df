// Anchors that walk along lines: scans, orders (top-k) and scatters, for the family nest.
//
// A line is what one thread walks from end to end: all elements along the anchor's axis. Where
// lines are few, several threads share one: a scan is cut into segments (their sums, the sums of
// those before each, then the scan itself), a scatter into ranges of results, each of which looks
// at all that is scattered and takes its own.
#pragma once

#include "family/nest.h"

// How threads are made: a loop over items in each block, or a thread for each.
struct nest_team;
struct nest_threads {
    bool is_gpu;
    int64_t per_block;
    struct nest_team *team;  // NULL: a thread for each item; else a warp (nest_team.h)
};

typedef void (*nest_item_fn)(void *ctx, struct loop_builder *b, const struct loop_expr *item);

// A kernel that calls `fn` to build what is done for each of `count` items.
void nest_kernel(struct lowering *l, const char *name, const struct nest_threads *t,
                 const struct loop_expr *count, nest_item_fn fn, void *ctx);

// Lines of the region's walker, and how many elements each has.
int64_t nest_lines(const struct region *r, int64_t *length);

// Lower the region's one anchor, each line in `split` pieces.
void nest_lower_walker(struct nest *n, const char *name, const struct nest_threads *t, int split);
