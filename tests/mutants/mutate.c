#include "mutate.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "loop/loop_build.h"

const char *const mutation_text[MUTATION_COUNT] = {
#define MUTATION(id, words, share) words,
    MUTATIONS
#undef MUTATION
};
const int mutation_shares[MUTATION_COUNT] = {
#define MUTATION(id, words, share) share,
    MUTATIONS
#undef MUTATION
};

enum { DEPTH_MAX = 16 };

// A walk over all statements: what is a place for this fault is counted, and the one that was
// chosen is changed.
struct walk {
    struct loop_program *program;
    struct arena *a;
    enum mutation kind;
    struct rng *r;
    int n_places, chosen;  // chosen -1: only count
    const struct loop_var *scope[DEPTH_MAX];
    int64_t step[DEPTH_MAX], begin[DEPTH_MAX];
    int depth;
    char *what;
    int room;
};

static bool is_chosen(struct walk *w) {
    return w->n_places++ == w->chosen;
}

// One turn of a loop around the place, in the second half of it.
struct turn {
    const struct loop_expr *var;
    int64_t value;
};

static struct turn draw_turn(struct walk *w) {
    // Mostly of the outermost loop that has turns, the blocks: so that the first outputs are right.
    int i = 0;
    while (i + 1 < w->depth && w->scope[i]->high - w->begin[i] < w->step[i])
        i++;
    if (rng_below(w->r, 10) == 0)
        i = (int)rng_below(w->r, (uint64_t)w->depth);
    int64_t turns = (w->scope[i]->high - w->begin[i]) / w->step[i] + 1;
    int64_t turn = turns / 2 + (int64_t)rng_below(w->r, (uint64_t)(turns - turns / 2));
    struct turn t = {loop_ref(w->a, w->scope[i]), w->begin[i] + turn * w->step[i]};
    snprintf(w->what, (size_t)w->room, "where %s is %lld", w->scope[i]->name, (long long)t.value);
    return t;
}

// 1 in that turn, else 0, as an index.
static const struct loop_expr *indicator(struct walk *w, struct turn t) {
    const struct loop_expr *off = loop_binary(w->a, LOOP_SUB, t.var, loop_int(w->a, t.value));
    const struct loop_expr *square = loop_binary(w->a, LOOP_MUL, off, off);
    return loop_binary(w->a, LOOP_MAX, loop_int(w->a, 0),
                       loop_binary(w->a, LOOP_SUB, loop_int(w->a, 1), square));
}

static struct loop_stmt *make_if(struct walk *w, const struct loop_expr *low,
                                 const struct loop_expr *high, struct loop_stmt *body) {
    struct loop_stmt *s = arena_new(w->a, struct loop_stmt);
    *s = (struct loop_stmt){.kind = LOOP_IF, .low = low, .high = high, .body = {body, body}};
    return s;
}

static struct loop_stmt *copy_stmt(struct walk *w, const struct loop_stmt *s) {
    struct loop_stmt *copy = arena_copy(w->a, s, sizeof *s);
    copy->next = NULL;
    return copy;
}

static void insert_after(struct loop_block *b, struct loop_stmt *s, struct loop_stmt *extra) {
    extra->next = s->next;
    s->next = extra;
    if (b->last == s)
        b->last = extra;
}

// In that turn also store something else to the same place.
static void override(struct walk *w, struct loop_block *b, struct loop_stmt *s,
                     const struct loop_expr *value) {
    struct turn t = draw_turn(w);
    struct loop_stmt *other = copy_stmt(w, s);
    other->value = value;
    struct loop_stmt *inner = make_if(w, t.var, loop_int(w->a, t.value + 1), other);
    insert_after(b, s, make_if(w, loop_int(w->a, t.value - 1), t.var, inner));
}

// Store nothing in that turn.
static void skip(struct walk *w, struct loop_block *b, struct loop_stmt *s) {
    struct turn t = draw_turn(w);
    struct loop_stmt *before = copy_stmt(w, s), *after = copy_stmt(w, s), *next = s->next;
    *s = *make_if(w, t.var, loop_int(w->a, t.value), before);
    s->next = next;
    insert_after(b, s, make_if(w, loop_int(w->a, t.value), t.var, after));
}

static const struct loop_expr *faulty(struct walk *w, const struct loop_expr *v) {
    struct arena *a = w->a;
    switch (rng_below(w->r, 4)) {
    case 0:
        return loop_binary(a, LOOP_MUL, v, loop_real(a, 1.0009765625));
    case 1:
        return loop_unary(a, LOOP_NEG, v);
    case 2:
        return loop_binary(a, LOOP_ADD, v, loop_real(a, 0.0009765625));
    default:
        return loop_binary(a, LOOP_MUL, v, loop_real(a, 0.5));
    }
}

// Rounded to a multiple of 2^-11: what is left of eleven digits. No product, so no fused one.
static const struct loop_expr *lower(struct walk *w, const struct loop_expr *v) {
    const struct loop_expr *large = loop_real(w->a, 6144);
    return loop_binary(w->a, LOOP_SUB, loop_binary(w->a, LOOP_ADD, v, large), large);
}

static bool is_load_place(const struct loop_expr *e) {
    return e->op == LOOP_LOAD && e->buffer->space != LOOP_REGISTER && e->buffer->count > 1;
}

static bool is_constant_place(const struct loop_expr *e) {
    return e->op == LOOP_CONST && e->dtype == LOOP_F32 && e->real != 0;
}

static bool is_place(const struct walk *w, const struct loop_expr *e) {
    return w->kind == MUTATION_AXIS ? is_load_place(e) : is_constant_place(e);
}

