// Operands of f32 for tensor cores of f16: parts of f16, and factors that undo their scales.
//
// Every row of the left operand and column of the right one is multiplied by a power of two that
// brings its largest magnitude to about 2^14, and is then written as high + low / 2^11, both f16:
// 22 bits.
// Three products of parts, added in f32, are as good as f32's own (high x high, and the two of a
// high and a low part), and three times f16's work is still four times as fast. Under `precision
// tf32` the high part is all: f16 has as many digits as tf32, and its products take half the time.
// What a power of two takes from the exponent of a sum the factors give back; there are two for
// each row, so that neither they nor their products leave the range of f32.
//
// Elements far below the largest of their row lose bits, from 2^-28 of it on. A row in which more
// than one of sixteen is so small, and one with an infinity or NaN, gets factors of 0, and its
// results are computed without tensor cores (gemm_wgmma_store.c): slowly, but as f32 has them.
//
// One kernel has both operands, some of its blocks each. A row that lies side by side is walked by
// a part of a block. Columns are walked by strips of 32, by a cluster of blocks along K, which tell
// each other what they saw through global memory. What fits is kept in registers between the two
// walks.
//
// Turned down: three parts of bf16, which need no scales, but six products; parts of tf32, as good
// as those of f16 at half the rate; one scale for a whole operand, which rows of different
// magnitudes break.
#include "family/gemm_wgmma_build.h"

#include <math.h>

enum {
    BLOCK = 512,           // threads that have columns
    ROWS = 256,            // threads that have short rows
    SHORT_ROW = 1024,      // elements that a warp has to itself
    KEPT = 32,             // floats of a thread that are kept
    STRIP = 32,            // columns
    GROUP_BLOCKS_MAX = 8,  // blocks of a cluster
    EXPONENT = 14,         // of the largest magnitude
    EXPONENT_MIN = -112,   // of a peak: below it f16 has all bits that f32 has
    SMALL_SHARE = 16,      // one of so many elements may be small
    UNROLL = 4
};

// Scaled: from here down parts lose bits.
#define SMALL 0x1p-14

struct pass {
    struct wgmma_build *x;
    struct wgmma_tile *t;
    bool is_lhs;
    const char *name;
    int vec, group_blocks;
    const struct loop_expr *block, *thread;
    struct scope *at;                    // row of the left, or columns of the right, fixed
    const struct loop_expr *matrix;      // of the batch
    const struct loop_expr *own;         // the row, or the first of the thread's columns
    const struct loop_expr *real, *end;  // it is there where real < end
    const struct loop_expr *scale[2], *factor[2];
    struct gpu_fold peak, small;
    struct loop_buffer *kept;  // what the first walk read, or NULL: read again
};

static int64_t matrices(const struct wgmma_build *x, const struct wgmma_side *s) {
    return s->is_batch ? x->z.batch : 1;
}

static int64_t padded(const struct wgmma_side *s) {
    return (s->size + 7) / 8 * 8;
}

const struct loop_expr *wgmma_factor(const struct wgmma_build *x, const struct wgmma_tile *t,
                                     int which, const struct loop_expr *at, int lanes) {
    int64_t size = padded(t->s);
    const struct loop_expr *index = add(x, num(x, which * matrices(x, t->s) * size), at);
    if (t->s->is_batch)
        index = add(x, times(x, x->matrix, size), index);
    return loop_load(x->a, t->factors, index, lanes, 1);
}

// ---- expressions

static const struct loop_expr *real(const struct pass *p, double value) {
    return loop_real(p->x->a, value);
}

static const struct loop_expr *op2(const struct pass *p, enum loop_op op, const struct loop_expr *u,
                                   const struct loop_expr *v) {
    return loop_binary(p->x->a, op, u, v);
}

static const struct loop_expr *power_of_two(const struct pass *p, const struct loop_expr *n) {
    return loop_unary(p->x->a, LOOP_EXP2, n);
}

