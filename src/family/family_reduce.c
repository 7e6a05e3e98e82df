// reduce: one reduction over any axes, with elementwise work before and after it.
//
// Two ways. When the last axis is kept, lanes lie across results: a local array of them
// is built up while the reduced axes are walked outside (a sum over rows reads row after
// row). Otherwise lanes lie along the last reduced axis and are folded at the end.
#include <assert.h>

#include "base/arena.h"
#include "family/family.h"
#include "family/fold.h"
#include "family/reduce_form.h"
#include "family/sweep.h"
#include "loop/range.h"

static const int vec_grid[] = {1, 4, 8, 16, -1};
static const int unroll_grid[] = {1, 2, 4, 8, -1};
static const int grain_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, -1};

static const struct knob knobs[] = {
    {.name = "vec", .summary = "lanes of a vector", .n_parts = 1, .grid = {vec_grid}},
    {.name = "unroll", .summary = "vectors side by side", .n_parts = 1, .grid = {unroll_grid}},
    {.name = "grain", .summary = "results per block", .n_parts = 1, .grid = {grain_grid}},
    {0},
};

// Terms that one accumulator takes before its sum is put aside: what honest f32 does.
enum { CHUNK_TERMS = 1024 };

static bool accepts(const struct region *r, struct objection *why) {
    struct reduce_form f;
    return reduce_find_form(r, &f, why);
}

struct build {
    struct lowering *l;
    const struct reduce_form *form;
    struct axis_map arg;  // of the reduction's argument
    int n_kept;           // groups
    struct sweep sweep;
    struct fold fold;
};

static void store_values(const struct build *b, struct scope *s, const struct loop_expr *result) {
    const struct region *r = b->l->region;
    struct axis_map map = map_identity(r->graph->nodes[r->value[0]].shape.rank);
    point_define(s, b->form->anchor, &b->form->at, result);
    for (int i = 0; i < r->n_values; i++)
        point_store(s, i, &map, false);
}

static const struct loop_expr *argument(const struct build *b, struct scope *s) {
    node_id arg = b->l->region->graph->nodes[b->form->anchor].arg[0];
    return point_value(s, arg, &b->arg);
}

// Lanes across results. `part` takes up to CHUNK_TERMS terms, `total` the parts.
struct across {
    struct build *build;
    struct loop_buffer *part, *total;  // total NULL: one part is all
};

static void add_to(const struct across *x, struct scope *s, const struct loop_buffer *to,
                   const struct loop_expr *value) {
    struct arena *a = x->build->l->arena;
    const struct loop_expr *at = sweep_position(&x->build->sweep, s);
    const struct loop_expr *old = loop_load(a, to, at, s->lanes, 1);
    loop_store(s->builder, to, at,
               loop_binary(a, x->build->fold.op, old, loop_broadcast(a, value, s->lanes)), false);
}

static void clear_part(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct across *x = ctx;
    (void)copy;
    struct arena *a = x->build->l->arena;
    loop_store(s->builder, x->part, sweep_position(&x->build->sweep, s),
               loop_broadcast(a, loop_real(a, x->build->fold.identity), s->lanes), false);
}

static void add_part(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct across *x = ctx;
    (void)copy;
    add_to(x, s, x->part, argument(x->build, s));
}

static void add_total(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct across *x = ctx;
    (void)copy;
    struct arena *a = x->build->l->arena;
    const struct loop_expr *at = sweep_position(&x->build->sweep, s);
    add_to(x, s, x->total, loop_load(a, x->part, at, s->lanes, 1));
}

static void finish(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct across *x = ctx;
    (void)copy;
    const struct loop_expr *at = sweep_position(&x->build->sweep, s);
    const struct loop_expr *e =
        loop_load(x->build->l->arena, x->total ? x->total : x->part, at, s->lanes, 1);
    const char *name = x->build->l->region->graph->nodes[x->build->form->anchor].name;
    store_values(x->build, s, loop_let(s->builder, name, e));
}

static void build_terms(struct across *x, struct scope *s, const struct loop_expr *begin,
                        const struct loop_expr *end) {
    struct build *b = x->build;
    sweep_build(s, &b->sweep, clear_part, x);
    struct loop_builder inner;
    struct loop_for terms = {"r", begin, end, 1, false};
    const struct loop_expr *r = loop_open_for(s->builder, &terms, &inner);
    struct scope term = scope_inside(s, &inner);
    scope_split(&term, r, b->n_kept, b->l->space.n_groups);
    sweep_build(&term, &b->sweep, add_part, x);
    loop_close(s->builder, &inner);
}

