// Resolve a kernel block. One function per question, asked of each stage in the order in which
// an author would want to hear the answers; the first mistake of a stage ends its questions.
#include "family/block.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "family/block_private.h"
#include "ir/work.h"

bool block_complain(struct resolver *v, const struct kernel_stage *s, struct place at,
                    const char *hint, const char *fmt, ...) {
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    struct spot spot = mistake_spot(v->mistakes, at.line ? at : s->at);
    mistake_add(v->mistakes, spot, hint, "stage %s: %s", s->values[0], text);
    return false;
}

int block_maker(const struct block *b, node_id node, int i) {
    for (int j = i - 1; j >= 0; j--)
        for (int k = 0; k < b->kernel->stages[j]->n_values; k++)
            if (b->stages[j].value[k].node == node)
                return j;
    return -1;
}

// ---- family, laws and form

static bool check_family(struct resolver *v, const struct kernel_stage *s) {
    const char *names[FAMILY_COUNT + 1] = {NULL};
    int n = 0;
    for (const struct family *f = families; f->name; f++)
        if (f->find)
            names[n++] = f->name;
    if (family_find(s->family))
        return true;
    const char *hint = str_nearest(s->family, names);
    return block_complain(v, s, s->family_at, hint, "unknown family '%s'%s%s", s->family,
                          hint ? "" : ": families are ", hint ? "" : family_list(v->arena));
}

static const char *nearest_law(const char *word) {
    const char *names[16] = {NULL};
    for (int n = 0; laws[n].name; n++)
        names[n] = laws[n].name;
    return str_nearest(word, names);
}

static bool check_laws(struct resolver *v, struct block_stage *b) {
    const struct kernel_stage *s = b->text;
    const struct target *t = v->block->target;
    for (int i = 0; i < s->n_laws; i++) {
        const struct law *l = law_find(s->laws[i]);
        if (!l)
            return block_complain(v, s, s->law_at[i], nearest_law(s->laws[i]),
                                  "no law is named '%s'", s->laws[i]);
        const char *why_not = l->why_not_on ? l->why_not_on(t) : NULL;
        if (why_not)
            return block_complain(v, s, s->law_at[i], NULL, "law %s: %s", l->name, why_not);
        if (!law_use(l, b->region, &b->laws))
            return block_complain(v, s, s->law_at[i], NULL,
                                  "law %s takes %s, and this stage has none", l->name, l->pattern);
        if (strcmp(l->name, "split_reduction") == 0 && !s->combine)
            return block_complain(v, s, s->law_at[i], NULL,
                                  "law split_reduction: say how the parts meet: combine atomic, "
                                  "twopass, lastblock or cluster");
    }
    return true;
}

// Sums in memory come out in another order each time; largest and least do not mind.
static bool check_order(struct resolver *v, const struct block_stage *b) {
    const struct problem *p = v->block->problem;
    const struct region *r = b->region;
    for (int i = 0; i < r->n_anchors && b->text->combine == COMBINE_ATOMIC && !p->order_any; i++) {
        enum op op = r->graph->nodes[r->anchor[i]].op;
        bool minds = op != OP_RMAX && op != OP_RMIN &&
                     (r->anchor[i] != b->form->anchor || law_is_used(&b->laws, "split_reduction") ||
                      b->form->kind == ANCHOR_ROWS);
        if (minds)
            return block_complain(v, b->text, b->text->combine_at, NULL,
                                  "combine atomic adds in another order at every call, and the "
                                  "problem does not say 'order any'");
    }
    return true;
}

static bool check_combine(struct resolver *v, const struct kernel_stage *s) {
    const struct target *t = v->block->target;
    if (s->combine != COMBINE_CLUSTER || target_has_clusters(t))
        return true;
    return block_complain(v, s, s->combine_at, NULL,
                          "%s has no clusters; combine atomic, twopass or lastblock",
                          target_kernel_name(t));
}

// "; the family rowwise takes it", "; materialise t first", ...
static const char *advice(struct arena *a, const struct region *r, const struct form_reject *why) {
    bool first = why->first >= 0 && !(region_is_value(r, why->first) && r->n_values == 1);
    const char *name = first ? r->graph->nodes[why->first].name : "";
    // What is materialised is a better stage by itself than a part of a nest.
    if (why->other && first && strcmp(why->other, families[FAMILY_NEST].name) == 0)
        return arena_printf(a, "; materialise %s first, or the family %s takes it", name,
                            why->other);
    if (why->other)
        return arena_printf(a, "; the family %s takes it", why->other);
    return first ? arena_printf(a, "; materialise %s first", name) : "";
}

