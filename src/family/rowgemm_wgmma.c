// A product of which each row becomes a number, on tensor cores that a warpgroup drives (wgmma,
// sm_90a), for operands of f16 and bf16.
//
// The product is gemm's (gemm_wgmma.c), but its elements never leave the registers: of each row of
// a tile four threads have the sums, fold what is computed of them and write one number (or two:
// the largest, and the sum of exponentials less that) for the row and the tile. A second, short
// kernel folds those of all tiles, in a fixed order, and computes what follows. So a matrix of M x
// N results is neither written nor read.
#include <math.h>

#include "family/gemm_wgmma_build.h"
#include "family/rowgemm_form.h"
#include "family/wgmma_knobs.h"

static const struct knob knobs[] = {
    WGMMA_KNOB_TILE,
    WGMMA_KNOB_WARPGROUPS,
    WGMMA_KNOB_STAGES,
    WGMMA_KNOB_GROUP,
    WGMMA_KNOB_APART,
    WGMMA_KNOB_CLUSTER,
    {0},
};

// Threads of a block of the second kernel, a row each, and tiles whose numbers are read at once.
enum { FINISH_BLOCK = 128, FINISH_TILES = 16 };

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    const struct gemm_form *g = f->gemm;
    const struct graph *graph = f->region->graph;
    const char *name = graph->nodes[g->anchor].name;
    node_id leaf;
    struct axis_map map;
    if (!wgmma_accepts(f, t, why))
        return false;
    enum dtype type =
        gemm_leaf(f->region, g, true, &leaf, &map) ? graph->nodes[leaf].dtype : DTYPE_F32;
    if (wgmma_computes(f))
        return objection(why, NULL,
                         "wgmma folds rows of products of stored matrices, and an operand of %s is "
                         "computed on the way; materialise it first",
                         name);
    if (type != DTYPE_F16 && type != DTYPE_BF16)
        return objection(why, NULL,
                         "wgmma folds rows of products of f16 or bf16, and the operands of %s are "
                         "%s; materialise it first",
                         name, dtype_name(type));
    if (g->n % 2 != 0 || !g->has_pairs)
        return objection(why, NULL,
                         "wgmma folds rows by pairs of columns, and those of %s are none; "
                         "materialise it first",
                         name);
    return true;
}

static int64_t tiles_across(const struct wgmma_sizes *z) {
    return (z->n + z->rhs.width - 1) / z->rhs.width;
}

// gemm's, and what its threads do with a tile's sums before they go on: some instructions for each,
// by 128 lanes of a multiprocessor in a clock.
static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    struct wgmma_sizes z = wgmma_read_sizes(f, s);
    double clock = t->top_clock_hz > 0 ? t->top_clock_hz : 1.7e9;
    double each = f->rowgemm->kind == ROWGEMM_EXP_SUM ? 20 : 3;
    double waves = ceil((double)wgmma_tiles(&z) / t->sms);
    double folded = waves * z.lhs.width * z.rhs.width * each / (128 * clock);
    return wgmma_estimate(f, t, s) + (z.apart ? 0.3 : 1) * folded + 4e-6;
}

static const struct wgmma_shape shapes[] = {{128, 256, 2, 0}, {128, 192, 2, 0}, {128, 128, 2, 0},
                                            {128, 64, 2, 0},  {64, 256, 2, 1},  {64, 128, 1, 0},
                                            {64, 64, 1, 0}};

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    stage_set(s, "group", 0, 8);
    stage_set(s, "cluster", 0, 1);
    wgmma_choose_shape(&rowgemm_wgmma, f, t, s, shapes, sizeof shapes / sizeof *shapes);
}

// ---- rows of a tile

struct folded {
    const struct rowgemm_form *f;
    struct loop_buffer *best, *total;    // of a thread's row: two columns
    struct loop_buffer *bests, *totals;  // of all rows: [tile][row]
};

static const struct loop_expr *pair(const struct wgmma_build *x, const struct loop_expr *e) {
    return e->lanes == 2 ? e : loop_broadcast(x->a, e, 2);
}

