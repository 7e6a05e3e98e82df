// rowwise on a GPU where the last axis is kept: elements of a row lie far apart, and those of
// neighbouring rows side by side (an RMS norm over channels, a softmax over axis 0).
//
// Neighbouring threads have neighbouring rows, in vectors. Several threads may share a row, each
// taking every so many of its elements; they meet in shared memory, where each adds up what all
// have in the same order. What a thread has read it keeps in registers, if there are enough, so
// memory is read once.
#include <math.h>

#include "base/arena.h"
#include "family/fold.h"
#include "family/gpu.h"
#include "family/knobs.h"
#include "family/rows_keep.h"

static const int columns_grid[] = {32, 64, 128, 256, 512, -1};
static const int threads_grid[] = {1, 2, 4, 8, 16, 32, -1};
static const int vec_grid[] = {1, 2, 4, 8, -1};
static const int unroll_grid[] = {1, 2, 4, 8, -1};
static const char *const keep_words[] = {"reread", "register", NULL};

static const struct knob knobs[] = {
    {.name = "columns",
     .summary = "vectors of rows side by side in a block",
     .n_parts = 1,
     .grid = {columns_grid}},
    {.name = "threads", .summary = "threads per row", .n_parts = 1, .grid = {threads_grid}},
    {.name = "vec", .summary = "rows moved at once", .n_parts = 1, .grid = {vec_grid}},
    {.name = "unroll",
     .summary = "elements of a thread under way together (not keep register)",
     .n_parts = 1,
     .grid = {unroll_grid}},
    {.name = "keep", .summary = "where a row stays between its walks", .words = keep_words},
    KNOB_DIVIDE,
    KNOB_GPU_STORE,
    {0},
};

// With more floats in registers the compiler spills; what a thread needs besides.
enum { KEPT_MAX = 128, REGISTERS_BASE = 32 };

struct choice {
    int columns, threads, vec, unroll;
    bool in_registers;
};

static struct choice read_choice(const struct kernel_stage *s) {
    return (struct choice){stage_number(s, "columns", 0), stage_number(s, "threads", 0),
                           stage_number(s, "vec", 0), stage_number(s, "unroll", 0),
                           stage_word_is(s, "keep", "register")};
}

struct figures {
    int64_t n_rows, n_columns, lanes;
    int n_slots, n_levels, n_anchors;
    bool is_half;  // rows are 16-bit floats
    double bytes_read, bytes_written, compute_s, walks;
};

static struct figures find_figures(const struct form *form, const struct target *t) {
    struct arena scratch = {0};
    struct rows_keep keep;
    struct region_work w;
    rows_plan_keep(form->rows, &scratch, false, &keep);
    region_count(form->region, &w);
    struct figures f = {.n_rows = form->rows->n_rows,
                        .n_columns = form->rows->n_columns,
                        .lanes = form->lanes,
                        .n_slots = keep.n_slots,
                        .n_levels = keep.walks.n_levels,
                        .n_anchors = form->region->n_anchors,
                        .is_half = rows_are_half(form->rows),
                        .bytes_read = w.bytes_read,
                        .bytes_written = w.bytes_written,
                        .walks = keep.walks.n_levels + rows_any_full_value(form->rows)};
    f.compute_s = (w.flops + 16 * w.slow_flops) / (0.5 * gpu_flops_per_s(t));
    arena_reset(&scratch);
    return f;
}

static int64_t kept_floats(const struct figures *f, const struct choice *c) {
    return c->in_registers ? f->n_slots * gpu_walk_steps(f->n_columns, 1, c->threads) * c->vec
                           : (int64_t)c->unroll * c->vec;
}

static bool is_legal_choice(const struct target *t, const struct figures *f, const struct choice *c,
                            struct objection *why) {
    if (f->lanes % c->vec != 0)
        return objection(why, "vec",
                         "vec %d needs a last axis of a multiple of %d elements, and %lld go "
                         "together: the nearest is vec %d",
                         c->vec, c->vec, (long long)f->lanes, gpu_largest_vec(f->lanes));
    if (c->columns * c->threads > GPU_BLOCK_MAX)
        return objection(why, "threads",
                         "%d columns of %d threads are %d threads a block, above %d: the nearest "
                         "is threads %d",
                         c->columns, c->threads, c->columns * c->threads, GPU_BLOCK_MAX,
                         GPU_BLOCK_MAX / c->columns);
    if (c->threads > f->n_columns)
        return objection(why, "threads", "a row has %lld elements: the nearest is threads 1",
                         (long long)f->n_columns);
    if (c->in_registers && f->n_slots == 0)
        return objection(why, "keep",
                         "nothing of a row is needed twice: the nearest is keep reread");
    if (c->in_registers && c->unroll != 1)
        return objection(why, "unroll", "keep register unrolls all: the nearest is unroll 1");
    int64_t floats = kept_floats(f, c);
    if (c->in_registers && floats > KEPT_MAX)
        return objection(why, "keep",
                         "%lld floats in registers of a thread, above %d: the nearest is keep "
                         "reread, or more threads",
                         (long long)floats, KEPT_MAX);
    struct gpu_demand demand = {"keep", c->columns * c->threads, floats, "keep reread"};
    int64_t shared = 4LL * f->n_anchors * c->columns * c->threads * c->vec;
    return gpu_legal_registers(t, &demand, why) &&
           gpu_legal_shared(t, "columns", shared, "half as many columns", why) &&
           gpu_legal_grid("columns", f->n_rows / c->columns + 1, why);
}

