// rowwise: rows are independent and each is reduced along its last axis, perhaps several
// times, the results broadcast back: softmax, norms.
//
// Reductions have levels: one of level 2 needs a result of level 1. A row is walked once
// per level and once more for the values of full shape. What an earlier walk computed is
// computed again, or kept in an array of one row (`keep local`).
#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "family/family.h"
#include "family/fold.h"
#include "family/rowwise_form.h"
#include "family/sweep.h"

static const int vec_grid[] = {1, 4, 8, 16, -1};
static const int unroll_grid[] = {1, 2, 4, 8, -1};
static const int rows_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, -1};
static const int ahead_grid[] = {0, 1, 2, 4, -1};
static const char *const keep_words[] = {"reread", "local", NULL};
static const char *const store_words[] = {"cached", "stream", NULL};

static const struct knob knobs[] = {
    {.name = "vec", .summary = "lanes of a vector", .n_parts = 1, .grid = {vec_grid}},
    {.name = "rows", .summary = "rows per block", .n_parts = 1, .grid = {rows_grid}},
    {.name = "unroll",
     .summary = "vectors per turn, each with an accumulator",
     .n_parts = 1,
     .grid = {unroll_grid}},
    {.name = "keep",
     .summary = "compute again in later walks, or keep in a local row",
     .words = keep_words},
    {.name = "ahead",
     .summary = "prefetch this many rows ahead",
     .n_parts = 1,
     .grid = {ahead_grid}},
    {.name = "store", .summary = "through the caches or past them", .words = store_words},
    {0},
};

static bool accepts(const struct region *r, struct objection *why) {
    struct rowwise_form f;
    return rowwise_find_form(r, &f, why);
}

static void defaults(const struct region *r, const struct target *t, struct kernel_stage *s) {
    (void)r;
    stage_set(s, "vec", 0, t->vector_bytes >= 32 ? 8 : 4);
    stage_set(s, "rows", 0, 4);
}

static int64_t kept_bytes(const struct region *r) {
    struct arena scratch = {0};
    struct rowwise_form f;
    struct objection why;
    struct rowwise_walks w;
    bool ok = rowwise_find_form(r, &f, &why);
    assert(ok);
    rowwise_plan_walks(&scratch, &f, &w);
    int64_t bytes = 0;
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (w.is_kept[n])
            bytes += 4 * f.full->size[f.column];
    arena_reset(&scratch);
    return bytes;
}

static bool is_legal(const struct region *r, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct rowwise_form f;
    if (!legal_vector(t, s, why) || !rowwise_find_form(r, &f, why))
        return false;
    int64_t bytes = stage_word_is(s, "keep", "local") ? kept_bytes(r) : 0;
    if (bytes > LOCAL_BYTES_MAX)
        return objection(why, "keep",
                         "keep local needs %lld bytes for a row, above %d: the nearest "
                         "is keep reread",
                         (long long)bytes, LOCAL_BYTES_MAX);
    if (stage_word_is(s, "store", "stream"))
        return legal_stream(s, f.full->size[f.column], why);
    return true;
}

// Everything that building one walk needs.
struct build {
    struct lowering *l;
    const struct rowwise_form *form;
    struct rowwise_walks *walks;
    int walk;            // from 1; n_levels + 1: the last, which stores
    struct fold *folds;  // the reductions of this walk
    int n_folds;
    struct loop_buffer **kept;  // per node
    int ahead;                  // rows to prefetch ahead in this walk; 0: none
    bool stream;
};

static bool prefetch_leaf(void *ctx, node_id n, const struct axis_map *map) {
    struct scope *s = ctx;
    const struct lowering *l = s->lowering;
    const struct shape *shape = &l->region->graph->nodes[n].shape;
    if (l->region->is_leaf[n] && point_lane_stride(s, shape, map) == 1 && shape->rank > 1)
        loop_prefetch(s->builder, l->buffer[n], point_index(s, shape, map));
    return true;
}

static void prefetch(const struct build *b, struct scope *s) {
    // The rows are one group wherever this helps; their index alone moves.
    struct scope later = *s;
    later.index[0] =
        loop_binary(b->l->arena, LOOP_ADD, s->index[0], loop_int(b->l->arena, b->ahead));
    struct axis_map identity = map_identity(b->form->full->rank);
    for (int i = 0; i < b->form->region->n_anchors; i++) {
        const struct node *n = &b->form->region->graph->nodes[b->form->region->anchor[i]];
        if (b->walks->level[b->form->region->anchor[i]] == 1)
            point_visit(b->form->region, n->arg[0], &identity, b->form->column, prefetch_leaf,
                        &later);
    }
}

static void walk_body(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct build *b = ctx;
    const struct region *r = b->form->region;
    struct axis_map identity = map_identity(b->form->full->rank);
    const struct loop_expr *j = s->index[b->l->space.n_groups - 1];
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (b->kept[n] && b->walks->first[n] < b->walk) {
            const struct loop_expr *e = loop_load(b->l->arena, b->kept[n], j, s->lanes, 1);
            point_define(s, n, &identity, loop_let(s->builder, r->graph->nodes[n].name, e));
        }
    if (b->ahead && s->lanes > 1)
        prefetch(b, s);
    for (int i = 0; i < b->n_folds; i++) {
        node_id arg = r->graph->nodes[b->folds[i].node].arg[0];
        fold_add(&b->folds[i], s, point_value(s, arg, &identity), copy);
    }
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (b->kept[n] && b->walks->first[n] == b->walk)
            loop_store(s->builder, b->kept[n], j,
                       loop_broadcast(b->l->arena, point_value(s, n, &identity), s->lanes), false);
    for (int i = 0; i < r->n_values && b->walk > b->walks->n_levels; i++)
        if (rowwise_is_full(b->form, r->value[i]))
            point_store(s, i, &identity, b->stream);
}

