// The loops of gemm's `mma` emitter; gemm_mma.c says what they compute and why so.
//
//   start the copies of slices 0 .. stages - 2, a group each
//   wait for slice 0; read its first fragments
//   for every slice but the last, chunks of them where sums are put aside:
//       for every step of the slice:
//           before the last one: wait for the next slice, barrier
//           read the fragments of the next step (of the last: the next slice's first)
//           after the first one: start the copies of slice + stages - 1, into the slot of the slice
//               before, which nobody reads after that barrier
//           products of this step
//   the last slice's steps
//   store
//
// An operand that is computed on its way (gemm_mma_prologue.c) is made of its sources between the
// wait and the barrier, by the threads that copied them.
//
// What lies beyond an edge is zeros and is not read; rows and columns there are not stored, and
// depth is zeros in both operands, so that it adds nothing whatever the other one has.
#include <assert.h>

#include "base/arena.h"
#include "family/gemm_mma_build.h"

// ---- slices on their way to shared memory

static int per_piece(const struct mma_build *x) {
    return 16 / x->z.element_bytes;
}

// Element `column` (a multiple of a copy) of row `row` of the tile in slot `slot`.
static const struct loop_expr *place(const struct mma_build *x, const struct mma_side *s,
                                     const struct loop_expr *slot, const struct loop_expr *row,
                                     const struct loop_expr *piece) {
    int bytes = s->length * x->z.element_bytes;
    // Words are read from four rows and eight columns at once: two pieces of each row.
    const struct loop_expr *at =
        s->by_words ? loop_binary(x->a, LOOP_XOR, piece, times(x, rest(x, row, 4), 2))
                    : loop_swizzle(x->a, row, piece, bytes > 128 ? 128 : bytes);
    const struct loop_expr *line = add(x, times(x, slot, s->rows), row);
    return add(x, times(x, line, s->length), times(x, at, per_piece(x)));
}

// What is left of an axis from `at` on, `each` bytes for an element.
static const struct loop_expr *bytes_left(const struct mma_build *x, const struct loop_expr *extent,
                                          const struct loop_expr *at, int64_t each) {
    const struct loop_expr *left = loop_binary(x->a, LOOP_SUB, extent, at);
    return times(x, loop_binary(x->a, LOOP_MAX, left, num(x, 0)), each);
}

// Which element of K.
static const struct loop_expr *depth_at(const struct mma_build *x, const struct mma_at *at) {
    const struct loop_expr *k = add(x, times(x, at->slice, x->z.depth), at->inside);
    return x->first_k ? add(x, x->first_k, k) : k;
}

// How many bytes of a copy exist: all, or none of them beyond an edge. Along the axis of a row
// bytes count; the other axis is there or not.
const struct loop_expr *mma_valid_bytes(const struct mma_build *x, const struct mma_tile *t,
                                        const struct mma_at *at, int64_t each, int64_t bytes) {
    const struct mma_side *s = t->s;
    const struct loop_expr *valid = num(x, bytes), *left = NULL;
    const struct loop_expr *k = depth_at(x, at), *stay = at->stay;
    if (x->z.k % x->z.depth != 0 || x->first_k)
        left = bytes_left(x, x->extent_k, k, s->along_k ? each : bytes);
    if (s->size % s->width != 0 || s->is_cut) {
        const struct loop_expr *other =
            bytes_left(x, t->end ? t->end : t->extent, stay, s->along_k ? bytes : each);
        left = left ? smaller(x, left, other) : other;
    }
    return left ? smaller(x, left, valid) : valid;
}

struct mma_piece mma_piece_of(const struct mma_build *x, const struct mma_side *s,
                              const struct loop_expr *item) {
    struct mma_piece p;
    if (x->z.threads % s->copies == 0) {
        p.row = add(x, times(x, item, x->z.threads / s->copies), quotient(x, x->thread, s->copies));
        p.column = rest(x, x->thread, s->copies);
    } else {
        const struct loop_expr *v = add(x, times(x, item, x->z.threads), x->thread);
        p.row = quotient(x, v, s->copies);
        p.column = rest(x, v, s->copies);
    }
    p.column = times(x, p.column, s->copy_elements);
    return p;
}