static const struct loop_expr *own(const struct wgmma_build *x, const struct loop_buffer *of) {
    return loop_load(x->a, of, num(x, 0), 2, 1);
}

// The number that all four threads of a row have.
static const struct loop_expr *of_row(const struct wgmma_build *x, const struct loop_buffer *of) {
    return loop_lane(x->a, own(x, of), num(x, 0));
}

// Two columns of a row that are folded; `nothing` beyond the last. Rows beyond the last are the
// last.
static const struct loop_expr *value_at(struct wgmma_build *x, struct loop_builder *b,
                                        const struct loop_expr *row, const struct loop_expr *column,
                                        const struct loop_expr *sum, double nothing) {
    const struct folded *d = x->store_ctx;
    const struct loop_expr *last = x->l->space.extent[x->rhs.group];
    bool is_cut = x->z.n % x->z.rhs.width != 0;
    const struct loop_expr *inside = column;
    if (is_cut)
        inside = smaller(x, column, loop_binary(x->a, LOOP_SUB, last, num(x, 2)));
    struct scope s = wgmma_scope_at(x, b, row, inside, 2);
    wgmma_define(x, &s, sum);
    const struct loop_expr *v = pair(x, point_value(&s, d->f->x, &x->form->at));
    if (!is_cut)
        return v;
    const struct loop_expr *there = loop_binary(x->a, LOOP_LT, column, last);
    return loop_ternary(x->a, LOOP_SELECT, loop_broadcast(x->a, there, 2), v,
                        loop_broadcast(x->a, loop_real(x->a, nothing), 2));
}

// What is subtracted before exponentials are taken: the largest, or 0 where that is infinite.
static const struct loop_expr *shift_of(struct arena *a, const struct loop_expr *largest) {
    const struct loop_expr *shift = largest;
    for (int i = 0; i < 2; i++) {
        const struct loop_expr *infinite = loop_real(a, i ? INFINITY : -INFINITY);
        shift = loop_ternary(a, LOOP_SELECT, loop_binary(a, LOOP_EQ, largest, infinite),
                             loop_real(a, 0), shift);
    }
    return shift;
}

// Fold one row of the tile: `to` takes what `op` makes of it and the next pair of columns, or of
// exp(that - shift).
static void fold_row(struct wgmma_build *x, struct loop_builder *b, const struct wgmma_place *p,
                     const struct loop_expr *i, const struct loop_expr *row,
                     const struct loop_buffer *to, const struct loop_expr *shift) {
    struct loop_builder by_column;
    const struct folded *d = x->store_ctx;
    bool is_best = to == d->best;
    double identity = is_best ? -INFINITY : 0;
    loop_store(b, to, num(x, 0), loop_real(x->a, identity), false);
    const struct loop_expr *j = open_unrolled(x, b, "j", x->z.rhs.width / 8, &by_column);
    const struct loop_expr *column = add(x, times(x, j, 8), times(x, rest(x, p->lane, 4), 2));
    column = loop_let(&by_column, "column", add(x, x->rhs.first, column));
    const struct loop_expr *sum = wgmma_sum_at(x, quotient(x, i, 2), rest(x, i, 2), j);
    double nothing = shift ? -INFINITY : identity;
    const struct loop_expr *v = value_at(x, &by_column, row, column, sum, nothing);
    if (shift)
        v = loop_unary(x->a, LOOP_EXP,
                       loop_binary(x->a, LOOP_SUB, v, loop_broadcast(x->a, shift, 2)));
    loop_store(&by_column, to, num(x, 0),
               loop_binary(x->a, is_best ? LOOP_MAX : LOOP_ADD, own(x, to), v), false);
    loop_close(b, &by_column);
    loop_intrinsic(b, is_best ? INTRINSIC_QUAD_MAX : INTRINSIC_QUAD_SUM,
                   (struct loop_operand[]){{to, num(x, 0)}});
}

