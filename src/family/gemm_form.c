// Finds the one product of a region and whether its operands can be read in place.
#include "family/gemm_form.h"

#include "base/arena.h"
#include "family/access.h"
#include "ir/detail.h"

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

// The column axis that comes before `axis` in the order of memory, those of one element left out.
static int column_before(const struct region *r, const struct gemm_form *f, int axis) {
    const struct shape *shape = &r->graph->nodes[f->anchor].shape;
    do
        axis--;
    while (axis >= f->first_n && shape->size[axis] == 1);
    return axis;
}

void gemm_last_axes(const struct region *r, const struct gemm_form *f, node_id leaf,
                    const struct axis_map *map, int axes[2]) {
    const struct shape *shape = &r->graph->nodes[leaf].shape;
    int i = shape->rank - 1;
    for (int k = 0; k < 2; k++) {
        while (f->is_conv && i >= 0 && shape->size[i] == 1)
            i--;
        axes[k] = i >= 0 ? map->axis[i--] : -1;
        int last = column_before(r, f, f->axis_n + 1), next = last;
        if (!f->is_conv || axes[k] < f->first_n || axes[k] > f->axis_n)
            continue;
        // All columns in their order, or none.
        for (i++; i >= 0 && next >= f->first_n && (shape->size[i] == 1 || map->axis[i] == next);
             i--)
            next = shape->size[i] == 1 ? next : column_before(r, f, next);
        axes[k] = next < f->first_n ? f->axis_n : -1;
    }
}

static void map_operands(const struct node *n, struct gemm_form *f) {
    int rank = n->shape.rank;
    f->lhs = n->arg[f->is_conv];
    f->rhs = n->arg[!f->is_conv];
    f->axis_k = rank;
    f->axis_n = rank - 1;
    f->first_n = f->is_conv ? 2 : rank - 1;
    f->axis_m = f->first_n - 1;
    f->lhs_map = f->rhs_map = f->at = map_identity(rank);
    f->rhs_map.axis[f->axis_m] = f->axis_k;
    if (!f->is_conv) {
        f->lhs_map.axis[rank - 1] = f->axis_k;
        return;
    }
    f->lhs_map.axis[0] = f->axis_m;
    f->lhs_map.axis[1] = f->axis_k;
    for (int i = 2; i < rank; i++)
        f->lhs_map.axis[i] = MAP_ZERO;
}

static bool is_f8(enum dtype t) {
    return t == DTYPE_F8E4M3 || t == DTYPE_F8E5M2;
}

static void look_at_operands(const struct region *r, struct gemm_form *f) {
    node_id leaf;
    struct axis_map map;
    int axes[2];
    map_operands(&r->graph->nodes[f->anchor], f);
    f->lhs_is_plain = is_plain(r, f->lhs, f->lhs_map, &leaf, &map);
    gemm_last_axes(r, f, leaf, &map, axes);
    f->lhs_is_along_k = !f->lhs_is_plain || axes[0] != f->axis_m;
    f->rhs_is_plain = is_plain(r, f->rhs, f->rhs_map, &leaf, &map);
    // Where an operand is computed, its own order is as good as any.
    gemm_last_axes(r, f, leaf, &map, axes);
    f->rhs_is_contiguous = !f->rhs_is_plain || axes[0] == f->axis_n;
    f->is_f8 = f->lhs_is_plain && f->rhs_is_plain && is_f8(r->graph->nodes[f->lhs].dtype) &&
               is_f8(r->graph->nodes[f->rhs].dtype);
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
    // Whole numbers have no vectors, but pairs of sums, and operands that are copied as they are;
    // so are those of f8.
    bool is_as_it_is = (c->form->is_whole && (c->is_operand || n == c->form->anchor)) ||
                       (c->form->is_f8 && c->is_operand);
    if (!is_as_it_is)
        access_cut(l->region, &l->space, n, map);
    else if (l->region->is_leaf[n])
        space_cut(l->arena, &l->space, &node->shape, map);
    return n != c->form->anchor;
}

void gemm_build_space(struct lowering *l, const struct gemm_form *f) {
    const struct graph *g = l->region->graph;
    const struct shape *shape = &g->nodes[f->anchor].shape;
    const struct shape *lhs = &g->nodes[f->lhs].shape;
    int rank = shape->rank;
    l->space = (struct space){0};
    for (int i = 0; i < rank; i++)
        space_add(&l->space, point_size(l, shape, i));
    space_add(&l->space, point_size(l, lhs, f->is_conv ? 1 : rank - 1));
    space_join(&l->space, 0, f->axis_m);
    space_join(&l->space, f->first_n, rank - f->first_n);
    struct axis_map map = map_identity(rank);
    struct cutter c = {l, f, false};
    struct point_visit visit = {l->region, -1, cut_access, &c};
    for (int i = 0; i < f->n_results; i++)
        point_visit(&visit, f->results[i], &map);
    c.is_operand = true;
    point_visit(&visit, f->lhs, &f->lhs_map);
    point_visit(&visit, f->rhs, &f->rhs_map);
    // Columns that begin with axes of one element are one group with them.
    for (int i = f->first_n; i < f->axis_n && shape->size[i] == 1; i++)
        l->space.is_joined[i + 1] = true;
    space_finish(l->arena, &l->space);
}

