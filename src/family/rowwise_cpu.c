// rowwise: rows are independent and each is reduced along its axes, the last one among them,
// perhaps several times, the results broadcast back: softmax, norms. A row is one stretch of
// memory, or several of them (batch norm), which are walked one after the other.
//
// A row is walked once per level of its reductions and once more to store (rows.h). What an
// earlier walk computed is computed again, or kept in a local array (`keep local`). The
// store is a burst of traffic with little to compute and the last reduction often the
// opposite, so `overlap rows` stores each row while the next one is reduced.
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "family/emitter.h"
#include "family/fold.h"
#include "family/knobs.h"
#include "family/rows.h"
#include "family/sweep.h"

static const int unroll_grid[] = {1, 2, 4, 8, -1};
static const int rows_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, -1};
static const int ahead_grid[] = {0, 1, 2, 4, -1};
static const char *const overlap_words[] = {"none", "rows", NULL};

static const struct knob knobs[] = {
    KNOB_CPU_VEC,
    {.name = "rows", .summary = "rows per block", .n_parts = 1, .grid = {rows_grid}},
    {.name = "unroll",
     .summary = "vectors per turn, each with an accumulator",
     .n_parts = 1,
     .grid = {unroll_grid}},
    {.name = "keep",
     .summary = "compute again in later walks, or keep in a local row",
     .words = knob_keep_local_words},
    {.name = "ahead",
     .summary = "prefetch this many rows ahead",
     .n_parts = 1,
     .grid = {ahead_grid}},
    {.name = "overlap",
     .summary = "store a row while the next one is reduced",
     .words = overlap_words},
    KNOB_DIVIDE,
    KNOB_CPU_STORE,
    {0},
};

// Blocks as large as they can be with sixteen left for each thread: fetching ahead and overlapping
// stop at the end of a block, so few rows leave four (batch norm, 64 channels of 512 KiB on two
// cores of an EPYC: 2.66 ms by 2 of them, 2.18 by 4, 2.05 by 8, 2.31 by 16).
static int default_rows(int64_t n_rows, const struct target *t) {
    int best = rows_grid[0];
    for (const int *rows = rows_grid; *rows > 0 && *rows <= 64; rows++)
        if (n_rows / *rows >= (*rows <= 8 ? 4 : 16) * (int64_t)t->n_threads)
            best = *rows;
    return best;
}

static int64_t kept_bytes(const struct rows_form *f) {
    int64_t bytes = 0;
    for (node_id n = 0; n < f->region->graph->n_nodes; n++)
        if (f->walks.is_kept[n])
            bytes += 4 * f->n_columns;
    return bytes;
}

// Long rows that do not begin at multiples of lines are streamed to from their first line on.
enum { PEEL_VECTORS = 64 };
static bool is_peeled(const struct rows_form *f, const struct kernel_stage *s) {
    int vec = stage_number(s, "vec", 0);
    return f->n_inner % vec != 0 && f->n_inner >= (int64_t)PEEL_VECTORS * vec;
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    if (!legal_vector(t, s, why) || !legal_lanes(s, f->lanes, why))
        return false;
    int64_t bytes = stage_word_is(s, "keep", "local") ? kept_bytes(f->rows) : 0;
    bytes *= stage_word_is(s, "overlap", "rows") ? 2 : 1;
    if (bytes > LOCAL_BYTES_MAX)
        return objection(why, "keep",
                         "keep local needs %lld bytes for a row, above %d: the nearest "
                         "is keep reread",
                         (long long)bytes, LOCAL_BYTES_MAX);
    if (stage_word_is(s, "store", "stream"))
        return legal_stream(s, is_peeled(f->rows, s) ? 0 : f->rows->n_inner, why);
    return true;
}

static void take_if_legal(const struct form *f, const struct target *t, struct kernel_stage *s,
                          const struct kernel_stage *changed) {
    struct objection why;
    if (is_legal(f, t, changed, &why))
        *s = *changed;
}

static double row_bytes(const struct form *f) {
    struct region_work w;
    region_count(f->region, &w);
    return w.bytes_read / (double)f->rows->n_rows;
}

static bool is_slow_kept(const struct rows_form *f) {
    for (node_id n = 0; n < f->region->graph->n_nodes; n++)
        if (f->walks.is_kept[n] && region_is_slow(f->region->graph->nodes[n].op))
            return true;
    return false;
}

