// Orders (top-k) by repeated selection of the next best.
//
// A line has one thread, or a warp (nest_team.h): then every thread has the best two of its own
// elements, every 32nd, and the warp finds out whose is next. Few of a warp's threads have more
// than two of the best, so most lines are read once. Where a thread has given both, the warp looks
// through its share together for the next one.
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

static int64_t line_length(const struct lines *x) {
    return x->l->space.size[x->own].value;
}

// Positions are counted in 32 bits where that is enough.
static enum loop_dtype position_type(const struct lines *x) {
    return line_length(x) < INT32_MAX ? LOOP_I32 : LOOP_I64;
}

static const struct loop_expr *whole(const struct lines *x, int64_t v) {
    return loop_whole(x->l->arena, position_type(x), v);
}

static const struct loop_expr *is_none(const struct lines *x, const struct loop_expr *position) {
    return op2(x, LOOP_LT, position, whole(x, 0));
}

// Registers of an order: the best so far, and the one that was found before it.
struct ranks {
    struct loop_buffer *best, *best_at, *last, *last_at;
};

// `e` at position `at` takes the best's place if it comes before it.
static void take_better(struct lines *x, struct loop_builder *b, const struct ranks *r,
                        const struct loop_expr *e, const struct loop_expr *at,
                        const struct loop_expr *is_left) {
    struct arena *a = x->l->arena;
    const struct loop_expr *better =
        op2(x, LOOP_OR, is_none(x, get(x, r->best_at)), precedes(x, e, get(x, r->best)));
    better = is_left ? op2(x, LOOP_AND, is_left, better) : better;
    const struct loop_expr *takes = loop_let(b, "takes", better);
    put(x, b, r->best, loop_ternary(a, LOOP_SELECT, takes, e, get(x, r->best)));
    put(x, b, r->best_at, loop_ternary(a, LOOP_SELECT, takes, at, get(x, r->best_at)));
}

// The same if it also comes after the last one found.
static void rank_element(struct lines *x, struct loop_builder *b, const struct ranks *r,
                         const struct loop_expr *e, const struct loop_expr *i) {
    struct arena *a = x->l->arena;
    const struct loop_expr *at = loop_cast(a, i, position_type(x));
    const struct loop_expr *last = get(x, r->last), *last_at = get(x, r->last_at);
    const struct loop_expr *before_last = op2(x, LOOP_OR, precedes(x, e, last),
                                              op2(x, LOOP_AND, op2(x, LOOP_LE, at, last_at),
                                                  loop_unary(a, LOOP_NOT, precedes(x, last, e))));
    const struct loop_expr *is_left = loop_let(
        b, "left", op2(x, LOOP_OR, is_none(x, last_at), loop_unary(a, LOOP_NOT, before_last)));
    take_better(x, b, r, e, at, is_left);
}

static void clear_best(struct lines *x, struct loop_builder *b, const struct ranks *r) {
    put(x, b, r->best, loop_number(x->l->arena, x->type, 0));
    put(x, b, r->best_at, whole(x, -1));
}

