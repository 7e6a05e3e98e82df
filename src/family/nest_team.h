// Threads that share one result of `nest`, or one line: where the best of many stands (argmax,
// argmin, top-k).
//
// A warp has a line that lies along memory, since a thread for each would read 32 lines at a time,
// each at another place: its threads have every 32nd element. Of what they found the best is told
// by two reductions of the warp: the best value, then the least position of those that have it.
//
// Of a line across memory neighbouring threads have neighbouring results, and threads of a block
// that lie `columns` apart have a piece each of the same one: more loads are under way. What they
// found goes through shared memory.
#pragma once

#include "family/nest_walk.h"

struct nest_team {
    int threads;  // of a warp, or as many as there are pieces
    int columns;  // results of a block, of which each has so many threads; 0: a warp has one
    // Set by nest_kernel.
    const struct loop_expr *lane;  // its number in the team
    const struct loop_expr *warp;  // of a warp: the team's in the block; else the thread's column
    const struct loop_expr *item;  // the team's result, which may be beyond the last
};

// Can a team have the region's results, or lines?
bool nest_team_legal(const struct region *r, struct objection *why);
// And is that good to begin with: are elements along a line neighbours in memory?
bool nest_team_suits(const struct region *r);
// Terms of the first axis of an argmax or argmin, of which pieces are made; 0: of another region.
int64_t nest_pieces_length(const struct region *r);

// The position of the best, the first of equals, where each thread has a `value` at `at` (i32 or
// i64, as the result; less than 0: none). NaN is better than all.
const struct loop_expr *nest_team_best(struct arena *a, struct loop_builder *b, bool largest,
                                       const struct loop_expr *value, const struct loop_expr *at);

// The same by threads of a block that have a piece each, whatever the type of `at`; all threads of
// the block come by here.
const struct loop_expr *nest_pieces_best(struct lowering *l, struct loop_builder *b,
                                         const struct nest_team *team, bool largest,
                                         const struct loop_expr *value, const struct loop_expr *at);
