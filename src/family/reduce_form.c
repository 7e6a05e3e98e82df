// Finds the one reduction of a region, and orders axes into kept and reduced.
#include "family/reduce_form.h"

#include "base/arena.h"
#include "family/access.h"

static bool find_anchor(void *ctx, node_id n, const struct axis_map *map) {
    struct reduce_form *f = ctx;
    if (n != f->anchor)
        return true;
    if (f->found && !map_equal(&f->at, map, &f->region->graph->nodes[n].shape))
        f->mistaken = true;
    f->found = true;
    f->at = *map;
    return false;
}

struct axis_map reduce_build_space(struct lowering *l, const struct reduce_form *f) {
    const struct graph *g = l->region->graph;
    const struct node *anchor = &g->nodes[f->anchor];
    const struct shape *value = &g->nodes[l->region->value[0]].shape;
    const struct shape *shape = &g->nodes[anchor->arg[0]].shape;
    l->space = (struct space){0};
    for (int i = 0; i < value->rank; i++)
        space_add(&l->space, point_size(l, value, i));
    struct axis_map arg = map_identity(0);
    int kept = 0;
    for (int i = 0; i < shape->rank; i++)
        arg.axis[i] = anchor->axes >> i & 1 ? space_add(&l->space, point_size(l, shape, i))
                                            : f->at.axis[kept++];
    return arg;
}

struct cutter {
    struct lowering *l;
    node_id anchor;
};

static bool cut_access(void *ctx, node_id n, const struct axis_map *map) {
    struct cutter *c = ctx;
    access_cut(c->l->region, &c->l->space, n, map);
    return n != c->anchor;
}

int reduce_group_space(struct lowering *l, const struct reduce_form *f) {
    const struct graph *g = l->region->graph;
    int kept = g->nodes[l->region->value[0]].shape.rank;
    struct axis_map map = map_identity(kept);
    struct cutter c = {l, f->anchor};
    struct point_visit visit = {l->region, -1, cut_access, &c};
    space_join(&l->space, 0, kept);
    space_join(&l->space, kept, l->space.n_axes - kept);
    for (int i = 0; i < l->region->n_values; i++)
        point_visit(&visit, l->region->value[i], &map);
    point_visit(&visit, g->nodes[f->anchor].arg[0], &f->arg);
    space_finish(l->arena, &l->space);
    return kept == 0 ? 0 : l->space.group[kept - 1] + 1;
}

static bool find_place(struct reduce_form *f, struct objection *why) {
    const struct region *r = f->region;
    const struct graph *g = r->graph;
    const struct shape *value = &g->nodes[r->value[0]].shape;
    struct axis_map map = map_identity(value->rank);
    struct point_visit visit = {r, -1, find_anchor, f};
    for (int i = 0; i < r->n_values; i++) {
        if (!shape_equal(&g->nodes[r->value[i]].shape, value))
            return objection(why, NULL, "%s and %s have different shapes", r->value_name[0],
                             r->value_name[i]);
        point_visit(&visit, r->value[i], &map);
    }
    const struct node *anchor = &g->nodes[f->anchor];
    for (int i = 0; i < value->rank; i++)
        if (value->size[i] > 1 && !map_uses(&f->at, anchor->shape.rank, i))
            f->mistaken = true;
    f->mistaken |= !map_is_plain(&f->at, anchor->shape.rank);
    return !f->mistaken ||
           objection(why, NULL, "%s is needed more than once for each result; materialise it first",
                     anchor->name);
}

// Sizes, and lanes along the axis that vectors lie on.
static int64_t measure(struct reduce_form *f) {
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = f->region};
    const struct graph *g = f->region->graph;
    f->arg = reduce_build_space(&l, f);
    f->n_kept = reduce_group_space(&l, f);
    f->n_results = f->n_terms = 1;
    for (int i = 0; i < l.space.n_groups; i++)
        *(i < f->n_kept ? &f->n_results : &f->n_terms) *= l.space.count[i];
    const struct shape *arg = &g->nodes[g->nodes[f->anchor].arg[0]].shape;
    int axis = f->arg.axis[arg->rank - 1];
    f->across = f->n_kept > 0 && axis >= 0 && l.space.group[axis] == f->n_kept - 1;
    f->n_columns = f->across ? l.space.count[f->n_kept - 1] : 1;
    int last = f->across ? f->n_kept - 1 : l.space.n_groups - 1;
    // Nothing to reduce over, nothing kept: a single element.
    int64_t lanes = last >= (f->across ? 0 : f->n_kept) ? space_lanes(&l.space, last) : 1;
    arena_reset(&scratch);
    return lanes;
}

bool reduce_find(struct form *form, struct objection *why) {
    const struct region *r = form->region;
    if (r->n_anchors != 1)
        return objection(why, NULL, "reduce takes one reduction; materialise %s first",
                         r->graph->nodes[r->anchor[0]].name);
    struct reduce_form *f = arena_new(r->arena, struct reduce_form);
    *f = (struct reduce_form){.region = r, .anchor = form->anchor};
    form->reduce = f;
    if (!find_place(f, why))
        return false;
    form->lanes = measure(f);
    return true;
}
