// The way from the anchor to the values: where each element goes, which axes are reduced and
// which come back.
//
// The anchor's elements have a number, row by row. Every axis of a node after it moves along
// some digits of that number: from stride `low` up to, but not including, `high`. An axis of
// the anchor itself covers its stride to its stride times its size; reshaping joins
// neighbouring ranges or divides one; an axis that does not move has 0 to 0. Elements must
// stay at their places, so ranges fall along a node's axes. `lost` are the ranges that were
// reduced on the way; a node that moves along a lost range again is *spread*.
#include <string.h>

#include "base/arena.h"
#include "family/form_private.h"
#include "ir/detail.h"

struct range {
    int64_t low, high;  // 0, 0: does not move
};

struct label {
    struct range axis[RANK_MAX];
    struct range lost[RANK_MAX];
    int n_lost;
};

struct trace {
    struct form *form;
    const struct form_request *request;
    const bool *after;
    struct label *labels;  // per node
    struct range anchor[RANK_MAX];
    struct form_reject *why;
};

static const struct node *node_at(const struct trace *t, node_id n) {
    return &t->form->region->graph->nodes[n];
}

static bool moves(struct range r) {
    return r.high > 0;
}

static bool overlap(struct range a, struct range b) {
    return (a.low > b.low ? a.low : b.low) < (a.high < b.high ? a.high : b.high);
}

// Axes of the anchor that a range touches.
static unsigned anchor_axes(const struct trace *t, struct range r) {
    unsigned axes = 0;
    for (int i = 0; i < node_at(t, t->form->anchor)->shape.rank; i++)
        if (moves(r) && overlap(r, t->anchor[i]))
            axes |= 1u << i;
    return axes;
}

static bool is_lost(const struct label *l, struct range r) {
    for (int i = 0; i < l->n_lost; i++)
        if (overlap(l->lost[i], r))
            return true;
    return false;
}

static void lose(struct label *l, struct range r) {
    if (moves(r) && !is_lost(l, r) && l->n_lost < RANK_MAX)
        l->lost[l->n_lost++] = r;
}

// Axes of the anchor along which the node moves again although they were reduced.
static unsigned spread_axes(const struct trace *t, node_id n) {
    const struct label *l = &t->labels[n];
    unsigned axes = 0;
    for (int i = 0; i < node_at(t, n)->shape.rank; i++)
        if (moves(l->axis[i]) && is_lost(l, l->axis[i]))
            axes |= anchor_axes(t, l->axis[i]);
    return axes;
}

static bool refuse_elsewhere(const struct trace *t, node_id n) {
    const struct node *anchor = node_at(t, t->form->anchor);
    return form_refuse(t->why, t->form->anchor,
                       "%s needs elements of %s from other places than its own",
                       node_at(t, n)->name, anchor->name);
}

// ---- index maps

// Divide a range among axes `first` to `last`; false when their sizes do not make it up.
static bool divide(const struct shape *s, struct label *l, int first, int last, struct range r) {
    int64_t low = r.low;
    for (int i = last; i >= first; i--) {
        l->axis[i] = s->size[i] > 1 ? (struct range){low, low * s->size[i]} : (struct range){0, 0};
        low *= s->size[i];
    }
    return low == r.high;
}

// New axes of a view that bring lost ranges back, `sum[:, None]` broadcast to the anchor's own
// shape: they fill the gap between the ranges of their neighbours.
static void find_spread_axes(const struct trace *t, node_id n) {
    const struct shape *s = &node_at(t, n)->shape;
    struct label *l = &t->labels[n];
    int64_t high = shape_count(&node_at(t, t->form->anchor)->shape);
    for (int i = 0; i < s->rank; i++) {
        if (moves(l->axis[i])) {
            high = l->axis[i].low;
            continue;
        }
        int last = i;
        while (last + 1 < s->rank && !moves(l->axis[last + 1]))
            last++;
        struct range gap = {last + 1 < s->rank ? l->axis[last + 1].high : 1, high};
        struct label filled = *l;
        if (gap.low < gap.high && is_lost(l, gap) && divide(s, &filled, i, last, gap))
            *l = filled;
        i = last;
    }
}

static void label_view(const struct trace *t, node_id n) {
    const struct node *node = node_at(t, n);
    struct label *l = &t->labels[n];
    const struct label *arg = &t->labels[node->arg[0]];
    *l = *arg;
    memset(l->axis, 0, sizeof l->axis);
    for (int i = 0; i < node->shape.rank; i++)
        if (node->view[i] >= 0)
            l->axis[i] = arg->axis[node->view[i]];
    find_spread_axes(t, n);
}

// The range that axes `first` to `last` cover together; false when there are gaps in it.
static bool join(const struct shape *s, const struct label *l, int first, int last,
                 struct range *joined) {
    *joined = (struct range){0, 0};
    bool any_still = false;
    for (int i = last; i >= first; i--) {
        if (s->size[i] == 1)
            continue;
        any_still |= !moves(l->axis[i]);
        if (moves(*joined) && l->axis[i].low != joined->high)
            return false;
        if (!moves(*joined))
            joined->low = l->axis[i].low;
        joined->high = l->axis[i].high;
    }
    return !any_still || !moves(*joined);
}

