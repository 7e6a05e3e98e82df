// Finds the anchor that the family takes, then marks what is before and after it; the first thing
// that does not fit is refused by name.
#include "family/form.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "family/family.h"
#include "family/form_private.h"
#include "family/gemm_form.h"

const char *anchor_kind_name(enum anchor_kind k) {
    static const char *const names[] = {"none",    "contraction", "window",    "reduction", "scan",
                                        "scatter", "rows",        "attention", "matches"};
    _Static_assert(sizeof names / sizeof *names == ANCHOR_COUNT, "a name per kind");
    return names[k];
}

const char *form_noun(enum anchor_kind k) {
    static const char *const nouns[] = {"elementwise value", "product", "window",
                                        "reduction",         "scan",    "scatter",
                                        "reduction",         "product", "product"};
    return nouns[k];
}

enum anchor_kind form_node_kind(const struct graph *g, node_id n) {
    static const enum anchor_kind kinds[OP_CLASS_COUNT] = {
        [OP_CLASS_REDUCE] = ANCHOR_REDUCTION,   [OP_CLASS_CONTRACT] = ANCHOR_CONTRACTION,
        [OP_CLASS_RAGGED] = ANCHOR_CONTRACTION, [OP_CLASS_WINDOW] = ANCHOR_WINDOW,
        [OP_CLASS_SCAN] = ANCHOR_SCAN,          [OP_CLASS_ORDER] = ANCHOR_SCAN,  // along an axis
        [OP_CLASS_SCATTER] = ANCHOR_SCATTER,
    };
    return kinds[op_infos[g->nodes[n].op].class];
}

const char *form_axes_print(struct arena *a, const struct graph *g, const struct shape *s,
                            unsigned axes) {
    struct str out = {0};
    for (int i = 0; i < s->rank; i++) {
        if (!(axes >> i & 1))
            continue;
        str_puts(&out, out.len ? ", " : "");
        if (s->dim[i] >= 0)
            str_puts(&out, g->dims[s->dim[i]].name);
        else
            str_printf(&out, "axis %d", i);
    }
    return str_take(a, &out);
}

bool form_refuse(struct form_reject *why, node_id first, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why->text, sizeof why->text, fmt, ap);
    va_end(ap);
    why->first = first;
    return false;
}

bool *form_mark_after(struct arena *a, const struct region *r, const bool *from) {
    bool *after = arena_array(a, bool, r->graph->n_nodes);
    for (node_id n = 0; n < r->graph->n_nodes; n++) {
        after[n] = r->is_member[n] && from[n];
        for (int k = 0; r->is_member[n] && k < r->graph->nodes[n].n_args; k++)
            after[n] |= after[r->graph->nodes[n].arg[k]];
    }
    return after;
}

bool *form_mark_before(struct arena *a, const struct region *r, const bool *from) {
    bool *before = arena_array(a, bool, r->graph->n_nodes);
    for (node_id n = r->graph->n_nodes - 1; n >= 0; n--) {
        before[n] |= r->is_member[n] && from[n];
        for (int k = 0; before[n] && k < r->graph->nodes[n].n_args; k++) {
            node_id arg = r->graph->nodes[n].arg[k];
            before[arg] |= r->is_member[arg];
        }
    }
    return before;
}

// ---- one anchor

static const char *node_name(const struct region *r, node_id n) {
    return r->graph->nodes[n].name;
}

static const char *op_name(const struct region *r, node_id n) {
    return op_infos[r->graph->nodes[n].op].name;
}

static bool is_heavy(enum anchor_kind k) {
    return k != ANCHOR_NONE && k != ANCHOR_REDUCTION;
}

// Convolution and pooling are both windows; a window with weights is a convolution. Products over
// groups of rows are contractions, with a family of their own.
static bool takes_node(const struct family *f, const struct graph *g, node_id n) {
    enum anchor_kind kind = form_node_kind(g, n);
    if (!(f->kinds >> kind & 1))
        return false;
    bool has_weights = g->nodes[n].n_args > 1;
    bool is_ragged = op_infos[g->nodes[n].op].class == OP_CLASS_RAGGED;
    if (kind == ANCHOR_CONTRACTION && is_ragged != (f == &families[FAMILY_RAGGED]))
        return false;
    if (kind == ANCHOR_WINDOW && f == &families[FAMILY_GEMM])
        return has_weights && gemm_is_product(g, n);
    return kind != ANCHOR_WINDOW || has_weights == (f != &families[FAMILY_POOL]);
}

