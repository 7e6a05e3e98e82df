// Loops on the card: as in ir/interpret_recurrence.c. The body is a computation of its own, whose
// inputs are readings: copies of the loop's arguments, of which states and slices change from step
// to step. Nothing is cut into rows.
#include "base/arena.h"
#include "base/error.h"
#include "ir/recurrence.h"
#include "oracle/gpu_computation.h"

struct loop {
    struct computation *outer;
    const struct node *node;  // its first result that is asked for
    const struct recurrence *recurrence;
    struct computation body;
};

static const struct shape *input_shape(const struct recurrence *r, int i) {
    return &r->body->graph.nodes[r->body->inputs[i].node].shape;
}

static const struct shape *output_shape(const struct recurrence *r, int i) {
    return &r->body->graph.nodes[r->body->outputs[i].node].shape;
}

static struct oracle_axes flat(int64_t n) {
    return (struct oracle_axes){.rank = 1, .is_flat = 1, .size = {(uint64_t)n}, .stride = {1}};
}

static struct oracle_array moved(struct oracle_array a, uint64_t elements) {
    a.value += a.value ? elements * sizeof(double) : 0;
    a.variance += a.variance ? elements * sizeof(double) : 0;
    a.honest += a.honest ? elements * sizeof(float) : 0;
    return a;
}

// All of argument i, or what step t sees of it, to where the body reads it.
static bool take(struct loop *l, int i, int64_t t, struct error *err) {
    const struct recurrence *r = l->recurrence;
    uint64_t strides[RANK_MAX];
    struct shape s = oracle_plan_shape(&l->outer->plan, l->node->arg[i], l->outer->rows);
    node_id base = oracle_plan_base(&l->outer->plan, l->node->arg[i], l->outer->rows, strides);
    bool is_slice = recurrence_is_slice(r, i);
    struct oracle_operand from = {
        compute_array(l->outer, base),
        oracle_plan_axes(&s, strides, is_slice ? ~(1U << r->axis[i]) : ~0U)};
    if (is_slice)
        from.array = moved(from.array, (uint64_t)t * strides[r->axis[i]]);
    int64_t n = shape_count(input_shape(r, i));
    struct oracle_axes to = flat(n);
    return compute_copy(l->outer, &from, &l->body.given[i], &to, n, err);
}

// Output number i of the body, as a whole.
static struct oracle_operand result(const struct loop *l, int i) {
    const struct recurrence *r = l->recurrence;
    return (struct oracle_operand){compute_own(&l->body, r->body->outputs[i].node),
                                   flat(shape_count(output_shape(r, i)))};
}

// What this step adds to a result of the loop: its part along a new axis, or the last state.
static bool keep(struct loop *l, node_id id, int64_t t, bool is_last, struct error *err) {
    const struct recurrence *r = l->recurrence;
    const struct node_detail *d = compute_node(l->outer, id)->detail;
    const struct shape *part = output_shape(r, d->result);
    struct oracle_array out = compute_own(l->outer, id);
    struct oracle_operand from = result(l, d->result);
    int64_t n = shape_count(part), inner = 1;
    struct oracle_axes to = flat(n);
    if (d->result < r->n_states)
        return !is_last || compute_copy(l->outer, &from, &out, &to, n, err);
    for (int i = d->axis; i < part->rank; i++)
        inner *= part->size[i];
    struct shape cross = {.rank = 2, .size = {n / inner, inner}};
    uint64_t strides[RANK_MAX] = {(uint64_t)(r->n_steps * inner), 1};
    to = oracle_plan_axes(&cross, strides, ~0U);
    out = moved(out, (uint64_t)(t * inner));
    return compute_copy(l->outer, &from, &out, &to, n, err);
}

static bool compute_step(struct loop *l, int64_t step, struct error *err) {
    const struct recurrence *r = l->recurrence;
    const struct graph *g = &l->outer->request->problem->graph;
    int64_t t = r->reverse ? r->n_steps - 1 - step : step;
    bool ok = true;
    for (int i = 0; ok && i < r->body->n_inputs; i++)
        if (step == 0 || recurrence_is_slice(r, i))
            ok = take(l, i, t, err);
    for (node_id id = 0; ok && id < r->body->graph.n_nodes; id++)
        ok = !l->body.plan.is_stored[id] || compute_any(&l->body, id, err);
    for (node_id id = 0; ok && id < g->n_nodes; id++)
        if (recurrence_of(&g->nodes[id]) == r && l->outer->plan.is_stored[id])
            ok = keep(l, id, t, step + 1 == r->n_steps, err);
    for (int i = 0; ok && i < r->n_states; i++) {
        struct oracle_operand from = result(l, i);
        int64_t n = shape_count(output_shape(r, i));
        struct oracle_axes to = flat(n);
        ok = compute_copy(l->outer, &from, &l->body.given[i], &to, n, err);
    }
    return ok;
}

bool compute_recurrence(struct computation *outer, node_id id, struct error *err) {
    const struct node *n = compute_node(outer, id);
    const struct graph *g = &outer->request->problem->graph;
    // All results at once, with the first of them.
    for (node_id i = recurrence_first(g, id); i < id; i++)
        if (recurrence_of(&g->nodes[i]) == recurrence_of(n) && outer->plan.is_stored[i])
            return true;
    struct arena a = {0};
    struct loop l = {.outer = outer, .node = n, .recurrence = recurrence_of(n)};
    const struct problem *body = l.recurrence->body;
    struct gpu_oracle_request request = {.problem = body};
    struct oracle_array given[ARGS_MAX];
    l.body = (struct computation){.oracle = outer->oracle,
                                  .request = &request,
                                  .work = outer->work + (cuda_pointer)outer->plan.places[id].body,
                                  .rows = 1,
                                  .fault = outer->fault,
                                  .given = given};
    oracle_plan_make_body(&a, body, &l.body.plan);
    cuda_pointer at = l.body.work + (cuda_pointer)l.body.plan.bytes;
    for (int i = 0; i < body->n_inputs; i++) {
        int64_t count = shape_count(input_shape(l.recurrence, i));
        given[i] = compute_readings(at, count, DTYPE_F32);
        at += (cuda_pointer)oracle_plan_given_bytes(count);
    }
    bool ok = true;
    for (int64_t step = 0; ok && step < l.recurrence->n_steps; step++)
        ok = compute_step(&l, step, err);
    arena_reset(&a);
    return ok;
}