// Around K, from the block's own slice on.
struct mma_at mma_where(const struct mma_build *x, const struct mma_tile *t,
                        const struct loop_expr *slice, const struct mma_piece *piece) {
    const struct loop_expr *from = x->turn ? rest(x, add(x, slice, x->turn), x->z.slices) : slice;
    bool along_k = t->s->along_k;
    return (struct mma_at){from, along_k ? piece->column : piece->row,
                           add(x, t->first, along_k ? piece->row : piece->column)};
}

const struct loop_expr *mma_element_at(const struct mma_build *x, const struct mma_side *s,
                                       const struct loop_expr *slice,
                                       const struct mma_piece *piece) {
    const struct loop_expr *slot = rest(x, slice, s->slots);
    // A copy may be less than the piece that changes places as a whole.
    const struct loop_expr *to =
        place(x, s, slot, piece->row, quotient(x, piece->column, per_piece(x)));
    return add(x, to, rest(x, piece->column, per_piece(x)));
}

// One copy into the tile.
static void copy_item(const struct mma_build *x, const struct mma_tile *t, struct loop_builder *b,
                      const struct loop_expr *slice, const struct mma_piece *piece) {
    static const enum loop_intrinsic by_bytes[] = {
        [4] = INTRINSIC_COPY4, [8] = INTRINSIC_COPY8, [16] = INTRINSIC_COPY16};
    struct mma_at at = mma_where(x, t, slice, piece);
    int64_t bytes = t->s->copy_elements * x->z.element_bytes;
    loop_intrinsic(
        b, by_bytes[bytes],
        (struct loop_operand[]){{t->tile, mma_element_at(x, t->s, slice, piece)},
                                {t->from, x->operands->source(x, t, b, &at)},
                                {NULL, mma_valid_bytes(x, t, &at, x->z.element_bytes, bytes)}});
}

static void copy_tile(const struct mma_build *x, const struct mma_tile *t, struct loop_builder *b,
                      const struct loop_expr *slice) {
    const struct mma_side *s = t->s;
    struct loop_builder inner, some;
    if (s->is_computed) {
        mma_copy_sources(x, t, b, slice);
        return;
    }
    const struct loop_expr *i = open_unrolled(x, b, "item", s->items, &inner);
    struct mma_piece piece = mma_piece_of(x, s, i);
    loop_open_if(&inner, piece.row, num(x, s->rows), &some);
    copy_item(x, t, &some, slice, &piece);
    loop_close(&inner, &some);
    loop_close(b, &inner);
}

static const struct loop_expr *slices_of(const struct mma_build *x) {
    return x->slices ? x->slices : num(x, x->z.slices);
}

// Start the copies of a slice, if there is one; the group counts in any case.
static void copy_slice(const struct mma_build *x, struct loop_builder *b,
                       const struct loop_expr *slice) {
    struct loop_builder some;
    loop_open_if(b, slice, slices_of(x), &some);
    copy_tile(x, &x->lhs, &some, slice);
    copy_tile(x, &x->rhs, &some, slice);
    loop_close(b, &some);
    loop_intrinsic(b, INTRINSIC_COMMIT, NULL);
}

// Slice `next` has come, of all threads; and nobody reads the one before it any more.
static void arrive(const struct mma_build *x, struct loop_builder *b,
                   const struct loop_expr *next) {
    loop_intrinsic(b, INTRINSIC_WAIT, (struct loop_operand[]){{NULL, num(x, x->z.stages - 2)}});
    if (x->z.lhs.is_computed)
        mma_compute_tile(x, &x->lhs, b, next);
    if (x->z.rhs.is_computed)
        mma_compute_tile(x, &x->rhs, b, next);
    loop_barrier(b);
}

// ---- fragments

// Words of fragment number `i` of one set.
static const struct loop_expr *word_at(const struct mma_build *x, const struct mma_tile *t, int set,
                                       const struct loop_expr *i) {
    return add(x, times(x, i, 4), num(x, set * t->s->own / 4));
}

