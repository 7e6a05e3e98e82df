// Two walks: what is best, and in which piece of PIECE elements it stands first; then that piece,
// element by element. A position in every lane would cost more than to look at the row again, which
// by then is in the caches. NaN is better than any number: the best is NaN where there is one, and
// then the first of them is wanted.
#include "family/nest_best.h"

#include <math.h>

#include "base/arena.h"

enum { LANES = 16, COPIES = 4, PIECE = LANES * COPIES };

struct build {
    const struct nest_best *b;
    struct arena *a;
    struct scope *outer;
    enum loop_op op;
    const struct loop_expr *whole;  // the end of whole pieces
};

static const struct loop_expr *number(const struct build *x, int64_t v) {
    return loop_int(x->a, v);
}

static const struct loop_expr *op2(const struct build *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->a, op, p, q);
}

static struct scope at(const struct build *x, struct loop_builder *c, const struct loop_expr *k,
                       int lanes) {
    struct scope s = scope_inside(x->outer, c);
    s.index[x->b->group] = k;
    s.lanes = lanes;
    s.lane_group = lanes > 1 ? x->b->group : -1;
    return s;
}

static const struct loop_expr *element(const struct build *x, struct scope *s) {
    return point_value(s, x->b->arg, x->b->map);
}

// The elements that are the best one: equal to it, or NaN.
static const struct loop_expr *is_best(const struct build *x, const struct loop_expr *e,
                                       const struct loop_expr *best) {
    return op2(x, LOOP_OR, op2(x, LOOP_EQ, e, loop_broadcast(x->a, best, e->lanes)),
               op2(x, LOOP_NE, e, e));
}

static const struct loop_expr *find_best(struct build *x) {
    struct loop_program *p = x->outer->lowering->program;
    struct loop_builder *b = x->outer->builder, c, each;
    const struct loop_expr *start = loop_real(x->a, x->b->largest ? -INFINITY : INFINITY);
    struct loop_buffer *parts = loop_register(p, "best", COPIES, LANES);
    struct loop_buffer *rest = loop_register(p, "best", 1, 1);
    struct loop_for copies = {"u", number(x, 0), number(x, COPIES), 1, true};
    const struct loop_expr *u = loop_open_for(b, &copies, &c);
    loop_store(&c, parts, u, loop_broadcast(x->a, start, LANES), false);
    loop_close(b, &c);
    struct loop_for pieces = {"k", number(x, 0), x->whole, PIECE, false};
    const struct loop_expr *k = loop_open_for(b, &pieces, &c);
    u = loop_open_for(&c, &copies, &each);
    struct scope s =
        at(x, &each, op2(x, LOOP_ADD, k, op2(x, LOOP_MUL, u, number(x, LANES))), LANES);
    loop_store(&each, parts, u, op2(x, x->op, element(x, &s), loop_load(x->a, parts, u, LANES, 1)),
               false);
    loop_close(&c, &each);
    loop_close(b, &c);
    const struct loop_expr *all = loop_load(x->a, parts, number(x, 0), LANES, 1);
    for (int i = 1; i < COPIES; i++)
        all = op2(x, x->op, all, loop_load(x->a, parts, number(x, i), LANES, 1));
    enum loop_op across = x->b->largest ? LOOP_LANES_MAX : LOOP_LANES_MIN;
    loop_store(b, rest, number(x, 0), loop_unary(x->a, across, all), false);
    struct loop_for tail = {"k", x->whole, number(x, x->b->length), 1, false};
    k = loop_open_for(b, &tail, &c);
    s = at(x, &c, k, 1);
    loop_store(&c, rest, number(x, 0),
               op2(x, x->op, element(x, &s), loop_load(x->a, rest, number(x, 0), 1, 1)), false);
    loop_close(b, &c);
    return loop_let(b, "best", loop_load(x->a, rest, number(x, 0), 1, 1));
}

// Ask for the row that follows in memory, which is the next one's where rows follow each other.
static void ask_next(const struct build *x, struct scope *s) {
    const struct lowering *l = s->lowering;
    const struct shape *shape = &l->region->graph->nodes[x->b->arg].shape;
    loop_prefetch(s->builder, l->buffer[x->b->arg],
                  op2(x, LOOP_ADD, point_index(s, shape, x->b->map), number(x, x->b->length)));
}

