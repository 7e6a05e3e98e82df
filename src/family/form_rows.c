// The two forms with several anchors: rows, and attention.
#include "base/arena.h"
#include "family/form_private.h"
#include "family/point.h"
#include "ir/detail.h"

static const char *node_name(const struct region *r, node_id n) {
    return r->graph->nodes[n].name;
}

static const char *op_name(const struct region *r, node_id n) {
    return op_infos[r->graph->nodes[n].op].name;
}

// ---- rows

struct rows {
    const struct region *region;
    const struct shape *full;  // what every reduction takes
    unsigned axes;             // and what it drops
    node_id culprit;           // a reduction used in other rows than its own; -1
};

static bool check_same_rows(struct rows *s, struct form_reject *why) {
    const struct region *r = s->region;
    const struct graph *g = r->graph;
    for (int i = 0; i < r->n_anchors; i++) {
        node_id n = r->anchor[i];
        if (form_node_kind(g, n) != ANCHOR_REDUCTION)
            return form_refuse(why, region_cut(r), "rowwise takes reductions, but %s is a %s",
                               node_name(r, n), op_name(r, n));
        const struct shape *arg = &g->nodes[g->nodes[n].arg[0]].shape;
        if (s->full && !shape_equal(s->full, arg))
            return form_refuse(why, region_cut(r), "%s has other rows than %s", node_name(r, n),
                               node_name(r, r->anchor[0]));
        if (s->full && g->nodes[n].axes != s->axes)
            return form_refuse(why, region_cut(r), "%s is reduced over other axes than %s",
                               node_name(r, n), node_name(r, r->anchor[0]));
        s->full = arg;
        s->axes = g->nodes[n].axes;
    }
    return s->full || form_refuse(why, -1, "rowwise needs a reduction, and there is none");
}

// How a value lies in the rows: with all axes (reduced ones may have shrunk to 1), or with the
// kept ones alone. False: neither.
static bool value_map(const struct rows *s, node_id n, struct axis_map *map) {
    const struct shape *own = &s->region->graph->nodes[n].shape, *full = s->full;
    *map = map_identity(own->rank);
    if (own->rank == full->rank) {
        for (int i = 0; i < full->rank; i++) {
            if (own->size[i] == full->size[i])
                continue;
            if (own->size[i] != 1 || !(s->axes >> i & 1))
                return false;
            map->axis[i] = -1;
        }
        return true;
    }
    int kept = 0;
    for (int i = 0; i < full->rank; i++) {
        if (s->axes >> i & 1)
            continue;
        if (kept >= own->rank || own->size[kept] != full->size[i])
            return false;
        map->axis[kept++] = i;
    }
    return kept == own->rank;
}

// One element of each row, by index: it stays in its row.
static bool is_pick(const struct rows *s, node_id n) {
    const struct region *r = s->region;
    const struct node *node = &r->graph->nodes[n];
    if (!r->is_member[n] || node->op != OP_TAKE_ALONG)
        return false;
    int axis = node->detail->axis;
    return s->axes >> axis & 1 && node->shape.size[axis] == 1 && r->level[node->arg[1]] == 0 &&
           shape_equal(&r->graph->nodes[node->arg[0]].shape, s->full);
}

static bool check_use(void *ctx, node_id n, const struct axis_map *map) {
    struct rows *s = ctx;
    const struct region *r = s->region;
    const struct node *node = &r->graph->nodes[n];
    enum op_class class = op_infos[node->op].class;
    for (int i = 0; is_pick(s, n) && i < node->shape.rank; i++)
        if (node->shape.size[i] > 1 && map->axis[i] != i)
            s->culprit = n;
    // Whatever else moves data is an index map of the prologue; check_moves has seen to that.
    if (class == OP_CLASS_MOVE || class == OP_CLASS_GATHER)
        return false;
    if (!r->is_member[n] || form_node_kind(r->graph, n) != ANCHOR_REDUCTION)
        return true;
    int kept = 0;
    for (int i = 0; i < s->full->rank; i++) {
        if (s->axes >> i & 1)
            continue;
        if (node->shape.size[kept] > 1 && map->axis[kept] != i)
            s->culprit = n;
        kept++;
    }
    return false;
}