static void build_walk(struct build *b, struct scope *row, struct sweep *w) {
    const struct region *r = b->form->region;
    struct axis_map identity = map_identity(b->form->full->rank - 1);
    b->folds = arena_array(b->l->arena, struct fold, r->n_anchors);
    b->n_folds = 0;
    for (int i = 0; i < r->n_anchors; i++)
        if (b->walks->level[r->anchor[i]] == b->walk)
            fold_init(&b->folds[b->n_folds++], b->l, r->anchor[i], w);
    folds_build(b->folds, b->n_folds, row, w, walk_body, b);
    for (int i = 0; i < b->n_folds; i++)
        point_define(row, b->folds[i].node, &identity, b->folds[i].result);
}

static bool any_full_value(const struct rowwise_form *f) {
    for (int i = 0; i < f->region->n_values; i++)
        if (rowwise_is_full(f, f->region->value[i]))
            return true;
    return false;
}

static void build_row(struct build *b, struct scope *row, struct sweep *w, int ahead) {
    for (b->walk = 1; b->walk <= b->walks->n_levels; b->walk++) {
        // The first walk waits for memory; the next has time to ask for the rows to come.
        b->ahead = b->walk == (b->walks->n_levels > 1 ? 2 : 1) ? ahead : 0;
        build_walk(b, row, w);
    }
    b->ahead = 0;
    if (any_full_value(b->form))
        build_walk(b, row, w);
    for (int i = 0; i < b->form->region->n_values; i++) {
        struct axis_map map;
        if (!rowwise_is_full(b->form, b->form->region->value[i]) &&
            rowwise_value_map(b->form, b->form->region->value[i], &map))
            point_store(row, i, &map, false);
    }
}

static void lower(struct lowering *l, const struct kernel_stage *stage) {
    struct arena *a = l->arena;
    struct rowwise_form form;
    struct objection why;
    struct rowwise_walks walks;
    bool ok = rowwise_find_form(l->region, &form, &why);
    assert(ok);
    rowwise_plan_walks(a, &form, &walks);
    rowwise_build_space(l, &form);

    int last = l->space.n_groups - 1, rows = stage_number(stage, "rows", 0);
    struct scope outer = {.lowering = l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *n_rows = scope_count(&outer, 0, last);
    struct loop_builder b, inner;
    struct loop_kernel *k =
        loop_kernel_new(l->program, arena_printf(a, "%s_rowwise", stage->values[0]),
                        loop_ceildiv(a, n_rows, rows), &b);
    outer.builder = &b;
    const struct loop_expr *first =
        loop_binary(a, LOOP_MUL, loop_ref(a, k->block), loop_int(a, rows));
    const struct loop_expr *end = loop_binary(a, LOOP_ADD, first, loop_int(a, rows));
    struct loop_for f = {"row", first, loop_binary(a, LOOP_MIN, n_rows, end), 1, false};
    const struct loop_expr *row = loop_open_for(&b, &f, &inner);
    struct scope s = scope_inside(&outer, &inner);
    scope_split(&s, row, 0, last);

    struct build build = {.l = l, .form = &form, .walks = &walks};
    build.stream = stage_word_is(stage, "store", "stream");
    build.kept = arena_array(a, struct loop_buffer *, l->region->graph->n_nodes);
    struct loop_size size = point_size(l, form.full, form.column);
    for (node_id n = 0; n < l->region->graph->n_nodes; n++)
        if (walks.is_kept[n] && stage_word_is(stage, "keep", "local"))
            build.kept[n] = loop_local(
                l->program, arena_printf(a, "%s_row", l->region->graph->nodes[n].name), &size, 1);
    struct sweep w = {.name = "j", .group = last, .begin = loop_int(a, 0)};
    w.end = l->space.extent[last];
    w.multiple = l->space.count[last];
    w.lanes = stage_number(stage, "vec", 0);
    w.unroll = stage_number(stage, "unroll", 0);
    build_row(&build, &s, &w, stage_number(stage, "ahead", 0));
    loop_close(&b, &inner);
}

static double estimate(const struct region *r, const struct target *t,
                       const struct kernel_stage *s) {
    struct rowwise_form f;
    struct objection why;
    if (!rowwise_find_form(r, &f, &why))
        return 1;
    double passes = stage_word_is(s, "keep", "local") ? 1 : 1.6;
    double seconds = estimate_stream(r, t, s, passes);
    double n_rows = (double)shape_count(f.full) / (double)f.full->size[f.column];
    double blocks = n_rows / stage_number(s, "rows", 0);
    double chains = stage_number(s, "unroll", 0) + (stage_number(s, "ahead", 0) > 0);
    return seconds * (1 + 0.5 * t->n_threads / (blocks + t->n_threads) + 0.1 / chains) +
           blocks * 100e-9;
}

const struct family family_rowwise = {
    .name = "rowwise",
    .summary = "rows reduced along their last axis, results broadcast back: softmax, norms",
    .knobs = knobs,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
    .gpu = &gpu_rowwise,
};