// How much of a row and the next one stays near. Two of them and what is kept of one fit half of
// the second cache: all of it. They nearly fill it: kept is what takes long to compute again
// (softmax of 98305 bf16, 192 KiB a row, on two cores of an EPYC: 0.89 ms computed again, 0.73
// kept; on Zen 4 1.38 with `overlap rows`, which needs a third row near, and 1.25 without). Three
// rows of every thread fit a quarter of the last cache: from there they are read again (batch norm,
// 512 KiB a row, on the same: 1.60 ms without overlap and asking ahead, 1.40 with; kept as well,
// two cores of a Xeon took 5.0 ms in place of 2.8).
enum nearness { NEAR_ALL, NEAR_SLOW, NEAR_READ, NEAR_NOTHING };
static enum nearness find_nearness(const struct form *f, const struct target *t) {
    double row = row_bytes(f), all = (double)kept_bytes(f->rows) + 2 * row;
    if (all <= (double)t->l2_bytes / 2)
        return NEAR_ALL;
    if (all <= 0.875 * (double)t->l2_bytes && is_slow_kept(f->rows))
        return NEAR_SLOW;
    return 3 * row * t->n_threads <= (double)t->llc_bytes / 4 ? NEAR_READ : NEAR_NOTHING;
}

// Rows ahead, so that enough is under way: short ones by several (layer norm of 4096 f16 on two
// cores of an EPYC: one row ahead 0.65 ms, two 0.59).
enum { AHEAD_BYTES = 16 << 10 };
static int default_ahead(const struct form *f) {
    int ahead = 1;
    while (ahead < 4 && row_bytes(f) * ahead < AHEAD_BYTES)
        ahead *= 2;
    return ahead;
}

static void take_word(const struct form *f, const struct target *t, struct kernel_stage *s,
                      const char *knob, const char *word) {
    struct kernel_stage next = *s;
    stage_set_word(&next, knob, word);
    take_if_legal(f, t, s, &next);
}

// Elements of a row from which on what is left of vectors at both ends takes little.
enum { PEEL_WORTH = 16384 };

// Rows that come from memory and go there: what every search on such problems came to (softmax 2048
// x 4096 on two cores of an EPYC: 2.26 times as fast as with the knobs at their first values).
static void default_stream(const struct form *f, const struct target *t, struct kernel_stage *s) {
    enum nearness near = find_nearness(f, t);
    struct kernel_stage next = *s;
    stage_set(&next, "unroll", 0, 4);
    take_if_legal(f, t, s, &next);
    next = *s;
    stage_set(&next, "ahead", 0, near == NEAR_NOTHING ? 0 : default_ahead(f));
    take_if_legal(f, t, s, &next);
    take_word(f, t, s, "divide", "reciprocal");
    if (!is_peeled(f->rows, s) || f->rows->n_inner >= PEEL_WORTH)
        take_word(f, t, s, "store", "stream");
    if (near == NEAR_ALL || near == NEAR_SLOW)
        take_word(f, t, s, "keep", "local");
    if (near == NEAR_ALL || near == NEAR_READ)
        take_word(f, t, s, "overlap", "rows");
}

// Rows of which little is stored: the rows of a cross-entropy of 4096 x 4096 on two cores of a Xeon
// take 2.7 ms so, and 4.5 ms without.
static void default_reads(const struct form *f, const struct target *t, struct kernel_stage *s) {
    struct kernel_stage next = *s;
    stage_set(&next, "unroll", 0, 4);
    stage_set(&next, "ahead", 0, find_nearness(f, t) == NEAR_ALL ? default_ahead(f) : 0);
    take_if_legal(f, t, s, &next);
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    struct region_work w;
    stage_set(s, "vec", 0, default_vec(t, f->lanes));
    stage_set(s, "rows", 0, default_rows(f->rows->n_rows, t));
    region_count(f->region, &w);
    if (f->lanes > 1 && is_long_stream(t, w.bytes_written))
        default_stream(f, t, s);
    else if (f->lanes > 1 && is_long_stream(t, w.bytes_read))
        default_reads(f, t, s);
}

