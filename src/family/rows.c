// Levels of reductions over one set of axes, which values have full rows, and in which walk each is
// computed.
#include "family/rows.h"

#include "family/access.h"

#include "base/arena.h"

bool rows_value_map(const struct rows_form *f, node_id n, struct axis_map *map) {
    const struct shape *s = &f->region->graph->nodes[n].shape;
    *map = map_identity(s->rank);
    if (s->rank != f->full->rank && s->rank != f->n_kept_axes)
        return false;
    int kept = 0;
    for (int i = 0; i < f->full->rank; i++) {
        bool is_reduced = f->axes >> i & 1;
        if (s->rank != f->full->rank) {  // the kept axes alone
            if (!is_reduced && s->size[kept++] != f->full->size[i])
                return false;
            continue;
        }
        if (s->size[i] != f->full->size[i] && !(is_reduced && s->size[i] == 1))
            return false;
        map->axis[i] = s->size[i] == f->full->size[i] ? f->map.axis[i] : -1;
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
    bool (*is_worth)(const struct node *n);
    int now;
};

static bool note_walk(void *ctx, node_id n, const struct axis_map *map) {
    struct planning *p = ctx;
    struct rows_walks *w = p->walks;
    const struct region *r = p->form->region;
    const struct node *node = &r->graph->nodes[n];
    const struct axis_map *full = &p->form->map;
    if (op_infos[node->op].class == OP_CLASS_REDUCE)
        return false;
    // Conditions and whole numbers are computed again: what is kept are floats.
    if (loop_arithmetic(node->dtype) != LOOP_F32)
        return true;
    if (r->is_leaf[n] && shape_equal(&node->shape, p->form->full) &&
        map_equal(map, full, &node->shape)) {
        w->first[n] = w->first[n] ? w->first[n] : p->now;
        w->last[n] = p->now;
    }
    if (!r->is_member[n] || op_infos[node->op].class != OP_CLASS_ELEMENTWISE ||
        !shape_equal(&node->shape, p->form->full) || !map_equal(map, full, &node->shape))
        return true;
    if (p->is_worth && !p->is_worth(node))
        return true;
    if (w->first[n] && w->first[n] < p->now) {
        w->is_kept[n] = true;
        w->last[n] = p->now;
        return false;
    }
    w->first[n] = w->last[n] = p->now;
    return true;
}

void rows_plan(const struct rows_form *f, struct arena *a, bool (*is_worth)(const struct node *n),
               struct rows_walks *w) {
    const struct region *r = f->region;
    struct planning p = {.form = f, .walks = w, .is_worth = is_worth};
    w->first = arena_array(a, int, r->graph->n_nodes);
    w->last = arena_array(a, int, r->graph->n_nodes);
    w->is_kept = arena_array(a, bool, r->graph->n_nodes);
    w->n_levels = r->n_levels;
    struct point_visit visit = {r, -1, note_walk, &p};
    for (p.now = 1; p.now <= w->n_levels; p.now++)
        for (int i = 0; i < r->n_anchors; i++)
            if (r->level[r->anchor[i]] == p.now)
                point_visit(&visit, r->graph->nodes[r->anchor[i]].arg[0], &f->map);
    for (int i = 0; i < r->n_values; i++)
        if (rows_is_full(f, r->value[i]))
            point_visit(&visit, r->value[i], &f->map);
}

bool rows_any_full_value(const struct rows_form *f) {
    for (int i = 0; i < f->region->n_values; i++)
        if (rows_is_full(f, f->region->value[i]))
            return true;
    return false;
}

bool rows_are_half(const struct rows_form *f) {
    const struct region *r = f->region;
    for (node_id n = 0; n < r->graph->n_nodes; n++) {
        bool is_memory = r->is_leaf[n] || region_is_value(r, n);
        if (is_memory && shape_count(&r->graph->nodes[n].shape) >= f->n_columns &&
            dtype_infos[r->graph->nodes[n].dtype].bits != 16)
            return false;
    }
    return true;
}

void rows_visit(const struct rows_form *f, point_visit_fn fn, void *ctx) {
    const struct region *r = f->region;
    struct point_visit visit = {r, -1, fn, ctx};
    for (int i = 0; i < r->n_values; i++) {
        struct axis_map map;
        rows_value_map(f, r->value[i], &map);
        point_visit(&visit, r->value[i], &map);
    }
    for (int i = 0; i < r->n_anchors; i++)
        point_visit(&visit, r->graph->nodes[r->anchor[i]].arg[0], &f->map);
}

static bool cut_access(void *ctx, node_id n, const struct axis_map *map) {
    struct lowering *l = ctx;
    access_cut(l->region, &l->space, n, map);
    return true;
}

int rows_build_space(struct lowering *l, const struct rows_form *f) {
    l->space = (struct space){0};
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < f->full->rank; i++)
            if ((int)(f->axes >> i & 1) == pass)
                space_add(&l->space, point_size(l, f->full, i));
    space_join(&l->space, 0, f->n_kept_axes);
    space_join(&l->space, f->n_kept_axes, f->full->rank - f->n_kept_axes);
    rows_visit(f, cut_access, l);
    space_finish(l->arena, &l->space);
    return f->n_kept_axes == 0 ? 0 : l->space.group[f->n_kept_axes - 1] + 1;
}

