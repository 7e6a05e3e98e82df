// The way from the anchor to the values: where each element goes, which axes are reduced and
// which come back.
//
// Every node after the anchor gets a label per axis: the anchor's axis that it walks along, or
// -1. Elements must stay at their places, so labels rise along a node's axes. `lost` is the set
// of the anchor's axes that were reduced on the way; a node that walks along a lost axis again
// is *spread*.
#include <string.h>

#include "base/arena.h"
#include "family/form_private.h"

struct label {
    signed char axis[RANK_MAX];
    unsigned lost;
};

struct trace {
    struct form *form;
    const struct form_request *request;
    const bool *after;
    struct label *labels;  // per node
    struct form_reject *why;
};

static const struct node *node_at(const struct trace *t, node_id n) {
    return &t->form->region->graph->nodes[n];
}

static unsigned walked(const struct trace *t, node_id n) {
    unsigned axes = 0;
    for (int i = 0; i < node_at(t, n)->shape.rank; i++)
        if (t->labels[n].axis[i] >= 0)
            axes |= 1u << t->labels[n].axis[i];
    return axes;
}

static bool refuse_elsewhere(const struct trace *t, node_id n) {
    const struct node *anchor = node_at(t, t->form->anchor);
    return form_refuse(t->why, t->form->anchor,
                       "%s needs elements of %s from other places than its own",
                       node_at(t, n)->name, anchor->name);
}

// A view that brings lost axes back: `sum[:, None]` broadcast to the anchor's own shape.
static void find_spread_axes(const struct trace *t, node_id n) {
    const struct shape *own = &node_at(t, n)->shape;
    const struct shape *anchor = &node_at(t, t->form->anchor)->shape;
    struct label *l = &t->labels[n];
    if (own->rank != anchor->rank)
        return;
    for (int i = 0; i < own->rank; i++)
        if (l->axis[i] >= 0 && l->axis[i] != i)
            return;
    for (int i = 0; i < own->rank; i++)
        if (l->axis[i] < 0 && own->size[i] > 1 && own->size[i] == anchor->size[i] &&
            l->lost >> i & 1)
            l->axis[i] = (signed char)i;
}

static void label_view(const struct trace *t, node_id n) {
    const struct node *node = node_at(t, n);
    const struct label *arg = &t->labels[node->arg[0]];
    struct label *l = &t->labels[n];
    l->lost = arg->lost;
    for (int i = 0; i < node->shape.rank; i++)
        l->axis[i] = node->view[i] < 0 ? -1 : arg->axis[node->view[i]];
    find_spread_axes(t, n);
}

// Labels rise, and an axis that the anchor has not is not longer than 1.
static bool check_places(const struct trace *t, node_id n) {
    const struct node *node = node_at(t, n);
    int last = -1;
    for (int i = 0; i < node->shape.rank; i++) {
        int axis = t->labels[n].axis[i];
        if (axis < 0 && node->shape.size[i] > 1)
            return form_refuse(t->why, t->form->anchor,
                               "%s is needed more than once for each result",
                               node_at(t, t->form->anchor)->name);
        if (axis < 0)
            continue;
        if (axis <= last)
            return refuse_elsewhere(t, n);
        last = axis;
    }
    return true;
}

static bool label_elementwise(const struct trace *t, node_id n) {
    const struct node *node = node_at(t, n);
    struct label *l = &t->labels[n];
    // With a law, what was written over the finished reduction goes on beside it.
    bool is_inner = law_is_inner(t->request->laws, n);
    memset(l->axis, -1, sizeof l->axis);
    for (int k = 0; k < node->n_args; k++) {
        if (!t->after[node->arg[k]] || (is_inner && k > 0))
            continue;
        const struct label *arg = &t->labels[node->arg[k]];
        l->lost |= arg->lost;
        for (int i = 0; i < node->shape.rank; i++) {
            if (l->axis[i] >= 0 && arg->axis[i] >= 0 && l->axis[i] != arg->axis[i])
                return refuse_elsewhere(t, n);
            if (arg->axis[i] >= 0)
                l->axis[i] = arg->axis[i];
        }
    }
    unsigned spread = walked(t, n) & l->lost;
    if (spread && !t->form->spread)
        t->form->spread_node = n;
    t->form->spread |= spread;
    return check_places(t, n);
}

static bool label_reduction(const struct trace *t, node_id n) {
    const struct node *node = node_at(t, n);
    const struct label *arg = &t->labels[node->arg[0]];
    struct form *f = t->form;
    struct label *l = &t->labels[n];
    if (walked(t, node->arg[0]) & arg->lost)
        return form_refuse(t->why, region_cut(f->region),
                           "%s needs %s, and an epilogue reduces before it spreads a result again",
                           node->name, node_at(t, f->first_reduction)->name);
    l->lost = arg->lost;
    memset(l->axis, -1, sizeof l->axis);
    int kept = 0;
    for (int i = 0; i < node_at(t, node->arg[0])->shape.rank; i++) {
        if (!(node->axes >> i & 1))
            l->axis[kept++] = arg->axis[i];
        else if (arg->axis[i] >= 0 && !law_is_moved(t->request->laws, n))
            l->lost |= 1u << arg->axis[i];
    }
    f->reduced |= l->lost;
    if (f->first_reduction < 0)
        f->first_reduction = n;
    return true;
}

