// Lowerings over lines: scans in segments, scatters by ranges of results that each thread owns, so
// that no atomics are needed. Orders are in nest_order.c.
#include "family/nest_walk.h"

#include <assert.h>

#include "base/arena.h"
#include "family/nest_lines.h"
#include "family/nest_steps.h"
#include "family/nest_team.h"
#include "ir/detail.h"

enum { RUN_TERMS = 1024 };  // that a scan adds in sequence before it begins a new sum

void nest_kernel(struct lowering *l, const char *name, const struct nest_threads *t,
                 const struct loop_expr *count, nest_item_fn fn, void *ctx) {
    struct arena *a = l->arena;
    struct nest_team *team = t->team;
    int64_t items = t->per_block / (team ? team->threads : 1);
    const struct loop_expr *each = loop_int(a, items);
    struct loop_builder b, inner;
    struct loop_kernel *k = loop_kernel_new(l->program, name, loop_ceildiv(a, count, items), &b);
    const struct loop_expr *first = loop_binary(a, LOOP_MUL, loop_ref(a, k->block), each);
    if (t->is_gpu) {
        const struct loop_expr *own = loop_kernel_threads(l->program, k, (int)t->per_block);
        if (team) {
            const struct loop_expr *by = loop_int(a, team->columns ? team->columns : team->threads);
            const struct loop_expr *rest = loop_binary(a, LOOP_MOD, own, by);
            own = loop_binary(a, LOOP_DIV, own, by);
            team->lane = loop_let(&b, "lane", team->columns ? own : rest);
            team->warp = own = team->columns ? rest : own;
        }
        const struct loop_expr *i = loop_let(&b, "i", loop_binary(a, LOOP_ADD, first, own));
        // Threads with a barrier in a block come along, at the last item if there is none of its
        // own.
        bool meets = team && team->columns;
        if (team)
            team->item = i;
        const struct loop_expr *last = loop_binary(a, LOOP_SUB, count, loop_int(a, 1));
        const struct loop_expr *at =
            meets ? loop_let(&b, "at", loop_binary(a, LOOP_MIN, i, last)) : i;
        loop_open_if(&b, at, count, &inner);
        fn(ctx, &inner, at);
    } else {
        const struct loop_expr *end = loop_binary(a, LOOP_ADD, first, each);
        struct loop_for f = {"i", first, loop_binary(a, LOOP_MIN, count, end), 1, false};
        const struct loop_expr *i = loop_open_for(&b, &f, &inner);
        fn(ctx, &inner, i);
    }
    loop_close(&b, &inner);
}

int64_t nest_lines(const struct region *r, int64_t *length) {
    const struct node *n = &r->graph->nodes[nest_walker(r)];
    if (n->op == OP_RECUR) {
        *length = 1;  // steps are not split
        return nest_steps_rows(r);
    }
    int axis = n->op == OP_RAGGED_SCATTER ? n->shape.rank - 1 : n->detail->axis;
    *length = n->shape.size[axis];
    return shape_count(&n->shape) / *length;
}

// The scope of one item: the line's indices, but none along the axis.
struct scope lines_open_item(struct lines *x, struct loop_builder *b,
                             const struct loop_expr *item) {
    struct scope s = {.lowering = x->l, .builder = b, .lane_group = -1, .lanes = 1};
    x->line = item;
    x->part = number(x, 0);
    if (x->split > 1) {
        x->line = loop_let(b, "line", op2(x, LOOP_DIV, item, number(x, x->split)));
        x->part = loop_let(b, "piece", op2(x, LOOP_MOD, item, number(x, x->split)));
    }
    const struct loop_expr *rest = x->line;
    for (int i = x->node->shape.rank - 1; i >= 0; i--) {
        if (i == x->axis)
            continue;
        const struct loop_expr *size = number(x, x->node->shape.size[i]);
        s.index[x->l->space.group[i]] = loop_let(b, "i", op2(x, LOOP_MOD, rest, size));
        rest = op2(x, LOOP_DIV, rest, size);
    }
    return s;
}

