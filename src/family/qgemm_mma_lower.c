// The loops of qgemm's `mma` emitter; qgemm_mma.c says what they compute and why so.
//
//   start the copies of stages 0 .. stages - 2
//   for every tile of rows that a warp has: its scales to shared memory
//     for every strip of its part of K: a stage
//       wait for it, barrier
//       start the copies of stage + stages - 1, into the slot of the stage before
//       for every chunk of the strip:
//           for every 8 elements of x: products of all rows with all tokens
//           totals += scales * sums
//     after the last strip of a tile: totals to memory
//   meet
//   for every result: the totals of all parts in their order, scaled by row, what follows; store
//
// Rows and tokens beyond an edge are zeros, are not read and are not stored.
#include "base/arena.h"
#include "family/gpu.h"
#include "family/qgemm_mma.h"

struct build {
    struct lowering *l;
    struct arena *a;
    const char *name;
    const struct qgemm_form *f;
    struct qgemm_sizes z;
    struct scope *top;
    const struct loop_expr *thread, *warp, *lane;
    const struct loop_expr *rank, *side;  // of the block: in its cluster, among those side by side
    const struct loop_expr *token0;       // first row of x
    const struct loop_expr *first;        // of the warp's tiles
    const struct loop_expr *part;         // of K, that the warp has
    struct loop_buffer *w_ring, *x_ring, *scale_ring;  // shared
    struct loop_buffer *w_words, *wide, *x_words;      // registers
    struct loop_buffer *sum, *total, *next;
    struct loop_buffer *totals;  // of all parts, in memory
};

#define BUILD struct build
#include "family/index_arithmetic.h"

// Row g or g + 8 of sixteen, as two lines of eight: number `line` of the tile's.
static const struct loop_expr *in_line(const struct build *x, const struct loop_expr *line) {
    return add(x, times(x, line, 8), quotient(x, x->lane, 4));
}

// ---- strips on their way to shared memory

// What a thread has of a row of weights in one chunk: elements, bytes.
static int own(const struct build *x) {
    return x->z.depth / 4;
}