// The best of what the line has left.
static void rank_line(struct lines *x, struct scope *outer, struct loop_builder *b,
                      const struct ranks *r) {
    clear_best(x, b, r);
    struct loop_builder c;
    struct loop_for all = {"j", number(x, 0), number(x, line_length(x)), 1, false};
    const struct loop_expr *j = loop_open_for(b, &all, &c);
    struct scope s = scope_inside(outer, &c);
    lines_fix(x, &s, x->own, j);
    rank_element(x, &c, r, lines_argument(x, &s, 0, 0, x->type), j);
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

// ---- a line of a warp

enum { READS = 8 };  // of a thread under way together

// The best two of what a thread has seen: `r` the first, `second` the other.
static void take_two(struct lines *x, struct loop_builder *b, const struct ranks *r,
                     const struct ranks *second, const struct loop_expr *e,
                     const struct loop_expr *j) {
    struct arena *a = x->l->arena;
    const struct loop_expr *at = loop_cast(a, j, position_type(x));
    const struct loop_expr *first =
        loop_let(b, "first",
                 op2(x, LOOP_OR, is_none(x, get(x, r->best_at)), precedes(x, e, get(x, r->best))));
    const struct loop_expr *other = loop_let(
        b, "other",
        op2(x, LOOP_OR, is_none(x, get(x, second->best_at)), precedes(x, e, get(x, second->best))));
    struct loop_buffer *const to[] = {second->best, second->best_at};
    struct loop_buffer *const from[] = {r->best, r->best_at};
    const struct loop_expr *const now[] = {e, at};
    for (int i = 0; i < 2; i++) {
        const struct loop_expr *kept = loop_ternary(a, LOOP_SELECT, other, now[i], get(x, to[i]));
        put(x, b, to[i], loop_ternary(a, LOOP_SELECT, first, get(x, from[i]), kept));
        put(x, b, from[i], loop_ternary(a, LOOP_SELECT, first, now[i], get(x, from[i])));
    }
}

// The line's element j.
static const struct loop_expr *line_element(struct lines *x, struct scope *s,
                                            const struct loop_expr *j) {
    lines_fix(x, s, x->own, j);
    return lines_argument(x, s, 0, 0, x->type);
}

// Every thread reads its elements, several at a time, and has the best two of them.
static void read_line(struct lines *x, struct scope *line, const struct ranks *r,
                      const struct ranks *second) {
    struct arena *a = x->l->arena;
    const struct nest_team *team = x->threads->team;
    int64_t n = line_length(x), turn = (int64_t)team->threads * READS, whole = n / turn * turn;
    struct loop_buffer *own = loop_register_of(x->l->program, "read", READS, 1, x->type);
    struct loop_builder c, step;
    clear_best(x, line->builder, r);
    clear_best(x, line->builder, second);
    struct loop_for turns = {"at", number(x, 0), number(x, whole), turn, false};
    const struct loop_expr *at = loop_open_for(line->builder, &turns, &c);
    for (int ranks_them = 0; ranks_them < 2; ranks_them++) {
        struct loop_for reads = {"u", number(x, 0), number(x, READS), 1, true};
        const struct loop_expr *u = loop_open_for(&c, &reads, &step);
        const struct loop_expr *j = op2(x, LOOP_MUL, u, number(x, team->threads));
        j = loop_let(&step, "j", op2(x, LOOP_ADD, op2(x, LOOP_ADD, at, j), team->lane));
        struct scope s = scope_inside(line, &step);
        if (ranks_them)
            take_two(x, &step, r, second, loop_load(a, own, u, 1, 1), j);
        else
            loop_store(&step, own, u, line_element(x, &s, j), false);
        loop_close(&c, &step);
    }
    loop_close(line->builder, &c);
    struct loop_for rest = {"j", op2(x, LOOP_ADD, number(x, whole), team->lane), number(x, n),
                            team->threads, false};
    const struct loop_expr *j = loop_open_for(line->builder, &rest, &c);
    struct scope s = scope_inside(line, &c);
    take_two(x, &c, r, second, line_element(x, &s, j), j);
    loop_close(line->builder, &c);
}

// The owner's next best behind the last one found, of which each thread looks at a share; `next` is
// where each has its own.
static const struct loop_expr *look_again(struct lines *x, struct scope *s,
                                          const struct ranks *next, const struct loop_expr *owner) {
    const struct nest_team *team = x->threads->team;
    struct loop_builder c, inside;
    clear_best(x, s->builder, next);
    int64_t n = line_length(x), each = (n + team->threads - 1) / team->threads;
    struct loop_for share = {"t", team->lane, number(x, each), team->threads, false};
    const struct loop_expr *t = loop_open_for(s->builder, &share, &c);
    const struct loop_expr *j = op2(x, LOOP_MUL, t, number(x, team->threads));
    j = loop_let(&c, "j", op2(x, LOOP_ADD, j, owner));
    loop_open_if(&c, j, number(x, n), &inside);
    struct scope own = scope_inside(s, &inside);
    rank_element(x, &inside, next, line_element(x, &own, j), j);
    loop_close(&c, &inside);
    loop_close(s->builder, &c);
    return nest_team_best(x->l->arena, s->builder, true, get(x, next->best), get(x, next->best_at));
}

// Inside `b`, for the owner alone.
static void open_owner(const struct lines *x, struct loop_builder *b, const struct loop_expr *owner,
                       struct loop_builder mine[2]) {
    const struct loop_expr *lane = x->threads->team->lane;
    loop_open_if(b, lane, op2(x, LOOP_ADD, owner, number(x, 1)), &mine[0]);
    loop_open_if(&mine[0], op2(x, LOOP_SUB, owner, number(x, 1)), lane, &mine[1]);
}

static void close_owner(struct loop_builder *b, struct loop_builder mine[2]) {
    loop_close(&mine[0], &mine[1]);
    loop_close(b, &mine[0]);
}

// What the owner has next: its second, or what the warp finds where that is given too.
static void refill(struct lines *x, struct scope *line, struct loop_builder *b,
                   const struct ranks *r, const struct ranks *second,
                   const struct loop_expr *found) {
    struct arena *a = x->l->arena;
    struct loop_builder mine[2], dry;
    int64_t n = line_length(x);
    const struct loop_expr *owner =
        loop_let(b, "owner", op2(x, LOOP_MOD, found, number(x, x->threads->team->threads)));
    // 1 of the owner, where that has no second: then the warp looks.
    struct loop_buffer *none = reg(x, "none", position_type(x));
    put(x, b, none, whole(x, 0));
    open_owner(x, b, owner, mine);
    put(x, &mine[1], none,
        loop_ternary(a, LOOP_SELECT, is_none(x, get(x, second->best_at)), whole(x, 1),
                     whole(x, 0)));
    put(x, &mine[1], r->best, get(x, second->best));
    put(x, &mine[1], r->best_at, get(x, second->best_at));
    put(x, &mine[1], second->best_at, whole(x, -1));
    close_owner(b, mine);
    const struct loop_expr *is_dry =
        loop_let(b, "is_dry", loop_unary(a, LOOP_WARP_MAX, get(x, none)));
    loop_open_if(b, number(x, 0), loop_to_index(a, is_dry, 0, 1), &dry);
    struct ranks next = *r;
    next.best = reg(x, "next", x->type);
    next.best_at = reg(x, "next_at", position_type(x));
    struct scope f = scope_inside(line, &dry), t = f, u;  // each reads at places of its own
    put(x, &dry, r->last, line_element(x, &f, found));
    put(x, &dry, r->last_at, loop_cast(a, found, position_type(x)));
    const struct loop_expr *then = look_again(x, &t, &next, owner);
    open_owner(x, &dry, owner, mine);
    u = scope_inside(line, &mine[1]);
    const struct loop_expr *is_one = op2(x, LOOP_LT, then, whole(x, n));
    put(x, &mine[1], r->best_at, loop_ternary(a, LOOP_SELECT, is_one, then, whole(x, -1)));
    put(x, &mine[1], r->best, line_element(x, &u, loop_to_index(a, then, 0, n - 1)));
    close_owner(&dry, mine);
    loop_close(b, &dry);
}

static void order_by_team(struct lines *x, struct scope *line, const struct ranks *r) {
    struct arena *a = x->l->arena;
    struct loop_builder c, first;
    struct ranks second = *r;
    second.best = reg(x, "second", x->type);
    second.best_at = reg(x, "second_at", position_type(x));
    read_line(x, line, r, &second);
    struct loop_for places = {"place", number(x, 0), number(x, x->length), 1, false};
    const struct loop_expr *place = loop_open_for(line->builder, &places, &c);
    const struct loop_expr *at = nest_team_best(a, &c, true, get(x, r->best), get(x, r->best_at));
    loop_open_if(&c, x->threads->team->lane, number(x, 1), &first);
    struct scope s = scope_inside(line, &first);
    lines_fix(x, &s, x->axis, place);
    lines_store(x, &s, at);
    loop_close(&c, &first);
    const struct loop_expr *found =
        loop_let(&c, "found", loop_to_index(a, at, 0, line_length(x) - 1));
    refill(x, line, &c, r, &second, found);
    loop_close(line->builder, &c);
}

void lines_order(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    struct lines *x = ctx;
    struct arena *a = x->l->arena;
    struct scope line = lines_open_item(x, b, item);
    struct ranks r = {reg(x, "best", x->type), reg(x, "best_at", position_type(x)),
                      reg(x, "last", x->type), reg(x, "last_at", position_type(x))};
    put(x, b, r.last, loop_number(a, x->type, 0));
    put(x, b, r.last_at, whole(x, -1));
    if (x->threads->team)
        order_by_team(x, &line, &r);
    else
        order_alone(x, &line, &r);
}