// Sixteen rows (of the left) or columns by one step of depth, number `i` of the warp's part.
static void read_fragment(const struct mma_build *x, const struct mma_tile *t,
                          struct loop_builder *b, const struct loop_expr *slot, int step, int set,
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

// The same word by word: word `w` of a left fragment has its row in bit 0 and its depth in bit 1,
// of a right one the other way round.
static void read_words(const struct mma_build *x, const struct mma_tile *t, struct loop_builder *b,
                       const struct loop_expr *slot, int step, int set, const struct loop_expr *i) {
    struct loop_builder inner;
    const struct loop_expr *w = open_unrolled(x, b, "w", 4, &inner);
    const struct loop_expr *even = rest(x, w, 2), *later = quotient(x, w, 2);
    const struct loop_expr *down = t->is_lhs ? even : later, *deep = t->is_lhs ? later : even;
    const struct loop_expr *row =
        add(x, num(x, x->z.step * step), add(x, times(x, deep, 4), rest(x, x->lane, 4)));
    const struct loop_expr *column = add(x, t->warp, times(x, i, 16));
    column = add(x, column, times(x, down, 8));
    const struct loop_expr *g = quotient(x, x->lane, 4);
    const struct loop_expr *piece = add(x, quotient(x, column, 4), quotient(x, g, 4));
    loop_intrinsic(&inner, INTRINSIC_WORD,
                   (struct loop_operand[]){
                       {t->words, add(x, word_at(x, t, set, i), w)},
                       {t->tile, add(x, place(x, t->s, slot, row, piece), rest(x, g, 4))}});
    loop_close(b, &inner);
}

static void round_words(const struct mma_build *x, const struct mma_tile *t, struct loop_builder *b,
                        const struct loop_expr *first) {
    struct loop_builder inner;
    const struct loop_expr *w = open_unrolled(x, b, "w", 4, &inner);
    loop_intrinsic(&inner, INTRINSIC_ROUND_TF32,
                   (struct loop_operand[]){{t->words, add(x, first, w)}});
    loop_close(b, &inner);
}

static void read_side(const struct mma_build *x, const struct mma_tile *t, struct loop_builder *b,
                      const struct loop_expr *slot, int step, int set) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", t->s->own / 16, &inner);
    if (t->s->by_words)
        read_words(x, t, &inner, slot, step, set, i);
    else
        read_fragment(x, t, &inner, slot, step, set, i);
    if (x->z.kind == MMA_KIND_TF32 && !x->z.is_rounded)
        round_words(x, t, &inner, word_at(x, t, set, i));
    loop_close(b, &inner);
}

static void read_step(const struct mma_build *x, struct loop_builder *b,
                      const struct loop_expr *slice, int step) {
    read_side(x, &x->lhs, b, rest(x, slice, x->z.lhs.slots), step, step % 2);
    read_side(x, &x->rhs, b, rest(x, slice, x->z.rhs.slots), step, step % 2);
}

// Split words from `from` on into parts from `to` on.
static void split(const struct mma_build *x, const struct mma_tile *t, struct loop_builder *b,
                  const struct loop_expr *to, const struct loop_expr *from, int64_t count) {
    struct loop_builder inner;
    const struct loop_expr *w = open_unrolled(x, b, "w", count, &inner);
    loop_intrinsic(&inner, INTRINSIC_SPLIT_TF32,
                   (struct loop_operand[]){{t->high, add(x, to, w)},
                                           {t->low, add(x, to, w)},
                                           {t->words, add(x, from, w)}});
    loop_close(b, &inner);
}