static const struct loop_expr *piece_begin(const struct lines *x) {
    return op2(x, LOOP_MUL, x->part, number(x, x->piece));
}

static const struct loop_expr *piece_end(const struct lines *x, const struct loop_expr *begin) {
    return op2(x, LOOP_MIN, number(x, x->length), op2(x, LOOP_ADD, begin, number(x, x->piece)));
}

static const struct loop_expr *lines_count(const struct lines *x) {
    return number(x, shape_count(&x->node->shape) / x->length);
}

static const struct loop_expr *items_count(const struct lines *x) {
    return op2(x, LOOP_MUL, lines_count(x), number(x, x->split));
}

const struct loop_expr *lines_convert(const struct lines *x, const struct loop_expr *e,
                                      enum loop_dtype t) {
    return e->dtype == t ? e : loop_cast(x->l->arena, e, t);
}

// An argument, where the axis of the lines is at `own` axis number `k` of the scope.
const struct loop_expr *lines_argument(const struct lines *x, struct scope *s, int arg, int k,
                                       enum loop_dtype t) {
    struct arena *a = x->l->region->arena;
    struct axis_map map = x->map;
    map_set(&map, &x->l->region->graph->nodes[x->node->arg[arg]].shape, x->axis,
            index_axis(a, x->own + k, x->l->space.size[x->own + k].value));
    return lines_convert(x, point_value(s, x->node->arg[arg], &map), t);
}

void lines_fix(const struct lines *x, struct scope *s, int axis, const struct loop_expr *e) {
    s->index[x->l->space.group[axis]] = e;
}

// The result at the scope's point.
void lines_store(const struct lines *x, struct scope *s, const struct loop_expr *e) {
    point_define(s, x->id, &x->map, lines_convert(x, e, loop_arithmetic(x->node->dtype)));
    point_store(s, 0, &x->map, false);
}

// ---- scans

static enum loop_op scan_op(const struct lines *x) {
    return op_infos[x->node->op].joins == OP_ADD ? LOOP_ADD : LOOP_MUL;
}

static const struct loop_expr *neutral(const struct lines *x) {
    return loop_number(x->l->arena, x->type, op_infos[x->node->op].identity);
}

// Steps [begin, end) in runs; `before` holds what came before, and in the end all. With `stores`
// every step writes its result.
static void scan_steps(struct lines *x, struct scope *outer, const struct loop_expr *begin,
                       struct loop_buffer *before, bool stores) {
    enum loop_op op = scan_op(x);
    const struct loop_expr *end = piece_end(x, begin);
    struct loop_buffer *open = reg(x, "open", x->type);
    struct loop_builder b, c;
    struct loop_for runs = {"run", begin, end, RUN_TERMS, false};
    const struct loop_expr *run = loop_open_for(outer->builder, &runs, &b);
    put(x, &b, open, neutral(x));
    const struct loop_expr *run_end = op2(x, LOOP_ADD, run, number(x, RUN_TERMS));
    struct loop_for steps = {"p", run, op2(x, LOOP_MIN, end, run_end), 1, false};
    const struct loop_expr *p = loop_open_for(&b, &steps, &c);
    struct scope s = scope_inside(outer, &c);
    if (x->node->detail->reverse)
        p = op2(x, LOOP_SUB, number(x, x->length - 1), p);
    lines_fix(x, &s, x->axis, p);
    lines_fix(x, &s, x->own, p);
    const struct loop_expr *value = lines_argument(x, &s, 0, 0, x->type);
    if (stores && x->node->detail->exclusive)
        lines_store(x, &s, op2(x, op, get(x, before), get(x, open)));
    put(x, &c, open, op2(x, op, get(x, open), value));
    if (stores && !x->node->detail->exclusive)
        lines_store(x, &s, op2(x, op, get(x, before), get(x, open)));
    loop_close(&b, &c);
    put(x, &b, before, op2(x, op, get(x, before), get(x, open)));
    loop_close(outer->builder, &b);
}

static const struct loop_expr *piece_index(const struct lines *x, const struct loop_expr *part) {
    return op2(x, LOOP_ADD, op2(x, LOOP_MUL, x->line, number(x, x->split)), part);
}

