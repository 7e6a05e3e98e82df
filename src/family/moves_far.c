// Goes through the settings of one emitter as through the digits of a number, one digit for each
// part of each knob. Only the best few are kept, so nothing is allocated for the others.
#include "family/moves_far.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rng.h"
#include "family/block.h"
#include "family/block_set.h"
#include "family/family.h"
#include "family/repair.h"
#include "lang/lang.h"

// The standard deviation, as a factor, by which estimates of legal blocks were seen to err.
static const double doubt = 1.0 / 6;
enum { DIGITS_MAX = 3 * KNOBS_MAX };

struct found {
    struct kernel_stage stage;
    int number;  // of the stage in the block
    double seconds, score;
};

struct far_search {
    struct arena *a;
    const struct target *target;
    const struct kernel *from;
    const struct block *base;
    struct rng *rng;
    double others_s;     // of the other stages, as estimated
    struct found *best;  // the highest score first
    int n, room;
};

// The settings of one emitter for one stage.
struct grid {
    const struct emitter *emitter;
    const struct form *form;
    const struct knob *knobs[DIGITS_MAX];
    int parts[DIGITS_MAX], sizes[DIGITS_MAX];
    int n_digits;
    double n_settings;
};

static void open_grid(struct grid *g, const struct emitter *e, const struct form *f) {
    *g = (struct grid){.emitter = e, .form = f, .n_settings = 1};
    for (const struct knob *k = e->knobs; k->name; k++)
        for (int part = 0; part < knob_parts(k); part++) {
            assert(g->n_digits < DIGITS_MAX);
            g->knobs[g->n_digits] = k;
            g->parts[g->n_digits] = part;
            g->sizes[g->n_digits] = knob_choices(k, part);
            g->n_settings *= g->sizes[g->n_digits++];
        }
}

static double gumbel(struct rng *rng) {
    return rng ? -log(-log(rng_unit(rng) * (1 - 2e-12) + 1e-12)) : 0;
}

static bool is_same(const struct grid *g, const struct kernel_stage *x,
                    const struct kernel_stage *y) {
    for (int i = 0; i < g->n_digits; i++)
        if (stage_choice(g->knobs[i], x, g->parts[i]) != stage_choice(g->knobs[i], y, g->parts[i]))
            return false;
    return true;
}

// Was it drawn before? Then its estimate is the same.
static bool is_there(const struct far_search *l, const struct grid *g, int number, double seconds,
                     const struct kernel_stage *s) {
    for (int i = 0; i < l->n; i++)
        if (l->best[i].seconds == seconds && l->best[i].number == number &&
            stage_emitter(&l->best[i].stage, l->target) == g->emitter &&
            is_same(g, &l->best[i].stage, s))
            return true;
    return false;
}

static void consider(struct far_search *l, const struct grid *g, int number,
                     const struct kernel_stage *s) {
    struct objection why;
    if (!emitter_is_legal(g->emitter, g->form, l->target, s, &why))
        return;
    double seconds = g->emitter->estimate(g->form, l->target, s);
    double score = -log(l->others_s + seconds) / doubt + gumbel(l->rng);
    if (l->n == l->room && score <= l->best[l->n - 1].score)
        return;
    if (g->n_settings > MOVES_FAR_MOST && is_there(l, g, number, seconds, s))
        return;
    int at = l->n < l->room ? l->n++ : l->n - 1;
    for (; at > 0 && l->best[at - 1].score < score; at--)
        l->best[at] = l->best[at - 1];
    l->best[at] = (struct found){*s, number, seconds, score};
}

static void try_grid(struct far_search *l, const struct grid *g, int number,
                     const struct kernel_stage *start) {
    struct kernel_stage s = *start;
    struct rng draws;
    bool takes_all = g->n_settings <= MOVES_FAR_MOST;
    int n = takes_all ? (int)g->n_settings : MOVES_FAR_MOST;
    const struct kernel_stage *now = l->from->stages[number];
    bool is_current = stage_emitter(now, l->target) == g->emitter;
    rng_init(&draws, l->rng ? rng_next(l->rng) : 1);
    for (int i = 0; i < n; i++) {
        for (int d = 0, rest = i; d < g->n_digits; rest /= g->sizes[d++]) {
            int choice =
                takes_all ? rest % g->sizes[d] : (int)rng_below(&draws, (uint64_t)g->sizes[d]);
            stage_choose(g->knobs[d], &s, g->parts[d], choice);
        }
        if (!is_current || !is_same(g, &s, now))
            consider(l, g, number, &s);
    }
}

static void try_stage(struct far_search *l, int number) {
    const struct kernel_stage *now = l->from->stages[number];
    const struct family *family = family_find(now->family);
    const struct form *form = l->base->stages[number].form;
    for (const struct emitter *const *e = family->emitters; *e; e++) {
        struct kernel_stage start = *now;
        struct objection why;
        struct grid g;
        if ((*e)->is_named_only)
            continue;
        if (*e != stage_emitter(now, l->target)) {
            start.n_knobs = 0;
            start.emitter = (*e)->name;
            if (family_emitter(family, form, l->target, &start, &why) != *e)
                continue;
            family_complete(*e, form, l->target, &start);
        }
        open_grid(&g, *e, form);
        try_grid(l, &g, number, &start);
    }
}

static double stage_seconds(const struct far_search *l, int i) {
    const struct kernel_stage *s = l->from->stages[i];
    return stage_emitter(s, l->target)->estimate(l->base->stages[i].form, l->target, s);
}

