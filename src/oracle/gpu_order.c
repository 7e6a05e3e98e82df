// Orders along lines and scattered sums, on the card, by the kernels of hone_oracle_choice.h: lines
// are put in order by merging runs of one, two, four elements and so on, a launch for each. A
// scattered sum puts its indices in order first.
#include "base/error.h"
#include "ir/detail.h"
#include "oracle/gpu_computation.h"

static uint64_t inner_of(const struct shape *s, int axis) {
    uint64_t inner = 1;
    for (int i = axis + 1; i < s->rank; i++)
        inner *= (uint64_t)s->size[i];
    return inner;
}

static bool put_in_order(struct computation *l, struct oracle_order *o, struct error *err) {
    o->width = 1;
    do {
        uint64_t each = o->width < o->kept + 1 ? o->width : o->kept + 1;
        uint64_t pairs = (o->length + 2 * o->width - 1) / (2 * o->width);
        void *arguments[] = {o};
        if (!compute_launch(l, l->oracle->merge, (int64_t)(o->n * pairs * 2 * each),
                            COMPUTE_THREADS, arguments, err))
            return false;
        uint64_t places = o->places;
        o->places = o->merged;
        o->merged = places;
        o->width *= 2;
    } while (o->width < o->length);
    return true;
}

static void set_places(const struct computation *l, node_id id, struct oracle_order *o) {
    o->places = l->work + (cuda_pointer)l->plan.places[id].partials;
    o->merged = l->work + (cuda_pointer)l->plan.places[id].joined;
}

bool compute_order(struct computation *l, node_id id, struct error *err) {
    const struct node *n = compute_node(l, id);
    struct shape shape = oracle_plan_shape(&l->plan, n->arg[0], l->rows);
    int axis = n->detail->axis;
    struct oracle_order o = {.is_rising = n->detail->reverse,
                             .from = compute_operand(l, n->arg[0]),
                             .out = compute_own(l, id),
                             .length = (uint64_t)shape.size[axis],
                             .inner = inner_of(&shape, axis),
                             .kept = (uint64_t)n->shape.size[axis]};
    o.n = (uint64_t)shape_count(&shape) / o.length;
    set_places(l, id, &o);
    // What is exact has one order.
    int n_readings = o.from.array.variance ? 2 : 1;
    for (o.is_honest = 0; o.is_honest < n_readings; o.is_honest++) {
        void *arguments[] = {&o};
        if (!put_in_order(l, &o, err) ||
            !compute_launch(l, l->oracle->ranks, (int64_t)(o.n * o.kept), COMPUTE_THREADS,
                            arguments, err))
            return false;
    }
    return true;
}

// The indices, each line of them once where every element of a row has the same.
static struct oracle_order order_of_indices(const struct computation *l, node_id id) {
    const struct node *n = compute_node(l, id);
    int axis = n->detail->axis;
    uint64_t strides[RANK_MAX];
    struct shape shape = oracle_plan_shape(&l->plan, n->arg[1], l->rows);
    node_id base = oracle_plan_base(&l->plan, n->arg[1], l->rows, strides);
    unsigned axes = oracle_plan_index_axes(&l->plan, id, l->rows);
    struct oracle_order o = {
        .is_rising = 1,
        .from = {compute_array(l, base), oracle_plan_axes(&shape, strides, axes)},
        .length = (uint64_t)shape.size[axis],
        .inner = axes == ~0U ? inner_of(&shape, axis) : 1,
        .kept = (uint64_t)shape.size[axis]};
    o.n = o.inner;
    for (int i = 0; i < axis; i++)
        o.n *= (uint64_t)shape.size[i];
    set_places(l, id, &o);
    return o;
}

bool compute_scatter(struct computation *l, node_id id, struct error *err) {
    const struct node *n = compute_node(l, id);
    struct shape shape = oracle_plan_shape(&l->plan, id, l->rows);
    struct oracle_scatter s = {.order = order_of_indices(l, id),
                               .base = compute_operand(l, n->arg[0]),
                               .src = compute_operand(l, n->arg[2]),
                               .out = compute_own(l, id),
                               .n = (uint64_t)compute_count(l, id),
                               .size = (uint64_t)shape.size[n->detail->axis],
                               .inner = inner_of(&shape, n->detail->axis),
                               .fault = l->fault};
    s.length = s.order.length;
    void *arguments[] = {&s};
    return put_in_order(l, &s.order, err) &&
           compute_launch(l, l->oracle->scatter, (int64_t)s.n, COMPUTE_THREADS, arguments, err);
}
