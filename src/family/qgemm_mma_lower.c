// The loops of qgemm's `mma` emitter; qgemm_mma.c says what they compute and why so.
//
//   start the copies of rounds 0 .. stages - 2; read the scales of round 0
//   for every round, in which each warp has a chunk of K:
//       wait for it, warp by warp; read its words
//       start the copies of round + stages - 1, into the slot of the round before
//       read the scales of the next round
//       for every 8 elements of x: products of all rows with all tokens
//       totals += scales * sums
//   totals to shared memory; barrier
//   for every result: the warps' totals in their order, scaled by row, what follows; store
//
// Rows and tokens beyond an edge are zeros, are not read and are not stored.
#include "base/arena.h"
#include "family/gpu.h"
#include "family/qgemm_mma.h"

struct build {
    struct lowering *l;
    struct arena *a;
    const struct qgemm_form *f;
    struct qgemm_sizes z;
    struct scope *top;
    const struct loop_expr *thread, *warp, *lane;
    const struct loop_expr *row0, *token0;          // of the block's tile
    struct loop_buffer *w_ring, *x_ring, *partial;  // shared
    struct loop_buffer *w_words, *wide, *x_words;   // registers
    struct loop_buffer *sum, *total, *scale, *next;
};

static const struct loop_expr *num(const struct build *x, int64_t v) {
    return loop_int(x->a, v);
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

static const struct loop_expr *open_unrolled(const struct build *x, struct loop_builder *b,
                                             const char *name, int64_t count,
                                             struct loop_builder *inner) {
    struct loop_for f = {name, num(x, 0), num(x, count), 1, true};
    return loop_open_for(b, &f, inner);
}

// Row g or g + 8 of sixteen, as two lines of eight: number `line` of the tile's.
static const struct loop_expr *in_line(const struct build *x, const struct loop_expr *line) {
    return add(x, times(x, line, 8), quotient(x, x->lane, 4));
}

// ---- chunks on their way to shared memory

static int row_bytes(const struct build *x) {
    return 4 * x->z.words;
}

// Of `bytes`, all or, at `at` beyond the last of an axis, none.
static const struct loop_expr *valid_bytes(const struct build *x, const struct loop_expr *at,
                                           int64_t size, int64_t tile, int bytes) {
    if (size % tile == 0)
        return num(x, bytes);
    const struct loop_expr *left = loop_binary(x->a, LOOP_SUB, num(x, size), at);
    left = times(x, loop_binary(x->a, LOOP_MAX, left, num(x, 0)), bytes);
    return loop_binary(x->a, LOOP_MIN, left, num(x, bytes));
}

// Lane's place number `i` of one slot of its warp, in units of what a lane has there.
static const struct loop_expr *place(const struct build *x, const struct loop_expr *slot,
                                     int64_t per_slot, const struct loop_expr *i,
                                     const struct loop_expr *lane) {
    const struct loop_expr *mine = add(x, times(x, slot, x->z.warps), x->warp);
    return add(x, times(x, add(x, times(x, mine, per_slot), i), GPU_WARP), lane);
}

// Each thread copies what it multiplies: of every line its part of the chunk.
static void copy_weights(const struct build *x, struct loop_builder *b,
                         const struct loop_expr *slot, const struct loop_expr *chunk) {
    static const enum loop_intrinsic by_bytes[] = {
        [4] = INTRINSIC_COPY4, [8] = INTRINSIC_COPY8, [16] = INTRINSIC_COPY16};
    struct loop_builder inner;
    int own = x->z.depth / 4;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->z.rows / 8, &inner);
    const struct loop_expr *row = add(x, x->row0, in_line(x, i));
    const struct loop_expr *column =
        add(x, times(x, chunk, x->z.depth), times(x, rest(x, x->lane, 4), own));
    const struct loop_expr *to = times(x, place(x, slot, x->z.rows / 8, i, x->lane), own);
    loop_intrinsic(
        &inner, by_bytes[row_bytes(x)],
        (struct loop_operand[]){{x->w_ring, to},
                                {x->l->buffer[x->f->w], add(x, times(x, row, x->f->k), column)},
                                {NULL, valid_bytes(x, row, x->f->n, x->z.rows, row_bytes(x))}});
    loop_close(b, &inner);
}