static void store_row(struct wgmma_build *x, struct loop_builder *b, const struct wgmma_place *p,
                      const struct loop_expr *row) {
    const struct folded *d = x->store_ctx;
    struct loop_builder one, inside, across;
    loop_open_if(b, rest(x, p->lane, 4), num(x, 1), &one);
    loop_open_if(&one, row, x->rows_end, &inside);
    // Tiles of a cluster may lie outside.
    loop_open_if(&inside, x->rhs.first, x->l->space.extent[x->rhs.group], &across);
    const struct loop_expr *at = add(x, times(x, x->matrix, x->z.m), row);
    const struct loop_expr *tile = quotient(x, x->rhs.first, x->z.rhs.width);
    at = loop_let(&across, "at", add(x, times(x, tile, d->f->rows), at));
    if (d->best)
        loop_store(&across, d->bests, at, of_row(x, d->best), false);
    if (d->total)
        loop_store(&across, d->totals, at, of_row(x, d->total), false);
    loop_close(&inside, &across);
    loop_close(&one, &inside);
    loop_close(b, &one);
}

static void store_rows(struct wgmma_build *x, struct loop_builder *b, const struct wgmma_place *p) {
    const struct folded *d = x->store_ctx;
    struct loop_builder by_row;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->z.own / 32, &by_row);
    const struct loop_expr *row =
        add(x, times(x, quotient(x, i, 2), WGMMA_ROWS), times(x, rest(x, i, 2), 8));
    row = add(x, p->first, add(x, row, quotient(x, p->lane, 4)));
    row = loop_let(&by_row, "row", row);
    const struct loop_expr *read = row;
    if (x->z.m % x->z.lhs.width != 0)
        read = loop_let(&by_row, "inside", smaller(x, row, num(x, x->z.m - 1)));
    const struct loop_expr *shift = NULL;
    if (d->best)
        fold_row(x, &by_row, p, i, read, d->best, NULL);
    if (d->f->kind == ROWGEMM_EXP_SUM)
        shift = loop_let(&by_row, "shift", shift_of(x->a, of_row(x, d->best)));
    if (d->total)
        fold_row(x, &by_row, p, i, read, d->total, shift);
    store_row(x, &by_row, p, row);
    loop_close(b, &by_row);
}

// ---- rows of all tiles

struct row_finish {
    struct wgmma_build *x;
    const struct folded *d;
    const struct loop_expr *row, *shift;
    struct loop_buffer *best, *total;  // of the thread's row
};

// Fold the numbers of tile `t`. Exponentials of a tile are less its own largest number; a tile with
// nothing above -infinity adds nothing.
static void finish_tile(const struct row_finish *n, struct loop_builder *b,
                        const struct loop_expr *t, bool is_best) {
    const struct wgmma_build *x = n->x;
    const struct loop_expr *zero = num(x, 0), *at = add(x, times(x, t, n->d->f->rows), n->row);
    const struct loop_buffer *to = is_best ? n->best : n->total;
    const struct loop_expr *v = loop_load(x->a, is_best ? n->d->bests : n->d->totals, at, 1, 1);
    if (n->shift && !is_best) {
        const struct loop_expr *largest =
            loop_let(b, "largest", loop_load(x->a, n->d->bests, at, 1, 1));
        const struct loop_expr *less =
            loop_binary(x->a, LOOP_SUB, shift_of(x->a, largest), n->shift);
        v = loop_binary(x->a, LOOP_MUL, v, loop_unary(x->a, LOOP_EXP, less));
        v = loop_ternary(x->a, LOOP_SELECT,
                         loop_binary(x->a, LOOP_EQ, largest, loop_real(x->a, -INFINITY)),
                         loop_real(x->a, 0), v);
    }
    loop_store(b, to, zero,
               loop_binary(x->a, is_best ? LOOP_MAX : LOOP_ADD, loop_load(x->a, to, zero, 1, 1), v),
               false);
}