// Everything that building the loops needs.
struct build {
    struct lowering *l;
    const struct rows_form *form;
    struct sweep sweep;         // over one stretch of a row
    int first_reduced;          // group; those from here to the sweep's count the stretches
    struct loop_buffer **kept;  // per node: its local row, or two of them; NULL: none
    bool stream, overlap;
    bool peel;  // rows that are stored begin anywhere in a line
    int ahead;  // rows to prefetch ahead

    // Of the loop over rows.
    struct scope *block;  // around it
    const struct loop_expr *first, *row;
    struct loop_buffer **carry;  // with `overlap`, per anchor: its result for the row before

    // Of the walk being built.
    int walk;
    struct folds folds;
    struct scope *before;  // the row before, stored meanwhile; NULL: none
};

static bool prefetch_leaf(void *ctx, node_id n, const struct axis_map *map) {
    struct scope *s = ctx;
    const struct lowering *l = s->lowering;
    const struct shape *shape = &l->region->graph->nodes[n].shape;
    if (l->region->is_leaf[n] && point_lane_stride(s, shape, map) == 1 && shape->rank > 1)
        loop_prefetch(s->builder, l->buffer[n], point_index(s, shape, map));
    return true;
}

// Ask for what the first walk over a later row will read.
static void prefetch(const struct build *b, struct scope *s) {
    const struct region *r = b->form->region;
    struct arena *a = b->l->arena;
    struct axis_map identity = b->form->map;
    // Rows are one group wherever this helps; their index alone moves.
    struct scope later = *s;
    later.index[0] = loop_binary(a, LOOP_ADD, s->index[0], loop_int(a, b->ahead));
    struct point_visit visit = {r, b->form->column, prefetch_leaf, &later};
    for (int i = 0; i < r->n_anchors; i++)
        if (r->level[r->anchor[i]] == 1)
            point_visit(&visit, r->graph->nodes[r->anchor[i]].arg[0], &identity);
}

// With `overlap`, a row kept by an early walk is still needed when the next row's is written:
// there are two, used in turn. One kept by the last walk is read just before, at every place.
static bool is_double(const struct build *b, node_id n) {
    return b->overlap && b->form->walks.first[n] < b->form->walks.n_levels;
}

// Where in a kept row the scope stands.
static const struct loop_expr *kept_index(const struct build *b, const struct scope *s, node_id n) {
    struct arena *a = b->l->arena;
    const struct loop_expr *j = loop_int(a, 0), *size = loop_int(a, 1);
    for (int g = b->sweep.group; g >= b->first_reduced; g--) {
        j = loop_binary(a, LOOP_ADD, loop_binary(a, LOOP_MUL, s->index[g], size), j);
        size = loop_binary(a, LOOP_MUL, size, b->l->space.extent[g]);
    }
    if (!is_double(b, n) || b->first_reduced == 0)
        return j;
    const struct loop_expr *turn = loop_binary(a, LOOP_MOD, s->index[0], loop_int(a, 2));
    return loop_binary(a, LOOP_ADD, loop_binary(a, LOOP_MUL, turn, size), j);
}

// Values that walks before `walk` kept are read, not computed again.
static void use_kept(const struct build *b, struct scope *s, int walk) {
    const struct region *r = b->form->region;
    struct axis_map identity = b->form->map;
    for (node_id n = 0; n < r->graph->n_nodes; n++) {
        if (!b->kept[n] || b->form->walks.first[n] >= walk)
            continue;
        const struct loop_expr *e =
            loop_load(b->l->arena, b->kept[n], kept_index(b, s, n), s->lanes, 1);
        point_define(s, n, &identity, loop_let(s->builder, r->graph->nodes[n].name, e));
    }
}

static void store_values(const struct build *b, struct scope *s) {
    const struct region *r = b->form->region;
    struct axis_map identity = b->form->map;
    for (int i = 0; i < r->n_values; i++)
        if (rows_is_full(b->form, r->value[i]))
            point_store(s, i, &identity, b->stream);
}

static void store_body(void *ctx, struct scope *s, const struct loop_expr *copy) {
    const struct build *b = ctx;
    (void)copy;
    use_kept(b, s, b->form->walks.n_levels + 1);
    store_values(b, s);
}

