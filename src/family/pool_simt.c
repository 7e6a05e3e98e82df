// Pooling on a GPU: windows that overlap are read once by a thread, and nothing is divided by.
//
// Threads of a block lie along the last axis, so neighbours read neighbours. A thread has `items`
// results: one below the other along the axis before it, where windows have two axes or more. It
// goes through the rows that these windows cover; each row's part of a window, along the last axis,
// is folded once and joined to every result whose window has that row. Windows of one axis have
// no such rows: their items lie a block's threads apart, so that their loads are under way
// together, and what the windows of a block cover can go through shared memory (`stage shared`):
// each element is then loaded once, rather than by every window through the first cache. All of it
// is written out without loops, and conditions (padding) are there only where they can fail.
#include <math.h>

#include "base/arena.h"
#include "family/fold.h"
#include "family/gpu.h"
#include "family/knobs.h"
#include "family/nest.h"
#include "family/pool_windows.h"
#include "ir/detail.h"

static const int threads_grid[] = {32, 64, 128, 256, 512, 1024, -1};
static const int lines_grid[] = {1, 2, 4, 8, -1};
static const int items_grid[] = {1, 2, 4, 8, 16, -1};
static const char *const stage_words[] = {"none", "shared", NULL};

static const struct knob knobs[] = {
    KNOB_THREADS_ALONG(threads_grid),
    KNOB_LINES(lines_grid),
    {.name = "items", .summary = "results of a thread", .n_parts = 1, .grid = {items_grid}},
    {.name = "stage",
     .summary = "where windows of one axis are read from: memory, or a tile",
     .words = stage_words},
    {0},
};

enum { LOADS_MAX = 256, ITEMS_MAX = 16 };  // of a thread: all are written out
enum { TILE_BYTES = 48 << 10 };

struct choice {
    int threads, lines, items;
    bool is_staged;
};

static struct choice read_choice(const struct kernel_stage *s) {
    return (struct choice){stage_number(s, "threads", 0), stage_number(s, "lines", 0),
                           stage_number(s, "items", 0), stage_word_is(s, "stage", "shared")};
}

static const struct node *anchor_of(const struct form *f) {
    return &f->region->graph->nodes[f->anchor];
}

static bool has_rows(const struct node *n) {
    return n->detail->window.n_axes > 1;
}

// Elements that the windows of a block cover, where they have one axis and neighbours' begin at
// neighbours. Of rows of one result the space knows no place but 0.
static int64_t tile_of(const struct node *n, const struct choice *c) {
    const struct window *w = &n->detail->window;
    return (int64_t)c->threads * c->items + (w->size[0] - 1) * w->dilation[0];
}

static bool may_stage(const struct node *n, const struct choice *c) {
    return !has_rows(n) && n->detail->window.stride[0] == 1 && c->lines == 1 &&
           n->shape.size[n->shape.rank - 1] > 1 && loop_arithmetic(n->dtype) == LOOP_F32 &&
           tile_of(n, c) * 4 <= TILE_BYTES && tile_of(n, c) <= (int64_t)2 * c->threads * c->items;
}

// Loads of a thread.
static int64_t n_loads(const struct node *n, int items) {
    const struct window *w = &n->detail->window;
    if (!has_rows(n))
        return items * w->size[0];
    return pool_outer_taps(w) * pool_used_rows(w, items) * w->size[w->n_axes - 1];
}

// Groups of items along the axis that they lie on; threads' worth of the last axis.
static int64_t groups_of(const struct node *n, const struct choice *c) {
    int64_t size = has_rows(n) ? n->shape.size[n->shape.rank - 2] : 1;
    return has_rows(n) ? (size + c->items - 1) / c->items : 1;
}

static int64_t spans_of(const struct node *n, const struct choice *c) {
    int64_t each = (int64_t)c->threads * (has_rows(n) ? 1 : c->items);
    return (n->shape.size[n->shape.rank - 1] + each - 1) / each;
}

// Lines: groups of items of every plane.
static int64_t lines_of(const struct node *n, const struct choice *c) {
    int64_t planes = shape_count(&n->shape) / n->shape.size[n->shape.rank - 1];
    return has_rows(n) ? planes / n->shape.size[n->shape.rank - 2] * groups_of(n, c) : planes;
}

