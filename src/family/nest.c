// The space (axes of the values, then those of the anchors' terms), the loops of one anchor with
// their accumulators, products of ragged groups of rows, and an optional tile in which one factor
// is read once for several results.
#include "family/nest.h"

#include <assert.h>
#include <math.h>

#include "base/arena.h"
#include "family/fold.h"
#include "family/nest_best.h"
#include "family/nest_steps.h"
#include "family/nest_team.h"
#include "loop/range.h"

// Terms that are added in sequence; more are cut into parts.
enum { PART_TERMS = 512, SEQUENCE_MAX = 1024 };

// ---- the space

static bool cut_access(void *ctx, node_id n, const struct axis_map *map);

static void visit(struct nest *n, node_id node, const struct axis_map *map) {
    struct point_visit v = {n->l->region, -1, cut_access, n};
    point_visit(&v, node, map);
}

static void cut_terms(struct nest *n, node_id id, const struct axis_map *map) {
    const struct node *node = &n->l->region->graph->nodes[id];
    struct space *space = &n->l->space;
    struct terms t;
    terms_find_inside(n->l->region, id, map, n->first[id], n->inside, &t);
    for (int i = 0; i < t.n_guards; i++)
        space_cut_index(space, t.guard[i].index);
    for (int i = 0; i < t.n_multiples; i++)
        space_cut_index(space, t.multiple[i].index);
    if (op_infos[node->op].class == OP_CLASS_RAGGED)  // rows are compared with offsets
        space_cut_index(space, map_index(n->l->region->arena, map, 0, node->shape.size[0]));
    for (int i = 0; i < node->n_args; i++)
        visit(n, node->arg[i], &t.map[i]);
}

static bool cut_access(void *ctx, node_id id, const struct axis_map *map) {
    struct nest *n = ctx;
    const struct region *r = n->l->region;
    access_cut(r, &n->l->space, id, map);
    if (!r->is_member[id] || n->first[id] == 0)
        return true;
    cut_terms(n, id, map);
    return false;
}

static void add_axes(struct nest *n, node_id id) {
    struct loop_size size[TERM_AXES_MAX];
    int n_axes = terms_axes(n->l->region, id, size);
    n->first[id] = n->l->space.n_axes;
    for (int i = 0; i < n_axes; i++)
        space_add(&n->l->space, size[i]);
    // An anchor of a single term still has a place.
    if (n_axes == 0)
        space_add(&n->l->space, (struct loop_size){1, NULL});
}

static const struct loop_expr *anchor_value(void *ctx, struct scope *s, node_id n,
                                            const struct axis_map *map);

static void build_space(struct nest *n, struct lowering *l, bool has_tile, bool by_axes,
                        int inside) {
    const struct region *r = l->region;
    const struct shape *shape = &r->graph->nodes[r->value[0]].shape;
    *n = (struct nest){
        .l = l, .inside = inside, .first = arena_array(l->arena, int, r->graph->n_nodes)};
    l->space = (struct space){0};
    for (int i = 0; i < shape->rank; i++)
        space_add(&l->space, point_size(l, shape, i));
    if (shape->rank == 0)
        space_add(&l->space, (struct loop_size){1, NULL});
    int kept = l->space.n_axes;
    space_join(&l->space, 0, kept);
    for (int i = 0; i < r->n_anchors; i++)
        if (terms_has(&r->graph->nodes[r->anchor[i]]))
            add_axes(n, r->anchor[i]);
    struct axis_map map = map_identity(shape->rank);
    for (int i = 0; i < r->n_values; i++)
        visit(n, r->value[i], &map);
    for (int i = kept; i < l->space.n_axes; i++)
        l->space.is_joined[i] = false;
    int tile = has_tile ? nest_tile_axis(r, &n->tile_at) : -1;
    assert(tile >= 0 || !has_tile);
    if (has_tile)
        space_separate(&l->space, tile);
    if (inside >= 0)
        space_separate(&l->space, inside);
    for (int i = 0; by_axes && i < kept; i++)
        space_separate(&l->space, i);
    space_finish(l->arena, &l->space);
    n->tile_group = has_tile ? l->space.group[tile] : -1;
    n->n_kept = l->space.group[kept - 1] + 1;
    l->anchor = anchor_value;
    l->anchor_ctx = n;
}

void nest_build_space(struct nest *n, struct lowering *l, bool has_tile) {
    build_space(n, l, has_tile, false, -1);
}

