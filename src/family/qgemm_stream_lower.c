// The loops of qgemm's `stream` emitter; qgemm_stream.c says what they compute and why so.
//
//   start the loads of the warp's first chunks of weights
//   start the copies of what the block has of x and of scales, in a few groups along K
//   for every group: wait for it, barrier
//       for every chunk of it:
//           for every word of a row: products with all tokens
//           start the loads of the chunk that comes `ahead` chunks later
//           totals += scales * sums
//   totals to shared memory, barrier
//   for every result: the totals of warps along K in their order; where blocks share K, to memory
//   meet, and add up those of all blocks
//
// Rows and tokens beyond an edge are read as the last ones and are not stored.
#include "base/arena.h"
#include "family/gpu.h"
#include "family/qgemm_stream.h"

enum { STRIP = 16, WORDS = 4 };  // WORDS: that a thread has of a row of a chunk

struct build {
    struct lowering *l;
    struct arena *a;
    const char *name;
    const struct qgemm_form *f;
    struct stream_sizes z;
    struct scope *top;
    const struct loop_expr *block, *thread, *warp, *lane;
    const struct loop_expr *rank;     // of the block in its cluster
    const struct loop_expr *strip0;   // first strip of sixteen rows of the block
    const struct loop_expr *token0;   // first row of x
    const struct loop_expr *along;    // of the warp, among those along K
    const struct loop_expr *own;      // first strip of the warp, in its block
    const struct loop_expr *column0;  // first column of the warp
    struct loop_buffer *w_words, *wide, *x_words, *sum, *total;  // registers
    struct loop_buffer *x_tile, *scales, *kept;                  // shared
    struct loop_buffer *shares;                                  // of blocks, in memory
};

#define BUILD struct build
#include "family/index_arithmetic.h"

// An index of an axis with `size` elements, of which tiles may hang over the
// end: the last one there.
static const struct loop_expr *within(const struct build *x, const struct loop_expr *at,
                                      int64_t size, int64_t tiled) {
    return size == tiled ? at : loop_binary(x->a, LOOP_MIN, at, num(x, size - 1));
}

static int tiles(const struct build *x) {
    return x->z.tokens / 8;
}

// ---- operands on their way

// Row `row` of strip `strip` of the block, or the last one there is.
static const struct loop_expr *row_of(const struct build *x, const struct loop_expr *strip,
                                      const struct loop_expr *row) {
    const struct loop_expr *at = add(x, times(x, add(x, x->strip0, strip), STRIP), row);
    return within(x, at, x->f->n, x->z.blocks * x->z.strips_block * STRIP);
}

// What a thread has of chunk `chunk`: 16 bytes of two rows of each of the warp's strips.
static void load_chunk(const struct build *x, struct loop_builder *b, const struct loop_expr *chunk,
                       const struct loop_expr *slot) {
    struct loop_builder by_strip;
    const struct loop_expr *column = add(x, x->column0, times(x, rest(x, x->lane, 4), x->z.own));
    column = add(x, column, times(x, chunk, x->z.depth));
    const struct loop_expr *s = open_unrolled(x, b, "s", x->z.tall, &by_strip);
    const struct loop_expr *from[2];
    for (int i = 0; i < 2; i++) {
        const struct loop_expr *row = add(x, quotient(x, x->lane, 4), num(x, 8 * i));
        from[i] = add(x, times(x, row_of(x, add(x, x->own, s), row), x->f->k), column);
    }
    const struct loop_expr *to = add(x, times(x, slot, x->z.tall), s);
    struct loop_buffer *w = x->l->buffer[x->f->w];
    loop_intrinsic(
        &by_strip, INTRINSIC_LOAD_ROWS,
        (struct loop_operand[]){{x->w_words, times(x, to, 2 * WORDS)}, {w, from[0]}, {w, from[1]}});
    loop_close(b, &by_strip);
}

static int pieces(const struct build *x) {
    return x->z.own / 8;
}

// Where a lane has piece `p` of tokens `t` in chunk `chunk` of warps `along`.
static const struct loop_expr *token_at(const struct build *x, const struct loop_expr *along,
                                        const struct loop_expr *chunk, const struct loop_expr *t,
                                        const struct loop_expr *p, const struct loop_expr *lane) {
    const struct loop_expr *at = add(x, times(x, along, x->z.chunks), chunk);
    at = add(x, times(x, add(x, times(x, at, tiles(x)), t), pieces(x)), p);
    return times(x, add(x, times(x, at, GPU_WARP), lane), 8);
}

