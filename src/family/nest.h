// nest: the family that takes what no better one does, so that whatever the language can say has
// a kernel.
//
// Results are shared out over threads; each is computed by itself, in loops over the terms of its
// anchors (terms.h) with sums in registers, and whatever is by element around them is fused. Long
// sums are cut into parts of some hundred terms whose results are added, so that the error stays
// that of short sums. Three kinds of anchors are not made of terms and walk along a line of
// their argument instead (nest_walk.h): scans, orders and scatters.
#pragma once

#include "family/emitter.h"
#include "family/terms.h"

struct nest {
    struct lowering *l;
    int *first;  // per node: the first of its own axes in the space; anchors with terms only
    int n_kept;  // groups of the values' axes
    // Where results are computed several at a time: along which group, and where the anchor is.
    int tile_group;
    struct axis_map tile_at;
    int inside;                    // axis along which vectors have all their taps inside; -1
    const struct nest_team *team;  // a warp has each result; NULL: a thread does
};

// Whether it is one nest, and how many lanes lie along the last group of the values.
bool nest_find(struct form *f, struct objection *why);
bool nest_accepts(const struct region *r, struct objection *why);  // the first of these alone
int64_t nest_lanes(const struct region *r);

// Where a window reaches into padding along the last axis: which results of a line have all their
// taps inside, [begin, end). Returns the axis; -1: there is no such window, or no such result.
int nest_inside(const struct region *r, int64_t *begin, int64_t *end);

// What is worth materialising before the region becomes a nest: an argument of a product that
// takes long to compute and would be computed for every use; -1: nothing.
node_id nest_cut(const struct region *r);

// The space: axes of the values, grouped where they can be, then those of every anchor's terms.
// Afterwards point_value() knows what to do with anchors. With `has_tile` the axis of the tile is
// a group by itself.
void nest_build_space(struct nest *n, struct lowering *l, bool has_tile);
// For vectors that lie inside along this axis, as nest_inside() says; -1: the same as above.
void nest_build_space_inside(struct nest *n, struct lowering *l, int inside);
// The same with a group for each axis of the values.
void nest_build_space_by_axes(struct nest *n, struct lowering *l);

// Where the region's one anchor is used in its values; false: at several places, or there are
// several anchors.
bool nest_place(const struct region *r, struct axis_map *at);

// The axis of the values along which several results share what they read; -1: there is none.
// `at` gets where the anchor is used.
int nest_tile_axis(const struct region *r, struct axis_map *at);

// Store the values of `items` results from `first` on along that axis; the scope fixes all other
// groups of the values. requires: a space with a tile.
void nest_store_tile(struct nest *n, struct scope *s, const struct loop_expr *first, int items);

// Store all values at a scope that fixes the values' groups. With a team its first thread does.
void nest_store(struct nest *n, struct scope *s);

// Seconds for `threads` threads that work at once, each with `rate` operations a second.
double nest_estimate(const struct region *r, double rate, double bytes_per_s);

// ---- lines: for scans, orders and scatters

// The one anchor that walks along lines; -1: the region has none.
node_id nest_walker(const struct region *r);
