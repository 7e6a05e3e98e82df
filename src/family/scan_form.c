// Finds the one scan of a region, and which way its lines lie.
#include "family/scan_form.h"

#include "base/arena.h"
#include "family/access.h"
#include "family/in_place.h"
#include "ir/detail.h"

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
static int64_t count_lanes(struct scan_form *f) {
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = f->region};
    int axis = scan_build_space(&l, f);
    int64_t lanes = space_lanes(&l.space, f->is_along ? axis : l.space.n_groups - 1);
    f->n_joined = f->is_along ? 1 : l.space.count[l.space.n_groups - 1];
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
    struct scan_form *f = arena_new(r->arena, struct scan_form);
    *f = (struct scan_form){.region = r, .anchor = form->anchor, .axis = anchor->detail->axis};
    f->length = anchor->shape.size[f->axis];
    f->n_inner = 1;
    for (int i = f->axis + 1; i < anchor->shape.rank; i++)
        f->n_inner *= anchor->shape.size[i];
    f->is_along = f->n_inner == 1;
    f->n_lines = shape_count(&anchor->shape) / f->length;
    form->scan = f;
    if (!in_place_check(r, form->anchor, why))
        return false;
    form->lanes = count_lanes(f);
    return true;
}