static bool refuse_no_anchor(const struct form_request *q, const struct region *r,
                             struct form_reject *why) {
    const struct family *f = q->family;
    if (r->n_anchors == 0)
        return form_refuse(why, -1, "%s needs %s, and there is none", f->name, f->takes);
    node_id n = r->anchor[0];
    for (int i = 0; i < r->n_anchors; i++)
        if (is_heavy(form_node_kind(r->graph, r->anchor[i]))) {
            n = r->anchor[i];
            break;
        }
    return form_refuse(why, region_cut(r), "%s takes %s, but %s is a %s", f->name, f->takes,
                       node_name(r, n), op_name(r, n));
}

// The contraction, window, scan or scatter of the region; -1 and the reason when there is not
// exactly one that the family takes.
static node_id choose_heavy(const struct form_request *q, const struct region *r,
                            struct form_reject *why) {
    node_id found = -1;
    for (int i = 0; i < r->n_anchors; i++) {
        node_id n = r->anchor[i];
        enum anchor_kind kind = form_node_kind(r->graph, n);
        if (!is_heavy(kind))
            continue;
        if (found >= 0) {
            form_refuse(why, region_cut(r), "%s takes one %s, and %s and %s are two",
                        q->family->name, form_noun(form_node_kind(r->graph, found)),
                        node_name(r, found), node_name(r, n));
            return -1;
        }
        found = n;
    }
    if (found < 0 || !takes_node(q->family, r->graph, found)) {
        refuse_no_anchor(q, r, why);
        return -1;
    }
    return found;
}

// The one reduction that needs no other.
static node_id choose_reduction(const struct form_request *q, const struct region *r,
                                struct form_reject *why) {
    node_id found = -1;
    for (int i = 0; i < r->n_anchors; i++) {
        node_id n = r->anchor[i];
        if (is_heavy(form_node_kind(r->graph, n))) {
            refuse_no_anchor(q, r, why);
            return -1;
        }
        if (r->level[n] > 1)
            continue;
        if (found >= 0) {
            form_refuse(why, found, "%s takes one reduction, and %s and %s are two",
                        q->family->name, node_name(r, found), node_name(r, n));
            return -1;
        }
        found = n;
    }
    if (found < 0)
        refuse_no_anchor(q, r, why);
    return found;
}

// Every anchor but the chosen one comes after it; parts of the nodes before it and of its siblings.
static bool mark_parts(struct form *f, const bool *before, const bool *after,
                       struct form_reject *why) {
    const struct region *r = f->region;
    const char *noun = form_noun(f->kind), *name = node_name(r, f->anchor);
    for (node_id n = 0; n < r->graph->n_nodes; n++) {
        if (!r->is_member[n])
            continue;
        bool is_anchor = form_node_kind(r->graph, n) != ANCHOR_NONE && n != f->anchor;
        if (is_anchor && before[n])
            return form_refuse(why, n, "the %s %s needs %s, which is a %s itself", noun, name,
                               node_name(r, n), op_name(r, n));
        if (is_anchor && !after[n])
            return form_refuse(why, n, "%s is a %s that does not come after the %s %s",
                               node_name(r, n), op_name(r, n), noun, name);
        if (n == f->anchor)
            f->part[n] = PART_ANCHOR;
        else if (!after[n])
            f->part[n] = before[n] ? PART_PROLOGUE : PART_SIBLING;
    }
    return true;
}

// A value that does not depend on the anchor is computed at the epilogue's places, if it has them.
static bool check_values(const struct form *f, const bool *after, struct form_reject *why) {
    const struct region *r = f->region;
    const struct shape *shape = &r->graph->nodes[f->anchor].shape;
    for (int i = 0; i < r->n_values; i++) {
        node_id n = r->value[i];
        if (!after[n] && !shape_equal(&r->graph->nodes[n].shape, shape))
            return form_refuse(why, r->is_leaf[n] ? -1 : n,
                               "%s does not come after the %s %s and has not its shape",
                               r->value_name[i], form_noun(f->kind), node_name(r, f->anchor));
    }
    return true;
}

static bool find_single(struct arena *a, const struct form_request *q, struct form *f,
                        struct form_reject *why) {
    const struct region *r = f->region;
    f->anchor = q->family->kinds >> ANCHOR_REDUCTION & 1 ? choose_reduction(q, r, why)
                                                         : choose_heavy(q, r, why);
    if (f->anchor < 0)
        return false;
    f->kind = form_node_kind(r->graph, f->anchor);
    bool *from = arena_array(a, bool, r->graph->n_nodes);
    from[f->anchor] = true;
    const bool *after = form_mark_after(a, r, from), *before = form_mark_before(a, r, from);
    return mark_parts(f, before, after, why) && form_trace_epilogue(a, q, f, after, why) &&
           check_values(f, after, why) && form_check_tiles(a, q, f, why);
}

