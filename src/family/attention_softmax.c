// The softmax of attention, online, on scores that threads have in registers; attention_build.h
// says which thread has which.
//
// Where scores are only scaled by a number, and masked as causal_attention does it, that number
// goes into the one multiplication that turns powers of e into powers of 2, and only tiles that the
// mask cuts are looked at.
#include <math.h>

#include "family/attention_build.h"

void attention_make_registers(struct attention_build *x, int64_t width) {
    static const char *const names[] = {"probs", "probs_low", "probs_least"};
    struct loop_program *p = x->l->program;
    for (int i = 0; i < x->z.parts; i++)
        x->probs[i] = loop_register_of(p, names[i], x->z.keys / 4, 1, LOOP_I32);
    x->single = loop_register(p, "single", 2, 1);
    x->score = loop_register(p, "score", x->z.keys / 4, 2);
    x->sum = loop_register(p, "sum", width / 4, 2);
    x->top = loop_register(p, "top", 2, 2);
    x->next = loop_register(p, "next", 2, 2);
    x->scale = loop_register(p, "scale", 2, 2);
    x->total = loop_register(p, "total", 2, 2);
}

const struct loop_expr *attention_count_tiles(const struct attention_build *x,
                                              struct loop_builder *b) {
    int64_t all = (x->f->n + x->z.keys - 1) / x->z.keys;
    if (!x->f->is_causal)
        return num(x, all);
    const struct loop_expr *behind = add(x, x->first, num(x, x->z.rows - 1));
    const struct loop_expr *n = add(x, quotient(x, behind, x->z.keys), num(x, 1));
    return loop_let(b, "tiles", op(x, LOOP_MIN, n, num(x, all)));
}

// ---- scores by element

