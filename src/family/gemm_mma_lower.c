// The loops of gemm's `mma` emitter; gemm_mma.c says what they compute and why so.
//
//   start the copies of slices 0 .. stages - 2, a group each
//   wait for slice 0; read its first fragments
//   for every slice but the last:
//       for every step of the slice:
//           before the last one: wait for the next slice, barrier
//           read the fragments of the next step (of the last: the next slice's first)
//           after the first one: start the copies of slice + stages - 1, into the slot of the slice
//               before, which nobody reads after that barrier
//           products of this step
//   the last slice's steps
//   store
//
// Rows and columns beyond the edge follow the last one there is and are not stored; depth beyond
// the edge is zeros in both operands, so that it adds nothing whatever lies there.
#include <assert.h>

#include "base/arena.h"
#include "family/gemm_mma.h"
#include "family/gpu.h"

struct mma_tile {
    const struct mma_side *s;
    int group;                      // of the space, that stays
    const struct loop_expr *first;  // of the tile, along it
    const struct loop_expr *warp;   // where this warp's part begins
    struct loop_buffer *from, *tile, *words;
    bool is_lhs;
};

struct build {
    struct lowering *l;
    struct arena *a;
    const struct gemm_form *form;
    struct mma_sizes z;
    struct scope *outer;  // batch fixed
    const struct loop_expr *thread, *lane;
    struct mma_tile lhs, rhs;
    struct loop_buffer *sum;    // [16 rows][8 columns][rows g, g + 8] of two columns
    struct loop_buffer *total;  // NULL: one sum is enough
};

static const struct loop_expr *num(const struct build *x, int64_t value) {
    return loop_int(x->a, value);
}

static const struct loop_expr *add(const struct build *x, const struct loop_expr *p,
                                   const struct loop_expr *q) {
    return loop_binary(x->a, LOOP_ADD, p, q);
}

static const struct loop_expr *times(const struct build *x, const struct loop_expr *p, int64_t q) {
    return loop_binary(x->a, LOOP_MUL, p, num(x, q));
}

static const struct loop_expr *quotient(const struct build *x, const struct loop_expr *p,
                                        int64_t q) {
    return loop_binary(x->a, LOOP_DIV, p, num(x, q));
}

static const struct loop_expr *rest(const struct build *x, const struct loop_expr *p, int64_t q) {
    return loop_binary(x->a, LOOP_MOD, p, num(x, q));
}

static const struct loop_expr *smaller(const struct build *x, const struct loop_expr *p,
                                       const struct loop_expr *q) {
    return loop_binary(x->a, LOOP_MIN, p, q);
}

static const struct loop_expr *open_unrolled(const struct build *x, struct loop_builder *b,
                                             const char *name, int64_t count,
                                             struct loop_builder *inner) {
    struct loop_for f = {name, num(x, 0), num(x, count), 1, true};
    return loop_open_for(b, &f, inner);
}

// ---- slices on their way to shared memory

static int per_piece(const struct build *x) {
    return 16 / x->z.element_bytes;
}

// Element `column` (a multiple of a copy) of row `row` of the tile in slot `slot`.
static const struct loop_expr *place(const struct build *x, const struct mma_side *s,
                                     const struct loop_expr *slot, const struct loop_expr *row,
                                     const struct loop_expr *piece) {
    int bytes = s->length * x->z.element_bytes;
    const struct loop_expr *at = loop_swizzle(x->a, row, piece, bytes > 128 ? 128 : bytes);
    const struct loop_expr *line = add(x, times(x, slot, s->rows), row);
    return add(x, times(x, line, s->length), times(x, at, per_piece(x)));
}

// How many bytes of a copy at depth `k` exist.
static const struct loop_expr *valid_bytes(const struct build *x, const struct mma_side *s,
                                           const struct loop_expr *k) {
    int bytes = s->copy_elements * x->z.element_bytes;
    if (x->z.k % x->z.depth == 0)
        return num(x, bytes);
    const struct loop_expr *left =
        loop_binary(x->a, LOOP_SUB, x->l->space.extent[x->form->group_k], k);
    left = times(x, loop_binary(x->a, LOOP_MAX, left, num(x, 0)), x->z.element_bytes);
    return smaller(x, left, num(x, bytes));
}

