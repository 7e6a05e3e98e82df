// Accumulators are chosen by the sweep's width; sums longer than a chunk go to a second
// accumulator, as the honest computation does.
#include "family/fold.h"

#include <assert.h>
#include <math.h>

#include "base/arena.h"
#include "family/cascade.h"
#include "loop/range.h"

// Terms that one accumulator takes before its sum is put aside: what honest f32 does.
enum { CHUNK_TERMS = 1024, CHUNK_RADIX = 8 };

void fold_choose(struct fold *f, enum op op) {
    static const struct {
        enum loop_op op, across;
    } joins[OP_COUNT] = {
        [OP_ADD] = {LOOP_ADD, LOOP_LANES_SUM}, [OP_MUL] = {LOOP_MUL, LOOP_LANES_PROD},
        [OP_MIN] = {LOOP_MIN, LOOP_LANES_MIN}, [OP_MAX] = {LOOP_MAX, LOOP_LANES_MAX},
        [OP_OR] = {LOOP_OR, LOOP_LANES_ANY},   [OP_AND] = {LOOP_AND, LOOP_LANES_ALL},
    };
    const struct op_info *info = &op_infos[op];
    assert(info->joins != OP_COUNT);
    f->op = joins[info->joins].op;
    f->across = joins[info->joins].across;
    f->identity = info->identity;
}

enum dtype fold_storage(enum loop_dtype type) {
    static const enum dtype types[LOOP_DTYPE_COUNT] = {[LOOP_F32] = DTYPE_F32,
                                                       [LOOP_F64] = DTYPE_F64,
                                                       [LOOP_I32] = DTYPE_I32,
                                                       [LOOP_I64] = DTYPE_I64,
                                                       [LOOP_MASK] = DTYPE_BOOL};
    assert(type != LOOP_INDEX);
    return types[type];
}

const struct loop_expr *fold_start(const struct fold *f, struct arena *a) {
    return loop_number(a, f->type, f->identity);
}

// Long sums of floats are cut into chunks; what is exact need not be.
static bool is_rounded_sum(const struct fold *f) {
    return f->op == LOOP_ADD && (f->type == LOOP_F32 || f->type == LOOP_F64);
}

void fold_init(struct fold *f, struct lowering *l, node_id node, const struct sweep *w) {
    const struct node *n = &l->region->graph->nodes[node];
    *f = (struct fold){.lowering = l, .node = node, .type = loop_arithmetic(n->dtype)};
    fold_choose(f, n->op);
    assert(w->lanes == 1 || f->type == LOOP_F32 || f->type == LOOP_MASK);
    struct sweep_parts parts = sweep_parts(l->arena, w);
    int64_t length = range_of(w->end).high - range_of(w->begin).low;
    f->n_vectors = length < (int64_t)w->lanes * w->unroll ? 1 : w->unroll;
    if (parts.vectors || (w->lanes == 1 && w->unroll > 1))
        f->vectors = loop_register_of(l->program, arena_printf(l->arena, "%s_part", n->name),
                                      f->n_vectors, w->lanes, f->type);
    if (parts.scalars && !(w->lanes == 1 && f->vectors))
        f->scalar =
            loop_register_of(l->program, arena_printf(l->arena, "%s_rest", n->name), 1, 1, f->type);
}

void fold_add(struct fold *f, struct scope *s, const struct loop_expr *value,
              const struct loop_expr *copy) {
    struct arena *a = f->lowering->arena;
    bool vector = f->vectors && s->lanes == f->vectors->lanes;
    const struct loop_buffer *to = vector ? f->vectors : f->scalar;
    const struct loop_expr *index = vector ? copy : loop_int(a, 0);
    const struct loop_expr *old = loop_load(a, to, index, to->lanes, 1);
    value = loop_broadcast(a, loop_cast(a, value, f->type), to->lanes);
    // max and min keep a NaN in either place; the new value first is the cheaper way round.
    bool ordered = f->op == LOOP_ADD || f->op == LOOP_MUL;
    loop_store(s->builder, to, index,
               ordered ? loop_binary(a, f->op, old, value) : loop_binary(a, f->op, value, old),
               false);
}

static void clear(struct fold *f, struct loop_builder *b) {
    struct arena *a = f->lowering->arena;
    for (int i = 0; f->vectors && i < f->n_vectors; i++)
        loop_store(b, f->vectors, loop_int(a, i), fold_start(f, a), false);
    if (f->scalar)
        loop_store(b, f->scalar, loop_int(a, 0), fold_start(f, a), false);
}