// A scope at row `half` of the thread's two and column `column` of the keys; what lies beyond the
// last is read as the last, and not used.
static struct scope scope_at(const struct attention_build *x, struct loop_builder *b,
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

static const struct loop_expr *score_value(const struct attention_build *x, struct scope *s,
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

static void compute_scores(const struct attention_build *x, struct loop_builder *b,
                           const struct loop_expr *tile) {
    struct loop_builder by_column, by_half, by_lane;
    int64_t lanes = space_lanes(&x->l->space, x->l->space.group[x->f->axis_n]) % 2 == 0 ? 2 : 1;
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

// Keys beyond the last that a row may look at, in tiles that have such keys.
static void mask_scores(const struct attention_build *x, struct loop_builder *b,
                        const struct loop_expr *tile, bool is_first) {
    struct loop_builder cut, by_column, by_half, by_lane;
    const struct loop_expr *end = num(x, x->f->n - 1);
    // The first tile is full, unless it is the only one.
    bool ends = x->f->n % x->z.keys != 0 && !(is_first && x->f->n >= x->z.keys);
    if (!x->f->is_causal && !ends)
        return;
    const struct loop_expr *last =
        loop_let(b, "last", add(x, times(x, tile, x->z.keys), num(x, x->z.keys - 1)));
    const struct loop_expr *row = add(x, x->first, x->own);
    loop_open_if(b, !x->f->is_causal ? end : ends ? op(x, LOOP_MIN, row, end) : row, last, &cut);
    const struct loop_expr *j = open_unrolled(x, &cut, "j", x->z.keys / 8, &by_column);
    const struct loop_expr *half = open_unrolled(x, &by_column, "half", 2, &by_half);
    const struct loop_expr *at = add(x, times(x, j, 2), half);
    const struct loop_expr *lane = open_unrolled(x, &by_half, "l", 2, &by_lane);
    const struct loop_expr *column = add(x, times(x, j, 8), times(x, rest(x, x->lane, 4), 2));
    column = add(x, add(x, times(x, tile, x->z.keys), column), lane);
    row = add(x, row, add(x, times(x, half, 8), quotient(x, x->lane, 4)));
    // How far behind the last that it may look at.
    const struct loop_expr *behind = op(x, LOOP_SUB, column,
                                        !x->f->is_causal ? end
                                        : ends           ? op(x, LOOP_MIN, row, end)
                                                         : row);
    const struct loop_expr *inside = op(x, LOOP_LE, behind, num(x, 0));
    loop_store(&by_lane, x->single, lane,
               loop_ternary(x->a, LOOP_SELECT, inside, loop_lane(x->a, get(x, x->score, at), lane),
                            loop_real(x->a, -INFINITY)),
               false);
    loop_close(&by_half, &by_lane);
    loop_intrinsic(&by_half, INTRINSIC_PAIR,
                   (struct loop_operand[]){{x->score, at}, {x->single, num(x, 0)}});
    loop_close(&by_column, &by_half);
    loop_close(&cut, &by_column);
    loop_close(b, &cut);
}

void attention_finish_scores(const struct attention_build *x, struct loop_builder *b,
                             const struct loop_expr *tile, bool is_first) {
    if (x->f->factor > 0)
        mask_scores(x, b, tile, is_first);
    else
        compute_scores(x, b, tile);
}

// ---- the softmax

// Exponentials are 2^12 times as large as they need be where they are split, so that their small
// parts are no denormal numbers of f16.
static double lift(const struct attention_build *x) {
    return x->f->storage == DTYPE_F16 && x->z.parts > 1 ? 12 : 0;
}

// What a score is multiplied by to be a power of 2.
static const struct loop_expr *per_score(const struct attention_build *x, double sign) {
    double factor = x->f->factor > 0 ? x->f->factor : 1;
    return loop_broadcast(x->a, loop_real(x->a, sign * factor * M_LOG2E), 2);
}

static void power(struct loop_builder *b, const struct loop_buffer *of,
                  const struct loop_expr *at) {
    loop_intrinsic(b, INTRINSIC_POWER, (struct loop_operand[]){{of, at}});
}

void attention_find_largest(const struct attention_build *x, struct loop_builder *b) {
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
    loop_store(&inner, x->scale, half, op(x, LOOP_MUL, less, per_score(x, 1)), false);
    power(&inner, x->scale, half);
    loop_store(&inner, x->top, half, get(x, x->next, half), false);
    loop_store(&inner, x->total, half,
               op(x, LOOP_MUL, get(x, x->total, half), get(x, x->scale, half)), false);
    // What is subtracted from every score, once it is multiplied.
    if (x->f->factor > 0) {
        const struct loop_expr *more = loop_broadcast(x->a, loop_real(x->a, lift(x)), 2);
        loop_store(&inner, x->next, half,
                   loop_ternary(x->a, LOOP_FMA, get(x, x->top, half), per_score(x, -1), more),
                   false);
    }
    loop_close(b, &inner);
}

void attention_scale_results(const struct attention_build *x, struct loop_builder *b) {
    struct loop_builder by_column, inner;
    const struct loop_expr *j = open_unrolled(x, b, "j", x->sum->count / 2, &by_column);
    const struct loop_expr *half = open_unrolled(x, &by_column, "half", 2, &inner);
    const struct loop_expr *at = add(x, times(x, j, 2), half);
    loop_store(&inner, x->sum, at, op(x, LOOP_MUL, get(x, x->sum, at), get(x, x->scale, half)),
               false);
    loop_close(&by_column, &inner);
    loop_close(b, &by_column);
}

void attention_find_powers(const struct attention_build *x, struct loop_builder *b) {
    struct loop_builder by_column, inner;
    const struct loop_expr *j = open_unrolled(x, b, "j", x->z.keys / 8, &by_column);
    const struct loop_expr *half = open_unrolled(x, &by_column, "half", 2, &inner);
    const struct loop_expr *at = add(x, times(x, j, 2), half), *score = get(x, x->score, at);
    const struct loop_expr *more = loop_broadcast(x->a, loop_real(x->a, lift(x)), 2), *e;
    if (x->f->factor > 0) {
        e = loop_ternary(x->a, LOOP_FMA, score, per_score(x, 1), get(x, x->next, half));
    } else {
        e = op(x, LOOP_SUB, score, get(x, x->top, half));
        e = lift(x) > 0 ? loop_ternary(x->a, LOOP_FMA, e, per_score(x, 1), more)
                        : op(x, LOOP_MUL, e, per_score(x, 1));
    }
    loop_store(&inner, x->score, at, e, false);
    power(&inner, x->score, at);
    loop_store(&inner, x->total, half,
               op(x, LOOP_ADD, get(x, x->total, half), get(x, x->score, at)), false);
    loop_close(&by_column, &inner);
    loop_close(b, &by_column);
}

void attention_pack(const struct attention_build *x, struct loop_builder *b) {
    bool is_f16 = x->f->storage == DTYPE_F16;
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", x->z.keys / 4, &inner);
    for (int p = 0; p < x->z.parts; p++)
        loop_intrinsic(&inner, is_f16 ? INTRINSIC_PACK_F16 : INTRINSIC_PACK_BF16,
                       (struct loop_operand[]){{x->probs[p], i}, {x->score, i}});
    loop_close(b, &inner);
}

// ---- results

void attention_store_results(const struct attention_build *x, struct loop_builder *b) {
    struct loop_builder by_half, guard, by_column;
    const struct space *space = &x->l->space;
    const struct region *region = x->l->region;
    int width = space->group[x->f->axis_width];
    int lanes = space_lanes(space, width) % 2 == 0 ? 2 : 1;
    const struct loop_expr *half = open_unrolled(x, b, "half", 2, &by_half);
    loop_intrinsic(&by_half, INTRINSIC_QUAD_SUM, (struct loop_operand[]){{x->total, half}});
    const struct loop_expr *one = loop_broadcast(x->a, loop_real(x->a, 1), 2);
    loop_store(&by_half, x->scale, half, op(x, LOOP_DIV, one, get(x, x->total, half)), false);
    const struct loop_expr *row =
        add(x, x->own, add(x, times(x, half, 8), quotient(x, x->lane, 4)));
    row = loop_let(&by_half, "row", add(x, x->first, row));
    bool fills = x->f->m % x->z.rows == 0;
    loop_open_if(&by_half, fills ? num(x, 0) : row, fills ? num(x, 1) : num(x, x->f->m), &guard);
    const struct loop_expr *j = open_unrolled(x, &guard, "j", x->f->width / 8, &by_column);
    const struct loop_expr *column = add(x, times(x, j, 8), times(x, rest(x, x->lane, 4), 2));
    const struct loop_expr *v =
        op(x, LOOP_MUL, get(x, x->sum, add(x, times(x, j, 2), half)), get(x, x->scale, half));
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
