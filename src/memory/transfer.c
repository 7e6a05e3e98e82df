#include "memory/transfer.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "family/block_set.h"
#include "family/family.h"
#include "family/lower.h"
#include "family/repair.h"
#include "family/stages.h"
#include "lang/lang.h"
#include "memory/kind.h"

struct kernel *transfer_read(struct arena *a, const char *text) {
    struct lang_file file = {0};
    const char *diagnostics;
    struct error ignored = {0};
    struct lang_source source = {.file = "memory", .text = text, .len = strlen(text)};
    bool ok = lang_parse(a, &source, &file, &diagnostics, &ignored) && file.n_kernels == 1;
    return ok ? file.kernels[0] : NULL;
}

// ---- whose stages

// The name that a node has as a value of a stage: an output's, else its own.
static const char *value_name(const struct problem *p, node_id n) {
    for (int i = 0; i < p->n_outputs; i++)
        if (kind_uncast(&p->graph, p->outputs[i].node) == n)
            return p->outputs[i].name;
    return p->graph.nodes[n].name;
}

static const char *renamed(const struct lesson *from, const struct problem *p, const node_id *order,
                           int n, const char *name) {
    for (int i = 0; i < from->n_values; i++) {
        int place = from->values[i].place;
        if (strcmp(from->values[i].name, name) == 0 && place >= 0 && place < n)
            return value_name(p, order[place]);
    }
    return NULL;
}

// The champion's stages with the values' names of this problem. False: some value is not there.
static bool rename_stages(struct arena *a, const struct lesson *from, const struct problem *p,
                          struct kernel *k) {
    node_id *order = arena_array(a, node_id, p->graph.n_nodes + 1);
    int n = kind_order(p, order);
    for (int i = 0; i < k->n_stages; i++) {
        struct kernel_stage *s = kernel_own_stage(a, k, i);
        s->n_layout = 0;  // names of axes are the other problem's
        s->type = NULL;
        for (int v = 0; v < s->n_values; v++) {
            s->values[v] = renamed(from, p, order, n, s->values[v]);
            if (!s->values[v] || region_find_value(p, s->values[v]) < 0)
                return false;
        }
    }
    return true;
}

static void take_settings(struct kernel_stage *to, const struct kernel_stage *from) {
    to->emitter = from->emitter;
    to->n_knobs = from->n_knobs;
    memcpy(to->knobs, from->knobs, sizeof to->knobs);
    to->combine = from->combine;
    to->n_laws = from->n_laws;
    memcpy(to->laws, from->laws, sizeof to->laws);
}

// The default kernel's stages, each set as the champion's next stage of its family.
static void set_default_stages(struct arena *a, const struct problem *p, const struct target *t,
                               const struct kernel *champion, struct kernel *k) {
    bool *is_used = arena_array(a, bool, champion->n_stages + 1);
    lower_default(a, p, t, k);
    for (int i = 0; i < k->n_stages; i++)
        for (int j = 0; j < champion->n_stages; j++) {
            if (is_used[j] || strcmp(champion->stages[j]->family, k->stages[i]->family) != 0)
                continue;
            take_settings(kernel_own_stage(a, k, i), champion->stages[j]);
            is_used[j] = true;
            break;
        }
}

// ---- to what is legal

// Every knob on the emitter's grid; what it does not know is left out.
static void fit_knobs(const struct emitter *e, struct kernel_stage *s) {
    int n = 0;
    for (int i = 0; i < s->n_knobs; i++) {
        struct kernel_knob *given = &s->knobs[i];
        const struct knob *k = emitter_knob(e, given->name);
        if (!k || (k->words != NULL) != (given->word != NULL) ||
            (k->words ? knob_word(k, given->word) < 0 : knob_parts(k) != given->n_parts))
            continue;
        for (int part = 0; !k->words && part < knob_parts(k); part++)
            given->part[part] = knob_nearest(k, part, given->part[part]);
        s->knobs[n++] = *given;
    }
    s->n_knobs = n;
}

