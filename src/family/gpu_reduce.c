// Results are laid out over threads in one of two ways, and several blocks may share one.
#include "family/gpu_reduce_private.h"

#include "base/arena.h"
#include "family/fold.h"

static const int threads_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, -1};
static const int results_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, -1};
static const int vec_grid[] = {1, 2, 4, -1};
static const int split_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, -1};

static const int rows_grid[] = {1, 2, 4, 8, -1};

// clang-format off
#define KNOBS \
    {.name = "threads", .summary = "threads per result", .n_parts = 1, .grid = {threads_grid}}, \
    {.name = "results", .summary = "results per block (across: vectors of them)", .n_parts = 1, \
     .grid = {results_grid}}, \
    {.name = "vec", .summary = "elements moved at once", .n_parts = 1, .grid = {vec_grid}}, \
    {.name = "split", .change = CHANGE_COMBINE, .summary = "blocks per result", .n_parts = 1, \
     .grid = {split_grid}}
// clang-format on

const struct knob gpu_reduce_knobs[] = {KNOBS, {0}};

const struct knob gpu_dot_knobs[] = {
    KNOBS,
    {.name = "rows",
     .summary = "rows of a thread, which share what is read of the right factor",
     .n_parts = 1,
     .grid = {rows_grid}},
    {0},
};

struct gpu_reduction gpu_reduction_of_product(const struct gemm_form *p,
                                              const struct kernel_stage *s) {
    return (struct gpu_reduction){.anchor = p->anchor,
                                  .rows = stage_has(s, "rows") ? stage_number(s, "rows", 0) : 1,
                                  .at = p->at,
                                  .product = p,
                                  .n_kept = p->group_k,
                                  .n_results = p->batch * p->m * p->n,
                                  .n_terms = p->k,
                                  .n_neighbours = p->lanes_k};
}

// Of the second kernel of a split.
enum { FINISH_ROWS = 4, FINISH_BLOCK = 128, FINISH_CHUNK = 16, FINISH_MANY = 1024 };
enum { SPLIT_MAX = 8192, UNROLL = 8 };  // terms of a thread that are loaded together

// Terms of one block, a multiple of vec.
static int64_t span_of(const struct gpu_reduction *f, const struct kernel_stage *s) {
    int64_t vec = f->across ? 1 : stage_number(s, "vec", 0);
    int64_t steps = f->n_terms / vec, split = stage_number(s, "split", 0);
    return (steps + split - 1) / split * vec;
}

static bool legal_team(const struct kernel_stage *s, const struct gpu_reduction *f,
                       struct objection *why) {
    int threads = stage_number(s, "threads", 0), results = stage_number(s, "results", 0);
    if (threads * results > GPU_BLOCK_MAX)
        return objection(why, "results",
                         "%d results of %d threads are %d threads a block, above %d: the nearest "
                         "is results %d",
                         results, threads, threads * results, GPU_BLOCK_MAX,
                         GPU_BLOCK_MAX / threads);
    if (threads * results < GPU_WARP)
        return objection(why, "results",
                         "%d threads a block are less than a warp: the nearest is results %d",
                         threads * results, GPU_WARP / threads);
    if (!f->across && threads < GPU_WARP)
        return objection(why, "threads",
                         "threads lie along what is reduced, a warp at least: the nearest is "
                         "threads 32");
    if (!f->across && threads > GPU_WARP && strips_teams(f, s) % results != 0)
        return objection(why, "results",
                         "%lld results are no multiple of results %d: the nearest is results 1, "
                         "or threads 32",
                         (long long)strips_teams(f, s), results);
    if (f->product && f->rows > f->product->m)
        return objection(why, "rows", "there are %lld rows: the nearest is rows 1",
                         (long long)f->product->m);
    return true;
}

