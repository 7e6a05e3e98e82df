// The loops of gemm's `wgmma` emitter; gemm_wgmma.c says what they compute and why so.
//
//   one thread of the first warpgroup:               the other warpgroups:
//       for every tile of this block:                    for every tile of this block:
//           for every slice of K:                            for every slice of K:
//               wait until its slot is empty                     wait until its slot is full
//               expect the bytes, start the copies               start the products, commit
//                                                                wait for those of the slice before
//                                                                its slot is empty
//                                                            wait for the last; its slot is empty
//                                                            store
//
// Slots and phases follow from the number of the slice among all that the block has: slice c is in
// slot c % stages, and that slot is filled for the (c / stages)-th time.
//
// What lies outside of an operand is zero by the copy engine, so that it adds nothing; rows and
// columns outside of the result are not stored.
#include <assert.h>

#include "base/arena.h"
#include "family/gemm_wgmma.h"
#include "family/gpu.h"

struct wgmma_tile {
    const struct wgmma_side *s;
    int group;                      // of the space, that stays
    const struct loop_expr *first;  // of the tile, along it
    struct loop_buffer *map, *tile;
};

struct build {
    struct lowering *l;
    struct arena *a;
    const struct gemm_form *form;
    struct wgmma_sizes z;
    int64_t blocks;      // of the grid
    bool more;           // some have more than one tile
    struct scope *top;   // nothing fixed
    struct scope batch;  // batch fixed
    const struct loop_expr *block, *thread;
    const struct loop_expr *count;  // of slices before this tile's
    struct wgmma_tile lhs, rhs;
    struct loop_buffer *full, *empty;  // barriers, one for each slot
    struct loop_buffer *sum;           // [64 rows][8 columns][rows g, g + 8] of two columns
    struct loop_buffer *total;         // NULL: one sum is enough
    struct loop_buffer *passage[STAGE_VALUES_MAX];  // by value: through which it is stored, or NULL
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

// ---- which tile

// Number `tile` among those of one matrix: `group` rows of tiles are walked column by column, so
// that blocks that run at the same time read the same operands.
static void place_tile(struct build *x, struct loop_builder *b, const struct loop_expr *tile) {
    int64_t down = (x->z.m + x->z.lhs.width - 1) / x->z.lhs.width;
    int64_t right = (x->z.n + x->z.rhs.width - 1) / x->z.rhs.width;
    int64_t group = x->z.group < down ? x->z.group : down;
    const struct loop_expr *first =
        loop_let(b, "above", times(x, quotient(x, tile, group * right), group));
    const struct loop_expr *inside = loop_let(b, "inside", rest(x, tile, group * right));
    const struct loop_expr *rows = num(x, group);
    if (down % group != 0)
        rows =
            loop_let(b, "rows", smaller(x, loop_binary(x->a, LOOP_SUB, num(x, down), first), rows));
    const struct loop_expr *row = add(x, first, loop_binary(x->a, LOOP_MOD, inside, rows));
    const struct loop_expr *column = loop_binary(x->a, LOOP_DIV, inside, rows);
    x->lhs.first = loop_let(b, "row0", times(x, row, x->z.lhs.width));
    x->rhs.first = loop_let(b, "column0", times(x, column, x->z.rhs.width));
}

// A walk over the block's tiles; inside, the batch and the tile's place are fixed.
static void open_tiles(struct build *x, struct loop_builder *b, struct loop_builder *inner) {
    int64_t each = wgmma_tiles(&x->z) / x->z.batch;
    struct loop_for f = {"tile", x->block, num(x, wgmma_tiles(&x->z)), x->blocks, false};
    // One tile each: a loop that runs once.
    if (!x->more)
        f.end = add(x, x->block, num(x, 1));
    const struct loop_expr *tile = loop_open_for(b, &f, inner);
    x->count = loop_let(inner, "before", times(x, quotient(x, tile, x->blocks), x->z.slices));
    x->batch = scope_inside(x->top, inner);
    scope_split(&x->batch, quotient(x, tile, each), 0, x->form->group_m);
    place_tile(x, inner, rest(x, tile, each));
}

// ---- slots

static const struct loop_expr *slot_of(const struct build *x, const struct loop_expr *count) {
    return rest(x, count, x->z.stages);
}

static const struct loop_expr *phase_of(const struct build *x, const struct loop_expr *count) {
    return rest(x, quotient(x, count, x->z.stages), 2);
}

// Where slot `slot` of a tile begins.
static const struct loop_expr *slot_begin(const struct build *x, const struct wgmma_tile *t,
                                          const struct loop_expr *slot) {
    return times(x, slot, (int64_t)t->s->width * WGMMA_DEPTH);
}

// ---- the one that copies

// Which matrix of the batch, among those of the operand's buffer.
static const struct loop_expr *matrix_of(struct build *x, struct loop_builder *b,
                                         const struct wgmma_tile *t) {
    const struct shape *shape = &x->l->region->graph->nodes[t->s->leaf].shape;
    struct scope s = scope_inside(&x->batch, b);
    s.index[t->group] = num(x, 0);
    s.index[x->form->group_k] = num(x, 0);
    const struct loop_expr *at = point_index(&s, shape, &t->s->map);
    return loop_let(b, t == &x->lhs ? "lhs_matrix" : "rhs_matrix",
                    quotient(x, at, x->z.k * t->s->size));
}

static void copy_box(const struct build *x, const struct wgmma_tile *t, struct loop_builder *b,
                     const struct loop_expr *slot, const struct loop_expr *k,
                     const struct loop_expr *matrix, const struct loop_expr *box) {
    const struct loop_expr *to =
        add(x, slot_begin(x, t, slot), times(x, box, (int64_t)64 * WGMMA_DEPTH));
    const struct loop_expr *stay = add(x, t->first, times(x, box, 64));
    struct loop_operand o[] = {{t->tile, to},
                               {t->map, NULL},
                               {x->full, slot},
                               {NULL, t->s->along_k ? k : stay},
                               {NULL, t->s->along_k ? stay : k},
                               {NULL, matrix}};
    loop_intrinsic(b, t->s->is_batch ? INTRINSIC_BULK_COPY3 : INTRINSIC_BULK_COPY2, o);
}

static void copy_side(const struct build *x, const struct wgmma_tile *t, struct loop_builder *b,
                      const struct loop_expr *slot, const struct loop_expr *k,
                      const struct loop_expr *matrix) {
    struct loop_builder inner;
    int boxes = t->s->along_k ? 1 : t->s->width / 64;
    copy_box(x, t, &inner, slot, k, matrix, open_unrolled(x, b, "box", boxes, &inner));
    loop_close(b, &inner);
}

static void produce(struct build *x, struct loop_builder *b) {
    struct loop_builder by_tile, by_slice;
    open_tiles(x, b, &by_tile);
    const struct loop_expr *left = NULL, *right = NULL;
    if (x->z.lhs.is_batch)
        left = matrix_of(x, &by_tile, &x->lhs);
    if (x->z.rhs.is_batch)
        right = matrix_of(x, &by_tile, &x->rhs);
    struct loop_for f = {"slice", num(x, 0), num(x, x->z.slices), 1, false};
    const struct loop_expr *slice = loop_open_for(&by_tile, &f, &by_slice);
    const struct loop_expr *count = loop_let(&by_slice, "count", add(x, x->count, slice));
    const struct loop_expr *slot = loop_let(&by_slice, "slot", slot_of(x, count));
    const struct loop_expr *k = times(x, slice, WGMMA_DEPTH);
    // Before it was filled for the first time it is empty.
    loop_intrinsic(&by_slice, INTRINSIC_MBARRIER_WAIT,
                   (struct loop_operand[]){
                       {x->empty, slot}, {NULL, phase_of(x, add(x, count, num(x, x->z.stages)))}});
    int64_t bytes = (int64_t)(x->z.lhs.width + x->z.rhs.width) * WGMMA_DEPTH * 2;
    loop_intrinsic(&by_slice, INTRINSIC_MBARRIER_EXPECT,
                   (struct loop_operand[]){{x->full, slot}, {NULL, num(x, bytes)}});
    copy_side(x, &x->lhs, &by_slice, slot, k, left);
    copy_side(x, &x->rhs, &by_slice, slot, k, right);
    loop_close(&by_tile, &by_slice);
    loop_close(b, &by_tile);
}

// ---- those that multiply

static enum loop_intrinsic product(const struct build *x) {
    enum loop_intrinsic first =
        x->z.storage == DTYPE_F16 ? INTRINSIC_WGMMA_F16_64 : INTRINSIC_WGMMA_BF16_64;
    return first + (enum loop_intrinsic)(x->z.rhs.width / 64 - 1);
}

// Where the operand of step `step` begins: 64 elements along `stay` from `first` on.
static const struct loop_expr *operand_at(const struct build *x, const struct wgmma_tile *t,
                                          const struct loop_expr *slot,
                                          const struct loop_expr *first, int step) {
    int64_t deep = (int64_t)step * WGMMA_STEP * (t->s->along_k ? 1 : 64);
    return add(x, slot_begin(x, t, slot), add(x, times(x, first, WGMMA_DEPTH), num(x, deep)));
}

static void multiply(const struct build *x, struct loop_builder *b, const struct loop_expr *slot,
                     const struct loop_expr *consumer, const struct loop_expr *adds) {
    loop_intrinsic(b, INTRINSIC_WGMMA_FENCE, NULL);
    for (int step = 0; step < WGMMA_DEPTH / WGMMA_STEP; step++)
        for (int part = 0; part < x->z.own / WGMMA_ROWS; part++) {
            const struct loop_expr *row =
                add(x, times(x, consumer, x->z.own), num(x, (int64_t)part * WGMMA_ROWS));
            loop_intrinsic(b, product(x),
                           (struct loop_operand[]){
                               {x->sum, num(x, (int64_t)part * x->z.rhs.width / 4)},
                               {x->lhs.tile, operand_at(x, &x->lhs, slot, row, step)},
                               {x->rhs.tile, operand_at(x, &x->rhs, slot, num(x, 0), step)},
                               {NULL, num(x, !x->z.lhs.along_k)},
                               {NULL, num(x, !x->z.rhs.along_k)},
                               {NULL, step == 0 ? adds : num(x, 1)}});
        }
    loop_intrinsic(b, INTRINSIC_WGMMA_COMMIT, NULL);
}

static void wait_products(const struct build *x, struct loop_builder *b, int groups) {
    loop_intrinsic(b, INTRINSIC_WGMMA_WAIT, (struct loop_operand[]){{NULL, num(x, groups)}});
}

// One thread says it for its warpgroup.
static void release(const struct build *x, struct loop_builder *b, const struct loop_expr *count) {
    struct loop_builder one;
    loop_open_if(b, rest(x, x->thread, WGMMA_GROUP), num(x, 1), &one);
    loop_intrinsic(&one, INTRINSIC_MBARRIER_ARRIVE,
                   (struct loop_operand[]){{x->empty, slot_of(x, count)}});
    loop_close(b, &one);
}

// The sum of the slices from `begin` to `end`, each of which is given back when the next has begun.
static void add_slices(const struct build *x, struct loop_builder *b,
                       const struct loop_expr *consumer, const struct loop_expr *begin,
                       const struct loop_expr *end) {
    struct loop_builder inner, some;
    struct loop_for f = {"slice", begin, end, 1, false};
    const struct loop_expr *slice = loop_open_for(b, &f, &inner);
    const struct loop_expr *count = loop_let(&inner, "count", add(x, x->count, slice));
    const struct loop_expr *slot = loop_let(&inner, "slot", slot_of(x, count));
    loop_intrinsic(&inner, INTRINSIC_MBARRIER_WAIT,
                   (struct loop_operand[]){{x->full, slot}, {NULL, phase_of(x, count)}});
    // The first one of a sum adds to nothing.
    multiply(x, &inner, slot, consumer, x->total ? rest(x, slice, x->z.chunk) : slice);
    wait_products(x, &inner, 1);
    loop_open_if(&inner, begin, slice, &some);
    release(x, &some, add(x, count, num(x, x->z.stages - 1)));
    loop_close(&inner, &some);
    loop_close(b, &inner);
    wait_products(x, b, 0);
    if (x->more || x->total)
        release(x, b, add(x, x->count, add(x, end, num(x, x->z.stages - 1))));
}

static void add_to_totals(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    loop_store(&inner, x->total, i,
               loop_binary(x->a, LOOP_ADD, loop_load(x->a, x->total, i, 2, 1),
                           loop_load(x->a, x->sum, i, 2, 1)),
               false);
    loop_close(b, &inner);
}

static void walk(const struct build *x, struct loop_builder *b, const struct loop_expr *consumer) {
    struct loop_builder inner;
    const struct loop_expr *end = num(x, x->z.slices);
    if (!x->total) {
        add_slices(x, b, consumer, num(x, 0), end);
        return;
    }
    const struct loop_expr *i = open_unrolled(x, b, "i", x->total->count, &inner);
    loop_store(&inner, x->total, i, loop_real(x->a, 0), false);
    loop_close(b, &inner);
    struct loop_for f = {"chunk", num(x, 0), end, x->z.chunk, false};
    const struct loop_expr *begin = loop_open_for(b, &f, &inner);
    end = loop_let(&inner, "end", smaller(x, add(x, begin, num(x, x->z.chunk)), end));
    add_slices(x, &inner, consumer, begin, end);
    add_to_totals(x, &inner);
    loop_close(b, &inner);
}

// ---- results

// Where the sums of a thread lie in the tile.
struct wgmma_place {
    const struct loop_expr *consumer, *lane, *warp;  // the warp among four
    const struct loop_expr *first;                   // row of the tile that the warp begins with
};

static struct axis_map identity(const struct build *x) {
    return map_identity(x->l->region->graph->nodes[x->form->anchor].shape.rank);
}

static struct scope scope_at(struct build *x, struct loop_builder *b, const struct loop_expr *row,
                             const struct loop_expr *column, int lanes) {
    struct scope s = scope_inside(&x->batch, b);
    s.index[x->lhs.group] = row;
    s.index[x->rhs.group] = column;
    s.lane_group = x->rhs.group;
    s.lanes = lanes;
    return s;
}

// The sums of rows `part` (of 64) and `half` (of 8), columns from 8 * `j` on.
static const struct loop_expr *sum_at(const struct build *x, const struct loop_expr *part,
                                      const struct loop_expr *half, const struct loop_expr *j) {
    const struct loop_expr *at =
        add(x, times(x, part, x->z.rhs.width / 4), add(x, times(x, j, 2), half));
    return loop_load(x->a, x->total ? x->total : x->sum, at, 2, 1);
}

static void define(const struct build *x, struct scope *s, const struct loop_expr *sum) {
    const char *name = x->l->region->graph->nodes[x->form->anchor].name;
    point_define(s, x->form->anchor, &x->form->at, loop_let(s->builder, name, sum));
}

// ---- results straight from registers

static void store_pair(struct build *x, struct loop_builder *b, const struct loop_expr *row,
                       const struct loop_expr *column, const struct loop_expr *sum) {
    int lanes = x->z.n % 2 == 0 ? 2 : 1;
    struct axis_map map = identity(x);
    struct loop_builder by_lane, guard;
    const struct loop_expr *lane = open_unrolled(x, b, "lane", 2 / lanes, &by_lane);
    const struct loop_expr *at = add(x, column, lane);
    loop_open_if(&by_lane, at, x->l->space.extent[x->rhs.group], &guard);
    struct scope s = scope_at(x, &guard, row, at, lanes);
    define(x, &s, lanes == 1 ? loop_lane(x->a, sum, lane) : sum);
    for (int v = 0; v < x->l->region->n_values; v++)
        if (!x->passage[v])
            point_store(&s, v, &map, false);
    loop_close(&by_lane, &guard);
    loop_close(b, &by_lane);
}

static void store_straight(struct build *x, struct loop_builder *b, const struct wgmma_place *p) {
    struct loop_builder by_row, guard, by_column;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->z.own / 32, &by_row);
    const struct loop_expr *part = quotient(x, i, 2), *half = rest(x, i, 2);
    const struct loop_expr *row = add(x, times(x, part, WGMMA_ROWS), times(x, half, 8));
    row = add(x, p->first, add(x, row, quotient(x, p->lane, 4)));
    row = loop_let(&by_row, "row", row);
    loop_open_if(&by_row, row, x->l->space.extent[x->lhs.group], &guard);
    const struct loop_expr *j = open_unrolled(x, &guard, "j", x->z.rhs.width / 8, &by_column);
    const struct loop_expr *column = add(x, times(x, j, 8), times(x, rest(x, p->lane, 4), 2));
    column = loop_let(&by_column, "column", add(x, x->rhs.first, column));
    store_pair(x, &by_column, row, column, sum_at(x, part, half, j));
    loop_close(&guard, &by_column);
    loop_close(&by_row, &guard);
    loop_close(b, &by_row);
}

