// Orders (top-k) by repeated selection of the next best.
//
// A line has one thread, or a warp (nest_team.h): then every thread has the best of its own
// elements, every 32nd, and the warp finds out whose is next. What that thread has left, a 32nd of
// the line, the warp looks through together for its next best. A line that fits is kept in shared
// memory for it, element j at j + j / 32, so that every 32nd lies in another bank.
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
    const struct loop_expr *at = loop_cast(a, i, LOOP_I64);
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
    put(x, b, r->best_at, loop_whole(x->l->arena, LOOP_I64, -1));
}

static int64_t line_length(const struct lines *x) {
    return x->l->space.size[x->own].value;
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

// What the warp has of its line: all of it in shared memory, or NULL.
struct kept_line {
    struct loop_buffer *shared;
    const struct loop_expr *first;
};

static const struct loop_expr *kept_place(const struct lines *x, const struct kept_line *kept,
                                          const struct loop_expr *j) {
    const struct loop_expr *skipped = op2(x, LOOP_DIV, j, number(x, 32));
    return op2(x, LOOP_ADD, kept->first, op2(x, LOOP_ADD, j, skipped));
}

static struct kept_line open_kept(const struct lines *x) {
    const struct nest_team *team = x->threads->team;
    struct kept_line kept = {0};
    if (!nest_team_keeps(x->l->region, (int)x->threads->per_block))
        return kept;
    int64_t each = nest_team_kept(line_length(x));
    struct loop_size size = {each * (x->threads->per_block / team->threads), NULL};
    kept.shared = loop_shared_of(x->l->program, "kept", x->storage, &size, 1);
    kept.first = op2(x, LOOP_MUL, team->warp, number(x, each));
    return kept;
}

// The line's element j, from where it is.
static const struct loop_expr *line_element(struct lines *x, struct scope *s,
                                            const struct kept_line *kept,
                                            const struct loop_expr *j) {
    if (kept->shared)
        return loop_load(x->l->arena, kept->shared, kept_place(x, kept, j), 1, 1);
    lines_fix(x, s, x->own, j);
    return lines_argument(x, s, 0, 0, x->type);
}

static void first_look(struct lines *x, struct loop_builder *b, const struct kept_line *kept,
                       const struct ranks *r, const struct loop_expr *e,
                       const struct loop_expr *j) {
    if (kept->shared)
        loop_store(b, kept->shared, kept_place(x, kept, j), e, false);
    take_better(x, b, r, e, loop_cast(x->l->arena, j, LOOP_I64), NULL);
}

// Every thread reads its elements, several at a time, and has the best of them.
static void read_line(struct lines *x, struct scope *line, const struct kept_line *kept,
                      const struct ranks *r) {
    struct arena *a = x->l->arena;
    const struct nest_team *team = x->threads->team;
    int64_t n = line_length(x), turn = (int64_t)team->threads * READS, whole = n / turn * turn;
    struct loop_buffer *own = loop_register_of(x->l->program, "read", READS, 1, x->type);
    struct loop_builder c, step;
    clear_best(x, line->builder, r);
    struct loop_for turns = {"at", number(x, 0), number(x, whole), turn, false};
    const struct loop_expr *at = loop_open_for(line->builder, &turns, &c);
    for (int ranks_them = 0; ranks_them < 2; ranks_them++) {
        struct loop_for reads = {"u", number(x, 0), number(x, READS), 1, true};
        const struct loop_expr *u = loop_open_for(&c, &reads, &step);
        const struct loop_expr *j = op2(x, LOOP_MUL, u, number(x, team->threads));
        j = loop_let(&step, "j", op2(x, LOOP_ADD, op2(x, LOOP_ADD, at, j), team->lane));
        struct scope s = scope_inside(line, &step);
        lines_fix(x, &s, x->own, j);
        if (ranks_them)
            first_look(x, &step, kept, r, loop_load(a, own, u, 1, 1), j);
        else
            loop_store(&step, own, u, lines_argument(x, &s, 0, 0, x->type), false);
        loop_close(&c, &step);
    }
    loop_close(line->builder, &c);
    struct loop_for rest = {"j", op2(x, LOOP_ADD, number(x, whole), team->lane), number(x, n),
                            team->threads, false};
    const struct loop_expr *j = loop_open_for(line->builder, &rest, &c);
    struct scope s = scope_inside(line, &c);
    lines_fix(x, &s, x->own, j);
    first_look(x, &c, kept, r, lines_argument(x, &s, 0, 0, x->type), j);
    loop_close(line->builder, &c);
    if (kept->shared)
        loop_intrinsic(line->builder, INTRINSIC_WARP_SYNC, NULL);
}

// The owner's next best, of which each thread looks at a share; `next` is where each has its own.
static const struct loop_expr *look_again(struct lines *x, struct scope *s,
                                          const struct kept_line *kept, const struct ranks *next,
                                          const struct loop_expr *owner) {
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
    const struct loop_expr *e = loop_let(&inside, "e", line_element(x, &own, kept, j));
    rank_element(x, &inside, next, e, j);
    loop_close(&c, &inside);
    loop_close(s->builder, &c);
    return nest_team_best(x->l->arena, s->builder, true, get(x, next->best), get(x, next->best_at));
}

static void order_by_team(struct lines *x, struct scope *line, const struct ranks *r) {
    struct arena *a = x->l->arena;
    const struct nest_team *team = x->threads->team;
    struct loop_builder c, first, mine, own;
    int64_t n = line_length(x);
    struct kept_line kept = open_kept(x);
    struct ranks next = *r;
    next.best = reg(x, "next", x->type);
    next.best_at = reg(x, "next_at", LOOP_I64);
    read_line(x, line, &kept, r);
    struct loop_for places = {"place", number(x, 0), number(x, x->length), 1, false};
    const struct loop_expr *place = loop_open_for(line->builder, &places, &c);
    const struct loop_expr *at = nest_team_best(a, &c, true, get(x, r->best), get(x, r->best_at));
    loop_open_if(&c, team->lane, number(x, 1), &first);
    struct scope s = scope_inside(line, &first);
    lines_fix(x, &s, x->axis, place);
    lines_store(x, &s, at);
    loop_close(&c, &first);
    const struct loop_expr *found = loop_let(&c, "found", loop_to_index(a, at, 0, n - 1));
    const struct loop_expr *owner =
        loop_let(&c, "owner", op2(x, LOOP_MOD, found, number(x, team->threads)));
    struct scope f = scope_inside(line, &c), t = f;  // what is read at one place, and at others
    put(x, &c, r->last, line_element(x, &f, &kept, found));
    put(x, &c, r->last_at, at);
    const struct loop_expr *then = look_again(x, &t, &kept, &next, owner);
    loop_open_if(&c, team->lane, op2(x, LOOP_ADD, owner, number(x, 1)), &mine);
    loop_open_if(&mine, op2(x, LOOP_SUB, owner, number(x, 1)), team->lane, &own);
    struct scope u = scope_inside(line, &own);
    const struct loop_expr *is_one = op2(x, LOOP_LT, then, loop_whole(a, LOOP_I64, n));
    put(x, &own, r->best_at,
        loop_ternary(a, LOOP_SELECT, is_one, then, loop_whole(a, LOOP_I64, -1)));
    put(x, &own, r->best, line_element(x, &u, &kept, loop_to_index(a, then, 0, n - 1)));
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