// Row by row the elements are the same: groups of axes of equal count stand for each other.
static bool label_reshape(const struct trace *t, node_id n) {
    const struct node *node = node_at(t, n);
    const struct shape *from = &node_at(t, node->arg[0])->shape, *to = &node->shape;
    const struct label *arg = &t->labels[node->arg[0]];
    struct label *l = &t->labels[n];
    *l = *arg;
    memset(l->axis, 0, sizeof l->axis);
    int i = from->rank - 1, j = to->rank - 1;
    while (i >= 0 && j >= 0) {
        int last_from = i, last_to = j;
        int64_t count_from = from->size[i--], count_to = to->size[j--];
        while (count_from != count_to)
            if (count_from < count_to)
                count_from *= from->size[i--];
            else
                count_to *= to->size[j--];
        struct range joined;
        if (!join(from, arg, i + 1, last_from, &joined))
            return refuse_elsewhere(t, n);
        if (moves(joined) && !divide(to, l, j + 1, last_to, joined))
            return refuse_elsewhere(t, n);
    }
    return true;
}

// ---- elementwise and reductions

// Ranges fall, and an axis that the anchor has not is not longer than 1.
static bool check_places(const struct trace *t, node_id n) {
    const struct node *node = node_at(t, n);
    int64_t low = INT64_MAX;
    for (int i = 0; i < node->shape.rank; i++) {
        struct range r = t->labels[n].axis[i];
        if (!moves(r) && node->shape.size[i] > 1)
            return form_refuse(t->why, t->form->anchor,
                               "%s is needed more than once for each result",
                               node_at(t, t->form->anchor)->name);
        if (!moves(r))
            continue;
        if (r.high > low)
            return refuse_elsewhere(t, n);
        low = r.low;
    }
    return true;
}

static bool merge(struct label *l, const struct label *arg, int rank) {
    for (int i = 0; i < arg->n_lost; i++)
        lose(l, arg->lost[i]);
    for (int i = 0; i < rank; i++) {
        struct range own = l->axis[i], other = arg->axis[i];
        if (moves(own) && moves(other) && (own.low != other.low || own.high != other.high))
            return false;
        if (moves(other))
            l->axis[i] = other;
    }
    return true;
}

static bool label_elementwise(const struct trace *t, node_id n) {
    const struct node *node = node_at(t, n);
    struct label *l = &t->labels[n];
    // With a law, what was written over the finished reduction goes on next to it.
    bool is_inner = law_is_inner(t->request->laws, n);
    for (int k = 0; k < node->n_args; k++) {
        if (!t->after[node->arg[k]] || (is_inner && k > 0))
            continue;
        if (!merge(l, &t->labels[node->arg[k]], node->shape.rank))
            return refuse_elsewhere(t, n);
    }
    unsigned spread = spread_axes(t, n);
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
    if (spread_axes(t, node->arg[0]))
        return form_refuse(t->why, region_cut(f->region),
                           "%s needs %s, and an epilogue reduces before it spreads a result again",
                           node->name, node_at(t, f->first_reduction)->name);
    *l = *arg;
    memset(l->axis, 0, sizeof l->axis);
    int kept = 0;
    for (int i = 0; i < node_at(t, node->arg[0])->shape.rank; i++) {
        if (!(node->axes >> i & 1)) {
            l->axis[kept++] = arg->axis[i];
        } else if (!law_is_moved(t->request->laws, n)) {
            lose(l, arg->axis[i]);
            f->reduced |= anchor_axes(t, arg->axis[i]);
        }
    }
    if (f->first_reduction < 0)
        f->first_reduction = n;
    return true;
}

// One element of each row, by index: a tile holds it or not, as with a reduction.
static bool label_pick(const struct trace *t, node_id n) {
    const struct node *node = node_at(t, n);
    int axis = node->detail->axis;
    struct form *f = t->form;
    struct label *l = &t->labels[n];
    *l = t->labels[node->arg[0]];
    lose(l, l->axis[axis]);
    f->reduced |= anchor_axes(t, l->axis[axis]);
    l->axis[axis] = (struct range){0, 0};
    if (f->first_reduction < 0)
        f->first_reduction = n;
    return check_places(t, n);
}

static bool is_pick(const struct trace *t, node_id n) {
    const struct node *node = node_at(t, n);
    return node->op == OP_TAKE_ALONG && node->shape.size[node->detail->axis] == 1 &&
           !t->after[node->arg[1]] && !spread_axes(t, node->arg[0]);
}

static bool label_node(const struct trace *t, node_id n) {
    const struct node *node = node_at(t, n);
    struct form *f = t->form;
    bool ok = true;
    if (node->op == OP_VIEW)
        label_view(t, n);
    else if (node->op == OP_RESHAPE)
        ok = label_reshape(t, n);
    else if (op_infos[node->op].class == OP_CLASS_ELEMENTWISE)
        ok = label_elementwise(t, n);
    else if (op_infos[node->op].class == OP_CLASS_REDUCE)
        ok = label_reduction(t, n);
    else if (is_pick(t, n))
        ok = label_pick(t, n);
    else
        return form_refuse(t->why, t->form->anchor, "%s is a %s of the %s %s", node->name,
                           op_infos[node->op].name, form_noun(f->kind),
                           node_at(t, f->anchor)->name);
    bool reduces = op_infos[node->op].class == OP_CLASS_REDUCE || node->op == OP_TAKE_ALONG;
    f->part[n] = reduces ? PART_REDUCTION : t->labels[n].n_lost > 0 ? PART_FINISH : PART_EPILOGUE;
    return ok;
}

bool form_trace_epilogue(struct arena *a, const struct form_request *q, struct form *f,
                         const bool *after, struct form_reject *why) {
    const struct region *r = f->region;
    struct trace t = {f, q, after, arena_array(a, struct label, r->graph->n_nodes), .why = why};
    const struct shape *shape = &r->graph->nodes[f->anchor].shape;
    struct label *own = &t.labels[f->anchor];
    divide(shape, own, 0, shape->rank - 1, (struct range){1, shape_count(shape)});
    memcpy(t.anchor, own->axis, sizeof t.anchor);
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
                           "%s is reduced over %s, beyond one tile%s",
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