static void sum_piece(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    struct lines *x = ctx;
    struct scope s = lines_open_item(x, b, item);
    struct loop_buffer *before = reg(x, "before", x->type);
    put(x, b, before, neutral(x));
    scan_steps(x, &s, piece_begin(x), before, false);
    loop_store(b, x->sums, piece_index(x, x->part), get(x, before), false);
}

static void carry_line(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    struct lines *x = ctx;
    struct loop_buffer *before = reg(x, "before", x->type);
    x->line = item;
    put(x, b, before, neutral(x));
    struct loop_builder c;
    struct loop_for pieces = {"piece", number(x, 0), number(x, x->split), 1, false};
    const struct loop_expr *part = loop_open_for(b, &pieces, &c);
    loop_store(&c, x->carries, piece_index(x, part), get(x, before), false);
    const struct loop_expr *sum = loop_load(x->l->arena, x->sums, piece_index(x, part), 1, 1);
    put(x, &c, before, op2(x, scan_op(x), get(x, before), sum));
    loop_close(b, &c);
}

static void scan_piece(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    struct lines *x = ctx;
    struct scope s = lines_open_item(x, b, item);
    struct loop_buffer *before = reg(x, "before", x->type);
    put(x, b, before,
        x->carries ? loop_load(x->l->arena, x->carries, piece_index(x, x->part), 1, 1)
                   : neutral(x));
    scan_steps(x, &s, piece_begin(x), before, true);
}

static struct loop_buffer *scratch(const struct lines *x, const char *what, int64_t count) {
    struct loop_size size = {count, NULL};
    return loop_global_of(x->l->program, arena_printf(x->l->arena, "%s_%s", x->node->name, what),
                          LOOP_SCRATCH, x->storage, &size, 1);
}

static void lower_scan(struct lines *x) {
    struct arena *a = x->l->arena;
    if (x->split > 1) {
        int64_t count = shape_count(&x->node->shape) / x->length * x->split;
        x->sums = scratch(x, "sums", count);
        x->carries = scratch(x, "carries", count);
        nest_kernel(x->l, arena_printf(a, "%s_sums", x->name), x->threads, items_count(x),
                    sum_piece, x);
        nest_kernel(x->l, arena_printf(a, "%s_carries", x->name), x->threads, lines_count(x),
                    carry_line, x);
    }
    nest_kernel(x->l, arena_printf(a, "%s_scan", x->name), x->threads, items_count(x), scan_piece,
                x);
}

// ---- scatters

// Where sums are kept: the result, or scratch where the result's type would round every one.
static const struct loop_buffer *sums_of(const struct lines *x) {
    return x->sums ? x->sums : x->l->target[0];
}

static void store_sum(struct lines *x, struct scope *s, const struct loop_expr *e) {
    loop_store(s->builder, sums_of(x), point_index(s, &x->node->shape, &x->map),
               lines_convert(x, e, x->type), false);
}

// The range of results that the item owns begins with the base, or with zeros.
static const struct loop_expr *fill_range(struct lines *x, struct scope *line,
                                          const struct loop_expr **end) {
    struct loop_builder b;
    const struct loop_expr *begin = loop_let(line->builder, "begin", piece_begin(x));
    *end = loop_let(line->builder, "end", piece_end(x, begin));
    struct loop_for f = {"j", begin, *end, 1, false};
    const struct loop_expr *j = loop_open_for(line->builder, &f, &b);
    struct scope s = scope_inside(line, &b);
    lines_fix(x, &s, x->axis, j);
    bool has_base = x->node->op == OP_SCATTER_ADD;
    store_sum(x, &s,
              has_base ? point_value(&s, x->node->arg[0], &x->map)
                       : loop_number(x->l->arena, x->type, 0));
    loop_close(line->builder, &b);
    return begin;
}