// Half and half of the exponent that brings `peak` to 2^14 or next to it, and what undoes them.
static void find_scales(struct pass *p, struct loop_builder *b, const struct loop_expr *peak) {
    struct arena *a = p->x->a;
    const struct loop_expr *least = real(p, exp2(EXPONENT_MIN));
    const struct loop_expr *exponent =
        loop_unary(a, LOOP_FLOOR, loop_unary(a, LOOP_LOG2, op2(p, LOOP_MAX, peak, least)));
    exponent = op2(p, LOOP_MIN, op2(p, LOOP_MAX, exponent, real(p, EXPONENT_MIN)), real(p, 127));
    const struct loop_expr *shift =
        loop_let(b, "shift", op2(p, LOOP_SUB, real(p, EXPONENT), exponent));
    const struct loop_expr *halves[2];
    halves[0] = loop_unary(a, LOOP_FLOOR, op2(p, LOOP_MUL, shift, real(p, 0.5)));
    halves[0] = loop_let(b, "half", halves[0]);
    halves[1] = op2(p, LOOP_SUB, shift, halves[0]);
    for (int i = 0; i < 2; i++) {
        p->scale[i] = loop_let(b, "scale", power_of_two(p, halves[i]));
        p->factor[i] = power_of_two(p, loop_unary(a, LOOP_NEG, halves[i]));
    }
}

// The operand's element (row or column `own`, k), or several.
static const struct loop_expr *element(struct pass *p, struct loop_builder *b,
                                       const struct loop_expr *k) {
    const struct gemm_form *g = p->x->form;
    struct scope s = scope_inside(p->at, b);
    s.index[g->group_k] = k;
    s.lanes = p->vec;
    s.lane_group = p->t->s->along_k ? g->group_k : p->t->group;
    const struct loop_expr *v =
        p->is_lhs ? point_value(&s, g->lhs, &g->lhs_map) : point_value(&s, g->rhs, &g->rhs_map);
    return loop_broadcast(p->x->a, v, p->vec);
}

// ---- the two walks over a row or column

static void add_to_peak(void *ctx, struct loop_builder *b, const struct loop_expr *k,
                        const struct loop_expr *item) {
    struct pass *p = ctx;
    const struct loop_expr *v = element(p, b, k);
    if (p->kept) {
        v = loop_let(b, "v", v);
        loop_store(b, p->kept, item, v, false);
    }
    gpu_fold_add(&p->peak, b, loop_unary(p->x->a, LOOP_ABS, v));
}

static void store_parts(void *ctx, struct loop_builder *b, const struct loop_expr *k,
                        const struct loop_expr *item) {
    struct pass *p = ctx;
    struct wgmma_build *x = p->x;
    const struct wgmma_side *s = p->t->s;
    const struct loop_expr *v =
        p->kept ? loop_load(x->a, p->kept, item, p->vec, 1) : element(p, b, k);
    v = op2(p, LOOP_MUL, v, p->scale[0]);
    v = loop_let(b, "scaled", op2(p, LOOP_MUL, v, p->scale[1]));
    const struct loop_expr *high = loop_let(b, "high", loop_round_to(x->a, v, DTYPE_F16));
    const struct loop_expr *low = op2(p, LOOP_MUL, op2(p, LOOP_SUB, v, high), real(p, WGMMA_LOW));
    const struct loop_expr *size = loop_unary(x->a, LOOP_ABS, v);
    const struct loop_expr *is_small =
        op2(p, LOOP_AND, op2(p, LOOP_LT, size, real(p, SMALL)), op2(p, LOOP_NE, v, real(p, 0)));
    gpu_fold_add(&p->small, b, loop_ternary(x->a, LOOP_SELECT, is_small, real(p, 1), real(p, 0)));
    const struct loop_expr *row = s->along_k ? p->own : k, *at = s->along_k ? k : p->own;
    if (s->is_batch)
        row = add(x, times(x, p->matrix, s->along_k ? s->size : x->z.k), row);
    at = loop_let(b, "at", add(x, times(x, row, s->pitch), at));
    struct loop_builder guarded;
    loop_open_if(b, p->real, p->end, &guarded);
    loop_store(&guarded, p->t->parts[0], at, high, false);
    if (x->z.parts > 1)
        loop_store(&guarded, p->t->parts[1], at, low, false);
    loop_close(b, &guarded);
}

static void walk(struct pass *p, struct gpu_walk *w, struct loop_builder *b, struct gpu_fold *fold,
                 enum op op, gpu_walk_fn fn) {
    w->folds = fold;
    w->n_folds = 1;
    gpu_fold_init_of(fold, w, op, LOOP_F32, op == OP_RMAX ? "peak" : "small");
    gpu_walk_build(w, b, fn, p);
}