bool gemm_moves_vectors(const struct form *f, struct objection *why) {
    return f->gemm->has_vectors ||
           objection(why, NULL,
                     "gemm moves vectors, which an index, a condition or a type in an operand of "
                     "%s rules out; materialise it first",
                     f->region->graph->nodes[f->gemm->anchor].name);
}

bool gemm_sums_floats(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    if (!gemm_moves_vectors(f, why))
        return false;
    const struct node *n = &f->region->graph->nodes[f->gemm->anchor];
    return !(f->gemm->is_whole || f->gemm->is_f8) ||
           objection(why, NULL, "%s is a sum of %s; take mma, wgmma or nest", n->name,
                     f->gemm->is_f8 ? "products of f8" : "whole numbers");
}

// Groups of the space; whether tiles can be moved in vectors along every one of its axes. Only
// products that compute an operand of floats on its way can do without, by some emitters.
static bool measure(const struct region *r, struct gemm_form *f) {
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = r};
    gemm_build_space(&l, f);
    bool ok = l.space.group[f->first_n] == l.space.group[f->axis_n];
    f->has_vectors = ok;
    for (int i = f->axis_m; i <= f->axis_k; i++)
        f->has_vectors &=
            f->is_whole || f->is_f8 || (!l.space.is_scalar[i] && l.space.aligned[i] % 4 == 0);
    f->has_pairs = !l.space.is_scalar[f->axis_n] && l.space.aligned[f->axis_n] % 2 == 0;
    f->group_m = l.space.group[f->axis_m];
    f->group_n = l.space.group[f->axis_n];
    f->group_k = l.space.group[f->axis_k];
    f->lanes_m = space_lanes(&l.space, f->group_m);
    f->lanes_n = space_lanes(&l.space, f->group_n);
    f->lanes_k = space_lanes(&l.space, f->group_k);
    arena_reset(&scratch);
    bool is_computed = !f->lhs_is_plain || !f->rhs_is_plain;
    return f->has_vectors || (ok && is_computed && !f->is_conv && !f->is_whole);
}

// One result for each image would be a product of one column for each.
bool gemm_is_product(const struct graph *g, node_id id) {
    const struct node *n = &g->nodes[id];
    if (op_infos[n->op].class == OP_CLASS_CONTRACT)
        return true;
    const struct window *w = &n->detail->window;
    const struct shape *x = &g->nodes[n->arg[0]].shape;
    int64_t places = 1;
    bool ok = n->op == OP_CONV && w->groups == 1;
    for (int i = 0; i < w->n_axes && ok; i++) {
        ok = w->size[i] == 1 && w->stride[i] == 1 && w->before[i] == 0 &&
             x->size[2 + i] == n->shape.size[2 + i];
        places *= n->shape.size[2 + i];
    }
    return ok && places > 1;
}

bool gemm_find_product(struct form *form, const node_id *results, int n_results,
                       struct objection *why) {
    const struct region *r = form->region;
    const struct graph *g = r->graph;
    const struct node *n = &g->nodes[form->anchor];
    struct gemm_form *f = arena_new(r->arena, struct gemm_form);
    f->anchor = form->anchor;
    f->results = results;
    f->n_results = n_results;
    f->is_conv = op_infos[n->op].class == OP_CLASS_WINDOW;
    form->gemm = f;
    struct search s = {.region = r, .anchor = f->anchor, .rank = n->shape.rank};
    struct axis_map map = map_identity(n->shape.rank);
    struct point_visit visit = {r, -1, find_anchor, &s};
    for (int i = 0; i < n_results; i++) {
        if (!shape_equal(&g->nodes[results[i]].shape, &n->shape))
            return objection(why, NULL, "%s has not the shape of the product %s",
                             results == r->value ? r->value_name[i] : g->nodes[results[i]].name,
                             n->name);
        point_visit(&visit, results[i], &map);
    }
    if (s.is_elsewhere)
        return objection(why, NULL, "%s is used transposed; materialise it first", n->name);
    f->is_whole = loop_arithmetic(n->dtype) == LOOP_I32;
    look_at_operands(r, f);
    f->m = n->shape.size[f->axis_m];
    f->n = 1;
    for (int i = f->first_n; i <= f->axis_n; i++)
        f->n *= n->shape.size[i];
    f->k = g->nodes[f->lhs].shape.size[f->is_conv ? 1 : n->shape.rank - 1];
    f->batch = shape_count(&n->shape) / (f->m * f->n);
    return measure(r, f) || gemm_moves_vectors(form, why);
}

bool gemm_find(struct form *form, struct objection *why) {
    const struct region *r = form->region;
    if (r->n_anchors != 1)
        return objection(why, NULL, "gemm takes one product; materialise %s first",
                         r->graph->nodes[r->anchor[0]].name);
    return gemm_find_product(form, r->value, r->n_values, why);
}
