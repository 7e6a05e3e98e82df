// The loops of attention's `mma` emitter; attention_mma.c says what they compute and why so.
//
//   start the copies of the queries and of the first keys and values; wait, barrier
//   read the fragments of the queries
//   for every tile of keys:
//       start the copies of the next one, into the other slot
//       scores = queries * keys
//       what is computed of them by element
//       largest, exponentials, sums; results scaled
//       results += exponentials * values
//       wait for the next tile, barrier: nobody reads this one any more
//   divide, store
//
// Keys beyond the last have a score of minus infinity and values of zero; queries beyond the last
// are zeros and not stored. Of a causal mask, tiles of keys behind all queries are left out.
#include "family/attention_build.h"

enum { FRAGMENTS = 4 };  // at hand at once

// ---- tiles on their way to shared memory

// Element `column` (a multiple of 8) of row `row` of a tile.
static const struct loop_expr *place(const struct attention_build *x,
                                     const struct attention_tile *t, const struct loop_expr *row,
                                     const struct loop_expr *piece) {
    int64_t bytes = t->length * 2;
    const struct loop_expr *at = loop_swizzle(x->a, row, piece, bytes > 128 ? 128 : (int)bytes);
    return add(x, times(x, row, t->length), times(x, at, 8));
}

// Rows from `first` on, `n` of them, to row `to` of the tile.
static void copy_rows(const struct attention_build *x, const struct attention_tile *t,
                      struct loop_builder *b, const struct loop_expr *first,
                      const struct loop_expr *to, int n) {
    struct loop_builder inner, some;
    int64_t pieces = t->width / 8, all = n * pieces;
    const struct loop_expr *i =
        open_unrolled(x, b, "item", (all + x->z.threads - 1) / x->z.threads, &inner);
    const struct loop_expr *at = add(x, times(x, i, x->z.threads), x->thread);
    loop_open_if(&inner, at, num(x, all), &some);
    const struct loop_expr *row = quotient(x, at, pieces), *piece = rest(x, at, pieces);
    struct scope s = scope_inside(x->outer, &some);
    const struct loop_expr *valid = num(x, 16);
    s.index[t->group_row] = add(x, first, row);
    s.index[t->group_column] = times(x, piece, 8);
    if (t->size % n != 0) {
        const struct loop_expr *left = op(x, LOOP_SUB, num(x, t->size), s.index[t->group_row]);
        left = times(x, op(x, LOOP_MAX, left, num(x, 0)), 16);
        valid = op(x, LOOP_MIN, left, valid);
    }
    const struct shape *shape = &x->l->region->graph->nodes[t->side->leaf].shape;
    loop_intrinsic(&some, INTRINSIC_COPY16,
                   (struct loop_operand[]){
                       {t->buffer, place(x, t, add(x, to, row), piece)},
                       {x->l->buffer[t->side->leaf], point_index(&s, shape, &t->side->map)},
                       {NULL, valid}});
    loop_close(&inner, &some);
    loop_close(b, &inner);
}

static void copy_keys(const struct attention_build *x, struct loop_builder *b,
                      const struct loop_expr *tile) {
    const struct loop_expr *first = times(x, tile, x->z.keys);
    const struct loop_expr *slot = times(x, rest(x, tile, 2), x->z.keys);
    copy_rows(x, &x->k, b, first, slot, x->z.keys);
    copy_rows(x, &x->v, b, first, slot, x->z.keys);
}

static void arrive(const struct attention_build *x, struct loop_builder *b) {
    loop_intrinsic(b, INTRINSIC_WAIT, (struct loop_operand[]){{NULL, num(x, 0)}});
    loop_barrier(b);
}

// ---- products

// Fragments that are read before they are multiplied: of `count` in a row, as many as divide it.
static int together(int64_t count) {
    int n = FRAGMENTS;
    while (count % n != 0)
        n--;
    return n;
}

// Sixteen columns for each of `n` fragments, from number `first` on.
static void multiply(const struct attention_build *x, struct loop_builder *b,
                     const struct loop_buffer *to, const struct loop_expr *first, int n,
                     const struct loop_buffer *left, const struct loop_expr *at) {
    bool is_f16 = x->f->storage == DTYPE_F16;
    struct loop_builder inner;
    const struct loop_expr *h = open_unrolled(x, b, "h", (int64_t)2 * n, &inner);
    loop_intrinsic(&inner, is_f16 ? INTRINSIC_MMA_F16 : INTRINSIC_MMA_BF16,
                   (struct loop_operand[]){{to, add(x, times(x, first, 4), times(x, h, 2))},
                                           {left, at},
                                           {x->fragment, times(x, h, 2)}});
    loop_close(b, &inner);
}

