// What the lowerings over lines (nest_walk.h) share: a line of the result that an item of the
// kernel has, and what its argument is at a place along it. nest_walk.c has scans and scatters,
// nest_order.c orders.
#pragma once

#include "base/arena.h"
#include "family/nest_walk.h"

struct lines {
    struct nest *nest;
    struct lowering *l;
    node_id id;
    const struct node *node;
    const char *name;
    const struct nest_threads *threads;
    int axis;                  // that lines lie along
    int64_t length;            // of the result's axis
    int split;                 // pieces of a line
    int64_t piece;             // elements of each, but for the last
    int own;                   // the first axis of the space beyond the result's
    enum loop_dtype type;      // computed in
    enum dtype storage;        // that keeps it exactly
    struct axis_map map;       // the result's own
    struct loop_buffer *sums;  // scan: per line and piece; scatter: results, where narrower
    struct loop_buffer *carries;
    const struct loop_expr *line, *part;  // of the item
};

static inline const struct loop_expr *number(const struct lines *x, int64_t v) {
    return loop_int(x->l->arena, v);
}

static inline const struct loop_expr *op2(const struct lines *x, enum loop_op op,
                                          const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

static inline const struct loop_expr *get(const struct lines *x, const struct loop_buffer *b) {
    return loop_load(x->l->arena, b, number(x, 0), 1, 1);
}

static inline void put(const struct lines *x, struct loop_builder *b, const struct loop_buffer *to,
                       const struct loop_expr *e) {
    loop_store(b, to, number(x, 0), e, false);
}

static inline struct loop_buffer *reg(const struct lines *x, const char *name, enum loop_dtype t) {
    return loop_register_of(x->l->program, name, 1, 1, t);
}

// The scope of one item: the line's indices, but none along the axis.
struct scope lines_open_item(struct lines *x, struct loop_builder *b, const struct loop_expr *item);
const struct loop_expr *lines_convert(const struct lines *x, const struct loop_expr *e,
                                      enum loop_dtype t);
// An argument, where the axis of the lines is at `own` axis number `k` of the scope.
const struct loop_expr *lines_argument(const struct lines *x, struct scope *s, int arg, int k,
                                       enum loop_dtype t);
void lines_fix(const struct lines *x, struct scope *s, int axis, const struct loop_expr *e);
// The result at the scope's point.
void lines_store(const struct lines *x, struct scope *s, const struct loop_expr *e);

// nest_order.c: a nest_item_fn, for a line of a top-k.
void lines_order(void *ctx, struct loop_builder *b, const struct loop_expr *item);
