// Levels of reductions over one set of axes, which values have full rows, and in which walk each is
// computed.
#include "family/rows.h"

#include "family/access.h"

#include "base/arena.h"

static bool check_reduction(void *ctx, node_id n, const struct axis_map *map) {
    struct rows_form *f = ctx;
    const struct node *node = &f->region->graph->nodes[n];
    if (!f->region->is_member[n] || op_infos[node->op].class != OP_CLASS_REDUCE)
        return true;
    for (int i = 0; i < node->shape.rank; i++)
        if (node->shape.size[i] > 1 && map->axis[i] != i) {
            f->mistake = "is used in other rows than its own";
            f->culprit = n;
        }
    return true;
}

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

bool rows_find_form(const struct region *r, struct rows_form *f, struct objection *why) {
    const struct graph *g = r->graph;
    *f = (struct rows_form){.region = r};
    if (r->n_anchors == 0)
        return objection(why, NULL, "rowwise needs a reduction, and there is none");
    for (int i = 0; i < r->n_anchors; i++) {
        const struct node *n = &g->nodes[r->anchor[i]];
        const struct shape *arg = &g->nodes[n->arg[0]].shape;
        if (op_infos[n->op].class != OP_CLASS_REDUCE)
            return objection(why, NULL, "rowwise takes reductions, but %s is a %s", n->name,
                             op_infos[n->op].name);
        if (n->axes != 1u << (arg->rank - 1))
            return objection(why, NULL, "%s is not reduced over the last axis alone", n->name);
        if (f->full && !shape_equal(f->full, arg))
            return objection(why, NULL, "%s has other rows than %s", n->name,
                             g->nodes[r->anchor[0]].name);
        f->full = arg;
    }
    f->column = f->full->rank - 1;
    struct point_visit visit = {r, f->column, check_reduction, f};
    for (int i = 0; i < r->n_values; i++) {
        struct axis_map map;
        if (!rows_value_map(f, r->value[i], &map))
            return objection(why, NULL, "%s has not the shape of the rows", r->value_name[i]);
        point_visit(&visit, r->value[i], &map);
        if (f->mistake)
            return objection(why, NULL, "%s %s", g->nodes[f->culprit].name, f->mistake);
    }
    return true;
}

bool rows_accepts(const struct region *r, struct objection *why) {
    struct rows_form f;
    return rows_find_form(r, &f, why);
}

static bool note_walk(void *ctx, node_id n, const struct axis_map *map) {
    struct rows_walks *w = ctx;
    const struct region *r = w->form->region;
    const struct node *node = &r->graph->nodes[n];
    struct axis_map identity = map_identity(w->form->full->rank);
    if (op_infos[node->op].class == OP_CLASS_REDUCE)
        return false;
    // Conditions and whole numbers are computed again: what is kept are floats.
    if (loop_arithmetic(node->dtype) != LOOP_F32)
        return true;
    if (r->is_leaf[n] && shape_equal(&node->shape, w->form->full) &&
        map_equal(map, &identity, &node->shape)) {
        w->first[n] = w->first[n] ? w->first[n] : w->now;
        w->last[n] = w->now;
    }
    if (!r->is_member[n] || op_infos[node->op].class != OP_CLASS_ELEMENTWISE ||
        !shape_equal(&node->shape, w->form->full) || !map_equal(map, &identity, &node->shape))
        return true;
    if (w->first[n] && w->first[n] < w->now) {
        w->is_kept[n] = true;
        w->last[n] = w->now;
        return false;
    }
    w->first[n] = w->last[n] = w->now;
    return true;
}

bool rows_is_full(const struct rows_form *f, node_id n) {
    return shape_equal(&f->region->graph->nodes[n].shape, f->full);
}

void rows_plan_walks(struct arena *a, const struct rows_form *f, struct rows_walks *w) {
    const struct region *r = f->region;
    struct axis_map identity = map_identity(f->full->rank);
    *w = (struct rows_walks){.form = f};
    w->first = arena_array(a, int, r->graph->n_nodes);
    w->last = arena_array(a, int, r->graph->n_nodes);
    w->is_kept = arena_array(a, bool, r->graph->n_nodes);
    w->n_levels = r->n_levels;
    struct point_visit visit = {r, f->column, note_walk, w};
    for (w->now = 1; w->now <= w->n_levels; w->now++)
        for (int i = 0; i < r->n_anchors; i++)
            if (r->level[r->anchor[i]] == w->now)
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

int64_t rows_lanes(const struct rows_form *f) {
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = f->region};
    rows_build_space(&l, f);
    int64_t lanes = space_lanes(&l.space, l.space.group[f->column]);
    arena_reset(&scratch);
    return lanes;
}
