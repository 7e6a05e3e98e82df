#include "family/in_place.h"

struct search {
    const struct region *region;
    node_id anchor;
    bool is_elsewhere;
};

static bool find_anchor(void *ctx, node_id n, const struct axis_map *map) {
    struct search *s = ctx;
    if (n != s->anchor)
        return true;
    const struct shape *shape = &s->region->graph->nodes[n].shape;
    struct axis_map own = map_identity(shape->rank);
    s->is_elsewhere |= !map_equal(&own, map, shape);
    return false;
}

bool in_place_check(const struct region *r, node_id anchor, struct objection *why) {
    const struct node *node = &r->graph->nodes[anchor];
    struct axis_map map = map_identity(node->shape.rank);
    struct search s = {r, anchor, false};
    struct point_visit visit = {r, -1, find_anchor, &s};
    if (r->n_anchors != 1)
        return objection(why, NULL, "only the %s %s is taken; materialise it first",
                         op_infos[node->op].name, node->name);
    for (int i = 0; i < r->n_values; i++) {
        if (!shape_equal(&r->graph->nodes[r->value[i]].shape, &node->shape))
            return objection(why, NULL, "%s has not the shape of the %s %s", r->value_name[i],
                             op_infos[node->op].name, node->name);
        point_visit(&visit, r->value[i], &map);
    }
    return !s.is_elsewhere ||
           objection(why, NULL, "%s is needed at other places than its own; materialise it first",
                     node->name);
}