// Three products of parts, sixteen columns at a time.
static void multiply_parts(const struct mma_build *x, struct loop_builder *b, int set) {
    struct loop_builder by_columns, by_row, by_half;
    split(x, &x->lhs, b, num(x, 0), num(x, set * x->z.lhs.own / 4), x->z.lhs.own / 4);
    const struct loop_expr *h = open_unrolled(x, b, "h", x->z.rhs.own / 16, &by_columns);
    split(x, &x->rhs, &by_columns, num(x, 0), word_at(x, &x->rhs, set, h), 4);
    const struct loop_buffer *factors[][2] = {
        {x->lhs.low, x->rhs.high}, {x->lhs.high, x->rhs.low}, {x->lhs.high, x->rhs.high}};
    // Products of one kind side by side: those of one sum would wait for each other.
    for (int p = 0; p < 3; p++) {
        const struct loop_expr *i = open_unrolled(x, &by_columns, "i", x->z.lhs.own / 16, &by_row);
        const struct loop_expr *j = open_unrolled(x, &by_row, "j", 2, &by_half);
        loop_intrinsic(&by_half, INTRINSIC_MMA_TF32,
                       (struct loop_operand[]){{x->sum, sum_at(x, i, add(x, times(x, h, 2), j))},
                                               {factors[p][0], times(x, i, 4)},
                                               {factors[p][1], times(x, j, 2)}});
        loop_close(&by_row, &by_half);
        loop_close(&by_columns, &by_row);
    }
    loop_close(b, &by_columns);
}

static void multiply(const struct mma_build *x, struct loop_builder *b, int set) {
    static const enum loop_intrinsic by_kind[] = {
        [MMA_KIND_F16] = INTRINSIC_MMA_F16,   [MMA_KIND_BF16] = INTRINSIC_MMA_BF16,
        [MMA_KIND_TF32] = INTRINSIC_MMA_TF32, [MMA_KIND_I8] = INTRINSIC_MMA_I8,
        [MMA_KIND_E4M3] = INTRINSIC_MMA_E4M3, [MMA_KIND_E5M2] = INTRINSIC_MMA_E5M2};
    struct loop_builder by_row, by_column;
    if (x->z.kind == MMA_KIND_TF32X3) {
        multiply_parts(x, b, set);
        return;
    }
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

static void clear(const struct mma_build *x, struct loop_builder *b,
                  const struct loop_buffer *sums) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    loop_store(&inner, sums, i, loop_number(x->a, sums->value, 0), false);
    loop_close(b, &inner);
}

static void put_aside(const struct mma_build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    loop_store(&inner, x->total, i, sum_and_total(x, i), false);
    loop_store(&inner, x->sum, i, loop_real(x->a, 0), false);
    loop_close(b, &inner);
}

// ---- the walk along K

// All steps of a slice; `next`: another one follows.
static void slice_steps(const struct mma_build *x, struct loop_builder *b,
                        const struct loop_expr *slice, bool next) {
    int steps = x->z.depth / x->z.step;
    for (int step = 0; step < steps; step++) {
        bool is_last = step == steps - 1;
        if (is_last && next)
            arrive(x, b, add(x, slice, num(x, 1)));
        if (!is_last)
            read_step(x, b, slice, step + 1);
        else if (next)
            read_step(x, b, add(x, slice, num(x, 1)), 0);
        if (step == 0 && next)
            copy_slice(x, b, add(x, slice, num(x, x->z.stages - 1)));
        multiply(x, b, step % 2);
    }
}

static void walk_slices(const struct mma_build *x, struct loop_builder *b,
                        const struct loop_expr *begin, const struct loop_expr *end) {
    struct loop_builder inner;
    struct loop_for f = {"slice", begin, end, 1, false};
    const struct loop_expr *slice = loop_open_for(b, &f, &inner);
    slice_steps(x, &inner, slice, true);
    loop_close(b, &inner);
}

// Loops of their own: a condition in the walk would cost every slice what it guards.
static void walk_chunks(const struct mma_build *x, struct loop_builder *b,
                        const struct loop_expr *end) {
    struct loop_builder inner;
    clear(x, b, x->total);
    struct loop_for f = {"chunk", num(x, 0), end, x->z.chunk, false};
    const struct loop_expr *begin = loop_open_for(b, &f, &inner);
    walk_slices(x, &inner, begin, smaller(x, end, add(x, begin, num(x, x->z.chunk))));
    put_aside(x, &inner);
    loop_close(b, &inner);
}