// One copy: `at` elements into row `row` of the tile.
static void copy_item(const struct build *x, const struct mma_tile *t, struct loop_builder *b,
                      const struct loop_expr *slice, const struct loop_expr *row,
                      const struct loop_expr *column) {
    static const enum loop_intrinsic by_bytes[] = {
        [4] = INTRINSIC_COPY4, [8] = INTRINSIC_COPY8, [16] = INTRINSIC_COPY16};
    const struct mma_side *s = t->s;
    int bytes = s->copy_elements * x->z.element_bytes;
    const struct loop_expr *k = add(x, times(x, slice, x->z.depth), s->along_k ? column : row);
    const struct loop_expr *stay = add(x, t->first, s->along_k ? row : column);
    int64_t last = s->along_k ? 1 : s->copy_elements;
    if (s->size % s->width != 0)
        stay = smaller(x, stay,
                       loop_binary(x->a, LOOP_SUB, x->l->space.extent[t->group], num(x, last)));
    struct scope scope = scope_inside(x->outer, b);
    scope.index[t->group] = stay;
    scope.index[x->form->group_k] = k;
    const struct shape *shape = &x->l->region->graph->nodes[s->leaf].shape;
    const struct loop_expr *slot = rest(x, slice, x->z.stages);
    // A copy may be less than the piece that changes places as a whole.
    const struct loop_expr *to = place(x, s, slot, row, quotient(x, column, per_piece(x)));
    to = add(x, to, rest(x, column, per_piece(x)));
    loop_intrinsic(b, by_bytes[bytes],
                   (struct loop_operand[]){{t->tile, to},
                                           {t->from, point_index(&scope, shape, &s->map)},
                                           {NULL, valid_bytes(x, s, k)}});
}

static void copy_tile(const struct build *x, const struct mma_tile *t, struct loop_builder *b,
                      const struct loop_expr *slice) {
    const struct mma_side *s = t->s;
    struct loop_builder inner, some;
    const struct loop_expr *i = open_unrolled(x, b, "item", s->items, &inner);
    const struct loop_expr *row, *column;
    if (x->z.threads % s->copies == 0) {
        row = add(x, times(x, i, x->z.threads / s->copies), quotient(x, x->thread, s->copies));
        column = rest(x, x->thread, s->copies);
    } else {
        const struct loop_expr *v = add(x, times(x, i, x->z.threads), x->thread);
        row = quotient(x, v, s->copies);
        column = rest(x, v, s->copies);
    }
    column = times(x, column, s->copy_elements);
    loop_open_if(&inner, row, num(x, s->rows), &some);
    copy_item(x, t, &some, slice, row, column);
    loop_close(&inner, &some);
    loop_close(b, &inner);
}

// Start the copies of a slice, if there is one; the group counts in any case.
static void copy_slice(const struct build *x, struct loop_builder *b,
                       const struct loop_expr *slice) {
    struct loop_builder some;
    loop_open_if(b, slice, num(x, x->z.slices), &some);
    copy_tile(x, &x->lhs, &some, slice);
    copy_tile(x, &x->rhs, &some, slice);
    loop_close(b, &some);
    loop_intrinsic(b, INTRINSIC_COMMIT, NULL);
}

// The next slice has come, of all threads; and nobody reads the one before it any more.
static void arrive(const struct build *x, struct loop_builder *b) {
    loop_intrinsic(b, INTRINSIC_WAIT, (struct loop_operand[]){{NULL, num(x, x->z.stages - 2)}});
    loop_barrier(b);
}

// ---- fragments

// Words of fragment number `i` of one set.
static const struct loop_expr *word_at(const struct build *x, const struct mma_tile *t, int set,
                                       const struct loop_expr *i) {
    return add(x, times(x, i, 4), num(x, set * t->s->own / 4));
}

// Sixteen rows (of the left) or columns by one step of depth, number `i` of the warp's part.
static void read_fragment(const struct build *x, const struct mma_tile *t, struct loop_builder *b,
                          const struct loop_expr *slot, int step, int set,
                          const struct loop_expr *i) {
    const struct loop_expr *eighth = rest(x, x->lane, 8), *half = quotient(x, x->lane, 16);
    const struct loop_expr *odd = rest(x, quotient(x, x->lane, 8), 2);
    // Which of the four matrices lies further down the axis that stays, which further along K.
    const struct loop_expr *down = t->is_lhs ? odd : half, *deep = t->is_lhs ? half : odd;
    const struct loop_expr *first = add(x, t->warp, times(x, i, 16));
    const struct loop_expr *row, *piece;
    if (t->s->along_k) {
        row = add(x, first, add(x, times(x, down, 8), eighth));
        piece = add(x, num(x, 2 * step), deep);
    } else {
        row = add(x, num(x, x->z.step * step), add(x, times(x, deep, 8), eighth));
        piece = add(x, quotient(x, first, 8), down);
    }
    loop_intrinsic(b, t->s->along_k ? INTRINSIC_LDMATRIX : INTRINSIC_LDMATRIX_TRANSPOSED,
                   (struct loop_operand[]){{t->words, word_at(x, t, set, i)},
                                           {t->tile, place(x, t->s, slot, row, piece)}});
}