static enum change change_of(const struct target *t, const struct kernel_stage *old,
                             const struct kernel_stage *now) {
    return stage_emitter(old, t) == stage_emitter(now, t) ? CHANGE_KNOB : CHANGE_EMITTER;
}

double moves_prior(const struct problem *p, const struct target *t, const struct kernel *k) {
    struct arena scratch = {0};
    struct mistakes m = {.arena = &scratch, .source = &(struct lang_source){0}};
    const struct block *b = block_resolve(&scratch, p, t, k, &m);
    assert(m.count == 0);
    double seconds = 0;
    for (int i = 0; i < k->n_stages; i++)
        seconds += b->stages[i].emitter->estimate(b->stages[i].form, t, &b->stages[i].complete);
    arena_reset(&scratch);
    return -log(seconds);
}

// ---- a bounded space

static void read_entry(struct block_set *set, const struct problem *p, const struct target *t,
                       struct block_entry *e) {
    struct lang_source source = {.file = "block", .text = e->text, .len = strlen(e->text)};
    struct lang_file file = {0};
    struct error why = {0};
    const char *diagnostics;
    if (e->kernel)
        return;
    bool ok = lang_parse(block_set_arena(set), &source, &file, &diagnostics, &why);
    assert(ok && file.n_kernels == 1);
    e->kernel = file.kernels[0];
    e->prior = moves_prior(p, t, e->kernel);
}

// The stage in which two blocks differ; -1: they have other stages, or differ in none or several.
static int other_stage(struct arena *scratch, const struct kernel *x, const struct kernel *y) {
    int found = -1;
    if (x->n_stages != y->n_stages)
        return -1;
    for (int i = 0; i < x->n_stages; i++) {
        struct kernel a = *x, b = *y;
        a.stages += i;
        b.stages += i;
        a.n_stages = b.n_stages = 1;
        if (strcmp(x->stages[i]->values[0], y->stages[i]->values[0]) != 0)
            return -1;
        if (strcmp(kernel_print(scratch, &a), kernel_print(scratch, &b)) == 0)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

static int by_prior(const void *x, const void *y) {
    const struct move *a = x, *b = y;
    return a->prior != b->prior ? (a->prior < b->prior) - (a->prior > b->prior)
                                : strcmp(a->text, b->text);
}

static struct move *far_in_set(struct arena *a, const struct problem *p, const struct target *t,
                               const struct kernel *k, int *n_moves) {
    struct arena scratch = {0};
    struct move *moves = NULL;
    int n = 0, n_all = 0, at = 0;
    while (block_set_next(t->blocks, &at))
        n_all++;
    moves = arena_array(a, struct move, n_all + 1);
    at = 0;
    for (struct block_entry *e; (e = block_set_next(t->blocks, &at));) {
        read_entry(t->blocks, p, t, e);
        int stage = other_stage(&scratch, k, e->kernel);
        if (stage >= 0)
            moves[n++] = (struct move){
                .words = stage_change_text(a, t, k->stages[stage], e->kernel->stages[stage]),
                .stage = e->kernel->stages[stage]->values[0],
                .change = change_of(t, k->stages[stage], e->kernel->stages[stage]),
                .kernel = e->kernel,
                .text = e->text,
                .prior = e->prior};
    }
    qsort(moves, (size_t)n, sizeof *moves, by_prior);
    arena_reset(&scratch);
    *n_moves = n;
    return moves;
}

struct scored {
    double score;
    struct move move;
};

static int by_score(const void *x, const void *y) {
    const struct scored *a = x, *b = y;
    return (a->score < b->score) - (a->score > b->score);
}

void moves_far_draw(struct move *moves, int n, struct rng *rng) {
    struct arena scratch = {0};
    struct scored *scored = arena_array(&scratch, struct scored, n + 1);
    for (int i = 0; i < n; i++)
        scored[i] = (struct scored){moves[i].prior / doubt + gumbel(rng), moves[i]};
    qsort(scored, (size_t)n, sizeof *scored, by_score);
    for (int i = 0; i < n; i++)
        moves[i] = scored[i].move;
    arena_reset(&scratch);
}

struct move *moves_far(struct arena *a, const struct problem *p, const struct target *t,
                       const struct kernel *k, int room, struct rng *rng, int *n_moves) {
    if (t->blocks)
        return far_in_set(a, p, t, k, n_moves);
    struct arena scratch = {0};
    struct mistakes m = {.arena = &scratch, .source = &(struct lang_source){0}};
    struct far_search l = {.a = a, .target = t, .from = k, .rng = rng, .room = room};
    l.base = block_resolve(&scratch, p, t, k, &m);
    assert(m.count == 0 && room > 0);
    l.best = arena_array(&scratch, struct found, room);
    double all_s = 0;
    for (int i = 0; i < k->n_stages; i++)
        all_s += stage_seconds(&l, i);
    for (int i = 0; i < k->n_stages; i++) {
        l.others_s = all_s - stage_seconds(&l, i);
        try_stage(&l, i);
    }
    struct move *moves = arena_array(a, struct move, room);
    for (int i = 0; i < l.n; i++) {
        const struct found *f = &l.best[i];
        struct kernel *next = arena_new(a, struct kernel);
        *next = kernel_copy(a, k);
        *kernel_own_stage(a, next, f->number) = f->stage;
        moves[i] = (struct move){
            .words = stage_change_text(a, t, k->stages[f->number], &f->stage),
            .stage = k->stages[f->number]->values[0],
            .change = change_of(t, k->stages[f->number], &f->stage),
            .kernel = next,
            .prior = -log(all_s - stage_seconds(&l, f->number) + f->seconds),
        };
    }
    *n_moves = l.n;
    arena_reset(&scratch);
    return moves;
}