// Four threads copy 64 bytes side by side, of the part that one of them multiplies.
static void copy_tokens(const struct build *x, struct loop_builder *b, const struct loop_expr *slot,
                        const struct loop_expr *chunk) {
    struct loop_builder by_line, by_piece;
    int pieces = x->z.pieces;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->z.tokens / 8, &by_line);
    const struct loop_expr *token = add(x, x->token0, in_line(x, i));
    const struct loop_expr *p = open_unrolled(x, &by_line, "p", pieces, &by_piece);
    const struct loop_expr *piece = add(x, times(x, p, 4), rest(x, x->lane, 4));
    const struct loop_expr *reader =
        add(x, times(x, quotient(x, x->lane, 4), 4), quotient(x, piece, pieces));
    const struct loop_expr *at = add(x, times(x, i, pieces), rest(x, piece, pieces));
    const struct loop_expr *to = times(x, place(x, slot, x->z.tokens / 8 * pieces, at, reader), 8);
    const struct loop_expr *column = add(x, times(x, chunk, x->z.depth), times(x, piece, 8));
    loop_intrinsic(
        &by_piece, INTRINSIC_COPY16,
        (struct loop_operand[]){{x->x_ring, to},
                                {x->l->buffer[x->f->x], add(x, times(x, token, x->f->k), column)},
                                {NULL, valid_bytes(x, token, x->f->m, x->z.tokens, 16)}});
    loop_close(&by_line, &by_piece);
    loop_close(b, &by_line);
}

static const struct loop_expr *chunk_of(const struct build *x, const struct loop_expr *round) {
    return add(x, times(x, round, x->z.warps), x->warp);
}

// Start the copies of a round, if the warp has a chunk then; the group counts in any case.
static void copy_round(const struct build *x, struct loop_builder *b,
                       const struct loop_expr *round) {
    struct loop_builder some;
    const struct loop_expr *chunk = loop_let(b, "chunk", chunk_of(x, round));
    const struct loop_expr *slot = rest(x, round, x->z.stages);
    loop_open_if(b, chunk, num(x, x->z.chunks), &some);
    copy_weights(x, &some, slot, chunk);
    copy_tokens(x, &some, slot, chunk);
    loop_close(b, &some);
    loop_intrinsic(b, INTRINSIC_COMMIT, NULL);
}

// ---- scales

// Of a row, for the group that a chunk lies in.
static const struct loop_expr *scale_at(const struct build *x, const struct loop_expr *row,
                                        const struct loop_expr *chunk) {
    int64_t groups = x->f->k / x->f->group;
    const struct loop_expr *at = times(x, row, groups);
    if (groups > 1)
        at = add(x, at, quotient(x, times(x, chunk, x->z.depth), x->f->group));
    return loop_load(x->a, x->l->buffer[x->f->scales], at, 1, 1);
}

static void read_scales(const struct build *x, struct loop_builder *b, const struct loop_buffer *to,
                        const struct loop_expr *round) {
    struct loop_builder inner;
    if (!x->z.scales_groups)
        return;
    const struct loop_expr *chunk =
        loop_binary(x->a, LOOP_MIN, chunk_of(x, round), num(x, x->z.chunks - 1));
    chunk = loop_let(b, "of", chunk);
    const struct loop_expr *i = open_unrolled(x, b, "i", x->z.rows / 8, &inner);
    const struct loop_expr *row = add(x, x->row0, in_line(x, i));
    // Beyond the edge, of the last there is.
    if (x->f->n % x->z.rows != 0)
        row = loop_binary(x->a, LOOP_MIN, row, num(x, x->f->n - 1));
    loop_store(&inner, to, i, scale_at(x, row, chunk), false);
    loop_close(b, &inner);
}

static void keep_scales(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    if (!x->z.scales_groups)
        return;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->z.rows / 8, &inner);
    loop_store(&inner, x->scale, i, loop_load(x->a, x->next, i, 1, 1), false);
    loop_close(b, &inner);
}

// ---- products

static void read_weights(const struct build *x, struct loop_builder *b,
                         const struct loop_expr *slot) {
    struct loop_builder inner, by_word;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->z.rows / 8, &inner);
    const struct loop_expr *to = times(x, i, x->z.words);
    const struct loop_expr *from = place(x, slot, x->z.rows / 8, i, x->lane);
    from = times(x, from, x->z.depth / 4);
    if (x->z.words == 4) {
        loop_intrinsic(&inner, INTRINSIC_WORDS4,
                       (struct loop_operand[]){{x->w_words, to}, {x->w_ring, from}});
    } else {
        const struct loop_expr *j = open_unrolled(x, &inner, "j", x->z.words, &by_word);
        loop_intrinsic(
            &by_word, INTRINSIC_WORD,
            (struct loop_operand[]){{x->w_words, add(x, to, j)},
                                    {x->w_ring, add(x, from, times(x, j, x->z.per_word))}});
        loop_close(&inner, &by_word);
    }
    loop_close(b, &inner);
}

