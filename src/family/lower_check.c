// Check a kernel block. One function per question, asked in the order in which an author
// would want to hear the answers.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "family/family.h"
#include "family/lower.h"
#include "family/region.h"
#include "family/support.h"
#include "lang/mistake.h"

struct checker {
    struct arena *arena;
    const struct problem *problem;
    const struct target *target;
    struct kernel *kernel;
    struct error *err;
    bool *is_ready;   // per node
    int *contracted;  // per node: the stage that computes this contraction, from 1
};

static bool __attribute__((format(printf, 3, 4)))
complain(struct checker *c, struct place at, const char *fmt, ...) {
    char text[800], where[160] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const char *file = c->kernel->file;
    if (at.line > 0)
        snprintf(where, sizeof where, "%s%s%d:%d: ", file ? file : "", file ? ":" : "", at.line,
                 at.column);
    else if (file)
        snprintf(where, sizeof where, "%s: ", file);
    const char *line =
        c->kernel->text ? mistake_excerpt(c->arena, c->kernel->text, c->kernel->text_len, at) : "";
    return error_set(c->err, ERROR_PARSE, "%s%s%s%s", where, text, *line ? "\n" : "", line);
}

// ": did you mean 'x'?", or nothing.
static const char *hint(struct checker *c, const char *word, const char *const *names) {
    const char *nearest = str_nearest(word, names);
    return nearest ? arena_printf(c->arena, ": did you mean '%s'?", nearest) : "";
}

static const char *const *value_names(struct checker *c) {
    const struct graph *g = &c->problem->graph;
    const char **names = arena_array(c->arena, const char *, g->n_nodes + 1);
    int n = 0;
    for (node_id i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op != OP_INPUT && g->nodes[i].op != OP_CONST)
            names[n++] = g->nodes[i].name;
    return names;
}

static bool is_output(const struct problem *p, const char *name) {
    for (int i = 0; i < p->n_outputs; i++)
        if (strcmp(p->outputs[i].name, name) == 0)
            return true;
    return false;
}

static bool check_values(struct checker *c, int stage) {
    struct kernel_stage *s = &c->kernel->stages[stage];
    for (int i = 0; i < s->n_values; i++) {
        const char *name = s->values[i];
        node_id n = region_find_value(c->problem, name);
        if (n < 0)
            return complain(c, s->at, "stage %s: the problem %s has no such value%s", name,
                            c->problem->name, hint(c, name, value_names(c)));
        enum op op = c->problem->graph.nodes[n].op;
        if ((op == OP_INPUT || op == OP_CONST) && !is_output(c->problem, name))
            return complain(c, s->at, "stage %s: it is %s, there already", name,
                            op == OP_INPUT ? "an input" : "a constant");
        for (int j = 0; j <= stage; j++)
            for (int v = 0; v < (j == stage ? i : c->kernel->stages[j].n_values); v++)
                if (strcmp(c->kernel->stages[j].values[v], name) == 0)
                    return complain(c, s->at, "stage %s: the value is materialised twice", name);
    }
    return true;
}

static bool check_family(struct checker *c, struct kernel_stage *s, const struct family **f) {
    const char *names[16];
    int n = 0;
    for (const struct family *const *each = families; *each; each++)
        names[n++] = (*each)->name;
    names[n] = NULL;
    *f = family_on(family_find(s->family), c->target);
    return *f || complain(c, s->family_at, "stage %s: unknown family '%s'%s", s->values[0],
                          s->family, hint(c, s->family, names));
}

static bool check_knob_names(struct checker *c, const struct kernel_stage *s,
                             const struct family *f) {
    const char *names[KNOBS_MAX + 1];
    int n = 0;
    for (const struct knob *k = f->knobs; k->name; k++)
        names[n++] = k->name;
    names[n] = NULL;
    for (int i = 0; i < s->n_knobs; i++) {
        const struct kernel_knob *k = &s->knobs[i];
        if (!family_knob(f, k->name))
            return complain(c, k->at, "stage %s: %s has no knob '%s'%s", s->values[0], f->name,
                            k->name, hint(c, k->name, names));
    }
    return true;
}

static bool check_region(struct checker *c, const struct kernel_stage *s, const struct family *f,
                         const struct region *r) {
    struct objection why;
    if (family_accepts(f, r, &why))
        return true;
    const struct family *other = family_for(r);
    node_id cut = region_cut(r);
    const char *advice = other ? arena_printf(c->arena, "; the family %s takes it", other->name)
                         : cut >= 0 ? arena_printf(c->arena, "; materialise %s first",
                                                   c->problem->graph.nodes[cut].name)
                                    : "";
    return complain(c, s->family_at, "stage %s: %s%s", s->values[0], why.text,
                    strstr(why.text, "materialise") ? "" : advice);
}