// All threads copy chunks `begin` to `end` of x, of all warps, 16 bytes of a row after the other.
static void copy_tokens(const struct build *x, struct loop_builder *b, int64_t begin, int64_t end) {
    struct loop_builder inner;
    int64_t per_chunk = 4 * pieces(x), per_row = (end - begin) * per_chunk;
    struct loop_for f = {"piece", x->thread, num(x, x->z.along * x->z.tokens * per_row),
                         x->z.threads, false};
    const struct loop_expr *at = loop_open_for(b, &f, &inner);
    const struct loop_expr *line = quotient(x, at, per_row), *piece = rest(x, at, per_row);
    const struct loop_expr *along = quotient(x, line, x->z.tokens);
    const struct loop_expr *token = rest(x, line, x->z.tokens);
    const struct loop_expr *chunk = add(x, quotient(x, piece, per_chunk), num(x, begin));
    const struct loop_expr *inside = rest(x, piece, per_chunk);
    const struct loop_expr *reader =
        add(x, times(x, rest(x, token, 8), 4), quotient(x, inside, pieces(x)));
    const struct loop_expr *to =
        token_at(x, along, chunk, quotient(x, token, 8), rest(x, inside, pieces(x)), reader);
    const struct loop_expr *column = add(x, times(x, x->rank, x->z.along), along);
    column = add(x, times(x, add(x, times(x, column, x->z.chunks), chunk), x->z.depth),
                 times(x, inside, 8));
    token = within(x, add(x, x->token0, token), x->f->m, x->z.tiles_m * x->z.tokens);
    loop_intrinsic(
        &inner, INTRINSIC_COPY16,
        (struct loop_operand[]){{x->x_tile, to},
                                {x->l->buffer[x->f->x], add(x, times(x, token, x->f->k), column)},
                                {NULL, num(x, 16)}});
    loop_close(b, &inner);
}

// ---- scales

static int64_t row_groups(const struct build *x) {
    return x->f->k / x->f->group;
}

// Rows of scales begin in other banks than their neighbours', at a multiple of 16 bytes.
static int64_t scale_pitch(const struct build *x) {
    return stream_scale_bytes(x->f, &x->z) / dtype_size(x->scales->dtype, 1);
}

static const struct loop_expr *scale_at(const struct build *x, const struct loop_expr *strip,
                                        const struct loop_expr *row,
                                        const struct loop_expr *group) {
    return add(x, times(x, add(x, times(x, strip, STRIP), row), scale_pitch(x)), group);
}

// How many bytes of a row's scales are copied at once; 0: they are none that can be.
static int copy_bytes(const struct build *x) {
    int64_t size = dtype_size(x->scales->dtype, 1);
    int64_t bytes = x->z.groups * size, row = row_groups(x) * size;
    for (int n = 16; n >= 4; n /= 2)
        if (bytes % n == 0 && row % n == 0)
            return n;
    return 0;
}

// All that the block has, a few for each thread, on their way until they are waited for.
static void fill_scales(const struct build *x, struct loop_builder *b) {
    static const enum loop_intrinsic by_bytes[] = {
        [4] = INTRINSIC_COPY4, [8] = INTRINSIC_COPY8, [16] = INTRINSIC_COPY16};
    struct loop_builder inner;
    int bytes = copy_bytes(x), at_once = bytes ? bytes / (int)dtype_size(x->scales->dtype, 1) : 1;
    int64_t per_row = x->z.groups / at_once;
    struct loop_for f = {"from", x->thread, num(x, x->z.strips_block * STRIP * per_row),
                         x->z.threads, false};
    const struct loop_expr *at = loop_open_for(b, &f, &inner);
    const struct loop_expr *line = quotient(x, at, per_row);
    const struct loop_expr *group = times(x, rest(x, at, per_row), at_once);
    const struct loop_expr *strip = quotient(x, line, STRIP), *row = rest(x, line, STRIP);
    const struct loop_expr *from = add(x, times(x, x->rank, x->z.groups), group);
    from = add(x, times(x, row_of(x, strip, row), row_groups(x)), from);
    const struct loop_expr *to = scale_at(x, strip, row, group);
    struct loop_buffer *scales = x->l->buffer[x->f->scales];
    if (bytes)
        loop_intrinsic(
            &inner, by_bytes[bytes],
            (struct loop_operand[]){{x->scales, to}, {scales, from}, {NULL, num(x, bytes)}});
    else
        loop_store(&inner, x->scales, to, loop_load(x->a, scales, from, 1, 1), false);
    loop_close(b, &inner);
}