bool gpu_reduce_legal(const struct gpu_reduction *f, const struct target *t,
                      const struct kernel_stage *s, struct objection *why) {
    int vec = stage_number(s, "vec", 0), split = stage_number(s, "split", 0);
    int threads = stage_number(s, "threads", 0), results = stage_number(s, "results", 0);
    enum { PEELED_MIN = 32 };  // vectors of a row that begins anywhere
    bool is_short = strips_are_peeled(f, s) && f->n_terms < PEELED_MIN * vec;
    if (!legal_team(s, f, why) ||
        (!strips_are_peeled(f, s) && !gpu_legal_vec(s, f->n_neighbours, why)))
        return false;
    if (is_short)
        return objection(why, "vec",
                         "vec %d needs rows of a multiple of %d elements, or %d of them: the "
                         "nearest is vec 1",
                         vec, vec, PEELED_MIN * vec);
    int64_t each = (int64_t)threads * (f->across ? 1 : vec);
    if (split > 1 && f->n_terms < split * each)
        return objection(why, "split",
                         "%lld terms are too few for %d blocks that take %lld at a time: the "
                         "nearest is split %d",
                         (long long)f->n_terms, split, (long long)each,
                         knob_at_most(&gpu_reduce_knobs[3], 0, (int)(f->n_terms / each)));
    int64_t shared = f->across && threads > 1 ? 4LL * threads * results * vec : 4 * GPU_BLOCK_MAX;
    return gpu_legal_shared(t, "results", shared, "half as many results", why) &&
           gpu_legal_grid("split", (strips_teams(f, s) / results + 1) * split, why);
}

// Few results leave the machine idle unless blocks share them.
static int split_for(const struct gpu_reduction *f, const struct target *t,
                     const struct kernel_stage *s) {
    int vec = stage_number(s, "vec", 0), threads = stage_number(s, "threads", 0), split = 1;
    int64_t each = (int64_t)stage_number(s, "results", 0) * (f->across ? vec : 1);
    int64_t blocks = strips_teams(f, s) / each + 1, step = (int64_t)threads * (f->across ? 1 : vec);
    // Odd rows are read faster by blocks that begin at several places of them: 75% of reach became
    // 81 to 90% on an H200, over axis 1 of 128 x 4096 x 4095.
    bool is_odd = f->across && vec == 1 && f->n_terms >= 128LL * threads;
    int64_t wanted = is_odd && blocks > t->sms ? 4 * blocks : 4 * t->sms;
    while (split < SPLIT_MAX && blocks * split < wanted && f->n_terms >= split * 16 * step)
        split *= 2;
    // Along: short blocks, so that some begin while others end, and few wait for the last (on an
    // H200 with 8192 blocks instead of 512: KL divergence of 16384 x 16384 95% of reach instead of
    // 89%, hinge loss of 32768 x 32768 100% instead of 97%, Huber loss 101% instead of 92%).
    while (!f->across && split < SPLIT_MAX && blocks * split < 96LL * t->sms &&
           f->n_terms >= split * 32 * step)
        split *= 2;
    return split;
}

void gpu_reduce_defaults(const struct gpu_reduction *f, const struct target *t,
                         struct kernel_stage *s) {
    enum { PEELED_LONG = 1 << 14 };  // terms from which on vectors of such rows are the default
    int vec = gpu_largest_vec(f->n_neighbours), threads = 32, results = 4;
    if (vec < 4 && f->product && f->peels && f->n_terms >= PEELED_LONG)
        vec = 4;
    if (f->across) {
        // Wide enough that neighbours in memory are read together.
        results = vec == 1 ? 128 : 32;
        threads = vec == 1 ? 8 : 16;
        while (threads > 1 && f->n_terms < 4 * threads)
            threads /= 2;
    } else {
        while (threads < 512 && gpu_walk_steps(f->n_terms, vec, threads) > 8)
            threads *= 2;
        results = threads < 128 ? 128 / threads : 1;
    }
    if (!f->across && strips_teams(f, s) % results != 0 && threads > GPU_WARP)
        results = 1;
    stage_set(s, "vec", 0, vec);
    stage_set(s, "threads", 0, threads);
    stage_set(s, "results", 0, results);
    struct objection why;
    stage_set(s, "split", 0, split_for(f, t, s));
    if (!gpu_reduce_legal(f, t, s, &why))
        stage_set(s, "split", 0, 1);
}