// Where the piece begins that has the best first; what is behind whole pieces counts as one.
static const struct loop_expr *find_piece(struct build *x, const struct loop_expr *best) {
    struct loop_builder *b = x->outer->builder, c;
    enum loop_dtype t = x->b->position;
    const struct loop_expr *none = loop_whole(x->a, t, 0), *zero = number(x, 0);
    struct loop_buffer *piece = loop_register_of(x->outer->lowering->program, "piece", 1, 1, t);
    loop_store(b, piece, zero, loop_whole(x->a, t, -1), false);
    struct loop_for pieces = {"k", zero, x->whole, PIECE, false};
    const struct loop_expr *k = loop_open_for(b, &pieces, &c), *any = NULL;
    for (int i = 0; i < COPIES; i++) {
        struct scope s = at(x, &c, op2(x, LOOP_ADD, k, number(x, (int64_t)i * LANES)), LANES);
        ask_next(x, &s);
        const struct loop_expr *here = is_best(x, element(x, &s), best);
        any = any ? op2(x, LOOP_OR, any, here) : here;
    }
    const struct loop_expr *old = loop_load(x->a, piece, zero, 1, 1);
    const struct loop_expr *found =
        op2(x, LOOP_AND, loop_unary(x->a, LOOP_LANES_ANY, any), op2(x, LOOP_LT, old, none));
    loop_store(&c, piece, zero, loop_ternary(x->a, LOOP_SELECT, found, loop_cast(x->a, k, t), old),
               false);
    loop_close(b, &c);
    old = loop_load(x->a, piece, zero, 1, 1);
    old = loop_ternary(x->a, LOOP_SELECT, op2(x, LOOP_LT, old, none), loop_cast(x->a, x->whole, t),
                       old);
    return loop_let(b, "from", loop_to_index(x->a, old, 0, x->b->length));
}

const struct loop_expr *nest_best_by_vectors(struct scope *s, const struct nest_best *n) {
    struct arena *a = s->lowering->arena;
    const struct region *r = s->lowering->region;
    struct build x = {.b = n, .a = a, .outer = s, .op = n->largest ? LOOP_MAX : LOOP_MIN};
    struct scope lanes = *s;
    lanes.index[n->group] = loop_int(a, 0);
    lanes.lanes = LANES;
    lanes.lane_group = n->group;
    if (s->lowering->sms > 0 || s->lowering->program->libm || s->lanes > 1 || !r->is_leaf[n->arg] ||
        n->length < 4 * PIECE || loop_arithmetic(r->graph->nodes[n->arg].dtype) != LOOP_F32 ||
        dtype_infos[r->graph->nodes[n->arg].dtype].bits < 16 ||
        point_lane_stride(&lanes, &r->graph->nodes[n->arg].shape, n->map) != 1)
        return NULL;
    x.whole = loop_int(a, n->length / PIECE * PIECE);
    const struct loop_expr *best = find_best(&x), *from = find_piece(&x, best),
                           *zero = number(&x, 0);
    struct loop_buffer *position =
        loop_register_of(s->lowering->program, "position", 1, 1, n->position);
    loop_store(s->builder, position, zero, loop_whole(a, n->position, -1), false);
    struct loop_builder c;
    const struct loop_expr *end = op2(&x, LOOP_ADD, from, number(&x, PIECE));
    struct loop_for f = {"k", from, op2(&x, LOOP_MIN, number(&x, n->length), end), 1, false};
    const struct loop_expr *k = loop_open_for(s->builder, &f, &c);
    struct scope one = at(&x, &c, k, 1);
    const struct loop_expr *old = loop_load(a, position, zero, 1, 1);
    const struct loop_expr *takes = op2(&x, LOOP_AND, is_best(&x, element(&x, &one), best),
                                        op2(&x, LOOP_LT, old, loop_whole(a, n->position, 0)));
    loop_store(&c, position, zero,
               loop_ternary(a, LOOP_SELECT, takes, loop_cast(a, k, n->position), old), false);
    loop_close(s->builder, &c);
    return loop_load(a, position, zero, 1, 1);
}