// ---- products

static void widen(const struct build *x, struct loop_builder *b, const struct loop_expr *word) {
    bool is_f16 = x->f->of_x == DTYPE_F16, is_i4 = x->f->of_w == DTYPE_I4;
    enum loop_intrinsic how = is_i4 ? (is_f16 ? INTRINSIC_WIDEN_I4_F16 : INTRINSIC_WIDEN_I4_BF16)
                                    : (is_f16 ? INTRINSIC_WIDEN_I8_F16 : INTRINSIC_WIDEN_I8_BF16);
    loop_intrinsic(b, how,
                   (struct loop_operand[]){{x->wide, num(x, 0)},
                                           {x->w_words, word},
                                           {x->w_words, add(x, word, num(x, 1))}});
}

static const struct loop_expr *sum_at(const struct build *x, const struct loop_expr *strip,
                                      const struct loop_expr *t) {
    return times(x, add(x, times(x, strip, tiles(x)), t), 2);
}

static void clear(const struct build *x, struct loop_builder *b, const struct loop_buffer *sums) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", sums->count, &inner);
    loop_store(&inner, sums, i, loop_real(x->a, 0), false);
    loop_close(b, &inner);
}

// Eight elements of each row of x, in the order in which weights are widened.
static void read_tokens(const struct build *x, struct loop_builder *b,
                        const struct loop_expr *chunk, const struct loop_expr *p) {
    struct loop_builder by_tile;
    const struct loop_expr *t = open_unrolled(x, b, "t", tiles(x), &by_tile);
    loop_intrinsic(
        &by_tile, INTRINSIC_WORDS4,
        (struct loop_operand[]){{x->x_words, times(x, t, 4)},
                                {x->x_tile, token_at(x, x->along, chunk, t, p, x->lane)}});
    if (x->f->of_w == DTYPE_I4)
        loop_intrinsic(&by_tile, INTRINSIC_DEAL,
                       (struct loop_operand[]){{x->x_words, times(x, t, 4)}});
    loop_close(b, &by_tile);
}

// A piece of x with its words of weights: one of 4 bits, two of 8.
static void multiply(const struct build *x, struct loop_builder *b, const struct loop_expr *chunk,
                     const struct loop_expr *slot) {
    struct loop_builder by_piece, by_strip, by_tile;
    enum loop_intrinsic product = x->f->of_x == DTYPE_F16 ? INTRINSIC_MMA_F16 : INTRINSIC_MMA_BF16;
    int words = x->f->of_w == DTYPE_I4 ? 1 : 2, steps = 2 / words;
    clear(x, b, x->sum);
    const struct loop_expr *p = open_unrolled(x, b, "p", pieces(x), &by_piece);
    read_tokens(x, &by_piece, chunk, p);
    const struct loop_expr *s = open_unrolled(x, &by_piece, "s", x->z.tall, &by_strip);
    const struct loop_expr *first = add(x, times(x, slot, x->z.tall), s);
    first = add(x, times(x, first, WORDS), times(x, p, words));
    for (int w = 0; w < words; w++) {
        widen(x, &by_strip, times(x, add(x, first, num(x, w)), 2));
        for (int step = 0; step < steps; step++) {
            const struct loop_expr *t = open_unrolled(x, &by_strip, "t", tiles(x), &by_tile);
            loop_intrinsic(&by_tile, product,
                           (struct loop_operand[]){
                               {x->sum, sum_at(x, s, t)},
                               {x->wide, num(x, 4 * step)},
                               {x->x_words, add(x, times(x, t, 4), num(x, 2 * (w + step)))}});
            loop_close(&by_strip, &by_tile);
        }
    }
    loop_close(&by_piece, &by_strip);
    loop_close(b, &by_piece);
}