// ---- none

static bool find_none(const struct form_request *q, struct form *f, struct form_reject *why) {
    const struct region *r = f->region;
    if (r->n_anchors > 0)
        return form_refuse(why, region_cut(r), "map computes elementwise values, but %s is a %s",
                           node_name(r, r->anchor[0]), op_name(r, r->anchor[0]));
    if (q->combine)
        return form_refuse(why, -1, "combine says how tiles meet, and there is no reduction");
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (r->is_member[n])
            f->part[n] = PART_EPILOGUE;
    return true;
}

// Whatever it is; the emitter says what it cannot do.
static bool find_any(const struct form_request *q, struct form *f, struct form_reject *why) {
    const struct region *r = f->region;
    if (q->combine)
        return form_refuse(why, -1, "combine says how tiles meet, and nest has none");
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (r->is_member[n])
            f->part[n] = form_node_kind(r->graph, n) == ANCHOR_NONE ? PART_EPILOGUE : PART_ANCHOR;
    f->anchor = r->n_anchors ? r->anchor[0] : -1;
    f->kind = r->n_anchors ? form_node_kind(r->graph, f->anchor) : ANCHOR_NONE;
    return true;
}

// A product and reductions behind it, which the family looks at itself.
static bool find_matches(const struct form_request *q, struct form *f, struct form_reject *why) {
    const struct region *r = f->region;
    if (r->n_anchors == 0 || form_node_kind(r->graph, r->anchor[0]) != ANCHOR_CONTRACTION)
        return refuse_no_anchor(q, r, why);
    if (q->combine)
        return form_refuse(why, -1, "combine says how tiles meet, and %s has none",
                           q->family->name);
    f->anchor = r->anchor[0];
    f->kind = ANCHOR_MATCHES;
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (r->is_member[n])
            f->part[n] = n == f->anchor                               ? PART_ANCHOR
                         : form_node_kind(r->graph, n) != ANCHOR_NONE ? PART_REDUCTION
                                                                      : PART_FINISH;
    return true;
}

static bool is_within_limits(const struct region *r, struct form_reject *why) {
    if (r->n_members > REGION_MEMBERS_MAX)
        return form_refuse(why, region_cut(r), "it computes %d operations, and a stage takes %d",
                           r->n_members, REGION_MEMBERS_MAX);
    if (r->n_levels > REGION_LEVELS_MAX)
        return form_refuse(why, region_cut(r),
                           "it has %d reductions one behind the other, and a stage takes %d",
                           r->n_levels, REGION_LEVELS_MAX);
    return true;
}

static bool find(struct arena *a, const struct region *r, const struct form_request *q,
                 struct form *f, struct form_reject *why) {
    *f = (struct form){
        .region = r, .family = q->family, .anchor = -1, .first_reduction = -1, .spread_node = -1};
    *why = (struct form_reject){.first = -1};
    f->part = arena_array(a, enum form_part, r->graph->n_nodes);
    if (!is_within_limits(r, why))
        return false;
    if (q->family->kinds == FORM_ANY)
        return find_any(q, f, why);
    if (q->family->kinds & 1 << ANCHOR_NONE)
        return find_none(q, f, why);
    if (q->family->kinds & 1 << ANCHOR_ROWS)
        return form_find_rows(a, q, f, why);
    if (q->family->kinds & 1 << ANCHOR_ATTENTION)
        return form_find_attention(a, q, f, why);
    if (q->family->kinds & 1 << ANCHOR_MATCHES)
        return find_matches(q, f, why);
    return find_single(a, q, f, why);
}

bool form_find_plain(struct arena *a, const struct region *r, const struct family *family,
                     struct form *f, struct form_reject *why) {
    struct law_uses none = {0};
    struct form_request q = {.family = family, .laws = &none};
    return find(a, r, &q, f, why);
}

bool form_find(struct arena *a, const struct region *r, const struct form_request *q,
               struct form *f, struct form_reject *why) {
    if (find(a, r, q, f, why))
        return true;
    struct objection ignored;
    for (const struct family *o = families; o->name && !why->other; o++)
        if (o != q->family && o->find && !q->combine && !family_has(o, FAMILY_NAMED_ONLY) &&
            family_form(o, r, &ignored))
            why->other = o->name;
    return false;
}