static bool label_node(const struct trace *t, node_id n) {
    const struct node *node = node_at(t, n);
    struct form *f = t->form;
    switch (op_infos[node->op].class) {
    case OP_CLASS_VIEW:
        label_view(t, n);
        break;
    case OP_CLASS_ELEMENTWISE:
        if (!label_elementwise(t, n))
            return false;
        break;
    case OP_CLASS_REDUCE:
        f->part[n] = PART_REDUCTION;
        return label_reduction(t, n);
    default:
        return form_refuse(t->why, t->form->anchor, "%s is a %s of the %s %s", node->name,
                           op_infos[node->op].name, form_noun(f->kind),
                           node_at(t, f->anchor)->name);
    }
    f->part[n] = t->labels[n].lost ? PART_FINISH : PART_EPILOGUE;
    return true;
}

bool form_trace_epilogue(struct arena *a, const struct form_request *q, struct form *f,
                         const bool *after, struct form_reject *why) {
    const struct region *r = f->region;
    struct trace t = {f, q, after, arena_array(a, struct label, r->graph->n_nodes), why};
    struct label *own = &t.labels[f->anchor];
    memset(own->axis, -1, sizeof own->axis);
    for (int i = 0; i < r->graph->nodes[f->anchor].shape.rank; i++)
        own->axis[i] = (signed char)i;
    for (node_id n = f->anchor + 1; n < r->graph->n_nodes; n++)
        if (r->is_member[n] && after[n] && !label_node(&t, n))
            return false;
    for (int i = 0; i < r->n_values; i++) {
        node_id n = r->value[i];
        if (!after[n] || r->is_leaf[n])
            continue;
        if (!check_places(&t, n))
            return false;
        // What a law computes on the way is not what the value means.
        if (law_is_inner(q->laws, n)) {
            f->spread |= f->reduced;
            f->spread_node = n;
        }
    }
    return true;
}

// ---- tiles

static unsigned axes_beyond_tile(const struct form_request *q, const struct form *f) {
    const struct shape *s = &f->region->graph->nodes[f->anchor].shape;
    unsigned beyond = 0;
    for (int i = 0; i < s->rank; i++) {
        int64_t tile = 1;
        if (f->kind == ANCHOR_CONTRACTION && i >= s->rank - 2 && q->tile[i - (s->rank - 2)] > 0)
            tile = q->tile[i - (s->rank - 2)];
        if (s->size[i] > tile)
            beyond |= 1u << i;
    }
    return beyond & f->reduced;
}

static node_id first_finish(const struct form *f, enum form_part part) {
    for (node_id n = 0; n < f->region->graph->n_nodes; n++)
        if (f->part[n] == part && f->region->graph->nodes[n].op != OP_VIEW)
            return n;
    return -1;
}

static const char *name_of(const struct form *f, node_id n) {
    return f->region->graph->nodes[n].name;
}

// `combine` where only the anchor itself can be split.
static bool check_split_anchor(const struct form_request *q, const struct form *f,
                               struct form_reject *why) {
    if (!law_is_used(q->laws, "split_reduction"))
        return form_refuse(why, -1,
                           "combine says how tiles meet, and no reduction of the epilogue goes "
                           "beyond a tile; to split the %s itself, name laws split_reduction",
                           form_noun(f->kind));
    node_id next = first_finish(f, PART_EPILOGUE);
    if (next >= 0 && q->combine == COMBINE_ATOMIC)
        return form_refuse(why, f->anchor,
                           "with combine atomic no block knows when %s is whole, and %s needs it; "
                           "combine twopass, lastblock or cluster",
                           name_of(f, f->anchor), name_of(f, next));
    return true;
}

bool form_check_tiles(struct arena *a, const struct form_request *q, const struct form *f,
                      struct form_reject *why) {
    const struct graph *g = f->region->graph;
    unsigned beyond = axes_beyond_tile(q, f);
    if (!beyond)
        return !q->combine || check_split_anchor(q, f, why);
    const char *axes = form_axes_print(a, g, &g->nodes[f->anchor].shape, beyond);
    if (!q->combine)
        return form_refuse(why, g->nodes[f->first_reduction].arg[0],
                           "%s is reduced over %s, beyond one tile%s: say combine atomic, twopass, "
                           "lastblock or cluster",
                           name_of(f, f->first_reduction), axes,
                           f->kind == ANCHOR_CONTRACTION ? " unless 'tile' holds all of it" : "");
    if (f->spread & beyond && q->combine != COMBINE_CLUSTER)
        return form_refuse(why, f->first_reduction,
                           "with combine %s %s is whole only at the end, and %s needs it in every "
                           "tile",
                           combine_name(q->combine), name_of(f, f->first_reduction),
                           name_of(f, f->spread_node));
    node_id next = first_finish(f, PART_FINISH);
    if (next >= 0 && q->combine == COMBINE_ATOMIC)
        return form_refuse(why, f->first_reduction,
                           "with combine atomic no block knows when %s is whole, and %s needs it; "
                           "combine twopass, lastblock or cluster",
                           name_of(f, f->first_reduction), name_of(f, next));
    return true;
}
