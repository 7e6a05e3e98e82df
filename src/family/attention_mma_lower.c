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
#include <math.h>

#include "base/arena.h"
#include "family/attention_mma.h"
#include "family/gpu.h"

enum { FRAGMENTS = 4 };  // at hand at once

// 16-bit rows of an operand in shared memory.
struct tile {
    const struct attention_side *side;
    struct loop_buffer *buffer;
    int group_row, group_column;        // of the space
    int64_t rows, size, width, length;  // in all, elements of a row, and with what fills it up
};

struct build {
    struct lowering *l;
    struct arena *a;
    const struct attention_form *f;
    struct attention_sizes z;
    struct scope *outer;                                  // batch fixed
    const struct loop_expr *thread, *lane, *first, *own;  // first query of the block, of the warp
    struct tile q, k, v;
    struct loop_buffer *queries, *fragment, *probs[3], *single;
    // Pairs of two columns: scores, results, largest so far, its successor, what scales, sums.
    struct loop_buffer *score, *sum, *top, *next, *scale, *total;
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

static const struct loop_expr *open_unrolled(const struct build *x, struct loop_builder *b,
                                             const char *name, int64_t count,
                                             struct loop_builder *inner) {
    struct loop_for f = {name, num(x, 0), num(x, count), 1, true};
    return loop_open_for(b, &f, inner);
}

static const struct loop_expr *get(const struct build *x, const struct loop_buffer *b,
                                   const struct loop_expr *i) {
    return loop_load(x->a, b, i, 2, 1);
}

static const struct loop_expr *op(const struct build *x, enum loop_op op, const struct loop_expr *p,
                                  const struct loop_expr *q) {
    return loop_binary(x->a, op, p, q);
}

// ---- tiles on their way to shared memory

// Element `column` (a multiple of 8) of row `row` of a tile.
static const struct loop_expr *place(const struct build *x, const struct tile *t,
                                     const struct loop_expr *row, const struct loop_expr *piece) {
    int64_t bytes = t->length * 2;
    const struct loop_expr *at = loop_swizzle(x->a, row, piece, bytes > 128 ? 128 : (int)bytes);
    return add(x, times(x, row, t->length), times(x, at, 8));
}

// Rows from `first` on, `n` of them, to row `to` of the tile.
static void copy_rows(const struct build *x, const struct tile *t, struct loop_builder *b,
                      const struct loop_expr *first, const struct loop_expr *to, int n) {
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

static void copy_keys(const struct build *x, struct loop_builder *b, const struct loop_expr *tile) {
    const struct loop_expr *first = times(x, tile, x->z.keys);
    const struct loop_expr *slot = times(x, rest(x, tile, 2), x->z.keys);
    copy_rows(x, &x->k, b, first, slot, x->z.keys);
    copy_rows(x, &x->v, b, first, slot, x->z.keys);
}

static void arrive(const struct build *x, struct loop_builder *b) {
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
static void multiply(const struct build *x, struct loop_builder *b, const struct loop_buffer *to,
                     const struct loop_expr *first, int n, const struct loop_buffer *left,
                     const struct loop_expr *at) {
    bool is_f16 = x->f->storage == DTYPE_F16;
    struct loop_builder inner;
    const struct loop_expr *h = open_unrolled(x, b, "h", (int64_t)2 * n, &inner);
    loop_intrinsic(&inner, is_f16 ? INTRINSIC_MMA_F16 : INTRINSIC_MMA_BF16,
                   (struct loop_operand[]){{to, add(x, times(x, first, 4), times(x, h, 2))},
                                           {left, at},
                                           {x->fragment, times(x, h, 2)}});
    loop_close(b, &inner);
}

static void clear(const struct build *x, struct loop_builder *b, const struct loop_buffer *to,
                  double value) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", to->count, &inner);
    loop_store(&inner, to, i, loop_broadcast(x->a, loop_real(x->a, value), 2), false);
    loop_close(b, &inner);
}

static void read_queries(const struct build *x, struct loop_builder *b) {
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
static void find_scores(const struct build *x, struct loop_builder *b,
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
static void add_values(const struct build *x, struct loop_builder *b,
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

// ---- scores by element

// A scope at row `half` of the thread's two and column `column` of the keys; what lies beyond the
// last is read as the last, and not used.
static struct scope scope_at(const struct build *x, struct loop_builder *b,
                             const struct loop_expr *half, const struct loop_expr *column,
                             int lanes) {
    const struct space *space = &x->l->space;
    const struct loop_expr *row =
        add(x, x->own, add(x, times(x, half, 8), quotient(x, x->lane, 4)));
    row = add(x, x->first, row);
    if (x->f->m % x->z.rows != 0)
        row = op(x, LOOP_MIN, row, num(x, x->f->m - 1));
    if (x->f->n % x->z.keys != 0)
        column = op(x, LOOP_MIN, column, num(x, x->f->n - lanes));
    struct scope s = scope_inside(x->outer, b);
    s.index[space->group[x->f->axis_m]] = row;
    s.index[space->group[x->f->axis_n]] = column;
    s.lane_group = lanes > 1 ? space->group[x->f->axis_n] : -1;
    s.lanes = lanes;
    return s;
}

static const struct loop_expr *score_value(const struct build *x, struct scope *s,
                                           const struct loop_expr *column,
                                           const struct loop_expr *score, int lanes) {
    const struct node *product = &x->l->region->graph->nodes[x->f->scores];
    point_define(s, x->f->scores, &x->f->at, loop_let(s->builder, product->name, score));
    const struct loop_expr *v = point_value(s, x->f->x, &x->f->at);
    if (v->lanes < lanes)
        v = loop_broadcast(x->a, v, lanes);
    if (x->f->n % x->z.keys == 0)
        return v;
    const struct loop_expr *inside = op(x, LOOP_LT, column, num(x, x->f->n));
    const struct loop_expr *nothing = loop_real(x->a, -INFINITY);
    if (lanes > 1) {
        inside = loop_broadcast(x->a, inside, lanes);
        nothing = loop_broadcast(x->a, nothing, lanes);
    }
    return loop_ternary(x->a, LOOP_SELECT, inside, v, nothing);
}

static void finish_scores(const struct build *x, struct loop_builder *b,
                          const struct loop_expr *tile) {
    struct loop_builder by_column, by_half, by_lane;
    int64_t lanes = space_lanes(&x->l->space, x->l->space.group[x->f->axis_n]) % 2 == 0 ? 2 : 1;
    if (x->f->x == x->f->scores && x->f->n % x->z.keys == 0)
        return;
    const struct loop_expr *j = open_unrolled(x, b, "j", x->z.keys / 8, &by_column);
    const struct loop_expr *half = open_unrolled(x, &by_column, "half", 2, &by_half);
    const struct loop_expr *at = add(x, times(x, j, 2), half);
    const struct loop_expr *column = add(x, times(x, j, 8), times(x, rest(x, x->lane, 4), 2));
    column = add(x, times(x, tile, x->z.keys), column);
    const struct loop_expr *lane = open_unrolled(x, &by_half, "l", 2 / lanes, &by_lane);
    const struct loop_expr *own = loop_let(&by_lane, "column", add(x, column, lane));
    const struct loop_expr *score = get(x, x->score, at);
    struct scope s = scope_at(x, &by_lane, half, own, (int)lanes);
    if (lanes == 1)
        score = loop_lane(x->a, score, lane);
    const struct loop_expr *v = score_value(x, &s, own, score, (int)lanes);
    loop_store(&by_lane, lanes == 1 ? x->single : x->score, lanes == 1 ? lane : at, v, false);
    loop_close(&by_half, &by_lane);
    if (lanes == 1)
        loop_intrinsic(&by_half, INTRINSIC_PAIR,
                       (struct loop_operand[]){{x->score, at}, {x->single, num(x, 0)}});
    loop_close(&by_column, &by_half);
    loop_close(b, &by_column);
}

// ---- the softmax

// Exponentials are 2^12 times as large as they need be where they are split, so that their small
// parts are no denormal numbers of f16.
static double lift(const struct build *x) {
    return x->f->storage == DTYPE_F16 && x->z.parts > 1 ? 12 : 0;
}

// e to the power of `v`, times 2 to the power of `lifted`, to element `at` of `to`.
static void exponential(const struct build *x, struct loop_builder *b, const struct loop_buffer *to,
                        const struct loop_expr *at, const struct loop_expr *v, double lifted) {
    const struct loop_expr *per = loop_broadcast(x->a, loop_real(x->a, M_LOG2E), 2);
    const struct loop_expr *more = loop_broadcast(x->a, loop_real(x->a, lifted), 2);
    v = lifted > 0 ? loop_ternary(x->a, LOOP_FMA, v, per, more) : op(x, LOOP_MUL, v, per);
    loop_store(b, to, at, v, false);
    loop_intrinsic(b, INTRINSIC_POWER, (struct loop_operand[]){{to, at}});
}

// The largest of each row so far, and what everything before is scaled by.
static void find_largest(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner, by_column;
    const struct loop_expr *half = open_unrolled(x, b, "half", 2, &inner);
    loop_store(&inner, x->next, half, get(x, x->top, half), false);
    const struct loop_expr *j = open_unrolled(x, &inner, "j", x->z.keys / 8, &by_column);
    loop_store(
        &by_column, x->next, half,
        op(x, LOOP_MAX, get(x, x->next, half), get(x, x->score, add(x, times(x, j, 2), half))),
        false);
    loop_close(&inner, &by_column);
    loop_intrinsic(&inner, INTRINSIC_QUAD_MAX, (struct loop_operand[]){{x->next, half}});
    const struct loop_expr *less = op(x, LOOP_SUB, get(x, x->top, half), get(x, x->next, half));
    exponential(x, &inner, x->scale, half, less, 0);
    loop_store(&inner, x->top, half, get(x, x->next, half), false);
    loop_store(&inner, x->total, half,
               op(x, LOOP_MUL, get(x, x->total, half), get(x, x->scale, half)), false);
    loop_close(b, &inner);
}

static void scale_results(const struct build *x, struct loop_builder *b) {
    struct loop_builder by_column, inner;
    const struct loop_expr *j = open_unrolled(x, b, "j", x->f->width / 8, &by_column);
    const struct loop_expr *half = open_unrolled(x, &by_column, "half", 2, &inner);
    const struct loop_expr *at = add(x, times(x, j, 2), half);
    loop_store(&inner, x->sum, at, op(x, LOOP_MUL, get(x, x->sum, at), get(x, x->scale, half)),
               false);
    loop_close(&by_column, &inner);
    loop_close(b, &by_column);
}

// exp(score - largest) in place of scores, added up and packed.
static void find_probs(const struct build *x, struct loop_builder *b) {
    struct loop_builder by_column, inner;
    const struct loop_expr *j = open_unrolled(x, b, "j", x->z.keys / 8, &by_column);
    const struct loop_expr *half = open_unrolled(x, &by_column, "half", 2, &inner);
    const struct loop_expr *at = add(x, times(x, j, 2), half);
    const struct loop_expr *e = op(x, LOOP_SUB, get(x, x->score, at), get(x, x->top, half));
    exponential(x, &inner, x->score, at, e, lift(x));
    loop_store(&inner, x->total, half,
               op(x, LOOP_ADD, get(x, x->total, half), get(x, x->score, at)), false);
    for (int p = 0; p < x->z.parts; p++)
        loop_intrinsic(&inner,
                       x->f->storage == DTYPE_F16 ? INTRINSIC_PACK_F16 : INTRINSIC_PACK_BF16,
                       (struct loop_operand[]){{x->probs[p], at}, {x->score, at}});
    loop_close(&by_column, &inner);
    loop_close(b, &by_column);
}

// ---- results

static void store_results(const struct build *x, struct loop_builder *b) {
    struct loop_builder by_half, guard, by_column;
    const struct space *space = &x->l->space;
    const struct region *region = x->l->region;
    int width = space->group[x->f->axis_width];
    int lanes = space_lanes(space, width) % 2 == 0 ? 2 : 1;
    const struct loop_expr *half = open_unrolled(x, b, "half", 2, &by_half);
    loop_intrinsic(&by_half, INTRINSIC_QUAD_SUM, (struct loop_operand[]){{x->total, half}});
    const struct loop_expr *row =
        add(x, x->own, add(x, times(x, half, 8), quotient(x, x->lane, 4)));
    row = loop_let(&by_half, "row", add(x, x->first, row));
    bool fills = x->f->m % x->z.rows == 0;
    loop_open_if(&by_half, fills ? num(x, 0) : row, fills ? num(x, 1) : num(x, x->f->m), &guard);
    const struct loop_expr *j = open_unrolled(x, &guard, "j", x->f->width / 8, &by_column);
    const struct loop_expr *column = add(x, times(x, j, 8), times(x, rest(x, x->lane, 4), 2));
    const struct loop_expr *v =
        op(x, LOOP_DIV, get(x, x->sum, add(x, times(x, j, 2), half)), get(x, x->total, half));
    v = loop_let(&by_column, "quotient", v);
    struct loop_builder by_lane;
    const struct loop_expr *lane = open_unrolled(x, &by_column, "l", 2 / lanes, &by_lane);
    struct scope s = scope_inside(x->outer, &by_lane);
    s.index[space->group[x->f->axis_m]] = row;
    s.index[width] = add(x, column, lane);
    s.lane_group = lanes > 1 ? width : -1;
    s.lanes = lanes;
    const char *name = region->graph->nodes[x->f->result].name;
    point_define(&s, x->f->result, &x->f->out,
                 loop_let(&by_lane, name, lanes > 1 ? v : loop_lane(x->a, v, lane)));
    for (int i = 0; i < region->n_values; i++)
        point_store(&s, i, &x->f->out, false);
    loop_close(&by_column, &by_lane);
    loop_close(&guard, &by_column);
    loop_close(&by_half, &guard);
    loop_close(b, &by_half);
}

// ---- the kernel

static struct tile make_tile(const struct build *x, const struct attention_side *side,
                             const char *name, int64_t rows, int64_t width) {
    struct tile t = {.side = side, .rows = rows, .width = width};
    t.length = width <= 16 ? 16 : width <= 32 ? 32 : (width + 63) / 64 * 64;
    struct loop_size shape[] = {{rows, NULL}, {t.length, NULL}};
    t.buffer = loop_shared_of(x->l->program, name, x->f->storage, shape, 2);
    return t;
}

static void make_tiles(struct build *x) {
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

static void make_registers(struct build *x) {
    static const char *const names[] = {"probs", "probs_low", "probs_least"};
    struct loop_program *p = x->l->program;
    x->queries = loop_register_of(p, "queries", x->f->depth / 4, 1, LOOP_I32);
    x->fragment = loop_register_of(p, "fragment", (int64_t)4 * FRAGMENTS, 1, LOOP_I32);
    for (int i = 0; i < x->z.parts; i++)
        x->probs[i] = loop_register_of(p, names[i], x->z.keys / 4, 1, LOOP_I32);
    x->single = loop_register(p, "single", 2, 1);
    x->score = loop_register(p, "score", x->z.keys / 4, 2);
    x->sum = loop_register(p, "sum", x->f->width / 4, 2);
    x->top = loop_register(p, "top", 2, 2);
    x->next = loop_register(p, "next", 2, 2);
    x->scale = loop_register(p, "scale", 2, 2);
    x->total = loop_register(p, "total", 2, 2);
}

// How many tiles of keys this block walks over.
static const struct loop_expr *count_tiles(const struct build *x, struct loop_builder *b) {
    int64_t all = (x->f->n + x->z.keys - 1) / x->z.keys;
    if (!x->f->is_causal)
        return num(x, all);
    const struct loop_expr *behind = add(x, x->first, num(x, x->z.rows - 1));
    const struct loop_expr *n = add(x, quotient(x, behind, x->z.keys), num(x, 1));
    return loop_let(b, "tiles", op(x, LOOP_MIN, n, num(x, all)));
}

static void walk(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner, some;
    const struct loop_expr *end = count_tiles(x, b), *zero = num(x, 0);
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
    finish_scores(x, &inner, tile);
    find_largest(x, &inner);
    find_probs(x, &inner);
    scale_results(x, &inner);
    add_values(x, &inner, slot);
    arrive(x, &inner);
    loop_close(b, &inner);
    store_results(x, b);
}

void attention_lower(struct lowering *l, const struct form *f, const struct kernel_stage *stage) {
    struct build x = {.l = l, .a = l->arena, .f = f->attention};
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
