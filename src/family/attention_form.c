// Finds what the two products and the softmax of a region work on.
#include "family/attention_form.h"

#include <stddef.h>

#include "base/arena.h"
#include "family/access.h"
#include "family/laws.h"

enum { ROLE_X, ROLE_MAX, ROLE_SHIFTED, ROLE_EXP, ROLE_SUM };

static const struct node *at(const struct region *r, node_id n) {
    return &r->graph->nodes[n];
}

static node_id under_views(const struct region *r, node_id n) {
    while (r->is_member[n] && at(r, n)->op == OP_VIEW)
        n = at(r, n)->arg[0];
    return n;
}

// A view of a value that exists, each of its axes along one of the space or at 0.
static bool find_side(const struct region *r, node_id n, struct axis_map map,
                      struct attention_side *s) {
    while (r->is_member[n] && at(r, n)->op == OP_VIEW) {
        map = map_through_view(r->graph, at(r, n), &map);
        n = at(r, n)->arg[0];
    }
    *s = (struct attention_side){n, map};
    return r->is_leaf[n] && map_is_plain(&map, at(r, n)->shape.rank);
}

// where(key <= query, ..., a number below all others)
static bool is_causal(const struct region *r, const struct attention_form *f) {
    const struct node *x = at(r, f->x);
    if (x->op != OP_WHERE || !r->is_member[f->x])
        return false;
    node_id other = under_views(r, x->arg[2]);
    if (at(r, other)->op != OP_CONST || !(at(r, other)->value < -1e38))
        return false;
    struct axis_map map = map_identity(at(r, f->x)->shape.rank);
    node_id n = x->arg[0];
    while (r->is_member[n] && at(r, n)->op == OP_VIEW) {
        map = map_through_view(r->graph, at(r, n), &map);
        n = at(r, n)->arg[0];
    }
    if (at(r, n)->op != OP_LE || !r->is_member[n])
        return false;
    for (int i = 0; i < 2; i++) {
        struct axis_map own = map;
        node_id side = at(r, n)->arg[i];
        while (r->is_member[side] && at(r, side)->op == OP_VIEW) {
            own = map_through_view(r->graph, at(r, side), &own);
            side = at(r, side)->arg[0];
        }
        if (at(r, side)->op != OP_IOTA || at(r, side)->shape.rank != 1 ||
            own.axis[0] != (i == 0 ? f->axis_n : f->axis_m))
            return false;
    }
    return true;
}

// A number that the product is multiplied by, and nothing else.
static double find_factor(const struct region *r, const struct attention_form *f) {
    node_id n = f->is_causal ? at(r, f->x)->arg[1] : f->x;
    if (n == f->scores)
        return 0;
    if (at(r, n)->op != OP_MUL || !r->is_member[n])
        return 0;
    for (int i = 0; i < 2; i++) {
        node_id other = under_views(r, at(r, n)->arg[1 - i]);
        double v = at(r, other)->op == OP_CONST ? at(r, other)->value : 0;
        if (at(r, n)->arg[i] == f->scores && v > 0 && v <= 0.5)
            return v;
    }
    return 0;
}

// The left operand of the second product: exp / sum, perhaps rounded.
static bool find_softmax(const struct region *r, const struct law_match *m,
                         struct attention_form *f, struct objection *why) {
    node_id p = at(r, f->result)->arg[0];
    f->x = m->node[ROLE_X];
    if (r->is_member[p] && at(r, p)->op == OP_CAST) {
        f->is_rounded = at(r, p)->dtype == f->storage;
        p = at(r, p)->arg[0];
    }
    if (!r->is_member[p] || at(r, p)->op != OP_DIV || at(r, p)->arg[0] != m->node[ROLE_EXP] ||
        under_views(r, at(r, p)->arg[1]) != m->node[ROLE_SUM])
        return objection(why, NULL, "the left operand of %s is no softmax as it stands",
                         at(r, f->result)->name);
    return true;
}

struct search {
    const struct attention_form *f;
    int rank;
    bool is_elsewhere;
};

static bool find_result(void *ctx, node_id n, const struct axis_map *map) {
    struct search *s = ctx;
    if (n != s->f->result)
        return true;
    for (int i = 0; i < s->rank; i++)
        s->is_elsewhere |= map->axis[i] != s->f->out.axis[i] && map->axis[i] != MAP_ZERO;
    return false;
}

