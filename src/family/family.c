// The table of families, and which of them takes a region.
#include "family/family.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "family/attention_form.h"
#include "family/conv_form.h"
#include "family/gemm_form.h"
#include "family/in_place.h"
#include "family/library_form.h"
#include "family/map_form.h"
#include "family/maxsim_form.h"
#include "family/nest.h"
#include "family/qgemm_form.h"
#include "family/ragged_form.h"
#include "family/reduce_form.h"
#include "family/rowgemm_form.h"
#include "family/rows.h"
#include "family/scan_form.h"
#include "family/scatter_form.h"

static bool pool_find(struct form *f, struct objection *why) {
    return in_place_check(f->region, f->anchor, why);
}

// What joins two by two: of one reduction in every type of numbers (fold.h), elsewhere as f32.
// Emitters of gemm say themselves whether they add up whole numbers.
#define TYPE(name) (1u << LOOP_##name)
#define NUMBERS (TYPE(F32) | TYPE(F64) | TYPE(I32) | TYPE(I64))
#define FOLDS(...) ((const struct family_fold[]){__VA_ARGS__, {0}})
#define REDUCES(types) \
    { OP_CLASS_REDUCE, types }
#define MULTIPLIES(types) \
    { OP_CLASS_CONTRACT, types }
#define SLIDES \
    { OP_CLASS_WINDOW, TYPE(F32) }
#define IN_F32 REDUCES(TYPE(F32)), MULTIPLIES(TYPE(F32))

#define KIND(name) (1u << ANCHOR_##name)
#define EMITTERS(...) ((const struct emitter *const[]){__VA_ARGS__, NULL})

const struct family families[] = {
    [FAMILY_MAP] = {"map", KIND(NONE), "elementwise values", map_find,
                    EMITTERS(&map_cpu, &map_tiles_cpu, &map_simt, &map_tiles, &map_gathered), 0,
                    FOLDS(IN_F32)},
    [FAMILY_ROWWISE] = {"rowwise", KIND(ROWS), "reductions over the same axes, each spread again",
                        rows_find,
                        EMITTERS(&rowwise_cpu, &rowwise_columns_cpu, &rowwise_simt, &rowwise_blocks,
                                 &rowwise_columns),
                        0, FOLDS(IN_F32)},
    [FAMILY_REDUCE] = {"reduce", KIND(REDUCTION), "one reduction", reduce_find,
                       EMITTERS(&reduce_cpu, &reduce_simt), 0,
                       FOLDS(REDUCES(NUMBERS), MULTIPLIES(TYPE(F32)))},
    [FAMILY_GEMM] = {"gemm", KIND(CONTRACTION) | KIND(WINDOW), "a matrix product", gemm_find,
                     EMITTERS(&gemm_cpu, &gemm_simt, &gemm_dot, &gemm_mma, &gemm_wgmma,
                              &gemm_cutlass),
                     0, FOLDS(REDUCES(TYPE(F32)), MULTIPLIES(TYPE(F32) | TYPE(I32)), SLIDES)},
    [FAMILY_QGEMM] = {"qgemm", KIND(CONTRACTION), "a product with quantised weights", qgemm_find,
                      EMITTERS(&qgemm_mma, &qgemm_stream), FAMILY_MATRIX_ONLY, FOLDS(IN_F32)},
    [FAMILY_RAGGED] = {"ragged", KIND(CONTRACTION), "a product over groups of rows", ragged_find,
                       EMITTERS(&ragged_mma, &ragged_wgmma), FAMILY_MATRIX_ONLY,
                       FOLDS(IN_F32, {OP_CLASS_RAGGED, TYPE(F32)})},
    [FAMILY_CONV] = {"conv", KIND(WINDOW), "a convolution", conv_find,
                     EMITTERS(&conv_cpu, &conv_mma, &conv_wgmma, &conv_direct), FAMILY_MATRIX_ONLY,
                     FOLDS(IN_F32, SLIDES)},
    [FAMILY_POOL] = {"pool", KIND(WINDOW), "a pooling", pool_find,
                     EMITTERS(&pool_cpu, &pool_simt, &pool_vectors), FAMILY_BY_LINES, NULL},
    [FAMILY_SCAN] = {"scan", KIND(SCAN), "a scan", scan_find, EMITTERS(&scan_cpu, &scan_simt),
                     FAMILY_BY_LINES, NULL},
    [FAMILY_SCATTER] = {"scatter", KIND(SCATTER), "sums that indices gather", scatter_find,
                        EMITTERS(&scatter_simt, &scatter_lists), FAMILY_BY_LINES, NULL},
    [FAMILY_ATTENTION] = {"attention", KIND(ATTENTION),
                          "a product, a softmax of its rows and a second product", attention_find,
                          EMITTERS(&attention_mma, &attention_wgmma), FAMILY_MATRIX_ONLY,
                          FOLDS(IN_F32)},
    [FAMILY_MAXSIM] = {"maxsim", KIND(MATCHES), "the sum of the largest of each row of a product",
                       maxsim_find, EMITTERS(&maxsim_mma), FAMILY_MATRIX_ONLY, FOLDS(IN_F32)},
    [FAMILY_ROWGEMM] = {"rowgemm", KIND(MATCHES), "a product of which each row becomes a number",
                        rowgemm_find, EMITTERS(&rowgemm_wgmma),
                        FAMILY_MATRIX_ONLY | FAMILY_NAMED_ONLY, FOLDS(IN_F32)},
    [FAMILY_LIBRARY] = {"library", KIND(CONTRACTION) | KIND(WINDOW),
                        "a matrix product or a convolution", library_find,
                        EMITTERS(&library_blas, &library_cublaslt, &library_cudnn),
                        FAMILY_NAMED_ONLY, NULL},
    [FAMILY_NEST] = {"nest", FORM_ANY, "anything that has one kind of loops", nest_find,
                     EMITTERS(&nest_cpu, &nest_simt, &nest_persistent), 0, NULL},
    [FAMILY_COUNT] = {0},
};

