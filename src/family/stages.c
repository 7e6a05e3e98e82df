// Merge, split, change of family: edit a copy, choose families and knobs that stay legal, resolve
// it again.
#include "family/stages.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/block.h"
#include "family/family.h"
#include "family/repair.h"

static bool is_output(const struct problem *p, const char *name) {
    for (int i = 0; i < p->n_outputs; i++)
        if (strcmp(p->outputs[i].name, name) == 0)
            return true;
    return false;
}

struct region *stages_region(struct arena *a, const struct problem *p, const struct kernel *k,
                             int i) {
    bool *is_ready = arena_array(a, bool, p->graph.n_nodes);
    for (int j = 0; j < i; j++)
        for (int v = 0; v < k->stages[j]->n_values; v++)
            is_ready[region_find_value(p, k->stages[j]->values[v])] = true;
    return region_build(a, p, k->stages[i]->values, k->stages[i]->n_values, is_ready);
}

// The same for a kernel that shares most of its stages with the edited one.
static struct region *region_near(const struct stages_edit *e, const struct kernel *k, int i) {
    bool *is_ready = arena_array(e->arena, bool, e->problem->graph.n_nodes);
    for (int j = 0; j < i; j++)
        block_mark_ready(e->base, e->problem, k, j, is_ready);
    return region_build(e->arena, e->problem, k->stages[i]->values, k->stages[i]->n_values,
                        is_ready);
}

// The emitter that the stage has, where the family is still the same and takes the region by it.
static const struct emitter *keep_emitter(const struct form *f, const struct target *t,
                                          const struct kernel_stage *s) {
    struct objection why;
    struct kernel_stage any = {0};
    const struct emitter *e = NULL;
    if (s->family && strcmp(s->family, f->family->name) == 0)
        e = family_emitter(f->family, f, t, s, &why);
    return e ? e : family_emitter(f->family, f, t, &any, &why);
}

// The form of a stage's region: as its own family has it, where that takes what would be nest's
// otherwise (a product that gathers an operand).
static const struct form *form_of(const struct region *r, const struct target *t,
                                  const struct kernel_stage *s) {
    struct objection why;
    struct kernel_stage any = {0};
    const struct form *first = family_first_form(r, t);
    const struct family *own = s->family ? family_find(s->family) : NULL;
    if (!first || first->family->kinds != FORM_ANY || !own || !own->find)
        return first;
    const struct form *f = family_form(own, r, &why);
    return f && family_emitter(own, f, t, &any, &why) ? f : first;
}

// Choose a family for stage `i`, keep the knobs that it knows and that stay legal, check all.
static bool settle(const struct stages_edit *e, struct kernel *k, int i) {
    struct arena *a = e->arena;
    const struct problem *p = e->problem;
    const struct target *t = e->target;
    struct region *r = region_near(e, k, i);
    struct error err;
    struct kernel_stage *s = kernel_own_stage(a, k, i);
    const struct form *f = form_of(r, t, s);
    if (!f)
        return false;
    const struct emitter *emitter = keep_emitter(f, t, s);
    if (!emitter)
        return false;
    int n = 0;
    for (int j = 0; j < s->n_knobs; j++)
        if (emitter_knob(emitter, s->knobs[j].name))
            s->knobs[n++] = s->knobs[j];
    s->n_knobs = n;
    s->family = f->family->name;
    s->emitter = emitter->name;
    struct kernel attempt = *k;
    if (lower_check_near(a, p, t, e->base, &attempt, &err)) {
        *k = attempt;
        return true;
    }
    // The nearest legal knobs, else the emitter's own.
    struct kernel_stage kept = *s;
    family_complete(emitter, f, t, s);
    if (!stage_repair(emitter, f, t, NULL, s) || !lower_check_near(a, p, t, e->base, k, &err)) {
        *s = kept;
        s->n_knobs = 0;
        return lower_check_near(a, p, t, e->base, k, &err);
    }
    return true;
}

bool stages_merge(const struct stages_edit *e, struct kernel *out) {
    const struct kernel *k = e->kernel;
    int i = e->stage;
    if (i + 1 >= k->n_stages)
        return false;
    *out = kernel_copy(e->arena, k);
    struct kernel_stage *to = kernel_own_stage(e->arena, out, i + 1);
    for (int v = 0; v < k->stages[i]->n_values; v++) {
        if (!is_output(e->problem, k->stages[i]->values[v]))
            continue;
        if (to->n_values == STAGE_VALUES_MAX)
            return false;
        to->values[to->n_values++] = k->stages[i]->values[v];
    }
    kernel_remove_stage(out, i);
    return settle(e, out, i);
}

// What is split off goes on as the whole did, where its family is the same and legal knobs are
// near; else by the emitter that should be fastest.
static void choose_first(const struct stages_edit *e, const struct form *f,
                         struct kernel_stage *first) {
    const struct kernel_stage *whole = e->kernel->stages[e->stage];
    const struct emitter *emitter = keep_emitter(f, e->target, whole);
    struct kernel_stage kept = *first;
    first->family = kept.family = f->family->name;
    if (strcmp(whole->family, f->family->name) == 0 && emitter == stage_emitter(whole, e->target)) {
        memcpy(kept.knobs, whole->knobs, sizeof kept.knobs);
        kept.n_knobs = whole->n_knobs;
        family_complete(emitter, f, e->target, &kept);
        if (stage_repair(emitter, f, e->target, NULL, &kept)) {
            *first = kept;
            return;
        }
    }
    family_choose(f, e->target, false, first);
}

bool stages_split(const struct stages_edit *e, node_id node, struct kernel *out) {
    const struct kernel *k = e->kernel;
    const struct problem *p = e->problem;
    int i = e->stage;
    if (k->n_stages == STAGES_MAX)
        return false;
    *out = kernel_copy(e->arena, k);
    struct kernel_stage *first = kernel_add_stage(e->arena, out, i);
    first->values[first->n_values++] = p->graph.nodes[node].name;
    struct region *r = region_near(e, out, i);
    const struct form *f = family_first_form(r, e->target);
    struct objection why;
    if (!f || !family_emitter(f->family, f, e->target, first, &why))
        return false;
    choose_first(e, f, first);
    return settle(e, out, i + 1);
}

bool stages_change_emitter(const struct stages_edit *e, const char *family, const char *emitter,
                           struct kernel *out) {
    struct error err;
    *out = kernel_copy(e->arena, e->kernel);
    struct kernel_stage *s = kernel_own_stage(e->arena, out, e->stage);
    s->family = family;
    s->emitter = emitter;
    s->n_knobs = 0;
    return lower_check_near(e->arena, e->problem, e->target, e->base, out, &err);
}
