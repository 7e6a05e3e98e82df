// What the warpgroups of gemm's `wgmma` emitter do that multiply: wait for a slice, start its
// products, give back the one before; put sums aside; store. gemm_wgmma_lower.c has the kernel and
// the one that copies.
#include "family/gemm_wgmma_slots.h"

static enum loop_intrinsic product(const struct wgmma_build *x) {
    enum loop_intrinsic first = x->z.storage == DTYPE_F16      ? INTRINSIC_WGMMA_F16_64
                                : x->z.storage == DTYPE_I8     ? INTRINSIC_WGMMA_I8_64
                                : x->z.storage == DTYPE_F8E4M3 ? INTRINSIC_WGMMA_E4M3_64
                                : x->z.storage == DTYPE_F8E5M2 ? INTRINSIC_WGMMA_E5M2_64
                                                               : INTRINSIC_WGMMA_BF16_64;
    return first + (enum loop_intrinsic)(x->z.rhs.width / x->z.halves / 64 - 1);
}

// Where the operand of step `step` begins: 64 elements along `stay` from `first` on.
static const struct loop_expr *operand_at(const struct wgmma_build *x, const struct wgmma_tile *t,
                                          const struct loop_expr *slot,
                                          const struct loop_expr *first, int step) {
    int64_t deep = (int64_t)step * (x->z.depth / WGMMA_STEPS) * (t->s->along_k ? 1 : 64);
    return add(x, wgmma_slot_begin(x, t, slot), add(x, times(x, first, x->z.depth), num(x, deep)));
}

// The products of one slice by one pair of parts: high ones, or (`low`) the low one of a side.
static void multiply_parts(const struct wgmma_build *x, struct loop_builder *b,
                           const struct loop_expr *slot, const struct loop_expr *consumer,
                           const bool low[2], int half, const struct loop_expr *adds) {
    const struct loop_buffer *left = low[0] ? x->lhs.low_tile : x->lhs.tile;
    const struct loop_buffer *right = low[1] ? x->rhs.low_tile : x->rhs.tile;
    const struct loop_expr *column = num(x, (int64_t)half * x->z.rhs.width / 2);
    for (int step = 0; step < WGMMA_STEPS; step++)
        for (int part = 0; part < x->z.own / WGMMA_ROWS; part++) {
            const struct loop_expr *row =
                add(x, times(x, consumer, x->z.own), num(x, (int64_t)part * WGMMA_ROWS));
            loop_intrinsic(
                b, product(x),
                (struct loop_operand[]){{low[0] || low[1] ? x->cross : x->sum,
                                         num(x, (int64_t)part * x->z.rhs.width / 4)},
                                        {left, operand_at(x, &x->lhs, slot, row, step)},
                                        {right, operand_at(x, &x->rhs, slot, column, step)},
                                        {NULL, num(x, !x->z.lhs.along_k)},
                                        {NULL, num(x, !x->z.rhs.along_k)},
                                        {NULL, step == 0 ? adds : num(x, 1)}});
        }
}

static void multiply(const struct wgmma_build *x, struct loop_builder *b,
                     const struct loop_expr *slot, const struct loop_expr *consumer,
                     const struct loop_expr *adds) {
    static const bool high[2];
    loop_intrinsic(b, INTRINSIC_WGMMA_FENCE, NULL);
    multiply_parts(x, b, slot, consumer, high, 0, adds);
    loop_intrinsic(b, INTRINSIC_WGMMA_COMMIT, NULL);
}

// Split operands: products with a low part have sums of their own, small enough to be added up over
// all slices. That of the two low parts is below the last place of f32.
static void multiply_low(const struct wgmma_build *x, struct loop_builder *b,
                         const struct loop_expr *slot, const struct loop_expr *consumer,
                         const struct loop_expr *adds) {
    static const bool right[] = {false, true}, left[] = {true, false};
    multiply_parts(x, b, slot, consumer, right, 0, adds);
    multiply_parts(x, b, slot, consumer, left, 0, num(x, 1));
    loop_intrinsic(b, INTRINSIC_WGMMA_COMMIT, NULL);
}

static void wait_products(const struct wgmma_build *x, struct loop_builder *b, int groups) {
    loop_intrinsic(b, INTRINSIC_WGMMA_WAIT, (struct loop_operand[]){{NULL, num(x, groups)}});
}

// One thread says it for its warpgroup, to every block of a cluster one.
static void release(const struct wgmma_build *x, struct loop_builder *b,
                    const struct loop_expr *count) {
    struct loop_builder one;
    const struct loop_expr *thread = rest(x, x->thread, WGMMA_GROUP);
    loop_open_if(b, thread, num(x, x->z.cluster), &one);
    struct loop_operand o[] = {{x->empty, wgmma_slot_of(x, count)},
                               {NULL, rest(x, x->thread, x->z.cluster)}};
    loop_intrinsic(&one, x->rank ? INTRINSIC_MBARRIER_ARRIVE_AT : INTRINSIC_MBARRIER_ARRIVE, o);
    loop_close(b, &one);
}