// ---- results of 16 bits: by way of shared memory, 16 rows and 64 columns of a warp at a time

// Element (row, 8 * piece) of the warp's.
static const struct loop_expr *passage_at(const struct build *x, const struct wgmma_place *p,
                                          const struct loop_expr *row,
                                          const struct loop_expr *piece) {
    const struct loop_expr *warp = add(x, times(x, p->consumer, 4), p->warp);
    const struct loop_expr *at = add(x, times(x, warp, WGMMA_STAGED), times(x, row, 64));
    return add(x, at, times(x, loop_swizzle(x->a, row, piece, 128), 8));
}

static void fill_passage(struct build *x, struct loop_builder *b, const struct wgmma_place *p,
                         int v, const struct loop_expr *part, const struct loop_expr *c) {
    struct loop_builder by_row, guard, by_column, inside;
    struct axis_map map = identity(x);
    const struct loop_expr *half = open_unrolled(x, b, "half", 2, &by_row);
    const struct loop_expr *own = add(x, times(x, half, 8), quotient(x, p->lane, 4));
    const struct loop_expr *row = add(x, p->first, add(x, times(x, part, WGMMA_ROWS), own));
    row = loop_let(&by_row, "row", row);
    loop_open_if(&by_row, row, x->l->space.extent[x->lhs.group], &guard);
    const struct loop_expr *j = open_unrolled(x, &guard, "j", 8, &by_column);
    const struct loop_expr *pair = times(x, rest(x, p->lane, 4), 2);
    const struct loop_expr *column = add(x, times(x, c, 64), add(x, times(x, j, 8), pair));
    column = loop_let(&by_column, "column", add(x, x->rhs.first, column));
    loop_open_if(&by_column, column, x->l->space.extent[x->rhs.group], &inside);
    struct scope s = scope_at(x, &inside, row, column, 2);
    define(x, &s, sum_at(x, part, half, add(x, times(x, c, 8), j)));
    loop_store(&inside, x->passage[v], add(x, passage_at(x, p, own, j), pair),
               point_stored(&s, v, &map), false);
    loop_close(&by_column, &inside);
    loop_close(&guard, &by_column);
    loop_close(&by_row, &guard);
    loop_close(b, &by_row);
}

