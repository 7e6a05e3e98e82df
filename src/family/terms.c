// One function per kind of anchor: its axes, where each argument is read, and when there is a term.
#include "family/terms.h"

#include <assert.h>

#include "ir/detail.h"

bool terms_has(const struct node *n) {
    return op_class_of(n->op)->has_terms;
}

bool terms_are_products(const struct node *n) {
    return op_infos[n->op].arity > 1;
}

static const struct shape *shape_of(const struct region *r, const struct node *n, int arg) {
    return &r->graph->nodes[n->arg[arg]].shape;
}

static void add_size(struct loop_size *size, int *n, int64_t value) {
    size[(*n)++] = (struct loop_size){value, NULL};
}

int terms_axes(const struct region *r, node_id id, struct loop_size *size) {
    const struct node *node = &r->graph->nodes[id];
    const struct shape *x = shape_of(r, node, 0);
    int n = 0;
    switch (node->op) {
    case OP_MATMUL:
        add_size(size, &n, x->size[x->rank - 1]);
        return n;
    case OP_RAGGED_MATMUL:  // the group, K
        add_size(size, &n, shape_of(r, node, 1)->size[0]);
        add_size(size, &n, x->size[1]);
        return n;
    case OP_RAGGED_OUTER:  // rows
        add_size(size, &n, x->size[0]);
        return n;
    case OP_CONV:
    case OP_CONV_T:
        add_size(size, &n, x->size[1] / node->detail->window.groups);
        break;
    case OP_POOL_MAX:
    case OP_POOL_SUM:
        break;
    default:
        for (int i = 0; i < x->rank; i++)
            if (node->axes >> i & 1)
                add_size(size, &n, x->size[i]);
        return n;
    }
    for (int i = 0; i < node->detail->window.n_axes; i++)
        add_size(size, &n, node->detail->window.size[i]);
    return n;
}

// While the terms of one node are found.
struct search {
    const struct region *r;
    const struct node *n;
    const struct axis_map *at;
    int first;
    int inside;  // axis along which no tap lies in the padding; -1
    struct loop_size size[TERM_AXES_MAX];
    struct terms *t;
};

static const struct index *own(const struct search *s, int i) {
    return index_axis(s->r->arena, s->first + i, s->size[i].value);
}

static const struct index *result(const struct search *s, int axis) {
    return map_index(s->r->arena, s->at, axis, s->n->shape.size[axis]);
}

// Argument `arg` is read at x along `axis`.
static void read_at(struct search *s, int arg, int axis, const struct index *x) {
    map_set(&s->t->map[arg], shape_of(s->r, s->n, arg), axis, x);
}

static void find_reduction(struct search *s) {
    int kept = 0, reduced = 0, rank = shape_of(s->r, s->n, 0)->rank;
    for (int i = 0; i < rank; i++)
        read_at(s, 0, i, s->n->axes >> i & 1 ? own(s, reduced++) : result(s, kept++));
}

static void find_product(struct search *s) {
    int rank = s->n->shape.rank;
    for (int i = 0; i < rank; i++) {
        read_at(s, 0, i, i == rank - 1 ? own(s, 0) : result(s, i));
        read_at(s, 1, i, i == rank - 2 ? own(s, 0) : result(s, i));
    }
}

static void find_ragged(struct search *s) {
    bool outer = s->n->op == OP_RAGGED_OUTER;
    // x[t, k] w[e, k, n], or x[t, k] g[t, n] for the result [e, k, n].
    read_at(s, 0, 0, outer ? own(s, 0) : result(s, 0));
    read_at(s, 0, 1, outer ? result(s, 1) : own(s, 1));
    read_at(s, 1, 0, own(s, 0));
    read_at(s, 1, 1, outer ? result(s, 2) : own(s, 1));
    if (!outer)
        read_at(s, 1, 2, result(s, 1));
    read_at(s, 2, 0, outer ? result(s, 0) : own(s, 0));
}