static void round_words(const struct build *x, const struct mma_tile *t, struct loop_builder *b,
                        const struct loop_expr *first) {
    struct loop_builder inner;
    const struct loop_expr *w = open_unrolled(x, b, "w", 4, &inner);
    loop_intrinsic(&inner, INTRINSIC_ROUND_TF32,
                   (struct loop_operand[]){{t->words, add(x, first, w)}});
    loop_close(b, &inner);
}

static void read_side(const struct build *x, const struct mma_tile *t, struct loop_builder *b,
                      const struct loop_expr *slot, int step, int set) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", t->s->own / 16, &inner);
    read_fragment(x, t, &inner, slot, step, set, i);
    if (x->z.kind == MMA_KIND_TF32)
        round_words(x, t, &inner, word_at(x, t, set, i));
    loop_close(b, &inner);
}

static void read_step(const struct build *x, struct loop_builder *b, const struct loop_expr *slice,
                      int step) {
    const struct loop_expr *slot = rest(x, slice, x->z.stages);
    read_side(x, &x->lhs, b, slot, step, step % 2);
    read_side(x, &x->rhs, b, slot, step, step % 2);
}

// Where in `sum` the part of 16 rows and 8 columns begins.
static const struct loop_expr *sum_at(const struct build *x, const struct loop_expr *i,
                                      const struct loop_expr *j) {
    return times(x, add(x, times(x, i, x->z.rhs.own / 8), j), 2);
}

static void multiply(const struct build *x, struct loop_builder *b, int set) {
    static const enum loop_intrinsic by_kind[] = {[MMA_KIND_F16] = INTRINSIC_MMA_F16,
                                                  [MMA_KIND_BF16] = INTRINSIC_MMA_BF16,
                                                  [MMA_KIND_TF32] = INTRINSIC_MMA_TF32};
    struct loop_builder by_row, by_column;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->z.lhs.own / 16, &by_row);
    const struct loop_expr *j = open_unrolled(x, &by_row, "j", x->z.rhs.own / 8, &by_column);
    const struct loop_expr *right = add(x, times(x, j, 2), num(x, set * x->z.rhs.own / 4));
    loop_intrinsic(&by_column, by_kind[x->z.kind],
                   (struct loop_operand[]){{x->sum, sum_at(x, i, j)},
                                           {x->lhs.words, word_at(x, &x->lhs, set, i)},
                                           {x->rhs.words, right}});
    loop_close(&by_row, &by_column);
    loop_close(b, &by_row);
}

// ---- sums of many slices

static void clear(const struct build *x, struct loop_builder *b, const struct loop_buffer *sums) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    loop_store(&inner, sums, i, loop_real(x->a, 0), false);
    loop_close(b, &inner);
}

// Element number `i` of the thread's totals.
static const struct loop_expr *total_index(const struct build *x, const struct loop_expr *i) {
    if (!x->z.total_shared)
        return i;
    return times(x, add(x, times(x, i, x->z.threads), x->thread), 2);
}

static const struct loop_expr *sum_and_total(const struct build *x, const struct loop_expr *i) {
    const struct loop_expr *sum = loop_load(x->a, x->sum, i, 2, 1);
    if (!x->total)
        return sum;
    return loop_binary(x->a, LOOP_ADD, loop_load(x->a, x->total, total_index(x, i), 2, 1), sum);
}

static void clear_totals(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    loop_store(&inner, x->total, total_index(x, i), loop_broadcast(x->a, loop_real(x->a, 0), 2),
               false);
    loop_close(b, &inner);
}

// After the last slice of a chunk.
static void put_aside(const struct build *x, struct loop_builder *b,
                      const struct loop_expr *slice) {
    struct loop_builder some, inner;
    if (!x->total)
        return;
    loop_open_if(b, num(x, x->z.chunk - 2), rest(x, slice, x->z.chunk), &some);
    const struct loop_expr *i = open_unrolled(x, &some, "i", x->sum->count, &inner);
    loop_store(&inner, x->total, total_index(x, i), sum_and_total(x, i), false);
    loop_store(&inner, x->sum, i, loop_real(x->a, 0), false);
    loop_close(&some, &inner);
    loop_close(b, &some);
}

