// Goes through the settings of one emitter as through the digits of a number, one digit for each
// part of each knob. Only the best few are kept, so nothing is allocated for the others.
#include "family/moves_far.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rng.h"
#include "family/block.h"
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

struct far {
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
static bool is_there(const struct far *l, const struct grid *g, int number, double seconds,
                     const struct kernel_stage *s) {
    for (int i = 0; i < l->n; i++)
        if (l->best[i].seconds == seconds && l->best[i].number == number &&
            stage_emitter(&l->best[i].stage, l->target) == g->emitter &&
            is_same(g, &l->best[i].stage, s))
            return true;
    return false;
}

static void consider(struct far *l, const struct grid *g, int number,
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

static void try_grid(struct far *l, const struct grid *g, int number,
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

static void try_stage(struct far *l, int number) {
    const struct kernel_stage *now = l->from->stages[number];
    const struct family *family = family_find(now->family);
    const struct form *form = l->base->stages[number].form;
    for (const struct emitter *const *e = family->emitters; *e; e++) {
        struct kernel_stage start = *now;
        struct objection why;
        struct grid g;
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

static double stage_seconds(const struct far *l, int i) {
    const struct kernel_stage *s = l->from->stages[i];
    return stage_emitter(s, l->target)->estimate(l->base->stages[i].form, l->target, s);
}

struct move *moves_far(struct arena *a, const struct problem *p, const struct target *t,
                       const struct kernel *k, int room, struct rng *rng, int *n_moves) {
    struct arena scratch = {0};
    struct mistakes m = {.arena = &scratch, .source = &(struct lang_source){0}};
    struct far l = {.a = a, .target = t, .from = k, .rng = rng, .room = room};
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
            .kernel = next,
            .prior = -log(all_s - stage_seconds(&l, f->number) + f->seconds),
        };
    }
    *n_moves = l.n;
    arena_reset(&scratch);
    return moves;
}
