// The space that a stage iterates over, and how values lie in it.
//
// A space is a list of axes. Every node of a region relates to it by a map alone, which says for
// each axis of the node where its index comes from: an axis of the space, nothing (index 0), or an
// index expression (index.h) that a slice, a reshape, a window or a gather made. Neighbouring axes
// that no access distinguishes are grouped and walked as one, so an elementwise chain over [M, N]
// is a single loop over M * N.
#pragma once

#include "family/index.h"
#include "ir/graph.h"
#include "loop/loop_build.h"

enum { SPACE_AXES_MAX = 4 * RANK_MAX };  // a value's axes, and those reduced away

enum { MAP_ZERO = -1, MAP_INDEX = -2 };

// Per axis of a node the axis of the space, MAP_ZERO: index 0, or MAP_INDEX: as `index` says.
struct axis_map {
    int axis[RANK_MAX];
    const struct index *index[RANK_MAX];
};

struct space {
    int n_axes;
    struct loop_size size[SPACE_AXES_MAX];
    bool is_joined[SPACE_AXES_MAX];  // to the axis before it
    int n_groups;
    int group[SPACE_AXES_MAX];                       // of each axis
    const struct loop_expr *extent[SPACE_AXES_MAX];  // per group
    int64_t count[SPACE_AXES_MAX];                   // per group
    // Vectors along an axis, as the accesses seen so far allow them: none where an index is not
    // affine in it or a guard depends on it; else they begin at multiples of `aligned` elements (0:
    // of any).
    bool is_scalar[SPACE_AXES_MAX];
    int64_t aligned[SPACE_AXES_MAX];
};

struct axis_map map_identity(int rank);
// The same place for a node of that shape: an axis of one element has only index 0.
bool map_equal(const struct axis_map *a, const struct axis_map *b, const struct shape *s);
// The argument's map, given a view's.
struct axis_map map_through_view(const struct graph *g, const struct node *view,
                                 const struct axis_map *map);
bool map_uses(const struct axis_map *map, int rank, int axis);
// Every entry the same, whatever the node's shape.
bool map_same(const struct axis_map *a, const struct axis_map *b);
// Does every axis walk along an axis of the space or stand still?
bool map_is_plain(const struct axis_map *map, int rank);
// One axis of a node as an index, and back. An axis that is walked in part only (a slice from the
// beginning) is an index too: code that sees a plain axis may take it for the whole.
const struct index *map_index(struct arena *a, const struct axis_map *map, int axis, int64_t size);
void map_set(struct axis_map *map, const struct shape *s, int axis, const struct index *x);
// The place of a node's element in row-major order.
const struct index *map_flat(struct arena *a, const struct shape *s, const struct axis_map *map);

// An axis more; returns its number.
int space_add(struct space *s, struct loop_size size);
// A space of these axes, each a group by itself.
void space_of_sizes(struct arena *a, struct space *s, const int64_t *size, int n);

// Group what can be grouped: start with everything joined, cut for every access, finish.
void space_join(struct space *s, int first, int n_axes);
void space_cut(struct arena *a, struct space *s, const struct shape *shape,
               const struct axis_map *map);
// The axis is a group by itself.
void space_separate(struct space *s, int axis);
// Vectors cannot lie along the axes that this node walks.
void space_forbid_lanes(struct space *s, int rank, const struct axis_map *map);
// A condition or a gather depends on this index: its axes are walked one by one.
void space_cut_index(struct space *s, const struct index *x);
void space_finish(struct arena *a, struct space *s);

// How many lanes along a group every access allows: 1 where none, else a number that the lanes
// must divide.
int64_t space_lanes(const struct space *s, int group);