static void walk(const struct mma_build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *last =
        x->slices ? loop_let(b, "last", loop_binary(x->a, LOOP_SUB, x->slices, num(x, 1)))
                  : num(x, x->z.slices - 1);
    clear(x, b, x->sum);
    struct loop_for ahead = {"slice", num(x, 0), num(x, x->z.stages - 1), 1, false};
    copy_slice(x, &inner, loop_open_for(b, &ahead, &inner));
    loop_close(b, &inner);
    arrive(x, b, num(x, 0));
    read_step(x, b, num(x, 0), 0);
    if (x->total)
        walk_chunks(x, b, last);
    else
        walk_slices(x, b, num(x, 0), last);
    slice_steps(x, b, last, false);
}

// ---- the kernel

static void make_side(struct mma_build *x, struct mma_tile *t, const struct mma_side *s,
                      struct loop_buffer *from, const char *name) {
    struct loop_program *p = x->l->program;
    struct loop_size shape[] = {{(int64_t)s->slots * s->rows, NULL}, {s->length, NULL}};
    t->s = s;
    t->is_lhs = s == &x->z.lhs;
    t->from = from;
    assert(!from || from->dtype == x->z.storage || x->z.is_rounded);
    t->tile = loop_shared_of(p, arena_printf(x->a, "%s_tile", name),
                             from ? from->dtype : x->z.storage, shape, 2);
    if (s->is_computed)
        mma_make_sources(x, t, name);
    t->words = loop_register_of(p, arena_printf(x->a, "%s_words", name), s->own / 2, 1, LOOP_I32);
    if (x->z.kind != MMA_KIND_TF32X3)
        return;
    int64_t parts = t->is_lhs ? s->own / 4 : 4;
    t->high = loop_register_of(p, arena_printf(x->a, "%s_high", name), parts, 1, LOOP_I32);
    t->low = loop_register_of(p, arena_printf(x->a, "%s_low", name), parts, 1, LOOP_I32);
}

void mma_make_buffers(struct mma_build *x, struct loop_buffer *lhs, struct loop_buffer *rhs) {
    struct loop_program *p = x->l->program;
    make_side(x, &x->lhs, &x->z.lhs, lhs, "lhs");
    make_side(x, &x->rhs, &x->z.rhs, rhs, "rhs");
    int64_t pairs = mma_sums(&x->z) / 2;
    x->sum = loop_register_of(p, "sum", pairs, 2, x->z.kind == MMA_KIND_I8 ? LOOP_I32 : LOOP_F32);
    if (x->z.chunk)
        x->total = loop_register(p, "total", pairs, 2);
}

static const struct loop_expr *tiles_of(const struct mma_build *x, const struct mma_tile *t,
                                        const struct mma_side *s) {
    return loop_ceildiv(x->a, t->extent, s->width);
}

const struct loop_expr *mma_tiles(const struct mma_build *x) {
    return loop_binary(x->a, LOOP_MUL, tiles_of(x, &x->lhs, &x->z.lhs),
                       tiles_of(x, &x->rhs, &x->z.rhs));
}