// result[.., row, ..] += e, if the row is of the item's own.
static void add_at(struct lines *x, struct scope *s, const struct loop_expr *row,
                   const struct loop_expr *begin, const struct loop_expr *end,
                   const struct loop_expr *e) {
    struct loop_builder b, c;
    loop_open_if(s->builder, row, end, &b);
    loop_open_if(&b, op2(x, LOOP_SUB, begin, number(x, 1)), row, &c);
    struct scope t = scope_inside(s, &c);
    lines_fix(x, &t, x->axis, row);
    const struct loop_expr *at = loop_let(&c, "at", point_index(&t, &x->node->shape, &x->map));
    const struct loop_expr *old = loop_load(x->l->arena, sums_of(x), at, 1, 1);
    loop_store(&c, sums_of(x), at, op2(x, LOOP_ADD, old, e), false);
    loop_close(&b, &c);
    loop_close(s->builder, &b);
}

// A value of one axis, whose index is own axis `k` of the scope, moved by `shift`.
static const struct loop_expr *entry(const struct lines *x, struct scope *s, int arg, int k,
                                     int64_t shift) {
    struct arena *a = x->l->region->arena;
    struct axis_map map = map_identity(0);
    const struct index *at = index_axis(a, x->own + k, x->l->space.size[x->own + k].value);
    map_set(&map, &x->l->region->graph->nodes[x->node->arg[arg]].shape, 0,
            index_shift(a, at, shift));
    return point_value(s, x->node->arg[arg], &map);
}

static const struct loop_expr *place(const struct lines *x, struct scope *s, const char *name,
                                     const struct loop_expr *e, int64_t high) {
    e = loop_to_index(x->l->arena, lines_convert(x, e, LOOP_I64), 0, high);
    return loop_let(s->builder, name, e);
}

// One element of what is scattered: the own axis is its place along the axis.
static void scatter_element(struct lines *x, struct scope *s, const struct loop_expr *begin,
                            const struct loop_expr *end) {
    const struct loop_expr *row =
        place(x, s, "row", lines_argument(x, s, 1, 0, LOOP_I64), x->length - 1);
    add_at(x, s, row, begin, end, lines_argument(x, s, 2, 0, x->type));
}

// One list of one query: own axes are the query's entry, the list and the posting.
static void scatter_list(struct lines *x, struct scope *line, const struct loop_expr *begin,
                         const struct loop_expr *end) {
    const struct graph *g = x->l->region->graph;
    int64_t n_lists = g->nodes[x->node->arg[2]].shape.size[0] - 1;
    int64_t n_postings = g->nodes[x->node->arg[0]].shape.size[0];
    const struct loop_expr *list =
        place(x, line, "list", lines_argument(x, line, 3, 0, LOOP_I64), n_lists - 1);
    lines_fix(x, line, x->own + 1, list);
    const struct loop_expr *first = place(x, line, "first", entry(x, line, 2, 1, 0), n_postings);
    const struct loop_expr *last = place(x, line, "last", entry(x, line, 2, 1, 1), n_postings);
    struct loop_builder b;
    struct loop_for f = {"p", first, last, 1, false};
    const struct loop_expr *p = loop_open_for(line->builder, &f, &b);
    struct scope s = scope_inside(line, &b);
    lines_fix(x, &s, x->own + 2, p);
    const struct loop_expr *row = place(x, &s, "row", entry(x, &s, 0, 2, 0), x->length - 1);
    const struct loop_expr *weight = lines_convert(x, entry(x, &s, 1, 2, 0), x->type);
    const struct loop_expr *factor = lines_argument(x, &s, 4, 0, x->type);
    add_at(x, &s, row, begin, end, op2(x, LOOP_MUL, factor, weight));
    loop_close(line->builder, &b);
}

// The results of one item: all that is scattered goes by, and what falls into its range is added.
static void scatter_range(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    struct lines *x = ctx;
    struct scope line = lines_open_item(x, b, item);
    const struct loop_expr *end, *begin = fill_range(x, &line, &end);
    struct loop_builder c;
    struct loop_for f = {"q", number(x, 0), number(x, x->l->space.size[x->own].value), 1, false};
    const struct loop_expr *q = loop_open_for(b, &f, &c);
    struct scope s = scope_inside(&line, &c);
    lines_fix(x, &s, x->own, q);
    if (x->node->op == OP_SCATTER_ADD)
        scatter_element(x, &s, begin, end);
    else
        scatter_list(x, &s, begin, end);
    loop_close(b, &c);
}