// ---- consumers that have tiles of their own

// Tile number `order` of the block begins when all slices of the one before it have come: a phase
// of a slot is told from the next but one only by those who saw it. Before the first tile nothing
// is waited for.
static void take_turn(const struct wgmma_build *x, struct loop_builder *b) {
    const struct loop_expr *order = quotient(x, x->count, x->z.slices);
    const struct loop_expr *other = rest(x, add(x, x->turn, num(x, 1)), 2);
    const struct loop_expr *phase = rest(x, quotient(x, add(x, order, num(x, 3)), 2), 2);
    loop_intrinsic(b, INTRINSIC_MBARRIER_WAIT,
                   (struct loop_operand[]){{x->turns, other}, {NULL, phase}});
}

static void give_turn(const struct wgmma_build *x, struct loop_builder *b) {
    struct loop_builder one;
    loop_open_if(b, rest(x, x->thread, WGMMA_GROUP), num(x, 1), &one);
    loop_intrinsic(&one, INTRINSIC_MBARRIER_ARRIVE, (struct loop_operand[]){{x->turns, x->turn}});
    loop_close(b, &one);
}

// The sum of the slices from `begin` to `end`, each of which is given back when the next has begun.
static void add_slices(const struct wgmma_build *x, struct loop_builder *b,
                       const struct loop_expr *consumer, const struct loop_expr *begin,
                       const struct loop_expr *end) {
    struct loop_builder inner, some;
    struct loop_for f = {"slice", begin, end, 1, false};
    const struct loop_expr *slice = loop_open_for(b, &f, &inner);
    const struct loop_expr *count = loop_let(&inner, "count", add(x, x->count, slice));
    const struct loop_expr *slot = loop_let(&inner, "slot", wgmma_slot_of(x, count));
    loop_intrinsic(&inner, INTRINSIC_MBARRIER_WAIT,
                   (struct loop_operand[]){{x->ready ? x->ready : x->full, slot},
                                           {NULL, wgmma_phase_of(x, count)}});
    // The first one of a sum adds to nothing.
    const struct loop_expr *adds = x->total ? rest(x, slice, x->z.chunk) : slice;
    if (x->chunk) {
        adds = loop_cast(x->a, loop_binary(x->a, LOOP_SUB, slice, begin), LOOP_I32);
        adds = loop_to_index(x->a, adds, 0, 1);
    }
    multiply(x, &inner, slot, consumer, adds);
    wait_products(x, &inner, 1);
    loop_open_if(&inner, begin, slice, &some);
    release(x, &some, add(x, count, num(x, x->z.stages - 1)));
    loop_close(&inner, &some);
    loop_close(b, &inner);
    if (x->turn && !x->total)
        give_turn(x, b);
    wait_products(x, b, 0);
    if (x->more || x->total)
        release(x, b, add(x, x->count, add(x, end, num(x, x->z.stages - 1))));
}

// `first`: of the totals.
static void add_to_totals(const struct wgmma_build *x, struct loop_builder *b,
                          const struct loop_buffer *sum, int64_t first, double factor) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    const struct loop_expr *to = first ? add(x, i, num(x, first)) : i;
    const struct loop_expr *total = loop_load(x->a, x->total, to, 2, 1);
    const struct loop_expr *v = loop_load(x->a, sum, i, 2, 1);
    if (factor != 1)
        v = loop_binary(x->a, LOOP_MUL, v, loop_real(x->a, factor));
    loop_store(&inner, x->total, to, loop_binary(x->a, LOOP_ADD, total, v), false);
    loop_close(b, &inner);
}

static void clear_totals(const struct wgmma_build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->total->count, &inner);
    loop_store(&inner, x->total, i, loop_real(x->a, 0), false);
    loop_close(b, &inner);
}

// Split operands: the sum of high parts is put aside while products with low parts go on.
static void walk_parts(const struct wgmma_build *x, struct loop_builder *b,
                       const struct loop_expr *consumer) {
    struct loop_builder inner, some;
    clear_totals(x, b);
    struct loop_for f = {"slice", num(x, 0), x->n_slices, 1, false};
    const struct loop_expr *slice = loop_open_for(b, &f, &inner);
    const struct loop_expr *count = loop_let(&inner, "count", add(x, x->count, slice));
    const struct loop_expr *slot = loop_let(&inner, "slot", wgmma_slot_of(x, count));
    loop_intrinsic(&inner, INTRINSIC_MBARRIER_WAIT,
                   (struct loop_operand[]){{x->ready ? x->ready : x->full, slot},
                                           {NULL, wgmma_phase_of(x, count)}});
    multiply(x, &inner, slot, consumer, num(x, 0));
    multiply_low(x, &inner, slot, consumer, slice);
    wait_products(x, &inner, 1);
    loop_open_if(&inner, num(x, 0), slice, &some);
    release(x, &some, add(x, count, num(x, x->z.stages - 1)));
    loop_close(&inner, &some);
    add_to_totals(x, &inner, x->sum, 0, 1);
    loop_close(b, &inner);
    wait_products(x, b, 0);
    if (x->more)
        release(x, b, add(x, x->count, add(x, x->n_slices, num(x, x->z.stages - 1))));
    // Low parts were written so many times as large as they are.
    add_to_totals(x, b, x->cross, 0, 1.0 / WGMMA_LOW);
}