static int own_bytes(const struct build *x) {
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

// Tile and first column of a stage.
static const struct loop_expr *tile_of(const struct build *x, const struct loop_expr *stage) {
    const struct loop_expr *round = quotient(x, stage, x->z.strips);
    return add(x, times(x, round, x->z.blocks * x->z.down), x->first);
}

static const struct loop_expr *column_of(const struct build *x, const struct loop_expr *part,
                                         const struct loop_expr *stage) {
    const struct loop_expr *strip =
        add(x, times(x, part, x->z.strips), rest(x, stage, x->z.strips));
    return times(x, strip, (int64_t)x->z.strip * x->z.depth);
}

// Where row `row` of the warp's tile has its piece number `piece`. Rows of 128 bytes and more begin
// in the same bank: every other one has its halves of that exchanged.
static const struct loop_expr *weight_at(const struct build *x, const struct loop_expr *slot,
                                         const struct loop_expr *row,
                                         const struct loop_expr *piece) {
    const struct loop_expr *line = add(x, times(x, slot, x->z.warps), x->warp);
    line = add(x, times(x, line, x->z.rows), row);
    if (x->z.lanes > 4)
        piece = loop_binary(x->a, LOOP_XOR, piece, times(x, rest(x, row, 2), 4));
    return times(x, add(x, times(x, line, x->z.lanes), piece), own(x));
}

static void copy_weights(const struct build *x, struct loop_builder *b,
                         const struct loop_expr *slot, const struct loop_expr *stage) {
    static const enum loop_intrinsic by_bytes[] = {
        [4] = INTRINSIC_COPY4, [8] = INTRINSIC_COPY8, [16] = INTRINSIC_COPY16};
    struct loop_builder inner;
    int at_once = GPU_WARP / x->z.lanes;
    const struct loop_expr *tile = loop_let(b, "tile_row", times(x, tile_of(x, stage), x->z.rows));
    const struct loop_expr *column = loop_let(b, "column", column_of(x, x->part, stage));
    const struct loop_expr *i = open_unrolled(x, b, "i", x->z.rows / at_once, &inner);
    const struct loop_expr *row = add(x, times(x, i, at_once), quotient(x, x->lane, x->z.lanes));
    const struct loop_expr *piece = rest(x, x->lane, x->z.lanes);
    const struct loop_expr *real = add(x, tile, row);
    const struct loop_expr *from = add(x, column, times(x, piece, own(x)));
    loop_intrinsic(
        &inner, by_bytes[own_bytes(x)],
        (struct loop_operand[]){{x->w_ring, weight_at(x, slot, row, piece)},
                                {x->l->buffer[x->f->w], add(x, times(x, real, x->f->k), from)},
                                {NULL, valid_bytes(x, real, x->f->n, x->z.rows, own_bytes(x))}});
    loop_close(b, &inner);
}

// Where a lane has piece `p` of tokens `t` in chunk `chunk` of part `along`.
static const struct loop_expr *token_at(const struct build *x, const struct loop_expr *slot,
                                        const struct loop_expr *along,
                                        const struct loop_expr *chunk, const struct loop_expr *t,
                                        const struct loop_expr *p, const struct loop_expr *lane) {
    const struct loop_expr *at = add(x, times(x, slot, x->z.along), along);
    at = add(x, times(x, at, x->z.strip), chunk);
    at = add(x, times(x, at, x->z.tokens / 8), t);
    at = add(x, times(x, at, x->z.pieces), p);
    return times(x, add(x, times(x, at, GPU_WARP), lane), 8);
}

// All threads of the block copy what it has of x, 16 bytes of a row after the other.
static void copy_tokens(const struct build *x, struct loop_builder *b, const struct loop_expr *slot,
                        const struct loop_expr *stage) {
    struct loop_builder inner, some;
    int pieces = x->z.pieces, per_row = x->z.strip * 4 * pieces;
    int all = x->z.along * x->z.tokens * per_row;
    const struct loop_expr *i =
        open_unrolled(x, b, "i", (all + x->z.threads - 1) / x->z.threads, &inner);
    const struct loop_expr *at = add(x, times(x, i, x->z.threads), x->thread);
    loop_open_if(&inner, at, num(x, all), &some);
    const struct loop_expr *piece = rest(x, at, per_row), *line = quotient(x, at, per_row);
    const struct loop_expr *token = rest(x, line, x->z.tokens);
    const struct loop_expr *along = quotient(x, line, x->z.tokens);
    const struct loop_expr *inside = rest(x, piece, 4 * pieces);
    const struct loop_expr *reader =
        add(x, times(x, rest(x, token, 8), 4), quotient(x, inside, pieces));
    const struct loop_expr *to = token_at(x, slot, along, quotient(x, piece, 4 * pieces),
                                          quotient(x, token, 8), rest(x, inside, pieces), reader);
    const struct loop_expr *part = add(x, times(x, x->rank, x->z.along), along);
    const struct loop_expr *real = add(x, x->token0, token);
    const struct loop_expr *from = add(x, column_of(x, part, stage), times(x, piece, 8));
    loop_intrinsic(
        &some, INTRINSIC_COPY16,
        (struct loop_operand[]){{x->x_ring, to},
                                {x->l->buffer[x->f->x], add(x, times(x, real, x->f->k), from)},
                                {NULL, valid_bytes(x, real, x->f->m, x->z.tokens, 16)}});
    loop_close(&inner, &some);
    loop_close(b, &inner);
}

static int64_t all_stages(const struct build *x) {
    return x->z.rounds * x->z.strips;
}

// Has every warp a tile in every round? Else some have nothing left in the last.
static void open_if_tile(const struct build *x, struct loop_builder *b,
                         const struct loop_expr *stage, struct loop_builder *inner) {
    bool fills = x->z.tiles == x->z.rounds * x->z.blocks * x->z.down;
    loop_open_if(b, fills ? num(x, 0) : tile_of(x, stage), fills ? num(x, 1) : num(x, x->z.tiles),
                 inner);
}

// Start the copies of a stage, if there is one; the group counts in any case.
static void copy_stage(const struct build *x, struct loop_builder *b,
                       const struct loop_expr *stage) {
    struct loop_builder some, own_tile;
    loop_open_if(b, stage, num(x, all_stages(x)), &some);
    const struct loop_expr *slot = rest(x, stage, x->z.stages);
    copy_tokens(x, &some, slot, stage);
    open_if_tile(x, &some, stage, &own_tile);
    copy_weights(x, &own_tile, slot, stage);
    loop_close(&some, &own_tile);
    loop_close(b, &some);
    loop_intrinsic(b, INTRINSIC_COMMIT, NULL);
}

// ---- scales

static const struct loop_expr *scale_of(const struct build *x, const struct loop_expr *row,
                                        const struct loop_expr *column) {
    int64_t groups = x->f->k / x->f->group;
    const struct loop_expr *at = times(x, row, groups);
    if (groups > 1)
        at = add(x, at, quotient(x, column, x->f->group));
    return loop_load(x->a, x->l->buffer[x->f->scales], at, 1, 1);
}

// Where the warp has the scale of a row of its tile, chunk `chunk` of its part.
static const struct loop_expr *scale_at(const struct build *x, const struct loop_expr *row,
                                        const struct loop_expr *chunk) {
    const struct loop_expr *line = add(x, times(x, x->warp, x->z.rows), row);
    return add(x, times(x, line, qgemm_part_chunks(&x->z) + 1), chunk);
}

// The scales of a warp's tile, some for each thread at a time. Rows beyond the edge have the last
// row's.
static void fill_scales(const struct build *x, struct loop_builder *b,
                        const struct loop_expr *round) {
    struct loop_builder outer, inner, some;
    int64_t chunks = qgemm_part_chunks(&x->z), all = x->z.rows * chunks;
    if (!x->z.scales_groups)
        return;
    const struct loop_expr *tile =
        loop_let(b, "scaled", times(x, tile_of(x, times(x, round, x->z.strips)), x->z.rows));
    const struct loop_expr *first = times(x, x->part, chunks * x->z.depth);
    // Nobody reads those of the tile before.
    if (x->z.rounds > 1)
        loop_intrinsic(b, INTRINSIC_WARP_SYNC, NULL);
    struct loop_for f = {"from", num(x, 0), num(x, all), x->next->count * GPU_WARP, false};
    const struct loop_expr *from = loop_open_for(b, &f, &outer);
    for (int is_store = 0; is_store < 2; is_store++) {
        const struct loop_expr *i = open_unrolled(x, &outer, "i", x->next->count, &inner);
        const struct loop_expr *at = add(x, from, add(x, times(x, i, GPU_WARP), x->lane));
        loop_open_if(&inner, at, num(x, all), &some);
        const struct loop_expr *row = quotient(x, at, chunks), *chunk = rest(x, at, chunks);
        const struct loop_expr *real = add(x, tile, row);
        if (x->z.rounds * x->z.blocks * x->z.down * x->z.rows != x->f->n)
            real = loop_binary(x->a, LOOP_MIN, real, num(x, x->f->n - 1));
        if (is_store)
            loop_store(&some, x->scale_ring, scale_at(x, row, chunk),
                       loop_load(x->a, x->next, i, 1, 1), false);
        else
            loop_store(&some, x->next, i,
                       scale_of(x, real, add(x, first, times(x, chunk, x->z.depth))), false);
        loop_close(&inner, &some);
        loop_close(&outer, &inner);
    }
    loop_close(b, &outer);
}

// ---- products

static void read_weights(const struct build *x, struct loop_builder *b,
                         const struct loop_expr *slot, const struct loop_expr *chunk) {
    struct loop_builder inner, by_word;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->z.rows / 8, &inner);
    const struct loop_expr *to = times(x, i, x->z.words);
    const struct loop_expr *piece = add(x, times(x, chunk, 4), rest(x, x->lane, 4));
    const struct loop_expr *from = weight_at(x, slot, in_line(x, i), piece);
    if (x->z.words == 4) {
        loop_intrinsic(&inner, INTRINSIC_WORDS4,
                       (struct loop_operand[]){{x->w_words, to}, {x->w_ring, from}});
    } else {
        const struct loop_expr *j = open_unrolled(x, &inner, "j", x->z.words, &by_word);
        from = add(x, from, times(x, j, x->z.per_word));
        loop_intrinsic(&by_word, INTRINSIC_WORD,
                       (struct loop_operand[]){{x->w_words, add(x, to, j)}, {x->w_ring, from}});
        loop_close(&inner, &by_word);
    }
    loop_close(b, &inner);
}

