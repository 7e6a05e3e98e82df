// Results are laid out over threads in one of two ways, and several blocks may share one.
#include "family/gpu_reduce.h"

#include "base/arena.h"
#include "family/fold.h"
#include "family/gemm_form.h"
#include "family/gpu.h"

static const int threads_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, -1};
static const int results_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, -1};
static const int vec_grid[] = {1, 2, 4, -1};
static const int split_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, -1};

const struct knob gpu_reduce_knobs[] = {
    {.name = "threads", .summary = "threads per result", .n_parts = 1, .grid = {threads_grid}},
    {.name = "results",
     .summary = "results per block (across: vectors of them)",
     .n_parts = 1,
     .grid = {results_grid}},
    {.name = "vec", .summary = "elements moved at once", .n_parts = 1, .grid = {vec_grid}},
    {.name = "split",
     .change = CHANGE_COMBINE,
     .summary = "blocks per result",
     .n_parts = 1,
     .grid = {split_grid}},
    {0},
};

struct gpu_reduction gpu_reduction_of_product(const struct gemm_form *p) {
    return (struct gpu_reduction){.anchor = p->anchor,
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
    if (!f->across && threads > GPU_WARP && f->n_results % results != 0)
        return objection(why, "results",
                         "%lld results are no multiple of results %d: the nearest is results 1, "
                         "or threads 32",
                         (long long)f->n_results, results);
    return true;
}

bool gpu_reduce_legal(const struct gpu_reduction *f, const struct target *t,
                      const struct kernel_stage *s, struct objection *why) {
    int vec = stage_number(s, "vec", 0), split = stage_number(s, "split", 0);
    int threads = stage_number(s, "threads", 0), results = stage_number(s, "results", 0);
    if (!legal_team(s, f, why) || !gpu_legal_vec(s, f->n_neighbours, why))
        return false;
    int64_t each = (int64_t)threads * (f->across ? 1 : vec);
    if (split > 1 && f->n_terms < split * each)
        return objection(why, "split",
                         "%lld terms are too few for %d blocks that take %lld at a time: the "
                         "nearest is split %d",
                         (long long)f->n_terms, split, (long long)each,
                         knob_at_most(&gpu_reduce_knobs[3], 0, (int)(f->n_terms / each)));
    int64_t shared = f->across && threads > 1 ? 4LL * threads * results * vec : 4 * GPU_BLOCK_MAX;
    return gpu_legal_shared(t, "results", shared, "half as many results", why) &&
           gpu_legal_grid("split", (f->n_results / results + 1) * split, why);
}

// Few results leave the machine idle unless blocks share them.
static int split_for(const struct gpu_reduction *f, const struct target *t,
                     const struct kernel_stage *s) {
    int vec = stage_number(s, "vec", 0), threads = stage_number(s, "threads", 0), split = 1;
    int64_t each = (int64_t)stage_number(s, "results", 0) * (f->across ? vec : 1);
    int64_t blocks = f->n_results / each + 1, step = (int64_t)threads * (f->across ? 1 : vec);
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
    int vec = gpu_largest_vec(f->n_neighbours), threads = 32, results = 4;
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
    if (!f->across && f->n_results % results != 0 && threads > GPU_WARP)
        results = 1;
    stage_set(s, "vec", 0, vec);
    stage_set(s, "threads", 0, threads);
    stage_set(s, "results", 0, results);
    struct objection why;
    stage_set(s, "split", 0, split_for(f, t, s));
    if (!gpu_reduce_legal(f, t, s, &why))
        stage_set(s, "split", 0, 1);
}

struct build {
    struct lowering *l;
    const struct kernel_stage *stage;
    struct gpu_reduction f;
    enum op op;            // the reduction's
    enum loop_dtype type;  // what it is computed in
    const char *name;      // and its name
    struct gpu_fold fold;
    int threads, results, vec;
    int64_t span, n_splits;
    struct loop_buffer *partial;  // scratch; NULL: one block has it all
    struct gpu_kernel kernel;
    const struct loop_expr *split;  // which part of the terms
    struct scope *at;               // results fixed
};

static const struct loop_expr *op2(const struct build *x, enum loop_op op,
                                   const struct loop_expr *p, const struct loop_expr *q) {
    return loop_binary(x->l->arena, op, p, q);
}

static const struct loop_expr *integer(const struct build *x, int64_t value) {
    return loop_int(x->l->arena, value);
}

// The reduction's result is known at the scope: compute and store the values.
static void store_values(struct build *x, struct scope *s, const struct loop_expr *result) {
    const struct region *r = x->l->region;
    struct axis_map map = map_identity(r->graph->nodes[r->value[0]].shape.rank);
    point_define(s, x->f.anchor, &x->f.at, result);
    for (int i = 0; i < r->n_values; i++)
        point_store(s, i, &map, false);
}

// The argument at term number `j`, inside `outer`, where the results are fixed.
static const struct loop_expr *term(struct build *x, struct scope *outer, struct loop_builder *b,
                                    const struct loop_expr *j) {
    struct scope s = scope_inside(outer, b);
    scope_split(&s, j, x->f.n_kept, x->l->space.n_groups);
    s.lanes = x->vec;
    s.lane_group = x->f.across ? x->f.n_kept - 1 : x->l->space.n_groups - 1;
    const struct gemm_form *p = x->f.product;
    if (p)
        return op2(x, LOOP_MUL, point_value(&s, p->lhs, &p->lhs_map),
                   point_value(&s, p->rhs, &p->rhs_map));
    node_id arg = x->l->region->graph->nodes[x->f.anchor].arg[0];
    return point_value(&s, arg, &x->f.arg);
}

static void open_kernel(struct build *x, const struct loop_expr *groups, struct loop_builder *b) {
    struct arena *a = x->l->arena;
    const struct loop_expr *splits = integer(x, x->n_splits);
    x->kernel = gpu_open_kernel(x->l, arena_printf(a, "%s_reduce", x->stage->values[0]),
                                op2(x, LOOP_MUL, groups, splits), x->threads * x->results, b);
    x->split = op2(x, LOOP_MOD, x->kernel.block, splits);
}

static const struct loop_expr *first_term(const struct build *x) {
    return op2(x, LOOP_MUL, x->split, integer(x, x->span));
}

static const struct loop_expr *end_of_terms(const struct build *x, const struct loop_expr *all) {
    const struct loop_expr *end = op2(x, LOOP_ADD, first_term(x), integer(x, x->span));
    return op2(x, LOOP_MIN, all, end);
}

static void add_term(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                     const struct loop_expr *item) {
    struct build *x = ctx;
    (void)item;
    gpu_fold_add(&x->fold, b, term(x, x->at, b, j));
}

static void walk_terms(struct build *x, struct gpu_walk *w, struct loop_builder *b) {
    w->l = x->l;
    w->folds = &x->fold;
    w->n_folds = 1;
    // Enough loads under way to cover their latency; not more than registers are worth.
    int64_t steps = gpu_walk_steps(x->span, w->vec, x->threads);
    w->unroll = steps >= 2 * UNROLL ? UNROLL : 0;
    gpu_fold_init_of(&x->fold, w, x->op, x->type, x->name);
    gpu_walk_build(w, b, add_term, x);
}

// Along: a team of threads per result.

static void store_along(struct build *x, struct loop_builder *b, const struct gpu_team *team,
                        const struct loop_expr *result, const struct loop_expr *row) {
    struct loop_builder first;
    loop_open_if(b, team->lane, integer(x, 1), &first);
    struct scope s = scope_inside(x->at, &first);
    if (x->partial)
        loop_store(&first, x->partial,
                   op2(x, LOOP_ADD, op2(x, LOOP_MUL, row, integer(x, x->n_splits)), x->split),
                   result, false);
    else
        store_values(x, &s, result);
    loop_close(b, &first);
}

static void lower_along(struct build *x) {
    struct arena *a = x->l->arena;
    struct scope outer = {.lowering = x->l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *count = scope_count(&outer, 0, x->f.n_kept);
    const struct loop_expr *terms = scope_count(&outer, x->f.n_kept, x->l->space.n_groups);
    struct loop_builder b, guarded;
    open_kernel(x, loop_ceildiv(a, count, x->results), &b);
    outer.builder = &b;
    struct gpu_team team = gpu_make_team(a, x->kernel.thread, x->threads, x->results);
    const struct loop_expr *first = op2(x, LOOP_DIV, x->kernel.block, integer(x, x->n_splits));
    first = op2(x, LOOP_MUL, first, integer(x, x->results));
    const struct loop_expr *row = loop_let(&b, "row", op2(x, LOOP_ADD, first, team.row));
    loop_open_if(&b, row, count, &guarded);
    struct scope s = scope_inside(&outer, &guarded);
    scope_split(&s, row, 0, x->f.n_kept);
    x->at = &s;
    struct gpu_walk w = {.team = &team, .vec = x->vec, .length = x->span};
    w.begin = first_term(x);
    w.end = end_of_terms(x, terms);
    walk_terms(x, &w, &guarded);
    store_along(x, &guarded, &team, x->fold.result, row);
    loop_close(&b, &guarded);
}

// Across: neighbouring threads have neighbouring results.

// Bring together what the threads of one result have: part number `lane` of `column` lies at
// lane * columns + column in shared memory.
static const struct loop_expr *meet(struct build *x, struct loop_builder *b,
                                    const struct loop_expr *lane, const struct loop_expr *column,
                                    struct loop_builder *first) {
    struct arena *a = x->l->arena;
    int width = x->results * x->vec;
    struct loop_size shape[] = {{x->threads, NULL}, {width, NULL}};
    struct loop_buffer *parts = loop_shared_of(x->l->program, arena_printf(a, "%s_parts", x->name),
                                               fold_storage(x->type), shape, 2);
    const struct loop_expr *own = op2(x, LOOP_MUL, column, integer(x, x->vec));
    const struct loop_expr *at = op2(x, LOOP_MUL, lane, integer(x, width));
    loop_store(b, parts, op2(x, LOOP_ADD, at, own), x->fold.result, false);
    loop_barrier(b);
    loop_open_if(b, lane, integer(x, 1), first);
    const struct loop_expr *all = x->fold.result;
    struct loop_buffer *sum = x->fold.total ? x->fold.total : x->fold.part;
    struct loop_for f = {"other", integer(x, 1), integer(x, x->threads), 1, true};
    struct loop_builder inner;
    const struct loop_expr *other = loop_open_for(first, &f, &inner);
    at = op2(x, LOOP_ADD, op2(x, LOOP_MUL, other, integer(x, width)), own);
    loop_store(&inner, sum, integer(x, 0),
               op2(x, x->fold.op, all, loop_load(a, parts, at, x->vec, 1)), false);
    loop_close(first, &inner);
    return all;
}

// The thread's results from `flat` on are known: store them, where there are any.
static void store_across(struct build *x, struct scope *outer, const struct loop_expr *flat,
                         const struct loop_expr *count) {
    struct loop_builder guarded;
    loop_open_if(outer->builder, flat, count, &guarded);
    struct scope s = scope_inside(outer, &guarded);
    scope_split(&s, flat, 0, x->f.n_kept);
    s.lanes = x->fold.part->lanes;
    s.lane_group = x->f.n_kept - 1;
    if (x->partial)
        loop_store(&guarded, x->partial, op2(x, LOOP_ADD, op2(x, LOOP_MUL, x->split, count), flat),
                   x->fold.result, false);
    else
        store_values(x, &s, loop_let(&guarded, x->name, x->fold.result));
    loop_close(outer->builder, &guarded);
}

static void walk_across(struct build *x, struct scope *outer, const struct loop_expr *lane,
                        const struct loop_expr *flat, const struct loop_expr *count) {
    const struct loop_expr *terms = scope_count(outer, x->f.n_kept, x->l->space.n_groups);
    // Threads beyond the last result follow the last ones, and come to the barrier with them.
    const struct loop_expr *last = op2(x, LOOP_SUB, count, integer(x, x->vec));
    struct scope s = scope_inside(outer, outer->builder);
    scope_split(&s, loop_let(outer->builder, "at", op2(x, LOOP_MIN, flat, last)), 0, x->f.n_kept);
    s.lanes = x->vec;
    s.lane_group = x->f.n_kept - 1;
    x->at = &s;
    struct gpu_team team = {.threads = x->threads, .lane = lane};
    struct gpu_walk w = {.team = &team, .vec = 1, .lanes = x->vec, .apart = true};
    w.length = x->span;
    w.begin = first_term(x);
    w.end = end_of_terms(x, terms);
    walk_terms(x, &w, outer->builder);
}

static void lower_across(struct build *x) {
    struct arena *a = x->l->arena;
    struct scope outer = {.lowering = x->l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *count = scope_count(&outer, 0, x->f.n_kept);
    int64_t width = (int64_t)x->results * x->vec;
    struct loop_builder b, first;
    open_kernel(x, loop_ceildiv(a, count, width), &b);
    outer.builder = &b;
    const struct loop_expr *column = op2(x, LOOP_MOD, x->kernel.thread, integer(x, x->results));
    const struct loop_expr *lane = op2(x, LOOP_DIV, x->kernel.thread, integer(x, x->results));
    const struct loop_expr *flat = op2(x, LOOP_DIV, x->kernel.block, integer(x, x->n_splits));
    flat = op2(x, LOOP_MUL, flat, integer(x, width));
    flat = op2(x, LOOP_ADD, flat, op2(x, LOOP_MUL, column, integer(x, x->vec)));
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

struct ending {
    struct build *build;
    const struct loop_buffer *partial;
    const struct loop_expr *row, *count;
};

static void add_partial(void *ctx, struct loop_builder *b, const struct loop_expr *j,
                        const struct loop_expr *item) {
    struct ending *e = ctx;
    struct build *x = e->build;
    (void)item;
    const struct loop_expr *at =
        x->f.across ? op2(x, LOOP_ADD, op2(x, LOOP_MUL, j, e->count), e->row)
                    : op2(x, LOOP_ADD, op2(x, LOOP_MUL, e->row, integer(x, x->n_splits)), j);
    gpu_fold_add(&x->fold, b, loop_load(x->l->arena, e->partial, at, 1, 1));
}

static void lower_ending(struct build *x) {
    struct arena *a = x->l->arena;
    struct scope outer = {.lowering = x->l, .lane_group = -1, .lanes = 1};
    struct ending e = {.build = x, .partial = x->partial};
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
    const struct loop_expr *first = op2(x, LOOP_MUL, k.block, integer(x, rows));
    e.row = loop_let(&b, "row", op2(x, LOOP_ADD, first, team.row));
    loop_open_if(&b, e.row, e.count, &guarded);
    struct scope s = scope_inside(&outer, &guarded);
    scope_split(&s, e.row, 0, x->f.n_kept);
    x->at = &s;
    // The parts are large sums already: a long chain of them would cost precision.
    struct gpu_walk w = {
        .l = x->l, .team = &team, .vec = 1, .length = x->n_splits, .chunk = FINISH_CHUNK};
    w.begin = integer(x, 0);
    w.end = integer(x, x->n_splits);
    w.apart = x->f.across;
    w.folds = &x->fold;
    w.n_folds = 1;
    gpu_fold_init_of(&x->fold, &w, x->op, x->type, x->name);
    gpu_walk_build(&w, &guarded, add_partial, &e);
    if (x->f.across)
        store_values(x, &s, loop_let(&guarded, x->name, x->fold.result));
    else
        store_along(x, &guarded, &team, x->fold.result, e.row);
    loop_close(&b, &guarded);
}

void gpu_reduce_lower(struct lowering *l, const struct gpu_reduction *f,
                      const struct kernel_stage *stage) {
    struct build x = {.l = l, .stage = stage, .f = *f};
    const struct node *anchor = &l->region->graph->nodes[x.f.anchor];
    x.op = x.f.product ? OP_RSUM : anchor->op;
    x.type = loop_arithmetic(anchor->dtype);
    x.name = anchor->name;
    x.threads = stage_number(stage, "threads", 0);
    x.results = stage_number(stage, "results", 0);
    x.vec = stage_number(stage, "vec", 0);
    x.span = span_of(&x.f, stage);
    x.n_splits = (x.f.n_terms + x.span - 1) / x.span;
    if (x.n_splits > 1) {
        struct loop_size results = {x.f.n_results, NULL}, splits = {x.n_splits, NULL};
        struct loop_size shape[] = {x.f.across ? splits : results, x.f.across ? results : splits};
        x.partial = loop_global_of(l->program, arena_printf(l->arena, "%s_parts", x.name),
                                   LOOP_SCRATCH, fold_storage(x.type), shape, 2);
    }
    if (x.f.across)
        lower_across(&x);
    else
        lower_along(&x);
    if (x.partial)
        lower_ending(&x);
}

double gpu_reduce_estimate(const struct gpu_reduction *f, const struct target *t,
                           const struct kernel_stage *s, double bytes) {
    int threads = stage_number(s, "threads", 0), results = stage_number(s, "results", 0);
    int vec = stage_number(s, "vec", 0), split = stage_number(s, "split", 0);
    struct gpu_traffic traffic = {.bytes = bytes, .threads = threads * results};
    traffic.blocks = (double)f->n_results / (results * (f->across ? vec : 1)) * split;
    if (traffic.blocks < 1)
        traffic.blocks = 1;
    traffic.in_flight = 4.0 * vec * 4;
    double seconds = gpu_estimate_traffic(t, &traffic);
    // Rows of a warp's width are read well, narrower ones badly.
    double width = f->across ? results * vec : threads * vec;
    return seconds * (width < 32 ? 32 / width : 1) + (split > 1 ? 3e-6 + 2e-9 * split : 0);
}