// The same place in the row before.
static struct scope place_before(const struct build *b, struct scope *s) {
    struct scope before = scope_inside(b->before, s->builder);
    for (int g = b->first_reduced; g <= b->sweep.group; g++)
        before.index[g] = s->index[g];
    before.lane_group = s->lane_group;
    before.lanes = s->lanes;
    return before;
}

static void reduce_body(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct build *b = ctx;
    const struct region *r = b->form->region;
    struct axis_map identity = b->form->map;
    // The first walk waits for memory; the next has time to ask for rows to come.
    bool asks = b->walk == (b->form->walks.n_levels > 1 ? 2 : 1);
    if (b->ahead && asks && s->lanes > 1)
        prefetch(b, s);
    // What the row before kept is read before its place is written, and stored at the end:
    // measured, stores at the beginning cost a quarter more.
    struct scope before = *s;
    if (b->before) {
        before = place_before(b, s);
        use_kept(b, &before, b->form->walks.n_levels + 1);
    }
    use_kept(b, s, b->walk);
    for (int i = 0; i < b->folds.n; i++) {
        node_id arg = r->graph->nodes[b->folds.fold[i].node].arg[0];
        fold_add(&b->folds.fold[i], s, point_value(s, arg, &identity), copy);
    }
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (b->kept[n] && b->form->walks.first[n] == b->walk)
            loop_store(s->builder, b->kept[n], kept_index(b, s, n),
                       loop_broadcast(b->l->arena, point_value(s, n, &identity), s->lanes), false);
    if (b->before)
        store_values(b, &before);
}

// A scope for a row whose reductions are known from `carry`.
static struct scope carried_row(const struct build *b, struct loop_builder *builder,
                                const struct loop_expr *row) {
    const struct region *r = b->form->region;
    struct axis_map identity = map_identity(b->form->n_kept_axes);
    struct scope s = scope_inside(b->block, builder);
    scope_split(&s, row, 0, b->first_reduced);
    for (int i = 0; i < r->n_anchors; i++) {
        const struct loop_expr *e =
            loop_load(b->l->arena, b->carry[i], loop_int(b->l->arena, 0), 1, 1);
        point_define(&s, r->anchor[i], &identity, loop_let(builder, b->carry[i]->name, e));
    }
    return s;
}

// How many elements lie between the sweep's begin in the row that is stored and the next line.
static const struct loop_expr *find_head(const struct build *b, struct scope *s,
                                         const struct sweep *w) {
    struct arena *a = b->l->arena;
    const struct rows_form *f = b->form;
    int bits = 0;
    for (int i = 0; i < f->region->n_values; i++) {
        int own = dtype_infos[f->region->graph->nodes[f->region->value[i]].dtype].bits;
        bits = rows_is_full(f, f->region->value[i]) && (bits == 0 || own < bits) ? own : bits;
    }
    const struct loop_expr *line = loop_int(a, 512 / bits);
    struct scope at = b->before ? scope_inside(b->before, s->builder) : *s;
    for (int g = b->first_reduced; g < b->sweep.group; g++)
        at.index[g] = s->index[g];
    at.index[b->sweep.group] = w->begin;
    const struct loop_expr *past =
        loop_binary(a, LOOP_MOD, point_index(&at, f->full, &f->map), line);
    const struct loop_expr *head =
        loop_binary(a, LOOP_MOD, loop_binary(a, LOOP_SUB, line, past), line);
    const struct loop_expr *length = loop_binary(a, LOOP_SUB, w->end, w->begin);
    return loop_let(s->builder, "head", loop_binary(a, LOOP_MIN, length, head));
}

static void sweep_stretch(struct build *b, struct scope *s, const struct sweep *w, sweep_fn fn) {
    struct sweep peeled = *w;
    if (b->peel && (b->before || fn == store_body))
        peeled.head = find_head(b, s, w);
    sweep_build(s, &peeled, fn, b);
}

// A sweep over each stretch of the row.
static void sweep_row(struct build *b, struct scope *s, const struct sweep *w, sweep_fn fn) {
    struct arena *a = b->l->arena;
    const struct loop_expr *count = scope_count(s, b->first_reduced, b->sweep.group);
    struct loop_builder inner;
    struct loop_for f = {"stretch", loop_int(a, 0), count, 1, false};
    if (b->first_reduced == b->sweep.group) {
        sweep_stretch(b, s, w, fn);
        return;
    }
    const struct loop_expr *stretch = loop_open_for(s->builder, &f, &inner);
    struct scope each = scope_inside(s, &inner);
    scope_split(&each, stretch, b->first_reduced, b->sweep.group);
    sweep_stretch(b, &each, w, fn);
    loop_close(s->builder, &inner);
}

