// One walk says what is best and in which CHUNK elements it stands first; those are looked at
// again, for the piece of PIECE and then for the element. A position in every lane would cost more,
// and two walks over the row leave memory idle during the second (4096 x 4096 f32 on two cores of
// an EPYC: 1.74 ms, so 1.65). NaN is better than any number: the best is NaN where there is one, and then the
// first of them is wanted.
#include "family/nest_best.h"

#include <math.h>

#include "base/arena.h"

enum { LANES = 16, COPIES = 4, PIECE = LANES * COPIES, CHUNK = 16 * PIECE, AHEAD = 4 * CHUNK };

struct build {
    const struct nest_best *b;
    struct arena *a;
    struct scope *outer;
    enum loop_op op;
    const struct loop_expr *whole;     // the end of whole pieces
    struct loop_buffer *best, *chunk;  // so far, and where the chunk begins that it was first in
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

static const struct loop_expr *get(const struct build *x, const struct loop_buffer *b) {
    return loop_load(x->a, b, number(x, 0), 1, 1);
}

// `e`, in the chunk that begins at `from`, against what was best before.
static void take_better(const struct build *x, struct loop_builder *b, const struct loop_expr *e,
                        const struct loop_expr *from) {
    const struct loop_expr *best = get(x, x->best);
    const struct loop_expr *is_more =
        x->b->largest ? op2(x, LOOP_LT, best, e) : op2(x, LOOP_LT, e, best);
    const struct loop_expr *is_first_nan =
        op2(x, LOOP_AND, op2(x, LOOP_NE, e, e), op2(x, LOOP_EQ, best, best));
    const struct loop_expr *takes = loop_let(b, "takes", op2(x, LOOP_OR, is_more, is_first_nan));
    loop_store(b, x->best, number(x, 0), loop_ternary(x->a, LOOP_SELECT, takes, e, best), false);
    loop_store(b, x->chunk, number(x, 0),
               loop_ternary(x->a, LOOP_SELECT, takes, loop_cast(x->a, from, x->b->position),
                            get(x, x->chunk)),
               false);
}

// Ask for what follows: the row's own or the next one's, where rows follow each other.
static void ask_ahead(const struct build *x, struct scope *s) {
    const struct lowering *l = s->lowering;
    const struct shape *shape = &l->region->graph->nodes[x->b->arg].shape;
    int64_t ahead = x->b->length < AHEAD ? x->b->length : AHEAD;
    loop_prefetch(s->builder, l->buffer[x->b->arg],
                  op2(x, LOOP_ADD, point_index(s, shape, x->b->map), number(x, ahead)));
}

// The best of one chunk.
static const struct loop_expr *best_of_chunk(struct build *x, struct loop_builder *b,
                                             struct loop_buffer *parts,
                                             const struct loop_expr *chunk) {
    struct loop_builder c, each;
    const struct loop_expr *start = loop_real(x->a, x->b->largest ? -INFINITY : INFINITY);
    struct loop_for copies = {"u", number(x, 0), number(x, COPIES), 1, true};
    const struct loop_expr *u = loop_open_for(b, &copies, &c);
    loop_store(&c, parts, u, loop_broadcast(x->a, start, LANES), false);
    loop_close(b, &c);
    const struct loop_expr *end =
        op2(x, LOOP_MIN, x->whole, op2(x, LOOP_ADD, chunk, number(x, CHUNK)));
    struct loop_for pieces = {"k", chunk, end, PIECE, false};
    const struct loop_expr *k = loop_open_for(b, &pieces, &c);
    u = loop_open_for(&c, &copies, &each);
    struct scope s =
        at(x, &each, op2(x, LOOP_ADD, k, op2(x, LOOP_MUL, u, number(x, LANES))), LANES);
    ask_ahead(x, &s);
    loop_store(&each, parts, u, op2(x, x->op, element(x, &s), loop_load(x->a, parts, u, LANES, 1)),
               false);
    loop_close(&c, &each);
    loop_close(b, &c);
    const struct loop_expr *all = loop_load(x->a, parts, number(x, 0), LANES, 1);
    for (int i = 1; i < COPIES; i++)
        all = op2(x, x->op, all, loop_load(x->a, parts, number(x, i), LANES, 1));
    enum loop_op across = x->b->largest ? LOOP_LANES_MAX : LOOP_LANES_MIN;
    return loop_let(b, "here", loop_unary(x->a, across, all));
}

// What is best; x->chunk then has where to look for it. What is behind whole pieces counts as one.
static const struct loop_expr *find_best(struct build *x) {
    struct loop_program *p = x->outer->lowering->program;
    struct loop_builder *b = x->outer->builder, c;
    struct loop_buffer *parts = loop_register(p, "best", COPIES, LANES);
    x->best = loop_register(p, "best", 1, 1);
    x->chunk = loop_register_of(p, "chunk", 1, 1, x->b->position);
    loop_store(b, x->best, number(x, 0), loop_real(x->a, x->b->largest ? -INFINITY : INFINITY),
               false);
    loop_store(b, x->chunk, number(x, 0), loop_whole(x->a, x->b->position, 0), false);
    struct loop_for chunks = {"first", number(x, 0), x->whole, CHUNK, false};
    const struct loop_expr *first = loop_open_for(b, &chunks, &c);
    take_better(x, &c, best_of_chunk(x, &c, parts, first), first);
    loop_close(b, &c);
    struct loop_for tail = {"k", x->whole, number(x, x->b->length), 1, false};
    const struct loop_expr *k = loop_open_for(b, &tail, &c);
    struct scope s = at(x, &c, k, 1);
    take_better(x, &c, element(x, &s), x->whole);
    loop_close(b, &c);
    return loop_let(b, "best", get(x, x->best));
}

// Where the piece begins that has the best first, in the chunk that has it.
static const struct loop_expr *find_piece(struct build *x, const struct loop_expr *best) {
    struct loop_builder *b = x->outer->builder, c;
    enum loop_dtype t = x->b->position;
    const struct loop_expr *none = loop_whole(x->a, t, 0), *zero = number(x, 0);
    struct loop_buffer *piece = loop_register_of(x->outer->lowering->program, "piece", 1, 1, t);
    loop_store(b, piece, zero, loop_whole(x->a, t, -1), false);
    int64_t last = x->b->length / PIECE * PIECE;
    const struct loop_expr *begin =
        loop_let(b, "begin", loop_to_index(x->a, get(x, x->chunk), 0, last));
    const struct loop_expr *end =
        op2(x, LOOP_MIN, x->whole, op2(x, LOOP_ADD, begin, number(x, CHUNK)));
    struct loop_for pieces = {"k", begin, end, PIECE, false};
    const struct loop_expr *k = loop_open_for(b, &pieces, &c), *any = NULL;
    for (int i = 0; i < COPIES; i++) {
        struct scope s = at(x, &c, op2(x, LOOP_ADD, k, number(x, (int64_t)i * LANES)), LANES);
        const struct loop_expr *here = is_best(x, element(x, &s), best);
        any = any ? op2(x, LOOP_OR, any, here) : here;
    }
    const struct loop_expr *old = get(x, piece);
    const struct loop_expr *found =
        op2(x, LOOP_AND, loop_unary(x->a, LOOP_LANES_ANY, any), op2(x, LOOP_LT, old, none));
    loop_store(&c, piece, zero, loop_ternary(x->a, LOOP_SELECT, found, loop_cast(x->a, k, t), old),
               false);
    loop_close(b, &c);
    old = loop_ternary(x->a, LOOP_SELECT, op2(x, LOOP_LT, get(x, piece), none),
                       loop_cast(x->a, x->whole, t), get(x, piece));
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