static void read_inside(struct search *s, int axis, const struct index *at) {
    int64_t last = shape_of(s->r, s->n, 0)->size[axis] - 1;
    if (s->inside >= 0 && s->n->op != OP_CONV_T && index_uses(at, s->inside)) {
        read_at(s, 0, axis, at);
        return;
    }
    access_guard(s->t->guard, &s->t->n_guards, at, 0, last);
    read_at(s, 0, axis, index_within(s->r->arena, at, 0, last));
}

// Tap `own(tap)` of the window on spatial axis `i`.
static void find_tap(struct search *s, int i, int tap) {
    struct arena *a = s->r->arena;
    const struct window *w = &s->n->detail->window;
    int axis = s->n->shape.rank - w->n_axes + i;
    const struct index *o = result(s, axis), *k = own(s, tap);
    if (s->n->op != OP_CONV_T) {
        const struct index *at = index_scale(a, o, w->stride[i]);
        at = index_add(a, at, index_scale(a, k, w->dilation[i]));
        read_inside(s, axis, index_shift(a, at, -w->before[i]));
        return;
    }
    const struct index *at = index_shift(a, o, w->before[i]);
    at = index_add(a, at, index_scale(a, k, -w->dilation[i]));
    // Never negative, so that it can be divided; the guard keeps what was negative out.
    int64_t high = at->high < 0 ? 0 : at->high;
    access_guard(s->t->guard, &s->t->n_guards, at, 0, high);
    at = index_within(a, at, 0, high);
    const struct index *rest = index_remainder(a, at, w->stride[i]);
    if (rest->low != 0 || rest->high != 0)
        s->t->multiple[s->t->n_multiples++] = (struct multiple){at, w->stride[i]};
    read_inside(s, axis, index_quotient(a, at, w->stride[i]));
}

static void find_convolution(struct search *s) {
    struct arena *a = s->r->arena;
    const struct window *w = &s->n->detail->window;
    int64_t per_group = s->n->shape.size[1] / w->groups, channels = s->size[0].value;
    const struct index *out = result(s, 1), *group = index_quotient(a, out, per_group);
    const struct index *in = index_add(a, index_scale(a, group, channels), own(s, 0));
    read_at(s, 0, 0, result(s, 0));
    read_at(s, 0, 1, in);
    bool transposed = s->n->op == OP_CONV_T;
    read_at(s, 1, 0, transposed ? in : out);
    read_at(s, 1, 1, transposed ? index_remainder(a, out, per_group) : own(s, 0));
    for (int i = 0; i < w->n_axes; i++) {
        find_tap(s, i, i + 1);
        read_at(s, 1, 2 + i, own(s, i + 1));
    }
}

static void find_pool(struct search *s) {
    int n_axes = s->n->detail->window.n_axes, kept = s->n->shape.rank - n_axes;
    for (int i = 0; i < kept; i++)
        read_at(s, 0, i, result(s, i));
    for (int i = 0; i < n_axes; i++)
        find_tap(s, i, i);
}

void terms_find_inside(const struct region *r, node_id id, const struct axis_map *map, int first,
                       int inside, struct terms *t) {
    struct search s = {.r = r, .n = &r->graph->nodes[id], .at = map, .first = first, .t = t};
    s.inside = inside;
    *t = (struct terms){0};
    for (int i = 0; i < ARGS_MAX; i++)
        t->map[i] = map_identity(0);
    terms_axes(r, id, s.size);
    switch (s.n->op) {
    case OP_MATMUL:
        find_product(&s);
        return;
    case OP_RAGGED_MATMUL:
    case OP_RAGGED_OUTER:
        find_ragged(&s);
        return;
    case OP_CONV:
    case OP_CONV_T:
        find_convolution(&s);
        return;
    case OP_POOL_MAX:
    case OP_POOL_SUM:
        find_pool(&s);
        return;
    default:
        find_reduction(&s);
    }
}

void terms_find(const struct region *r, node_id id, const struct axis_map *map, int first,
                struct terms *t) {
    terms_find_inside(r, id, map, first, -1, t);
}