// What undoes the scales; 0 where parts of f16 are not good enough. NaN is not below infinity.
static void store_factors(struct pass *p, struct loop_builder *b, const struct loop_expr *peak,
                          const struct loop_expr *small) {
    struct wgmma_build *x = p->x;
    const struct wgmma_side *s = p->t->s;
    const struct loop_expr *most = real(p, (double)((x->z.k + SMALL_SHARE - 1) / SMALL_SHARE));
    const struct loop_expr *good =
        op2(p, LOOP_AND, op2(p, LOOP_LT, peak, real(p, INFINITY)), op2(p, LOOP_LE, small, most));
    const struct loop_expr *at = p->own;
    if (s->is_batch)
        at = add(x, times(x, p->matrix, padded(s)), at);
    for (int i = 0; i < 2; i++)
        loop_store(b, p->t->factors, add(x, num(x, i * matrices(x, s) * padded(s)), at),
                   loop_ternary(x->a, LOOP_SELECT, good, p->factor[i], real(p, 0)), false);
}

// ---- along K: a team of threads has a row

static void fix(struct pass *p, struct scope *s) {
    const struct gemm_form *g = p->x->form;
    scope_split(s, p->t->s->is_batch ? p->matrix : num(p->x, 0), 0, g->group_m);
    s->index[p->t->group] = p->own;
}

// Keep what one walk reads for the next, where that is little enough.
static void keep(struct pass *p, struct gpu_walk *w) {
    int64_t steps = gpu_walk_steps(w->length, w->vec, w->team->threads);
    w->unroll = steps >= 2 * UNROLL ? UNROLL : 0;
    if (steps * p->vec > KEPT)
        return;
    w->items = (int)steps;
    p->kept = loop_register(p->x->l->program, "kept", steps, p->vec);
}

// Threads of a row: as many as keep 16 floats each.
static int threads_of(const struct pass *p) {
    int threads = GPU_WARP;
    if (p->x->z.k > SHORT_ROW)
        for (threads = 128; threads < GPU_BLOCK_MAX && threads * 16 < p->x->z.k; threads *= 2)
            continue;
    return threads;
}

static struct gpu_kernel open_kernel(struct pass *p, int64_t blocks, int threads,
                                     struct loop_builder *b) {
    struct gpu_kernel k = gpu_open_kernel(p->x->l, arena_printf(p->x->a, "%s_split", p->name),
                                          num(p->x, blocks), threads, b);
    p->block = k.block;
    p->thread = k.thread;
    // What comes after may begin while it runs; the right operand's does so itself.
    k.kernel->is_programmatic = !p->is_lhs;
    loop_intrinsic(b, INTRINSIC_LAUNCH_NEXT, NULL);
    return k;
}

// Both operands are split at the same time, since neither reads or writes what the other does;
// waiting for the right one waits for both.
static void close_kernel(struct pass *p, struct loop_builder *b) {
    if (!p->is_lhs)
        loop_intrinsic(b, INTRINSIC_LAUNCH_WAIT, NULL);
}

static void split_along(struct pass *p) {
    struct wgmma_build *x = p->x;
    const struct wgmma_side *s = p->t->s;
    int threads = threads_of(p), rows = threads == GPU_WARP ? ROWS / threads : 1;
    int64_t count = matrices(x, s) * s->size;
    struct loop_builder kernel, *b = &kernel, first, inside;
    open_kernel(p, (count + rows - 1) / rows, threads * rows, b);
    struct scope outer = {.lowering = x->l, .lane_group = -1, .lanes = 1, .builder = b};
    struct gpu_team team = gpu_make_team(x->a, p->thread, threads, rows);
    p->real = loop_let(b, "real", add(x, times(x, p->block, rows), team.row));
    p->end = num(x, count);
    // Threads beyond the last row follow it, and come to the barriers with it.
    const struct loop_expr *row = loop_let(b, "row", smaller(x, p->real, num(x, count - 1)));
    p->matrix = quotient(x, row, s->size);
    p->own = s->is_batch ? loop_let(b, "own", rest(x, row, s->size)) : row;
    struct scope at = scope_inside(&outer, b);
    fix(p, &at);
    p->at = &at;
    struct gpu_walk w = {.l = x->l, .team = &team, .vec = p->vec, .length = x->z.k};
    w.begin = num(x, 0);
    w.end = num(x, x->z.k);
    keep(p, &w);
    walk(p, &w, b, &p->peak, OP_RMAX, add_to_peak);
    find_scales(p, b, p->peak.result);
    walk(p, &w, b, &p->small, OP_RSUM, store_parts);
    loop_open_if(b, team.lane, num(x, 1), &first);
    loop_open_if(&first, p->real, p->end, &inside);
    store_factors(p, &inside, p->peak.result, p->small.result);
    loop_close(&first, &inside);
    loop_close(b, &first);
    close_kernel(p, b);
}

