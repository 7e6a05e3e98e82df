// Finds the one scan of a region, and which way its lines lie.
#include "family/scan_form.h"

#include "base/arena.h"
#include "family/access.h"
#include "ir/detail.h"

static bool find_anchor(void *ctx, node_id n, const struct axis_map *map) {
    struct scan_form *f = ctx;
    if (n != f->anchor)
        return true;
    const struct shape *shape = &f->region->graph->nodes[n].shape;
    struct axis_map own = map_identity(shape->rank);
    f->is_elsewhere |= !map_equal(&own, map, shape);
    return false;
}

static bool check_values(struct scan_form *f, struct objection *why) {
    const struct region *r = f->region;
    const struct node *anchor = &r->graph->nodes[f->anchor];
    struct axis_map map = map_identity(anchor->shape.rank);
    struct point_visit visit = {r, -1, find_anchor, f};
    for (int i = 0; i < r->n_values; i++) {
        if (!shape_equal(&r->graph->nodes[r->value[i]].shape, &anchor->shape))
            return objection(why, NULL, "%s has not the shape of the scan %s", r->value_name[i],
                             anchor->name);
        point_visit(&visit, r->value[i], &map);
    }
    return !f->is_elsewhere ||
           objection(why, NULL, "%s is needed at other places than its own; materialise it first",
                     anchor->name);
}

static bool cut_access(void *ctx, node_id n, const struct axis_map *map) {
    struct lowering *l = ctx;
    access_cut(l->region, &l->space, n, map);
    return true;
}

int scan_build_space(struct lowering *l, const struct scan_form *f) {
    const struct region *r = l->region;
    const struct node *anchor = &r->graph->nodes[f->anchor];
    struct axis_map map = map_identity(anchor->shape.rank);
    l->space = (struct space){0};
    for (int i = 0; i < anchor->shape.rank; i++)
        space_add(&l->space, point_size(l, &anchor->shape, i));
    space_join(&l->space, 0, l->space.n_axes);
    struct point_visit visit = {r, -1, cut_access, l};
    for (int i = 0; i < r->n_values; i++)
        point_visit(&visit, r->value[i], &map);
    point_visit(&visit, anchor->arg[0], &map);
    space_separate(&l->space, f->axis);
    space_finish(l->arena, &l->space);
    return l->space.group[f->axis];
}

// Lanes along the line, or across lines.
static int64_t count_lanes(const struct scan_form *f) {
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = f->region};
    int axis = scan_build_space(&l, f);
    int64_t lanes = space_lanes(&l.space, f->is_along ? axis : l.space.n_groups - 1);
    arena_reset(&scratch);
    bool has_lanes = loop_arithmetic(f->region->graph->nodes[f->anchor].dtype) == LOOP_F32;
    return has_lanes ? lanes : 1;
}

bool scan_find(struct form *form, struct objection *why) {
    const struct region *r = form->region;
    const struct node *anchor = &r->graph->nodes[form->anchor];
    if (op_infos[anchor->op].class != OP_CLASS_SCAN || anchor->op == OP_RECUR)
        return objection(why, NULL, "scan does not take %s (value '%s')", op_infos[anchor->op].name,
                         anchor->name);
    if (r->n_anchors != 1)
        return objection(why, NULL, "scan takes one scan and no reduction; materialise %s first",
                         anchor->name);
    struct scan_form *f = arena_new(r->arena, struct scan_form);
    *f = (struct scan_form){.region = r, .anchor = form->anchor, .axis = anchor->detail->axis};
    f->length = anchor->shape.size[f->axis];
    f->n_inner = 1;
    for (int i = f->axis + 1; i < anchor->shape.rank; i++)
        f->n_inner *= anchor->shape.size[i];
    f->is_along = f->n_inner == 1;
    f->n_lines = shape_count(&anchor->shape) / f->length;
    form->scan = f;
    if (!check_values(f, why))
        return false;
    form->lanes = count_lanes(f);
    return true;
}