static bool check_form(struct resolver *v, struct block_stage *b) {
    const struct kernel_stage *s = b->text;
    struct objection objection;
    b->unknown = block_unknown_node(v->arena, b->region);
    if (!b->unknown && !s->n_laws && !s->combine)
        b->form = family_form(family_find(s->family), b->region, &objection);
    if (b->form)
        return true;
    // The emitters do not take it; the language may.
    struct form_request q = {
        .family = family_find(s->family), .laws = &b->laws, .combine = s->combine};
    for (int i = 0; i < s->n_knobs; i++)
        if (strcmp(s->knobs[i].name, "tile") == 0 && s->knobs[i].n_parts >= 2) {
            q.tile[0] = s->knobs[i].part[0];
            q.tile[1] = s->knobs[i].part[1];
        }
    struct form_reject why;
    struct form *form = arena_new(v->arena, struct form);
    b->form = form;
    if (form_find(v->arena, b->region, &q, form, &why))
        return true;
    return block_complain(v, s, s->family_at, NULL, "%s%s", why.text,
                          advice(v->arena, b->region, &why));
}

// ---- computing again

// Per node: does work that is done here for the first time read it, if need be through index
// maps?
static const bool *find_read_anew(struct arena *a, const struct block_stage *b) {
    const struct region *r = b->region;
    bool *anew = arena_array(a, bool, r->graph->n_nodes);
    for (int i = 0; i < r->n_values; i++)
        anew[r->value[i]] = !b->is_recomputed[r->value[i]];
    for (node_id u = r->graph->n_nodes - 1; u >= 0; u--) {
        const struct node *user = &r->graph->nodes[u];
        bool reads = op_infos[user->op].flops == 0 ? anew[u] : !b->is_recomputed[u];
        for (int k = 0; r->is_member[u] && reads && k < user->n_args; k++)
            anew[user->arg[k]] = true;
    }
    return anew;
}

static bool price_recomputing(struct resolver *v, int stage) {
    struct block_stage *b = &v->block->stages[stage];
    const struct region *r = b->region;
    const struct graph *g = r->graph;
    b->is_recomputed = arena_array(v->arena, bool, g->n_nodes);
    bool any = false;
    for (node_id n = r->first; n <= r->last; n++) {
        if (!r->is_member[n] || op_infos[g->nodes[n].op].class == OP_CLASS_LEAF)
            continue;
        if (v->computed_by[n] && work_is_contraction(&g->nodes[n]))
            return block_complain(
                v, b->text, b->text->at, NULL,
                "the product %s is computed by stage %s already; materialise it first",
                g->nodes[n].name, v->block->kernel->stages[v->computed_by[n] - 1]->values[0]);
        b->is_recomputed[n] = v->computed_by[n] > 0 && op_infos[g->nodes[n].op].flops > 0;
        any |= b->is_recomputed[n];
        if (b->is_recomputed[n])
            b->again_flops += work_flops(g, &g->nodes[n]);
        else
            v->computed_by[n] = stage + 1;
    }
    const bool *anew = any ? find_read_anew(v->arena, b) : NULL;
    for (node_id n = 0; any && n < g->n_nodes; n++)
        if (r->is_leaf[n] && !anew[n])
            b->again_bytes +=
                (double)dtype_size(g->nodes[n].dtype, shape_count(&g->nodes[n].shape));
    return true;
}

// ---- prepare

static bool is_param(const struct problem *p, node_id n) {
    for (int i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].node == n)
            return p->inputs[i].is_param;
    return false;
}

static bool is_prepare(const struct block *b, int i) {
    const struct region *r = b->stages[i].region;
    bool any = false;
    for (node_id n = 0; n < r->graph->n_nodes; n++) {
        if (!r->is_leaf[n])
            continue;
        int maker = block_maker(b, n, i);
        any = true;
        if (maker >= 0 ? !b->stages[maker].is_prepare : !is_param(b->problem, n))
            return false;
    }
    return any;
}

// ---- the whole

// Where no stage chooses types or layouts, a stage depends on its text and on what is ready alone.
static bool stores_as_declared(const struct kernel *k) {
    for (int i = 0; i < k->n_stages; i++)
        if (k->stages[i]->type || k->stages[i]->n_layout > 0)
            return false;
    return true;
}

// Kernels share stages, so the same one is the same pointer; an edit moves it by one at most.
static int find_text(const struct block *base, const struct kernel *k, int i) {
    for (int j = i - 1; base && j <= i + 1; j++)
        if (j >= 0 && j < base->n_stages && base->stages[j].text == k->stages[i])
            return j;
    return -1;
}

