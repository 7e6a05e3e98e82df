// Results of gemm's `wgmma` emitter: the sums of a tile become the stage's values.
#include "family/gemm_wgmma_build.h"

static struct axis_map identity(const struct wgmma_build *x) {
    return map_identity(x->l->region->graph->nodes[x->form->anchor].shape.rank);
}

struct scope wgmma_scope_at(struct wgmma_build *x, struct loop_builder *b,
                            const struct loop_expr *row, const struct loop_expr *column,
                            int lanes) {
    struct scope s = scope_inside(&x->batch, b);
    s.index[x->lhs.group] = row;
    s.index[x->rhs.group] = column;
    s.lane_group = x->rhs.group;
    s.lanes = lanes;
    return s;
}

const struct loop_expr *wgmma_sum_at(const struct wgmma_build *x, const struct loop_expr *part,
                                     const struct loop_expr *half, const struct loop_expr *j) {
    const struct loop_expr *at =
        add(x, times(x, part, x->z.rhs.width / 4), add(x, times(x, j, 2), half));
    return loop_load(x->a, x->total ? x->total : x->sum, at, 2, 1);
}

// Products of split operands were scaled: undo it by the two factors that each row and column have
// (both at once may be too large or too small for a float), and see whether one is missing.
static const struct loop_expr *unscale(struct wgmma_build *x, struct scope *s,
                                       const struct loop_expr *sum) {
    const struct loop_expr *row = s->index[x->lhs.group], *column = s->index[x->rhs.group];
    const struct loop_expr *both[2];
    for (int i = 0; i < 2; i++)
        both[i] = loop_let(s->builder, i ? "second" : "first",
                           loop_binary(x->a, LOOP_MUL, wgmma_factor(x, &x->lhs, i, row, 1),
                                       wgmma_factor(x, &x->rhs, i, column, s->lanes)));
    const struct loop_expr *least =
        s->lanes > 1 ? loop_unary(x->a, LOOP_LANES_MIN, both[0]) : both[0];
    loop_store(s->builder, x->least, num(x, 0),
               loop_binary(x->a, LOOP_MIN, loop_load(x->a, x->least, num(x, 0), 1, 1), least),
               false);
    return loop_binary(x->a, LOOP_MUL, loop_binary(x->a, LOOP_MUL, sum, both[0]), both[1]);
}

void wgmma_define(struct wgmma_build *x, struct scope *s, const struct loop_expr *sum) {
    const char *name = x->l->region->graph->nodes[x->form->anchor].name;
    if (x->z.parts)
        sum = unscale(x, s, sum);
    point_define(s, x->form->anchor, &x->form->at, loop_let(s->builder, name, sum));
}

// ---- results straight from registers

static void store_pair(struct wgmma_build *x, struct loop_builder *b, const struct loop_expr *row,
                       const struct loop_expr *column, const struct loop_expr *sum) {
    int lanes = x->z.n % 2 == 0 && x->form->has_pairs ? 2 : 1;
    struct axis_map map = identity(x);
    struct loop_builder by_lane, guard;
    const struct loop_expr *lane = open_unrolled(x, b, "lane", 2 / lanes, &by_lane);
    const struct loop_expr *at = add(x, column, lane);
    loop_open_if(&by_lane, at, x->l->space.extent[x->rhs.group], &guard);
    struct scope s = wgmma_scope_at(x, &guard, row, at, lanes);
    wgmma_define(x, &s, lanes == 1 ? loop_lane(x->a, sum, lane) : sum);
    for (int v = 0; v < x->l->region->n_values; v++)
        if (!x->passage[v])
            point_store(&s, v, &map, false);
    loop_close(&by_lane, &guard);
    loop_close(b, &by_lane);
}