static bool is_legal(const struct form *form, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct figures f = find_figures(form, t);
    struct choice c = read_choice(s);
    return is_legal_choice(t, &f, &c, why);
}

static bool accepts(const struct form *form, const struct target *t, struct objection *why) {
    (void)t;
    return !form->rows->is_along ||
           objection(why, NULL, "elements of a row are neighbours in memory, not those of rows");
}

// Seconds: traffic, with what is under way at once (as rowwise_blocks.c has it), and waves.
static double seconds_of(const struct target *t, const struct figures *f, const struct choice *c) {
    double rate = gpu_bytes_per_s(t), threads = c->columns * c->threads;
    double registers = REGISTERS_BASE + 1.25 * (double)kept_floats(f, c);
    double n_resident = floor(fmin(t->threads_per_sm, t->registers_per_sm / registers) / threads);
    n_resident = fmax(1, n_resident);
    double blocks = ceil((double)f->n_rows / ((double)c->columns * c->vec));
    double at_once = fmin(blocks, n_resident * t->sms);
    double read = f->bytes_read * (c->in_registers ? 1 : 1 + (f->walks - 1) * 0.8);
    double steps = (double)gpu_walk_steps(f->n_columns, 1, c->threads);
    double in_flight = c->in_registers ? fmin(16, steps) : c->unroll;
    double size = f->is_half ? 2 : 4;
    double share = 1 - exp(-at_once * threads * in_flight * c->vec * size / (rate * 0.6e-6));
    double waves = blocks / (n_resident * t->sms), tail = waves > 1 ? ceil(waves) / waves : 1;
    double memory = (read + f->bytes_written) / (rate * share) * (1 + 0.3 * (tail - 1));
    // Threads wait for each other; several blocks on a multiprocessor fill the wait.
    if (c->in_registers)
        memory *= 1 + 0.25 / (n_resident * n_resident);
    memory *= 1 + 0.1 * fmax(0, 16 / (c->vec * size) - 1);
    double width = (double)c->columns * c->vec;
    memory *= width < 128 ? 1 + 0.1 * (128 / width - 1) : 1;
    return fmax(memory, f->compute_s) + 0.2 * fmin(memory, f->compute_s) + 3e-6;
}

static double estimate(const struct form *form, const struct target *t,
                       const struct kernel_stage *s) {
    struct figures f = find_figures(form, t);
    struct choice c = read_choice(s);
    return seconds_of(t, &f, &c);
}

static void defaults(const struct form *form, const struct target *t, struct kernel_stage *s) {
    struct figures f = find_figures(form, t);
    struct objection why;
    struct choice c, best = {.columns = 32, .threads = 1, .vec = 1, .unroll = 1};
    double least = INFINITY;
    for (int k = 0; k < 2; k++)
        for (int v = 0; vec_grid[v] > 0 && vec_grid[v] <= (f.is_half ? 8 : 4); v++)
            for (c.columns = 32; c.columns <= 256; c.columns *= 2)
                for (c.threads = 1; c.threads <= 32; c.threads *= 2) {
                    c.vec = vec_grid[v];
                    c.in_registers = k;
                    c.unroll = k ? 1 : 8;
                    if (!is_legal_choice(t, &f, &c, &why) || seconds_of(t, &f, &c) >= least)
                        continue;
                    least = seconds_of(t, &f, &c);
                    best = c;
                }
    stage_set(s, "columns", 0, best.columns);
    stage_set(s, "threads", 0, best.threads);
    stage_set(s, "vec", 0, best.vec);
    stage_set(s, "unroll", 0, best.unroll);
    stage_set_word(s, "keep", best.in_registers ? "register" : "reread");
    if (f.is_half)
        stage_set_word(s, "divide", "reciprocal");
}