// Piece `p` of every token's part.
static void read_tokens(const struct build *x, struct loop_builder *b, const struct loop_expr *slot,
                        int p) {
    struct loop_builder inner;
    const struct loop_expr *t = open_unrolled(x, b, "t", x->z.tokens / 8, &inner);
    const struct loop_expr *at = add(x, times(x, t, x->z.pieces), num(x, p));
    const struct loop_expr *from = place(x, slot, x->z.tokens / 8 * x->z.pieces, at, x->lane);
    loop_intrinsic(
        &inner, INTRINSIC_WORDS4,
        (struct loop_operand[]){{x->x_words, times(x, t, 4)}, {x->x_ring, times(x, from, 8)}});
    if (x->f->of_w == DTYPE_I4)
        loop_intrinsic(&inner, INTRINSIC_DEAL,
                       (struct loop_operand[]){{x->x_words, times(x, t, 4)}});
    loop_close(b, &inner);
}

// The two fragments of sixteen rows that eight elements of x are multiplied with.
static void widen(const struct build *x, struct loop_builder *b, const struct loop_expr *i, int p) {
    bool is_f16 = x->f->of_x == DTYPE_F16, is_i4 = x->f->of_w == DTYPE_I4;
    enum loop_intrinsic how = is_i4 ? (is_f16 ? INTRINSIC_WIDEN_I4_F16 : INTRINSIC_WIDEN_I4_BF16)
                                    : (is_f16 ? INTRINSIC_WIDEN_I8_F16 : INTRINSIC_WIDEN_I8_BF16);
    int n = is_i4 ? 1 : 2;
    for (int j = 0; j < n; j++) {
        const struct loop_expr *first = add(x, times(x, i, 2 * x->z.words), num(x, p * n + j));
        loop_intrinsic(b, how,
                       (struct loop_operand[]){{x->wide, num(x, 4 * j)},
                                               {x->w_words, first},
                                               {x->w_words, add(x, first, num(x, x->z.words))}});
    }
}

static void multiply(const struct build *x, struct loop_builder *b, int p) {
    struct loop_builder by_row, by_token;
    enum loop_intrinsic product = x->f->of_x == DTYPE_F16 ? INTRINSIC_MMA_F16 : INTRINSIC_MMA_BF16;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->z.rows / 16, &by_row);
    widen(x, &by_row, i, p);
    for (int step = 0; step < 2; step++) {
        const struct loop_expr *t = open_unrolled(x, &by_row, "t", x->z.tokens / 8, &by_token);
        const struct loop_expr *sum = times(x, add(x, times(x, i, x->z.tokens / 8), t), 2);
        loop_intrinsic(
            &by_token, product,
            (struct loop_operand[]){{x->sum, sum},
                                    {x->wide, num(x, 4 * step)},
                                    {x->x_words, add(x, times(x, t, 4), num(x, 2 * step))}});
        loop_close(&by_row, &by_token);
    }
    loop_close(b, &by_row);
}

static void clear(const struct build *x, struct loop_builder *b, const struct loop_buffer *sums) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", sums->count, &inner);
    loop_store(&inner, sums, i, loop_real(x->a, 0), false);
    loop_close(b, &inner);
}

// Sum `2 * t + h` of a tile of sixteen rows is of line h.
static void add_up(const struct build *x, struct loop_builder *b) {
    struct loop_builder by_line, by_token;
    const struct loop_expr *line = open_unrolled(x, b, "i", x->z.rows / 8, &by_line);
    const struct loop_expr *t = open_unrolled(x, &by_line, "t", x->z.tokens / 8, &by_token);
    const struct loop_expr *at =
        add(x, times(x, add(x, times(x, quotient(x, line, 2), x->z.tokens / 8), t), 2),
            rest(x, line, 2));
    const struct loop_expr *sum = loop_load(x->a, x->sum, at, 2, 1);
    const struct loop_expr *total = loop_load(x->a, x->total, at, 2, 1);
    if (x->z.scales_groups)
        total = loop_ternary(x->a, LOOP_FMA, sum,
                             loop_broadcast(x->a, loop_load(x->a, x->scale, line, 1, 1), 2), total);
    else
        total = loop_binary(x->a, LOOP_ADD, total, sum);
    loop_store(&by_token, x->total, at, total, false);
    loop_close(&by_line, &by_token);
    loop_close(b, &by_line);
}

