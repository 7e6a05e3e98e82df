// reduce: one reduction over any axes, with elementwise work before and after it.
//
// Two ways. When the last axis is kept, lanes lie across results: a local array of them
// is built up while the reduced axes are walked outside (a sum over rows reads row after
// row). Otherwise lanes lie along the last reduced axis and are folded at the end. With
// `split` several blocks share a result; what they have goes to scratch, and a second kernel
// ends it, so that a sum over everything uses all threads.
#include <assert.h>

#include "base/arena.h"
#include "family/cascade.h"
#include "family/emitter.h"
#include "family/fold.h"
#include "family/knobs.h"
#include "family/prefetch.h"
#include "family/reduce_form.h"
#include "family/sweep.h"
#include "loop/range.h"

static const int unroll_grid[] = {1, 2, 4, 8, -1};
static const int grain_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, -1};
static const int split_grid[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, -1};

static const struct knob knobs[] = {
    KNOB_CPU_VEC,
    {.name = "unroll", .summary = "vectors side by side", .n_parts = 1, .grid = {unroll_grid}},
    {.name = "grain", .summary = "results per block", .n_parts = 1, .grid = {grain_grid}},
    {.name = "split",
     .change = CHANGE_COMBINE,
     .summary = "blocks per result",
     .n_parts = 1,
     .grid = {split_grid}},
    {0},
};

// Terms that one accumulator takes before its sum is put aside: what honest f32 does.
enum { CHUNK_TERMS = 1024, CHUNK_RADIX = 8 };
// Across, what is read some rows later is asked for, so many elements later; but not where a block
// reads long pieces of rows, which the processor fetches ahead by itself. Sums of 256 rows of 2047
// numbers on two cores of an EPYC: f16 0.72 ms without and 0.48 with it, f32 1.13 and 0.97; of 4096
// rows of 4096 f32 0.84 and 1.04.
enum { AHEAD_ELEMENTS = 4096, AHEAD_PIECE_MAX = 8192 };
// Terms that a part has at least, and from which on one is worth a second launch; results per
// block of that.
enum { SPLIT_TERMS = 64, SPLIT_WORTH = 1 << 15, FINISH_RESULTS = 64 };

struct build {
    struct lowering *l;
    const struct reduce_form *form;
    struct sweep sweep;
    struct fold fold;
    struct cascade cascade;        // of chunks of terms
    int split;                     // the knob
    int64_t n_splits, span;        // parts of the terms, and how many terms of what is split
    struct loop_buffer *partial;   // scratch, what each part has; NULL: one block has it all
    const struct loop_expr *part;  // which one
    bool asks;                     // for what is read later
    int64_t rows_ahead;            // across: for what so many terms later read; 0: not
};

// What `count` terms fall into. Spans are multiples of `by`, but the last.
static void plan_splits(struct build *b, int64_t count, int64_t by) {
    b->span = (count + b->split - 1) / b->split;
    b->span = (b->span + by - 1) / by * by;
    b->n_splits = (count + b->span - 1) / b->span;
    struct loop_size shape[] = {{b->n_splits, NULL}, {1, NULL}};
    for (int i = 0; i < b->form->n_kept; i++)
        shape[1].value *= b->l->space.count[i];
    const char *name = b->l->region->graph->nodes[b->form->anchor].name;
    if (b->n_splits > 1)
        b->partial = loop_global_of(b->l->program, arena_printf(b->l->arena, "%s_parts", name),
                                    LOOP_SCRATCH, fold_storage(b->fold.type), shape, 2);
}

// One part's place among those of all results: [part][result].
static const struct loop_expr *partial_index(const struct build *b, struct scope *s,
                                             const struct loop_expr *part,
                                             const struct loop_expr *result) {
    struct arena *a = b->l->arena;
    return loop_binary(a, LOOP_ADD,
                       loop_binary(a, LOOP_MUL, part, scope_count(s, 0, b->form->n_kept)), result);
}

static void store_values(const struct build *b, struct scope *s, const struct loop_expr *result) {
    const struct region *r = b->l->region;
    struct axis_map map = map_identity(r->graph->nodes[r->value[0]].shape.rank);
    point_define(s, b->form->anchor, &b->form->at, result);
    for (int i = 0; i < r->n_values; i++)
        point_store(s, i, &map, false);
}