// Eight threads have a row of 128 bytes.
static void empty_passage(struct build *x, struct loop_builder *b, const struct wgmma_place *p,
                          int v, const struct loop_expr *part, const struct loop_expr *c) {
    struct loop_builder inner, guard, inside;
    struct axis_map map = identity(x);
    const struct shape *shape = &x->l->region->graph->nodes[x->l->region->value[v]].shape;
    const struct loop_expr *i = open_unrolled(x, b, "i", 4, &inner);
    const struct loop_expr *own = add(x, times(x, i, 4), quotient(x, p->lane, 8));
    const struct loop_expr *piece = rest(x, p->lane, 8);
    const struct loop_expr *row = add(x, p->first, add(x, times(x, part, WGMMA_ROWS), own));
    row = loop_let(&inner, "row", row);
    loop_open_if(&inner, row, x->l->space.extent[x->lhs.group], &guard);
    const struct loop_expr *column = add(x, times(x, c, 64), times(x, piece, 8));
    column = loop_let(&guard, "column", add(x, x->rhs.first, column));
    loop_open_if(&guard, column, x->l->space.extent[x->rhs.group], &inside);
    struct scope s = scope_at(x, &inside, row, column, 8);
    loop_store(&inside, x->l->target[v], point_index(&s, shape, &map),
               loop_load(x->a, x->passage[v], passage_at(x, p, own, piece), 8, 1), false);
    loop_close(&guard, &inside);
    loop_close(&inner, &guard);
    loop_close(b, &inner);
}

