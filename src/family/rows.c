// Levels of reductions over one set of axes, which values have full rows, and in which walk each is
// computed.
#include "family/rows.h"

#include "family/access.h"

#include "base/arena.h"

bool rows_value_map(const struct rows_form *f, node_id n, struct axis_map *map) {
    const struct shape *s = &f->region->graph->nodes[n].shape;
    int rank = f->full->rank;
    if (s->rank != rank && s->rank != rank - 1)
        return false;
    for (int i = 0; i < rank - 1; i++)
        if (s->size[i] != f->full->size[i])
            return false;
    *map = map_identity(s->rank);
    if (s->rank == rank && s->size[rank - 1] != f->full->size[rank - 1]) {
        map->axis[rank - 1] = -1;
        return s->size[rank - 1] == 1;
    }
    return true;
}

bool rows_is_full(const struct rows_form *f, node_id n) {
    return shape_equal(&f->region->graph->nodes[n].shape, f->full);
}

// The walk that is being planned.
struct planning {
    const struct rows_form *form;
    struct rows_walks *walks;
    int now;
};

static bool note_walk(void *ctx, node_id n, const struct axis_map *map) {
    struct planning *p = ctx;
    struct rows_walks *w = p->walks;
    const struct region *r = p->form->region;
    const struct node *node = &r->graph->nodes[n];
    struct axis_map identity = map_identity(p->form->full->rank);
    if (op_infos[node->op].class == OP_CLASS_REDUCE)
        return false;
    // Conditions and whole numbers are computed again: what is kept are floats.
    if (loop_arithmetic(node->dtype) != LOOP_F32)
        return true;
    if (r->is_leaf[n] && shape_equal(&node->shape, p->form->full) &&
        map_equal(map, &identity, &node->shape)) {
        w->first[n] = w->first[n] ? w->first[n] : p->now;
        w->last[n] = p->now;
    }
    if (!r->is_member[n] || op_infos[node->op].class != OP_CLASS_ELEMENTWISE ||
        !shape_equal(&node->shape, p->form->full) || !map_equal(map, &identity, &node->shape))
        return true;
    if (w->first[n] && w->first[n] < p->now) {
        w->is_kept[n] = true;
        w->last[n] = p->now;
        return false;
    }
    w->first[n] = w->last[n] = p->now;
    return true;
}

static void plan_walks(struct rows_form *f) {
    const struct region *r = f->region;
    struct arena *a = r->arena;
    struct rows_walks *w = &f->walks;
    struct planning p = {.form = f, .walks = w};
    struct axis_map identity = map_identity(f->full->rank);
    w->first = arena_array(a, int, r->graph->n_nodes);
    w->last = arena_array(a, int, r->graph->n_nodes);
    w->is_kept = arena_array(a, bool, r->graph->n_nodes);
    w->n_levels = r->n_levels;
    struct point_visit visit = {r, f->column, note_walk, &p};
    for (p.now = 1; p.now <= w->n_levels; p.now++)
        for (int i = 0; i < r->n_anchors; i++)
            if (r->level[r->anchor[i]] == p.now)
                point_visit(&visit, r->graph->nodes[r->anchor[i]].arg[0], &identity);
    for (int i = 0; i < r->n_values; i++)
        if (rows_is_full(f, r->value[i]))
            point_visit(&visit, r->value[i], &identity);
}

bool rows_any_full_value(const struct rows_form *f) {
    for (int i = 0; i < f->region->n_values; i++)
        if (rows_is_full(f, f->region->value[i]))
            return true;
    return false;
}

static bool cut_access(void *ctx, node_id n, const struct axis_map *map) {
    struct lowering *l = ctx;
    access_cut(l->region, &l->space, n, map);
    return true;
}

void rows_build_space(struct lowering *l, const struct rows_form *f) {
    l->space = (struct space){0};
    for (int i = 0; i < f->full->rank; i++)
        space_add(&l->space, point_size(l, f->full, i));
    space_join(&l->space, 0, f->column);
    struct point_visit visit = {l->region, f->column, cut_access, l};
    for (int i = 0; i < l->region->n_values; i++) {
        struct axis_map map;
        rows_value_map(f, l->region->value[i], &map);
        point_visit(&visit, l->region->value[i], &map);
    }
    space_finish(l->arena, &l->space);
}

// Lanes along the column.
static int64_t count_lanes(const struct rows_form *f) {
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = f->region};
    rows_build_space(&l, f);
    int64_t lanes = space_lanes(&l.space, l.space.group[f->column]);
    arena_reset(&scratch);
    return lanes;
}

bool rows_find(struct form *form, struct objection *why) {
    const struct region *r = form->region;
    const struct graph *g = r->graph;
    struct rows_form *f = arena_new(r->arena, struct rows_form);
    const struct node *first = &g->nodes[r->anchor[0]];
    const struct shape *full = &g->nodes[first->arg[0]].shape;
    if (first->axes != 1u << (full->rank - 1))
        return objection(why, NULL, "%s is not reduced over the last axis alone", first->name);
    *f = (struct rows_form){.region = r, .full = full, .column = full->rank - 1};
    f->n_columns = full->size[f->column];
    f->n_rows = shape_count(full) / f->n_columns;
    form->rows = f;
    form->lanes = count_lanes(f);
    plan_walks(f);
    return true;
}
