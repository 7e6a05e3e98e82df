// Finds the one product of a region and whether its operands can be read in place.
#include "family/gemm_form.h"

#include "base/arena.h"
#include "family/access.h"

#include <stddef.h>

struct search {
    const struct region *region;
    node_id anchor;
    int rank;
    bool is_elsewhere;  // the product is used at another place than its own
};

static bool find_anchor(void *ctx, node_id n, const struct axis_map *map) {
    struct search *s = ctx;
    if (n != s->anchor)
        return true;
    const struct shape *shape = &s->region->graph->nodes[n].shape;
    for (int i = 0; i < s->rank; i++)
        if (shape->size[i] > 1 && map->axis[i] != i)
            s->is_elsewhere = true;
    return false;
}

// A view of a materialised value: `leaf` and the map it is read by.
static bool is_plain(const struct region *r, node_id n, struct axis_map map, node_id *leaf,
                     struct axis_map *leaf_map) {
    while (r->is_member[n] && r->graph->nodes[n].op == OP_VIEW) {
        map = map_through_view(r->graph, &r->graph->nodes[n], &map);
        n = r->graph->nodes[n].arg[0];
    }
    *leaf = n;
    *leaf_map = map;
    return r->is_leaf[n];
}

static void look_at_operands(const struct region *r, struct gemm_form *f) {
    const struct node *n = &r->graph->nodes[f->anchor];
    int rank = n->shape.rank;
    f->lhs = n->arg[0];
    f->rhs = n->arg[1];
    f->axis_k = rank;
    f->lhs_map = f->rhs_map = f->at = map_identity(rank);
    f->lhs_map.axis[rank - 1] = f->axis_k;
    f->rhs_map.axis[rank - 2] = f->axis_k;
    node_id leaf;
    struct axis_map map;
    f->lhs_is_plain = is_plain(r, f->lhs, f->lhs_map, &leaf, &map);
    const struct shape *left = &r->graph->nodes[leaf].shape;
    f->lhs_is_along_k = !f->lhs_is_plain || left->rank == 0 || map.axis[left->rank - 1] != rank - 2;
    f->rhs_is_plain = is_plain(r, f->rhs, f->rhs_map, &leaf, &map);
    // Where an operand is computed, its own order is as good as any.
    const struct shape *shape = &r->graph->nodes[leaf].shape;
    f->rhs_is_contiguous =
        !f->rhs_is_plain || (shape->rank > 0 && map.axis[shape->rank - 1] == rank - 1);
}

bool gemm_leaf(const struct region *r, const struct gemm_form *f, bool is_lhs, node_id *leaf,
               struct axis_map *map) {
    return is_lhs ? is_plain(r, f->lhs, f->lhs_map, leaf, map)
                  : is_plain(r, f->rhs, f->rhs_map, leaf, map);
}

struct cutter {
    struct lowering *l;
    const struct gemm_form *form;
    bool is_operand;
};

static bool cut_access(void *ctx, node_id n, const struct axis_map *map) {
    struct cutter *c = ctx;
    struct lowering *l = c->l;
    const struct node *node = &l->region->graph->nodes[n];
    // Whole numbers have no vectors, but pairs of sums, and operands that are copied as they are.
    bool is_as_it_is = c->form->is_whole && (c->is_operand || n == c->form->anchor);
    if (!is_as_it_is)
        access_cut(l->region, &l->space, n, map);
    else if (l->region->is_leaf[n])
        space_cut(l->arena, &l->space, &node->shape, map);
    return op_infos[node->op].class != OP_CLASS_CONTRACT;
}

void gemm_build_space(struct lowering *l, const struct gemm_form *f) {
    const struct graph *g = l->region->graph;
    const struct shape *shape = &g->nodes[f->anchor].shape;
    const struct shape *lhs = &g->nodes[f->lhs].shape;
    int rank = shape->rank;
    l->space = (struct space){0};
    for (int i = 0; i < rank; i++)
        space_add(&l->space, point_size(l, shape, i));
    space_add(&l->space, point_size(l, lhs, rank - 1));
    space_join(&l->space, 0, rank - 2);
    struct axis_map map = map_identity(rank);
    struct cutter c = {l, f, false};
    struct point_visit visit = {l->region, -1, cut_access, &c};
    for (int i = 0; i < l->region->n_values; i++)
        point_visit(&visit, l->region->value[i], &map);
    c.is_operand = true;
    point_visit(&visit, f->lhs, &f->lhs_map);
    point_visit(&visit, f->rhs, &f->rhs_map);
    space_finish(l->arena, &l->space);
}

bool gemm_sums_floats(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    const struct node *n = &f->region->graph->nodes[f->gemm->anchor];
    return !f->gemm->is_whole ||
           objection(why, NULL, "%s is a sum of whole numbers; take mma, wgmma or nest", n->name);
}

// Groups of the space; whether tiles can be moved in vectors along every one of its axes.
static bool measure(const struct region *r, struct gemm_form *f) {
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = r};
    gemm_build_space(&l, f);
    bool ok = true;
    for (int i = f->axis_k - 2; i <= f->axis_k; i++)
        ok &= f->is_whole || (!l.space.is_scalar[i] && l.space.aligned[i] % 4 == 0);
    f->has_pairs = !l.space.is_scalar[f->axis_k - 1] && l.space.aligned[f->axis_k - 1] % 2 == 0;
    f->group_m = l.space.group[f->axis_k - 2];
    f->group_n = l.space.group[f->axis_k - 1];
    f->group_k = l.space.group[f->axis_k];
    f->lanes_k = space_lanes(&l.space, f->group_k);
    arena_reset(&scratch);
    return ok;
}

bool gemm_find(struct form *form, struct objection *why) {
    const struct region *r = form->region;
    const struct graph *g = r->graph;
    if (r->n_anchors != 1)
        return objection(why, NULL, "gemm takes one product; materialise %s first",
                         g->nodes[r->anchor[0]].name);
    const struct node *n = &g->nodes[form->anchor];
    struct gemm_form *f = arena_new(r->arena, struct gemm_form);
    form->gemm = f;
    f->anchor = form->anchor;
    struct search s = {.region = r, .anchor = f->anchor, .rank = n->shape.rank};
    struct axis_map map = map_identity(n->shape.rank);
    struct point_visit visit = {r, -1, find_anchor, &s};
    for (int i = 0; i < r->n_values; i++) {
        if (!shape_equal(&g->nodes[r->value[i]].shape, &n->shape))
            return objection(why, NULL, "%s has not the shape of the product %s", r->value_name[i],
                             n->name);
        point_visit(&visit, r->value[i], &map);
    }
    if (s.is_elsewhere)
        return objection(why, NULL, "%s is used transposed; materialise it first", n->name);
    f->is_whole = loop_arithmetic(n->dtype) == LOOP_I32;
    look_at_operands(r, f);
    int rank = n->shape.rank;
    f->m = n->shape.size[rank - 2];
    f->n = n->shape.size[rank - 1];
    f->k = g->nodes[f->lhs].shape.size[rank - 1];
    f->batch = shape_count(&n->shape) / (f->m * f->n);
    if (!measure(r, f))
        return objection(why, NULL,
                         "gemm moves vectors, and an index, a condition or a type in an operand of "
                         "%s stands in the way; materialise it first",
                         n->name);
    return true;
}