void nest_build_space_inside(struct nest *n, struct lowering *l, int inside) {
    build_space(n, l, false, false, inside);
}

void nest_build_space_by_axes(struct nest *n, struct lowering *l) {
    build_space(n, l, false, true, -1);
}

static void store_all(struct nest *n, struct scope *s) {
    const struct region *r = n->l->region;
    struct axis_map map = map_identity(r->graph->nodes[r->value[0]].shape.rank);
    for (int i = 0; i < r->n_values; i++)
        point_store(s, i, &map, false);
}

void nest_store(struct nest *n, struct scope *s) {
    const struct region *r = n->l->region;
    struct loop_builder first, last;
    struct axis_map at;
    if (!n->team) {
        store_all(n, s);
        return;
    }
    nest_place(r, &at);
    point_define(s, r->anchor[0], &at, anchor_value(n, s, r->anchor[0], &at));
    loop_open_if(s->builder, n->team->lane, loop_int(n->l->arena, 1), &first);
    loop_open_if(&first, n->team->item, scope_count(s, 0, n->n_kept), &last);
    struct scope inside = scope_inside(s, &last);
    store_all(n, &inside);
    loop_close(&first, &last);
    loop_close(s->builder, &first);
}

// ---- the loops of one anchor

struct walk {
    struct nest *nest;
    const struct node *node;
    struct terms terms;
    int first, n_axes;  // of the space
    struct loop_size size[TERM_AXES_MAX];
    enum loop_op op;
    enum loop_dtype type;  // of the accumulators
    double identity;
    bool is_sum;                          // of floats: it is cut into parts
    int lanes;                            // of the point
    int items;                            // results side by side, each with accumulators
    const struct loop_expr *item_first;   // the first of them, along the tile's axis
    const struct loop_expr *begin, *end;  // of the first axis, where data says so
    struct loop_buffer *position;         // argmax: where the best stands; -1: nowhere yet
};

static const struct loop_expr *zero(const struct walk *w) {
    return loop_int(w->nest->l->arena, 0);
}

static const struct loop_expr *get_item(const struct walk *w, const struct loop_buffer *b,
                                        const struct loop_expr *item) {
    return loop_load(w->nest->l->arena, b, item, b->lanes, 1);
}

static const struct loop_expr *get(const struct walk *w, const struct loop_buffer *b) {
    return get_item(w, b, zero(w));
}

static void put(const struct walk *w, struct loop_builder *b, const struct loop_buffer *to,
                const struct loop_expr *value) {
    loop_store(b, to, zero(w), value, false);
}

static const struct loop_expr *open_items(const struct walk *w, struct loop_builder *outer,
                                          struct loop_builder *b) {
    struct loop_for f = {"item", zero(w), loop_int(w->nest->l->arena, w->items), 1, true};
    return loop_open_for(outer, &f, b);
}

static struct loop_buffer *accumulator(const struct walk *w, const char *what,
                                       struct loop_builder *b) {
    struct arena *a = w->nest->l->arena;
    struct loop_buffer *r =
        loop_register_of(w->nest->l->program, arena_printf(a, "%s_%s", w->node->name, what),
                         w->items, w->lanes, w->type);
    struct loop_builder inner;
    const struct loop_expr *item = open_items(w, b, &inner);
    loop_store(&inner, r, item, loop_number(a, w->type, w->identity), false);
    loop_close(b, &inner);
    return r;
}

// Is there a term at the scope's point? NULL: always.
static const struct loop_expr *term_exists(const struct walk *w, struct scope *s) {
    struct arena *a = w->nest->l->arena;
    const struct loop_expr *all = point_guard(s, w->terms.guard, w->terms.n_guards);
    for (int i = 0; i < w->terms.n_multiples; i++) {
        const struct loop_expr *at = point_lower(s, w->terms.multiple[i].index);
        at = loop_binary(a, LOOP_MOD, at, loop_int(a, w->terms.multiple[i].of));
        at = loop_binary(a, LOOP_EQ, at, loop_int(a, 0));
        all = all ? loop_binary(a, LOOP_AND, all, at) : at;
    }
    return all;
}

static const struct loop_expr *argument(const struct walk *w, struct scope *s, int i,
                                        enum loop_dtype type) {
    const struct loop_expr *e = point_value(s, w->node->arg[i], &w->terms.map[i]);
    return e->dtype == type ? e : loop_cast(w->nest->l->arena, e, type);
}