// Both rows of a pair of columns come one after the other: what belongs to a column (factors, a
// bias) is then read once and needed for a moment only. With the rows outside, the compiler kept it
// of all columns at once: 816 bytes of a thread were spilled for a tile of 128x256 in tf32.
static void store_straight(struct wgmma_build *x, struct loop_builder *b,
                           const struct wgmma_place *p) {
    struct loop_builder by_part, by_column, by_row, guard;
    const struct loop_expr *part = open_unrolled(x, b, "part", x->z.own / WGMMA_ROWS, &by_part);
    const struct loop_expr *j = open_unrolled(x, &by_part, "j", x->z.rhs.width / 8, &by_column);
    const struct loop_expr *column = add(x, times(x, j, 8), times(x, rest(x, p->lane, 4), 2));
    column = loop_let(&by_column, "column", add(x, x->rhs.first, column));
    const struct loop_expr *half = open_unrolled(x, &by_column, "half", 2, &by_row);
    const struct loop_expr *row = add(x, times(x, part, WGMMA_ROWS), times(x, half, 8));
    row = add(x, p->first, add(x, row, quotient(x, p->lane, 4)));
    row = loop_let(&by_row, "row", row);
    loop_open_if(&by_row, row, x->rows_end, &guard);
    store_pair(x, &guard, row, column, wgmma_sum_at(x, part, half, j));
    loop_close(&by_row, &guard);
    loop_close(&by_column, &by_row);
    loop_close(&by_part, &by_column);
    loop_close(b, &by_part);
}

// ---- results of 16 bits: by way of shared memory, 16 rows and 64 columns of a warp at a time

// Element (row, 8 * piece) of the warp's.
static const struct loop_expr *passage_at(const struct wgmma_build *x, const struct wgmma_place *p,
                                          const struct loop_expr *row,
                                          const struct loop_expr *piece) {
    const struct loop_expr *warp = add(x, times(x, p->consumer, 4), p->warp);
    const struct loop_expr *at = add(x, times(x, warp, WGMMA_STAGED), times(x, row, 64));
    return add(x, at, times(x, loop_swizzle(x->a, row, piece, 128), 8));
}

static void fill_passage(struct wgmma_build *x, struct loop_builder *b, const struct wgmma_place *p,
                         int v, const struct loop_expr *part, const struct loop_expr *c) {
    struct loop_builder by_row, guard, by_column, inside;
    struct axis_map map = identity(x);
    const struct loop_expr *half = open_unrolled(x, b, "half", 2, &by_row);
    const struct loop_expr *own = add(x, times(x, half, 8), quotient(x, p->lane, 4));
    const struct loop_expr *row = add(x, p->first, add(x, times(x, part, WGMMA_ROWS), own));
    row = loop_let(&by_row, "row", row);
    loop_open_if(&by_row, row, x->rows_end, &guard);
    const struct loop_expr *j = open_unrolled(x, &guard, "j", 8, &by_column);
    const struct loop_expr *pair = times(x, rest(x, p->lane, 4), 2);
    const struct loop_expr *column = add(x, times(x, c, 64), add(x, times(x, j, 8), pair));
    column = loop_let(&by_column, "column", add(x, x->rhs.first, column));
    loop_open_if(&by_column, column, x->l->space.extent[x->rhs.group], &inside);
    struct scope s = wgmma_scope_at(x, &inside, row, column, 2);
    wgmma_define(x, &s, wgmma_sum_at(x, part, half, add(x, times(x, c, 8), j)));
    loop_store(&inside, x->passage[v], add(x, passage_at(x, p, own, j), pair),
               point_stored(&s, v, &map), false);
    loop_close(&by_column, &inside);
    loop_close(&guard, &by_column);
    loop_close(&by_row, &guard);
    loop_close(b, &by_row);
}

// Eight threads have a row of 128 bytes.
static void empty_passage(struct wgmma_build *x, struct loop_builder *b,
                          const struct wgmma_place *p, int v, const struct loop_expr *part,
                          const struct loop_expr *c) {
    struct loop_builder inner, guard, inside;
    struct axis_map map = identity(x);
    const struct shape *shape = &x->l->region->graph->nodes[x->l->region->value[v]].shape;
    const struct loop_expr *i = open_unrolled(x, b, "i", 4, &inner);
    const struct loop_expr *own = add(x, times(x, i, 4), quotient(x, p->lane, 8));
    const struct loop_expr *piece = rest(x, p->lane, 8);
    const struct loop_expr *row = add(x, p->first, add(x, times(x, part, WGMMA_ROWS), own));
    row = loop_let(&inner, "row", row);
    loop_open_if(&inner, row, x->rows_end, &guard);
    const struct loop_expr *column = add(x, times(x, c, 64), times(x, piece, 8));
    column = loop_let(&guard, "column", add(x, x->rhs.first, column));
    loop_open_if(&guard, column, x->l->space.extent[x->rhs.group], &inside);
    struct scope s = wgmma_scope_at(x, &inside, row, column, 8);
    loop_store(&inside, x->l->target[v], point_index(&s, shape, &map),
               loop_load(x->a, x->passage[v], passage_at(x, p, own, piece), 8, 1), false);
    loop_close(&guard, &inside);
    loop_close(&inner, &guard);
    loop_close(b, &inner);
}