// The sweeps of one walk: alone, or from the second row on together with the stores of the
// row before.
static void walk_sweeps(void *ctx, struct scope *s, const struct sweep *w) {
    struct build *b = ctx;
    struct arena *a = b->l->arena;
    if (!b->overlap || b->walk < b->form->walks.n_levels) {
        sweep_row(b, s, w, reduce_body);
        return;
    }
    struct loop_builder inner;
    loop_open_if(s->builder, b->first, b->row, &inner);
    struct scope both = scope_inside(s, &inner);
    struct scope before = carried_row(b, &inner, loop_binary(a, LOOP_SUB, b->row, loop_int(a, 1)));
    b->before = &before;
    sweep_row(b, &both, w, reduce_body);
    b->before = NULL;
    loop_close(s->builder, &inner);
    loop_open_if(s->builder, b->row, loop_binary(a, LOOP_ADD, b->first, loop_int(a, 1)), &inner);
    struct scope alone = scope_inside(s, &inner);
    sweep_row(b, &alone, w, reduce_body);
    loop_close(s->builder, &inner);
}

static void build_walk(struct build *b, struct scope *row) {
    const struct region *r = b->form->region;
    struct axis_map identity = map_identity(b->form->n_kept_axes);
    b->folds = (struct folds){.fold = arena_array(b->l->arena, struct fold, r->n_anchors)};
    for (int i = 0; i < r->n_anchors; i++)
        if (r->level[r->anchor[i]] == b->walk)
            fold_init(&b->folds.fold[b->folds.n++], b->l, r->anchor[i], &b->sweep);
    folds_build(&b->folds, row, &b->sweep, walk_sweeps, b);
    for (int i = 0; i < b->folds.n; i++)
        point_define(row, b->folds.fold[i].node, &identity, b->folds.fold[i].result);
}

static void build_row(struct build *b, struct scope *row) {
    const struct region *r = b->form->region;
    struct axis_map map = map_identity(b->form->n_kept_axes);
    for (b->walk = 1; b->walk <= b->form->walks.n_levels; b->walk++)
        build_walk(b, row);
    for (int i = 0; b->overlap && i < r->n_anchors; i++)
        loop_store(row->builder, b->carry[i], loop_int(b->l->arena, 0),
                   point_value(row, r->anchor[i], &map), false);
    if (!b->overlap && rows_any_full_value(b->form))
        sweep_row(b, row, &b->sweep, store_body);
    for (int i = 0; i < r->n_values; i++)
        if (!rows_is_full(b->form, r->value[i]) && rows_value_map(b->form, r->value[i], &map))
            point_store(row, i, &map, false);
}

static void add_buffers(struct build *b, const struct kernel_stage *stage) {
    const struct region *r = b->form->region;
    struct loop_program *p = b->l->program;
    struct arena *a = b->l->arena;
    struct loop_size size[2] = {{2, NULL}, {b->form->n_columns, NULL}};
    if (b->form->is_last)
        size[1] = point_size(b->l, b->form->full, b->form->column);
    b->kept = arena_array(a, struct loop_buffer *, r->graph->n_nodes);
    b->carry = arena_array(a, struct loop_buffer *, r->n_anchors);
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (b->form->walks.is_kept[n] && stage_word_is(stage, "keep", "local"))
            b->kept[n] = loop_local(p, arena_printf(a, "%s_row", r->graph->nodes[n].name),
                                    is_double(b, n) ? size : size + 1, is_double(b, n) ? 2 : 1);
    for (int i = 0; b->overlap && i < r->n_anchors; i++)
        b->carry[i] =
            loop_register_of(p, arena_printf(a, "%s_before", r->graph->nodes[r->anchor[i]].name), 1,
                             1, loop_arithmetic(r->graph->nodes[r->anchor[i]].dtype));
}

