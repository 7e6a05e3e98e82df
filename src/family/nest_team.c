// Which regions threads can share, and the best of what they have.
#include "family/nest_team.h"

#include <math.h>

#include "base/arena.h"

#include "ir/detail.h"

static bool is_position(const struct node *n) {
    return n->op == OP_ARGMAX || n->op == OP_ARGMIN;
}

bool nest_team_legal(const struct region *r, struct objection *why) {
    const struct graph *g = r->graph;
    struct axis_map at;
    const struct node *n = r->n_anchors == 1 ? &g->nodes[r->anchor[0]] : NULL;
    bool is_order = n && n->op == OP_TOPK && !n->detail->reverse;
    bool is_known = n && (is_order || (is_position(n) && nest_place(r, &at)));
    if (is_known && loop_arithmetic(g->nodes[n->arg[0]].dtype) != LOOP_MASK)
        return true;
    return objection(why, "team",
                     "team 32 is for argmax, argmin and top-k of the largest numbers: the nearest "
                     "is team 1");
}

bool nest_team_suits(const struct region *r) {
    struct objection why;
    if (!nest_team_legal(r, &why))
        return false;
    const struct node *n = &r->graph->nodes[r->anchor[0]];
    const struct shape *s = &r->graph->nodes[n->arg[0]].shape;
    unsigned axes = n->op == OP_TOPK ? 1u << n->detail->axis : n->axes;
    return axes >> (s->rank - 1) & 1 && s->size[s->rank - 1] >= 32;
}

int64_t nest_pieces_length(const struct region *r) {
    struct axis_map at;
    const struct node *n = r->n_anchors == 1 ? &r->graph->nodes[r->anchor[0]] : NULL;
    if (!n || !is_position(n) || !nest_place(r, &at) ||
        loop_arithmetic(r->graph->nodes[n->arg[0]].dtype) == LOOP_MASK)
        return 0;
    struct loop_size size[TERM_AXES_MAX];
    terms_axes(r, r->anchor[0], size);
    return size[0].value;
}

const struct loop_expr *nest_team_best(struct arena *a, struct loop_builder *b, bool largest,
                                       const struct loop_expr *value, const struct loop_expr *at) {
    enum loop_dtype t = value->dtype;
    const struct loop_expr *has = loop_binary(a, LOOP_LE, loop_whole(a, at->dtype, 0), at);
    const struct loop_expr *least = loop_number(a, t, largest ? -INFINITY : INFINITY);
    const struct loop_expr *best =
        loop_let(b, "own", loop_ternary(a, LOOP_SELECT, has, value, least));
    best = loop_let(b, "top", loop_unary(a, largest ? LOOP_WARP_MAX : LOOP_WARP_MIN, best));
    const struct loop_expr *is_best = loop_binary(a, LOOP_EQ, value, best);
    if (t == LOOP_F32 || t == LOOP_F64)
        is_best = loop_binary(a, LOOP_OR, is_best, loop_binary(a, LOOP_NE, value, value));
    is_best = loop_binary(a, LOOP_AND, is_best, has);
    const struct loop_expr *none = loop_number(a, at->dtype, INFINITY);
    const struct loop_expr *own =
        loop_let(b, "own_at", loop_ternary(a, LOOP_SELECT, is_best, at, none));
    return loop_let(b, "top_at", loop_unary(a, LOOP_WARP_MIN, own));
}

static enum dtype storage_of(enum loop_dtype t) {
    return t == LOOP_F64   ? DTYPE_F64
           : t == LOOP_I32 ? DTYPE_I32
           : t == LOOP_I64 ? DTYPE_I64
                           : DTYPE_F32;
}

const struct loop_expr *nest_pieces_best(struct lowering *l, struct loop_builder *b,
                                         const struct nest_team *team, bool largest,
                                         const struct loop_expr *value,
                                         const struct loop_expr *at) {
    struct arena *a = l->arena;
    enum loop_dtype t = value->dtype;
    struct loop_size size = {(int64_t)team->threads * team->columns, NULL};
    struct loop_buffer *values = loop_shared_of(l->program, "bests", storage_of(t), &size, 1);
    struct loop_buffer *places =
        loop_shared_of(l->program, "places", storage_of(at->dtype), &size, 1);
    const struct loop_expr *columns = loop_int(a, team->columns);
    const struct loop_expr *own =
        loop_binary(a, LOOP_ADD, loop_binary(a, LOOP_MUL, team->lane, columns), team->warp);
    loop_store(b, values, own, value, false);
    loop_store(b, places, own, at, false);
    loop_barrier(b);
    const struct loop_expr *best = loop_let(b, "top", loop_load(a, values, team->warp, 1, 1));
    const struct loop_expr *best_at = loop_let(b, "top_at", loop_load(a, places, team->warp, 1, 1));
    for (int piece = 1; piece < team->threads; piece++) {
        const struct loop_expr *from =
            loop_binary(a, LOOP_ADD, team->warp, loop_int(a, (int64_t)piece * team->columns));
        const struct loop_expr *v = loop_let(b, "other", loop_load(a, values, from, 1, 1));
        const struct loop_expr *takes =
            loop_binary(a, LOOP_LT, largest ? best : v, largest ? v : best);
        if (t == LOOP_F32 || t == LOOP_F64)
            takes = loop_binary(a, LOOP_OR, takes,
                                loop_binary(a, LOOP_AND, loop_binary(a, LOOP_NE, v, v),
                                            loop_binary(a, LOOP_EQ, best, best)));
        takes = loop_let(b, "takes", takes);
        best = loop_let(b, "top", loop_ternary(a, LOOP_SELECT, takes, v, best));
        best_at = loop_let(
            b, "top_at",
            loop_ternary(a, LOOP_SELECT, takes, loop_load(a, places, from, 1, 1), best_at));
    }
    return best_at;
}
