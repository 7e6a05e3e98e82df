// What a product needs is built again around the loop: each value gets an axis of steps, at the
// place where its first operand has it, so that x[:, t] of [B, T, D] stays as it lies in memory.
// Slices, constants, views, what is by element, and products have a rule; a product of anything
// else stays in the body.
#include "lang/steps_before.h"

#include <string.h>

#include "base/arena.h"
#include "lang/steps.h"

enum {
    // A product of fewer terms is cheaper to compute than to write down and read again.
    TERMS_MIN = 16,
    ELEMENTS_LOG2 = 38
};

// A value outside, and the axis that the steps go along, or -1.
struct outer_value {
    node_id node;
    int axis;
};

struct hoist {
    struct steps *loop;
    struct builder *to;
    const struct graph *body;
    int64_t n_steps;
    int steps_dim;                // the dim that the author counted steps by, or -1
    int *input;                   // per node of the body: number of the input, or -1
    bool *stays;                  // it waits for a state, or has no rule here
    bool *is_needed;              // outside
    struct outer_value *outside;  // of what is needed
    int n_moved;
};

static const struct node *node_at(const struct hoist *m, node_id id) {
    return &m->body->nodes[id];
}

static struct label label_of(const struct hoist *m, const char *name) {
    return (struct label){.at = m->loop->at->at, .name = name};
}

// ---- what can be moved

static bool has_rule(const struct hoist *m, const struct node *n) {
    enum op_class class = op_infos[n->op].class;
    bool is_known = n->op == OP_CONST || n->op == OP_MATMUL || class == OP_CLASS_VIEW ||
                    class == OP_CLASS_ELEMENTWISE;
    return is_known && n->shape.rank < RANK_MAX &&
           shape_count(&n->shape) <= (INT64_C(1) << ELEMENTS_LOG2) / m->n_steps;
}

static void find_what_stays(struct hoist *m) {
    const struct steps *l = m->loop;
    for (node_id i = 0; i < m->body->n_nodes; i++) {
        const struct node *n = node_at(m, i);
        m->stays[i] = n->op == OP_INPUT ? m->input[i] < l->recurrence->n_states : !has_rule(m, n);
        for (int k = 0; k < n->n_args; k++)
            m->stays[i] |= m->stays[n->arg[k]];
    }
}

static bool is_worth(const struct hoist *m, node_id id) {
    const struct node *n = node_at(m, id);
    if (n->op != OP_MATMUL || m->stays[id])
        return false;
    const struct shape *left = &node_at(m, n->arg[0])->shape;
    int64_t terms = left->size[left->rank - 1];
    // Its right side may be spread over the rows of the left one.
    return terms >= TERMS_MIN &&
           shape_count(&n->shape) <= (INT64_C(1) << ELEMENTS_LOG2) / m->n_steps / terms;
}

// ---- building

static struct shape with_steps(const struct hoist *m, const struct shape *s, int axis) {
    if (axis < 0)
        return *s;
    struct shape shape = recurrence_with(s, axis, m->n_steps);
    shape.dim[axis] = m->steps_dim;
    return shape;
}

// The value with its steps along `axis`; `like` is its shape in the body. One that has none is
// spread.
static node_id aligned(struct hoist *m, struct outer_value x, const struct shape *like, int axis) {
    if (x.axis == axis)
        return x.node;
    struct shape shape = with_steps(m, like, axis);
    int view[RANK_MAX];
    for (int i = 0, own = 0; i < shape.rank; i++) {
        own += own == x.axis;
        view[i] = i == axis ? x.axis : own++;
    }
    struct label l = label_of(m, NULL);
    return build_view(m->to, &l, x.node, &shape, view).node;
}

// The value with a new axis of `size` at `axis`, spread.
static node_id spread(struct hoist *m, node_id id, const struct shape *from, int from_axis,
                      int axis) {
    struct shape shape = recurrence_with(&build_get(m->to, id)->shape, axis, from->size[from_axis]);
    int view[RANK_MAX];
    shape.dim[axis] = from->dim[from_axis];
    for (int i = 0, own = 0; i < shape.rank; i++)
        view[i] = i == axis ? -1 : own++;
    struct label l = label_of(m, NULL);
    return build_view(m->to, &l, id, &shape, view).node;
}

static struct outer_value build_copy(struct hoist *m, const struct node *from, const node_id *args,
                                     int axis, const char *name) {
    struct node n = *from;
    struct label l = label_of(m, name);
    n.shape = with_steps(m, &from->shape, axis);
    memcpy(n.arg, args, sizeof *args * (size_t)from->n_args);
    struct outer_value x = {build_add(m->to, &l, n).node, axis};
    // The place in the text is that of the original.
    m->to->graph->nodes[x.node].at = from->at;
    m->to->graph->nodes[x.node].composite = from->composite;
    return x;
}

static struct outer_value move_input(const struct hoist *m, node_id id) {
    const struct steps_input *in = &m->loop->inputs[m->input[id]];
    return (struct outer_value){in->outer, in->axis};
}

