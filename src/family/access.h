// What a node reads, given where its own element lies: one mechanism for whatever moves data.
//
// Views, slices, flips, pads, reshapes, concats, repeats, gathers and masks of `arange` compute
// nothing. Each says, for an element at a map (space.h), at which map of its argument that element
// is found, and under which conditions there is one: a pad reads inside its borders only, a concat
// reads the one part or the other. Conditions that hold everywhere are left out, and indices
// that are read under a condition are brought into bounds, so a load may stand before its test.
#pragma once

#include "family/region.h"
#include "family/space.h"

// Holds where low <= index <= high.
struct guard {
    const struct index *index;
    int64_t low, high;
};

struct access {
    struct axis_map map[ARGS_MAX];  // of each argument
    struct guard guard[RANK_MAX];   // pad: all hold, or it is the filling; concat: the first part
    int n_guards;
};

// Does the node only say where its elements come from?
bool access_moves(const struct node *n);

// requires: an elementwise node or one that moves data, which may lie in no region.
void access_find(const struct region *r, node_id n, const struct axis_map *map, struct access *x);

// Add a condition, unless it always holds.
void access_guard(struct guard *guards, int *n, const struct index *index, int64_t low,
                  int64_t high);

// The index that a node of `arange` is.
const struct index *access_iota(const struct region *r, const struct node *n,
                                const struct axis_map *map);

// Let a space know of what the node reads at a map: for code that walks all of a region.
void access_cut(const struct region *r, struct space *s, node_id n, const struct axis_map *map);

// Does this value, or this memory, come in vectors (loop.h)?
bool access_has_lanes(const struct region *r, node_id id);