static void store_by_passage(struct build *x, struct loop_builder *b, const struct wgmma_place *p,
                             int v) {
    struct loop_builder by_part, by_columns;
    const struct loop_expr *part = open_unrolled(x, b, "part", x->z.own / WGMMA_ROWS, &by_part);
    const struct loop_expr *c = open_unrolled(x, &by_part, "c", x->z.rhs.width / 64, &by_columns);
    // Nobody reads what was there before.
    loop_intrinsic(&by_columns, INTRINSIC_WARP_SYNC, NULL);
    fill_passage(x, &by_columns, p, v, part, c);
    loop_intrinsic(&by_columns, INTRINSIC_WARP_SYNC, NULL);
    empty_passage(x, &by_columns, p, v, part, c);
    loop_close(&by_part, &by_columns);
    loop_close(b, &by_part);
}

static void store_tile(struct build *x, struct loop_builder *b, const struct loop_expr *consumer) {
    struct wgmma_place p = {.consumer = consumer};
    p.lane = loop_let(b, "lane", rest(x, x->thread, GPU_WARP));
    p.warp = loop_let(b, "warp", rest(x, quotient(x, x->thread, GPU_WARP), 4));
    const struct loop_expr *own = add(x, times(x, consumer, x->z.own), times(x, p.warp, 16));
    p.first = loop_let(b, "own", add(x, x->lhs.first, own));
    bool straight = false;
    for (int v = 0; v < x->l->region->n_values; v++) {
        straight |= !x->passage[v];
        if (x->passage[v])
            store_by_passage(x, b, &p, v);
    }
    if (straight)
        store_straight(x, b, &p);
}