static int64_t blocks_of(const struct node *n, const struct choice *c) {
    return (lines_of(n, c) + c->lines - 1) / c->lines * spans_of(n, c);
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    (void)t;
    const struct node *n = anchor_of(f);
    struct choice c = read_choice(s);
    if (c.threads * c.lines > GPU_BLOCK_MAX)
        return objection(why, "lines",
                         "%d lines of %d threads are %d threads a block, above %d: the nearest is "
                         "lines %d",
                         c.lines, c.threads, c.threads * c.lines, GPU_BLOCK_MAX,
                         GPU_BLOCK_MAX / c.threads);
    if (c.items > 1 && n_loads(n, c.items) > LOADS_MAX)
        return objection(why, "items", "%lld loads of a thread, above %d: the nearest is items %d",
                         (long long)n_loads(n, c.items), LOADS_MAX, c.items / 2);
    if (c.is_staged && !may_stage(n, &c))
        return objection(why, "stage",
                         "a tile is for windows of one axis and stride 1, rows of more than one "
                         "result, lines 1, at most as long as a block's results and %d bytes: the "
                         "nearest is stage none",
                         TILE_BYTES);
    return gpu_legal_grid("threads", blocks_of(n, &c), why);
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    const struct node *n = anchor_of(f);
    struct choice c = {.threads = 64, .lines = 1, .items = 16, .is_staged = true};
    // A tile of one axis: few threads with many results each (avg_pool1d of 64 x 128 x 65536 on an
    // H200: 96% of reach, 90% with 256 threads of 8).
    c.is_staged = !has_rows(n) && n->detail->window.size[0] > 2 && may_stage(n, &c);
    if (!c.is_staged)
        c = (struct choice){.threads = 256, .lines = 1, .items = 8};
    if (has_rows(n))
        c.threads = gpu_threads_along(n->shape.size[n->shape.rank - 1], 64, 512);
    // Text grows with loads; two results may share much of a large window.
    while (c.items > 1 && (n_loads(n, c.items) > (c.items > 2 ? LOADS_MAX / 2 : LOADS_MAX) ||
                           blocks_of(n, &c) * c.threads < 1024LL * t->sms))
        c.items /= 2;
    c.is_staged &= may_stage(n, &c);
    c.lines = c.threads < 256 && !c.is_staged ? 256 / c.threads : 1;
    stage_set(s, "threads", 0, c.threads);
    stage_set(s, "lines", 0, c.lines);
    stage_set(s, "items", 0, c.items);
    stage_set_word(s, "stage", c.is_staged ? "shared" : "none");
}

struct build {
    struct nest nest;
    struct lowering *l;
    const struct region *r;
    const struct node *node;
    node_id anchor;
    struct choice c;
    struct axis_map at;  // the anchor's place is the values'
    struct terms terms;  // of a result
    struct terms tiled;  // of any place of a tile, which goes beyond the results
    int first;           // of its own axes in the space
    enum loop_dtype type;
    enum loop_op op;
    double identity;
    struct loop_buffer *sum;
};

static const struct loop_expr *number(const struct build *x, int64_t v) {
    return loop_int(x->l->arena, v);
}