static bool settle_stage(struct arena *a, const struct problem *p, const struct target *t,
                         struct kernel *k, int i) {
    struct kernel_stage *s = kernel_own_stage(a, k, i);
    const struct family *family = family_find(s->family);
    struct objection why;
    const struct form *f = family ? family_form(family, stages_region(a, p, k, i), &why) : NULL;
    const struct emitter *e = f ? family_emitter(family, f, t, s, &why) : NULL;
    if (f && !e) {
        s->emitter = NULL;
        s->n_knobs = 0;
        e = family_emitter(family, f, t, s, &why);
    }
    if (!e)
        return false;
    fit_knobs(e, s);
    family_complete(e, f, t, s);
    if (stage_repair(e, f, t, NULL, s))
        return true;
    s->n_knobs = 0;
    family_complete(e, f, t, s);
    return true;
}

static bool settle(struct arena *a, const struct problem *p, const struct target *t,
                   struct kernel *k) {
    struct error ignored = {0};
    k->problem = p->name;
    k->target = target_kernel_name(t);
    for (int i = 0; i < k->n_stages; i++)
        if (!settle_stage(a, p, t, k, i))
            return false;
    struct kernel bare = kernel_copy_whole(a, k);
    if (lower_check(a, p, t, k, &ignored))
        return true;
    for (int i = 0; i < bare.n_stages; i++) {
        bare.stages[i]->combine = COMBINE_NONE;
        bare.stages[i]->n_laws = 0;
    }
    *k = bare;
    return lower_check(a, p, t, k, &ignored);
}

// On a table only its blocks are legal.
static const char *inside(const struct target *t, const char *text) {
    return t->blocks && !block_set_has(t->blocks, text) ? block_set_nearest(t->blocks, text) : text;
}

const char *transfer_block(struct arena *a, const struct lesson *from, const struct problem *p,
                           const struct target *t) {
    struct problem_kind kind;
    const struct kernel *champion = from->block ? transfer_read(a, from->block) : NULL;
    if (!champion)
        return NULL;
    kind_of(a, p, &kind);
    struct kernel k = kernel_copy_whole(a, champion);
    if (strcmp(kind.form, from->kind.form) == 0 && rename_stages(a, from, p, &k) &&
        settle(a, p, t, &k))
        return inside(t, kernel_print(a, &k));
    set_default_stages(a, p, t, champion, &k);
    return settle(a, p, t, &k) ? inside(t, kernel_print(a, &k)) : NULL;
}

// Where the forms differ: a stage is called as the default kernel's next stage of its family.
static void name_by_family(struct arena *a, const struct problem *p, const struct target *t,
                           struct kernel *k) {
    struct kernel own;
    lower_default(a, p, t, &own);
    bool *is_used = arena_array(a, bool, own.n_stages + 1);
    for (int i = 0; i < k->n_stages; i++)
        for (int j = 0; j < own.n_stages; j++) {
            struct kernel_stage *s = k->stages[i];
            if (is_used[j] || strcmp(s->family, own.stages[j]->family) != 0)
                continue;
            s = kernel_own_stage(a, k, i);
            s->n_values = own.stages[j]->n_values;
            memcpy(s->values, own.stages[j]->values, sizeof s->values);
            s->n_layout = 0;
            s->type = NULL;
            is_used[j] = true;
            break;
        }
}

const char *transfer_names(struct arena *a, const struct lesson *from, const char *block,
                           const struct problem *p, const struct target *t) {
    struct problem_kind kind;
    const struct kernel *read = transfer_read(a, block);
    if (!read)
        return NULL;
    kind_of(a, p, &kind);
    struct kernel k = kernel_copy_whole(a, read);
    if (strcmp(kind.form, from->kind.form) != 0 || !rename_stages(a, from, p, &k)) {
        k = kernel_copy_whole(a, read);
        name_by_family(a, p, t, &k);
    }
    k.problem = p->name;
    k.target = target_kernel_name(t);
    return kernel_print(a, &k);
}