static void read_queries(const struct attention_build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->f->depth / 16, &inner);
    const struct loop_expr *row = add(x, x->own, rest(x, x->lane, 16));
    const struct loop_expr *piece = add(x, times(x, i, 2), quotient(x, x->lane, 16));
    loop_intrinsic(&inner, INTRINSIC_LDMATRIX,
                   (struct loop_operand[]){{x->queries, times(x, i, 4)},
                                           {x->q.buffer, place(x, &x->q, row, piece)}});
    loop_close(b, &inner);
}

// Sixteen keys to a fragment.
static void find_scores(const struct attention_build *x, struct loop_builder *b,
                        const struct loop_expr *slot) {
    struct loop_builder by_depth, by_keys, inner;
    int n = together(x->z.keys / 16);
    clear(x, b, x->score, 0);
    const struct loop_expr *half = quotient(x, x->lane, 16), *eighth = rest(x, x->lane, 8);
    const struct loop_expr *odd = rest(x, quotient(x, x->lane, 8), 2);
    const struct loop_expr *i = open_unrolled(x, b, "i", x->f->depth / 16, &by_depth);
    const struct loop_expr *j = open_unrolled(x, &by_depth, "j", x->z.keys / 16 / n, &by_keys);
    const struct loop_expr *first = times(x, j, n);
    const struct loop_expr *g = open_unrolled(x, &by_keys, "g", n, &inner);
    const struct loop_expr *row = times(x, add(x, first, g), 16);
    row = add(x, row, add(x, times(x, half, 8), eighth));
    const struct loop_expr *piece = add(x, times(x, i, 2), odd);
    loop_intrinsic(
        &inner, INTRINSIC_LDMATRIX,
        (struct loop_operand[]){{x->fragment, times(x, g, 4)},
                                {x->k.buffer, place(x, &x->k, add(x, slot, row), piece)}});
    loop_close(&by_keys, &inner);
    multiply(x, &by_keys, x->score, first, n, x->queries, times(x, i, 4));
    loop_close(&by_depth, &by_keys);
    loop_close(b, &by_depth);
}

// Sixteen elements of sixteen values to a fragment.
static void add_values(const struct attention_build *x, struct loop_builder *b,
                       const struct loop_expr *slot) {
    struct loop_builder by_keys, by_width, inner;
    int n = together(x->f->width / 16);
    const struct loop_expr *half = quotient(x, x->lane, 16), *eighth = rest(x, x->lane, 8);
    const struct loop_expr *odd = rest(x, quotient(x, x->lane, 8), 2);
    const struct loop_expr *i = open_unrolled(x, b, "i", x->z.keys / 16, &by_keys);
    const struct loop_expr *j = open_unrolled(x, &by_keys, "j", x->f->width / 16 / n, &by_width);
    const struct loop_expr *first = times(x, j, n);
    const struct loop_expr *g = open_unrolled(x, &by_width, "g", n, &inner);
    const struct loop_expr *row = add(x, times(x, i, 16), add(x, times(x, odd, 8), eighth));
    const struct loop_expr *piece = add(x, times(x, add(x, first, g), 2), half);
    loop_intrinsic(
        &inner, INTRINSIC_LDMATRIX_TRANSPOSED,
        (struct loop_operand[]){{x->fragment, times(x, g, 4)},
                                {x->v.buffer, place(x, &x->v, add(x, slot, row), piece)}});
    loop_close(&by_width, &inner);
    // The small parts first. Products of one part side by side: those of one sum would wait for
    // each other.
    for (int p = x->z.parts - 1; p >= 0; p--)
        multiply(x, &by_width, x->sum, first, n, x->probs[p], times(x, i, 4));
    loop_close(&by_keys, &by_width);
    loop_close(b, &by_keys);
}

// ---- the kernel

static struct attention_tile make_tile(const struct attention_build *x,
                                       const struct attention_side *side, const char *name,
                                       int64_t rows, int64_t width) {
    struct attention_tile t = {.side = side, .rows = rows, .width = width};
    t.length = width <= 16 ? 16 : width <= 32 ? 32 : (width + 63) / 64 * 64;
    struct loop_size shape[] = {{rows, NULL}, {t.length, NULL}};
    t.buffer = loop_shared_of(x->l->program, name, x->f->storage, shape, 2);
    return t;
}

