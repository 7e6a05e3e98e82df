// Axis maps of nodes, composed through views; neighbours that every map walks alike are joined.
#include "family/space.h"

#include <assert.h>

#include "base/arena.h"

struct axis_map map_identity(int rank) {
    struct axis_map m = {0};
    for (int i = 0; i < RANK_MAX; i++)
        m.axis[i] = i < rank ? i : -1;
    return m;
}

static bool same_entry(const struct axis_map *a, const struct axis_map *b, int i) {
    return a->axis[i] == b->axis[i] &&
           (a->axis[i] != MAP_INDEX || index_same(a->index[i], b->index[i]));
}

bool map_equal(const struct axis_map *a, const struct axis_map *b, const struct shape *s) {
    for (int i = 0; i < s->rank; i++)
        if (s->size[i] > 1 && !same_entry(a, b, i))
            return false;
    return true;
}

bool map_same(const struct axis_map *a, const struct axis_map *b) {
    for (int i = 0; i < RANK_MAX; i++)
        if (!same_entry(a, b, i))
            return false;
    return true;
}

bool map_is_plain(const struct axis_map *map, int rank) {
    for (int i = 0; i < rank; i++)
        if (map->axis[i] == MAP_INDEX)
            return false;
    return true;
}

const struct index *map_index(struct arena *a, const struct axis_map *map, int axis, int64_t size) {
    if (map->axis[axis] == MAP_INDEX)
        return map->index[axis];
    return map->axis[axis] == MAP_ZERO ? index_number(a, 0) : index_axis(a, map->axis[axis], size);
}

void map_set(struct axis_map *map, const struct shape *s, int axis, const struct index *x) {
    int64_t value;
    bool is_zero = index_constant(x, &value) && value == 0;
    bool is_whole = x->kind == INDEX_AXIS && x->high + 1 == s->size[axis];
    map->axis[axis] = is_zero ? MAP_ZERO : is_whole ? x->axis : MAP_INDEX;
    map->index[axis] = map->axis[axis] == MAP_INDEX ? x : NULL;
}

const struct index *map_flat(struct arena *a, const struct shape *s, const struct axis_map *map) {
    const struct index *flat = index_number(a, 0);
    int64_t stride = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        flat = index_add(a, flat, index_scale(a, map_index(a, map, i, s->size[i]), stride));
        stride *= s->size[i];
    }
    return flat;
}

struct axis_map map_through_view(const struct graph *g, const struct node *view,
                                 const struct axis_map *map) {
    assert(view->op == OP_VIEW);
    struct axis_map m = map_identity(0);
    const struct shape *arg = &g->nodes[view->arg[0]].shape;
    for (int i = 0; i < view->shape.rank; i++)
        // An axis of one element has only index 0.
        if (view->view[i] >= 0 && arg->size[view->view[i]] > 1) {
            m.axis[view->view[i]] = map->axis[i];
            m.index[view->view[i]] = map->index[i];
        }
    return m;
}

bool map_uses(const struct axis_map *map, int rank, int axis) {
    for (int i = 0; i < rank; i++)
        if (map->axis[i] == axis || (map->axis[i] == MAP_INDEX && index_uses(map->index[i], axis)))
            return true;
    return false;
}

int space_add(struct space *s, struct loop_size size) {
    assert(s->n_axes < SPACE_AXES_MAX);
    s->size[s->n_axes] = size;
    return s->n_axes++;
}

void space_join(struct space *s, int first, int n_axes) {
    for (int i = first + 1; i < first + n_axes; i++)
        s->is_joined[i] = true;
}

// Axes of one element are walked by nobody and join their neighbours.
static int axis_before(const struct space *s, int axis) {
    do
        axis--;
    while (axis >= 0 && s->size[axis].value == 1);
    return axis;
}

static int axis_after(const struct space *s, int axis) {
    do
        axis++;
    while (axis < s->n_axes && s->size[axis].value == 1);
    return axis;
}