// ---- across: neighbouring threads have neighbouring columns

// Where threads of a block meet: one of the first `width` threads for each column.
struct strip {
    int columns, lanes, width;  // threads side by side and one above the other; columns in all
    const struct loop_expr *rank, *column, *lane;  // rank: the block's in its group
    struct loop_buffer *shared;                    // scales, factors and peak: [5][width]
};

// The same of all blocks of the group: `all` has what this one has.
static void gather_block_group(struct pass *p, struct loop_builder *b, struct gpu_fold *f,
                               const struct strip *strip, struct loop_buffer *all,
                               struct loop_builder *one) {
    struct wgmma_build *x = p->x;
    int64_t strips = (p->t->s->size + strip->width - 1) / strip->width;
    struct loop_size shape[] = {{matrices(x, p->t->s) * strips * p->group_blocks, NULL},
                                {strip->width, NULL}};
    struct loop_buffer *parts =
        loop_global_of(x->l->program, arena_printf(x->a, "%s_%s", p->name, f->name), LOOP_SCRATCH,
                       DTYPE_F32, shape, 2);
    const struct loop_expr *zero = num(x, 0);
    loop_store(one, parts, add(x, times(x, p->block, strip->width), p->thread),
               loop_load(x->a, all, zero, 1, 1), false);
    loop_close(b, one);
    loop_group_barrier(b, NULL, NULL);
    loop_open_if(b, p->thread, num(x, strip->width), one);
    const struct loop_expr *group = quotient(x, p->block, p->group_blocks);
    for (int i = 0; i < p->group_blocks; i++) {
        const struct loop_expr *other = add(x, times(x, group, p->group_blocks), num(x, i));
        const struct loop_expr *at = add(x, times(x, other, strip->width), p->thread);
        const struct loop_expr *v = loop_load(x->a, parts, at, 1, 1);
        loop_store(one, all, zero, i ? op2(p, f->op, loop_load(x->a, all, zero, 1, 1), v) : v,
                   false);
    }
}

// The fold of `count` rows of `parts`, from row `first` on, in column `column`.
static void fold_rows(struct pass *p, struct loop_builder *b, struct gpu_fold *f,
                      const struct loop_buffer *parts, struct loop_buffer *all,
                      const struct loop_expr *first, const struct loop_expr *column, int count) {
    struct wgmma_build *x = p->x;
    struct loop_builder inner;
    const struct loop_expr *zero = num(x, 0), *at = add(x, times(x, first, STRIP), column);
    loop_store(b, all, zero, loop_load(x->a, parts, at, 1, 1), false);
    struct loop_for other = {"row", num(x, 1), num(x, count), 1, true};
    at = add(x, at, times(x, loop_open_for(b, &other, &inner), STRIP));
    loop_store(&inner, all, zero,
               op2(p, f->op, loop_load(x->a, all, zero, 1, 1), loop_load(x->a, parts, at, 1, 1)),
               false);
    loop_close(b, &inner);
}