static void store_by_passage(struct wgmma_build *x, struct loop_builder *b,
                             const struct wgmma_place *p, int v) {
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

// ---- results in boxes: a warp writes one into shared memory, and the copy engine stores it while
// the warp goes on, into the next tile

void wgmma_make_boxes(struct wgmma_build *x) {
    struct loop_buffer *to = x->l->target[0];
    int64_t per_row = 128 / dtype_size(to->dtype, 1), rows = x->z.m;
    struct loop_size size = {x->z.staged_bytes / dtype_size(to->dtype, 1), NULL};
    struct loop_map map = {.of = to, .rank = 3, .swizzle_bytes = 128};
    // A stage may keep its values elsewhere, or in another type.
    if (x->l->target_offset[0] ||
        to->dtype != x->l->region->graph->nodes[x->l->region->value[0]].dtype)
        return;
    x->passage[0] = loop_shared_of(x->l->program, "passage", to->dtype, &size, 1);
    x->passage[0]->align = 1024;
    map.dims[0] = x->z.n;
    map.dims[1] = rows;
    map.dims[2] = x->z.batch;
    map.strides[0] = 1;
    map.strides[1] = x->z.n;
    map.strides[2] = rows * x->z.n;
    map.box[0] = per_row;
    map.box[1] = 16;
    map.box[2] = 1;
    if (x->z.lhs.is_cut && x->z.lhs.along_k)
        wgmma_cut_map(&map);
    x->box_map = loop_map_of(x->l->program, "box_map", &map);
}

static void await_boxes(const struct wgmma_build *x, struct loop_builder *b, int but) {
    loop_intrinsic(b, INTRINSIC_BULK_STORED, (struct loop_operand[]){{NULL, num(x, but)}});
}

void wgmma_await_boxes(const struct wgmma_build *x, struct loop_builder *b) {
    if (x->box_map)
        await_boxes(x, b, 0);
}

// From column `first` of the tile on, to the box that begins at `to`.
static void fill_box(struct wgmma_build *x, struct loop_builder *b, const struct wgmma_place *p,
                     const struct loop_expr *part, const struct loop_expr *first,
                     const struct loop_expr *to) {
    struct loop_builder by_row, guard, by_column, inside;
    struct axis_map map = identity(x);
    int64_t piece = 16 / dtype_size(x->passage[0]->dtype, 1), row_of_box = 8 * piece;
    const struct loop_expr *half = open_unrolled(x, b, "half", 2, &by_row);
    const struct loop_expr *own = add(x, times(x, half, 8), quotient(x, p->lane, 4));
    const struct loop_expr *row = add(x, p->first, add(x, times(x, part, WGMMA_ROWS), own));
    row = loop_let(&by_row, "row", row);
    loop_open_if(&by_row, row, x->rows_end, &guard);
    const struct loop_expr *j = open_unrolled(x, &guard, "j", row_of_box / 8, &by_column);
    const struct loop_expr *at = add(x, times(x, j, 8), times(x, rest(x, p->lane, 4), 2));
    const struct loop_expr *column = add(x, x->rhs.first, add(x, first, at));
    column = loop_let(&by_column, "column", column);
    loop_open_if(&by_column, column, x->l->space.extent[x->rhs.group], &inside);
    struct scope s = wgmma_scope_at(x, &inside, row, column, 2);
    wgmma_define(x, &s, wgmma_sum_at(x, part, half, add(x, quotient(x, first, 8), j)));
    const struct loop_expr *place =
        times(x, loop_swizzle(x->a, own, quotient(x, at, piece), 128), piece);
    place = add(x, add(x, to, times(x, own, row_of_box)), add(x, place, rest(x, at, piece)));
    loop_store(&inside, x->passage[0], place, point_stored(&s, 0, &map), false);
    loop_close(&by_column, &inside);
    loop_close(&guard, &by_column);
    loop_close(&by_row, &guard);
    loop_close(b, &by_row);
}

static void store_by_boxes(struct wgmma_build *x, struct loop_builder *b,
                           const struct wgmma_place *p) {
    struct loop_builder by_part, by_box;
    int64_t elements = WGMMA_BOX_BYTES / dtype_size(x->passage[0]->dtype, 1);
    int64_t columns = elements / 16, boxes = x->z.rhs.width / columns;
    bool is_cut = x->box_map->map->rank == 4;
    const struct loop_expr *warp = add(x, times(x, p->consumer, 4), p->warp);
    const struct loop_expr *part = open_unrolled(x, b, "part", x->z.own / WGMMA_ROWS, &by_part);
    const struct loop_expr *box = open_unrolled(x, &by_part, "box", boxes, &by_box);
    const struct loop_expr *slot = rest(x, add(x, times(x, part, boxes), box), x->z.boxes);
    const struct loop_expr *to = times(x, add(x, times(x, warp, x->z.boxes), slot), elements);
    const struct loop_expr *first = times(x, box, columns);
    // Nobody reads the box that was there before.
    await_boxes(x, &by_box, x->z.boxes - 1);
    fill_box(x, &by_box, p, part, first, to);
    // No consumer is the one that copies, which ranges do not know.
    const struct loop_expr *row = add(x, p->first, times(x, part, WGMMA_ROWS));
    if (!is_cut)
        row = loop_to_index(x->a, loop_cast(x->a, row, LOOP_I32), 0, INT32_MAX / 2);
    struct loop_operand o[] = {
        {x->passage[0], to}, {x->box_map, NULL}, {NULL, add(x, x->rhs.first, first)},
        {NULL, row},         {NULL, x->matrix},  {NULL, NULL}};
    if (is_cut)
        wgmma_cut_rows(x, x->rows_end, o + 2);
    loop_intrinsic(&by_box, is_cut ? INTRINSIC_BULK_STORE4 : INTRINSIC_BULK_STORE3, o);
    loop_close(&by_part, &by_box);
    loop_close(b, &by_part);
}

// ---- split operands: results whose row or column has no factors

static void open_if_true(const struct wgmma_build *x, struct loop_builder *b,
                         const struct loop_expr *mask, struct loop_builder *inner) {
    const struct loop_expr *is = loop_to_index(x->a, loop_cast(x->a, mask, LOOP_I32), 0, 1);
    loop_open_if(b, num(x, 0), is, inner);
}

// The product's element at row and column, in f32: sums of sums of 256 terms.
static const struct loop_expr *plain_sum(struct wgmma_build *x, struct loop_builder *b,
                                         const struct loop_expr *row,
                                         const struct loop_expr *column) {
    enum { TERMS = 256 };
    const struct loop_expr *zero = num(x, 0), *end = num(x, x->z.k);
    struct loop_buffer *sum = x->plain[0], *part = x->plain[1];
    struct loop_builder by_part, by_term;
    loop_store(b, sum, zero, loop_real(x->a, 0), false);
    struct loop_for f = {"part", zero, end, TERMS, false};
    const struct loop_expr *begin = loop_open_for(b, &f, &by_part);
    loop_store(&by_part, part, zero, loop_real(x->a, 0), false);
    f = (struct loop_for){"k", begin, smaller(x, add(x, begin, num(x, TERMS)), end), 1, false};
    const struct loop_expr *k = loop_open_for(&by_part, &f, &by_term);
    struct scope s = wgmma_scope_at(x, &by_term, row, column, 1);
    s.index[x->form->group_k] = k;
    s.lane_group = -1;
    const struct loop_expr *left = point_value(&s, x->form->lhs, &x->form->lhs_map);
    const struct loop_expr *right = point_value(&s, x->form->rhs, &x->form->rhs_map);
    loop_store(&by_term, part, zero,
               loop_ternary(x->a, LOOP_FMA, left, right, loop_load(x->a, part, zero, 1, 1)), false);
    loop_close(&by_part, &by_term);
    loop_store(&by_part, sum, zero,
               loop_binary(x->a, LOOP_ADD, loop_load(x->a, sum, zero, 1, 1),
                           loop_load(x->a, part, zero, 1, 1)),
               false);
    loop_close(b, &by_part);
    return loop_load(x->a, sum, zero, 1, 1);
}

// One element that was lost in scaling: computed once more, and stored over what is there.
static void recompute_element(struct wgmma_build *x, struct loop_builder *b,
                              const struct loop_expr *row, const struct loop_expr *column) {
    struct loop_builder missing;
    struct axis_map map = identity(x);
    const struct loop_expr *first = loop_binary(x->a, LOOP_MUL, wgmma_factor(x, &x->lhs, 0, row, 1),
                                                wgmma_factor(x, &x->rhs, 0, column, 1));
    open_if_true(x, b, loop_binary(x->a, LOOP_LE, first, loop_real(x->a, 0)), &missing);
    const struct loop_expr *sum = plain_sum(x, &missing, row, column);
    struct scope s = wgmma_scope_at(x, &missing, row, column, 1);
    const char *name = x->l->region->graph->nodes[x->form->anchor].name;
    point_define(&s, x->form->anchor, &x->form->at, loop_let(&missing, name, sum));
    for (int v = 0; v < x->l->region->n_values; v++)
        point_store(&s, v, &map, false);
    loop_close(b, &missing);
}

// Which of a thread's pairs of sums the block has: all of them, or every `split`-th.
static const struct loop_expr *own_pair(struct wgmma_build *x, struct loop_builder *b,
                                        const struct loop_expr *j) {
    if (x->z.split == 1)
        return j;
    return loop_let(b, "pair", add(x, times(x, j, x->z.split), rest(x, x->block, x->z.split)));
}

// Where pair number `pair` of a thread lies, in the order of its registers.
static void find_pair(struct wgmma_build *x, struct loop_builder *b, const struct wgmma_place *p,
                      const struct loop_expr *pair, const struct loop_expr **row,
                      const struct loop_expr **column) {
    int per_part = x->z.rhs.width / 4;
    *row = add(x, times(x, quotient(x, pair, per_part), WGMMA_ROWS), times(x, rest(x, pair, 2), 8));
    *row = loop_let(b, "row", add(x, p->first, add(x, *row, quotient(x, p->lane, 4))));
    *column = times(x, quotient(x, rest(x, pair, per_part), 2), 8);
    *column = add(x, *column, times(x, rest(x, p->lane, 4), 2));
    *column = loop_let(b, "column", add(x, x->rhs.first, *column));
}

// Rare and slow: the thread's own elements, one after the other.
static void recompute(struct wgmma_build *x, struct loop_builder *b, const struct wgmma_place *p) {
    struct loop_builder some, by_pair, inside_row, by_lane, inside;
    const struct loop_expr *least = loop_load(x->a, x->least, num(x, 0), 1, 1);
    open_if_true(x, b, loop_binary(x->a, LOOP_LE, least, loop_real(x->a, 0)), &some);
    struct loop_for f = {"j", num(x, 0), num(x, wgmma_pairs(&x->z) / x->z.split), 1, false};
    const struct loop_expr *row, *column;
    const struct loop_expr *j = loop_open_for(&some, &f, &by_pair);
    find_pair(x, &by_pair, p, own_pair(x, &by_pair, j), &row, &column);
    loop_open_if(&by_pair, row, x->rows_end, &inside_row);
    f = (struct loop_for){"lane", num(x, 0), num(x, 2), 1, false};
    column = add(x, column, loop_open_for(&inside_row, &f, &by_lane));
    column = loop_let(&by_lane, "column", column);
    loop_open_if(&by_lane, column, x->l->space.extent[x->rhs.group], &inside);
    recompute_element(x, &inside, row, column);
    loop_close(&by_lane, &inside);
    loop_close(&inside_row, &by_lane);
    loop_close(&by_pair, &inside_row);
    loop_close(&some, &by_pair);
    loop_close(b, &some);
}

static struct wgmma_place find_place(struct wgmma_build *x, struct loop_builder *b,
                                     const struct loop_expr *consumer) {
    struct wgmma_place p = {.consumer = consumer};
    p.lane = loop_let(b, "lane", rest(x, x->thread, GPU_WARP));
    p.warp = loop_let(b, "warp", rest(x, quotient(x, x->thread, GPU_WARP), 4));
    const struct loop_expr *own = times(x, p.warp, 16);
    if (!x->z.apart)
        own = add(x, times(x, consumer, x->z.own), own);
    p.first = loop_let(b, "own", add(x, x->lhs.first, own));
    return p;
}

// ---- several blocks of a cluster have a tile, each the sums of some slices

// Pair number `pair` of this thread's, of the block that has the tile's share number `rank`.
static const struct loop_expr *share_at(const struct wgmma_build *x, const struct loop_expr *rank,
                                        const struct loop_expr *pair) {
    int threads = x->z.consumers * WGMMA_GROUP;
    const struct loop_expr *block = times(x, quotient(x, x->block, x->z.split), x->z.split);
    const struct loop_expr *at = add(x, times(x, add(x, block, rank), wgmma_pairs(&x->z)), pair);
    const struct loop_expr *own = loop_binary(x->a, LOOP_SUB, x->thread, num(x, WGMMA_GROUP));
    return times(x, add(x, times(x, at, threads), own), 2);
}

void wgmma_store_share(struct wgmma_build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", wgmma_pairs(&x->z), &inner);
    const struct loop_expr *rank = rest(x, x->block, x->z.split);
    loop_store(&inner, x->shares, share_at(x, rank, i),
               loop_load(x->a, x->total ? x->total : x->sum, i, 2, 1), false);
    loop_close(b, &inner);
}

void wgmma_store_shares(struct wgmma_build *x, struct loop_builder *b) {
    struct loop_builder inner, guard;
    const struct loop_expr *consumer =
        loop_binary(x->a, LOOP_SUB, quotient(x, x->thread, WGMMA_GROUP), num(x, 1));
    struct wgmma_place p = find_place(x, b, consumer);
    const struct loop_expr *row, *column, *sum = NULL;
    if (x->least)
        loop_store(b, x->least, num(x, 0), loop_real(x->a, 1), false);
    const struct loop_expr *j = open_unrolled(x, b, "j", wgmma_pairs(&x->z) / x->z.split, &inner);
    const struct loop_expr *pair = own_pair(x, &inner, j);
    find_pair(x, &inner, &p, pair, &row, &column);
    for (int i = 0; i < x->z.split; i++) {
        const struct loop_expr *part =
            loop_load(x->a, x->shares, share_at(x, num(x, i), pair), 2, 1);
        sum = sum ? loop_binary(x->a, LOOP_ADD, sum, part) : part;
    }
    loop_open_if(&inner, row, x->rows_end, &guard);
    store_pair(x, &guard, row, column, sum);
    loop_close(&inner, &guard);
    loop_close(b, &inner);
    if (x->least)
        recompute(x, b, &p);
}

void wgmma_store_tile(struct wgmma_build *x, struct loop_builder *b,
                      const struct loop_expr *consumer) {
    struct wgmma_place p = find_place(x, b, consumer);
    if (x->store) {
        x->store(x, b, &p);
        return;
    }
    if (x->box_map) {
        store_by_boxes(x, b, &p);
        return;
    }
    if (x->least)
        loop_store(b, x->least, num(x, 0), loop_real(x->a, 1), false);
    bool straight = false;
    for (int v = 0; v < x->l->region->n_values; v++) {
        straight |= !x->passage[v];
        if (x->passage[v])
            store_by_passage(x, b, &p, v);
    }
    if (straight)
        store_straight(x, b, &p);
    if (!x->least)
        return;
    // Other threads may have stored what is stored again.
    if (x->z.staged_bytes)
        loop_intrinsic(b, INTRINSIC_WARP_SYNC, NULL);
    recompute(x, b, &p);
}