static bool check_uses(struct rows *s, struct form_reject *why) {
    const struct region *r = s->region;
    struct point_visit visit = {r, -1, check_use, s};
    struct axis_map map, identity = map_identity(s->full->rank);
    for (int i = 0; i < r->n_values; i++) {
        if (!value_map(s, r->value[i], &map))
            return form_refuse(why, region_cut(r), "%s has not the shape of the rows",
                               r->value_name[i]);
        point_visit(&visit, r->value[i], &map);
    }
    for (int i = 0; i < r->n_anchors; i++)
        point_visit(&visit, r->graph->nodes[r->anchor[i]].arg[0], &identity);
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (is_pick(s, n))
            point_visit(&visit, r->graph->nodes[n].arg[0], &identity);
    if (s->culprit >= 0)
        return form_refuse(why, s->culprit, "%s is used in other rows than its own",
                           node_name(r, s->culprit));
    return true;
}

// Results of reductions stay in their rows: nothing that moves data touches them.
static bool check_moves(const struct rows *s, struct form_reject *why) {
    const struct region *r = s->region;
    for (node_id n = 0; n < r->graph->n_nodes; n++) {
        const struct node *node = &r->graph->nodes[n];
        enum op_class class = op_infos[node->op].class;
        if (r->is_member[n] && r->level[n] > 0 && !is_pick(s, n) &&
            (class == OP_CLASS_MOVE || class == OP_CLASS_GATHER))
            return form_refuse(why, node->arg[0], "%s is a %s of what the rows give", node->name,
                               op_infos[node->op].name);
    }
    return true;
}

// Rows that several blocks share.
static bool check_rows_combine(const struct form_request *q, const struct rows *s,
                               struct form_reject *why) {
    const struct region *r = s->region;
    if (!q->combine)
        return true;
    if (!law_is_used(q->laws, "split_reduction"))
        return form_refuse(why, -1,
                           "combine splits rows over blocks: name laws split_reduction as well");
    if (q->combine == COMBINE_CLUSTER)
        return true;
    for (int i = 0; i < r->n_anchors; i++) {
        node_id n = r->anchor[i], arg = r->graph->nodes[n].arg[0];
        if (r->level[n] > 1 && !law_is_inner(q->laws, arg))
            return form_refuse(
                why, r->anchor[0], "with combine %s %s is whole only at the end, and %s needs it",
                combine_name(q->combine), node_name(r, r->anchor[0]), node_name(r, n));
    }
    for (int i = 0; i < r->n_values; i++) {
        node_id n = r->value[i];
        bool is_reduction = form_node_kind(r->graph, n) == ANCHOR_REDUCTION;
        bool is_spread = shape_equal(&r->graph->nodes[n].shape, s->full);
        if (r->level[n] == 0 || is_reduction)
            continue;
        if (is_spread || q->combine == COMBINE_ATOMIC)
            return form_refuse(why, r->anchor[0],
                               "with combine %s %s is whole only at the end, and %s needs it%s",
                               combine_name(q->combine), node_name(r, r->anchor[0]),
                               r->value_name[i], is_spread ? " in every block" : "");
    }
    return true;
}

bool form_find_rows(struct arena *a, const struct form_request *q, struct form *f,
                    struct form_reject *why) {
    const struct region *r = f->region;
    struct rows s = {.region = r, .culprit = -1};
    if (!check_same_rows(&s, why) || !check_moves(&s, why) || !check_uses(&s, why) ||
        !check_rows_combine(q, &s, why))
        return false;
    f->kind = ANCHOR_ROWS;
    f->anchor = r->anchor[0];
    f->first_reduction = f->anchor;
    f->reduced = s.axes;
    bool *from = arena_array(a, bool, r->graph->n_nodes);
    for (int i = 0; i < r->n_anchors; i++)
        from[r->anchor[i]] = true;
    const bool *before = form_mark_before(a, r, from);
    for (node_id n = 0; n < r->graph->n_nodes; n++)
        if (r->is_member[n])
            f->part[n] = from[n]           ? PART_ANCHOR
                         : r->level[n] > 0 ? PART_FINISH
                         : before[n]       ? PART_PROLOGUE
                                           : PART_SIBLING;
    return true;
}

// ---- attention

struct attention {
    node_id first, second;  // the products
    struct law_match softmax;
};

