// rowwise on a GPU: a team of threads walks a row as often as there are levels of reductions,
// and once more to store. What a later walk needs again is read and computed again, or kept:
// in registers (all steps of a thread unrolled) or in shared memory (a thread reads back only
// what it wrote, so no barrier is needed for that).
#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "family/gpu.h"
#include "family/knobs.h"
#include "family/rows.h"

static const int threads_grid[] = {32, 64, 128, 256, 512, 1024, -1};
static const int rows_grid[] = {1, 2, 4, 8, 16, -1};
static const int vec_grid[] = {1, 2, 4, -1};

static const struct knob knobs[] = {
    {.name = "threads", .summary = "threads per row", .n_parts = 1, .grid = {threads_grid}},
    {.name = "rows", .summary = "rows per block", .n_parts = 1, .grid = {rows_grid}},
    {.name = "vec", .summary = "elements moved at once", .n_parts = 1, .grid = {vec_grid}},
    {.name = "keep",
     .summary = "where a row stays between its walks",
     .words = knob_keep_shared_words},
    KNOB_DIVIDE,
    KNOB_GPU_STORE,
    {0},
};

enum { PARTIAL_BYTES = 1024 };  // at most, of what warps exchange

// What stays between walks, and in which of the shared arrays.
struct kept_rows {
    bool *is_kept;  // per node
    int *slot;      // per node
    int n_slots, n_kept;
};

// Nodes whose lives do not overlap share an array: one may be written in the very walk that
// reads the other for the last time, since each thread reads its element first.
static void plan_keeping(struct arena *a, const struct rows_form *f, struct kept_rows *k) {
    const struct rows_walks *w = &f->walks;
    const struct region *r = f->region;
    int n_nodes = r->graph->n_nodes;
    *k = (struct kept_rows){0};
    k->is_kept = arena_array(a, bool, n_nodes);
    k->slot = arena_array(a, int, n_nodes);
    int *busy_until = arena_array(a, int, n_nodes + 1);
    for (int walk = 1; walk <= w->n_levels + 1; walk++)
        for (node_id n = 0; n < n_nodes; n++) {
            if (w->first[n] != walk || w->last[n] <= walk)
                continue;
            int slot = 0;
            while (busy_until[slot] > walk)
                slot++;
            busy_until[slot] = w->last[n];
            k->is_kept[n] = true;
            k->slot[n] = slot;
            k->n_kept++;
            if (slot + 1 > k->n_slots)
                k->n_slots = slot + 1;
        }
}

struct figures {
    int64_t n_rows, n_columns;
    int n_slots, n_kept;
};

static struct figures find_figures(const struct form *form) {
    struct arena scratch = {0};
    struct kept_rows keeping;
    plan_keeping(&scratch, form->rows, &keeping);
    arena_reset(&scratch);
    return (struct figures){.n_rows = form->rows->n_rows,
                            .n_columns = form->rows->n_columns,
                            .n_slots = keeping.n_slots,
                            .n_kept = keeping.n_kept};
}

// Floats of kept rows in the registers of one thread: at most two generations live at once.
static int64_t kept_floats(const struct figures *f, const struct kernel_stage *s) {
    int vec = stage_number(s, "vec", 0);
    return (f->n_slots + 1) * vec *
           gpu_walk_steps(f->n_columns, vec, stage_number(s, "threads", 0));
}

static bool legal_keep(const struct target *t, const struct kernel_stage *s,
                       const struct figures *f, struct objection *why) {
    int threads = stage_number(s, "threads", 0), rows = stage_number(s, "rows", 0);
    if (stage_word_is(s, "keep", "reread"))
        return true;
    if (f->n_kept == 0)
        return objection(why, "keep",
                         "nothing of a row is needed twice: the nearest is keep reread");
    struct gpu_demand demand = {"keep", threads * rows, kept_floats(f, s), "keep shared"};
    int64_t bytes = 4 * f->n_slots * f->n_columns * rows + PARTIAL_BYTES;
    if (bytes > t->shared_per_block)
        demand.nearest = "keep reread";
    if (stage_word_is(s, "keep", "register"))
        return gpu_legal_registers(t, &demand, why);
    return gpu_legal_shared(t, "keep", bytes, "keep reread", why);
}