// The best so far gives way to a better one, to NaN, and to the first.
static void add_position(const struct walk *w, struct scope *s, struct loop_buffer *best,
                         const struct loop_expr *x) {
    struct arena *a = w->nest->l->arena;
    const struct loop_expr *old = get(w, best);
    const struct index *at = index_number(a, 0);
    for (int i = 0; i < w->n_axes; i++)
        at = index_add(a, index_scale(a, at, w->size[i].value),
                       index_axis(a, w->first + i, w->size[i].value));
    const struct loop_expr *position = get(w, w->position);
    const struct loop_expr *here = loop_cast(a, point_lower(s, at), position->dtype);
    bool largest = w->node->op == OP_ARGMAX;
    const struct loop_expr *takes = loop_binary(a, LOOP_LT, largest ? old : x, largest ? x : old);
    takes = loop_binary(a, LOOP_OR, takes,
                        loop_binary(a, LOOP_LT, position, loop_whole(a, position->dtype, 0)));
    if (w->type == LOOP_F32 || w->type == LOOP_F64)
        takes = loop_binary(a, LOOP_OR, takes,
                            loop_binary(a, LOOP_AND, loop_binary(a, LOOP_NE, x, x),
                                        loop_binary(a, LOOP_EQ, old, old)));
    takes = loop_let(s->builder, "takes", takes);
    put(w, s->builder, w->position, loop_ternary(a, LOOP_SELECT, takes, here, position));
    put(w, s->builder, best, loop_ternary(a, LOOP_SELECT, takes, x, old));
}

static void add_to_item(const struct walk *w, struct scope *s, struct loop_buffer *to,
                        const struct loop_expr *item) {
    struct arena *a = w->nest->l->arena;
    const struct loop_expr *x = argument(w, s, 0, w->type), *e = x, *old = get_item(w, to, item);
    bool products = terms_are_products(w->node);
    bool floats = w->type == LOOP_F32 || w->type == LOOP_F64;
    const struct loop_expr *y = products ? argument(w, s, 1, w->type) : NULL;
    const struct loop_expr *exists = term_exists(w, s);  // of indices that arguments have named
    if (products && floats && !exists) {
        loop_store(s->builder, to, item, loop_ternary(a, LOOP_FMA, x, y, old), false);
        return;
    }
    if (products)
        e = loop_binary(a, LOOP_MUL, x, y);
    if (exists)
        e = loop_ternary(a, LOOP_SELECT, exists, e, loop_number(a, w->type, w->identity));
    loop_store(s->builder, to, item, loop_binary(a, w->op, old, e), false);
}

// A scope for one item of the tile.
static struct scope scope_item(const struct walk *w, struct scope *outer, struct loop_builder *b,
                               const struct loop_expr *item) {
    struct scope s = scope_inside(outer, b);
    s.lanes = outer->lanes;
    s.lane_group = outer->lane_group;
    if (w->item_first)
        s.index[w->nest->tile_group] =
            loop_binary(w->nest->l->arena, LOOP_ADD, w->item_first, item);
    return s;
}

static void add_term(const struct walk *w, struct scope *s, struct loop_buffer *to) {
    if (w->position) {
        add_position(w, s, to, argument(w, s, 0, w->type));
        return;
    }
    struct loop_builder b;
    const struct loop_expr *item = open_items(w, s->builder, &b);
    struct scope each = scope_item(w, s, &b, item);
    add_to_item(w, &each, to, item);
    loop_close(s->builder, &b);
}

static int64_t terms_within(const struct walk *w, int axis) {
    int64_t n = 1;
    for (int i = axis; i < w->n_axes; i++)
        n *= w->size[i].value;
    return n;
}

// Part of the walk along one axis.
struct axis_part {
    int axis;
    const struct loop_expr *begin, *end;
    int64_t length;  // the most that end - begin can be
};

static void walk_axis(const struct walk *w, struct scope *s, int axis, struct loop_buffer *to);

static struct scope scope_step(const struct walk *w, struct scope *outer, struct loop_builder *b,
                               int axis, const struct loop_expr *k) {
    struct scope s = scope_inside(outer, b);
    s.lanes = outer->lanes;
    s.lane_group = outer->lane_group;
    s.index[w->nest->l->space.group[w->first + axis]] = k;
    return s;
}