static void consume(struct build *x, struct loop_builder *b) {
    struct loop_builder by_tile;
    const struct loop_expr *group = quotient(x, x->thread, WGMMA_GROUP);
    const struct loop_expr *consumer = num(x, 0);
    if (x->z.consumers > 1)
        consumer = loop_let(b, "consumer", loop_binary(x->a, LOOP_SUB, group, num(x, 1)));
    open_tiles(x, b, &by_tile);
    walk(x, &by_tile, consumer);
    store_tile(x, &by_tile, consumer);
    loop_close(b, &by_tile);
}

// ---- the kernel

static void make_side(struct build *x, struct wgmma_tile *t, const struct wgmma_side *s, int group,
                      const char *name) {
    struct loop_program *p = x->l->program;
    struct loop_size shape[] = {{(int64_t)x->z.stages * s->width, NULL}, {WGMMA_DEPTH, NULL}};
    *t = (struct wgmma_tile){.s = s, .group = group};
    struct loop_map map = {.of = x->l->buffer[s->leaf], .rank = s->is_batch ? 3 : 2};
    assert(map.of->dtype == x->z.storage);
    map.dims[0] = s->along_k ? x->z.k : s->size;
    map.dims[1] = s->along_k ? s->size : x->z.k;
    map.dims[2] = map.of->count / (x->z.k * s->size);
    map.strides[0] = 1;
    map.strides[1] = map.dims[0];
    map.strides[2] = x->z.k * s->size;
    map.box[0] = WGMMA_DEPTH;
    map.box[1] = s->along_k ? s->width : WGMMA_DEPTH;
    map.box[2] = 1;
    map.swizzle_bytes = 128;
    t->map = loop_map_of(p, arena_printf(x->a, "%s_map", name), &map);
    t->tile = loop_shared_of(p, arena_printf(x->a, "%s_tile", name), x->z.storage, shape, 2);
    t->tile->align = 1024;
}