static bool is_legal(const struct form *form, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    int threads = stage_number(s, "threads", 0), rows = stage_number(s, "rows", 0);
    struct figures f = find_figures(form);
    if (!gpu_legal_vec(s, form->lanes, why))
        return false;
    if (threads * rows > GPU_BLOCK_MAX)
        return objection(why, "rows",
                         "%d rows of %d threads are %d threads a block, above %d: the nearest is "
                         "rows %d",
                         rows, threads, threads * rows, GPU_BLOCK_MAX, GPU_BLOCK_MAX / threads);
    // Rows that are not there cannot be left out: their threads would miss a barrier.
    if (threads > GPU_WARP && f.n_rows % rows != 0) {
        int nearest = rows;
        while (f.n_rows % nearest != 0)
            nearest /= 2;
        return objection(why, "rows",
                         "%lld rows are no multiple of rows %d: the nearest is rows %d, or threads "
                         "32",
                         (long long)f.n_rows, rows, nearest);
    }
    return legal_keep(t, s, &f, why) && gpu_legal_grid("rows", f.n_rows / rows, why);
}

static void defaults(const struct form *form, const struct target *t, struct kernel_stage *s) {
    struct figures f = find_figures(form);
    struct objection why;
    int vec = gpu_largest_vec(form->lanes), threads = 32;
    stage_set(s, "vec", 0, vec);
    // About four vectors a thread: enough loads under way, and registers for them.
    while (threads < GPU_BLOCK_MAX && gpu_walk_steps(f.n_columns, vec, threads) > 4)
        threads *= 2;
    stage_set(s, "threads", 0, threads);
    if (threads < 128)
        stage_set(s, "rows", 0, 128 / threads);
    stage_set_word(s, "keep", "register");
    if (rows_are_half(form->rows))
        stage_set_word(s, "divide", "reciprocal");
    if (!is_legal(form, t, s, &why))
        stage_set(s, "rows", 0, 1);
    if (!is_legal(form, t, s, &why))
        stage_set_word(s, "keep", "shared");
    if (!is_legal(form, t, s, &why))
        stage_set_word(s, "keep", "reread");
}

// Everything that building one kernel needs.
struct build {
    struct lowering *l;
    const struct kernel_stage *stage;
    const struct rows_form *form;
    struct kept_rows keeping;
    struct gpu_team team;
    struct gpu_walk walk;
    int now;                    // the walk being built, from 1
    node_id *folded;            // the reductions of this walk
    struct loop_buffer **kept;  // per node: registers, or a shared array
    struct scope *row;
};

// Where in its array a kept node's element is.
static const struct loop_expr *kept_index(const struct build *x, node_id n,
                                          const struct loop_expr *j, const struct loop_expr *item) {
    struct arena *a = x->l->arena;
    if (x->kept[n]->space == LOOP_REGISTER)
        return item;
    const struct loop_expr *extent = x->walk.end;
    return loop_binary(a, LOOP_ADD, loop_binary(a, LOOP_MUL, x->team.row, extent), j);
}

static bool keeps_from_here(const struct build *x, node_id n) {
    return x->kept[n] && x->form->walks.first[n] == x->now;
}

