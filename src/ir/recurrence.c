// The numbering of a body's inputs and outputs, and the rules that node and body keep.
#include "ir/recurrence.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

struct shape recurrence_without(const struct shape *s, int axis) {
    struct shape r = {.rank = s->rank - 1};
    for (int i = 0; i < r.rank; i++) {
        r.size[i] = s->size[i + (i >= axis)];
        r.dim[i] = s->dim[i + (i >= axis)];
    }
    return r;
}

struct shape recurrence_with(const struct shape *s, int axis, int64_t size) {
    struct shape r = {.rank = s->rank + 1};
    for (int i = 0; i < r.rank; i++) {
        r.size[i] = i == axis ? size : s->size[i - (i > axis)];
        r.dim[i] = i == axis ? -1 : s->dim[i - (i > axis)];
    }
    return r;
}

node_id recurrence_first(const struct graph *g, node_id n) {
    const struct recurrence *r = recurrence_of(&g->nodes[n]);
    for (node_id i = 0; i < n; i++)
        if (recurrence_of(&g->nodes[i]) == r)
            return i;
    return n;
}

void recurrence_find_same(const struct recurrence *r, bool *is_same) {
    const struct graph *g = &r->body->graph;
    for (int i = r->n_states + r->n_slices; i < r->body->n_inputs; i++)
        is_same[r->body->inputs[i].node] = true;
    for (node_id i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op != OP_INPUT)
            is_same[i] = true;
        for (int k = 0; k < g->nodes[i].n_args; k++)
            is_same[i] &= is_same[g->nodes[i].arg[k]];
    }
    for (node_id i = 0; i < g->n_nodes; i++)
        is_same[i] &= g->nodes[i].op != OP_INPUT;
}

static const char *broken_argument(const struct recurrence *r, const struct graph *g,
                                   const struct node *n, int i) {
    const struct node *arg = &g->nodes[n->arg[i]];
    const struct node *input = &r->body->graph.nodes[r->body->inputs[i].node];
    struct shape seen = arg->shape;
    if (recurrence_is_slice(r, i)) {
        if (r->axis[i] < 0 || r->axis[i] >= arg->shape.rank ||
            arg->shape.size[r->axis[i]] != r->n_steps)
            return "an argument has no axis of as many positions as there are steps";
        seen = recurrence_without(&arg->shape, r->axis[i]);
    }
    return arg->dtype == input->dtype && shape_equal(&seen, &input->shape)
               ? NULL
               : "an argument is not what the body takes";
}

// A state goes on as what it was, and what a step gives is computed by it.
static const char *broken_body(const struct recurrence *r) {
    const struct problem *body = r->body;
    struct error err = {0};
    if (!graph_verify(&body->graph, &err))
        return "the body breaks a rule";
    for (int i = 0; i < body->n_outputs; i++) {
        const struct node *next = &body->graph.nodes[body->outputs[i].node];
        const struct node *state =
            i < r->n_states ? &body->graph.nodes[body->inputs[i].node] : next;
        if (next->op == OP_INPUT)
            return "the body gives an input back";
        for (int k = 0; k < i; k++)
            if (body->outputs[k].node == body->outputs[i].node)
                return "the body gives one value twice";
        if (next->dtype != state->dtype || !shape_equal(&next->shape, &state->shape))
            return "a state changes its type";
    }
    return NULL;
}

const char *recurrence_broken(const struct graph *g, const struct node *n) {
    const struct recurrence *r = n->detail->recurrence;
    int result = n->detail->result;
    if (!r || !r->body || r->n_steps < 1 || r->n_states < 1 || r->n_slices < 0)
        return "it has no steps or no state";
    if (n->n_args != r->body->n_inputs || r->n_states + r->n_slices > n->n_args ||
        r->n_states > r->body->n_outputs)
        return "the body takes other arguments";
    if (result < 0 || result >= r->body->n_outputs)
        return "the body has no such output";
    const char *broken = broken_body(r);
    for (int i = 0; i < n->n_args && !broken; i++)
        broken = broken_argument(r, g, n, i);
    if (broken)
        return broken;
    const struct node *from = &r->body->graph.nodes[r->body->outputs[result].node];
    struct shape want = from->shape;
    if (result >= r->n_states) {
        if (n->detail->axis < 0 || n->detail->axis > want.rank || want.rank == RANK_MAX)
            return "the steps are joined along no axis";
        want = recurrence_with(&want, n->detail->axis, r->n_steps);
    }
    return n->dtype == from->dtype && shape_equal(&want, &n->shape)
               ? NULL
               : "the result is not what the body gives";
}

void recurrence_print(struct str *out, const struct recurrence *r, const char *indent) {
    struct arena scratch = {0};
    const char *line = graph_print(&scratch, &r->body->graph);
    while (*line) {
        int len = (int)strcspn(line, "\n");
        str_printf(out, "%s%.*s\n", indent, len, line);
        line += len + 1;
    }
    arena_reset(&scratch);
}
