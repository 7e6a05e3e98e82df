// Accepts regions that are elementwise all through, and lays their values into one space.
#include "family/map_form.h"

#include "base/arena.h"
#include "family/access.h"

// Lanes along the innermost group.
static int64_t count_lanes(const struct region *r) {
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = r};
    map_build_space(&l);
    int64_t lanes = space_lanes(&l.space, l.space.n_groups - 1);
    arena_reset(&scratch);
    return lanes;
}

bool map_find(struct form *f, struct objection *why) {
    const struct region *r = f->region;
    const struct graph *g = r->graph;
    for (int i = 1; i < r->n_values; i++)
        if (!shape_equal(&g->nodes[r->value[i]].shape, &g->nodes[r->value[0]].shape))
            return objection(why, NULL, "%s and %s have different shapes", r->value_name[0],
                             r->value_name[i]);
    f->lanes = count_lanes(r);
    return true;
}

static bool cut_access(void *ctx, node_id n, const struct axis_map *map) {
    struct lowering *l = ctx;
    access_cut(l->region, &l->space, n, map);
    return true;
}

void map_build_space(struct lowering *l) {
    const struct shape *shape = &l->region->graph->nodes[l->region->value[0]].shape;
    l->space = (struct space){0};
    for (int i = 0; i < shape->rank; i++)
        space_add(&l->space, point_size(l, shape, i));
    if (shape->rank == 0)
        space_add(&l->space, (struct loop_size){1, NULL});
    space_join(&l->space, 0, l->space.n_axes);
    struct axis_map map = map_identity(shape->rank);
    struct point_visit visit = {l->region, -1, cut_access, l};
    for (int i = 0; i < l->region->n_values; i++)
        point_visit(&visit, l->region->value[i], &map);
    space_finish(l->arena, &l->space);
}