struct build {
    struct lowering *l;
    const struct kernel_stage *stage;
    const struct rows_form *form;
    struct rows_keep keep;
    struct choice c;
    int n_kept;  // groups of the space
    struct gpu_walk walk;
    const struct loop_expr *lane, *column, *flat, *count;
    int now;                    // the walk being built, from 1
    node_id *folded;            // the reductions of this walk
    struct loop_buffer **kept;  // per node: registers
    struct scope *at;           // the rows are fixed
};

static const struct loop_expr *op2(const struct build *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

static const struct loop_expr *integer(const struct build *x, int64_t value) {
    return loop_int(x->l->arena, value);
}

static void set_lanes(const struct build *x, struct scope *s) {
    s->lanes = x->c.vec;
    s->lane_group = x->c.vec > 1 ? x->n_kept - 1 : -1;
}

static bool keeps_from_here(const struct build *x, node_id n) {
    return x->kept[n] && x->keep.walks.first[n] == x->now;
}

static void store_values(struct build *x, struct loop_builder *b, struct scope *s, bool full) {
    const struct region *r = x->l->region;
    struct loop_builder inside;
    // Rows beyond the last are those of other threads.
    loop_open_if(b, x->flat, x->count, &inside);
    struct scope at = scope_inside(s, &inside);
    set_lanes(x, &at);
    for (int i = 0; i < r->n_values; i++) {
        struct axis_map map;
        if (rows_is_full(x->form, r->value[i]) == full &&
            rows_value_map(x->form, r->value[i], &map))
            point_store(&at, i, &map, full && stage_word_is(x->stage, "store", "stream"));
    }
    loop_close(b, &inside);
}

static void walk_body(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                      const struct loop_expr *item) {
    struct build *x = ctx;
    struct arena *a = x->l->arena;
    const struct graph *g = x->l->region->graph;
    const struct rows_walks *w = &x->keep.walks;
    struct scope s = scope_inside(x->at, b);
    scope_split(&s, j, x->n_kept, x->l->space.n_groups);
    set_lanes(x, &s);
    for (node_id n = 0; n < g->n_nodes; n++)
        if (x->kept[n] && w->first[n] < x->now && w->last[n] >= x->now)
            point_define(&s, n, &x->form->map,
                         loop_let(b, g->nodes[n].name, loop_load(a, x->kept[n], item, s.lanes, 1)));
    for (int i = 0; i < x->walk.n_folds; i++)
        gpu_fold_add(&x->walk.folds[i], b,
                     point_value(&s, g->nodes[x->folded[i]].arg[0], &x->form->map));
    for (node_id n = 0; n < g->n_nodes; n++)
        if (keeps_from_here(x, n))
            loop_store(b, x->kept[n], item,
                       loop_broadcast(a, point_value(&s, n, &x->form->map), s.lanes), false);
    if (x->now > w->n_levels)
        store_values(x, b, &s, true);
}

// What the threads of a row have, added up by each of them in the same order.
static void meet(struct build *x, struct loop_builder *b) {
    struct arena *a = x->l->arena;
    int width = x->c.columns * x->c.vec;
    struct loop_size shape[] = {{x->c.threads, NULL}, {width, NULL}};
    struct loop_buffer **parts = arena_array(a, struct loop_buffer *, x->walk.n_folds + 1);
    const struct loop_expr *own = op2(x, LOOP_MUL, x->column, integer(x, x->c.vec));
    const struct loop_expr *mine = op2(x, LOOP_MUL, x->lane, integer(x, width));
    for (int i = 0; i < x->walk.n_folds; i++) {
        const struct gpu_fold *f = &x->walk.folds[i];
        parts[i] = loop_shared_of(x->l->program, arena_printf(a, "%s_parts", f->name),
                                  fold_storage(f->type), shape, 2);
        loop_store(b, parts[i], op2(x, LOOP_ADD, mine, own), f->result, false);
    }
    loop_barrier(b);
    for (int i = 0; i < x->walk.n_folds; i++) {
        struct gpu_fold *f = &x->walk.folds[i];
        const struct loop_expr *all = loop_load(a, parts[i], own, x->c.vec, 1);
        for (int other = 1; other < x->c.threads; other++) {
            const struct loop_expr *at = op2(x, LOOP_ADD, integer(x, other * width), own);
            all = op2(x, f->op, all, loop_load(a, parts[i], at, x->c.vec, 1));
        }
        f->result = all;
    }
}

static void build_walk(struct build *x) {
    const struct region *r = x->l->region;
    struct axis_map kept = map_identity(x->form->n_kept_axes);
    struct gpu_walk *w = &x->walk;
    struct loop_builder *b = x->at->builder;
    w->folds = arena_array(x->l->arena, struct gpu_fold, r->n_anchors + 1);
    w->n_folds = 0;
    for (int i = 0; i < r->n_anchors; i++)
        if (r->level[r->anchor[i]] == x->now) {
            x->folded[w->n_folds] = r->anchor[i];
            gpu_fold_init(&w->folds[w->n_folds++], w, &r->graph->nodes[r->anchor[i]]);
        }
    gpu_walk_build(w, b, walk_body, x);
    if (x->c.threads > 1 && w->n_folds > 0)
        meet(x, b);
    for (int i = 0; i < w->n_folds; i++)
        point_define(x->at, x->folded[i], &kept, loop_let(b, w->folds[i].name, w->folds[i].result));
}

static void make_kept(struct build *x) {
    struct arena *a = x->l->arena;
    const struct graph *g = x->l->region->graph;
    x->kept = arena_array(a, struct loop_buffer *, g->n_nodes);
    for (node_id n = 0; n < g->n_nodes && x->c.in_registers; n++)
        if (x->keep.is_kept[n])
            x->kept[n] = loop_register(x->l->program, arena_printf(a, "%s_row", g->nodes[n].name),
                                       x->walk.items, x->c.vec);
}

static void store_rows(struct build *x) {
    struct loop_builder *b = x->at->builder, first;
    bool any = false;
    for (int i = 0; i < x->l->region->n_values; i++)
        any |= !rows_is_full(x->form, x->l->region->value[i]);
    if (!any)
        return;
    loop_open_if(b, x->lane, integer(x, 1), &first);
    store_values(x, &first, x->at, false);
    loop_close(b, &first);
}

static void open_kernel(struct build *x, struct scope *outer, struct loop_builder *b) {
    struct arena *a = x->l->arena;
    int width = x->c.columns * x->c.vec;
    x->count = scope_count(outer, 0, x->n_kept);
    struct gpu_kernel k =
        gpu_open_kernel(x->l, arena_printf(a, "%s_rowwise", x->stage->values[0]),
                        loop_ceildiv(a, x->count, width), x->c.columns * x->c.threads, b);
    outer->builder = b;
    x->column = op2(x, LOOP_MOD, k.thread, integer(x, x->c.columns));
    x->lane = op2(x, LOOP_DIV, k.thread, integer(x, x->c.columns));
    x->flat = op2(x, LOOP_MUL, k.block, integer(x, width));
    x->flat = op2(x, LOOP_ADD, x->flat, op2(x, LOOP_MUL, x->column, integer(x, x->c.vec)));
    x->flat = loop_let(b, "i", x->flat);
}

static void lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage) {
    struct arena *a = l->arena;
    struct build x = {.l = l, .stage = stage, .form = form->rows, .c = read_choice(stage)};
    struct loop_builder b;
    rows_plan_keep(x.form, a, false, &x.keep);
    x.n_kept = rows_build_space(l, x.form);
    x.folded = arena_array(a, node_id, l->region->n_anchors + 1);
    l->reciprocal = stage_word_is(stage, "divide", "reciprocal");
    l->is_quick = rows_are_half(form->rows);
    struct scope outer = {.lowering = l, .lane_group = -1, .lanes = 1};
    open_kernel(&x, &outer, &b);
    // Threads beyond the last row follow the last ones, and come to the barriers with them.
    const struct loop_expr *last = op2(&x, LOOP_SUB, x.count, integer(&x, x.c.vec));
    struct scope s = scope_inside(&outer, &b);
    scope_split(&s, loop_let(&b, "at", op2(&x, LOOP_MIN, x.flat, last)), 0, x.n_kept);
    set_lanes(&x, &s);
    x.at = &s;
    struct gpu_team team = {.threads = x.c.threads, .rows = 1, .lane = x.lane};
    x.walk = (struct gpu_walk){.l = l, .team = &team, .vec = 1, .lanes = x.c.vec, .apart = true};
    x.walk.length = x.form->n_columns;
    x.walk.begin = integer(&x, 0);
    x.walk.end = scope_count(&s, x.n_kept, l->space.n_groups);
    if (x.c.in_registers)
        x.walk.items = (int)gpu_walk_steps(x.form->n_columns, 1, x.c.threads);
    else
        x.walk.unroll = x.c.unroll;
    make_kept(&x);
    for (x.now = 1; x.now <= x.keep.walks.n_levels; x.now++)
        build_walk(&x);
    if (rows_any_full_value(x.form))
        build_walk(&x);
    store_rows(&x);
}

const struct emitter rowwise_columns = {
    .name = "columns",
    .summary = "rows along other axes than the last, neighbouring ones by neighbouring threads",
    .knobs = knobs,
    .runs_on = emitter_runs_on_gpu,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