static const struct loop_expr *op2(const struct build *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

static int group_of(const struct build *x, int axis) {
    return x->l->space.group[axis];
}

// The term at the scope's point, or what changes nothing where there is none.
static const struct loop_expr *term(const struct build *x, struct scope *s, const struct terms *t) {
    struct arena *a = x->l->arena;
    const struct loop_expr *e = point_value(s, x->node->arg[0], &t->map[0]);
    const struct loop_expr *exists = point_guard(s, t->guard, t->n_guards);
    e = e->dtype == x->type ? e : loop_cast(a, e, x->type);
    return exists ? loop_ternary(a, LOOP_SELECT, exists, e, loop_number(a, x->type, x->identity))
                  : e;
}

// All taps along the last axis, folded.
static const struct loop_expr *fold_row(const struct build *x, struct scope *s) {
    int last = x->node->detail->window.n_axes - 1;
    const struct loop_expr *all = NULL;
    for (int64_t k = 0; k < x->node->detail->window.size[last]; k++) {
        struct scope tap = scope_inside(s, s->builder);
        tap.index[group_of(x, x->first + last)] = number(x, k);
        const struct loop_expr *e = term(x, &tap, &x->terms);
        all = all ? op2(x, x->op, all, e) : e;
    }
    return loop_let(s->builder, "row", all);
}

static void join(const struct build *x, struct loop_builder *b, int item,
                 const struct loop_expr *e) {
    const struct loop_expr *at = number(x, item);
    loop_store(b, x->sum, at, op2(x, x->op, loop_load(x->l->arena, x->sum, at, 1, 1), e), false);
}

// Every row of one plane of taps, for all results that need it.
static void fold_plane(const struct build *x, struct scope *plane, const struct loop_expr *line) {
    const struct window *w = &x->node->detail->window;
    int rank = x->node->shape.rank, axis = w->n_axes - 2;
    for (int row = 0; row < pool_covered_rows(w, x->c.items); row++) {
        const struct loop_expr *e = NULL;
        for (int item = 0; item < x->c.items; item++) {
            int tap = pool_tap(w, item, row);
            if (tap < 0)
                continue;
            if (!e) {
                struct scope s = scope_inside(plane, plane->builder);
                // Of items beyond the last result none has a row that another needs.
                s.index[group_of(x, rank - 2)] =
                    op2(x, LOOP_MIN, op2(x, LOOP_ADD, line, number(x, item)),
                        number(x, x->node->shape.size[rank - 2] - 1));
                s.index[group_of(x, x->first + axis)] = number(x, tap);
                e = fold_row(x, &s);
            }
            join(x, plane->builder, item, e);
        }
    }
}

static void fold_planes(const struct build *x, struct scope *s, const struct loop_expr *line) {
    const struct window *w = &x->node->detail->window;
    for (int64_t p = 0; p < pool_outer_taps(w); p++) {
        struct scope plane = scope_inside(s, s->builder);
        int64_t rest = p;
        for (int i = w->n_axes - 3; i >= 0; i--) {
            plane.index[group_of(x, x->first + i)] = number(x, rest % w->size[i]);
            rest /= w->size[i];
        }
        fold_plane(x, &plane, line);
    }
}

static void store_item(const struct build *x, struct scope *s, int item) {
    struct axis_map map = map_identity(x->node->shape.rank);
    point_define(
        s, x->anchor, &x->at,
        loop_let(s->builder, x->node->name, loop_load(x->l->arena, x->sum, number(x, item), 1, 1)));
    for (int i = 0; i < x->r->n_values; i++)
        point_store(s, i, &map, false);
}

static void clear(const struct build *x, struct loop_builder *b) {
    for (int item = 0; item < x->c.items; item++)
        loop_store(b, x->sum, number(x, item), loop_number(x->l->arena, x->type, x->identity),
                   false);
}

// Threads beyond the last column compute what the last one does, and do not store it.
static const struct loop_expr *inside_row(const struct build *x, struct loop_builder *b,
                                          const struct loop_expr *column) {
    int64_t last = x->node->shape.size[x->node->shape.rank - 1] - 1;
    return loop_let(b, "at", op2(x, LOOP_MIN, column, number(x, last)));
}

// Results below each other, from `line` on.
static void lower_rows(const struct build *x, struct scope *s, const struct loop_expr *line,
                       const struct loop_expr *column) {
    int rank = x->node->shape.rank;
    struct loop_builder is_column, inside;
    s->index[group_of(x, rank - 1)] = inside_row(x, s->builder, column);
    fold_planes(x, s, line);
    loop_open_if(s->builder, column, number(x, x->node->shape.size[rank - 1]), &is_column);
    for (int item = 0; item < x->c.items; item++) {
        const struct loop_expr *at = op2(x, LOOP_ADD, line, number(x, item));
        loop_open_if(&is_column, at, number(x, x->node->shape.size[rank - 2]), &inside);
        struct scope one = scope_inside(s, &inside);
        one.index[group_of(x, rank - 2)] = at;
        store_item(x, &one, item);
        loop_close(&is_column, &inside);
    }
    loop_close(s->builder, &is_column);
}

// What the windows of the block's results cover, from `column` on, to shared memory; what is
// beyond the row is what changes nothing. All loads of a thread come first.
static struct loop_buffer *fill_tile(const struct build *x, struct scope *s,
                                     const struct loop_expr *thread,
                                     const struct loop_expr *column) {
    struct loop_size size = {tile_of(x->node, &x->c), NULL};
    int64_t turns = (size.value + x->c.threads - 1) / x->c.threads;
    struct loop_buffer *tile = loop_shared_of(x->l->program, "tile", DTYPE_F32, &size, 1);
    struct loop_buffer *own = loop_register(x->l->program, "read", turns, 1);
    // The last turn, of few threads, loads and stores under one condition.
    for (int64_t turn = 0; turn < 2 * turns - 1; turn++) {
        bool loads = turn < turns, stores = turn >= turns - 1;
        const struct loop_expr *t = number(x, loads ? turn : turn - turns);
        const struct loop_expr *ahead = op2(x, LOOP_MUL, t, number(x, x->c.threads));
        const struct loop_expr *at = op2(x, LOOP_ADD, thread, ahead);
        struct loop_builder inside;
        loop_open_if(s->builder, at, number(x, size.value), &inside);
        struct scope one = scope_inside(s, &inside);
        one.index[group_of(x, x->node->shape.rank - 1)] = op2(x, LOOP_ADD, column, ahead);
        one.index[group_of(x, x->first)] = number(x, 0);
        if (loads)
            loop_store(&inside, own, t, term(x, &one, &x->tiled), false);
        if (stores)
            loop_store(&inside, tile, at, loop_load(x->l->arena, own, t, 1, 1), false);
        loop_close(s->builder, &inside);
    }
    loop_barrier(s->builder);
    return tile;
}

// All taps of the window that begins at `at` of the tile, folded.
static const struct loop_expr *fold_tile(const struct build *x, struct loop_builder *b,
                                         const struct loop_buffer *tile,
                                         const struct loop_expr *at) {
    const struct window *w = &x->node->detail->window;
    const struct loop_expr *all = NULL;
    for (int64_t k = 0; k < w->size[0]; k++) {
        const struct loop_expr *tap = op2(x, LOOP_ADD, at, number(x, k * w->dilation[0]));
        const struct loop_expr *e = loop_load(x->l->arena, tile, tap, 1, 1);
        all = all ? op2(x, x->op, all, e) : e;
    }
    return loop_let(b, "row", all);
}

// Results a block's threads apart, from `column` on.
static void lower_columns(const struct build *x, struct scope *s, const struct loop_expr *thread,
                          const struct loop_expr *column) {
    int rank = x->node->shape.rank;
    struct loop_buffer *tile = x->c.is_staged ? fill_tile(x, s, thread, column) : NULL;
    const struct loop_expr *size = number(x, x->node->shape.size[rank - 1]);
    struct scope at[ITEMS_MAX];
    struct loop_builder inside;
    for (int item = 0; item < x->c.items; item++) {
        const struct loop_expr *ahead = number(x, (int64_t)item * x->c.threads);
        const struct loop_expr *c = op2(x, LOOP_ADD, column, ahead);
        at[item] = scope_inside(s, s->builder);
        if (!tile)
            at[item].index[group_of(x, rank - 1)] = inside_row(x, s->builder, c);
        join(x, s->builder, item,
             tile ? fold_tile(x, s->builder, tile, op2(x, LOOP_ADD, thread, ahead))
                  : fold_row(x, &at[item]));
    }
    for (int item = 0; item < x->c.items; item++) {
        loop_open_if(s->builder, op2(x, LOOP_ADD, column, number(x, (int64_t)item * x->c.threads)),
                     size, &inside);
        struct scope one = scope_inside(&at[item], &inside);
        if (tile)
            one.index[group_of(x, rank - 1)] =
                op2(x, LOOP_ADD, column, number(x, (int64_t)item * x->c.threads));
        store_item(x, &one, item);
        loop_close(s->builder, &inside);
    }
}

// Fix all axes of the values but the last two, or the last.
static void split_line(const struct build *x, struct scope *s, const struct loop_expr *line,
                       int n_axes) {
    for (int i = n_axes - 1; i >= 0; i--) {
        const struct loop_expr *size = number(x, x->node->shape.size[i]);
        s->index[group_of(x, i)] =
            loop_let(s->builder, "i", i ? op2(x, LOOP_MOD, line, size) : line);
        line = op2(x, LOOP_DIV, line, size);
    }
}

static void build_space(struct build *x) {
    nest_build_space(&x->nest, x->l, false);
    struct space *s = &x->l->space;
    for (int i = 0; i < s->n_axes; i++)
        space_separate(s, i);
    space_finish(x->l->arena, s);
    x->first = x->nest.first[x->anchor];
    terms_find(x->r, x->anchor, &x->at, x->first, &x->terms);
    if (!x->c.is_staged)
        return;
    // From the first result of a block to the end of its tile; guards hold for all of it.
    int last = x->node->shape.rank - 1;
    int64_t each = (int64_t)x->c.threads * x->c.items, spans = spans_of(x->node, &x->c);
    struct axis_map wide = x->at;
    map_set(&wide, &x->node->shape, last,
            index_axis(x->l->arena, last, (spans - 1) * each + tile_of(x->node, &x->c)));
    terms_find(x->r, x->anchor, &wide, x->first, &x->tiled);
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct build x = {.l = l, .r = l->region, .anchor = f->anchor, .c = read_choice(stage)};
    x.node = anchor_of(f);
    x.at = map_identity(x.node->shape.rank);
    x.type = loop_arithmetic(x.node->dtype);
    struct fold like = {0};
    fold_choose(&like, x.node->op);
    x.op = like.op;
    x.identity = like.identity;
    build_space(&x);
    x.sum = loop_register_of(l->program, arena_printf(l->arena, "%s_fold", x.node->name), x.c.items,
                             1, x.type);
    int rank = x.node->shape.rank;
    int64_t spans = spans_of(x.node, &x.c), groups = groups_of(x.node, &x.c);
    struct loop_builder b, is_line;
    struct gpu_kernel k =
        gpu_open_kernel(l, arena_printf(l->arena, "%s_pool", stage->values[0]),
                        number(&x, blocks_of(x.node, &x.c)), x.c.threads * x.c.lines, &b);
    const struct loop_expr *threads = number(&x, x.c.threads);
    const struct loop_expr *line =
        op2(&x, LOOP_MUL, op2(&x, LOOP_DIV, k.block, number(&x, spans)), number(&x, x.c.lines));
    line = loop_let(&b, "line", op2(&x, LOOP_ADD, line, op2(&x, LOOP_DIV, k.thread, threads)));
    int64_t each = (int64_t)x.c.threads * (has_rows(x.node) ? 1 : x.c.items);
    const struct loop_expr *column =
        op2(&x, LOOP_MUL, op2(&x, LOOP_MOD, k.block, number(&x, spans)), number(&x, each));
    column =
        loop_let(&b, "column", op2(&x, LOOP_ADD, column, op2(&x, LOOP_MOD, k.thread, threads)));
    loop_open_if(&b, line, number(&x, lines_of(x.node, &x.c)), &is_line);
    clear(&x, &is_line);
    struct scope s = {.lowering = l, .lane_group = -1, .lanes = 1, .builder = &is_line};
    if (!has_rows(x.node)) {
        split_line(&x, &s, line, rank - 1);
        lower_columns(&x, &s, k.thread, column);
    } else {
        const struct loop_expr *group = op2(&x, LOOP_MOD, line, number(&x, groups));
        split_line(&x, &s, op2(&x, LOOP_DIV, line, number(&x, groups)), rank - 2);
        group = op2(&x, LOOP_MUL, group, number(&x, x.c.items));
        lower_rows(&x, &s, loop_let(&is_line, "first", group), column);
    }
    loop_close(&b, &is_line);
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct node *n = anchor_of(f);
    struct choice c = read_choice(s);
    struct region_work w;
    region_count(f->region, &w);
    struct gpu_traffic traffic = {.bytes = w.bytes_read + w.bytes_written,
                                  .blocks = (double)blocks_of(n, &c),
                                  .threads = c.threads * c.lines,
                                  .in_flight = 4.0 * fmin(16, (double)n_loads(n, c.items))};
    // Loads through the first cache: 32 lanes a clock of each multiprocessor, and what goes with
    // each.
    double loads = (double)n_loads(n, c.items) / c.items * (double)shape_count(&n->shape);
    double rate = 32.0 * t->sms * t->top_clock_hz /
                  (double)n->detail->window.stride[n->detail->window.n_axes - 1];
    // Of a tile they are aligned.
    double memory = gpu_estimate_traffic(t, &traffic);
    double cache = (c.is_staged ? 1 : 1.5) * loads / rate;
    return memory > cache ? memory + 0.2 * cache : cache + 0.2 * memory;
}

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    return n_loads(anchor_of(f), 1) <= LOADS_MAX ||
           objection(why, NULL, "windows of %lld elements are too large to write out",
                     (long long)n_loads(anchor_of(f), 1));
}

const struct emitter pool_simt = {
    .name = "simt",
    .summary = "a pooling, several results of overlapping windows a thread",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
