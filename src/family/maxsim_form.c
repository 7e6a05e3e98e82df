// Finds the product, the largest of each row and their sum in a region.
#include "family/maxsim_form.h"

#include <stddef.h>

#include "base/arena.h"
#include "family/access.h"

enum { DOCUMENT, DEPTH = 3 };  // axes: of the product, and behind them its depth

static const struct node *at(const struct region *r, node_id n) {
    return &r->graph->nodes[n];
}

static bool find_leaf(const struct region *r, node_id n, struct axis_map map, node_id *leaf,
                      struct axis_map *leaf_map) {
    while (r->is_member[n] && at(r, n)->op == OP_VIEW) {
        map = map_through_view(r->graph, at(r, n), &map);
        n = at(r, n)->arg[0];
    }
    *leaf = n;
    *leaf_map = map;
    return r->is_leaf[n];
}

// Which operand has the documents, by its map, and whether the other has the queries.
static bool find_operands(const struct region *r, struct maxsim_form *f, int token_axis) {
    node_id leaf[2];
    struct axis_map map[2];
    for (int i = 0; i < 2; i++) {
        struct axis_map own = map_identity(3);
        own.axis[i == 0 ? 2 : 1] = DEPTH;
        if (!find_leaf(r, at(r, f->product)->arg[i], own, &leaf[i], &map[i]))
            return false;
    }
    int docs = at(r, leaf[0])->shape.rank == 3 ? 0 : 1;
    const struct shape *d = &at(r, leaf[docs])->shape, *q = &at(r, leaf[1 - docs])->shape;
    const int *a = map[docs].axis, *b = map[1 - docs].axis;
    if (d->rank != 3 || q->rank != 2 || a[0] != DOCUMENT || a[1] != token_axis || a[2] != DEPTH ||
        b[0] != 3 - token_axis || b[1] != DEPTH)
        return false;
    f->docs = leaf[docs];
    f->query = leaf[1 - docs];
    f->storage = at(r, f->docs)->dtype;
    f->documents = d->size[0];
    f->tokens = d->size[1];
    f->queries = q->size[0];
    f->depth = d->size[2];
    return at(r, f->query)->dtype == f->storage;
}

// Is the node for `user` alone? A product that others need, too, is computed once, for all.
static bool is_for(const struct region *r, node_id n, node_id user) {
    for (node_id m = n + 1; m < r->graph->n_nodes; m++)
        for (int k = 0; k < at(r, m)->n_args; k++)
            if (at(r, m)->arg[k] == n && m != user)
                return false;
    for (int i = 0; i < r->problem->n_outputs; i++)
        if (r->problem->outputs[i].node == n)
            return false;
    return true;
}

static bool find_chain(const struct region *r, struct maxsim_form *f) {
    if (r->n_anchors != 3)
        return false;
    f->product = r->anchor[0];
    f->best = r->anchor[1];
    f->total = r->anchor[2];
    const struct node *p = at(r, f->product), *b = at(r, f->best), *t = at(r, f->total);
    return p->op == OP_MATMUL && p->shape.rank == 3 && b->op == OP_RMAX &&
           b->arg[0] == f->product && t->op == OP_RSUM && t->arg[0] == f->best &&
           (b->axes == 2 || b->axes == 4) && b->shape.rank == 2 && t->axes == 2 &&
           t->shape.rank == 1 && is_for(r, f->product, f->best) && is_for(r, f->best, f->total);
}

bool maxsim_find(struct form *form, struct objection *why) {
    const struct region *r = form->region;
    struct maxsim_form *f = arena_new(r->arena, struct maxsim_form);
    if (!find_chain(r, f))
        return objection(why, NULL,
                         "maxsim takes the sum of the largest of each row of a product, and %s is "
                         "none; materialise what comes before",
                         r->value_name[0]);
    if (!find_operands(r, f, at(r, f->best)->axes == 2 ? 1 : 2))
        return objection(why, NULL,
                         "maxsim takes documents[.., tokens, depth] and queries[.., depth] of one "
                         "type, both materialised, and those of %s are not",
                         at(r, f->product)->name);
    for (int i = 0; i < r->n_values; i++)
        if (!shape_equal(&at(r, r->value[i])->shape, &at(r, f->total)->shape))
            return objection(why, NULL, "%s has not the shape of %s", r->value_name[i],
                             at(r, f->total)->name);
    form->maxsim = f;
    return true;
}

struct cutter {
    struct lowering *l;
    const struct maxsim_form *f;
};

static bool cut_access(void *ctx, node_id n, const struct axis_map *map) {
    struct cutter *c = ctx;
    if (n == c->f->total)
        return false;
    access_cut(c->l->region, &c->l->space, n, map);
    return true;
}

void maxsim_build_space(struct lowering *l, const struct maxsim_form *f) {
    const struct shape *shape = &at(l->region, f->total)->shape;
    l->space = (struct space){0};
    space_add(&l->space, point_size(l, shape, 0));
    struct axis_map map = map_identity(1);
    struct cutter c = {l, f};
    struct point_visit visit = {l->region, -1, cut_access, &c};
    for (int i = 0; i < l->region->n_values; i++)
        point_visit(&visit, l->region->value[i], &map);
    space_finish(l->arena, &l->space);
}
