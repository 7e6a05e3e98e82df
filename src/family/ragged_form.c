// Finds the one product over groups of rows of a region.
#include "family/ragged_form.h"

#include <stddef.h>

#include "base/arena.h"
#include "family/in_place.h"

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
    if (!in_place_check(r, form->anchor, why))
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