// What all threads of column number `thread` of the strip have, put together by that thread; before
// that, sixteen warps have a part of the rows each, where there are more.
static const struct loop_expr *gather(struct pass *p, struct loop_builder *b, struct gpu_fold *f,
                                      const struct strip *strip, struct loop_builder *one) {
    struct wgmma_build *x = p->x;
    enum { WARPS = BLOCK / STRIP };
    struct loop_size shape[] = {{strip->lanes, NULL}, {strip->width, NULL}};
    struct loop_size fewer[] = {{WARPS, NULL}, {strip->width, NULL}};
    struct loop_buffer *parts =
        loop_shared_of(x->l->program, arena_printf(x->a, "%s_parts", f->name), DTYPE_F32, shape, 2);
    struct loop_buffer *all =
        loop_register(x->l->program, arena_printf(x->a, "%s_all", f->name), 1, 1);
    const struct loop_expr *at = times(x, strip->lane, strip->width), *zero = num(x, 0);
    loop_store(b, parts, add(x, at, times(x, strip->column, p->vec)), f->result, false);
    loop_barrier(b);
    if (strip->lanes > WARPS) {
        int each = strip->lanes / WARPS;
        struct loop_buffer *warps = loop_shared_of(
            x->l->program, arena_printf(x->a, "%s_warps", f->name), DTYPE_F32, fewer, 2);
        fold_rows(p, b, f, parts, all, times(x, quotient(x, p->thread, STRIP), each),
                  rest(x, p->thread, STRIP), each);
        loop_store(b, warps, p->thread, loop_load(x->a, all, zero, 1, 1), false);
        loop_barrier(b);
        parts = warps;
    }
    loop_open_if(b, p->thread, num(x, strip->width), one);
    fold_rows(p, one, f, parts, all, zero, p->thread, WARPS);
    if (p->group_blocks > 1)
        gather_block_group(p, b, f, strip, all, one);
    return loop_let(one, f->name, loop_load(x->a, all, zero, 1, 1));
}

static const struct loop_expr *scales_at(const struct pass *p, const struct strip *strip, int which,
                                         const struct loop_expr *column, int lanes) {
    struct wgmma_build *x = p->x;
    return loop_load(x->a, strip->shared, add(x, num(x, which * strip->width), column), lanes, 1);
}

// Scales of the strip's columns, from what all threads saw: in every thread those of its own.
static void meet_scales(struct pass *p, struct loop_builder *b, const struct strip *strip) {
    struct wgmma_build *x = p->x;
    struct loop_builder one;
    const struct loop_expr *peak = gather(p, b, &p->peak, strip, &one);
    find_scales(p, &one, peak);
    const struct loop_expr *found[] = {p->scale[0], p->scale[1], p->factor[0], p->factor[1], peak};
    for (int i = 0; i < 5; i++)
        loop_store(&one, strip->shared, add(x, num(x, i * strip->width), p->thread), found[i],
                   false);
    loop_close(b, &one);
    loop_barrier(b);
    for (int i = 0; i < 2; i++)
        p->scale[i] =
            loop_let(b, "scale", scales_at(p, strip, i, times(x, strip->column, p->vec), p->vec));
}

static void meet_factors(struct pass *p, struct loop_builder *b, const struct strip *strip,
                         const struct loop_expr *first) {
    struct wgmma_build *x = p->x;
    struct loop_builder one, leader, inside;
    const struct loop_expr *small = gather(p, b, &p->small, strip, &one);
    loop_open_if(&one, strip->rank, num(x, 1), &leader);
    for (int i = 0; i < 2; i++)
        p->factor[i] = scales_at(p, strip, 2 + i, p->thread, 1);
    p->own = loop_let(&leader, "own", add(x, first, p->thread));
    loop_open_if(&leader, p->own, p->end, &inside);
    store_factors(p, &inside, scales_at(p, strip, 4, p->thread, 1), small);
    loop_close(&leader, &inside);
    loop_close(&one, &leader);
    loop_close(b, &one);
}

static int64_t count_strips(const struct pass *p) {
    return (p->t->s->size + STRIP - 1) / STRIP;
}

// As many blocks along K as keep what they read and give every multiprocessor some.
static int blocks_per_group(const struct pass *p) {
    int64_t k = p->x->z.k, lanes = BLOCK / (STRIP / p->vec);
    double blocks = (double)matrices(p->x, p->t->s) * (double)count_strips(p);
    int group = 1;
    while (group < GROUP_BLOCKS_MAX && k / (2 * group) >= lanes &&
           (blocks * group < 1.5 * p->x->l->sms || (k + group - 1) / group * p->vec > KEPT * lanes))
        group *= 2;
    return group;
}

