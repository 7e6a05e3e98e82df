// The space that a stage iterates over, and how values lie in it.
//
// A space is a list of axes. Since all movement of data in a graph is a view, every
// node of a region relates to the space by a map alone: each of its axes walks along
// one axis of the space, or stands still. Neighbouring axes that no access tells apart
// are grouped and walked as one, so an elementwise chain over [M, N] is a single loop
// over M * N.
#pragma once

#include "ir/graph.h"
#include "loop/loop_build.h"

enum { SPACE_AXES_MAX = 2 * RANK_MAX };  // a value's axes, and those reduced away

// Per axis of a node the axis of the space, or -1: index 0.
struct axis_map {
    int axis[RANK_MAX];
};

struct space {
    int n_axes;
    struct loop_size size[SPACE_AXES_MAX];
    bool is_joined[SPACE_AXES_MAX];  // to the axis before it
    int n_groups;
    int group[SPACE_AXES_MAX];                       // of each axis
    const struct loop_expr *extent[SPACE_AXES_MAX];  // per group
    int64_t count[SPACE_AXES_MAX];                   // per group
};

struct axis_map map_identity(int rank);
// The same place for a node of that shape: an axis of one element has only index 0.
bool map_equal(const struct axis_map *a, const struct axis_map *b, const struct shape *s);
// The argument's map, given a view's.
struct axis_map map_through_view(const struct graph *g, const struct node *view,
                                 const struct axis_map *map);
bool map_uses(const struct axis_map *map, int rank, int axis);

// An axis more; returns its number.
int space_add(struct space *s, struct loop_size size);

// Group what can be grouped: start with everything joined, cut for every access, finish.
void space_join(struct space *s, int first, int n_axes);
void space_cut(struct space *s, const struct shape *shape, const struct axis_map *map);
void space_finish(struct arena *a, struct space *s);