static const struct loop_expr *argument(const struct build *b, struct scope *s) {
    node_id arg = b->l->region->graph->nodes[b->form->anchor].arg[0];
    return point_value(s, arg, &b->form->arg);
}

// Lanes across results. `part` takes up to CHUNK_TERMS terms, the levels of a cascade the parts.
struct across {
    struct build *build;
    struct loop_buffer *part;                       // that clear_part clears
    struct loop_buffer *level[CASCADE_LEVELS_MAX];  // level[0] NULL: one part is all
    struct scope *outer;                            // of the chunks
    struct loop_buffer *from, *to;                  // of add_level
    const struct loop_expr *row;                    // of results, all but the last group
};

static void add_to(const struct across *x, struct scope *s, const struct loop_buffer *to,
                   const struct loop_expr *value) {
    struct arena *a = x->build->l->arena;
    const struct loop_expr *at = sweep_position(&x->build->sweep, s);
    const struct loop_expr *old = loop_load(a, to, at, s->lanes, 1);
    loop_store(s->builder, to, at,
               loop_binary(a, x->build->fold.op, old,
                           loop_broadcast(a, loop_cast(a, value, to->value), s->lanes)),
               false);
}

static void clear_part(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct across *x = ctx;
    (void)copy;
    struct arena *a = x->build->l->arena;
    loop_store(s->builder, x->part, sweep_position(&x->build->sweep, s),
               loop_broadcast(a, fold_start(&x->build->fold, a), s->lanes), false);
}

static void add_part(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct across *x = ctx;
    const struct build *b = x->build;
    (void)copy;
    if (b->rows_ahead > 0)
        prefetch_value_by(s, b->l->space.n_groups - 1, b->rows_ahead,
                          b->l->region->graph->nodes[b->form->anchor].arg[0], &b->form->arg);
    add_to(x, s, x->part, argument(x->build, s));
}

static void add_level(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct across *x = ctx;
    (void)copy;
    struct arena *a = x->build->l->arena;
    const struct loop_expr *at = sweep_position(&x->build->sweep, s);
    add_to(x, s, x->to, loop_load(a, x->from, at, s->lanes, 1));
}

static void carry_arrays(void *ctx, struct loop_builder *b, int level) {
    struct across *x = ctx;
    struct scope s = scope_inside(x->outer, b);
    x->from = x->level[level - 1];
    x->to = x->level[level];
    sweep_build(&s, &x->build->sweep, add_level, x);
    struct across below = {.build = x->build, .part = x->from};
    sweep_build(&s, &x->build->sweep, clear_part, &below);
}

static void finish(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct across *x = ctx;
    struct build *b = x->build;
    (void)copy;
    struct arena *a = b->l->arena;
    const struct loop_expr *at = sweep_position(&b->sweep, s);
    const struct loop_expr *e = loop_load(a, x->level[0] ? x->level[0] : x->part, at, s->lanes, 1);
    for (int i = 1; x->level[0] && i < b->cascade.n_levels; i++)
        e = loop_binary(a, b->fold.op, e, loop_load(a, x->level[i], at, s->lanes, 1));
    const char *name = b->l->region->graph->nodes[b->form->anchor].name;
    if (!b->partial) {
        store_values(b, s, loop_let(s->builder, name, e));
        return;
    }
    int last = b->form->n_kept - 1;
    const struct loop_expr *result = loop_binary(
        a, LOOP_ADD, loop_binary(a, LOOP_MUL, x->row, b->l->space.extent[last]), s->index[last]);
    loop_store(s->builder, b->partial, partial_index(b, s, b->part, result), e, false);
}

static void build_terms(struct across *x, struct scope *s, const struct loop_expr *begin,
                        const struct loop_expr *end) {
    struct build *b = x->build;
    sweep_build(s, &b->sweep, clear_part, x);
    struct loop_builder inner;
    struct loop_for terms = {"r", begin, end, 1, false};
    const struct loop_expr *r = loop_open_for(s->builder, &terms, &inner);
    struct scope term = scope_inside(s, &inner);
    scope_split(&term, r, b->form->n_kept, b->l->space.n_groups);
    sweep_build(&term, &b->sweep, add_part, x);
    loop_close(s->builder, &inner);
}