// Of a piece's positions along the only axis of terms, READS at a time, as often as every piece
// has so many: all are loaded before the first is compared. Returns where the rest begins.
static const struct loop_expr *walk_together(const struct walk *w, struct scope *outer,
                                             const struct axis_part *x, struct loop_buffer *to) {
    enum { READS = 8 };
    struct arena *a = w->nest->l->arena;
    int64_t turns = x->length / w->nest->team->threads / READS;
    struct loop_buffer *read = loop_register_of(w->nest->l->program, "read", READS, 1, w->type);
    struct loop_builder b, c;
    struct loop_for f = {"turn", zero(w), loop_int(a, turns), 1, false};
    const struct loop_expr *turn = loop_open_for(outer->builder, &f, &b);
    const struct loop_expr *k = loop_binary(a, LOOP_MUL, turn, loop_int(a, READS));
    k = loop_binary(a, LOOP_ADD, x->begin, k);
    for (int compares = 0; compares < 2; compares++) {
        struct loop_for together = {"u", zero(w), loop_int(a, READS), 1, true};
        const struct loop_expr *u = loop_open_for(&b, &together, &c);
        struct scope s =
            scope_step(w, outer, &c, x->axis, loop_let(&c, "j", loop_binary(a, LOOP_ADD, k, u)));
        if (compares)
            add_position(w, &s, to, loop_load(a, read, u, 1, 1));
        else
            loop_store(&c, read, u, argument(w, &s, 0, w->type), false);
        loop_close(&b, &c);
    }
    loop_close(outer->builder, &b);
    return loop_binary(a, LOOP_ADD, x->begin, loop_int(a, turns * READS));
}

static void walk_steps(const struct walk *w, struct scope *outer, const struct axis_part *x,
                       struct loop_buffer *to) {
    struct loop_builder b;
    struct loop_for f = {"k", x->begin, x->end, 1, false};
    if (w->nest->team && w->nest->team->columns && w->n_axes == 1)
        f.begin = walk_together(w, outer, x, to);
    if (w->nest->team && !w->nest->team->columns && x->axis == w->n_axes - 1) {
        f.begin = w->nest->team->lane;
        f.step = w->nest->team->threads;
    }
    const struct loop_expr *k = loop_open_for(outer->builder, &f, &b);
    struct scope s = scope_step(w, outer, &b, x->axis, k);
    walk_axis(w, &s, x->axis + 1, to);
    loop_close(outer->builder, &b);
}

// In parts, each with an accumulator of its own, and the parts in parts again where they are many.
static void walk_stretch(const struct walk *w, struct scope *outer, const struct axis_part *x,
                         struct loop_buffer *to) {
    struct arena *a = w->nest->l->arena;
    int64_t within = terms_within(w, x->axis + 1);
    if (!w->is_sum || x->length == 1 || x->length * within <= SEQUENCE_MAX) {
        walk_steps(w, outer, x, to);
        return;
    }
    int64_t step = within >= PART_TERMS ? 1 : PART_TERMS / within;
    while (x->length / step > SEQUENCE_MAX)
        step *= PART_TERMS;
    struct loop_builder b;
    struct loop_for f = {"part", x->begin, x->end, step, false};
    const struct loop_expr *begin = loop_open_for(outer->builder, &f, &b);
    struct scope s = scope_inside(outer, &b);
    s.lanes = outer->lanes;
    s.lane_group = outer->lane_group;
    struct loop_buffer *part = accumulator(w, "part", &b);
    const struct loop_expr *end = loop_binary(a, LOOP_ADD, begin, loop_int(a, step));
    struct axis_part inner = {x->axis, begin, loop_binary(a, LOOP_MIN, x->end, end), step};
    if (step < x->length)
        walk_stretch(w, &s, &inner, part);
    else
        walk_steps(w, &s, &inner, part);
    struct loop_builder each;
    const struct loop_expr *item = open_items(w, &b, &each);
    loop_store(&each, to, item,
               loop_binary(a, w->op, get_item(w, to, item), get_item(w, part, item)), false);
    loop_close(&b, &each);
    loop_close(outer->builder, &b);
}

static void walk_axis(const struct walk *w, struct scope *s, int axis, struct loop_buffer *to) {
    if (axis == w->n_axes) {
        add_term(w, s, to);
        return;
    }
    struct axis_part x = {axis, zero(w), loop_int(w->nest->l->arena, w->size[axis].value),
                          w->size[axis].value};
    if (axis == 0 && w->end) {
        x.begin = w->begin;
        x.end = w->end;
    }
    walk_stretch(w, s, &x, to);
}

