// The block that is tried first. Each output is asked for as one stage; where no family
// takes its region, the region is cut at its first anchor and both parts are tried again.
// This ends because a region with one anchor at its end, or none, is always taken.
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/family.h"
#include "family/lower.h"
#include "family/nest.h"
#include "family/stages.h"

struct choice {
    struct arena *arena;
    const struct problem *problem;
    const struct target *target;
    struct kernel *kernel;
    bool *is_ready;
};

// The stage by the emitter that should be fastest, of those that take the region.
static void choose_emitter(const struct choice *c, const struct form *f, struct kernel_stage *s) {
    double least = INFINITY;
    struct kernel_stage plain = *s;
    for (const struct emitter *const *e = f->family->emitters; *e; e++) {
        struct kernel_stage named = plain;
        struct objection why;
        named.emitter = (*e)->name;
        if (family_emitter(f->family, f, c->target, &named, &why) != *e)
            continue;
        family_complete(*e, f, c->target, &named);
        double seconds = (*e)->estimate(f, c->target, &named);
        if (seconds >= least)
            continue;
        least = seconds;
        *s = named;
    }
}

// A region that no family takes, for its last reduction is over other axes than those before it
// (a loss of rows, then their mean): what that reduction takes, where one stage computes it and it
// is small. -1: there is none.
static node_id find_small_cut(const struct choice *c, const struct region *r) {
    enum { SMALL = 8 };
    if (r->n_anchors < 3)
        return -1;
    node_id last = r->anchor[r->n_anchors - 1], n = r->graph->nodes[last].arg[0];
    if (form_node_kind(r->graph, last) != ANCHOR_REDUCTION || !r->is_member[n] ||
        form_node_kind(r->graph, n) != ANCHOR_NONE)
        return -1;
    const struct node *first = &r->graph->nodes[r->anchor[0]];
    if (shape_count(&r->graph->nodes[n].shape) * SMALL >
        shape_count(&r->graph->nodes[first->arg[0]].shape))
        return -1;
    const char *name = r->graph->nodes[n].name;
    const struct region *part = region_build(c->arena, c->problem, &name, 1, c->is_ready);
    const struct form *f = family_first_form(part, c->target);
    return f && f->family->kinds != FORM_ANY && part->n_anchors == r->n_anchors - 1 ? n : -1;
}

static void materialise(struct choice *c, const char *name) {
    for (;;) {
        struct region *r = region_build(c->arena, c->problem, &name, 1, c->is_ready);
        const struct form *f = family_first_form(r, c->target);
        struct kernel_stage any = {0};
        struct objection why;
        const struct emitter *e = f ? family_emitter(f->family, f, c->target, &any, &why) : NULL;
        if (c->kernel->n_stages == STAGES_MAX)
            return;
        node_id slow = e && f->family->kinds == FORM_ANY ? nest_cut(r) : -1;
        if (slow >= 0) {
            materialise(c, c->problem->graph.nodes[slow].name);
            continue;
        }
        if (e) {
            struct kernel_stage *s = kernel_add_stage(c->arena, c->kernel, c->kernel->n_stages);
            *s = (struct kernel_stage){.values = {name}, .n_values = 1, .family = f->family->name};
            choose_emitter(c, f, s);
            c->is_ready[r->value[0]] = true;
            return;
        }
        node_id cut = find_small_cut(c, r);
        cut = cut >= 0 ? cut : region_cut(r);
        assert(cut >= 0);
        materialise(c, c->problem->graph.nodes[cut].name);
    }
}

static bool has_output(const struct problem *p, const struct kernel_stage *s) {
    for (int i = 0; i < s->n_values; i++)
        for (int j = 0; j < p->n_outputs; j++)
            if (strcmp(s->values[i], p->outputs[j].name) == 0)
                return true;
    return false;
}

void lower_default(struct arena *a, const struct problem *p, const struct target *t,
                   struct kernel *k) {
    *k = (struct kernel){.problem = p->name, .target = target_kernel_name(t)};
    struct choice c = {a, p, t, k, arena_array(a, bool, p->graph.n_nodes)};
    for (int i = 0; i < p->n_outputs; i++)
        materialise(&c, p->outputs[i].name);
    // Outputs that one stage can compute together share what they read.
    for (int i = 0; i + 1 < k->n_stages;) {
        struct arena scratch = {0};
        struct kernel merged;
        if (has_output(p, k->stages[i]) &&
            stages_merge(&(struct stages_edit){&scratch, p, t, k, i, NULL}, &merged))
            *k = kernel_copy_whole(a, &merged);
        else
            i++;
        arena_reset(&scratch);
    }
    struct error err;
    bool ok = lower_check(a, p, t, k, &err);
    assert(ok || k->n_stages == STAGES_MAX);
}