static void add_up(const struct build *x, struct loop_builder *b, const struct loop_expr *chunk) {
    struct loop_builder by_strip, by_half, by_tile;
    const struct loop_expr *s = open_unrolled(x, b, "s", x->z.tall, &by_strip);
    const struct loop_expr *h = open_unrolled(x, &by_strip, "h", 2, &by_half);
    const struct loop_expr *scale = NULL;
    if (x->z.groups) {
        const struct loop_expr *row = add(x, times(x, h, 8), quotient(x, x->lane, 4));
        const struct loop_expr *column = add(x, times(x, x->along, x->z.chunks), chunk);
        column = times(x, column, x->z.depth);
        scale = scale_at(x, add(x, x->own, s), row, quotient(x, column, x->f->group));
        scale = loop_let(&by_half, "scale", loop_load(x->a, x->scales, scale, 1, 1));
        scale = loop_broadcast(x->a, scale, 2);
    }
    const struct loop_expr *t = open_unrolled(x, &by_half, "t", tiles(x), &by_tile);
    const struct loop_expr *at = add(x, sum_at(x, s, t), h);
    const struct loop_expr *sum = loop_load(x->a, x->sum, at, 2, 1);
    const struct loop_expr *total = loop_load(x->a, x->total, at, 2, 1);
    total = scale ? loop_ternary(x->a, LOOP_FMA, sum, scale, total)
                  : loop_binary(x->a, LOOP_ADD, total, sum);
    loop_store(&by_tile, x->total, at, total, false);
    loop_close(&by_half, &by_tile);
    loop_close(&by_strip, &by_half);
    loop_close(b, &by_strip);
}

static const struct loop_expr *kept_at(const struct build *x, const struct loop_expr *strip,
                                       const struct loop_expr *along,
                                       const struct loop_expr *entry) {
    const struct loop_expr *at = add(x, times(x, strip, x->z.along), along);
    return times(x, add(x, times(x, at, x->z.entries), entry), 2);
}

static void keep(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    int64_t each = x->z.entries / GPU_WARP;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->total->count, &inner);
    const struct loop_expr *entry = add(x, times(x, rest(x, i, each), GPU_WARP), x->lane);
    const struct loop_expr *strip = add(x, x->own, quotient(x, i, each));
    loop_store(&inner, x->kept, kept_at(x, strip, x->along, entry),
               loop_load(x->a, x->total, i, 2, 1), false);
    loop_close(b, &inner);
}

// ---- the walk

// Chunks of a warp come in groups: nobody waits for all of x before the first.
static int count_groups(const struct build *x, int64_t *end) {
    int64_t chunks = x->z.chunks, step = x->z.ahead;
    int n = 0;
    if (chunks >= 4 * step)
        end[n++] = step;
    if (chunks >= 8 * step)
        end[n++] = 3 * step;
    end[n++] = chunks;
    return n;
}

static void walk_group(const struct build *x, struct loop_builder *b, int64_t begin, int64_t end) {
    struct loop_builder by_some, inner, some;
    struct loop_for f = {"turn", num(x, begin / x->z.ahead), num(x, end / x->z.ahead), 1, false};
    const struct loop_expr *turn = loop_open_for(b, &f, &by_some);
    const struct loop_expr *slot = open_unrolled(x, &by_some, "slot", x->z.ahead, &inner);
    const struct loop_expr *chunk =
        loop_let(&inner, "chunk", add(x, times(x, turn, x->z.ahead), slot));
    multiply(x, &inner, chunk, slot);
    const struct loop_expr *next = add(x, chunk, num(x, x->z.ahead));
    loop_open_if(&inner, next, num(x, x->z.chunks), &some);
    load_chunk(x, &some, next, slot);
    loop_close(&inner, &some);
    add_up(x, &inner, chunk);
    loop_close(&by_some, &inner);
    loop_close(b, &by_some);
}

static void walk(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    int64_t end[3];
    int n = count_groups(x, end);
    const struct loop_expr *slot = open_unrolled(x, b, "slot", x->z.ahead, &inner);
    load_chunk(x, &inner, slot, slot);
    loop_close(b, &inner);
    for (int i = 0; i < n; i++) {
        copy_tokens(x, b, i ? end[i - 1] : 0, end[i]);
        if (i == 0 && x->z.groups)
            fill_scales(x, b);
        loop_intrinsic(b, INTRINSIC_COMMIT, NULL);
    }
    clear(x, b, x->total);
    for (int i = 0; i < n; i++) {
        loop_intrinsic(b, INTRINSIC_WAIT, (struct loop_operand[]){{NULL, num(x, n - 1 - i)}});
        loop_barrier(b);
        walk_group(x, b, i ? end[i - 1] : 0, end[i]);
    }
    keep(x, b);
}