static void make_tiles(struct attention_build *x) {
    const struct space *space = &x->l->space;
    const struct attention_form *f = x->f;
    x->q = make_tile(x, &f->q, "q_tile", x->z.rows, f->depth);
    x->k = make_tile(x, &f->k, "k_tile", 2 * (int64_t)x->z.keys, f->depth);
    x->v = make_tile(x, &f->v, "v_tile", 2 * (int64_t)x->z.keys, f->width);
    x->q.group_row = space->group[f->axis_m];
    x->k.group_row = x->v.group_row = space->group[f->axis_n];
    x->q.group_column = x->k.group_column = space->group[f->axis_depth];
    x->v.group_column = space->group[f->axis_width];
    x->q.size = f->m;
    x->k.size = x->v.size = f->n;
}

static void make_registers(struct attention_build *x) {
    struct loop_program *p = x->l->program;
    x->queries = loop_register_of(p, "queries", x->f->depth / 4, 1, LOOP_I32);
    x->fragment = loop_register_of(p, "fragment", (int64_t)4 * FRAGMENTS, 1, LOOP_I32);
    attention_make_registers(x, x->f->width);
}

static void walk(const struct attention_build *x, struct loop_builder *b) {
    struct loop_builder inner, some;
    const struct loop_expr *end = attention_count_tiles(x, b), *zero = num(x, 0);
    copy_rows(x, &x->q, b, x->first, zero, x->z.rows);
    copy_keys(x, b, zero);
    loop_intrinsic(b, INTRINSIC_COMMIT, NULL);
    arrive(x, b);
    read_queries(x, b);
    clear(x, b, x->top, -3.4e38);
    clear(x, b, x->total, 0);
    clear(x, b, x->sum, 0);
    struct loop_for f = {"tile", zero, end, 1, false};
    const struct loop_expr *tile = loop_open_for(b, &f, &inner);
    const struct loop_expr *next = add(x, tile, num(x, 1));
    loop_open_if(&inner, next, end, &some);
    copy_keys(x, &some, next);
    loop_close(&inner, &some);
    loop_intrinsic(&inner, INTRINSIC_COMMIT, NULL);
    const struct loop_expr *slot = loop_let(&inner, "slot", times(x, rest(x, tile, 2), x->z.keys));
    find_scores(x, &inner, slot);
    attention_finish_scores(x, &inner, tile, false);
    attention_find_largest(x, &inner);
    attention_find_powers(x, &inner);
    attention_pack(x, &inner);
    attention_scale_results(x, &inner);
    add_values(x, &inner, slot);
    arrive(x, &inner);
    loop_close(b, &inner);
    attention_store_results(x, b);
}

void attention_lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct attention_build x = {.l = l, .a = l->arena, .f = f->attention};
    attention_build_space(l, x.f);
    x.z = attention_read_sizes(f, stage);
    int group_m = l->space.group[x.f->axis_m];
    struct scope top = {.lowering = l, .lane_group = -1, .lanes = 1};
    int64_t down = (x.f->m + x.z.rows - 1) / x.z.rows;
    struct loop_builder b;
    struct gpu_kernel k =
        gpu_open_kernel(l, arena_printf(x.a, "%s_attention", stage->values[0]),
                        times(&x, scope_count(&top, 0, group_m), down), x.z.threads, &b);
    k.kernel->min_blocks = stage_number(stage, "minblocks", 0);
    make_tiles(&x);
    make_registers(&x);
    top.builder = &b;
    struct scope batch = scope_inside(&top, &b);
    scope_split(&batch, quotient(&x, k.block, down), 0, group_m);
    x.outer = &batch;
    x.thread = k.thread;
    // Of a causal mask the last queries have most keys, and begin first.
    const struct loop_expr *row = rest(&x, k.block, down);
    if (x.f->is_causal)
        row = op(&x, LOOP_SUB, num(&x, down - 1), row);
    x.first = loop_let(&b, "row0", times(&x, row, x.z.rows));
    x.lane = loop_let(&b, "lane", rest(&x, k.thread, GPU_WARP));
    x.own = loop_let(&b, "own", times(&x, quotient(&x, k.thread, GPU_WARP), 16));
    walk(&x, &b);
}
