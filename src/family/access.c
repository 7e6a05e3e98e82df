// One function per operation that only moves data: the argument's map, and the guards that remain.
#include "family/access.h"

#include <assert.h>

#include "ir/detail.h"

bool access_moves(const struct node *n) {
    return op_class_of(n->op)->role == OP_ROLE_INDEX;
}

void access_guard(struct guard *guards, int *n, const struct index *index, int64_t low,
                  int64_t high) {
    if (index->low < low || index->high > high)
        guards[(*n)++] = (struct guard){index, low, high};
}

static const struct index *index_at(const struct region *r, const struct node *n,
                                    const struct axis_map *map, int axis) {
    return map_index(r->arena, map, axis, n->shape.size[axis]);
}

static void find_slice(const struct region *r, const struct node *n, const struct axis_map *map,
                       struct access *x) {
    const struct shape *arg = &r->graph->nodes[n->arg[0]].shape;
    x->map[0] = map_identity(0);
    for (int i = 0; i < n->shape.rank; i++) {
        const struct index *at = index_scale(r->arena, index_at(r, n, map, i), n->detail->step[i]);
        map_set(&x->map[0], arg, i, index_shift(r->arena, at, n->detail->start[i]));
    }
}

static void find_pad(const struct region *r, const struct node *n, const struct axis_map *map,
                     struct access *x) {
    const struct shape *arg = &r->graph->nodes[n->arg[0]].shape;
    x->map[0] = map_identity(0);
    for (int i = 0; i < n->shape.rank; i++) {
        const struct index *at = index_at(r, n, map, i);
        at = index_shift(r->arena, at, -n->detail->start[i]);
        access_guard(x->guard, &x->n_guards, at, 0, arg->size[i] - 1);
        map_set(&x->map[0], arg, i, index_within(r->arena, at, 0, arg->size[i] - 1));
    }
}

static void find_concat(const struct region *r, const struct node *n, const struct axis_map *map,
                        struct access *x) {
    int axis = n->detail->axis;
    const struct shape *a = &r->graph->nodes[n->arg[0]].shape;
    const struct shape *b = &r->graph->nodes[n->arg[1]].shape;
    int64_t first = a->size[axis], second = b->size[axis];
    const struct index *at = index_at(r, n, map, axis);
    // Told even where it always holds: the value is one part or the other.
    x->guard[x->n_guards++] = (struct guard){at, 0, first - 1};
    x->map[0] = x->map[1] = *map;
    map_set(&x->map[0], a, axis, index_within(r->arena, at, 0, first - 1));
    at = index_shift(r->arena, at, -first);
    map_set(&x->map[1], b, axis, index_within(r->arena, at, 0, second - 1));
}

static void find_reshape(const struct region *r, const struct node *n, const struct axis_map *map,
                         struct access *x) {
    const struct shape *arg = &r->graph->nodes[n->arg[0]].shape;
    const struct index *flat = map_flat(r->arena, &n->shape, map);
    int64_t stride = 1;
    x->map[0] = map_identity(0);
    for (int i = arg->rank - 1; i >= 0; i--) {
        const struct index *at = index_quotient(r->arena, flat, stride);
        map_set(&x->map[0], arg, i, index_remainder(r->arena, at, arg->size[i]));
        stride *= arg->size[i];
    }
}

// The index comes from data: it is brought into bounds, since a kernel must not read elsewhere.
static void find_take(const struct region *r, const struct node *n, const struct axis_map *map,
                      struct access *x) {
    const struct shape *from = &r->graph->nodes[n->arg[0]].shape;
    const struct shape *index = &r->graph->nodes[n->arg[1]].shape;
    int axis = n->detail->axis;
    x->map[0] = *map;
    x->map[1] = *map;
    if (n->op == OP_TAKE) {
        x->map[0] = x->map[1] = map_identity(0);
        for (int i = 0; i < index->rank; i++) {
            x->map[1].axis[i] = map->axis[axis + i];
            x->map[1].index[i] = map->index[axis + i];
        }
        for (int i = 0; i < from->rank; i++) {
            int at = i < axis ? i : i + index->rank - 1;
            if (i == axis)
                continue;
            x->map[0].axis[i] = map->axis[at];
            x->map[0].index[i] = map->index[at];
        }
    }
    map_set(&x->map[0], from, axis,
            index_value(r->arena, n->arg[1], &x->map[1], from->size[axis] - 1));
}

const struct index *access_iota(const struct region *r, const struct node *n,
                                const struct axis_map *map) {
    return index_at(r, n, map, n->detail->axis);
}

void access_find(const struct region *r, node_id id, const struct axis_map *map, struct access *x) {
    const struct node *n = &r->graph->nodes[id];
    x->n_guards = 0;
    switch (n->op) {
    case OP_VIEW:
        x->map[0] = map_through_view(r->graph, n, map);
        return;
    case OP_SLICE:
        find_slice(r, n, map, x);
        return;
    case OP_PAD:
        find_pad(r, n, map, x);
        return;
    case OP_CONCAT:
        find_concat(r, n, map, x);
        return;
    case OP_RESHAPE:
        find_reshape(r, n, map, x);
        return;
    case OP_TAKE:
    case OP_TAKE_ALONG:
        find_take(r, n, map, x);
        return;
    default:
        for (int i = 0; i < n->n_args; i++)
            x->map[i] = *map;
    }
}

bool access_has_lanes(const struct region *r, node_id id) {
    const struct node *n = &r->graph->nodes[id];
    bool is_memory = r->is_leaf[id] || region_is_value(r, id);
    if (is_memory || (n->op == OP_CAST && n->dtype != DTYPE_BOOL))
        return n->dtype == DTYPE_F32 || n->dtype == DTYPE_F16 || n->dtype == DTYPE_BF16 ||
               n->dtype == DTYPE_BOOL;
    enum loop_dtype t = loop_arithmetic(n->dtype);
    return t == LOOP_F32 || t == LOOP_MASK;
}

void access_cut(const struct region *r, struct space *s, node_id id, const struct axis_map *map) {
    const struct node *n = &r->graph->nodes[id];
    if (n->op != OP_CONST && !access_has_lanes(r, id))
        space_forbid_lanes(s, n->shape.rank, map);
    if (r->is_leaf[id]) {
        space_cut(r->arena, s, &n->shape, map);
        return;
    }
    if (!access_moves(n))
        return;
    if (n->op == OP_IOTA) {
        space_cut_index(s, access_iota(r, n, map));
        return;
    }
    struct access x;
    access_find(r, id, map, &x);
    for (int i = 0; i < x.n_guards; i++)
        space_cut_index(s, x.guard[i].index);
}