static void build_chunks(struct across *x, struct scope *s, const struct loop_expr *first,
                         const struct loop_expr *last) {
    struct build *b = x->build;
    struct arena *a = b->l->arena;
    for (int i = 0; i < b->cascade.n_levels; i++) {
        struct across level = {.build = b, .part = x->level[i]};
        sweep_build(s, &b->sweep, clear_part, &level);
    }
    struct loop_builder chunk;
    struct loop_for chunks = {"chunk", first, last, CHUNK_TERMS, false};
    const struct loop_expr *begin = loop_open_for(s->builder, &chunks, &chunk);
    const struct loop_expr *end = loop_binary(a, LOOP_ADD, begin, loop_int(a, CHUNK_TERMS));
    struct scope c = scope_inside(s, &chunk);
    build_terms(x, &c, begin, loop_binary(a, LOOP_MIN, last, end));
    x->from = x->part;
    x->to = x->level[0];
    sweep_build(&c, &b->sweep, add_level, x);
    x->outer = &c;
    const struct loop_expr *number =
        loop_binary(a, LOOP_DIV, loop_binary(a, LOOP_SUB, begin, first), loop_int(a, CHUNK_TERMS));
    cascade_carry(&b->cascade, &chunk, number, carry_arrays, x);
    loop_close(s->builder, &chunk);
}

static void build_across(struct build *b, struct scope *s, const struct loop_expr *row,
                         int64_t grain) {
    struct arena *a = b->l->arena;
    const struct loop_expr *count = scope_count(s, b->form->n_kept, b->l->space.n_groups);
    const struct loop_expr *first = loop_int(a, 0), *last = count;
    if (b->partial) {
        first = loop_binary(a, LOOP_MUL, b->part, loop_int(a, b->span));
        last =
            loop_binary(a, LOOP_MIN, count, loop_binary(a, LOOP_ADD, first, loop_int(a, b->span)));
    }
    struct loop_size size = {grain, NULL};
    struct across x = {.build = b, .row = row};
    enum dtype t = fold_storage(b->fold.type);
    bool rounds = b->fold.type == LOOP_F32 || b->fold.type == LOOP_F64;
    x.part = loop_local_of(b->l->program, "part", t, &size, 1);
    b->cascade = cascade_for((b->span + CHUNK_TERMS - 1) / CHUNK_TERMS, CHUNK_RADIX);
    bool chunks = b->fold.op == LOOP_ADD && rounds && b->span > CHUNK_TERMS;
    for (int i = 0; chunks && i < b->cascade.n_levels; i++)
        x.level[i] = loop_local_of(b->l->program, "total", t, &size, 1);
    if (chunks)
        build_chunks(&x, s, first, last);
    else
        build_terms(&x, s, first, last);
    sweep_build(s, &b->sweep, finish, &x);
}

static void add_term(void *ctx, struct scope *s, const struct loop_expr *copy) {
    struct build *b = ctx;
    node_id arg = b->l->region->graph->nodes[b->form->anchor].arg[0];
    if (b->asks)
        prefetch_value(s, arg, &b->form->arg);
    fold_add(&b->fold, s, argument(b, s), copy);
}

static void sweep_terms(void *ctx, struct scope *s, const struct sweep *w) {
    sweep_build(s, w, add_term, ctx);
}

// One number of many, each of which may be a long sum: a cascade in registers.
struct totals {
    struct build *build;
    struct loop_buffer *level;
    struct cascade cascade;
};

static const struct loop_expr *level_of(const struct totals *t, int level) {
    struct arena *a = t->build->l->arena;
    return loop_load(a, t->level, loop_int(a, level), 1, 1);
}

static void put_level(const struct totals *t, struct loop_builder *b, int level,
                      const struct loop_expr *value) {
    loop_store(b, t->level, loop_int(t->build->l->arena, level), value, false);
}

static void carry_numbers(void *ctx, struct loop_builder *b, int level) {
    struct totals *t = ctx;
    struct arena *a = t->build->l->arena;
    put_level(t, b, level,
              loop_binary(a, t->build->fold.op, level_of(t, level), level_of(t, level - 1)));
    put_level(t, b, level - 1, fold_start(&t->build->fold, a));
}

static struct totals begin_totals(struct build *b, struct loop_builder *builder, int64_t n) {
    struct totals t = {.build = b, .cascade = cascade_for(n, CHUNK_RADIX)};
    t.level = loop_register_of(b->l->program, "total", t.cascade.n_levels, 1, b->fold.type);
    for (int i = 0; i < t.cascade.n_levels; i++)
        put_level(&t, builder, i, fold_start(&b->fold, b->l->arena));
    return t;
}

