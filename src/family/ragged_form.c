// Finds the one product over groups of rows of a region.
#include "family/ragged_form.h"

#include <stddef.h>

#include "base/arena.h"

struct search {
    const struct region *region;
    node_id anchor;
    bool is_elsewhere;  // the result is used at another place than its own
};

static bool find_anchor(void *ctx, node_id n, const struct axis_map *map) {
    struct search *s = ctx;
    if (n != s->anchor)
        return true;
    const struct shape *shape = &s->region->graph->nodes[n].shape;
    for (int i = 0; i < shape->rank; i++)
        s->is_elsewhere |= shape->size[i] > 1 && map->axis[i] != i;
    return false;
}

static bool check_values(const struct form *form, struct objection *why) {
    const struct region *r = form->region;
    const struct node *n = &r->graph->nodes[form->anchor];
    struct search s = {.region = r, .anchor = form->anchor};
    struct axis_map map = map_identity(n->shape.rank);
    struct point_visit visit = {r, -1, find_anchor, &s};
    for (int i = 0; i < r->n_values; i++) {
        if (!shape_equal(&r->graph->nodes[r->value[i]].shape, &n->shape))
            return objection(why, NULL, "%s has not the shape of the product %s", r->value_name[i],
                             n->name);
        point_visit(&visit, r->value[i], &map);
    }
    return !s.is_elsewhere ||
           objection(why, NULL, "%s is used at other places; materialise it first", n->name);
}

void ragged_build_space(struct lowering *l, const struct ragged_form *f) {
    const struct shape *shape = &l->region->graph->nodes[f->anchor].shape;
    l->space = (struct space){0};
    for (int i = 0; i < shape->rank; i++)
        space_add(&l->space, point_size(l, shape, i));
    point_cut_epilogue(l, f->anchor);
    for (int i = 0; i < shape->rank; i++)
        l->space.is_joined[i] = false;
    space_finish(l->arena, &l->space);
}

static bool has_pairs(const struct region *r, const struct ragged_form *f) {
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = r};
    ragged_build_space(&l, f);
    bool ok = space_lanes(&l.space, l.space.n_groups - 1) % 2 == 0;
    arena_reset(&scratch);
    return ok;
}

bool ragged_find(struct form *form, struct objection *why) {
    const struct region *r = form->region;
    const struct graph *g = r->graph;
    const struct node *n = &g->nodes[form->anchor];
    if (r->n_anchors != 1)
        return objection(why, NULL, "ragged takes one product; materialise %s first",
                         g->nodes[r->anchor[0]].name);
    if (!check_values(form, why))
        return false;
    for (int i = 0; i < 3; i++)
        if (!r->is_leaf[n->arg[i]])
            return objection(why, NULL, "ragged reads its operands as they are; materialise %s",
                             g->nodes[n->arg[i]].name);
    struct ragged_form *f = arena_new(r->arena, struct ragged_form);
    const struct shape *x = &g->nodes[n->arg[0]].shape, *w = &g->nodes[n->arg[1]].shape;
    *f = (struct ragged_form){.anchor = form->anchor,
                              .x = n->arg[0],
                              .w = n->arg[1],
                              .offsets = n->arg[2],
                              .is_outer = n->op == OP_RAGGED_OUTER,
                              .rows = x->size[0],
                              .groups = g->nodes[n->arg[2]].shape.size[0] - 1,
                              .in = x->size[1],
                              .out = w->size[w->rank - 1]};
    f->has_pairs = has_pairs(r, f);
    form->ragged = f;
    return true;
}