static void walk_body(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                      const struct loop_expr *item) {
    struct build *x = ctx;
    struct arena *a = x->l->arena;
    const struct region *r = x->l->region;
    struct axis_map identity = map_identity(x->form->full->rank);
    struct scope s = scope_inside(x->row, b);
    s.lane_group = x->l->space.n_groups - 1;
    s.index[s.lane_group] = j;
    s.lanes = x->walk.vec;
    for (node_id n = 0; n < r->graph->n_nodes; n++) {
        bool needed = x->form->walks.first[n] < x->now && x->form->walks.last[n] >= x->now;
        if (!x->kept[n] || !needed)
            continue;
        const struct loop_expr *e = loop_load(a, x->kept[n], kept_index(x, n, j, item), s.lanes, 1);
        point_define(&s, n, &identity, loop_let(b, r->graph->nodes[n].name, e));
    }
    // Values are computed before anything is stored: an array may change hands in this walk.
    const struct loop_expr **terms = arena_array(a, const struct loop_expr *, r->graph->n_nodes);
    const struct loop_expr **values = arena_array(a, const struct loop_expr *, r->graph->n_nodes);
    int n_values = 0;
    for (int i = 0; i < x->walk.n_folds; i++)
        terms[i] = point_value(&s, r->graph->nodes[x->folded[i]].arg[0], &identity);
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (keeps_from_here(x, n))
            values[n_values++] = loop_broadcast(a, point_value(&s, n, &identity), s.lanes);
    for (int i = 0; i < x->walk.n_folds; i++)
        gpu_fold_add(&x->walk.folds[i], b, terms[i]);
    n_values = 0;
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (keeps_from_here(x, n))
            loop_store(b, x->kept[n], kept_index(x, n, j, item), values[n_values++], false);
    for (int i = 0; i < r->n_values && x->now > x->form->walks.n_levels; i++)
        if (rows_is_full(x->form, r->value[i]))
            point_store(&s, i, &identity, stage_word_is(x->stage, "store", "stream"));
}

static void build_walk(struct build *x) {
    const struct region *r = x->l->region;
    struct axis_map identity = map_identity(x->form->full->rank - 1);
    struct gpu_walk *w = &x->walk;
    w->folds = arena_array(x->l->arena, struct gpu_fold, r->n_anchors + 1);
    w->n_folds = 0;
    for (int i = 0; i < r->n_anchors; i++)
        if (r->level[r->anchor[i]] == x->now) {
            const struct node *n = &r->graph->nodes[r->anchor[i]];
            x->folded[w->n_folds] = r->anchor[i];
            gpu_fold_init(&w->folds[w->n_folds++], w, n);
        }
    gpu_walk_build(w, x->row->builder, walk_body, x);
    for (int i = 0; i < w->n_folds; i++)
        point_define(x->row, x->folded[i], &identity, w->folds[i].result);
}

static void store_row_values(struct build *x) {
    struct arena *a = x->l->arena;
    const struct region *r = x->l->region;
    struct loop_builder first;
    loop_open_if(x->row->builder, x->team.lane, loop_int(a, 1), &first);
    struct scope s = scope_inside(x->row, &first);
    for (int i = 0; i < r->n_values; i++) {
        struct axis_map map;
        if (!rows_is_full(x->form, r->value[i]) && rows_value_map(x->form, r->value[i], &map))
            point_store(&s, i, &map, false);
    }
    loop_close(x->row->builder, &first);
}

static void make_kept(struct build *x) {
    struct arena *a = x->l->arena;
    const struct graph *g = x->l->region->graph;
    x->kept = arena_array(a, struct loop_buffer *, g->n_nodes);
    if (stage_word_is(x->stage, "keep", "reread"))
        return;
    bool in_registers = stage_word_is(x->stage, "keep", "register");
    struct loop_buffer **slots = arena_array(a, struct loop_buffer *, x->keeping.n_slots);
    struct loop_size shape[] = {{x->team.rows, NULL},
                                point_size(x->l, x->form->full, x->form->column)};
    for (node_id n = 0; n < g->n_nodes; n++) {
        if (!x->keeping.is_kept[n])
            continue;
        const char *name = arena_printf(a, "%s_row", g->nodes[n].name);
        struct loop_buffer **slot = &slots[x->keeping.slot[n]];
        if (in_registers)
            x->kept[n] = loop_register(x->l->program, name, x->walk.items, x->walk.vec);
        else if (!*slot)
            *slot = x->team.rows == 1 ? loop_shared(x->l->program, name, shape + 1, 1)
                                      : loop_shared(x->l->program, name, shape, 2);
        if (!in_registers)
            x->kept[n] = *slot;
    }
}