static bool find_products(const struct region *r, struct attention *s, struct form_reject *why) {
    s->first = s->second = -1;
    int n_products = 0, n_reductions = 0;
    for (int i = 0; i < r->n_anchors; i++) {
        node_id n = r->anchor[i];
        enum anchor_kind kind = form_node_kind(r->graph, n);
        n_reductions += kind == ANCHOR_REDUCTION;
        if (kind != ANCHOR_CONTRACTION && kind != ANCHOR_REDUCTION)
            return form_refuse(why, n, "attention takes products and a softmax, but %s is a %s",
                               node_name(r, n), op_name(r, n));
        if (kind != ANCHOR_CONTRACTION)
            continue;
        *(n_products++ ? &s->second : &s->first) = n;
    }
    if (n_products != 2)
        return form_refuse(why, region_cut(r),
                           "attention takes two products with a softmax between, and there %s %d",
                           n_products == 1 ? "is" : "are", n_products);
    struct law_uses uses = {0};
    if (!law_use(law_find("online_softmax"), r, &uses) || uses.n_matches != 1 || n_reductions != 2)
        return form_refuse(why, region_cut(r), "there is not one softmax between %s and %s",
                           node_name(r, s->first), node_name(r, s->second));
    s->softmax = uses.match[0];
    return true;
}

enum { ROLE_X, ROLE_MAX, ROLE_SHIFTED, ROLE_EXP, ROLE_SUM };

// From the first product to the softmax and from there to the second, along its rows.
static bool check_path(struct arena *a, const struct region *r, const struct attention *s,
                       struct form_reject *why) {
    const struct node *first = &r->graph->nodes[s->first], *second = &r->graph->nodes[s->second];
    const struct node *x = &r->graph->nodes[s->softmax.node[ROLE_X]];
    bool *from = arena_array(a, bool, r->graph->n_nodes);
    from[s->first] = true;
    const bool *after = form_mark_after(a, r, from);
    if (!after[s->softmax.node[ROLE_X]] || !shape_equal(&x->shape, &first->shape))
        return form_refuse(why, s->first, "the softmax is not that of %s", first->name);
    if (r->graph->nodes[s->softmax.node[ROLE_MAX]].axes != 1u << (first->shape.rank - 1))
        return form_refuse(why, s->first, "the softmax goes not along the rows of %s", first->name);
    from[s->first] = false;
    from[s->softmax.node[ROLE_EXP]] = true;
    const bool *after_exp = form_mark_after(a, r, from);
    if (!after_exp[second->arg[0]])
        return form_refuse(why, s->softmax.node[ROLE_X], "%s is no product with the softmax",
                           second->name);
    if (after[second->arg[1]])
        return form_refuse(why, s->softmax.node[ROLE_X], "both operands of %s need %s",
                           second->name, first->name);
    return true;
}

bool form_find_attention(struct arena *a, const struct form_request *q, struct form *f,
                         struct form_reject *why) {
    const struct region *r = f->region;
    struct attention s;
    if (!find_products(r, &s, why) || !check_path(a, r, &s, why))
        return false;
    if (q->combine && !law_is_used(q->laws, "split_reduction"))
        return form_refuse(why, -1,
                           "combine splits rows over blocks: name laws split_reduction as well");
    f->kind = ANCHOR_ATTENTION;
    f->anchor = s.first;
    bool *from = arena_array(a, bool, r->graph->n_nodes);
    from[s.first] = from[s.second] = true;
    const bool *before = form_mark_before(a, r, from);
    from[s.second] = false;
    const bool *after_first = form_mark_after(a, r, from);
    from[s.first] = false;
    from[s.second] = true;
    const bool *after_second = form_mark_after(a, r, from);
    // What follows the second product follows the rules of any product.
    struct form tail = *f;
    tail.kind = ANCHOR_CONTRACTION;
    tail.anchor = s.second;
    if (!form_trace_epilogue(a, q, &tail, after_second, why))
        return false;
    for (node_id n = 0; n < r->graph->n_nodes; n++) {
        if (!r->is_member[n])
            continue;
        bool is_anchor = form_node_kind(r->graph, n) != ANCHOR_NONE;
        f->part[n] = is_anchor         ? PART_ANCHOR
                     : after_second[n] ? PART_FINISH
                     : after_first[n]  ? PART_EPILOGUE
                     : before[n]       ? PART_PROLOGUE
                                       : PART_SIBLING;
    }
    return true;
}