// ---- the walk along K

// All steps of a slice; `next`: another one follows.
static void slice_steps(const struct build *x, struct loop_builder *b,
                        const struct loop_expr *slice, bool next) {
    int steps = x->z.depth / x->z.step;
    for (int step = 0; step < steps; step++) {
        bool is_last = step == steps - 1;
        if (is_last && next)
            arrive(x, b);
        if (!is_last)
            read_step(x, b, slice, step + 1);
        else if (next)
            read_step(x, b, add(x, slice, num(x, 1)), 0);
        if (step == 0 && next)
            copy_slice(x, b, add(x, slice, num(x, x->z.stages - 1)));
        multiply(x, b, step % 2);
    }
}

static void walk(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *last = num(x, x->z.slices - 1);
    clear(x, b, x->sum);
    if (x->total)
        clear_totals(x, b);
    struct loop_for ahead = {"slice", num(x, 0), num(x, x->z.stages - 1), 1, false};
    copy_slice(x, &inner, loop_open_for(b, &ahead, &inner));
    loop_close(b, &inner);
    arrive(x, b);
    read_step(x, b, num(x, 0), 0);
    struct loop_for f = {"slice", num(x, 0), last, 1, false};
    const struct loop_expr *slice = loop_open_for(b, &f, &inner);
    slice_steps(x, &inner, slice, true);
    put_aside(x, &inner, slice);
    loop_close(b, &inner);
    slice_steps(x, b, last, false);
}

// ---- results

// Inside the result? Always, where tiles fill it: ranges do not know it of every order of tiles.
static void open_guard(const struct build *x, const struct mma_tile *t, struct loop_builder *b,
                       const struct loop_expr *at, struct loop_builder *inner) {
    bool fills = t->s->size % t->s->width == 0;
    loop_open_if(b, fills ? num(x, 0) : at, fills ? num(x, 1) : x->l->space.extent[t->group],
                 inner);
}

static void store_pair(const struct build *x, struct loop_builder *b, const struct loop_expr *row,
                       const struct loop_expr *column, const struct loop_expr *sum) {
    const struct region *region = x->l->region;
    int lanes = x->z.n % 2 == 0 ? 2 : 1;
    struct axis_map map = map_identity(region->graph->nodes[x->form->anchor].shape.rank);
    struct loop_builder by_lane, guard;
    const struct loop_expr *lane = open_unrolled(x, b, "lane", 2 / lanes, &by_lane);
    const struct loop_expr *at = add(x, column, lane);
    open_guard(x, &x->rhs, &by_lane, at, &guard);
    struct scope s = scope_inside(x->outer, &guard);
    s.index[x->lhs.group] = row;
    s.index[x->rhs.group] = at;
    s.lane_group = x->rhs.group;
    s.lanes = lanes;
    const struct loop_expr *e = lanes == 1 ? loop_lane(x->a, sum, lane) : sum;
    point_define(&s, x->form->anchor, &x->form->at,
                 loop_let(&guard, region->graph->nodes[x->form->anchor].name, e));
    for (int v = 0; v < region->n_values; v++)
        point_store(&s, v, &map, false);
    loop_close(&by_lane, &guard);
    loop_close(b, &by_lane);
}

static void store_tile(const struct build *x, struct loop_builder *b) {
    struct loop_builder by_row, guard, by_column;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->z.lhs.own / 8, &by_row);
    const struct loop_expr *row = add(x, times(x, i, 8), quotient(x, x->lane, 4));
    row = loop_let(&by_row, "row", add(x, x->lhs.first, add(x, x->lhs.warp, row)));
    open_guard(x, &x->lhs, &by_row, row, &guard);
    const struct loop_expr *j = open_unrolled(x, &guard, "j", x->z.rhs.own / 8, &by_column);
    const struct loop_expr *column = add(x, times(x, j, 8), times(x, rest(x, x->lane, 4), 2));
    column = loop_let(&by_column, "column", add(x, x->rhs.first, add(x, x->rhs.warp, column)));
    const struct loop_expr *at = add(x, sum_at(x, quotient(x, i, 2), j), rest(x, i, 2));
    store_pair(x, &by_column, row, column, sum_and_total(x, at));
    loop_close(&guard, &by_column);
    loop_close(&by_row, &guard);
    loop_close(b, &by_row);
}

// ---- the kernel