// ---- groups of rows

static const struct loop_expr *offset_at(const struct walk *w, struct scope *s,
                                         const struct index *group, int64_t shift) {
    struct arena *a = w->nest->l->arena;
    struct axis_map map = map_identity(0);
    map_set(&map, &w->nest->l->region->graph->nodes[w->node->arg[2]].shape, 0,
            index_shift(w->nest->l->region->arena, group, shift));
    return loop_cast(a, point_value(s, w->node->arg[2], &map), LOOP_I64);
}

// The group that the row is in, the last of several; -1: none.
static const struct loop_expr *find_group(struct walk *w, struct scope *outer,
                                          const struct axis_map *map) {
    struct arena *a = w->nest->l->arena;
    struct loop_buffer *found = loop_register_of(w->nest->l->program, "group", 1, 1, LOOP_I64);
    put(w, outer->builder, found, loop_whole(a, LOOP_I64, -1));
    const struct loop_expr *row =
        point_lower(outer, map_index(w->nest->l->region->arena, map, 0, w->node->shape.size[0]));
    row = loop_cast(a, row, LOOP_I64);
    struct loop_builder b;
    struct loop_for f = {"e", zero(w), loop_int(a, w->size[0].value), 1, false};
    const struct loop_expr *e = loop_open_for(outer->builder, &f, &b);
    struct scope s = scope_inside(outer, &b);
    s.index[w->nest->l->space.group[w->first]] = e;
    const struct index *group = index_axis(w->nest->l->region->arena, w->first, w->size[0].value);
    const struct loop_expr *inside =
        loop_binary(a, LOOP_AND, loop_binary(a, LOOP_LE, offset_at(w, &s, group, 0), row),
                    loop_binary(a, LOOP_LT, row, offset_at(w, &s, group, 1)));
    put(w, &b, found,
        loop_ternary(a, LOOP_SELECT, inside, loop_cast(a, e, LOOP_I64), get(w, found)));
    loop_close(outer->builder, &b);
    return loop_let(outer->builder, "group", get(w, found));
}

static const struct loop_expr *ragged_product(struct walk *w, struct scope *s,
                                              const struct axis_map *map) {
    struct arena *a = w->nest->l->arena;
    const struct loop_expr *group = find_group(w, s, map);
    struct scope inner = scope_inside(s, s->builder);
    inner.lanes = s->lanes;
    inner.lane_group = s->lane_group;
    inner.index[w->nest->l->space.group[w->first]] =
        loop_let(s->builder, "e", loop_to_index(a, group, 0, w->size[0].value - 1));
    struct loop_buffer *sum = accumulator(w, "sum", s->builder);
    walk_axis(w, &inner, 1, sum);
    const struct loop_expr *in_one = loop_binary(a, LOOP_LE, loop_whole(a, LOOP_I64, 0), group);
    return loop_let(s->builder, w->node->name,
                    loop_ternary(a, LOOP_SELECT, in_one, get(w, sum), loop_number(a, w->type, 0)));
}

static void limit_rows(struct walk *w, struct scope *s, const struct axis_map *map) {
    struct arena *a = w->nest->l->arena;
    const struct index *group =
        map_index(w->nest->l->region->arena, map, 0, w->node->shape.size[0]);
    w->begin = loop_let(s->builder, "begin",
                        loop_to_index(a, offset_at(w, s, group, 0), 0, w->size[0].value));
    w->end = loop_let(s->builder, "end",
                      loop_to_index(a, offset_at(w, s, group, 1), 0, w->size[0].value));
}

// ---- what kind of walk

static void choose(struct walk *w) {
    const struct graph *g = w->nest->l->region->graph;
    w->type = loop_arithmetic(w->node->dtype);
    w->op = LOOP_ADD;
    if (op_infos[w->node->op].joins == OP_COUNT) {  // argmax and argmin compare
        w->type = loop_arithmetic(g->nodes[w->node->arg[0]].dtype);
    } else {
        struct fold f = {0};
        fold_choose(&f, w->node->op);
        w->op = f.op;
        w->identity = f.identity;
    }
    w->is_sum = w->op == LOOP_ADD && (w->type == LOOP_F32 || w->type == LOOP_F64);
}

