// All turns of all knobs, all edits of stages.h; each is repaired by a small search over the other
// knobs, estimated, and dropped when it leads to a block that is there already.
#include "family/moves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/family.h"
#include "family/stages.h"

struct list {
    struct arena *arena;
    const struct problem *problem;
    const struct target *target;
    const struct kernel *from;
    const char *from_text;
    struct move *moves;
    const char **texts;
    int n, cap;
};

// Seconds of all stages, as their families reckon.
static double estimate(struct list *l, const struct kernel *k) {
    double seconds = 0;
    for (int i = 0; i < k->n_stages; i++) {
        const struct family *f = family_on(family_find(k->stages[i]->family), l->target);
        seconds += f->estimate(stages_region(l->arena, l->problem, k, i), l->target, k->stages[i]);
    }
    return seconds;
}

static void grow(struct list *l) {
    int cap = l->cap * 2 + 32;
    struct move *moves = arena_array(l->arena, struct move, cap);
    const char **texts = arena_array(l->arena, const char *, cap);
    if (l->n > 0) {
        memcpy(moves, l->moves, sizeof *moves * (size_t)l->n);
        memcpy(texts, l->texts, sizeof *texts * (size_t)l->n);
    }
    l->moves = moves;
    l->texts = texts;
    l->cap = cap;
}

// Add a move unless it leads nowhere new. requires: `k` complete and legal.
static void add(struct list *l, struct move m, const struct kernel *k) {
    const char *text = kernel_print(l->arena, k);
    if (strcmp(text, l->from_text) == 0)
        return;
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->texts[i], text) == 0)
            return;
    if (l->n == l->cap)
        grow(l);
    m.kernel = arena_copy(l->arena, k, sizeof *k);
    m.prior = -log(estimate(l, k));
    l->texts[l->n] = text;
    l->moves[l->n++] = m;
}

// All values that one part of one knob can take: positions on its grid, or words.
static int knob_choices(const struct knob *k, int part) {
    int n = 0;
    if (k->words)
        while (k->words[n])
            n++;
    else
        while (k->grid[part][n] >= 0)
            n++;
    return n;
}

static int get_choice(const struct knob *k, const struct kernel_stage *s, int part) {
    for (int i = 0; i < s->n_knobs; i++)
        if (strcmp(s->knobs[i].name, k->name) == 0)
            return k->words ? knob_word(k, s->knobs[i].word)
                            : knob_position(k, part, s->knobs[i].part[part]);
    return -1;
}

static void set_choice(const struct knob *k, struct kernel_stage *s, int part, int choice) {
    if (k->words)
        stage_set_word(s, k->name, k->words[choice]);
    else
        stage_set(s, k->name, part, k->grid[part][choice]);
}

static int n_parts(const struct knob *k) {
    return k->words ? 1 : k->n_parts;
}

// Turning other knobs as little as possible until a stage is legal. The knob `fixed` keeps
// what the move gave it.
struct repair {
    const struct family *family;
    const struct region *region;
    const struct target *target;
    const struct knob *fixed;
    struct kernel_stage best;
    int best_cost;
};

static void search_repair(struct repair *r, const struct kernel_stage *s, int depth, int cost) {
    struct objection why;
    if (cost >= r->best_cost)
        return;
    if (family_is_legal(r->family, r->region, r->target, s, &why)) {
        r->best = *s;
        r->best_cost = cost;
        return;
    }
    if (depth == 0)
        return;
    for (const struct knob *k = r->family->knobs; k->name; k++)
        for (int part = 0; k != r->fixed && part < n_parts(k); part++) {
            int now = get_choice(k, s, part);
            for (int c = 0; c < knob_choices(k, part); c++) {
                if (c == now)
                    continue;
                struct kernel_stage turned = *s;
                set_choice(k, &turned, part, c);
                search_repair(r, &turned, depth - 1, cost + abs(c - now));
            }
        }
}

static bool repair(struct list *l, const struct family *f, const struct region *region,
                   const struct knob *fixed, struct kernel_stage *s) {
    struct repair r = {f, region, l->target, fixed, .best_cost = 100};
    // One other knob is nearly always enough; two in the worst case.
    for (int depth = 0; depth <= 2 && r.best_cost == 100; depth++)
        search_repair(&r, s, depth, 0);
    if (r.best_cost == 100)
        return false;
    *s = r.best;
    return true;
}