// One number from all accumulators: pairwise, then across lanes, then the scalar one.
static const struct loop_expr *gather(struct fold *f) {
    struct arena *a = f->lowering->arena;
    const struct loop_expr *part[16];
    int n = f->vectors ? f->n_vectors : 0;
    for (int i = 0; i < n; i++)
        part[i] = loop_load(a, f->vectors, loop_int(a, i), f->vectors->lanes, 1);
    for (; n > 1; n = (n + 1) / 2)
        for (int i = 0; i < n / 2; i++)
            part[i] = loop_binary(a, f->op, part[i], part[n - 1 - i]);
    const struct loop_expr *all = n ? loop_unary(a, f->across, part[0]) : NULL;
    if (!f->scalar)
        return all;
    const struct loop_expr *rest = loop_load(a, f->scalar, loop_int(a, 0), 1, 1);
    return all ? loop_binary(a, f->op, all, rest) : rest;
}

// One fold's chunks.
struct totals {
    const struct fold *fold;
    struct loop_buffer *level;  // register array
    struct cascade cascade;
};

static const struct loop_expr *level_of(const struct totals *t, int level) {
    struct arena *a = t->fold->lowering->arena;
    return loop_load(a, t->level, loop_int(a, level), 1, 1);
}

static void put_level(const struct totals *t, struct loop_builder *b, int level,
                      const struct loop_expr *value) {
    loop_store(b, t->level, loop_int(t->fold->lowering->arena, level), value, false);
}

static void carry(void *ctx, struct loop_builder *b, int level) {
    const struct totals *t = ctx;
    struct arena *a = t->fold->lowering->arena;
    put_level(t, b, level, loop_binary(a, t->fold->op, level_of(t, level), level_of(t, level - 1)));
    put_level(t, b, level - 1, fold_start(t->fold, a));
}

static void build_chunks(struct folds *folds, struct scope *outer, const struct sweep *w,
                         fold_sweep_fn fn, void *ctx) {
    const struct lowering *l = outer->lowering;
    struct arena *a = l->arena;
    int64_t run = (int64_t)CHUNK_TERMS * w->lanes * w->unroll;
    int64_t length = range_of(w->end).high - range_of(w->begin).low;
    struct totals *total = arena_array(a, struct totals, folds->n);
    for (int i = 0; i < folds->n; i++) {
        const char *name = l->region->graph->nodes[folds->fold[i].node].name;
        total[i].fold = &folds->fold[i];
        total[i].cascade = cascade_for((length + run - 1) / run, CHUNK_RADIX);
        total[i].level = loop_register_of(l->program, arena_printf(a, "%s_total", name),
                                          total[i].cascade.n_levels, 1, folds->fold[i].type);
        for (int level = 0; level < total[i].cascade.n_levels; level++)
            put_level(&total[i], outer->builder, level, fold_start(&folds->fold[i], a));
    }
    struct loop_builder inner;
    struct loop_for f = {"chunk", w->begin, w->end, run, false};
    const struct loop_expr *begin = loop_open_for(outer->builder, &f, &inner);
    struct scope s = scope_inside(outer, &inner);
    struct sweep part = *w;
    part.begin = begin;
    part.end = loop_binary(a, LOOP_MIN, w->end, loop_binary(a, LOOP_ADD, begin, loop_int(a, run)));
    part.multiple = sweep_multiple(w->multiple, run);
    for (int i = 0; i < folds->n; i++)
        clear(&folds->fold[i], &inner);
    fn(ctx, &s, &part);
    const struct loop_expr *chunk =
        loop_binary(a, LOOP_DIV, loop_binary(a, LOOP_SUB, begin, w->begin), loop_int(a, run));
    for (int i = 0; i < folds->n; i++) {
        struct fold *fold = &folds->fold[i];
        put_level(&total[i], &inner, 0,
                  loop_binary(a, fold->op, level_of(&total[i], 0), gather(fold)));
        cascade_carry(&total[i].cascade, &inner, chunk, carry, &total[i]);
        fold->result = level_of(&total[i], 0);
        for (int level = 1; level < total[i].cascade.n_levels; level++)
            fold->result = loop_binary(a, fold->op, fold->result, level_of(&total[i], level));
    }
    loop_close(outer->builder, &inner);
}

void folds_build(struct folds *folds, struct scope *outer, const struct sweep *w, fold_sweep_fn fn,
                 void *ctx) {
    const struct lowering *l = outer->lowering;
    int64_t length = range_of(w->end).high - range_of(w->begin).low;
    bool any_sum = false;
    for (int i = 0; i < folds->n; i++)
        any_sum |= is_rounded_sum(&folds->fold[i]);
    if (any_sum && length > (int64_t)CHUNK_TERMS * w->lanes * w->unroll) {
        build_chunks(folds, outer, w, fn, ctx);
    } else {
        for (int i = 0; i < folds->n; i++)
            clear(&folds->fold[i], outer->builder);
        fn(ctx, outer, w);
        for (int i = 0; i < folds->n; i++)
            folds->fold[i].result = gather(&folds->fold[i]);
    }
    for (int i = 0; i < folds->n; i++)
        folds->fold[i].result =
            loop_let(outer->builder, l->region->graph->nodes[folds->fold[i].node].name,
                     folds->fold[i].result);
}