static void cut_plain(struct space *s, const struct shape *shape, const struct axis_map *map) {
    int place[SPACE_AXES_MAX];  // of each axis of the space in this node, or -1
    for (int i = 0; i < s->n_axes; i++)
        place[i] = -1;
    for (int i = 0; i < shape->rank; i++)
        if (map->axis[i] >= 0)
            place[map->axis[i]] = i;
    for (int i = 0; i < s->n_axes; i++) {
        int before = axis_before(s, i);
        if (s->size[i].value == 1)
            continue;
        bool both_absent = before >= 0 && place[before] < 0 && place[i] < 0;
        bool adjacent = before >= 0 && place[before] >= 0 && place[i] == place[before] + 1;
        if (!both_absent && !adjacent)
            s->is_joined[i] = false;
    }
}

void space_separate(struct space *s, int axis) {
    int after = axis_after(s, axis);
    s->is_joined[axis] = false;
    if (after < s->n_axes)
        s->is_joined[after] = false;
}

static void cut_around(struct space *s, int axis) {
    space_separate(s, axis);
    s->is_scalar[axis] = true;
}

void space_forbid_lanes(struct space *s, int rank, const struct axis_map *map) {
    for (int i = 0; i < s->n_axes; i++)
        s->is_scalar[i] |= map_uses(map, rank, i);
}

void space_cut_index(struct space *s, const struct index *x) {
    for (int i = 0; i < s->n_axes; i++)
        if (index_uses(x, i))
            cut_around(s, i);
}

static int64_t divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

// Where vectors along `axis` begin: at multiples of what divides every other part of the index.
static void note_alignment(struct space *s, const struct index *flat, int axis) {
    int64_t by = flat->kind == INDEX_SUM ? flat->number : 0;
    if (index_factor(flat, axis) != 1)
        return;
    for (int i = 0; flat->kind == INDEX_SUM && i < flat->n_terms; i++) {
        const struct index_term *t = &flat->term[i];
        if (t->part->kind != INDEX_AXIS || t->part->axis != axis)
            by = divisor(by, t->scale);
    }
    if (by != 0)
        s->aligned[axis] = divisor(s->aligned[axis], by);
}

// Axes stay joined where they are one number to this access too.
static void cut_flat(struct space *s, const struct index *flat) {
    for (int i = 0; i < s->n_axes; i++) {
        int before = axis_before(s, i);
        if (s->size[i].value == 1)
            continue;
        if (!index_is_affine(flat, i)) {
            cut_around(s, i);
            continue;
        }
        note_alignment(s, flat, i);
        if (before < 0 || index_factor(flat, before) != index_factor(flat, i) * s->size[i].value)
            s->is_joined[i] = false;
    }
}

void space_cut(struct arena *a, struct space *s, const struct shape *shape,
               const struct axis_map *map) {
    if (map_is_plain(map, shape->rank))
        cut_plain(s, shape, map);
    else
        cut_flat(s, map_flat(a, shape, map));
}

int64_t space_lanes(const struct space *s, int group) {
    int64_t lanes = s->count[group];
    for (int i = 0; i < s->n_axes; i++) {
        if (s->group[i] != group || s->size[i].value == 1)
            continue;
        if (s->is_scalar[i])
            return 1;
        // Only the last axis of a group has factor 1.
        if (s->aligned[i] && axis_after(s, i) >= s->n_axes)
            lanes = divisor(lanes, s->aligned[i]);
        else if (s->aligned[i] && s->group[axis_after(s, i)] != group)
            lanes = divisor(lanes, s->aligned[i]);
    }
    return lanes;
}

void space_finish(struct arena *a, struct space *s) {
    s->n_groups = 0;
    for (int i = 0; i < s->n_axes; i++) {
        const struct loop_expr *extent = loop_named(a, s->size[i]);
        if (i > 0 && s->is_joined[i]) {
            int g = s->n_groups - 1;
            s->extent[g] = loop_binary(a, LOOP_MUL, s->extent[g], extent);
            s->count[g] *= s->size[i].value;
        } else {
            s->extent[s->n_groups] = extent;
            s->count[s->n_groups++] = s->size[i].value;
        }
        s->group[i] = s->n_groups - 1;
    }
}

void space_of_sizes(struct arena *a, struct space *s, const int64_t *size, int n) {
    *s = (struct space){0};
    for (int i = 0; i < n; i++)
        space_add(s, (struct loop_size){size[i], NULL});
    space_finish(a, s);
}