static void lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage) {
    struct arena *a = l->arena;
    int first_reduced = rows_build_space(l, form->rows);
    l->reciprocal = stage_word_is(stage, "divide", "reciprocal");
    l->is_quick = rows_are_half(form->rows);
    struct build b = {.l = l, .form = form->rows, .first_reduced = first_reduced};
    b.stream = stage_word_is(stage, "store", "stream");
    b.peel = b.stream && is_peeled(form->rows, stage);
    b.ahead = stage_number(stage, "ahead", 0);
    b.overlap = stage_word_is(stage, "overlap", "rows") && rows_any_full_value(form->rows);
    add_buffers(&b, stage);

    int last = l->space.n_groups - 1, rows = stage_number(stage, "rows", 0);
    b.sweep = (struct sweep){.name = "j", .group = last, .begin = loop_int(a, 0)};
    b.sweep.end = l->space.extent[last];
    b.sweep.multiple = l->space.count[last];
    b.sweep.lanes = stage_number(stage, "vec", 0);
    b.sweep.unroll = stage_number(stage, "unroll", 0);

    struct scope block = {.lowering = l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *n_rows = scope_count(&block, 0, first_reduced);
    struct loop_builder builder, inner;
    struct loop_kernel *k =
        loop_kernel_new(l->program, arena_printf(a, "%s_rowwise", stage->values[0]),
                        loop_ceildiv(a, n_rows, rows), &builder);
    block.builder = &builder;
    b.block = &block;
    b.first = loop_binary(a, LOOP_MUL, loop_ref(a, k->block), loop_int(a, rows));
    const struct loop_expr *end =
        loop_binary(a, LOOP_MIN, n_rows, loop_binary(a, LOOP_ADD, b.first, loop_int(a, rows)));
    struct loop_for f = {"row", b.first, end, 1, false};
    b.row = loop_open_for(&builder, &f, &inner);
    struct scope row = scope_inside(&block, &inner);
    scope_split(&row, b.row, 0, first_reduced);
    build_row(&b, &row);
    loop_close(&builder, &inner);
    if (b.overlap) {
        struct scope tail =
            carried_row(&b, &builder, loop_binary(a, LOOP_SUB, end, loop_int(a, 1)));
        sweep_row(&b, &tail, &b.sweep, store_body);
    }
}

// How many times longer reading takes where neighbours of a row do not lie side by side: a line
// comes for each element, and is gone before the next row needs it unless all of it fits into the
// caches (softmax of a transposed 2048 x 4096 on two cores of a Xeon: 40.9 ms, of one that lies
// along 4.0).
static double read_across(const struct region *r, const struct target *t) {
    double times = 1;
    for (node_id n = r->first; n <= r->last; n++) {
        const struct node *view = &r->graph->nodes[n];
        int last = view->shape.rank - 1;
        if (!r->is_member[n] || view->op != OP_VIEW || last < 0)
            continue;
        const struct node *from = &r->graph->nodes[view->arg[0]];
        int own = from->shape.rank - 1;
        if (view->view[last] < 0 || view->view[last] == own || from->shape.size[own] < 32 ||
            view->shape.size[last] < 32)
            continue;
        double bytes = (double)dtype_size(from->dtype, shape_count(&from->shape));
        times = fmax(times, bytes > (double)t->n_threads * (double)t->l2_bytes ? 8 : 2);
    }
    return times;
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    // Walks wait for each other; asking ahead and storing meanwhile is what hides that.
    double work = stage_word_is(s, "keep", "local") ? 1 : 1.8;
    work *= stage_word_is(s, "divide", "exact") ? 1.15 : 1;
    double serial = 0.9 - (stage_number(s, "ahead", 0) > 0 ? 0.3 : 0) -
                    (stage_word_is(s, "overlap", "rows") ? 0.3 : 0);
    double seconds = estimate_stream(f->region, t, s, work, serial) * read_across(f->region, t);
    double blocks = (double)f->rows->n_rows / stage_number(s, "rows", 0);
    double chains = stage_number(s, "unroll", 0);
    return seconds * (1 + 0.5 * t->n_threads / (blocks + t->n_threads) + 0.1 / chains) +
           blocks * 100e-9;
}

const struct emitter rowwise_cpu = {
    .name = "cpu",
    .summary = "rows reduced along their last axis, results broadcast back: softmax, norms",
    .knobs = knobs,
    .runs_on = emitter_runs_on_cpu,
    .accepts = rows_accept_along,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