static void split_across(struct pass *p) {
    struct wgmma_build *x = p->x;
    struct loop_builder kernel, *b = &kernel;
    const struct wgmma_side *s = p->t->s;
    struct strip strip = {.columns = STRIP / p->vec, .width = STRIP};
    struct loop_size shape[] = {{5, NULL}, {STRIP, NULL}};
    p->group_blocks = blocks_per_group(p);
    int64_t strips = count_strips(p), span = (x->z.k + p->group_blocks - 1) / p->group_blocks;
    struct gpu_kernel k = open_kernel(p, matrices(x, s) * strips * p->group_blocks, BLOCK, b);
    k.kernel->min_blocks = 2;
    k.kernel->blocks_per_group = p->group_blocks > 1 ? p->group_blocks : 0;
    k.kernel->is_cluster = p->group_blocks > 1;
    struct scope outer = {.lowering = x->l, .lane_group = -1, .lanes = 1, .builder = b};
    strip.lanes = BLOCK / strip.columns;
    strip.column = loop_let(b, "column", rest(x, p->thread, strip.columns));
    strip.lane = loop_let(b, "lane", quotient(x, p->thread, strip.columns));
    strip.rank = rest(x, p->block, p->group_blocks);
    strip.shared = loop_shared_of(x->l->program, "scales", DTYPE_F32, shape, 2);
    const struct loop_expr *number = quotient(x, p->block, p->group_blocks);
    p->matrix = quotient(x, number, strips);
    const struct loop_expr *first =
        loop_let(b, "first", times(x, rest(x, number, strips), strip.width));
    p->real = loop_let(b, "own", add(x, first, times(x, strip.column, p->vec)));
    p->end = num(x, s->size);
    // Threads beyond the last column follow the last ones, and come to the barriers with them.
    struct scope at = scope_inside(&outer, b);
    at.lanes = p->vec;  // of all that is computed, also of what is the same for every k
    at.lane_group = p->t->group;
    p->own = loop_let(b, "near", smaller(x, p->real, num(x, s->size - p->vec)));
    fix(p, &at);
    p->own = p->real;
    p->at = &at;
    struct gpu_team team = {.threads = strip.lanes, .lane = strip.lane};
    struct gpu_walk w = {.l = x->l, .team = &team, .vec = 1, .lanes = p->vec, .apart = true};
    w.length = span;
    w.begin = loop_let(b, "begin", times(x, strip.rank, span));
    w.end = loop_let(b, "end", smaller(x, num(x, x->z.k), add(x, w.begin, num(x, span))));
    keep(p, &w);
    walk(p, &w, b, &p->peak, OP_RMAX, add_to_peak);
    meet_scales(p, b, &strip);
    walk(p, &w, b, &p->small, OP_RSUM, store_parts);
    meet_factors(p, b, &strip, first);
    close_kernel(p, b);
}

void wgmma_split(struct wgmma_build *x, struct wgmma_tile *t) {
    struct pass p = {.x = x, .t = t, .is_lhs = t == &x->lhs};
    const struct wgmma_side *s = t->s;
    struct loop_program *program = x->l->program;
    struct loop_size shape[] = {{matrices(x, s) * (s->along_k ? s->size : x->z.k), NULL},
                                {s->pitch, NULL}};
    struct loop_size factors[] = {{2, NULL}, {matrices(x, s) * padded(s), NULL}};
    p.name = arena_printf(x->a, "%s_%s", x->name, p.is_lhs ? "lhs" : "rhs");
    for (int i = 0; i < x->z.parts; i++)
        t->parts[i] =
            loop_global_of(program, arena_printf(x->a, "%s_%s", p.name, i ? "low" : "high"),
                           LOOP_SCRATCH, DTYPE_F16, shape, 2);
    t->factors = loop_global_of(program, arena_printf(x->a, "%s_factors", p.name), LOOP_SCRATCH,
                                DTYPE_F32, factors, 2);
    int64_t lanes = space_lanes(&x->l->space, s->along_k ? x->form->group_k : t->group);
    p.vec = lanes % 4 == 0 ? 4 : lanes % 2 == 0 ? 2 : 1;
    if (x->z.is_widened)  // has no vectors
        p.vec = 1;
    if (s->along_k)
        split_along(&p);
    else
        split_across(&p);
}