// ---- results

// The pair of sums `entry` of a strip, of all warps along K.
static const struct loop_expr *kept_sum(const struct build *x, const struct loop_expr *strip,
                                        const struct loop_expr *entry) {
    const struct loop_expr *sum = NULL;
    for (int w = 0; w < x->z.along; w++) {
        const struct loop_expr *one =
            loop_load(x->a, x->kept, kept_at(x, strip, num(x, w), entry), 2, 1);
        sum = sum ? loop_binary(x->a, LOOP_ADD, sum, one) : one;
    }
    return sum;
}

static const struct loop_expr *share_at(const struct build *x, const struct loop_expr *block,
                                        const struct loop_expr *at) {
    return times(x, add(x, times(x, block, x->z.strips_block * x->z.entries), at), 2);
}

static void store_one(const struct build *x, struct loop_builder *b, const struct loop_expr *token,
                      const struct loop_expr *row, const struct loop_expr *sum) {
    const struct region *r = x->l->region;
    const struct node *n = &r->graph->nodes[x->f->anchor];
    if (x->f->scales >= 0 && !x->z.groups)
        sum = loop_binary(x->a, LOOP_MUL, sum,
                          loop_load(x->a, x->l->buffer[x->f->scales], row, 1, 1));
    struct axis_map map = map_identity(n->shape.rank);
    int group_n = x->l->space.group[n->shape.rank - 1];
    struct scope s = scope_inside(x->top, b);
    scope_split(&s, token, 0, group_n);
    s.index[group_n] = row;
    point_define(&s, x->f->anchor, &map, loop_let(b, n->name, sum));
    for (int v = 0; v < r->n_values; v++)
        point_store(&s, v, &map, false);
}

// The two results of a pair: one row of weights, two tokens.
static void store_pair(const struct build *x, struct loop_builder *b, const struct loop_expr *strip,
                       const struct loop_expr *entry, const struct loop_expr *pair) {
    struct loop_builder inside, there;
    const struct loop_expr *lane = rest(x, entry, GPU_WARP);
    const struct loop_expr *half = rest(x, quotient(x, entry, GPU_WARP), 2);
    const struct loop_expr *row =
        add(x, times(x, add(x, x->strip0, strip), STRIP), times(x, half, 8));
    row = loop_let(b, "row", add(x, row, quotient(x, lane, 4)));
    loop_open_if(b, row, num(x, x->f->n), &inside);
    for (int j = 0; j < 2; j++) {
        const struct loop_expr *token = times(x, quotient(x, entry, 2 * GPU_WARP), 8);
        token = add(x, token, add(x, times(x, rest(x, lane, 4), 2), num(x, j)));
        token = loop_let(&inside, "token", add(x, x->token0, token));
        bool fills = x->f->m % x->z.tokens == 0;
        loop_open_if(&inside, fills ? num(x, 0) : token, num(x, fills ? 1 : x->f->m), &there);
        store_one(x, &there, token, row, loop_lane(x->a, pair, num(x, j)));
        loop_close(&inside, &there);
    }
    loop_close(b, &inside);
}

// Entries of all strips: `shared` of them by this block alone, the others by
// all of the cluster.
static const struct loop_expr *open_entries(const struct build *x, struct loop_builder *b,
                                            bool shared, struct loop_builder *inner) {
    const struct loop_expr *first = x->thread;
    int64_t step = x->z.threads;
    if (shared) {
        first = add(x, first, times(x, x->rank, x->z.threads));
        step *= x->z.split;
    }
    struct loop_for f = {"at", first, num(x, x->z.strips_block * x->z.entries), step, false};
    return loop_open_for(b, &f, inner);
}

