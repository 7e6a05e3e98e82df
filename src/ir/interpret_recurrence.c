// Recurrences: the body is interpreted once per step, its states handed on in all three readings.
// So a rounding of step 1 is carried through every later step by the derivatives of the body, and
// the honest reading is that of somebody who goes step by step in the declared precision.
#include "base/arena.h"
#include "ir/structural.h"

// A shape seen along one axis: outer x n x inner.
struct cross {
    int64_t outer, n, inner;
};

static struct cross cross_of(const struct shape *part, int axis, int64_t n) {
    struct cross c = {.outer = 1, .n = n, .inner = 1};
    for (int i = 0; i < axis; i++)
        c.outer *= part->size[i];
    for (int i = axis; i < part->rank; i++)
        c.inner *= part->size[i];
    return c;
}

// Position t of `from` into the part `to`.
static void take_step(const struct reading *to, const struct reading *from, struct cross c,
                      int64_t t) {
    for (int64_t i = 0; i < c.outer; i++) {
        struct reading out = structural_at(to, i * c.inner);
        struct reading in = structural_at(from, (i * c.n + t) * c.inner);
        structural_copy(&out, &in, 1, c.inner);
    }
}

static void put_step(const struct reading *to, const struct reading *from, struct cross c,
                     int64_t t) {
    for (int64_t i = 0; i < c.outer; i++) {
        struct reading out = structural_at(to, (i * c.n + t) * c.inner);
        struct reading in = structural_at(from, i * c.inner);
        structural_copy(&out, &in, 1, c.inner);
    }
}

static const struct node *input_node(const struct recurrence *r, int i) {
    return &r->body->graph.nodes[r->body->inputs[i].node];
}

static const struct node *output_node(const struct recurrence *r, int i) {
    return &r->body->graph.nodes[r->body->outputs[i].node];
}

static void take_slices(const struct structural_loop *l, struct reading *inputs, int64_t t) {
    const struct recurrence *r = l->recurrence;
    for (int i = r->n_states; i < r->n_states + r->n_slices; i++)
        take_step(&inputs[i], &l->args[i],
                  cross_of(&input_node(r, i)->shape, r->axis[i], r->n_steps), t);
}

// What this step adds to the results; last states when it is the last.
static void keep(struct structural_loop *l, const struct reading *outputs, int64_t t,
                 bool is_last) {
    const struct recurrence *r = l->recurrence;
    for (int i = 0; i < l->n_results; i++) {
        const struct node_detail *d = l->nodes[i]->detail;
        const struct shape *part = &output_node(r, d->result)->shape;
        if (d->result >= r->n_states)
            put_step(&l->results[i], &outputs[d->result], cross_of(part, d->axis, r->n_steps), t);
        else if (is_last)
            structural_copy(&l->results[i], &outputs[d->result], 1, shape_count(part));
    }
}

void structural_recurrence(struct structural_loop *l) {
    const struct recurrence *r = l->recurrence;
    struct arena scratch = {0};
    int n_nodes = r->body->graph.n_nodes;
    bool *is_same = arena_array(&scratch, bool, n_nodes);
    struct structural_kept kept = {is_same, arena_array(&scratch, struct reading, n_nodes)};
    struct reading inputs[ARGS_MAX], outputs[OUTPUTS_MAX], states[OUTPUTS_MAX] = {{0}};
    recurrence_find_same(r, is_same);
    for (int i = 0; i < r->body->n_outputs; i++)
        is_same[r->body->outputs[i].node] = false;
    for (int i = 0; i < r->body->n_inputs; i++) {
        const struct node *n = input_node(r, i);
        inputs[i] = l->args[i];
        if (recurrence_is_slice(r, i))
            inputs[i] =
                structural_scratch(shape_count(&n->shape), l->args[i].variance != NULL, n->dtype);
        inputs[i].type = n->dtype;
    }
    for (int64_t step = 0; step < r->n_steps; step++) {
        int64_t t = r->reverse ? r->n_steps - 1 - step : step;
        take_slices(l, inputs, t);
        structural_interpret(r->body, inputs, &kept, outputs, l->fault);
        keep(l, outputs, t, step + 1 == r->n_steps);
        for (int i = 0; i < r->body->n_outputs; i++) {
            structural_free(i < r->n_states ? &states[i] : &outputs[i]);
            if (i < r->n_states)
                inputs[i] = states[i] = outputs[i];
        }
    }
    for (int i = 0; i < r->n_states; i++)
        structural_free(&states[i]);
    for (int i = r->n_states; i < r->n_states + r->n_slices; i++)
        structural_free(&inputs[i]);
    for (int i = 0; i < n_nodes; i++)
        structural_free(&kept.arrays[i]);
    arena_reset(&scratch);
}