static void build_rows(struct build *x) {
    for (x->now = 1; x->now <= x->form->walks.n_levels; x->now++)
        build_walk(x);
    if (rows_any_full_value(x->form))
        build_walk(x);
    store_row_values(x);
}

static void prepare(struct build *x) {
    struct arena *a = x->l->arena;
    plan_keeping(a, x->form, &x->keeping);
    rows_build_space(x->l, x->form);
    x->folded = arena_array(a, node_id, x->l->region->n_anchors + 1);
}

static void lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage) {
    struct arena *a = l->arena;
    struct build x = {.l = l, .stage = stage, .form = form->rows};
    prepare(&x);
    l->reciprocal = stage_word_is(stage, "divide", "reciprocal");
    l->is_quick = rows_are_half(form->rows);
    int last = l->space.n_groups - 1;
    int threads = stage_number(stage, "threads", 0), rows = stage_number(stage, "rows", 0);
    struct scope outer = {.lowering = l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *n_rows = scope_count(&outer, 0, last);
    struct loop_builder b, guarded;
    struct gpu_kernel k = gpu_open_kernel(l, arena_printf(a, "%s_rowwise", stage->values[0]),
                                          loop_ceildiv(a, n_rows, rows), threads * rows, &b);
    outer.builder = &b;
    x.team = gpu_make_team(a, k.thread, threads, rows);
    const struct loop_expr *first = loop_binary(a, LOOP_MUL, k.block, loop_int(a, rows));
    const struct loop_expr *row = loop_let(&b, "row", loop_binary(a, LOOP_ADD, first, x.team.row));
    loop_open_if(&b, row, n_rows, &guarded);
    struct scope s = scope_inside(&outer, &guarded);
    scope_split(&s, row, 0, last);
    x.row = &s;
    x.walk = (struct gpu_walk){.l = l, .team = &x.team, .vec = stage_number(stage, "vec", 0)};
    x.walk.begin = loop_int(a, 0);
    x.walk.end = l->space.extent[last];
    x.walk.length = l->space.count[last];
    if (stage_word_is(stage, "keep", "register"))
        x.walk.items = (int)gpu_walk_steps(l->space.count[last], x.walk.vec, threads);
    make_kept(&x);
    build_rows(&x);
    loop_close(&b, &guarded);
}

static double estimate(const struct form *form, const struct target *t,
                       const struct kernel_stage *s) {
    struct region_work w;
    struct figures f = find_figures(form);
    region_count(form->region, &w);
    int threads = stage_number(s, "threads", 0), rows = stage_number(s, "rows", 0);
    int vec = stage_number(s, "vec", 0);
    double steps = (double)gpu_walk_steps(f.n_columns, vec, threads);
    bool kept = !stage_word_is(s, "keep", "reread");
    struct gpu_traffic traffic = {.bytes = w.bytes_read * (kept ? 1 : 1.5) + w.bytes_written,
                                  .blocks = (double)f.n_rows / rows,
                                  .threads = threads * rows};
    bool unrolled = stage_word_is(s, "keep", "register");
    traffic.in_flight = 4.0 * vec * (unrolled ? (steps < 8 ? steps : 8) : 2);
    double idle = steps * vec * threads / (double)f.n_columns;
    double seconds = gpu_estimate_traffic(t, &traffic) * (1 + 0.1 * (4.0 / vec - 1));
    double compute = (w.flops + 16 * w.slow_flops) * (kept ? 1 : 1.5) / (0.5 * gpu_flops_per_s(t));
    seconds = seconds > compute ? seconds + 0.2 * compute : compute + 0.2 * seconds;
    // Barriers keep large teams waiting; threads beyond the row's end do nothing.
    return seconds * (1 + 0.02 * threads / 256) * (1 + 0.2 * (idle - 1));
}

const struct emitter rowwise_simt = {
    .name = "simt",
    .summary = "rows reduced along their last axis, results broadcast back: softmax, norms",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .accepts = rows_accept_last,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