static bool check_values(const struct region *r, const struct attention_form *f,
                         struct objection *why) {
    const struct node *n = at(r, f->result);
    struct search s = {f, n->shape.rank, false};
    struct point_visit visit = {r, -1, find_result, &s};
    for (int i = 0; i < r->n_values; i++) {
        if (!shape_equal(&at(r, r->value[i])->shape, &n->shape) || r->value[i] < f->result)
            return objection(why, NULL, "%s is not what follows %s", r->value_name[i], n->name);
        point_visit(&visit, r->value[i], &f->out);
    }
    if (s.is_elsewhere)
        return objection(why, NULL, "%s is used at other places; materialise it first", n->name);
    return true;
}

// Axes of the space, and where operands are read.
static bool find_sides(const struct region *r, struct attention_form *f, struct objection *why) {
    const struct node *first = at(r, f->scores), *second = at(r, f->result);
    int rank = first->shape.rank;
    f->axis_m = rank - 2;
    f->axis_n = rank - 1;
    f->axis_width = rank;
    f->axis_depth = rank + 1;
    f->at = f->out = map_identity(rank);
    f->out.axis[rank - 1] = f->axis_width;
    struct axis_map q = f->at, k = f->at, v = f->out;
    q.axis[rank - 1] = f->axis_depth;
    k.axis[rank - 2] = f->axis_depth;
    v.axis[rank - 2] = f->axis_n;
    if (!find_side(r, first->arg[0], q, &f->q) || !find_side(r, first->arg[1], k, &f->k) ||
        !find_side(r, second->arg[1], v, &f->v))
        return objection(why, NULL,
                         "attention reads queries, keys and values where they are, and one of "
                         "them is computed; materialise it first");
    f->storage = at(r, f->q.leaf)->dtype;
    f->m = first->shape.size[rank - 2];
    f->n = first->shape.size[rank - 1];
    f->batch = shape_count(&first->shape) / (f->m * f->n);
    f->depth = at(r, first->arg[0])->shape.size[rank - 1];
    f->width = second->shape.size[rank - 1];
    return true;
}

bool attention_find(struct form *form, struct objection *why) {
    const struct region *r = form->region;
    struct attention_form *f = arena_new(r->arena, struct attention_form);
    *f = (struct attention_form){.scores = form->anchor, .result = -1};
    for (int i = 0; i < r->n_anchors; i++)
        if (form_node_kind(r->graph, r->anchor[i]) == ANCHOR_CONTRACTION)
            f->result = r->anchor[i];
    struct law_uses uses = {0};
    law_use(law_find("online_softmax"), r, &uses);
    if (!find_sides(r, f, why) || !find_softmax(r, &uses.match[0], f, why) ||
        !check_values(r, f, why))
        return false;
    f->is_causal = is_causal(r, f);
    f->factor = find_factor(r, f);
    form->attention = f;
    return true;
}

// ---- the space

static bool cut_access(void *ctx, node_id n, const struct axis_map *map) {
    struct lowering *l = ctx;
    access_cut(l->region, &l->space, n, map);
    return op_infos[l->region->graph->nodes[n].op].class != OP_CLASS_CONTRACT;
}

void attention_build_space(struct lowering *l, const struct attention_form *f) {
    const struct region *r = l->region;
    const struct shape *shape = &at(r, f->scores)->shape;
    int rank = shape->rank;
    l->space = (struct space){0};
    for (int i = 0; i < rank; i++)
        space_add(&l->space, point_size(l, shape, i));
    space_add(&l->space, point_size(l, &at(r, f->result)->shape, rank - 1));
    space_add(&l->space, (struct loop_size){f->depth, NULL});
    space_join(&l->space, 0, rank - 2);
    struct point_visit visit = {r, -1, cut_access, l};
    point_visit(&visit, f->x, &f->at);
    for (int i = 0; i < r->n_values; i++)
        point_visit(&visit, r->value[i], &f->out);
    point_visit(&visit, f->q.leaf, &f->q.map);
    point_visit(&visit, f->k.leaf, &f->k.map);
    point_visit(&visit, f->v.leaf, &f->v.map);
    for (int i = f->axis_m; i <= f->axis_depth; i++)
        l->space.is_joined[i] = false;
    space_finish(l->arena, &l->space);
}
