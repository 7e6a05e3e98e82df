// Orders (top-k) by repeated selection of the next best.
//
// A line has one thread, or a warp (nest_team.h): then every thread has the best of its own
// elements, the warp finds out whose is next, and that thread alone looks for its next one, so that
// a line is read once and for each place a 32nd of it again.
#include "family/nest_lines.h"
#include "family/nest_team.h"
#include "ir/detail.h"

static const struct loop_expr *is_nan(const struct lines *x, const struct loop_expr *e) {
    return op2(x, LOOP_NE, e, e);
}

// Does p stand strictly before q, by value alone? Largest first, NaN before all; with `reverse`
// smallest first, NaN behind all.
static const struct loop_expr *precedes(const struct lines *x, const struct loop_expr *p,
                                        const struct loop_expr *q) {
    bool rising = x->node->detail->reverse;
    const struct loop_expr *first = op2(x, LOOP_LT, rising ? p : q, rising ? q : p);
    if (x->type != LOOP_F32 && x->type != LOOP_F64)
        return first;
    const struct loop_expr *nan = is_nan(x, rising ? q : p);
    const struct loop_expr *not_nan = op2(x, LOOP_EQ, rising ? p : q, rising ? p : q);
    return op2(x, LOOP_OR, first, op2(x, LOOP_AND, nan, not_nan));
}

static const struct loop_expr *is_none(const struct lines *x, const struct loop_expr *position) {
    return op2(x, LOOP_LT, position, loop_whole(x->l->arena, LOOP_I64, 0));
}

// Registers of an order: the best so far, and the one that was found before it.
struct ranks {
    struct loop_buffer *best, *best_at, *last, *last_at;
};

// The element at the scope's point takes the best's place if it comes after the last one found and
// before the best.
static void rank_element(struct lines *x, struct scope *s, const struct ranks *r,
                         const struct loop_expr *i) {
    struct arena *a = x->l->arena;
    struct loop_builder *b = s->builder;
    const struct loop_expr *e = lines_argument(x, s, 0, 0, x->type);
    const struct loop_expr *at = loop_cast(a, i, LOOP_I64);
    const struct loop_expr *last = get(x, r->last), *last_at = get(x, r->last_at);
    const struct loop_expr *before_last = op2(x, LOOP_OR, precedes(x, e, last),
                                              op2(x, LOOP_AND, op2(x, LOOP_LE, at, last_at),
                                                  loop_unary(a, LOOP_NOT, precedes(x, last, e))));
    const struct loop_expr *is_left = loop_let(
        b, "left", op2(x, LOOP_OR, is_none(x, last_at), loop_unary(a, LOOP_NOT, before_last)));
    const struct loop_expr *better =
        op2(x, LOOP_OR, is_none(x, get(x, r->best_at)), precedes(x, e, get(x, r->best)));
    const struct loop_expr *takes = loop_let(b, "takes", op2(x, LOOP_AND, is_left, better));
    put(x, b, r->best, loop_ternary(a, LOOP_SELECT, takes, e, get(x, r->best)));
    put(x, b, r->best_at, loop_ternary(a, LOOP_SELECT, takes, at, get(x, r->best_at)));
}

// The best of what the thread's own elements have left.
static void rank_line(struct lines *x, struct scope *outer, struct loop_builder *b,
                      const struct ranks *r) {
    struct arena *a = x->l->arena;
    const struct nest_team *team = x->threads->team;
    put(x, b, r->best, loop_number(a, x->type, 0));
    put(x, b, r->best_at, loop_whole(a, LOOP_I64, -1));
    struct loop_builder c;
    struct loop_for all = {"j", team ? team->lane : number(x, 0),
                           number(x, x->l->space.size[x->own].value), team ? team->threads : 1,
                           false};
    const struct loop_expr *j = loop_open_for(b, &all, &c);
    struct scope s = scope_inside(outer, &c);
    lines_fix(x, &s, x->own, j);
    rank_element(x, &s, r, j);
    loop_close(b, &c);
}

static void keep_last(const struct lines *x, struct loop_builder *b, const struct ranks *r) {
    put(x, b, r->last, get(x, r->best));
    put(x, b, r->last_at, get(x, r->best_at));
}

static void order_alone(struct lines *x, struct scope *line, const struct ranks *r) {
    struct loop_builder c;
    struct loop_for places = {"place", number(x, 0), number(x, x->length), 1, false};
    const struct loop_expr *place = loop_open_for(line->builder, &places, &c);
    struct scope s = scope_inside(line, &c);
    lines_fix(x, &s, x->axis, place);
    rank_line(x, &s, &c, r);
    lines_store(x, &s, get(x, r->best_at));
    keep_last(x, &c, r);
    loop_close(line->builder, &c);
}

static void order_by_team(struct lines *x, struct scope *line, const struct ranks *r) {
    struct arena *a = x->l->arena;
    const struct nest_team *team = x->threads->team;
    struct loop_builder c, first, mine, own;
    rank_line(x, line, line->builder, r);
    struct loop_for places = {"place", number(x, 0), number(x, x->length), 1, false};
    const struct loop_expr *place = loop_open_for(line->builder, &places, &c);
    const struct loop_expr *at = nest_team_best(a, &c, true, get(x, r->best), get(x, r->best_at));
    loop_open_if(&c, team->lane, number(x, 1), &first);
    struct scope s = scope_inside(line, &first);
    lines_fix(x, &s, x->axis, place);
    lines_store(x, &s, at);
    loop_close(&c, &first);
    const struct loop_expr *owner = loop_to_index(a, at, 0, x->l->space.size[x->own].value - 1);
    owner = loop_let(&c, "owner", op2(x, LOOP_MOD, owner, number(x, team->threads)));
    loop_open_if(&c, team->lane, op2(x, LOOP_ADD, owner, number(x, 1)), &mine);
    loop_open_if(&mine, op2(x, LOOP_SUB, owner, number(x, 1)), team->lane, &own);
    struct scope t = scope_inside(line, &own);
    keep_last(x, &own, r);
    rank_line(x, &t, &own, r);
    loop_close(&mine, &own);
    loop_close(&c, &mine);
    loop_close(line->builder, &c);
}

void lines_order(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    struct lines *x = ctx;
    struct arena *a = x->l->arena;
    struct scope line = lines_open_item(x, b, item);
    struct ranks r = {reg(x, "best", x->type), reg(x, "best_at", LOOP_I64), reg(x, "last", x->type),
                      reg(x, "last_at", LOOP_I64)};
    put(x, b, r.last, loop_number(a, x->type, 0));
    put(x, b, r.last_at, loop_whole(a, LOOP_I64, -1));
    if (x->threads->team)
        order_by_team(x, &line, &r);
    else
        order_alone(x, &line, &r);
}