// ---- the walk along K

static void walk(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner, some;
    const struct loop_expr *wait = num(x, x->z.stages - 2);
    struct loop_for ahead = {"round", num(x, 0), num(x, x->z.stages - 1), 1, true};
    copy_round(x, &inner, loop_open_for(b, &ahead, &inner));
    loop_close(b, &inner);
    clear(x, b, x->total);
    read_scales(x, b, x->scale, num(x, 0));
    struct loop_for rounds = {"round", num(x, 0), num(x, x->z.rounds), 1, false};
    const struct loop_expr *round = loop_open_for(b, &rounds, &inner);
    loop_intrinsic(&inner, INTRINSIC_WAIT, (struct loop_operand[]){{NULL, wait}});
    // With one piece each thread reads what it copied itself.
    if (x->z.pieces > 1)
        loop_intrinsic(&inner, INTRINSIC_WARP_SYNC, NULL);
    copy_round(x, &inner, add(x, round, num(x, x->z.stages - 1)));
    read_scales(x, &inner, x->next, add(x, round, num(x, 1)));
    // Where K does not fill the last round, some warps have nothing left.
    bool fills = x->z.chunks % x->z.warps == 0;
    loop_open_if(&inner, fills ? num(x, 0) : chunk_of(x, round),
                 fills ? num(x, 1) : num(x, x->z.chunks), &some);
    const struct loop_expr *slot = loop_let(&some, "slot", rest(x, round, x->z.stages));
    clear(x, &some, x->sum);
    read_weights(x, &some, slot);
    for (int p = 0; p < x->z.pieces; p++) {
        read_tokens(x, &some, slot, p);
        multiply(x, &some, p);
    }
    add_up(x, &some);
    loop_close(&inner, &some);
    keep_scales(x, &inner);
    loop_close(b, &inner);
}

// ---- results

static const struct loop_expr *partial_at(const struct build *x, const struct loop_expr *warp,
                                          const struct loop_expr *token,
                                          const struct loop_expr *row) {
    const struct loop_expr *line = add(x, times(x, warp, x->z.tokens), token);
    return add(x, times(x, line, x->z.rows + QGEMM_PAD), row);
}

static void share_totals(const struct build *x, struct loop_builder *b) {
    struct loop_builder by_line, by_token, by_lane;
    const struct loop_expr *line = open_unrolled(x, b, "i", x->z.rows / 8, &by_line);
    const struct loop_expr *t = open_unrolled(x, &by_line, "t", x->z.tokens / 8, &by_token);
    const struct loop_expr *at =
        add(x, times(x, add(x, times(x, quotient(x, line, 2), x->z.tokens / 8), t), 2),
            rest(x, line, 2));
    const struct loop_expr *j = open_unrolled(x, &by_token, "j", 2, &by_lane);
    const struct loop_expr *token = add(x, times(x, t, 8), times(x, rest(x, x->lane, 4), 2));
    loop_store(&by_lane, x->partial, partial_at(x, x->warp, add(x, token, j), in_line(x, line)),
               loop_lane(x->a, loop_load(x->a, x->total, at, 2, 1), j), false);
    loop_close(&by_token, &by_lane);
    loop_close(&by_line, &by_token);
    loop_close(b, &by_line);
}

static void open_guard(const struct build *x, struct loop_builder *b, const struct loop_expr *at,
                       int64_t size, int64_t tile, struct loop_builder *inner) {
    bool fills = size % tile == 0;
    loop_open_if(b, fills ? num(x, 0) : at, fills ? num(x, 1) : num(x, size), inner);
}

static void store_result(const struct build *x, struct loop_builder *b,
                         const struct loop_expr *token, const struct loop_expr *row) {
    const struct region *r = x->l->region;
    const struct node *n = &r->graph->nodes[x->f->anchor];
    const struct loop_expr *sum =
        loop_load(x->a, x->partial, partial_at(x, num(x, 0), token, row), 1, 1);
    for (int w = 1; w < x->z.warps; w++)
        sum = loop_binary(x->a, LOOP_ADD, sum,
                          loop_load(x->a, x->partial, partial_at(x, num(x, w), token, row), 1, 1));
    const struct loop_expr *column = loop_let(b, "column", add(x, x->row0, row));
    if (x->f->scales >= 0 && !x->z.scales_groups)
        sum = loop_binary(x->a, LOOP_MUL, sum, scale_at(x, column, NULL));
    struct axis_map map = map_identity(n->shape.rank);
    int group_n = x->l->space.group[n->shape.rank - 1];
    struct scope s = scope_inside(x->top, b);
    scope_split(&s, add(x, x->token0, token), 0, group_n);
    s.index[group_n] = column;
    point_define(&s, x->f->anchor, &map, loop_let(b, n->name, sum));
    for (int v = 0; v < r->n_values; v++)
        point_store(&s, v, &map, false);
}

