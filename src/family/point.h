// Values at a point: the expression of any node of a region, given indices.
//
// A scope is one level of the loop nest being built. It fixes the index of some groups
// of the space, perhaps with several lanes along one of them. point_value() computes a
// node in the outermost scope that fixes everything the node depends on, so whatever is
// constant in an inner loop is computed before it, and remembers it there, so nothing
// is computed twice.
#pragma once

#include "family/region.h"
#include "family/space.h"
#include "loop/loop_build.h"

struct guard;
struct scope;

typedef const struct loop_expr *(*point_anchor_fn)(void *ctx, struct scope *s, node_id n,
                                                   const struct axis_map *map);

// What a loop's body reads in a step: position `at` along `axis` of a value in memory that has this
// axis more, of `n_steps` positions.
struct point_slice {
    int axis;
    int64_t n_steps;
    const struct loop_expr *at;
};

// What one stage's lowering needs throughout.
struct lowering {
    struct arena *arena;
    struct loop_program *program;
    const struct region *region;
    struct space space;
    struct loop_buffer **buffer;                   // per node: where it is materialised, or NULL
    struct loop_buffer *target[STAGE_VALUES_MAX];  // where the stage's values go
    // Where in their buffers values begin, per node and per target; NULL: at the start. For a
    // loop's body, whose values share one buffer.
    const struct loop_expr **offset;
    const struct loop_expr *target_offset[STAGE_VALUES_MAX];
    const struct point_slice *slice;  // per node; n_steps 0: it is all there. NULL: all are
    int sms;                          // multiprocessors of the target; 0: not a GPU
    bool reciprocal;                  // divide by what an outer loop fixes through its reciprocal
    bool is_quick;       // results are rounded to 16 bits: exp, gelu need not be exact to the last
    bool is_quick_erf;   // nor erf
    bool is_quick_gelu;  // gelu alone need not
    bool is_quick_inverse;  // nor sigmoid's division
    // Called for a node that only its family can compute (a reduction, a product) and that was
    // not defined; its value at the scope's point. NULL: such nodes are always defined.
    point_anchor_fn anchor;
    void *anchor_ctx;
};

struct memo;

struct scope {
    const struct lowering *lowering;
    struct scope *outer;  // NULL: the outermost
    struct loop_builder *builder;
    const struct loop_expr *index[SPACE_AXES_MAX];  // per group; NULL: not fixed here
    int lane_group;                                 // -1: scalar
    int lanes;
    struct memo *memo;
    struct clamped *clamps;  // indices that have a name here
};

// A scope inside `outer`: its indices, scalar unless changed.
struct scope scope_inside(struct scope *outer, struct loop_builder *b);

// Fix the groups from `first` up to `end` by one number that counts through all of them.
void scope_split(struct scope *s, const struct loop_expr *flat, int first, int end);
// How many elements those groups have together.
const struct loop_expr *scope_count(const struct scope *s, int first, int end);

// The size of a node's axis as its author called it.
struct loop_size point_size(const struct lowering *l, const struct shape *s, int axis);

// The node's value at the scope's point; lanes 1 when it is the same in all lanes.
const struct loop_expr *point_value(struct scope *s, node_id n, const struct axis_map *map);

// Can this elementwise operation be said in the loop language?
bool point_has_op(enum op op);

// Say what a node's value is, where only the family knows (reductions, contractions).
void point_define(struct scope *s, node_id n, const struct axis_map *map,
                  const struct loop_expr *value);

// A number of the type that values of `t` are computed in.
const struct loop_expr *point_constant(struct arena *a, enum dtype t, double value);

// An index at the scope's point. requires: the scope fixes all that it depends on.
const struct loop_expr *point_lower(struct scope *s, const struct index *x);

// Whether all conditions hold there, as a mask; NULL: always.
const struct loop_expr *point_guard(struct scope *s, const struct guard *guards, int n);

// `value` where all conditions hold, else `other`.
const struct loop_expr *point_where(struct scope *s, const struct guard *guards, int n,
                                    const struct loop_expr *value, const struct loop_expr *other);

// `node`'s value at the map where all conditions hold, else 0: what padding reads.
const struct loop_expr *point_padded(struct scope *s, node_id node, const struct axis_map *map,
                                     const struct guard *guards, int n);

// Flat index of the node's element at the scope's point.
const struct loop_expr *point_index(struct scope *s, const struct shape *shape,
                                    const struct axis_map *map);

// Likewise of the value that the node is a slice of.
const struct loop_expr *point_slice_index(struct scope *s, const struct shape *shape,
                                          const struct axis_map *map,
                                          const struct point_slice *slice);

// Elements of the node between two neighbours along the lanes; 0: does not move.
int64_t point_lane_stride(const struct scope *s, const struct shape *shape,
                          const struct axis_map *map);

// What is stored as the stage's value number `i` at the scope's point; the same, stored.
const struct loop_expr *point_stored(struct scope *s, int i, const struct axis_map *map);
void point_store(struct scope *s, int i, const struct axis_map *map, bool stream);

// Called for each distinct (node, map) that a value needs, a node before its arguments;
// returns whether to look at the arguments too.
typedef bool (*point_visit_fn)(void *ctx, node_id n, const struct axis_map *map);

struct point_visit {
    const struct region *region;
    int column;  // a reduction over the last axis alone walks this axis of the space; -1: none,
                 // and reductions are not looked into
    point_visit_fn fn;
    void *ctx;
};
void point_visit(const struct point_visit *v, node_id n, const struct axis_map *map);
// Cut the lowering's space by all that its values read, seen as the axes of `anchor`, down to that
// node: an epilogue's accesses.
void point_cut_epilogue(struct lowering *l, node_id anchor);
