// Accepts regions that are elementwise all through, and lays their values into one space.
#include "family/map_form.h"

#include "base/arena.h"
#include "family/access.h"
#include "ir/detail.h"

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

// `apart`: an axis that begins a group; 0: none in particular.
static void build_space(struct lowering *l, int apart) {
    const struct shape *shape = &l->region->graph->nodes[l->region->value[0]].shape;
    l->space = (struct space){0};
    for (int i = 0; i < shape->rank; i++)
        space_add(&l->space, point_size(l, shape, i));
    if (shape->rank == 0)
        space_add(&l->space, (struct loop_size){1, NULL});
    space_join(&l->space, 0, apart ? apart : l->space.n_axes);
    if (apart)
        space_join(&l->space, apart, l->space.n_axes - apart);
    struct axis_map map = map_identity(shape->rank);
    struct point_visit visit = {l->region, -1, cut_access, l};
    for (int i = 0; i < l->region->n_values; i++)
        point_visit(&visit, l->region->value[i], &map);
    space_finish(l->arena, &l->space);
}

void map_build_space(struct lowering *l) {
    build_space(l, 0);
}

// ---- rows of a table

int map_build_rows_space(struct lowering *l, const struct map_rows *m) {
    int axis = l->region->graph->nodes[m->index].shape.rank;
    build_space(l, axis);
    return l->space.group[axis];
}

struct take_search {
    node_id take;
    int rank;
    bool ok;
};

// Is the gather read where the values are, and nowhere else?
static bool check_take(void *ctx, node_id n, const struct axis_map *map) {
    struct take_search *s = ctx;
    struct axis_map own = map_identity(s->rank);
    s->ok &= n != s->take || map_same(map, &own);
    return true;
}

// Everything but the one gather is by element.
static bool find_take(const struct region *r, node_id *take) {
    const struct graph *g = r->graph;
    *take = -1;
    for (node_id n = 0; n < g->n_nodes; n++) {
        if (!r->is_member[n] || g->nodes[n].op == OP_CONST)
            continue;
        if (g->nodes[n].op == OP_TAKE && *take < 0)
            *take = n;
        else if (op_infos[g->nodes[n].op].class != OP_CLASS_ELEMENTWISE &&
                 g->nodes[n].op != OP_VIEW)
            return false;
    }
    if (*take < 0)
        return false;
    struct take_search s = {*take, g->nodes[*take].shape.rank, true};
    struct point_visit visit = {r, -1, check_take, &s};
    struct axis_map map = map_identity(g->nodes[r->value[0]].shape.rank);
    for (int i = 0; i < r->n_values; i++)
        point_visit(&visit, r->value[i], &map);
    return s.ok;
}

bool map_find_rows(const struct region *r, struct map_rows *m) {
    const struct graph *g = r->graph;
    *m = (struct map_rows){0};
    if (!find_take(r, &m->take))
        return false;
    const struct node *take = &g->nodes[m->take];
    m->table = take->arg[0];
    m->index = take->arg[1];
    const struct shape *table = &g->nodes[m->table].shape, *index = &g->nodes[m->index].shape;
    if (take->detail->axis != 0 || !r->is_leaf[m->table] || !r->is_leaf[m->index] ||
        index->rank == 0 || take->shape.rank <= index->rank ||
        loop_arithmetic(g->nodes[m->table].dtype) != LOOP_F32 ||
        !shape_equal(&take->shape, &g->nodes[r->value[0]].shape))
        return false;
    m->n_rows = table->size[0];
    m->n_sources = shape_count(index);
    m->width = m->n_rows ? shape_count(table) / m->n_rows : 0;
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = r};
    map_build_rows_space(&l, m);
    m->lanes = space_lanes(&l.space, l.space.n_groups - 1);
    arena_reset(&scratch);
    return m->width > 0 && m->n_sources > 0;
}

// ---- what is read across

// The last axis that has more than one element; -1: there is none.
static int last_axis(const struct shape *s) {
    int axis = s->rank - 1;
    while (axis >= 0 && s->size[axis] == 1)
        axis--;
    return axis;
}

struct crossing_search {
    const struct region *region;
    struct map_crossing *found;
};

static bool find_read(void *ctx, node_id n, const struct axis_map *map) {
    struct crossing_search *s = ctx;
    struct map_crossing *c = s->found;
    const struct node *node = &s->region->graph->nodes[n];
    int own = last_axis(&node->shape), axis = own < 0 ? MAP_ZERO : map->axis[own];
    if (!s->region->is_leaf[n] || axis < 0 || axis == c->last_axis ||
        !map_uses(map, node->shape.rank, c->last_axis))
        return true;
    if ((c->n_reads && axis != c->axis) || c->n_reads == MAP_CROSSED_MAX ||
        dtype_infos[node->dtype].bits < 8) {
        c->is_mixed = true;
        return true;
    }
    c->axis = axis;
    c->read[c->n_reads].node = n;
    c->read[c->n_reads++].map = *map;
    return true;
}

static int64_t common(int64_t a, int64_t b) {
    return b == 0 ? a : common(b, a % b);
}

bool map_find_crossing(const struct region *r, struct map_crossing *c) {
    const struct shape *shape = &r->graph->nodes[r->value[0]].shape;
    struct axis_map map = map_identity(shape->rank);
    *c = (struct map_crossing){.last_axis = last_axis(shape)};
    struct crossing_search s = {r, c};
    struct point_visit visit = {r, -1, find_read, &s};
    for (int i = 0; i < r->n_values && c->last_axis >= 0; i++)
        point_visit(&visit, r->value[i], &map);
    if (c->n_reads == 0 || c->is_mixed)
        return false;
    struct arena scratch = {0};
    struct lowering l = {.arena = &scratch, .region = r};
    map_build_space(&l);
    int across = l.space.group[c->axis], last = l.space.group[c->last_axis];
    c->n_across = l.space.count[across];
    c->n_last = l.space.count[last];
    int64_t lanes[] = {space_lanes(&l.space, across), space_lanes(&l.space, last)};
    c->lanes = common(lanes[0], lanes[1]);
    c->has_lanes = lanes[0] != 1 && lanes[1] != 1;
    c->n_outer = shape_count(shape) / (c->n_across * c->n_last);
    // Neighbours along a group are those along its last axis.
    bool is_last = true;
    for (int i = c->axis + 1; i < l.space.n_axes; i++)
        is_last &= l.space.group[i] != across || l.space.size[i].value == 1;
    arena_reset(&scratch);
    return across != last && is_last && c->n_across > 1;
}

bool map_accepts_crossing(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    struct map_crossing c;
    return map_find_crossing(f->region, &c) ||
           objection(why, NULL, "nothing is read across the last axis of %s",
                     f->region->value_name[0]);
}

int64_t map_count_tiles(const struct map_crossing *c, int along, int across) {
    return c->n_outer * ((c->n_across + across - 1) / across) * ((c->n_last + along - 1) / along);
}