// Piece `p` of every token's part.
static void read_tokens(const struct build *x, struct loop_builder *b, const struct loop_expr *slot,
                        const struct loop_expr *chunk, int p) {
    struct loop_builder inner;
    const struct loop_expr *t = open_unrolled(x, b, "t", x->z.tokens / 8, &inner);
    const struct loop_expr *along = rest(x, x->warp, x->z.along);
    const struct loop_expr *from = token_at(x, slot, along, chunk, t, num(x, p), x->lane);
    loop_intrinsic(&inner, INTRINSIC_WORDS4,
                   (struct loop_operand[]){{x->x_words, times(x, t, 4)}, {x->x_ring, from}});
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

// Number of the sum of line `line`, rows g of eight, and tokens `t`.
static const struct loop_expr *sum_at(const struct build *x, const struct loop_expr *line,
                                      const struct loop_expr *t) {
    const struct loop_expr *tile = times(x, quotient(x, line, 2), x->z.tokens / 8);
    return add(x, times(x, add(x, tile, t), 2), rest(x, line, 2));
}

static void add_up(const struct build *x, struct loop_builder *b, const struct loop_expr *stage,
                   const struct loop_expr *chunk) {
    struct loop_builder by_line, by_token;
    const struct loop_expr *line = open_unrolled(x, b, "i", x->z.rows / 8, &by_line);
    const struct loop_expr *scale = NULL;
    if (x->z.scales_groups) {
        const struct loop_expr *of = times(x, rest(x, stage, x->z.strips), x->z.strip);
        scale = scale_at(x, in_line(x, line), add(x, of, chunk));
        scale = loop_load(x->a, x->scale_ring, scale, 1, 1);
        scale = loop_broadcast(x->a, loop_let(&by_line, "scale", scale), 2);
    }
    const struct loop_expr *t = open_unrolled(x, &by_line, "t", x->z.tokens / 8, &by_token);
    const struct loop_expr *at = sum_at(x, line, t);
    const struct loop_expr *sum = loop_load(x->a, x->sum, at, 2, 1);
    const struct loop_expr *total = loop_load(x->a, x->total, at, 2, 1);
    total = scale ? loop_ternary(x->a, LOOP_FMA, sum, scale, total)
                  : loop_binary(x->a, LOOP_ADD, total, sum);
    loop_store(&by_token, x->total, at, total, false);
    loop_close(&by_line, &by_token);
    loop_close(b, &by_line);
}

// ---- the walk

static void multiply_strip(const struct build *x, struct loop_builder *b,
                           const struct loop_expr *stage) {
    struct loop_builder inner;
    const struct loop_expr *slot = loop_let(b, "slot", rest(x, stage, x->z.stages));
    // Chunks have sums of their own: side by side they wait less for each other.
    bool unroll = x->z.strip * x->z.rows * x->z.tokens <= 8 * 16 * 16;
    struct loop_for chunks = {"chunk", num(x, 0), num(x, x->z.strip), 1, unroll};
    const struct loop_expr *chunk = loop_open_for(b, &chunks, &inner);
    clear(x, &inner, x->sum);
    read_weights(x, &inner, slot, chunk);
    for (int p = 0; p < x->z.pieces; p++) {
        read_tokens(x, &inner, slot, chunk, p);
        multiply(x, &inner, p);
    }
    add_up(x, &inner, stage, chunk);
    loop_close(b, &inner);
}

static void open_guard(const struct build *x, struct loop_builder *b, const struct loop_expr *at,
                       int64_t size, int64_t tile, struct loop_builder *inner) {
    bool fills = size % tile == 0;
    loop_open_if(b, fills ? num(x, 0) : at, fills ? num(x, 1) : num(x, size), inner);
}

static const struct loop_expr *total_at(const struct build *x, const struct loop_expr *part,
                                        const struct loop_expr *token,
                                        const struct loop_expr *row) {
    const struct loop_expr *line = add(x, times(x, part, x->f->m), token);
    return add(x, times(x, line, x->f->n), row);
}

static void keep_totals(const struct build *x, struct loop_builder *b,
                        const struct loop_expr *round) {
    struct loop_builder some, by_line, inside, by_token, by_lane, there;
    const struct loop_expr *stage = times(x, round, x->z.strips);
    open_if_tile(x, b, stage, &some);
    const struct loop_expr *tile = times(x, tile_of(x, stage), x->z.rows);
    const struct loop_expr *line = open_unrolled(x, &some, "i", x->z.rows / 8, &by_line);
    const struct loop_expr *row = loop_let(&by_line, "row", add(x, tile, in_line(x, line)));
    open_guard(x, &by_line, row, x->f->n, x->z.rows, &inside);
    const struct loop_expr *t = open_unrolled(x, &inside, "t", x->z.tokens / 8, &by_token);
    const struct loop_expr *j = open_unrolled(x, &by_token, "j", 2, &by_lane);
    const struct loop_expr *token = add(x, times(x, t, 8), times(x, rest(x, x->lane, 4), 2));
    token = add(x, x->token0, add(x, token, j));
    open_guard(x, &by_lane, token, x->f->m, x->z.tokens, &there);
    loop_store(&there, x->totals, total_at(x, x->part, token, row),
               loop_lane(x->a, loop_load(x->a, x->total, sum_at(x, line, t), 2, 1), j), false);
    loop_close(&by_lane, &there);
    loop_close(&by_token, &by_lane);
    loop_close(&inside, &by_token);
    loop_close(&by_line, &inside);
    loop_close(&some, &by_line);
    loop_close(b, &some);
}

static void walk(const struct build *x, struct loop_builder *b) {
    struct loop_builder by_round, by_strip, some;
    const struct loop_expr *wait = num(x, x->z.stages - 2);
    struct loop_for ahead = {"stage", num(x, 0), num(x, x->z.stages - 1), 1, true};
    copy_stage(x, &by_strip, loop_open_for(b, &ahead, &by_strip));
    loop_close(b, &by_strip);
    struct loop_for rounds = {"round", num(x, 0), num(x, x->z.rounds), 1, false};
    const struct loop_expr *round = loop_open_for(b, &rounds, &by_round);
    fill_scales(x, &by_round, round);
    clear(x, &by_round, x->total);
    struct loop_for strips = {"strip", num(x, 0), num(x, x->z.strips), 1, false};
    const struct loop_expr *strip = loop_open_for(&by_round, &strips, &by_strip);
    const struct loop_expr *stage =
        loop_let(&by_strip, "stage", add(x, times(x, round, x->z.strips), strip));
    loop_intrinsic(&by_strip, INTRINSIC_WAIT, (struct loop_operand[]){{NULL, wait}});
    loop_barrier(&by_strip);
    copy_stage(x, &by_strip, add(x, stage, num(x, x->z.stages - 1)));
    open_if_tile(x, &by_strip, stage, &some);
    multiply_strip(x, &some, stage);
    loop_close(&by_strip, &some);
    loop_close(&by_round, &by_strip);
    keep_totals(x, &by_round, round);
    loop_close(b, &by_round);
}

// ---- results

static void store_result(const struct build *x, struct loop_builder *b,
                         const struct loop_expr *token, const struct loop_expr *row) {
    const struct region *r = x->l->region;
    const struct node *n = &r->graph->nodes[x->f->anchor];
    const struct loop_expr *sum = NULL;
    for (int p = 0; p < x->z.parts; p++) {
        const struct loop_expr *part =
            loop_load(x->a, x->totals, total_at(x, num(x, p), token, row), 1, 1);
        sum = sum ? loop_binary(x->a, LOOP_ADD, sum, part) : part;
    }
    if (x->f->scales >= 0 && !x->z.scales_groups)
        sum = loop_binary(x->a, LOOP_MUL, sum, scale_of(x, row, num(x, 0)));
    struct axis_map map = map_identity(n->shape.rank);
    int group_n = x->l->space.group[n->shape.rank - 1];
    struct scope s = scope_inside(x->top, b);
    scope_split(&s, token, 0, group_n);
    s.index[group_n] = row;
    point_define(&s, x->f->anchor, &map, loop_let(b, n->name, sum));
    for (int v = 0; v < r->n_values; v++)
        point_store(&s, v, &map, false);
}

// Blocks of a cluster share the results that all of them have a part of.
static void store_results(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner, some, by_token, by_row;
    int64_t width = (int64_t)x->z.down * x->z.rows, all = x->z.rounds * x->z.tokens * width;
    int64_t each = (int64_t)x->z.threads * x->z.split;
    struct loop_for items = {"item", num(x, 0), num(x, (all + each - 1) / each), 1, false};
    const struct loop_expr *at = loop_open_for(b, &items, &inner);
    at = add(x, times(x, at, x->z.split), x->rank);
    at = loop_let(&inner, "at", add(x, times(x, at, x->z.threads), x->thread));
    loop_open_if(&inner, at, num(x, all), &some);
    const struct loop_expr *line = quotient(x, at, width);
    const struct loop_expr *tile = times(x, quotient(x, line, x->z.tokens), x->z.blocks);
    tile = times(x, add(x, tile, x->side), width);
    const struct loop_expr *row = loop_let(&some, "row", add(x, tile, rest(x, at, width)));
    const struct loop_expr *token = add(x, x->token0, rest(x, line, x->z.tokens));
    token = loop_let(&some, "token", token);
    open_guard(x, &some, token, x->f->m, x->z.tokens, &by_token);
    open_guard(x, &by_token, row, x->f->n, x->z.rounds * x->z.blocks * width, &by_row);
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
    int64_t sums = (int64_t)z->rows / 16 * (z->tokens / 8) * 2,
            columns = (int64_t)z->strip * z->depth;
    struct loop_size w[] = {{(int64_t)z->stages * z->warps * z->rows, NULL}, {columns, NULL}};
    struct loop_size t[] = {{(int64_t)z->stages * z->along * z->tokens, NULL}, {columns, NULL}};
    int64_t scales = z->rows * qgemm_part_chunks(z);
    struct loop_size s[] = {{(int64_t)z->warps * z->rows, NULL}, {qgemm_part_chunks(z) + 1, NULL}};
    struct loop_size r[] = {{z->parts, NULL}, {x->f->m, NULL}, {x->f->n, NULL}};
    x->w_ring = loop_shared_of(p, "w_ring", x->f->of_w, w, 2);
    x->x_ring = loop_shared_of(p, "x_ring", x->f->of_x, t, 2);
    x->w_words = loop_register_of(p, "w_words", (int64_t)z->rows / 8 * z->words, 1, LOOP_I32);
    x->wide = loop_register_of(p, "wide", 8, 1, LOOP_I32);
    x->x_words = loop_register_of(p, "x_words", z->tokens / 2, 1, LOOP_I32);
    x->sum = loop_register(p, "sum", sums, 2);
    x->total = loop_register(p, "total", sums, 2);
    x->totals =
        loop_global_of(p, arena_printf(x->a, "%s_totals", x->name), LOOP_SCRATCH, DTYPE_F32, r, 3);
    if (z->scales_groups) {
        x->scale_ring = loop_shared_of(p, "scale_ring", DTYPE_F32, s, 2);
        x->next = loop_register(
            p, "next", scales < 16 * GPU_WARP ? (scales + GPU_WARP - 1) / GPU_WARP : 16, 1);
    }
}

static void place_block(struct build *x, struct loop_builder *b, const struct loop_expr *block) {
    const struct loop_expr *other = quotient(x, block, x->z.split);
    x->rank = loop_let(b, "rank", rest(x, block, x->z.split));
    x->side = loop_let(b, "side", quotient(x, other, x->z.tiles_m));
    x->token0 = loop_let(b, "token0", times(x, rest(x, other, x->z.tiles_m), x->z.tokens));
    x->lane = loop_let(b, "lane", rest(x, x->thread, GPU_WARP));
    x->warp = loop_let(b, "warp", quotient(x, x->thread, GPU_WARP));
    x->first = add(x, times(x, x->side, x->z.down), quotient(x, x->warp, x->z.along));
    x->first = loop_let(b, "first", x->first);
    x->part = add(x, times(x, x->rank, x->z.along), rest(x, x->warp, x->z.along));
    x->part = loop_let(b, "part", x->part);
}

void qgemm_lower(struct lowering *l, const struct form *form, const struct kernel_stage *s) {
    struct build x = {.l = l, .a = l->arena, .f = form->qgemm, .name = s->values[0]};
    x.z = qgemm_sizes(x.f, s, l->sms);
    qgemm_build_space(l, x.f);
    struct loop_builder b;
    struct gpu_kernel k =
        qgemm_open_kernel(l, x.name, x.z.blocks * x.z.tiles_m, x.z.split, x.z.threads, &b);
    make_buffers(&x);
    x.thread = k.thread;
    place_block(&x, &b, k.block);
    struct scope top = {.lowering = l, .builder = &b, .lane_group = -1, .lanes = 1};
    x.top = &top;
    walk(&x, &b);
    if (x.z.split > 1)
        loop_group_barrier(&b, NULL, NULL);
    else
        loop_barrier(&b);
    store_results(&x, &b);
}