const struct loop_expr *reduce_op(const struct reduce_build *x, enum loop_op op,
                                  const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

const struct loop_expr *reduce_int(const struct reduce_build *x, int64_t value) {
    return loop_int(x->l->arena, value);
}

// The reduction's result is known at the scope: compute and store the values.
static void store_values(struct reduce_build *x, struct scope *s, const struct loop_expr *result) {
    const struct region *r = x->l->region;
    struct axis_map map = map_identity(r->graph->nodes[r->value[0]].shape.rank);
    point_define(s, x->f.anchor, &x->f.at, result);
    for (int i = 0; i < r->n_values; i++)
        point_store(s, i, &map, false);
}

// The argument at term number `j`, inside `outer`, where the results are fixed.
static const struct loop_expr *term(struct reduce_build *x, struct scope *outer,
                                    struct loop_builder *b, const struct loop_expr *j) {
    struct scope s = scope_inside(outer, b);
    scope_split(&s, j, x->f.n_kept, x->l->space.n_groups);
    s.lanes = x->vec;
    s.lane_group = x->f.across ? x->f.n_kept - 1 : x->l->space.n_groups - 1;
    const struct gemm_form *p = x->f.product;
    if (p)
        return reduce_op(x, LOOP_MUL, point_value(&s, p->lhs, &p->lhs_map),
                         point_value(&s, p->rhs, &p->rhs_map));
    node_id arg = x->l->region->graph->nodes[x->f.anchor].arg[0];
    return point_value(&s, arg, &x->f.arg);
}

void reduce_open(struct reduce_build *x, const struct loop_expr *groups, struct loop_builder *b) {
    struct arena *a = x->l->arena;
    const struct loop_expr *splits = reduce_int(x, x->n_splits);
    x->kernel = gpu_open_kernel(x->l, arena_printf(a, "%s_reduce", x->stage->values[0]),
                                reduce_op(x, LOOP_MUL, groups, splits), x->threads * x->results, b);
    x->split = reduce_op(x, LOOP_MOD, x->kernel.block, splits);
}

const struct loop_expr *reduce_first(const struct reduce_build *x) {
    return reduce_op(x, LOOP_MUL, x->split, reduce_int(x, x->span));
}

const struct loop_expr *reduce_end(const struct reduce_build *x, const struct loop_expr *all) {
    const struct loop_expr *end = reduce_op(x, LOOP_ADD, reduce_first(x), reduce_int(x, x->span));
    return reduce_op(x, LOOP_MIN, all, end);
}

static void add_term(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                     const struct loop_expr *item) {
    struct reduce_build *x = ctx;
    (void)item;
    gpu_fold_add(&x->folds[0], b, term(x, x->at, b, j));
}

void reduce_walk(struct reduce_build *x, struct gpu_walk *w, struct loop_builder *b) {
    w->l = x->l;
    w->folds = x->folds;
    w->n_folds = x->n_rows;
    // Enough loads under way to cover their latency; not more than registers are worth.
    int64_t steps = gpu_walk_steps(x->span, w->vec, x->threads);
    int unroll = w->n_folds < UNROLL / 2 ? UNROLL / w->n_folds : 2;
    w->unroll = steps >= 2 * unroll ? unroll : 0;
    for (int i = 0; i < w->n_folds; i++)
        gpu_fold_init_of(&x->folds[i], w, x->op, x->type, x->name);
    gpu_walk_build(w, b, x->is_strips ? strips_add : add_term, x);
}

// Along: a team of threads per result.

void reduce_store(struct reduce_build *x, struct loop_builder *b, const struct gpu_team *team,
                  const struct loop_expr *result, const struct loop_expr *row) {
    struct loop_builder first;
    loop_open_if(b, team->lane, reduce_int(x, 1), &first);
    struct scope s = scope_inside(x->at, &first);
    if (x->partial)
        loop_store(&first, x->partial,
                   reduce_op(x, LOOP_ADD, reduce_op(x, LOOP_MUL, row, reduce_int(x, x->n_splits)),
                             x->split),
                   result, false);
    else
        store_values(x, &s, result);
    loop_close(b, &first);
}

static void lower_along(struct reduce_build *x) {
    struct arena *a = x->l->arena;
    struct scope outer = {.lowering = x->l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *count = scope_count(&outer, 0, x->f.n_kept);
    const struct loop_expr *terms = scope_count(&outer, x->f.n_kept, x->l->space.n_groups);
    struct loop_builder b, guarded;
    reduce_open(x, loop_ceildiv(a, count, x->results), &b);
    outer.builder = &b;
    struct gpu_team team = gpu_make_team(a, x->kernel.thread, x->threads, x->results);
    const struct loop_expr *first =
        reduce_op(x, LOOP_DIV, x->kernel.block, reduce_int(x, x->n_splits));
    first = reduce_op(x, LOOP_MUL, first, reduce_int(x, x->results));
    const struct loop_expr *row = loop_let(&b, "row", reduce_op(x, LOOP_ADD, first, team.row));
    loop_open_if(&b, row, count, &guarded);
    struct scope s = scope_inside(&outer, &guarded);
    scope_split(&s, row, 0, x->f.n_kept);
    x->at = &s;
    struct gpu_walk w = {.team = &team, .vec = x->vec, .length = x->span};
    w.begin = reduce_first(x);
    w.end = reduce_end(x, terms);
    reduce_walk(x, &w, &guarded);
    reduce_store(x, &guarded, &team, x->folds[0].result, row);
    loop_close(&b, &guarded);
}

// Across: neighbouring threads have neighbouring results.

// Bring together what the threads of one result have: part number `lane` of `column` lies at
// lane * columns + column in shared memory.
static const struct loop_expr *meet(struct reduce_build *x, struct loop_builder *b,
                                    const struct loop_expr *lane, const struct loop_expr *column,
                                    struct loop_builder *first) {
    struct arena *a = x->l->arena;
    int width = x->results * x->vec;
    struct loop_size shape[] = {{x->threads, NULL}, {width, NULL}};
    struct loop_buffer *parts = loop_shared_of(x->l->program, arena_printf(a, "%s_parts", x->name),
                                               fold_storage(x->type), shape, 2);
    const struct loop_expr *own = reduce_op(x, LOOP_MUL, column, reduce_int(x, x->vec));
    const struct loop_expr *at = reduce_op(x, LOOP_MUL, lane, reduce_int(x, width));
    loop_store(b, parts, reduce_op(x, LOOP_ADD, at, own), x->folds[0].result, false);
    loop_barrier(b);
    loop_open_if(b, lane, reduce_int(x, 1), first);
    const struct loop_expr *all = x->folds[0].result;
    struct loop_buffer *sum = x->folds[0].total ? x->folds[0].total : x->folds[0].part;
    struct loop_for f = {"other", reduce_int(x, 1), reduce_int(x, x->threads), 1, true};
    struct loop_builder inner;
    const struct loop_expr *other = loop_open_for(first, &f, &inner);
    at = reduce_op(x, LOOP_ADD, reduce_op(x, LOOP_MUL, other, reduce_int(x, width)), own);
    loop_store(&inner, sum, reduce_int(x, 0),
               reduce_op(x, x->folds[0].op, all, loop_load(a, parts, at, x->vec, 1)), false);
    loop_close(first, &inner);
    return all;
}

// The thread's results from `flat` on are known: store them, where there are any.
static void store_across(struct reduce_build *x, struct scope *outer, const struct loop_expr *flat,
                         const struct loop_expr *count) {
    struct loop_builder guarded;
    loop_open_if(outer->builder, flat, count, &guarded);
    struct scope s = scope_inside(outer, &guarded);
    scope_split(&s, flat, 0, x->f.n_kept);
    s.lanes = x->folds[0].part->lanes;
    s.lane_group = x->f.n_kept - 1;
    if (x->partial)
        loop_store(&guarded, x->partial,
                   reduce_op(x, LOOP_ADD, reduce_op(x, LOOP_MUL, x->split, count), flat),
                   x->folds[0].result, false);
    else
        store_values(x, &s, loop_let(&guarded, x->name, x->folds[0].result));
    loop_close(outer->builder, &guarded);
}

static void walk_across(struct reduce_build *x, struct scope *outer, const struct loop_expr *lane,
                        const struct loop_expr *flat, const struct loop_expr *count) {
    const struct loop_expr *terms = scope_count(outer, x->f.n_kept, x->l->space.n_groups);
    // Threads beyond the last result follow the last ones, and come to the barrier with them.
    const struct loop_expr *last = reduce_op(x, LOOP_SUB, count, reduce_int(x, x->vec));
    struct scope s = scope_inside(outer, outer->builder);
    scope_split(&s, loop_let(outer->builder, "at", reduce_op(x, LOOP_MIN, flat, last)), 0,
                x->f.n_kept);
    s.lanes = x->vec;
    s.lane_group = x->f.n_kept - 1;
    x->at = &s;
    struct gpu_team team = {.threads = x->threads, .lane = lane};
    struct gpu_walk w = {.team = &team, .vec = 1, .lanes = x->vec, .apart = true};
    w.length = x->span;
    w.begin = reduce_first(x);
    w.end = reduce_end(x, terms);
    reduce_walk(x, &w, outer->builder);
}

static void lower_across(struct reduce_build *x) {
    struct arena *a = x->l->arena;
    struct scope outer = {.lowering = x->l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *count = scope_count(&outer, 0, x->f.n_kept);
    int64_t width = (int64_t)x->results * x->vec;
    struct loop_builder b, first;
    reduce_open(x, loop_ceildiv(a, count, width), &b);
    outer.builder = &b;
    const struct loop_expr *column =
        reduce_op(x, LOOP_MOD, x->kernel.thread, reduce_int(x, x->results));
    const struct loop_expr *lane =
        reduce_op(x, LOOP_DIV, x->kernel.thread, reduce_int(x, x->results));
    const struct loop_expr *flat =
        reduce_op(x, LOOP_DIV, x->kernel.block, reduce_int(x, x->n_splits));
    flat = reduce_op(x, LOOP_MUL, flat, reduce_int(x, width));
    flat = reduce_op(x, LOOP_ADD, flat, reduce_op(x, LOOP_MUL, column, reduce_int(x, x->vec)));
    flat = loop_let(&b, "i", flat);
    walk_across(x, &outer, lane, flat, count);
    if (x->threads == 1) {
        store_across(x, &outer, flat, count);
        return;
    }
    meet(x, &b, lane, column, &first);
    struct scope once = scope_inside(&outer, &first);
    store_across(x, &once, flat, count);
    loop_close(&b, &first);
}

// The second kernel of a split reduction: it reduces `partial`, one result per row (along: a
// warp for each, of many parts a block) or per column (across: a thread for each).

struct second_kernel {
    struct reduce_build *build;
    const struct loop_buffer *partial;
    const struct loop_expr *row, *count;
};

static void add_partial(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                        const struct loop_expr *item) {
    struct second_kernel *e = ctx;
    struct reduce_build *x = e->build;
    (void)item;
    const struct loop_expr *at =
        x->f.across
            ? reduce_op(x, LOOP_ADD, reduce_op(x, LOOP_MUL, j, e->count), e->row)
            : reduce_op(x, LOOP_ADD, reduce_op(x, LOOP_MUL, e->row, reduce_int(x, x->n_splits)), j);
    gpu_fold_add(&x->folds[0], b, loop_load(x->l->arena, e->partial, at, 1, 1));
}

static void lower_ending(struct reduce_build *x) {
    struct arena *a = x->l->arena;
    struct scope outer = {.lowering = x->l, .lane_group = -1, .lanes = 1};
    struct second_kernel e = {.build = x, .partial = x->partial};
    e.count = scope_count(&outer, 0, x->f.n_kept);
    x->partial = NULL;
    int threads = x->f.across ? 1 : GPU_WARP, rows = x->f.across ? FINISH_BLOCK : FINISH_ROWS;
    if (!x->f.across && x->n_splits > FINISH_MANY) {  // a block for each: a warp would take long
        threads = FINISH_BLOCK;
        rows = 1;
    }
    struct loop_builder b, guarded;
    struct gpu_kernel k = gpu_open_kernel(x->l, arena_printf(a, "%s_finish", x->stage->values[0]),
                                          loop_ceildiv(a, e.count, rows), threads * rows, &b);
    outer.builder = &b;
    struct gpu_team team = gpu_make_team(a, k.thread, threads, rows);
    const struct loop_expr *first = reduce_op(x, LOOP_MUL, k.block, reduce_int(x, rows));
    e.row = loop_let(&b, "row", reduce_op(x, LOOP_ADD, first, team.row));
    loop_open_if(&b, e.row, e.count, &guarded);
    struct scope s = scope_inside(&outer, &guarded);
    scope_split(&s, e.row, 0, x->f.n_kept);
    x->at = &s;
    // The parts are large sums already: a long chain of them would cost precision.
    struct gpu_walk w = {
        .l = x->l, .team = &team, .vec = 1, .length = x->n_splits, .chunk = FINISH_CHUNK};
    w.begin = reduce_int(x, 0);
    w.end = reduce_int(x, x->n_splits);
    w.apart = x->f.across;
    w.folds = x->folds;
    w.n_folds = 1;
    gpu_fold_init_of(&x->folds[0], &w, x->op, x->type, x->name);
    gpu_walk_build(&w, &guarded, add_partial, &e);
    if (x->f.across)
        store_values(x, &s, loop_let(&guarded, x->name, x->folds[0].result));
    else
        reduce_store(x, &guarded, &team, x->folds[0].result, e.row);
    loop_close(&b, &guarded);
}

void gpu_reduce_lower(struct lowering *l, const struct gpu_reduction *f,
                      const struct kernel_stage *stage) {
    struct reduce_build x = {.l = l, .stage = stage, .f = *f};
    const struct node *anchor = &l->region->graph->nodes[x.f.anchor];
    x.op = x.f.product ? OP_RSUM : anchor->op;
    x.type = loop_arithmetic(anchor->dtype);
    x.name = anchor->name;
    x.threads = stage_number(stage, "threads", 0);
    x.results = stage_number(stage, "results", 0);
    x.vec = stage_number(stage, "vec", 0);
    x.n_rows = x.f.rows > 1 ? x.f.rows : 1;
    x.is_strips = x.n_rows > 1 || strips_are_peeled(&x.f, stage);
    x.span = span_of(&x.f, stage);
    // Peeled rows have as many vectors as others, or one fewer: no block is without any.
    int64_t n_terms = x.f.n_terms - (strips_are_peeled(&x.f, stage) ? x.f.n_terms % x.vec : 0);
    x.n_splits = (n_terms + x.span - 1) / x.span;
    if (x.n_splits > 1) {
        struct loop_size results = {x.f.n_results, NULL}, splits = {x.n_splits, NULL};
        struct loop_size shape[] = {x.f.across ? splits : results, x.f.across ? results : splits};
        x.partial = loop_global_of(l->program, arena_printf(l->arena, "%s_parts", x.name),
                                   LOOP_SCRATCH, fold_storage(x.type), shape, 2);
    }
    if (x.f.across)
        lower_across(&x);
    else if (x.is_strips)
        strips_lower(&x);
    else
        lower_along(&x);
    x.n_rows = 1;
    if (x.partial)
        lower_ending(&x);
}

double gpu_reduce_estimate(const struct gpu_reduction *f, const struct target *t,
                           const struct kernel_stage *s, double bytes) {
    int threads = stage_number(s, "threads", 0), results = stage_number(s, "results", 0);
    int vec = stage_number(s, "vec", 0), split = stage_number(s, "split", 0);
    struct gpu_traffic traffic = {.bytes = bytes, .threads = threads * results};
    traffic.blocks = (double)strips_teams(f, s) / (results * (f->across ? vec : 1)) * split;
    if (traffic.blocks < 1)
        traffic.blocks = 1;
    traffic.in_flight = 4.0 * vec * 4;
    double seconds = gpu_estimate_traffic(t, &traffic);
    // Rows of a warp's width are read well, narrower ones badly.
    double width = f->across ? results * vec : threads * vec;
    return seconds * (width < 32 ? 32 / width : 1) + (split > 1 ? 3e-6 + 2e-9 * split : 0);
}