static void make_buffers(struct build *x) {
    struct loop_program *p = x->l->program;
    struct loop_size stages = {x->z.stages, NULL};
    make_side(x, &x->lhs, &x->z.lhs, x->form->group_m, "lhs");
    make_side(x, &x->rhs, &x->z.rhs, x->form->group_n, "rhs");
    x->full = loop_shared_of(p, "full", DTYPE_I64, &stages, 1);
    x->empty = loop_shared_of(p, "empty", DTYPE_I64, &stages, 1);
    x->sum = loop_register(p, "sum", wgmma_pairs(&x->z), 2);
    if (x->z.chunk)
        x->total = loop_register(p, "total", wgmma_pairs(&x->z), 2);
    // One array serves all values of a type.
    struct loop_size staged = {x->z.staged_bytes / 2, NULL};
    for (int v = 0; v < x->l->region->n_values; v++) {
        enum dtype t = x->l->target[v]->dtype;
        if (!wgmma_is_staged(x->l->region, v, x->z.n) || x->l->target_offset[v] ||
            dtype_infos[t].bits != 16 || (v > 0 && x->passage[0] && x->passage[0]->dtype != t))
            continue;
        x->passage[v] =
            v > 0 && x->passage[0] ? x->passage[0] : loop_shared_of(p, "passage", t, &staged, 1);
        x->passage[v]->align = 128;
    }
}