static void store_results(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner, some, by_token, by_row;
    int threads = GPU_WARP * x->z.warps, all = x->z.rows * x->z.tokens;
    struct loop_for items = {"item", num(x, 0), num(x, (all + threads - 1) / threads), 1, false};
    const struct loop_expr *at = times(x, loop_open_for(b, &items, &inner), threads);
    at = loop_let(&inner, "at", add(x, at, x->thread));
    loop_open_if(&inner, at, num(x, all), &some);
    const struct loop_expr *row = loop_let(&some, "row", rest(x, at, x->z.rows));
    const struct loop_expr *token = loop_let(&some, "token", quotient(x, at, x->z.rows));
    open_guard(x, &some, add(x, x->token0, token), x->f->m, x->z.tokens, &by_token);
    open_guard(x, &by_token, add(x, x->row0, row), x->f->n, x->z.rows, &by_row);
    store_result(x, &by_row, token, row);
    loop_close(&by_token, &by_row);
    loop_close(&some, &by_token);
    loop_close(&inner, &some);
    loop_close(b, &inner);
}

// ---- the kernel

static void make_buffers(struct build *x) {
    struct loop_program *p = x->l->program;
    const struct qgemm_sizes *z = &x->z;
    int64_t slots = (int64_t)z->stages * z->warps,
            sums = (int64_t)z->rows / 16 * (z->tokens / 8) * 2;
    struct loop_size w[] = {{slots * z->rows, NULL}, {z->depth, NULL}};
    struct loop_size t[] = {{slots * z->tokens, NULL}, {z->depth, NULL}};
    struct loop_size s[] = {{(int64_t)z->warps * z->tokens, NULL}, {z->rows + QGEMM_PAD, NULL}};
    x->w_ring = loop_shared_of(p, "w_ring", x->f->of_w, w, 2);
    x->x_ring = loop_shared_of(p, "x_ring", x->f->of_x, t, 2);
    x->partial = loop_shared_of(p, "partial", DTYPE_F32, s, 2);
    x->w_words = loop_register_of(p, "w_words", (int64_t)z->rows / 8 * z->words, 1, LOOP_I32);
    x->wide = loop_register_of(p, "wide", 8, 1, LOOP_I32);
    x->x_words = loop_register_of(p, "x_words", z->tokens / 2, 1, LOOP_I32);
    x->sum = loop_register(p, "sum", sums, 2);
    x->total = loop_register(p, "total", sums, 2);
    if (z->scales_groups) {
        x->scale = loop_register(p, "scale", z->rows / 8, 1);
        x->next = loop_register(p, "next", z->rows / 8, 1);
    }
}

void qgemm_lower(struct lowering *l, const struct form *form, const struct kernel_stage *s) {
    struct build x = {.l = l, .a = l->arena, .f = form->qgemm};
    x.z = qgemm_sizes(x.f, s);
    qgemm_build_space(l, x.f);
    struct loop_builder b;
    struct gpu_kernel k =
        gpu_open_kernel(l, arena_printf(x.a, "%s_qgemm", s->values[0]),
                        num(&x, x.z.tiles_n * x.z.tiles_m), GPU_WARP * x.z.warps, &b);
    k.kernel->min_blocks = x.z.resident;
    make_buffers(&x);
    x.thread = k.thread;
    x.lane = loop_let(&b, "lane", rest(&x, k.thread, GPU_WARP));
    x.warp = loop_let(&b, "warp", quotient(&x, k.thread, GPU_WARP));
    x.row0 = loop_let(&b, "row0", times(&x, quotient(&x, k.block, x.z.tiles_m), x.z.rows));
    x.token0 = loop_let(&b, "token0", times(&x, rest(&x, k.block, x.z.tiles_m), x.z.tokens));
    struct scope top = {.lowering = l, .builder = &b, .lane_group = -1, .lanes = 1};
    x.top = &top;
    walk(&x, &b);
    share_totals(&x, &b);
    loop_barrier(&b);
    store_results(&x, &b);
}