bool family_has(const struct family *f, enum family_trait trait) {
    return f->traits & trait;
}

const struct family *family_find(const char *name) {
    for (const struct family *f = families; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

const char *family_list(struct arena *a) {
    struct str out = {0};
    const struct family *last = NULL;
    for (const struct family *f = families; f->name; f++)
        last = f->find && !family_has(f, FAMILY_NAMED_ONLY) ? f : last;
    for (const struct family *f = families; f->name; f++)
        if (f->find && !family_has(f, FAMILY_NAMED_ONLY))
            str_printf(&out, "%s%s", out.len == 0 ? "" : f == last ? " and " : ", ", f->name);
    return str_take(a, &out);
}

int family_count_emitters(const struct family *f, const struct target *t) {
    int n = 0;
    for (int i = 0; f->emitters[i]; i++)
        n += f->emitters[i]->runs_on(t);
    return n;
}

// "simt or dot"; "" when there is none.
static void list_emitters(const struct family *f, const struct target *t, char *out, size_t room) {
    int n = family_count_emitters(f, t), k = 0;
    out[0] = '\0';
    for (int i = 0; f->emitters[i]; i++)
        if (f->emitters[i]->runs_on(t)) {
            k++;
            snprintf(out + strlen(out), room - strlen(out), "%s%s",
                     k == 1  ? ""
                     : k < n ? ", "
                             : " or ",
                     f->emitters[i]->name);
        }
}

static const struct emitter *find_named(const struct family *f, const struct target *t,
                                        const char *name, struct objection *why) {
    char names[128];
    for (int i = 0; f->emitters[i]; i++)
        if (f->emitters[i]->runs_on(t) && strcmp(f->emitters[i]->name, name) == 0)
            return f->emitters[i];
    list_emitters(f, t, names, sizeof names);
    objection(why, NULL, "%s has no emitter '%s' on %s: it is %s", f->name, name,
              target_kernel_name(t), names);
    return NULL;
}

static bool has_knobs(const struct emitter *e, const struct kernel_stage *s) {
    for (int i = 0; i < s->n_knobs; i++)
        if (!emitter_knob(e, s->knobs[i].name))
            return false;
    return true;
}

static bool takes(const struct emitter *e, const struct form *f, const struct target *t,
                  struct objection *why) {
    return !f || !e->accepts || e->accepts(f, t, why);
}

const struct emitter *family_emitter(const struct family *f, const struct form *form,
                                     const struct target *t, const struct kernel_stage *s,
                                     struct objection *why) {
    if (s->emitter) {
        const struct emitter *e = find_named(f, t, s->emitter, why);
        return e && takes(e, form, t, why) ? e : NULL;
    }
    const struct emitter *first = NULL;
    objection(why, NULL, "%s has no emitter for %s", f->name, target_kernel_name(t));
    for (int i = 0; f->emitters[i]; i++) {
        const struct emitter *e = f->emitters[i];
        if (e->is_named_only || !e->runs_on(t) || !takes(e, form, t, why))
            continue;
        if (has_knobs(e, s))
            return e;
        first = first ? first : e;
    }
    return first;
}

void family_complete(const struct emitter *e, const struct form *f, const struct target *t,
                     struct kernel_stage *s) {
    const struct emitter *first = stage_emitter(&(struct kernel_stage){.family = s->family}, t);
    s->emitter = e == first ? NULL : e->name;
    emitter_complete(e, f, t, s);
}

// Of some forms an emitter has no legal knobs: such a one only where no other takes the form.
void family_choose(const struct form *f, const struct target *t, bool first,
                   struct kernel_stage *s) {
    double least = INFINITY;
    bool has_legal = false;
    struct kernel_stage plain = *s;
    for (const struct emitter *const *e = f->family->emitters; *e; e++) {
        struct kernel_stage named = plain;
        struct objection why;
        named.emitter = (*e)->name;
        if ((*e)->is_named_only || family_emitter(f->family, f, t, &named, &why) != *e)
            continue;
        family_complete(*e, f, t, &named);
        double seconds = (*e)->estimate(f, t, &named);
        bool is_legal = emitter_is_legal(*e, f, t, &named, &why);
        if (isinf(seconds) || (is_legal == has_legal ? seconds >= least : has_legal))
            continue;
        has_legal = is_legal;
        least = seconds;
        *s = named;
        if (first && is_legal)
            return;
    }
}

const struct emitter *stage_emitter(const struct kernel_stage *s, const struct target *t) {
    const struct family *f = family_find(s->family);
    for (int i = 0; f->emitters[i]; i++)
        if (f->emitters[i]->runs_on(t) &&
            (!s->emitter || strcmp(f->emitters[i]->name, s->emitter) == 0))
            return f->emitters[i];
    return NULL;
}

static bool folds(const struct family *f, const struct node *n) {
    for (const struct family_fold *k = f->folds; k->types; k++)
        if (k->class == op_infos[n->op].class && k->types >> loop_arithmetic(n->dtype) & 1)
            return op_infos[n->op].joins != OP_COUNT;
    return false;
}

// The anchors that a family was written for.
static bool knows_anchors(const struct family *f, const struct region *r, struct objection *why) {
    for (int i = 0; i < r->n_anchors && f->folds; i++) {
        const struct node *n = &r->graph->nodes[r->anchor[i]];
        if (!folds(f, n))
            return objection(why, NULL, "%s does not take %s of %s (value '%s')", f->name,
                             op_infos[n->op].name, dtype_name(n->dtype), n->name);
    }
    return true;
}

static bool find(struct form *form, const struct family *f, const struct region *r,
                 struct objection *why) {
    struct form_reject reject;
    if (!form_find_plain(r->arena, r, f, form, &reject))
        return objection(why, NULL, "%s", reject.text);
    return knows_anchors(f, r, why) && f->find(form, why);
}

const struct form *family_form(const struct family *f, const struct region *r,
                               struct objection *why) {
    struct region_form *known = &r->forms[f - families];
    if (!f->find) {
        objection(why, NULL, "%s has no emitter", f->name);
        return NULL;
    }
    if (!known->is_known) {
        struct form *form = arena_new(r->arena, struct form);
        bool ok = find(form, f, r, why);
        *known = (struct region_form){true, ok ? form : NULL,
                                      ok ? NULL : arena_strdup(r->arena, why->text)};
    }
    if (!known->form)
        objection(why, NULL, "%s", known->why_not);
    return known->form;
}

const struct form *family_first_form(const struct region *r, const struct target *t) {
    struct objection why;
    struct kernel_stage any = {0};
    for (const struct family *f = families; f->name; f++) {
        const struct form *form =
            f->find && !family_has(f, FAMILY_NAMED_ONLY) ? family_form(f, r, &why) : NULL;
        // A product whose operand is gathered or the like is tensor cores' alone; until that is
        // measured others come first, and computing the operand on the way is a move.
        if (form && form->gemm && !form->gemm->has_vectors)
            continue;
        if (form && family_emitter(f, form, t, &any, &why))
            return form;
    }
    return NULL;
}