int block_same_stage(const struct block *base, const struct kernel *k, int i,
                     const bool *is_ready) {
    int j = find_text(base, k, i);
    return j >= 0 && region_is_same(base->stages[j].region, is_ready) ? j : -1;
}

void block_mark_ready(const struct block *base, const struct problem *p, const struct kernel *k,
                      int i, bool *is_ready) {
    int same = find_text(base, k, i);
    for (int j = 0; j < k->stages[i]->n_values; j++) {
        node_id n = same >= 0 ? base->stages[same].value[j].node
                              : region_find_value(p, k->stages[i]->values[j]);
        if (n >= 0)
            is_ready[n] = true;
    }
}

static bool resolve_again(struct resolver *v, int i, const struct block_stage *same) {
    struct block_stage *b = &v->block->stages[i];
    *b = *same;
    b->again_flops = b->again_bytes = 0;
    if (!block_check_values(v, i))
        return false;
    b->is_prepare = is_prepare(v->block, i);
    return price_recomputing(v, i);
}

static bool resolve_stage(struct resolver *v, int i) {
    struct block_stage *b = &v->block->stages[i];
    const struct kernel_stage *s = b->text;
    int same = block_same_stage(v->base, v->block->kernel, i, v->is_ready);
    if (same >= 0)
        return resolve_again(v, i, &v->base->stages[same]);
    if (!block_check_values(v, i) || !block_check_storage(v, i) || !check_family(v, s))
        return false;
    b->region = region_build(v->arena, v->block->problem, s->values, s->n_values, v->is_ready);
    b->is_prepare = is_prepare(v->block, i);
    return check_laws(v, b) && check_combine(v, s) && check_form(v, b) && check_order(v, b) &&
           price_recomputing(v, i) && block_check_emitter(v, i);
}

static bool is_read(const struct block *b, int stage, node_id n) {
    for (int i = stage + 1; i < b->n_stages; i++)
        if (b->stages[i].region->is_leaf[n] && block_maker(b, n, i) == stage)
            return true;
    return false;
}

static bool has_stage(const struct kernel *k, const char *value) {
    for (int i = 0; i < k->n_stages; i++)
        for (int j = 0; j < k->stages[i]->n_values; j++)
            if (strcmp(k->stages[i]->values[j], value) == 0)
                return true;
    return false;
}

static void check_completeness(struct resolver *v) {
    const struct block *b = v->block;
    const struct problem *p = b->problem;
    for (int i = 0; i < p->n_outputs; i++)
        if (!has_stage(b->kernel, p->outputs[i].name))
            mistake_add(v->mistakes, mistake_spot(v->mistakes, b->kernel->at), NULL,
                        "kernel for %s: no stage computes the output %s%s", p->name,
                        p->outputs[i].name,
                        b->n_stages == STAGES_MAX ? " (a block has no room for more stages)" : "");
    for (int i = 0; i < b->n_stages; i++) {
        const struct kernel_stage *s = b->stages[i].text;
        for (int j = 0; j < s->n_values; j++)
            if (!block_is_output(p, s->values[j]) && !is_read(b, i, b->stages[i].value[j].node))
                block_complain(v, s, s->value_at[j], NULL, "nobody reads %s", s->values[j]);
    }
}

struct block *block_resolve(struct arena *a, const struct problem *p, const struct target *t,
                            const struct kernel *k, struct mistakes *m) {
    return block_resolve_near(a, p, t, NULL, k, m);
}

struct block *block_resolve_near(struct arena *a, const struct problem *p, const struct target *t,
                                 const struct block *base, const struct kernel *k,
                                 struct mistakes *m) {
    struct block *b = arena_new(a, struct block);
    *b = (struct block){.problem = p, .target = t, .kernel = k, .n_stages = k->n_stages};
    b->stages = arena_array(a, struct block_stage, k->n_stages + 1);
    struct resolver v = {.arena = a, .block = b, .mistakes = m};
    if (base && stores_as_declared(k) && stores_as_declared(base->kernel))
        v.base = base;
    v.is_ready = arena_array(a, bool, p->graph.n_nodes);
    v.computed_by = arena_array(a, int, p->graph.n_nodes);
    int before = m->count;
    for (int i = 0; i < k->n_stages; i++) {
        b->stages[i].text = k->stages[i];
        int same = find_text(v.base, k, i);
        for (int j = 0; j < k->stages[i]->n_values; j++)
            b->stages[i].value[j].node = same >= 0 ? v.base->stages[same].value[j].node
                                                   : region_find_value(p, k->stages[i]->values[j]);
        b->stages[i].ok = resolve_stage(&v, i);
        block_mark_ready(v.base, p, k, i, v.is_ready);
    }
    if (m->count == before)
        check_completeness(&v);
    return b;
}