// Sums that were kept in scratch become results.
static void round_sum(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    struct lines *x = ctx;
    struct scope s = {.lowering = x->l, .builder = b, .lane_group = -1, .lanes = 1};
    scope_split(&s, item, 0, x->l->space.group[x->own - 1] + 1);
    const struct loop_expr *at = point_index(&s, &x->node->shape, &x->map);
    lines_store(x, &s, loop_load(x->l->arena, x->sums, at, 1, 1));
}

static void lower_scatter(struct lines *x) {
    struct arena *a = x->l->arena;
    int64_t count = shape_count(&x->node->shape);
    if (x->storage != x->node->dtype)
        x->sums = scratch(x, "sums", count);
    nest_kernel(x->l, arena_printf(a, "%s_scatter", x->name), x->threads, items_count(x),
                scatter_range, x);
    if (x->sums)
        nest_kernel(x->l, arena_printf(a, "%s_round", x->name), x->threads, number(x, count),
                    round_sum, x);
}

// ---- all

static enum dtype storage_of(enum loop_dtype t) {
    switch (t) {
    case LOOP_F64:
        return DTYPE_F64;
    case LOOP_I32:
        return DTYPE_I32;
    case LOOP_I64:
        return DTYPE_I64;
    default:
        return DTYPE_F32;
    }
}

// Every axis by itself: those of the result, and those that are walked.
static void build_space(struct lines *x) {
    const struct graph *g = x->l->region->graph;
    struct space *s = &x->l->space;
    *s = (struct space){0};
    for (int i = 0; i < x->node->shape.rank; i++)
        space_add(s, point_size(x->l, &x->node->shape, i));
    x->own = s->n_axes;
    if (x->node->op == OP_RAGGED_SCATTER) {
        const struct shape *lists = &g->nodes[x->node->arg[3]].shape;
        space_add(s, (struct loop_size){lists->size[lists->rank - 1], NULL});
        space_add(s, (struct loop_size){g->nodes[x->node->arg[2]].shape.size[0] - 1, NULL});
        space_add(s, (struct loop_size){g->nodes[x->node->arg[0]].shape.size[0], NULL});
    } else {
        int arg = x->node->op == OP_SCATTER_ADD ? 2 : 0;
        space_add(s, (struct loop_size){g->nodes[x->node->arg[arg]].shape.size[x->axis], NULL});
    }
    space_finish(x->l->arena, s);
}

void nest_lower_walker(struct nest *n, const char *name, const struct nest_threads *t, int split) {
    const struct region *r = n->l->region;
    struct lines x = {.nest = n, .l = n->l, .id = nest_walker(r), .name = name, .threads = t};
    x.node = &r->graph->nodes[x.id];
    if (x.node->op == OP_RECUR) {
        nest_lower_steps(n->l, name, t);
        return;
    }
    bool ragged = x.node->op == OP_RAGGED_SCATTER;
    x.axis = ragged ? x.node->shape.rank - 1 : x.node->detail->axis;
    x.length = x.node->shape.size[x.axis];
    x.split = x.node->op == OP_TOPK ? 1 : split;
    x.piece = (x.length + x.split - 1) / x.split;
    x.map = map_identity(x.node->shape.rank);
    enum dtype of = x.node->op == OP_TOPK ? r->graph->nodes[x.node->arg[0]].dtype : x.node->dtype;
    x.type = loop_arithmetic(of);
    x.storage = storage_of(x.type);
    build_space(&x);
    if (x.node->op == OP_TOPK)
        nest_kernel(x.l, arena_printf(x.l->arena, "%s_order", name), t, lines_count(&x),
                    lines_order, &x);
    else if (op_infos[x.node->op].class == OP_CLASS_SCAN)
        lower_scan(&x);
    else
        lower_scatter(&x);
}