static const char *value_text(struct arena *a, const struct kernel_stage *s, const char *name) {
    for (int i = 0; i < s->n_knobs; i++) {
        const struct kernel_knob *k = &s->knobs[i];
        if (strcmp(k->name, name) != 0)
            continue;
        if (k->word)
            return k->word;
        if (k->n_parts == 1)
            return arena_printf(a, "%d", k->part[0]);
        if (k->n_parts == 2)
            return arena_printf(a, "%dx%d", k->part[0], k->part[1]);
        return arena_printf(a, "%dx%dx%d", k->part[0], k->part[1], k->part[2]);
    }
    return "";
}

static const char *turn_text(struct list *l, const struct family *f, const struct knob *k,
                             const struct kernel_stage *old, const struct kernel_stage *now) {
    const char *words =
        arena_printf(l->arena, "%s: %s %s -> %s", old->values[0], k->name,
                     value_text(l->arena, old, k->name), value_text(l->arena, now, k->name));
    for (const struct knob *other = f->knobs; other->name; other++) {
        const char *was = value_text(l->arena, old, other->name);
        const char *is = value_text(l->arena, now, other->name);
        if (other != k && strcmp(was, is) != 0)
            words = arena_printf(l->arena, "%s, %s %s", words, other->name, is);
    }
    return words;
}

// A stage whose knobs are turned.
struct turning {
    int stage;
    const struct family *family;
    const struct region *region;
};

static void turn(struct list *l, const struct turning *t, const struct knob *k, int part,
                 int choice) {
    if (choice < 0 || choice >= knob_choices(k, part))
        return;
    struct kernel next = kernel_copy(l->arena, l->from);
    struct kernel_stage *s = kernel_own_stage(l->arena, &next, t->stage);
    int now = get_choice(k, s, part);
    set_choice(k, s, part, choice);
    if (!repair(l, t->family, t->region, k, s))
        return;
    struct move m = {.stage = s->values[0], .knob = k->name};
    m.direction = k->words ? 0 : choice > now ? 1 : -1;
    m.word = k->words ? k->words[choice] : NULL;
    m.words = turn_text(l, t->family, k, l->from->stages[t->stage], s);
    add(l, m, &next);
}

static void turn_knobs(struct list *l, int stage) {
    const struct kernel_stage *s = l->from->stages[stage];
    struct turning t = {stage, family_on(family_find(s->family), l->target),
                        stages_region(l->arena, l->problem, l->from, stage)};
    for (const struct knob *k = t.family->knobs; k->name; k++)
        for (int part = 0; part < n_parts(k); part++) {
            int now = get_choice(k, s, part);
            if (!k->words) {
                turn(l, &t, k, part, now + 1);
                turn(l, &t, k, part, now - 1);
                continue;
            }
            for (int i = 0; k->words[i]; i++)
                if (i != now)
                    turn(l, &t, k, part, i);
        }
}

static void change_stages(struct list *l, int stage) {
    const struct kernel_stage *s = l->from->stages[stage];
    struct arena *a = l->arena;
    struct kernel next;
    struct stages_edit edit = {a, l->problem, l->target, l->from, stage};
    if (stages_merge(&edit, &next)) {
        struct move m = {.stage = s->values[0]};
        m.words = arena_printf(a, "merge %s into %s", s->values[0],
                               l->from->stages[stage + 1]->values[0]);
        add(l, m, &next);
    }
    const struct region *r = stages_region(a, l->problem, l->from, stage);
    for (node_id n = 0; n < r->graph->n_nodes; n++) {
        const struct node *node = &r->graph->nodes[n];
        if (!r->is_member[n] || node->op == OP_CONST || node->op == OP_VIEW)
            continue;
        if (!stages_split(&edit, n, &next))
            continue;
        struct move m = {.stage = s->values[0]};
        m.words = arena_printf(a, "split %s at %s", s->values[0], node->name);
        add(l, m, &next);
    }
    for (const struct family *const *f = families; *f; f++) {
        if (strcmp((*f)->name, s->family) == 0 || !stages_change_family(&edit, (*f)->name, &next))
            continue;
        struct move m = {.stage = s->values[0]};
        m.words = arena_printf(a, "%s: %s -> %s", s->values[0], s->family, (*f)->name);
        add(l, m, &next);
    }
}

struct move *moves_list(struct arena *a, const struct problem *p, const struct target *t,
                        const struct kernel *k, int *n_moves) {
    struct list l = {.arena = a, .problem = p, .target = t, .from = k};
    l.from_text = kernel_print(a, k);
    for (int i = 0; i < k->n_stages; i++)
        turn_knobs(&l, i);
    for (int i = 0; i < k->n_stages; i++)
        change_stages(&l, i);
    *n_moves = l.n;
    return l.moves;
}
