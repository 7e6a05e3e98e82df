// Axis maps of nodes, composed through views; neighbours that every map walks alike are joined.
#include "family/space.h"

#include <assert.h>

#include "base/arena.h"

struct axis_map map_identity(int rank) {
    struct axis_map m;
    for (int i = 0; i < RANK_MAX; i++)
        m.axis[i] = i < rank ? i : -1;
    return m;
}

bool map_equal(const struct axis_map *a, const struct axis_map *b, const struct shape *s) {
    for (int i = 0; i < s->rank; i++)
        if (s->size[i] > 1 && a->axis[i] != b->axis[i])
            return false;
    return true;
}

struct axis_map map_through_view(const struct graph *g, const struct node *view,
                                 const struct axis_map *map) {
    assert(view->op == OP_VIEW);
    struct axis_map m = map_identity(0);
    const struct shape *arg = &g->nodes[view->arg[0]].shape;
    for (int i = 0; i < view->shape.rank; i++)
        // An axis of one element has only index 0, whoever walks it.
        if (view->view[i] >= 0 && arg->size[view->view[i]] > 1)
            m.axis[view->view[i]] = map->axis[i];
    return m;
}

bool map_uses(const struct axis_map *map, int rank, int axis) {
    for (int i = 0; i < rank; i++)
        if (map->axis[i] == axis)
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

void space_cut(struct space *s, const struct shape *shape, const struct axis_map *map) {
    int place[SPACE_AXES_MAX];  // of each axis of the space in this node, or -1
    for (int i = 0; i < s->n_axes; i++)
        place[i] = -1;
    for (int i = 0; i < shape->rank; i++)
        if (map->axis[i] >= 0)
            place[map->axis[i]] = i;
    // Axes of one element are walked by nobody and join whatever is beside them.
    int before = -1;
    for (int i = 0; i < s->n_axes; i++) {
        if (s->size[i].value == 1)
            continue;
        bool both_absent = before >= 0 && place[before] < 0 && place[i] < 0;
        bool adjacent = before >= 0 && place[before] >= 0 && place[i] == place[before] + 1;
        if (!both_absent && !adjacent)
            s->is_joined[i] = false;
        before = i;
    }
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