// Columns one half after the other, each slice put aside: one warpgroup adds while the other
// multiplies.
static void walk_halves(const struct wgmma_build *x, struct loop_builder *b,
                        const struct loop_expr *consumer) {
    static const bool high[2];
    struct loop_builder inner;
    clear_totals(x, b);
    struct loop_for f = {"slice", num(x, 0), x->n_slices, 1, false};
    const struct loop_expr *slice = loop_open_for(b, &f, &inner);
    const struct loop_expr *count = loop_let(&inner, "count", add(x, x->count, slice));
    const struct loop_expr *slot = loop_let(&inner, "slot", wgmma_slot_of(x, count));
    loop_intrinsic(&inner, INTRINSIC_MBARRIER_WAIT,
                   (struct loop_operand[]){{x->ready ? x->ready : x->full, slot},
                                           {NULL, wgmma_phase_of(x, count)}});
    for (int half = 0; half < 2; half++) {
        loop_intrinsic(&inner, INTRINSIC_WGMMA_FENCE, NULL);
        multiply_parts(x, &inner, slot, consumer, high, half, num(x, 0));
        loop_intrinsic(&inner, INTRINSIC_WGMMA_COMMIT, NULL);
        wait_products(x, &inner, 0);
        if (half == 1)
            release(x, &inner, count);
        add_to_totals(x, &inner, x->sum, half * x->sum->count, 1);
    }
    loop_close(b, &inner);
}

static void walk(const struct wgmma_build *x, struct loop_builder *b,
                 const struct loop_expr *consumer) {
    struct loop_builder inner;
    const struct loop_expr *end = x->n_slices;
    if (x->cross) {
        walk_parts(x, b, consumer);
        return;
    }
    if (x->z.halves > 1) {
        walk_halves(x, b, consumer);
        return;
    }
    if (!x->total) {
        add_slices(x, b, consumer, num(x, 0), end);
        return;
    }
    clear_totals(x, b);
    struct loop_for f = {"chunk", num(x, 0), end, x->z.chunk, false};
    const struct loop_expr *each = x->chunk ? x->chunk : num(x, x->z.chunk);
    if (x->chunk) {
        const struct loop_expr *last = loop_binary(x->a, LOOP_SUB, each, num(x, 1));
        f = (struct loop_for){"part", num(x, 0), NULL, 1, false};
        f.end = loop_let(b, "parts", loop_binary(x->a, LOOP_DIV, add(x, end, last), each));
    }
    const struct loop_expr *begin = loop_open_for(b, &f, &inner);
    if (x->chunk)
        begin = loop_let(&inner, "chunk", loop_binary(x->a, LOOP_MUL, begin, each));
    end = loop_let(&inner, "end", smaller(x, add(x, begin, each), end));
    add_slices(x, &inner, consumer, begin, end);
    add_to_totals(x, &inner, x->sum, 0, 1);
    loop_close(b, &inner);
}

void wgmma_consume(struct wgmma_build *x, struct loop_builder *b) {
    struct loop_builder *by_tile;
    struct wgmma_loops loops;
    const struct loop_expr *group = quotient(x, x->thread, WGMMA_GROUP);
    const struct loop_expr *consumer = num(x, 0);
    if (x->turn)
        consumer = x->turn;
    else if (x->z.consumers > 1)
        consumer = loop_let(b, "consumer", loop_binary(x->a, LOOP_SUB, group, num(x, 1)));
    by_tile = wgmma_open_tiles(x, b, &loops);
    if (x->turn)
        take_turn(x, by_tile);
    walk(x, by_tile, x->turn ? num(x, 0) : consumer);
    if (x->turn && x->total)
        give_turn(x, by_tile);
    if (x->z.split > 1)
        wgmma_store_share(x, by_tile);
    else
        wgmma_store_tile(x, by_tile, consumer);
    wgmma_close_tiles(x, b, &loops);
    wgmma_await_boxes(x, b);
}

// Blocks that have a part of K each meet when their sums are in memory.
void wgmma_combine(struct wgmma_build *x, struct loop_builder *b) {
    struct loop_builder some;
    struct wgmma_loops loops;
    loop_group_barrier(b, NULL, NULL);
    loop_open_if(b, num(x, WGMMA_GROUP - 1), x->thread, &some);
    wgmma_store_shares(x, wgmma_open_tiles(x, &some, &loops));
    wgmma_close_tiles(x, &some, &loops);
    loop_close(b, &some);
}