// Lanes along the last axis in memory.
static int64_t count_lanes(struct rows_form *f) {
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = f->region};
    rows_build_space(&l, f);
    f->n_inner = l.space.count[l.space.n_groups - 1];
    // An axis of one element has no lanes: neighbours are along the one before it, be that kept or
    // reduced. But where it is all that is reduced, it is what rows are made of.
    int last = f->full->rank - 1;
    while (last > 0 && f->full->size[last] == 1 && !f->is_last)
        last--;
    int64_t lanes = space_lanes(&l.space, l.space.group[f->map.axis[last]]);
    arena_reset(&scratch);
    return lanes;
}

static void measure(struct rows_form *f) {
    int kept = 0, reduced = 0;
    f->map = map_identity(0);
    f->n_rows = f->n_columns = 1;
    for (int i = 0; i < f->full->rank; i++)
        f->n_kept_axes += !(f->axes >> i & 1);
    for (int i = 0; i < f->full->rank; i++) {
        bool is_reduced = f->axes >> i & 1;
        *(is_reduced ? &f->n_columns : &f->n_rows) *= f->full->size[i];
        f->map.axis[i] = is_reduced ? f->n_kept_axes + reduced++ : kept++;
        if (is_reduced)
            f->column = i;
    }
    int last = f->full->rank - 1;
    while (last > 0 && f->full->size[last] == 1)
        last--;
    f->is_along = f->axes >> last & 1;
    f->is_last = f->axes == 1u << (f->full->rank - 1);
}

bool rows_accept_last(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    const struct region *r = f->region;
    return f->rows->is_last || objection(why, NULL, "%s is not reduced over the last axis alone",
                                         r->graph->nodes[r->anchor[0]].name);
}

bool rows_accept_along(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    const struct region *r = f->region;
    return f->rows->is_along || objection(why, NULL, "%s is not reduced over the last axis",
                                          r->graph->nodes[r->anchor[0]].name);
}

bool rows_find(struct form *form, struct objection *why) {
    const struct region *r = form->region;
    const struct graph *g = r->graph;
    struct rows_form *f = arena_new(r->arena, struct rows_form);
    const struct node *first = &g->nodes[r->anchor[0]];
    *f = (struct rows_form){
        .region = r, .full = &g->nodes[first->arg[0]].shape, .axes = first->axes};
    measure(f);
    // One reduction whose results are not spread again is the family reduce's, which does it
    // better.
    if (!f->is_last && r->n_anchors == 1 && !rows_any_full_value(f))
        return objection(why, NULL, "%s is not reduced over the last axis alone", first->name);
    form->rows = f;
    form->lanes = count_lanes(f);
    rows_plan(f, r->arena, NULL, &f->walks);
    return true;
}