// A slot is full by one arrival and its bytes, empty when every consumer says so.
static void make_barriers(const struct build *x, struct loop_builder *b) {
    struct loop_builder one, inner;
    loop_open_if(b, x->thread, num(x, 1), &one);
    const struct loop_expr *i = open_unrolled(x, &one, "i", x->z.stages, &inner);
    loop_intrinsic(&inner, INTRINSIC_MBARRIER_INIT,
                   (struct loop_operand[]){{x->full, i}, {NULL, num(x, 1)}});
    loop_intrinsic(&inner, INTRINSIC_MBARRIER_INIT,
                   (struct loop_operand[]){{x->empty, i}, {NULL, num(x, x->z.consumers)}});
    loop_close(&one, &inner);
    loop_close(b, &one);
    loop_barrier(b);
}

// Three warpgroups have 168 registers for each thread: the one that copies leaves most of them to
// the others.
static void set_registers(const struct build *x, struct loop_builder *b, bool more) {
    if (x->z.consumers == 2)
        loop_intrinsic(b, more ? INTRINSIC_REGISTERS_MORE : INTRINSIC_REGISTERS_LESS,
                       (struct loop_operand[]){{NULL, num(x, more ? 232 : 40)}});
}

void wgmma_lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct build x = {.l = l, .a = l->arena, .form = f->gemm};
    gemm_build_space(l, x.form);
    x.z = wgmma_read_sizes(f, stage);
    x.more = l->sms < wgmma_tiles(&x.z);
    x.blocks = x.more ? l->sms : wgmma_tiles(&x.z);
    struct loop_builder b, role, one;
    struct gpu_kernel k = gpu_open_kernel(l, arena_printf(x.a, "%s_gemm", stage->values[0]),
                                          num(&x, x.blocks), x.z.threads, &b);
    k.kernel->min_blocks = 1;
    struct scope top = {.lowering = l, .lane_group = -1, .lanes = 1, .builder = &b};
    x.top = &top;
    x.block = k.block;
    x.thread = k.thread;
    make_buffers(&x);
    make_barriers(&x, &b);
    // One thread of the warpgroup copies; all of it gives up registers.
    loop_open_role(&b, x.thread, num(&x, x.z.consumers == 2 ? WGMMA_GROUP : 1), &role);
    set_registers(&x, &role, false);
    if (x.z.consumers == 2) {
        loop_open_if(&role, x.thread, num(&x, 1), &one);
        produce(&x, &one);
        loop_close(&role, &one);
    } else {
        produce(&x, &role);
    }
    loop_close(&b, &role);
    loop_open_role(&b, num(&x, WGMMA_GROUP - 1), x.thread, &role);
    set_registers(&x, &role, true);
    consume(&x, &role);
    loop_close(&b, &role);
}