// The value is number `i` of them.
static void add_number(struct totals *t, struct loop_builder *b, const struct loop_expr *value,
                       const struct loop_expr *i) {
    put_level(t, b, 0, loop_binary(t->build->l->arena, t->build->fold.op, level_of(t, 0), value));
    cascade_carry(&t->cascade, b, i, carry_numbers, t);
}

static const struct loop_expr *end_totals(const struct totals *t, struct loop_builder *b) {
    const struct build *x = t->build;
    const struct loop_expr *all = level_of(t, 0);
    for (int i = 1; i < t->cascade.n_levels; i++)
        all = loop_binary(x->l->arena, x->fold.op, all, level_of(t, i));
    return loop_let(b, x->l->region->graph->nodes[x->form->anchor].name, all);
}

// Lanes along what is reduced: one result at a time. `first` to `end` are the part's turns over
// all reduced groups but the last.
static void build_result(struct build *b, struct scope *s, const struct loop_expr *result,
                         const struct loop_expr *first, const struct loop_expr *end) {
    struct arena *a = b->l->arena;
    int last = b->l->space.n_groups - 1;
    struct totals t = begin_totals(b, s->builder, range_of(end).high - range_of(first).low);
    struct loop_builder inner;
    struct loop_for outer = {"r", first, end, 1, false};
    const struct loop_expr *r = loop_open_for(s->builder, &outer, &inner);
    struct scope term = scope_inside(s, &inner);
    scope_split(&term, r, b->form->n_kept, last);
    fold_init(&b->fold, b->l, b->form->anchor, &b->sweep);
    folds_build(&(struct folds){&b->fold, 1}, &term, &b->sweep, sweep_terms, b);
    add_number(&t, &inner, b->fold.result, loop_binary(a, LOOP_SUB, r, first));
    loop_close(s->builder, &inner);
    const struct loop_expr *all = end_totals(&t, s->builder);
    if (b->partial)
        loop_store(s->builder, b->partial, partial_index(b, s, b->part, result), all, false);
    else
        store_values(b, s, all);
}