static void build_across(struct build *b, struct scope *s, int64_t grain) {
    struct arena *a = b->l->arena;
    const struct loop_expr *zero = loop_int(a, 0);
    const struct loop_expr *count = scope_count(s, b->n_kept, b->l->space.n_groups);
    struct loop_size size = {grain, NULL};
    struct across x = {.build = b};
    x.part = loop_local(b->l->program, "part", &size, 1);
    if (b->fold.op != LOOP_ADD || range_of(count).high <= CHUNK_TERMS) {
        build_terms(&x, s, zero, count);
        sweep_build(s, &b->sweep, finish, &x);
        return;
    }
    struct across total = {.build = b, .part = loop_local(b->l->program, "total", &size, 1)};
    x.total = total.part;
    sweep_build(s, &b->sweep, clear_part, &total);
    struct loop_builder chunk;
    struct loop_for chunks = {"chunk", zero, count, CHUNK_TERMS, false};
    const struct loop_expr *begin = loop_open_for(s->builder, &chunks, &chunk);
    const struct loop_expr *end = loop_binary(a, LOOP_ADD, begin, loop_int(a, CHUNK_TERMS));
    struct scope c = scope_inside(s, &chunk);
    build_terms(&x, &c, begin, loop_binary(a, LOOP_MIN, count, end));
    sweep_build(&c, &b->sweep, add_total, &x);
    loop_close(s->builder, &chunk);
    sweep_build(s, &b->sweep, finish, &x);
}

static void add_term(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct build *b = ctx;
    fold_add(&b->fold, s, argument(b, s), copy);
}

static void sweep_terms(void *ctx, struct scope *s, const struct sweep *w) {
    sweep_build(s, w, add_term, ctx);
}

// Lanes along what is reduced: one result at a time.
static void build_result(struct build *b, struct scope *s) {
    struct arena *a = b->l->arena;
    const struct loop_expr *zero = loop_int(a, 0);
    int last = b->l->space.n_groups - 1;
    struct loop_buffer *total = loop_register(b->l->program, "total", 1, 1);
    loop_store(s->builder, total, zero, loop_real(a, b->fold.identity), false);
    struct loop_builder inner;
    struct loop_for outer = {"r", zero, scope_count(s, b->n_kept, last), 1, false};
    const struct loop_expr *r = loop_open_for(s->builder, &outer, &inner);
    struct scope term = scope_inside(s, &inner);
    scope_split(&term, r, b->n_kept, last);
    fold_init(&b->fold, b->l, b->form->anchor, &b->sweep);
    folds_build(&(struct folds){&b->fold, 1}, &term, &b->sweep, sweep_terms, b);
    loop_store(&inner, total, zero,
               loop_binary(a, b->fold.op, loop_load(a, total, zero, 1, 1), b->fold.result), false);
    loop_close(s->builder, &inner);
    const char *name = b->l->region->graph->nodes[b->form->anchor].name;
    store_values(b, s, loop_let(s->builder, name, loop_load(a, total, zero, 1, 1)));
}

// Lanes may lie across results when the argument's last axis is the results' last.
static bool lanes_across(const struct build *b) {
    const struct graph *g = b->l->region->graph;
    const struct shape *arg = &g->nodes[g->nodes[b->form->anchor].arg[0]].shape;
    int axis = b->arg.axis[arg->rank - 1];
    return b->n_kept > 0 && axis >= 0 && b->l->space.group[axis] == b->n_kept - 1;
}