// Which tile a block has: `group` rows of tiles are walked column by column, so that blocks that
// run at the same time read the same operands.
static void place_tile(struct mma_build *x, struct loop_builder *b, const struct loop_expr *tile) {
    const struct loop_expr *down = tiles_of(x, &x->lhs, &x->z.lhs);
    const struct loop_expr *right = tiles_of(x, &x->rhs, &x->z.rhs);
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

void mma_build_tile(struct mma_build *x, struct loop_builder *b, const struct gpu_kernel *k,
                    const struct loop_expr *tile) {
    place_tile(x, b, tile);
    mma_build_placed(x, b, k);
}

void mma_build_placed(struct mma_build *x, struct loop_builder *b, const struct gpu_kernel *k) {
    x->thread = k->thread;
    x->lane = loop_let(b, "lane", rest(x, k->thread, GPU_WARP));
    const struct loop_expr *warp = quotient(x, k->thread, GPU_WARP);
    x->lhs.warp =
        loop_let(b, "warp_row", times(x, quotient(x, warp, x->z.rhs.warps), x->z.lhs.own));
    x->rhs.warp = loop_let(b, "warp_column", times(x, rest(x, warp, x->z.rhs.warps), x->z.rhs.own));
    walk(x, b);
    mma_store_results(x, b);
}

// ---- operands of a product of matrices

static const struct loop_expr *source(const struct mma_build *x, const struct mma_tile *t,
                                      struct loop_builder *b, const struct mma_at *at) {
    const struct gemm_form *f = x->ctx;
    struct scope scope = scope_inside(x->outer, b);
    scope.index[t->is_lhs ? f->group_m : f->group_n] = at->stay;
    scope.index[f->group_k] = add(x, times(x, at->slice, x->z.depth), at->inside);
    const struct shape *shape = &x->l->region->graph->nodes[t->s->leaf].shape;
    return point_index(&scope, shape, &t->s->map);
}

static void find_term(const struct mma_build *x, struct loop_builder *b,
                      const struct loop_expr *row, const struct loop_expr *column,
                      const struct loop_expr *k, const struct loop_expr *factor[2]) {
    const struct gemm_form *f = x->ctx;
    struct scope s = scope_inside(x->outer, b);
    s.index[f->group_m] = row;
    s.index[f->group_n] = column;
    s.index[f->group_k] = k;
    factor[0] = point_value(&s, f->lhs, &f->lhs_map);
    factor[1] = point_value(&s, f->rhs, &f->rhs_map);
}

static void place_result(const struct mma_build *x, struct scope *s, const struct loop_expr *row,
                         const struct loop_expr *column, int lanes) {
    const struct gemm_form *f = x->ctx;
    s->index[f->group_m] = row;
    s->index[f->group_n] = column;
    s->lane_group = lanes > 1 ? f->group_n : s->lane_group;
    s->lanes = lanes;
}

// Fewer are read too quickly for it to matter.
enum { TURN_SLICES = 32 };

void mma_lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage,
               struct mma_sizes z) {
    static const struct mma_operands matrices = {source, find_term, place_result};
    const struct gemm_form *g = f->gemm;
    gemm_build_space(l, g);
    struct mma_build x = {.l = l, .a = l->arena, .operands = &matrices, .ctx = g, .z = z};
    x.anchor = g->anchor;
    x.at = g->at;
    x.pair = z.n % 2 == 0 && g->has_pairs ? 2 : 1;
    x.lhs.extent = l->space.extent[g->group_m];
    x.rhs.extent = l->space.extent[g->group_n];
    x.extent_k = l->space.extent[g->group_k];
    struct scope top = {.lowering = l, .lane_group = -1, .lanes = 1};
    const struct loop_expr *tiles = mma_tiles(&x);
    const struct loop_expr *grid =
        loop_binary(x.a, LOOP_MUL, scope_count(&top, 0, g->group_m), tiles);
    struct loop_builder b;
    struct gpu_kernel k =
        gpu_open_kernel(l, arena_printf(x.a, "%s_gemm", stage->values[0]), grid, x.z.threads, &b);
    k.kernel->min_blocks = stage_number(stage, "minblocks", 0);
    mma_make_buffers(&x, z.lhs.is_computed ? NULL : l->buffer[z.lhs.leaf],
                     z.rhs.is_computed ? NULL : l->buffer[z.rhs.leaf]);
    top.builder = &b;
    struct scope batch = scope_inside(&top, &b);
    scope_split(&batch, loop_binary(x.a, LOOP_DIV, k.block, tiles), 0, g->group_m);
    x.outer = &batch;
    const struct loop_expr *tile = loop_binary(x.a, LOOP_MOD, k.block, tiles);
    // All blocks read the same left operand: not all of them the same slice of it at a time.
    if (z.m <= z.lhs.width && z.slices >= TURN_SLICES)
        x.turn = loop_let(&b, "turn", rest(&x, tile, z.slices));
    mma_build_tile(&x, &b, &k, tile);
}
