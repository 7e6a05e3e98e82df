// Finds the one reduction of a region, and orders axes into kept and reduced.
#include "family/reduce_form.h"

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

bool reduce_find_form(const struct region *r, struct reduce_form *f, struct objection *why) {
    const struct graph *g = r->graph;
    if (r->n_anchors != 1 || op_infos[g->nodes[r->anchor[0]].op].class != OP_CLASS_REDUCE)
        return objection(why, NULL, "reduce takes one reduction; materialise %s first",
                         r->n_anchors ? g->nodes[r->anchor[0]].name : "one");
    *f = (struct reduce_form){.region = r, .anchor = r->anchor[0]};
    const struct shape *value = &g->nodes[r->value[0]].shape;
    struct axis_map map = map_identity(value->rank);
    struct point_visit visit = {r, -1, find_anchor, f};
    for (int i = 0; i < r->n_values; i++) {
        if (!shape_equal(&g->nodes[r->value[i]].shape, value))
            return objection(why, NULL, "%s and %s have different shapes", r->value_name[0],
                             r->value_name[i]);
        point_visit(&visit, r->value[i], &map);
    }
    const char *name = g->nodes[f->anchor].name;
    for (int i = 0; i < value->rank; i++)
        if (value->size[i] > 1 && !map_uses(&f->at, g->nodes[f->anchor].shape.rank, i))
            f->mistaken = true;
    f->mistaken |= !map_is_plain(&f->at, g->nodes[f->anchor].shape.rank);
    if (f->mistaken)
        return objection(why, NULL,
                         "%s is needed more than once for each result; materialise it "
                         "first",
                         name);
    return true;
}

bool reduce_accepts(const struct region *r, struct objection *why) {
    struct reduce_form f;
    return reduce_find_form(r, &f, why);
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

int reduce_group_space(struct lowering *l, const struct reduce_form *f,
                       const struct axis_map *arg) {
    const struct graph *g = l->region->graph;
    int kept = g->nodes[l->region->value[0]].shape.rank;
    struct axis_map map = map_identity(kept);
    struct cutter c = {l, f->anchor};
    struct point_visit visit = {l->region, -1, cut_access, &c};
    space_join(&l->space, 0, kept);
    space_join(&l->space, kept, l->space.n_axes - kept);
    for (int i = 0; i < l->region->n_values; i++)
        point_visit(&visit, l->region->value[i], &map);
    point_visit(&visit, g->nodes[f->anchor].arg[0], arg);
    space_finish(l->arena, &l->space);
    return kept == 0 ? 0 : l->space.group[kept - 1] + 1;
}