static const struct loop_expr *changed(struct walk *w, const struct loop_expr *e) {
    struct loop_expr *copy = arena_copy(w->a, e, sizeof *e);
    if (w->kind == MUTATION_EPSILON) {
        copy->real *= rng_below(w->r, 2) ? 1.001953125 : 0.5;
        snprintf(w->what, (size_t)w->room, "%g for %g", copy->real, e->real);
        return copy;
    }
    // One to the left: what lies there is a neighbour along the last axis, or of the row before.
    int64_t by = 1 + (int64_t)rng_below(w->r, 3);
    const struct loop_expr *off =
        loop_binary(w->a, LOOP_MUL, indicator(w, draw_turn(w)), loop_int(w->a, by));
    copy->arg[0] = loop_binary(w->a, LOOP_SUB, e->arg[0], off);
    return copy;
}

static const struct loop_expr *rewrite(struct walk *w, const struct loop_expr *e) {
    if (is_place(w, e))
        return is_chosen(w) ? changed(w, e) : e;
    if (e->op == LOOP_LOAD || e->op == LOOP_CONST || e->op == LOOP_VAR)
        return e;
    struct loop_expr copy = *e;
    bool any = false;
    for (int i = 0; i < loop_ops[e->op].arity; i++) {
        copy.arg[i] = e->arg[i] ? rewrite(w, e->arg[i]) : NULL;
        any = any || copy.arg[i] != e->arg[i];
    }
    return any ? arena_copy(w->a, &copy, sizeof copy) : e;
}

static void visit_store(struct walk *w, struct loop_block *b, struct loop_stmt *s) {
    bool is_init = s->value->op == LOOP_CONST ||
                   (s->value->op == LOOP_BROADCAST && s->value->arg[0]->op == LOOP_CONST);
    bool is_own = s->buffer->space != LOOP_GLOBAL;
    switch (w->kind) {
    case MUTATION_TILE:
        if (!is_init && is_chosen(w))
            override(w, b, s, faulty(w, s->value));
        break;
    case MUTATION_PRECISION:
        if (!is_init && is_chosen(w))
            override(w, b, s, lower(w, s->value));
        break;
    case MUTATION_STALE:
        if (!is_init && is_chosen(w))
            skip(w, b, s);
        break;
    case MUTATION_SCRATCH:
        if (is_init && is_own && is_chosen(w))
            skip(w, b, s);
        break;
    default:
        break;
    }
}

static bool is_min(const struct loop_expr *e) {
    return e->op == LOOP_MIN && e->dtype == LOOP_INDEX;
}

static void visit_for(struct walk *w, struct loop_stmt *s) {
    if (w->kind == MUTATION_TAIL && !s->unroll && w->depth && is_chosen(w)) {
        // Its last turn, or its first, is left out in one turn of a loop around it.
        const struct loop_expr *off =
            loop_binary(w->a, LOOP_MUL, indicator(w, draw_turn(w)), loop_int(w->a, s->step));
        if (rng_below(w->r, 4))
            s->end = loop_binary(w->a, LOOP_SUB, s->end, off);
        else
            s->begin = loop_binary(w->a, LOOP_ADD, s->begin, off);
    }
    if (w->kind == MUTATION_GUARD && !s->unroll && is_min(s->end) && is_chosen(w)) {
        s->end = s->end->arg[s->end->arg[0]->op == LOOP_CONST];
        snprintf(w->what, (size_t)w->room, "the end of %s", s->var->name);
    }
}

static void visit_if(struct walk *w, struct loop_stmt *s) {
    if (w->kind == MUTATION_GUARD && is_chosen(w)) {
        s->low = loop_int(w->a, 0);
        s->high = loop_int(w->a, 1);
        snprintf(w->what, (size_t)w->room, "a condition");
    }
}

static void push(struct walk *w, const struct loop_var *var, int64_t step) {
    if (w->depth == DEPTH_MAX)
        return;
    w->scope[w->depth] = var;
    w->begin[w->depth] = var->low;
    w->step[w->depth++] = step;
}

static void visit_block(struct walk *w, struct loop_block *b) {
    for (struct loop_stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        int depth = w->depth;
        bool has_value = s->kind == LOOP_LET || s->kind == LOOP_STORE;
        if (has_value && s->value->dtype == LOOP_F32 &&
            (w->kind == MUTATION_AXIS || w->kind == MUTATION_EPSILON))
            s->value = rewrite(w, s->value);
        if (s->kind == LOOP_STORE && s->value->dtype == LOOP_F32)
            visit_store(w, b, s);
        if (s->kind == LOOP_FOR) {
            visit_for(w, s);
            if (!s->unroll)
                push(w, s->var, s->step);
            visit_block(w, &s->body);
        } else if (s->kind == LOOP_IF && s->body.first) {
            visit_if(w, s);
            visit_block(w, &s->body);
        }
        w->depth = depth;
    }
}

static void visit_all(struct walk *w) {
    w->n_places = 0;
    for (int i = 0; i < w->program->n_kernels; i++) {
        struct loop_kernel *k = w->program->kernels[i];
        w->depth = 0;
        push(w, k->block, 1);
        visit_block(w, &k->body);
    }
}

bool mutate(struct loop_program *p, enum mutation m, struct rng *r, char *what, int room) {
    struct walk w = {.program = p, .a = p->arena, .kind = m, .r = r, .chosen = -1};
    w.what = what;
    w.room = room;
    what[0] = '\0';
    visit_all(&w);
    if (w.n_places == 0)
        return false;
    w.chosen = (int)rng_below(r, (uint64_t)w.n_places);
    visit_all(&w);
    return true;
}