// Some tiles at once, so that their numbers are on their way together.
static const struct loop_expr *finish_tiles(const struct row_finish *n, struct loop_builder *b,
                                            bool is_best) {
    struct wgmma_build *x = n->x;
    struct loop_builder by_some, by_tile;
    const struct loop_buffer *to = is_best ? n->best : n->total;
    int64_t tiles = tiles_across(&x->z), whole = tiles / FINISH_TILES * FINISH_TILES;
    loop_store(b, to, num(x, 0), loop_real(x->a, is_best ? -INFINITY : 0), false);
    if (whole > 0) {
        struct loop_for f = {"some", num(x, 0), num(x, whole), FINISH_TILES, false};
        const struct loop_expr *some = loop_open_for(b, &f, &by_some);
        const struct loop_expr *t = open_unrolled(x, &by_some, "t", FINISH_TILES, &by_tile);
        finish_tile(n, &by_tile, add(x, some, t), is_best);
        loop_close(&by_some, &by_tile);
        loop_close(b, &by_some);
    }
    if (tiles > whole) {
        const struct loop_expr *t = open_unrolled(x, b, "t", tiles - whole, &by_tile);
        finish_tile(n, &by_tile, add(x, num(x, whole), t), is_best);
        loop_close(b, &by_tile);
    }
    return loop_load(x->a, to, num(x, 0), 1, 1);
}

static void define_row(struct wgmma_build *x, struct scope *s, const struct rowgemm_form *f,
                       node_id n, const struct loop_expr *value) {
    struct axis_map map = rowgemm_map(x->l->region, f, n);
    point_define(s, n, &map, loop_let(s->builder, x->l->region->graph->nodes[n].name, value));
}

static void finish_rows(struct wgmma_build *x, const struct folded *d) {
    struct lowering *l = x->l;
    struct loop_builder b, some;
    rowgemm_build_space(l, d->f);
    struct gpu_kernel k =
        gpu_open_kernel(l, arena_printf(x->a, "%s_rows", x->name),
                        num(x, (d->f->rows + FINISH_BLOCK - 1) / FINISH_BLOCK), FINISH_BLOCK, &b);
    struct row_finish n = {.x = x, .d = d};
    n.row = loop_let(&b, "row", add(x, times(x, k.block, FINISH_BLOCK), k.thread));
    n.best = loop_register(l->program, "best", 1, 1);
    n.total = loop_register(l->program, "total", 1, 1);
    loop_open_if(&b, n.row, num(x, d->f->rows), &some);
    struct scope s = {.lowering = l, .builder = &some, .lane_group = -1, .lanes = 1};
    scope_split(&s, n.row, 0, l->space.n_groups);
    if (d->best)
        define_row(x, &s, d->f, d->f->best, finish_tiles(&n, &some, true));
    if (d->f->kind == ROWGEMM_EXP_SUM)
        n.shift =
            loop_let(&some, "shift", shift_of(x->a, loop_load(x->a, n.best, num(x, 0), 1, 1)));
    if (d->total)
        define_row(x, &s, d->f, d->f->total, finish_tiles(&n, &some, false));
    for (int v = 0; v < l->region->n_values; v++) {
        struct axis_map map = rowgemm_map(l->region, d->f, l->region->value[v]);
        point_store(&s, v, &map, false);
    }
    loop_close(&b, &some);
}

static void lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct wgmma_build x;
    struct folded d = {.f = f->rowgemm};
    wgmma_begin(&x, l, f, stage);
    struct loop_size all[] = {{tiles_across(&x.z), NULL}, {d.f->rows, NULL}};
    if (d.f->best >= 0) {
        d.best = loop_register(l->program, "best", 1, 2);
        d.bests = loop_global_of(l->program, arena_printf(x.a, "%s_bests", x.name), LOOP_SCRATCH,
                                 DTYPE_F32, all, 2);
    }
    if (d.f->total >= 0) {
        d.total = loop_register(l->program, "folded", 1, 2);
        d.totals = loop_global_of(l->program, arena_printf(x.a, "%s_sums", x.name), LOOP_SCRATCH,
                                  DTYPE_F32, all, 2);
    }
    x.store = store_rows;
    x.store_ctx = &d;
    wgmma_build_kernel(&x, "rowgemm");
    finish_rows(&x, &d);
}

const struct emitter rowgemm_wgmma = {
    .name = "wgmma",
    .summary = "a product of which each row becomes a number, on tensor cores, copies and products "
               "by different warps",
    .knobs = knobs,
    .runs_on = wgmma_runs_on,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = wgmma_is_legal,
    .lower = lower,
    .estimate = estimate,
};
