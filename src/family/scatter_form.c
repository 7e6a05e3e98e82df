// Finds the one scattered sum of a region, and whether its rows move as wholes.
#include "family/scatter_form.h"

#include "base/arena.h"
#include "family/access.h"
#include "family/in_place.h"
#include "ir/detail.h"

struct axis_map scatter_map(const struct region *r, const struct scatter_form *f, int arg) {
    const struct node *n = &r->graph->nodes[f->anchor];
    struct axis_map map = map_identity(n->shape.rank);
    if (arg > 0)
        map_set(&map, &r->graph->nodes[n->arg[arg]].shape, f->axis,
                index_axis(r->arena, n->shape.rank, f->n_sources));
    return map;
}

static bool cut_access(void *ctx, node_id n, const struct axis_map *map) {
    struct lowering *l = ctx;
    access_cut(l->region, &l->space, n, map);
    return true;
}

int scatter_build_space(struct lowering *l, const struct scatter_form *f) {
    const struct region *r = l->region;
    const struct node *n = &r->graph->nodes[f->anchor];
    struct axis_map own = map_identity(n->shape.rank);
    struct point_visit visit = {r, -1, cut_access, l};
    l->space = (struct space){0};
    for (int i = 0; i < n->shape.rank; i++)
        space_add(&l->space, point_size(l, &n->shape, i));
    int sources = space_add(&l->space, (struct loop_size){f->n_sources, NULL});
    space_join(&l->space, 0, l->space.n_axes);
    space_separate(&l->space, f->axis);
    space_separate(&l->space, sources);
    for (int i = 0; i < r->n_values; i++)
        point_visit(&visit, r->value[i], &own);
    for (int arg = 0; arg < 3; arg++) {
        struct axis_map map = scatter_map(r, f, arg);
        if (arg != 1)
            point_visit(&visit, n->arg[arg], &map);
    }
    space_finish(l->arena, &l->space);
    return sources;
}

static int64_t count_lanes(const struct scatter_form *f) {
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = f->region};
    const struct node *n = &f->region->graph->nodes[f->anchor];
    scatter_build_space(&l, f);
    int last = l.space.group[n->shape.rank - 1];
    bool has_lanes = last != l.space.group[f->axis] && loop_arithmetic(n->dtype) == LOOP_F32;
    int64_t lanes = space_lanes(&l.space, last);
    arena_reset(&scratch);
    return has_lanes ? lanes : 1;
}

// Are the indices the same wherever an element stands but along the axis?
static bool is_by_rows(const struct graph *g, const struct node *n) {
    const struct node *index = &g->nodes[n->arg[1]];
    bool is_alone = true;
    for (int i = 0; i < n->shape.rank; i++)
        is_alone = is_alone && (i == n->detail->axis || index->shape.size[i] == 1);
    if (is_alone || index->op != OP_VIEW)
        return is_alone;
    for (int i = 0; i < n->shape.rank; i++)
        if (i != n->detail->axis && index->view[i] >= 0 && index->shape.size[i] > 1)
            return false;
    return true;
}

static bool find_lists(struct form *form, struct objection *why) {
    const struct region *r = form->region;
    const struct node *n = &r->graph->nodes[form->anchor];
    const struct shape *entries = &r->graph->nodes[n->arg[3]].shape;
    struct scatter_form *f = arena_new(r->arena, struct scatter_form);
    *f = (struct scatter_form){.region = r, .anchor = form->anchor, .is_lists = true};
    f->axis = n->shape.rank - 1;
    f->n_rows = n->shape.size[f->axis];
    f->n_sources = r->graph->nodes[n->arg[0]].shape.size[0];
    f->n_lists = r->graph->nodes[n->arg[2]].shape.size[0] - 1;
    f->n_entries = entries->size[entries->rank - 1];
    f->n_results = shape_count(&n->shape);
    form->scatter = f;
    form->lanes = 1;
    return in_place_check(r, form->anchor, why);
}

bool scatter_find(struct form *form, struct objection *why) {
    const struct region *r = form->region;
    const struct node *n = &r->graph->nodes[form->anchor];
    if (n->op == OP_RAGGED_SCATTER)
        return find_lists(form, why);
    if (n->op != OP_SCATTER_ADD || !is_by_rows(r->graph, n))
        return objection(why, NULL,
                         "scatter takes sums whose indices are the same for all of a row, and "
                         "those of '%s' are not",
                         n->name);
    struct scatter_form *f = arena_new(r->arena, struct scatter_form);
    *f = (struct scatter_form){.region = r, .anchor = form->anchor, .axis = n->detail->axis};
    f->n_rows = n->shape.size[f->axis];
    f->n_sources = r->graph->nodes[n->arg[2]].shape.size[f->axis];
    f->n_results = shape_count(&n->shape);
    form->scatter = f;
    if (!in_place_check(r, form->anchor, why))
        return false;
    form->lanes = count_lanes(f);
    return true;
}
