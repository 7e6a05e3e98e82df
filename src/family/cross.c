// The list of stages is that of one parent, so the block computes the problem whatever the other
// gives; each stage is then mixed by itself.
#include "family/cross.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rng.h"
#include "family/block.h"
#include "family/family.h"
#include "family/lower.h"
#include "family/repair.h"
#include "lang/lang.h"

struct crossing {
    struct arena *a;
    const struct problem *problem;
    const struct target *target;
    struct rng *rng;
};

static bool heads(const struct crossing *c) {
    return rng_below(c->rng, 2) == 1;
}

// The stage of `k` that makes the same values in the same way of storage; NULL: none.
static const struct kernel_stage *same_values(const struct kernel *k,
                                              const struct kernel_stage *s) {
    for (int i = 0; i < k->n_stages; i++) {
        const struct kernel_stage *other = k->stages[i];
        bool is_same = other->n_values == s->n_values && !other->type == !s->type &&
                       (!s->type || strcmp(other->type, s->type) == 0);
        for (int v = 0; is_same && v < s->n_values; v++)
            is_same = strcmp(other->values[v], s->values[v]) == 0;
        if (is_same)
            return other;
    }
    return NULL;
}

// Knobs from both. False: no legal stage is near.
static bool mix_knobs(const struct crossing *c, const struct form *f,
                      const struct kernel_stage *from, struct kernel_stage *s) {
    const struct emitter *e = stage_emitter(s, c->target);
    for (const struct knob *k = e->knobs; k->name; k++)
        if (heads(c))
            for (int part = 0; part < knob_parts(k); part++)
                stage_choose(k, s, part, stage_choice(k, from, part));
    return stage_repair(e, f, c->target, NULL, s);
}

// The other's stage, where its family takes the region that the stage has here.
static bool take_whole(const struct crossing *c, const struct region *r,
                       const struct kernel_stage *from, struct kernel_stage *s) {
    struct objection why;
    const struct form *f = family_form(family_find(from->family), r, &why);
    if (!f || !heads(c) ||
        family_emitter(f->family, f, c->target, from, &why) != stage_emitter(from, c->target))
        return false;
    *s = *from;
    return stage_repair(stage_emitter(s, c->target), f, c->target, NULL, s);
}

// Mix stage `i` of `out`, where that gives something legal.
static void cross_stage(const struct crossing *c, const struct block_stage *base,
                        const struct kernel *y, struct kernel *out, int i) {
    const struct kernel_stage *old = out->stages[i], *from = same_values(y, old);
    if (!from)
        return;
    struct kernel_stage mixed = *old;
    bool is_same_emitter = stage_emitter(from, c->target) == stage_emitter(old, c->target) &&
                           strcmp(from->family, old->family) == 0;
    bool ok = is_same_emitter ? mix_knobs(c, base->form, from, &mixed)
                              : take_whole(c, base->region, from, &mixed);
    if (ok)
        *kernel_own_stage(c->a, out, i) = mixed;
}

// What the stages became that are other than they were, or NULL.
static const char *changes_of(const struct crossing *c, const struct kernel *x,
                              const struct kernel *out) {
    const char *words = NULL;
    for (int i = 0; i < x->n_stages; i++) {
        if (out->stages[i] == x->stages[i])
            continue;
        const char *change = stage_change_text(c->a, c->target, x->stages[i], out->stages[i]);
        if (change[strlen(change) - 1] != ':')
            words = words ? arena_printf(c->a, "%s; %s", words, change) : change;
    }
    return words;
}

bool kernel_cross(struct arena *a, const struct problem *p, const struct target *t,
                  const struct kernel *x, const struct kernel *y, struct rng *rng,
                  struct kernel *out, const char **words) {
    struct crossing c = {a, p, t, rng};
    struct mistakes m = {.arena = a, .source = &(struct lang_source){0}};
    struct error err;
    const struct block *base = block_resolve(a, p, t, x, &m);
    if (m.count > 0)
        return false;
    *out = kernel_copy(a, x);
    for (int i = 0; i < x->n_stages; i++)
        cross_stage(&c, &base->stages[i], y, out, i);
    *words = changes_of(&c, x, out);
    return *words && lower_check(a, p, t, out, &err);
}