static void store_results(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *at, *pair = NULL;
    loop_barrier(b);
    if (x->z.split > 1) {
        at = open_entries(x, b, false, &inner);
        loop_store(&inner, x->shares, share_at(x, x->block, at),
                   kept_sum(x, quotient(x, at, x->z.entries), rest(x, at, x->z.entries)), false);
        loop_close(b, &inner);
        loop_group_barrier(b, NULL, NULL);
    }
    at = open_entries(x, b, x->z.split > 1, &inner);
    const struct loop_expr *strip = quotient(x, at, x->z.entries);
    const struct loop_expr *entry = rest(x, at, x->z.entries);
    const struct loop_expr *first = loop_binary(x->a, LOOP_SUB, x->block, x->rank);
    for (int i = 0; i < x->z.split && x->z.split > 1; i++) {
        const struct loop_expr *one =
            loop_load(x->a, x->shares, share_at(x, add(x, first, num(x, i)), at), 2, 1);
        pair = pair ? loop_binary(x->a, LOOP_ADD, pair, one) : one;
    }
    if (!pair)
        pair = kept_sum(x, strip, entry);
    store_pair(x, &inner, strip, entry, loop_let(&inner, "pair", pair));
    loop_close(b, &inner);
}

// ---- the kernel

static void make_buffers(struct build *x) {
    struct loop_program *p = x->l->program;
    const struct stream_sizes *z = &x->z;
    int64_t sums = (int64_t)z->tall * tiles(x) * 2;
    x->w_words =
        loop_register_of(p, "w_words", (int64_t)z->ahead * z->tall * 2 * WORDS, 1, LOOP_I32);
    x->wide = loop_register_of(p, "wide", 8, 1, LOOP_I32);
    x->x_words = loop_register_of(p, "x_words", 4 * tiles(x), 1, LOOP_I32);
    x->sum = loop_register(p, "sum", sums, 2);
    x->total = loop_register(p, "total", sums, 2);
    struct loop_size tile[] = {{z->along * z->chunks * z->tokens, NULL}, {z->depth, NULL}};
    x->x_tile = loop_shared_of(p, "x_tile", x->f->of_x, tile, 2);
    x->x_tile->align = 16;
    struct loop_size kept[] = {{z->strips_block * z->along, NULL}, {z->entries * 2, NULL}};
    x->kept = loop_shared_of(p, "kept", DTYPE_F32, kept, 2);
    if (z->groups) {
        enum dtype t = x->l->region->graph->nodes[x->f->scales].dtype;
        struct loop_size scales[] = {{z->strips_block * STRIP, NULL},
                                     {stream_scale_bytes(x->f, z) / dtype_size(t, 1), NULL}};
        x->scales = loop_shared_of(p, "scale", t, scales, 2);
        x->scales->align = 16;
    }
    struct loop_size shares[] = {{z->blocks * z->tiles_m * z->split, NULL},
                                 {z->strips_block * z->entries * 2, NULL}};
    if (z->split > 1)
        x->shares = loop_global_of(p, arena_printf(x->a, "%s_sums", x->name), LOOP_SCRATCH,
                                   DTYPE_F32, shares, 2);
}

static void place_block(struct build *x, struct loop_builder *b) {
    const struct loop_expr *other = quotient(x, x->block, x->z.split);
    x->rank = loop_let(b, "rank", rest(x, x->block, x->z.split));
    x->strip0 =
        loop_let(b, "strip0", times(x, quotient(x, other, x->z.tiles_m), x->z.strips_block));
    x->token0 = loop_let(b, "token0", times(x, rest(x, other, x->z.tiles_m), x->z.tokens));
    x->lane = loop_let(b, "lane", rest(x, x->thread, GPU_WARP));
    x->warp = loop_let(b, "warp", quotient(x, x->thread, GPU_WARP));
    x->along = loop_let(b, "along", rest(x, x->warp, x->z.along));
    x->own = loop_let(b, "own", times(x, quotient(x, x->warp, x->z.along), x->z.tall));
    const struct loop_expr *part = add(x, times(x, x->rank, x->z.along), x->along);
    x->column0 = loop_let(b, "column0", times(x, part, x->z.chunks * x->z.depth));
}

void stream_lower(struct lowering *l, const struct form *form, const struct kernel_stage *s) {
    struct build x = {.l = l, .a = l->arena, .f = form->qgemm, .name = s->values[0]};
    x.z = stream_sizes(x.f, s, l->sms);
    qgemm_build_space(l, x.f);
    struct loop_builder b;
    struct gpu_kernel k =
        qgemm_open_kernel(l, x.name, x.z.blocks * x.z.tiles_m, x.z.split, x.z.threads, &b);
    make_buffers(&x);
    x.block = k.block;
    x.thread = k.thread;
    place_block(&x, &b);
    struct scope top = {.lowering = l, .builder = &b, .lane_group = -1, .lanes = 1};
    x.top = &top;
    walk(&x, &b);
    store_results(&x, &b);
}
