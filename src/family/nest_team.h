// A warp that shares one result of `nest`, or one line: where the best of many stands (argmax,
// argmin, top-k) and lines are long, a thread for each would read 32 lines at a time, each at
// another place.
//
// Threads of the warp have every 32nd element. Of what they found the best is told by two
// reductions of the warp: the best value, then the least position of those that have it.
#pragma once

#include "family/nest_walk.h"

struct nest_team {
    int threads;                   // of a warp
    const struct loop_expr *lane;  // both set by nest_kernel
    const struct loop_expr *warp;  // its number in the block
};

// Can a team have the region's results, or lines?
bool nest_team_legal(const struct region *r, struct objection *why);
// And is that good to begin with: are elements along a line neighbours in memory?
bool nest_team_suits(const struct region *r);

// Does the line of a top-k stay in shared memory, for each warp of so many threads? And how many
// elements that takes.
bool nest_team_keeps(const struct region *r, int threads);
int64_t nest_team_kept(int64_t length);

// The position of the best, the first of equals, where each thread has a `value` at `at` (i64; less
// than 0: none). NaN is better than all.
const struct loop_expr *nest_team_best(struct arena *a, struct loop_builder *b, bool largest,
                                       const struct loop_expr *value, const struct loop_expr *at);