// The second kernel of a split: it adds up the parts of each result.
static void lower_ending(struct build *b, const char *value) {
    struct arena *a = b->l->arena;
    const struct loop_buffer *partial = b->partial;
    struct scope s = {.lowering = b->l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *count = scope_count(&s, 0, b->form->n_kept), *zero = loop_int(a, 0);
    struct loop_builder builder, by_result, by_part;
    struct loop_kernel *k = loop_kernel_new(b->l->program, arena_printf(a, "%s_finish", value),
                                            loop_ceildiv(a, count, FINISH_RESULTS), &builder);
    s.builder = &builder;
    const struct loop_expr *first =
        loop_binary(a, LOOP_MUL, loop_ref(a, k->block), loop_int(a, FINISH_RESULTS));
    const struct loop_expr *end = loop_binary(a, LOOP_ADD, first, loop_int(a, FINISH_RESULTS));
    struct loop_for f = {"row", first, loop_binary(a, LOOP_MIN, count, end), 1, false};
    const struct loop_expr *row = loop_open_for(&builder, &f, &by_result);
    struct scope each = scope_inside(&s, &by_result);
    scope_split(&each, row, 0, b->form->n_kept);
    struct totals t = begin_totals(b, &by_result, b->n_splits);
    struct loop_for g = {"part", zero, loop_int(a, b->n_splits), 1, false};
    const struct loop_expr *part = loop_open_for(&by_result, &g, &by_part);
    const struct loop_expr *e = loop_load(a, partial, partial_index(b, &each, part, row), 1, 1);
    add_number(&t, &by_part, e, part);
    loop_close(&by_result, &by_part);
    store_values(b, &each, end_totals(&t, &by_result));
    loop_close(&builder, &by_result);
}

// Lanes may lie across results when the argument's last axis is the results' last.
// The kernel for `groups` blocks of results; each of them is as many blocks as there are parts.
// Returns the number of the block of results.
static const struct loop_expr *open_kernel(struct build *b, const struct kernel_stage *stage,
                                           const struct loop_expr *groups,
                                           struct loop_builder *builder) {
    struct arena *a = b->l->arena;
    const struct loop_expr *splits = loop_int(a, b->n_splits);
    struct loop_kernel *k =
        loop_kernel_new(b->l->program, arena_printf(a, "%s_reduce", stage->values[0]),
                        loop_binary(a, LOOP_MUL, groups, splits), builder);
    const struct loop_expr *block = loop_ref(a, k->block);
    b->part = loop_binary(a, LOOP_MOD, block, splits);
    return loop_binary(a, LOOP_DIV, block, splits);
}

static void lower_across(struct build *b, const struct kernel_stage *stage) {
    struct arena *a = b->l->arena;
    struct space *space = &b->l->space;
    int last = b->form->n_kept - 1;
    node_id arg = b->l->region->graph->nodes[b->form->anchor].arg[0];
    int64_t grain = stage_number(stage, "grain", 0), columns = space->count[last];
    if (grain > columns)
        grain = columns;
    plan_splits(b, b->form->n_terms, 1);
    struct scope s = {.lowering = b->l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *runs = loop_ceildiv(a, space->extent[last], grain);
    struct loop_builder builder;
    const struct loop_expr *block =
        open_kernel(b, stage, loop_binary(a, LOOP_MUL, scope_count(&s, 0, last), runs), &builder);
    s.builder = &builder;
    const struct loop_expr *row = loop_binary(a, LOOP_DIV, block, runs);
    scope_split(&s, row, 0, last);
    struct sweep *w = &b->sweep;
    w->group = last;
    w->offset = loop_binary(a, LOOP_MUL, loop_binary(a, LOOP_MOD, block, runs), loop_int(a, grain));
    w->begin = loop_int(a, 0);
    w->end = loop_binary(a, LOOP_MIN, loop_int(a, grain),
                         loop_binary(a, LOOP_SUB, space->extent[last], w->offset));
    w->multiple = sweep_multiple(columns, grain);
    enum dtype type = b->l->region->graph->nodes[arg].dtype;
    if (prefetch_is_long(b->l->region) && dtype_size(type, grain) <= AHEAD_PIECE_MAX)
        b->rows_ahead = (AHEAD_ELEMENTS + grain - 1) / grain;
    build_across(b, &s, row, grain);
}

// Split what there is more of: turns over the other reduced groups, or the last group.
static void plan_along(struct build *b, bool *by_turns) {
    const struct space *space = &b->l->space;
    int last = space->n_groups - 1;
    int64_t turns = b->form->n_terms / space->count[last];
    *by_turns = turns >= space->count[last];
    plan_splits(b, *by_turns ? turns : space->count[last],
                *by_turns ? 1 : (int64_t)b->sweep.lanes * b->sweep.unroll);
}

static void lower_along(struct build *b, const struct kernel_stage *stage) {
    struct arena *a = b->l->arena;
    struct space *space = &b->l->space;
    int last = space->n_groups - 1, grain = stage_number(stage, "grain", 0);
    bool by_turns;
    plan_along(b, &by_turns);
    struct scope s = {.lowering = b->l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *count = scope_count(&s, 0, b->form->n_kept);
    struct loop_builder builder, inner;
    const struct loop_expr *block = open_kernel(b, stage, loop_ceildiv(a, count, grain), &builder);
    s.builder = &builder;
    const struct loop_expr *first = loop_binary(a, LOOP_MUL, block, loop_int(a, grain));
    const struct loop_expr *end = loop_binary(a, LOOP_ADD, first, loop_int(a, grain));
    struct loop_for f = {"row", first, loop_binary(a, LOOP_MIN, count, end), 1, false};
    const struct loop_expr *row = loop_open_for(&builder, &f, &inner);
    struct scope each = scope_inside(&s, &inner);
    scope_split(&each, row, 0, b->form->n_kept);
    struct sweep *w = &b->sweep;
    w->group = last;
    w->begin = loop_int(a, 0);
    w->end = space->extent[last];
    w->multiple = space->count[last];
    const struct loop_expr *turn = loop_int(a, 0), *turns = scope_count(&s, b->form->n_kept, last);
    const struct loop_expr *span = loop_int(a, b->span);
    if (b->partial && by_turns) {
        turn = loop_binary(a, LOOP_MUL, b->part, span);
        turns = loop_binary(a, LOOP_MIN, turns, loop_binary(a, LOOP_ADD, turn, span));
    } else if (b->partial) {
        w->offset = loop_binary(a, LOOP_MUL, b->part, span);
        w->end = loop_binary(a, LOOP_MIN, span,
                             loop_binary(a, LOOP_SUB, space->extent[last], w->offset));
        w->multiple = sweep_multiple(space->count[last], b->span);
    }
    build_result(b, &each, row, turn, turns);
    loop_close(&builder, &inner);
}

static void lower(struct lowering *l, const struct form *form, const struct kernel_stage *stage) {
    const struct node *anchor = &l->region->graph->nodes[form->anchor];
    struct build b = {.l = l, .form = form->reduce, .asks = prefetch_is_worth(l->region)};
    reduce_build_space(l, form->reduce);
    reduce_group_space(l, form->reduce);
    b.sweep = (struct sweep){.name = "j", .begin = loop_int(l->arena, 0), .multiple = 1};
    b.sweep.end = loop_int(l->arena, 1);
    b.sweep.lanes = stage_number(stage, "vec", 0);
    b.sweep.unroll = stage_number(stage, "unroll", 0);
    b.split = stage_number(stage, "split", 0);
    fold_choose(&b.fold, anchor->op);
    b.fold.type = loop_arithmetic(anchor->dtype);
    if (form->reduce->across)
        lower_across(&b, stage);
    else
        lower_along(&b, stage);
    if (b.partial)
        lower_ending(&b, stage->values[0]);
}

// Results side by side for a block: of a row of the argument as long a stretch as can be, since
// those are fetched ahead (4096 x 4096 on two cores of a Xeon: 2.16 ms by 4096, by 128 2.67 ms).
static int across_grain(const struct form *f) {
    int grain = 128;
    while (grain < 4096 && grain < f->reduce->n_columns)
        grain *= 2;
    return grain;
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    const struct region *r = f->region;
    const struct node *n = &r->graph->nodes[f->anchor];
    int rank = r->graph->nodes[n->arg[0]].shape.rank;
    stage_set(s, "vec", 0, default_vec(t, f->lanes));
    bool along = n->axes >> (rank - 1) & 1;
    int grain = along ? 4 : across_grain(f), split = 1;
    stage_set(s, "unroll", 0, f->lanes != 1 ? 4 : 1);
    stage_set(s, "grain", 0, grain);
    // Few results leave threads idle unless blocks share them.
    int64_t columns = f->reduce->n_columns, rows = shape_count(&n->shape) / columns;
    int64_t blocks = along ? rows / grain + 1 : rows * ((columns + grain - 1) / grain);
    int64_t results = grain < columns ? grain : columns;
    while (split < 256 && blocks * split < 4 * (int64_t)t->n_threads &&
           f->reduce->n_terms * results >= 2 * split * (int64_t)SPLIT_WORTH &&
           f->reduce->n_terms >= 2 * split * SPLIT_TERMS)
        split *= 2;
    stage_set(s, "split", 0, split);
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    int split = stage_number(s, "split", 0);
    if (split > 1 && f->reduce->n_terms < (int64_t)split * SPLIT_TERMS)
        return objection(why, "split",
                         "%lld terms are too few for %d parts of %d at least: the nearest is split "
                         "%d",
                         (long long)f->reduce->n_terms, split, SPLIT_TERMS,
                         knob_at_most(&knobs[3], 0, (int)(f->reduce->n_terms / SPLIT_TERMS)));
    return legal_vector(t, s, why) && legal_lanes(s, f->lanes, why);
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    struct region_work w;
    region_count(f->region, &w);
    double results = (double)f->reduce->n_results;
    double split = stage_number(s, "split", 0);
    double blocks = results / stage_number(s, "grain", 0) * split;
    double lanes = stage_number(s, "vec", 0) * stage_number(s, "unroll", 0);
    double rate = 1e9 * t->n_threads * (lanes < 32 ? lanes : 32) / 4;
    double seconds = w.bytes_read / (1e10 * t->n_threads) + w.flops / rate;
    return seconds * (1 + t->n_threads / (blocks + 0.1)) + blocks * 100e-9 + (split > 1 ? 5e-6 : 0);
}

const struct emitter reduce_cpu = {
    .name = "cpu",
    .summary = "one reduction over any axes",
    .knobs = knobs,
    .runs_on = emitter_runs_on_cpu,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
