// Where the sums of gemm's `mma` emitter go: the epilogue by pairs of columns, guards at the edges,
// and what products of parts cannot say, computed term by term.
#include "family/gemm_mma_build.h"

// Inside the result? Always, where tiles fill it: ranges do not know it of every order of tiles.
static void open_guard(const struct mma_build *x, const struct mma_tile *t, struct loop_builder *b,
                       const struct loop_expr *at, struct loop_builder *inner) {
    bool fills = t->s->size % t->s->width == 0 && !t->s->is_cut;
    loop_open_if(b, fills ? num(x, 0) : at, fills ? num(x, 1) : t->extent, inner);
}

static void store_pair(const struct mma_build *x, struct loop_builder *b,
                       const struct loop_expr *row, const struct loop_expr *column,
                       const struct loop_expr *sum) {
    const struct region *region = x->l->region;
    int lanes = x->pair;
    struct axis_map map = map_identity(region->graph->nodes[x->anchor].shape.rank);
    struct loop_builder by_lane, guard;
    const struct loop_expr *lane = open_unrolled(x, b, "lane", 2 / lanes, &by_lane);
    const struct loop_expr *at = add(x, column, lane);
    open_guard(x, &x->rhs, &by_lane, at, &guard);
    struct scope s = scope_inside(x->outer, &guard);
    x->operands->place(x, &s, row, at, lanes);
    const struct loop_expr *e = lanes == 1 ? loop_lane(x->a, sum, lane) : sum;
    point_define(&s, x->anchor, &x->at, loop_let(&guard, region->graph->nodes[x->anchor].name, e));
    for (int v = 0; v < region->n_values; v++)
        point_store(&s, v, &map, false);
    loop_close(&by_lane, &guard);
    loop_close(b, &by_lane);
}

// ---- what products of parts cannot say

// The parts of an infinite factor make NaN of what is infinite. A warp that has a sum which is not
// finite computes its part of the tile again, term by term. 1 where it has to.
static const struct loop_expr *find_spoiled(const struct mma_build *x, struct loop_builder *b) {
    struct loop_builder inner;
    struct loop_buffer *check = loop_register(x->l->program, "check", 1, 2);
    const struct loop_expr *zero = num(x, 0), *nothing = loop_real(x->a, 0);
    loop_store(b, check, zero, nothing, false);
    const struct loop_expr *i = open_unrolled(x, b, "i", x->sum->count, &inner);
    const struct loop_expr *product =
        loop_binary(x->a, LOOP_MUL, sum_and_total(x, i), loop_broadcast(x->a, nothing, 2));
    loop_store(&inner, check, zero,
               loop_binary(x->a, LOOP_ADD, loop_load(x->a, check, zero, 2, 1), product), false);
    loop_close(b, &inner);
    const struct loop_expr *all = loop_load(x->a, check, zero, 2, 1);
    const struct loop_expr *own =
        loop_unary(x->a, LOOP_LANES_ANY, loop_binary(x->a, LOOP_NE, all, all));
    const struct loop_expr *warp =
        loop_let(b, "any", loop_unary(x->a, LOOP_WARP_ANY, loop_let(b, "own", own)));
    return loop_let(b, "spoiled", loop_to_index(x->a, loop_cast(x->a, warp, LOOP_I32), 0, 1));
}

// One element, term by term.
static const struct loop_expr *sum_terms(const struct mma_build *x, struct loop_builder *b,
                                         const struct loop_buffer *term,
                                         const struct loop_expr *row,
                                         const struct loop_expr *column) {
    struct loop_builder inner;
    const struct loop_expr *zero = num(x, 0);
    struct loop_for f = {"k", zero, x->extent_k, 1, false};
    loop_store(b, term, zero, loop_real(x->a, 0), false);
    const struct loop_expr *k = loop_open_for(b, &f, &inner);
    const struct loop_expr *factor[2];
    x->operands->term(x, &inner, row, column, k, factor);
    loop_store(
        &inner, term, zero,
        loop_ternary(x->a, LOOP_FMA, factor[0], factor[1], loop_load(x->a, term, zero, 1, 1)),
        false);
    loop_close(b, &inner);
    return loop_load(x->a, term, zero, 1, 1);
}

static void store_one(const struct mma_build *x, struct loop_builder *b,
                      const struct loop_expr *row, const struct loop_expr *column,
                      const struct loop_expr *sum) {
    const struct region *region = x->l->region;
    struct axis_map map = map_identity(region->graph->nodes[x->anchor].shape.rank);
    struct scope s = scope_inside(x->outer, b);
    x->operands->place(x, &s, row, column, 1);
    point_define(&s, x->anchor, &x->at, loop_let(b, region->graph->nodes[x->anchor].name, sum));
    for (int v = 0; v < region->n_values; v++)
        point_store(&s, v, &map, false);
}

static void store_again(const struct mma_build *x, struct loop_builder *b) {
    struct loop_builder by_row, guard, by_column, inside;
    struct loop_buffer *term = loop_register(x->l->program, "term", 1, 1);
    struct loop_for rows = {"i", num(x, 0), num(x, x->z.lhs.own / 8), 1, false};
    const struct loop_expr *row = times(x, loop_open_for(b, &rows, &by_row), 8);
    row = add(x, x->lhs.warp, add(x, row, quotient(x, x->lane, 4)));
    row = loop_let(&by_row, "row", add(x, x->lhs.first, row));
    open_guard(x, &x->lhs, &by_row, row, &guard);
    struct loop_for columns = {"j", num(x, 0), num(x, x->z.rhs.own / 4), 1, false};
    const struct loop_expr *column = times(x, loop_open_for(&guard, &columns, &by_column), 4);
    column = add(x, x->rhs.warp, add(x, column, rest(x, x->lane, 4)));
    column = loop_let(&by_column, "column", add(x, x->rhs.first, column));
    open_guard(x, &x->rhs, &by_column, column, &inside);
    store_one(x, &inside, row, column, sum_terms(x, &inside, term, row, column));
    loop_close(&by_column, &inside);
    loop_close(&guard, &by_column);
    loop_close(&by_row, &guard);
    loop_close(b, &by_row);
}

static void store_tile(const struct mma_build *x, struct loop_builder *b) {
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

void mma_store_results(const struct mma_build *x, struct loop_builder *b) {
    struct loop_builder inner;
    if (x->z.kind != MMA_KIND_TF32X3) {
        store_tile(x, b);
        return;
    }
    const struct loop_expr *spoiled = find_spoiled(x, b);
    loop_open_if(b, spoiled, num(x, 1), &inner);
    store_tile(x, &inner);
    loop_close(b, &inner);
    loop_open_if(b, num(x, 0), spoiled, &inner);
    store_again(x, &inner);
    loop_close(b, &inner);
}