static bool check_recomputing(struct checker *c, int stage, const struct region *r) {
    const struct kernel_stage *s = &c->kernel->stages[stage];
    for (int i = 0; i < r->n_anchors; i++) {
        node_id n = r->anchor[i];
        if (op_infos[r->graph->nodes[n].op].class != OP_CLASS_CONTRACT)
            continue;
        if (c->contracted[n])
            return complain(c, s->at,
                            "stage %s: the product %s is computed by stage %s already; materialise "
                            "it first",
                            s->values[0], r->graph->nodes[n].name,
                            c->kernel->stages[c->contracted[n] - 1].values[0]);
        c->contracted[n] = stage + 1;
    }
    return true;
}

static bool check_knobs(struct checker *c, struct kernel_stage *s, const struct family *f,
                        const struct region *r) {
    struct place at = s->at;
    struct objection why;
    struct kernel_stage full = *s;
    family_complete(f, r, c->target, &full);
    if (!family_is_legal(f, r, c->target, &full, &why)) {
        for (int i = 0; why.knob && i < s->n_knobs; i++)
            if (strcmp(s->knobs[i].name, why.knob) == 0)
                at = s->knobs[i].at;
        return complain(c, at, "stage %s: %s", s->values[0], why.text);
    }
    *s = full;
    return true;
}

static bool check_stage(struct checker *c, int i) {
    struct kernel_stage *s = &c->kernel->stages[i];
    const struct family *f;
    if (!check_values(c, i) || !check_family(c, s, &f) || !check_knob_names(c, s, f))
        return false;
    const struct region *r =
        region_build(c->arena, c->problem, s->values, s->n_values, c->is_ready);
    if (!check_region(c, s, f, r) || !check_recomputing(c, i, r) || !check_knobs(c, s, f, r))
        return false;
    for (int v = 0; v < r->n_values; v++)
        c->is_ready[r->value[v]] = true;
    return true;
}

// Does a stage after `stage` read the node?
static bool is_read_later(struct checker *c, int stage, node_id n) {
    bool *ready = arena_array(c->arena, bool, c->problem->graph.n_nodes);
    for (int i = 0; i < c->kernel->n_stages; i++) {
        const struct kernel_stage *s = &c->kernel->stages[i];
        const struct region *r = region_build(c->arena, c->problem, s->values, s->n_values, ready);
        if (i > stage && r->is_leaf[n])
            return true;
        for (int v = 0; v < r->n_values; v++)
            ready[r->value[v]] = true;
    }
    return false;
}

static bool check_completeness(struct checker *c) {
    for (int o = 0; o < c->problem->n_outputs; o++) {
        bool found = false;
        for (int i = 0; i < c->kernel->n_stages; i++)
            for (int v = 0; v < c->kernel->stages[i].n_values; v++)
                found |= strcmp(c->kernel->stages[i].values[v], c->problem->outputs[o].name) == 0;
        if (!found)
            return complain(
                c, (struct place){0}, "kernel for %s: no stage computes the output %s%s",
                c->problem->name, c->problem->outputs[o].name,
                c->kernel->n_stages == STAGES_MAX ? " (a block has no room for more stages)" : "");
    }
    for (int i = 0; i < c->kernel->n_stages; i++)
        for (int v = 0; v < c->kernel->stages[i].n_values; v++) {
            const struct kernel_stage *s = &c->kernel->stages[i];
            if (!is_output(c->problem, s->values[v]) &&
                !is_read_later(c, i, region_find_value(c->problem, s->values[v])))
                return complain(c, s->at, "stage %s: nobody reads it", s->values[v]);
        }
    return true;
}

bool lower_check(struct arena *a, const struct problem *p, const struct target *t, struct kernel *k,
                 struct error *err) {
    struct checker c = {.arena = a, .problem = p, .target = t, .kernel = k, .err = err};
    struct place nowhere = {0};
    if (strcmp(k->problem, p->name) != 0)
        return complain(&c, nowhere, "the kernel is for %s, not for %s", k->problem, p->name);
    if (strcmp(k->target, target_kernel_name(t)) != 0)
        return complain(&c, nowhere, "the kernel is for the target %s, not for %s", k->target,
                        target_kernel_name(t));
    struct error why;
    if (!support_problem(p, &why))
        return complain(&c, nowhere, "%s", why.text);
    c.is_ready = arena_array(a, bool, p->graph.n_nodes);
    c.contracted = arena_array(a, int, p->graph.n_nodes);
    for (int i = 0; i < k->n_stages; i++)
        if (!check_stage(&c, i))
            return false;
    return check_completeness(&c);
}