static void lower_across(struct build *b, const struct kernel_stage *stage) {
    struct arena *a = b->l->arena;
    struct space *space = &b->l->space;
    int last = b->n_kept - 1;
    int64_t grain = stage_number(stage, "grain", 0), columns = space->count[last];
    if (grain > columns)
        grain = columns;
    struct scope s = {.lowering = b->l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *runs = loop_ceildiv(a, space->extent[last], grain);
    struct loop_builder builder;
    struct loop_kernel *k =
        loop_kernel_new(b->l->program, arena_printf(a, "%s_reduce", stage->values[0]),
                        loop_binary(a, LOOP_MUL, scope_count(&s, 0, last), runs), &builder);
    s.builder = &builder;
    const struct loop_expr *block = loop_ref(a, k->block);
    scope_split(&s, loop_binary(a, LOOP_DIV, block, runs), 0, last);
    struct sweep *w = &b->sweep;
    w->group = last;
    w->offset = loop_binary(a, LOOP_MUL, loop_binary(a, LOOP_MOD, block, runs), loop_int(a, grain));
    w->begin = loop_int(a, 0);
    w->end = loop_binary(a, LOOP_MIN, loop_int(a, grain),
                         loop_binary(a, LOOP_SUB, space->extent[last], w->offset));
    w->multiple = sweep_multiple(columns, grain);
    build_across(b, &s, grain);
}

static void lower_along(struct build *b, const struct kernel_stage *stage) {
    struct arena *a = b->l->arena;
    struct space *space = &b->l->space;
    int last = space->n_groups - 1, grain = stage_number(stage, "grain", 0);
    struct scope s = {.lowering = b->l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *count = scope_count(&s, 0, b->n_kept);
    struct loop_builder builder, inner;
    struct loop_kernel *k =
        loop_kernel_new(b->l->program, arena_printf(a, "%s_reduce", stage->values[0]),
                        loop_ceildiv(a, count, grain), &builder);
    s.builder = &builder;
    const struct loop_expr *first =
        loop_binary(a, LOOP_MUL, loop_ref(a, k->block), loop_int(a, grain));
    const struct loop_expr *end = loop_binary(a, LOOP_ADD, first, loop_int(a, grain));
    struct loop_for f = {"row", first, loop_binary(a, LOOP_MIN, count, end), 1, false};
    const struct loop_expr *row = loop_open_for(&builder, &f, &inner);
    struct scope each = scope_inside(&s, &inner);
    scope_split(&each, row, 0, b->n_kept);
    struct sweep *w = &b->sweep;
    w->group = last;
    w->begin = loop_int(a, 0);
    w->end = space->extent[last];
    w->multiple = space->count[last];
    build_result(b, &each);
    loop_close(&builder, &inner);
}

static void lower(struct lowering *l, const struct kernel_stage *stage) {
    struct reduce_form form;
    struct objection why;
    bool ok = reduce_find_form(l->region, &form, &why);
    assert(ok);
    struct build b = {.l = l, .form = &form};
    b.arg = reduce_build_space(l, &form);
    b.n_kept = reduce_group_space(l, &form, &b.arg);
    b.sweep = (struct sweep){.name = "j", .begin = loop_int(l->arena, 0), .multiple = 1};
    b.sweep.end = loop_int(l->arena, 1);
    b.sweep.lanes = stage_number(stage, "vec", 0);
    b.sweep.unroll = stage_number(stage, "unroll", 0);
    fold_choose(&b.fold, l->region->graph->nodes[form.anchor].op);
    if (lanes_across(&b))
        lower_across(&b, stage);
    else
        lower_along(&b, stage);
}

// Lanes along the axis that vectors lie on, as space_lanes() says.
static int64_t count_lanes(const struct region *r) {
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = r};
    struct reduce_form form;
    struct objection why;
    bool ok = reduce_find_form(r, &form, &why);
    assert(ok);
    struct build b = {.l = &l, .form = &form, .arg = reduce_build_space(&l, &form)};
    b.n_kept = reduce_group_space(&l, &form, &b.arg);
    int group = lanes_across(&b) ? b.n_kept - 1 : l.space.n_groups - 1;
    int64_t lanes = space_lanes(&l.space, group);
    arena_reset(&scratch);
    return lanes;
}

static void defaults(const struct region *r, const struct target *t, struct kernel_stage *s) {
    const struct node *n = &r->graph->nodes[r->anchor[0]];
    int rank = r->graph->nodes[n->arg[0]].shape.rank;
    stage_set(s, "vec", 0, count_lanes(r) == 1 ? 1 : t->vector_bytes >= 32 ? 8 : 4);
    stage_set(s, "grain", 0, n->axes >> (rank - 1) & 1 ? 4 : 128);
}

static bool is_legal(const struct region *r, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    return legal_vector(t, s, why) && legal_lanes(s, count_lanes(r), why);
}

static double estimate(const struct region *r, const struct target *t,
                       const struct kernel_stage *s) {
    struct region_work w;
    region_count(r, &w);
    double results = (double)shape_count(&r->graph->nodes[r->value[0]].shape);
    double blocks = results / stage_number(s, "grain", 0);
    double lanes = stage_number(s, "vec", 0) * stage_number(s, "unroll", 0);
    double rate = 1e9 * t->n_threads * (lanes < 32 ? lanes : 32) / 4;
    double seconds = w.bytes_read / (1e10 * t->n_threads) + w.flops / rate;
    return seconds * (1 + t->n_threads / (blocks + 0.1)) + blocks * 100e-9;
}

const struct family family_reduce = {
    .name = "reduce",
    .summary = "one reduction over any axes",
    .knobs = knobs,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
    .gpu = &gpu_reduce,
};
