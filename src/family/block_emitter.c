// What a family's emitter says to a stage that the language admits.
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "family/block_private.h"
#include "family/support.h"

// "; it has vec, rows"
static const char *knobs_there_are(struct arena *a, const char *const *names) {
    struct str s = {0};
    str_puts(&s, names[0] ? "; it has " : "; it has none");
    for (int i = 0; names[i]; i++)
        str_printf(&s, "%s%s", i ? ", " : "", names[i]);
    return str_take(a, &s);
}

static bool check_knob_names(struct resolver *v, const struct kernel_stage *s,
                             const struct emitter *e) {
    const char *names[KNOBS_MAX + 1] = {NULL};
    int n = 0;
    bool is_one_of_many = family_count_emitters(family_find(s->family), v->block->target) > 1;
    for (const struct knob *k = e->knobs; k->name; k++)
        names[n++] = k->name;
    bool ok = true;
    for (int i = 0; i < s->n_knobs; i++) {
        const struct kernel_knob *k = &s->knobs[i];
        if (emitter_knob(e, k->name))
            continue;
        const char *near = str_nearest(k->name, names);
        ok = block_complain(v, s, k->at, near, "%s%s%s has no knob '%s'%s", s->family,
                            is_one_of_many ? " as " : "", is_one_of_many ? e->name : "", k->name,
                            near ? "" : knobs_there_are(v->arena, names));
    }
    return ok;
}

static bool has_vectors(enum dtype t) {
    return t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16;
}

// A word of the language that waits for an emitter, and what there is.
static const char *no_word(struct arena *a, const char *word) {
    return arena_printf(a,
                        "no emitter takes '%s' yet: a stage has values, a type they are kept as, a "
                        "family, an emitter and knobs",
                        word);
}

static const char *storage_without_emitter(struct arena *a, const struct block_stage *b,
                                           const struct problem *p) {
    for (int i = 0; i < b->text->n_values; i++) {
        const struct node *n = &p->graph.nodes[b->value[i].node];
        // Where the value itself may be moved in vectors, what it is kept as must be too.
        if (b->value[i].dtype != n->dtype && has_vectors(n->dtype) &&
            !has_vectors(b->value[i].dtype))
            return arena_printf(a, "no emitter keeps a value as %s yet: it can be f32, f16 or bf16",
                                dtype_name(b->value[i].dtype));
        if (b->value[i].is_permuted ||
            (n->op == OP_INPUT && !block_is_output(p, b->text->values[i])))
            return no_word(a, "layout");
    }
    return NULL;
}

const char *block_unknown_node(struct arena *a, const struct region *r) {
    struct error err;
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (r->is_member[n] && !support_node(r->problem, n, &err))
            return arena_strdup(a, err.text);
    return NULL;
}

static const char *refused_by_emitter(struct arena *a, const struct block_stage *b,
                                      const struct target *t) {
    struct objection why;
    if (family_form(family_find(b->text->family), b->region, &why))
        return NULL;
    const struct form *other = family_first_form(b->region, t);
    node_id cut = region_cut(b->region);
    if (b->form->reduced && b->form->kind != ANCHOR_ROWS)
        objection(&why, NULL, "no emitter for reductions in an epilogue yet");
    const char *advice = "";
    if (other)
        advice = arena_printf(a, "; the family %s takes it", other->family->name);
    else if (cut >= 0 && !strstr(why.text, "materialise"))
        advice = arena_printf(a, "; materialise %s first", b->region->graph->nodes[cut].name);
    return arena_printf(a, "%s%s", why.text, advice);
}

static const char *no_family(struct arena *a, const struct block_stage *b, const struct target *t) {
    const struct form *other = b->unknown ? NULL : family_first_form(b->region, t);
    const struct family *own = family_find(b->text->family);
    if (own && own->find)
        return arena_printf(a, "no emitter computes %s on %s%s%s%s", own->name,
                            target_kernel_name(t), other ? ": " : "",
                            other ? other->family->name : "", other ? " takes it" : "");
    return arena_printf(a, "no emitter computes %s yet: there are %s%s%s%s", b->text->family,
                        family_list(a), other ? ", and " : "", other ? other->family->name : "",
                        other ? " takes it" : "");
}

// Why nobody lowers the stage yet, or NULL.
static const char *find_gap(struct arena *a, const struct block_stage *b, const struct block *in) {
    if (!b->emitter)
        return no_family(a, b, in->target);
    const char *storage = storage_without_emitter(a, b, in->problem);
    if (storage)
        return storage;
    if (b->text->combine || b->text->n_laws)
        return no_word(a, b->text->combine ? "combine" : "laws");
    return b->unknown ? b->unknown : refused_by_emitter(a, b, in->target);
}

static bool check_knobs(struct resolver *v, struct block_stage *b) {
    const struct kernel_stage *s = b->text;
    struct place at = s->at;
    struct objection why;
    family_complete(b->emitter, b->form, v->block->target, &b->complete);
    if (emitter_is_legal(b->emitter, b->form, v->block->target, &b->complete, &why))
        return true;
    for (int i = 0; why.knob && i < s->n_knobs; i++)
        if (strcmp(s->knobs[i].name, why.knob) == 0)
            at = s->knobs[i].at;
    return block_complain(v, s, at, NULL, "%s", why.text);
}

bool block_check_emitter(struct resolver *v, int i) {
    struct block_stage *b = &v->block->stages[i];
    const struct kernel_stage *s = b->text;
    const struct target *t = v->block->target;
    const struct family *f = family_find(s->family);
    struct objection why;
    b->complete = *s;
    b->emitter = family_emitter(f, NULL, t, s, &why);
    if (!b->emitter && s->emitter && f->emitters[0])
        return block_complain(v, s, s->emitter_at, NULL, "%s", why.text);
    if (b->emitter && !check_knob_names(v, s, b->emitter))
        return false;
    b->no_emitter = find_gap(v->arena, b, v->block);
    if (b->no_emitter)
        return true;
    b->emitter = family_emitter(f, b->form, t, s, &why);
    if (!b->emitter)
        b->no_emitter = arena_strdup(v->arena, why.text);
    return b->no_emitter || (check_knob_names(v, s, b->emitter) && check_knobs(v, b));
}