static struct walk begin_walk(struct nest *n, node_id id, const struct axis_map *map, int lanes) {
    struct walk w = {.nest = n, .node = &n->l->region->graph->nodes[id], .first = n->first[id]};
    terms_find_inside(n->l->region, id, map, w.first, lanes > 1 ? n->inside : -1, &w.terms);
    w.n_axes = terms_axes(n->l->region, id, w.size);
    w.items = 1;
    w.lanes = lanes;
    choose(&w);
    return w;
}

// The piece of the first axis that a thread of the team has; none is empty.
static const struct loop_expr *piece_bound(const struct walk *w, const struct loop_expr *piece) {
    struct arena *a = w->nest->l->arena;
    int64_t length = w->size[0].value, n = w->nest->team->threads;
    if (length % n == 0)
        return loop_binary(a, LOOP_MUL, piece, loop_int(a, length / n));
    return loop_binary(a, LOOP_DIV, loop_binary(a, LOOP_MUL, piece, loop_int(a, length)),
                       loop_int(a, n));
}

static void limit_piece(struct walk *w, struct scope *s) {
    struct arena *a = w->nest->l->arena;
    const struct loop_expr *lane = w->nest->team->lane;
    w->begin = loop_let(s->builder, "begin", piece_bound(w, lane));
    w->end =
        loop_let(s->builder, "end", piece_bound(w, loop_binary(a, LOOP_ADD, lane, loop_int(a, 1))));
}

// Where the best stands, as i64.
static const struct loop_expr *best_position(struct walk *w, struct scope *s) {
    struct arena *a = w->nest->l->arena;
    const struct nest_team *team = w->nest->team;
    bool largest = w->node->op == OP_ARGMAX;
    enum loop_dtype t = terms_within(w, 0) < INT32_MAX ? LOOP_I32 : LOOP_I64;
    struct nest_best row = {w->node->arg[0],  &w->terms.map[0], w->nest->l->space.group[w->first],
                            w->size[0].value, largest,          t};
    bool is_row = w->n_axes == 1 && !team && w->terms.n_guards == 0;
    const struct loop_expr *found = is_row ? nest_best_by_vectors(s, &row) : NULL;
    if (found)
        return t == LOOP_I64 ? found : loop_cast(a, found, LOOP_I64);
    w->is_sum = false;
    w->position = loop_register_of(w->nest->l->program, "position", 1, 1, t);
    put(w, s->builder, w->position, loop_whole(a, t, -1));
    if (team && team->columns)
        limit_piece(w, s);
    struct loop_buffer *best = accumulator(w, "best", s->builder);
    walk_axis(w, s, 0, best);
    const struct loop_expr *at = get(w, w->position);
    if (team && team->columns)
        at = nest_pieces_best(w->nest->l, s->builder, team, largest, get(w, best), at);
    if (team && !team->columns)
        at = nest_team_best(a, s->builder, largest, get(w, best), at);
    return t == LOOP_I64 ? at : loop_cast(a, at, LOOP_I64);
}

static const struct loop_expr *anchor_value(void *ctx, struct scope *s, node_id id,
                                            const struct axis_map *map) {
    struct nest *n = ctx;
    struct walk w = begin_walk(n, id, map, s->lanes);
    if (w.node->op == OP_RAGGED_MATMUL)
        return ragged_product(&w, s, map);
    if (w.node->op == OP_RAGGED_OUTER)
        limit_rows(&w, s, map);
    if (w.node->op == OP_ARGMAX || w.node->op == OP_ARGMIN)
        return loop_let(s->builder, w.node->name, best_position(&w, s));
    struct loop_buffer *sum = accumulator(&w, "sum", s->builder);
    walk_axis(&w, s, 0, sum);
    return loop_let(s->builder, w.node->name, get(&w, sum));
}

void nest_store_tile(struct nest *n, struct scope *s, const struct loop_expr *first, int items) {
    const struct region *r = n->l->region;
    struct walk w = begin_walk(n, r->anchor[0], &n->tile_at, 1);
    w.items = items;
    w.item_first = first;
    if (w.node->op == OP_RAGGED_OUTER)
        limit_rows(&w, s, &n->tile_at);
    struct loop_buffer *sum = accumulator(&w, "sum", s->builder);
    walk_axis(&w, s, 0, sum);
    struct loop_builder b;
    const struct loop_expr *item = open_items(&w, s->builder, &b);
    struct scope each = scope_item(&w, s, &b, item);
    point_define(&each, r->anchor[0], &n->tile_at,
                 loop_let(&b, w.node->name, get_item(&w, sum, item)));
    nest_store(n, &each);
    loop_close(s->builder, &b);
}