static struct outer_value move_view(struct hoist *m, const struct node *n) {
    struct outer_value x = m->outside[n->arg[0]];
    struct node moved = *n;
    int rank = n->shape.rank, axis = x.axis <= rank ? x.axis : 0;
    for (int i = 0; i < axis; i++)
        if (n->view[i] != i)
            axis = 0;
    for (int i = 0, own = 0; i < rank + (x.axis >= 0); i++) {
        int at = i == axis ? -1 : n->view[own++];
        moved.view[i] = i == axis ? x.axis : at >= x.axis && x.axis >= 0 ? at + 1 : at;
    }
    return build_copy(m, &moved, &x.node, axis, NULL);
}

static struct outer_value move_elementwise(struct hoist *m, const struct node *n) {
    node_id args[ARGS_MAX];
    int axis = -1;
    for (int i = 0; i < n->n_args && axis < 0; i++)
        axis = m->outside[n->arg[i]].axis;
    for (int i = 0; i < n->n_args; i++)
        args[i] = aligned(m, m->outside[n->arg[i]], &n->shape, axis);
    return build_copy(m, n, args, axis, NULL);
}

// Steps are among the batches, or rows next to the terms. The body's rows are then one more batch.
static struct outer_value move_product(struct hoist *m, const struct node *n, const char *name) {
    struct outer_value left = m->outside[n->arg[0]], right = m->outside[n->arg[1]];
    const struct shape *shapes[] = {&node_at(m, n->arg[0])->shape, &node_at(m, n->arg[1])->shape};
    int rank = n->shape.rank, axis = right.axis >= 0 ? 0 : left.axis < rank ? left.axis : rank - 1;
    bool are_rows = right.axis < 0 && axis == rank - 1;
    node_id args[] = {aligned(m, left, shapes[0], axis), right.node};
    args[1] = are_rows ? spread(m, right.node, shapes[0], rank - 2, rank - 2)
                       : aligned(m, right, shapes[1], axis);
    return build_copy(m, n, args, axis, name);
}

static const char *name_of(struct hoist *m, const struct node *n) {
    return n->is_named
               ? n->name
               : arena_printf(m->to->arena, "%s.before%d", m->loop->outputs[0].name, ++m->n_moved);
}

static struct outer_value move(struct hoist *m, node_id id) {
    const struct node *n = node_at(m, id);
    if (n->op == OP_INPUT)
        return move_input(m, id);
    if (n->op == OP_MATMUL)
        return move_product(m, n, name_of(m, n));
    if (op_infos[n->op].class == OP_CLASS_VIEW)
        return move_view(m, n);
    return move_elementwise(m, n);
}

// ---- the body

static void find_inputs(struct hoist *m) {
    for (node_id i = 0; i < m->body->n_nodes; i++)
        m->input[i] = -1;
    for (int i = 0; i < m->loop->n_inputs; i++)
        m->input[m->loop->inputs[i].inner] = i;
}

// A product that is there before the loop becomes an input; false where no more inputs fit.
static bool read_moved(struct hoist *m, node_id id) {
    struct steps *l = m->loop;
    if (l->n_inputs == ARGS_MAX) {
        m->to->graph->nodes[m->outside[id].node].is_named = false;
        return false;
    }
    struct node *n = &l->body->graph.nodes[id];
    l->inputs[l->n_inputs++] = (struct steps_input){
        .outer = m->outside[id].node, .inner = id, .axis = m->outside[id].axis};
    n->op = OP_INPUT;
    n->n_args = 0;
    return true;
}

// What only moved products have read goes, inputs too.
static void drop_unread(struct hoist *m) {
    struct steps *l = m->loop;
    struct graph *g = &l->body->graph;
    bool *is_read = arena_array(m->to->arena, bool, g->n_nodes + 1);
    int n = l->recurrence->n_states;
    for (int i = 0; i < l->n_outputs; i++)
        is_read[l->outputs[i].node] = true;
    for (node_id i = g->n_nodes - 1; i >= 0; i--) {
        for (int k = 0; k < g->nodes[i].n_args && is_read[i]; k++)
            is_read[g->nodes[i].arg[k]] = true;
        g->nodes[i].is_named &= is_read[i];
    }
    for (int i = n; i < l->n_inputs; i++)
        if (is_read[l->inputs[i].inner])
            l->inputs[n++] = l->inputs[i];
    l->n_inputs = n;
}

void steps_before(struct steps *l) {
    struct arena *a = l->outer->builder.arena;
    int n = l->body->graph.n_nodes;
    struct hoist m = {.loop = l,
                      .to = &l->outer->builder,
                      .body = &l->body->graph,
                      .n_steps = l->recurrence->n_steps,
                      .steps_dim = steps_dim(l),
                      .input = arena_array(a, int, n + 1),
                      .stays = arena_array(a, bool, n + 1),
                      .is_needed = arena_array(a, bool, n + 1),
                      .outside = arena_array(a, struct outer_value, n + 1)};
    bool *is_moved = arena_array(a, bool, n + 1), any = false;
    find_inputs(&m);
    find_what_stays(&m);
    for (node_id i = n - 1; i >= 0; i--) {
        is_moved[i] = is_worth(&m, i);
        m.is_needed[i] |= is_moved[i];
        for (int k = 0; k < node_at(&m, i)->n_args && m.is_needed[i]; k++)
            m.is_needed[node_at(&m, i)->arg[k]] = true;
    }
    for (node_id i = 0; i < n; i++)
        if (m.is_needed[i])
            m.outside[i] = move(&m, i);
    for (node_id i = 0; i < n; i++)
        any |= is_moved[i] && read_moved(&m, i);
    if (any)
        drop_unread(&m);
}