static void make_side(struct build *x, struct mma_tile *t, const struct mma_side *s, int group,
                      const char *name) {
    struct loop_program *p = x->l->program;
    struct loop_size shape[] = {{(int64_t)x->z.stages * s->rows, NULL}, {s->length, NULL}};
    *t = (struct mma_tile){.s = s, .group = group, .is_lhs = s == &x->z.lhs};
    t->from = x->l->buffer[s->leaf];
    assert(t->from->dtype == x->z.storage);
    t->tile = loop_shared_of(p, arena_printf(x->a, "%s_tile", name), x->z.storage, shape, 2);
    t->words = loop_register_of(p, arena_printf(x->a, "%s_words", name), s->own / 2, 1, LOOP_I32);
}

static void make_buffers(struct build *x) {
    struct loop_program *p = x->l->program;
    make_side(x, &x->lhs, &x->z.lhs, x->form->group_m, "lhs");
    make_side(x, &x->rhs, &x->z.rhs, x->form->group_n, "rhs");
    int64_t pairs = mma_sums(&x->z) / 2;
    struct loop_size totals = {2 * pairs * x->z.threads, NULL};
    x->sum = loop_register(p, "sum", pairs, 2);
    if (x->z.total_shared)
        x->total = loop_shared(p, "total", &totals, 1);
    else if (x->z.chunk)
        x->total = loop_register(p, "total", pairs, 2);
}

// Which tile a block has: `group` rows of tiles are walked column by column, so that blocks that
// run at the same time read the same operands.
static void place_tile(struct build *x, struct loop_builder *b, const struct loop_expr *tile,
                       const struct loop_expr *down, const struct loop_expr *right) {
    int64_t n_down = (x->z.m + x->z.lhs.width - 1) / x->z.lhs.width;
    int64_t group = x->z.group < n_down ? x->z.group : n_down;
    const struct loop_expr *per = times(x, right, group);
    const struct loop_expr *first =
        loop_let(b, "above", times(x, loop_binary(x->a, LOOP_DIV, tile, per), group));
    const struct loop_expr *inside = loop_let(b, "inside", loop_binary(x->a, LOOP_MOD, tile, per));
    const struct loop_expr *rows = num(x, group);
    if (n_down % group != 0)
        rows = loop_let(b, "rows", smaller(x, loop_binary(x->a, LOOP_SUB, down, first), rows));
    const struct loop_expr *row = add(x, first, loop_binary(x->a, LOOP_MOD, inside, rows));
    x->lhs.first = loop_let(b, "row0", times(x, row, x->z.lhs.width));
    x->rhs.first =
        loop_let(b, "column0", times(x, loop_binary(x->a, LOOP_DIV, inside, rows), x->z.rhs.width));
}

void mma_lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct build x = {.l = l, .a = l->arena, .form = f->gemm};
    gemm_build_space(l, x.form);
    x.z = mma_read_sizes(f, stage);
    struct scope top = {.lowering = l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *down =
        loop_ceildiv(x.a, l->space.extent[x.form->group_m], x.z.lhs.width);
    const struct loop_expr *right =
        loop_ceildiv(x.a, l->space.extent[x.form->group_n], x.z.rhs.width);
    const struct loop_expr *tiles = loop_binary(x.a, LOOP_MUL, down, right);
    const struct loop_expr *grid =
        loop_binary(x.a, LOOP_MUL, scope_count(&top, 0, x.form->group_m), tiles);
    struct loop_builder b;
    struct gpu_kernel k =
        gpu_open_kernel(l, arena_printf(x.a, "%s_gemm", stage->values[0]), grid, x.z.threads, &b);
    k.kernel->min_blocks = stage_number(stage, "minblocks", 0);
    make_buffers(&x);
    top.builder = &b;
    struct scope batch = scope_inside(&top, &b);
    scope_split(&batch, loop_binary(x.a, LOOP_DIV, k.block, tiles), 0, x.form->group_m);
    x.outer = &batch;
    x.thread = k.thread;
    place_tile(&x, &b, loop_binary(x.a, LOOP_MOD, k.block, tiles), down, right);
    x.lane = loop_let(&b, "lane", rest(&x, k.thread, GPU_WARP));
    const struct loop_expr *warp = quotient(&x, k.thread, GPU_WARP);
    x.lhs.warp =
        loop_let(&b, "warp_row", times(&x, quotient(&x, warp, x.z.rhs.warps), x.z.lhs.own));
    x.rhs.warp = loop_let(&b, "warp_column", times(&x, rest(&x, warp, x.z.rhs.warps), x.z.rhs.own));
    walk(&x, &b);
    store_tile(&x, &b);
}
