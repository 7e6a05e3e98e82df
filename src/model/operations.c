// The list itself, and the chains of loops: operations per step that must wait for the step before.
#include "model/operations.h"

#include <math.h>

#include "base/arena.h"
#include "ir/recurrence.h"
#include "ir/work.h"

static void add_graph(struct operations *out, const struct problem *p, const struct demand *least,
                      const struct demand *usual, node_id loop) {
    int first = out->n;
    for (node_id i = 0; i < p->graph.n_nodes; i++) {
        struct operation o = {.p = p,
                              .node = &p->graph.nodes[i],
                              .id = loop < 0 ? i : loop,
                              .first = first,
                              .left = 1};
        // A loop has its body's work.
        if (o.node->op != OP_RECUR && usual) {
            o.flops = usual->flops[i];
            o.textbook = usual->textbook[i];
        }
        if (o.node->op != OP_RECUR && least) {
            o.least = least->flops[i];
            o.left = least->left[i];
        }
        out->list[out->n++] = o;
    }
}

void operations_list(struct arena *a, const struct problem *p, const struct demand *least,
                     const struct demand *usual, struct operations *out) {
    int n = p->graph.n_nodes;
    for (node_id i = 0; i < p->graph.n_nodes; i++)
        if (usual->inner[i])
            n += recurrence_of(&p->graph.nodes[i])->body->graph.n_nodes;
    *out = (struct operations){.list = arena_array(a, struct operation, n + 1)};
    add_graph(out, p, least, usual, -1);
    for (node_id i = 0; i < p->graph.n_nodes; i++)
        if (usual->inner[i])
            add_graph(out, recurrence_of(&p->graph.nodes[i])->body, least->inner[i],
                      usual->inner[i], i);
}

// ---- chains

static double levels(double n) {
    return ceil(log2(n));
}

// Dependent operations of a node, each as long as a multiply-add: a function is about four of
// them, a sum of n terms at least a tree of additions.
static double depth(const struct graph *g, const struct node *n) {
    const struct shape *arg = n->n_args ? &g->nodes[n->arg[0]].shape : &n->shape;
    double flops = work_flops(g, n), count = (double)shape_count(&n->shape);
    if (op_class_of(n->op)->role == OP_ROLE_ELEMENTWISE)
        return op_infos[n->op].pipe == OP_PIPE_TRANSCENDENTAL || n->op == OP_DIV ? 4 : 1;
    if (op_class_of(n->op)->role != OP_ROLE_ANCHOR)
        return 0;
    if (op_infos[n->op].class == OP_CLASS_REDUCE)
        return levels((double)shape_count(arg) / count);
    return work_is_contraction(n) ? 1 + levels(fmax(1, flops / 2 / count)) : 1;
}

// The longest way from a state to itself or to another, in operations; -1: none.
static double state_path(struct arena *a, const struct recurrence *r, int from, int to) {
    const struct graph *g = &r->body->graph;
    double *way = arena_array(a, double, g->n_nodes);
    for (node_id i = 0; i < g->n_nodes; i++) {
        way[i] = i == r->body->inputs[from].node ? 0 : -1;
        for (int k = 0; k < g->nodes[i].n_args; k++)
            if (way[g->nodes[i].arg[k]] >= 0)
                way[i] = fmax(way[i], way[g->nodes[i].arg[k]] + depth(g, &g->nodes[i]));
    }
    return way[r->body->outputs[to].node];
}

static bool is_asked(const struct recurrence *r, const struct demand *d, int state) {
    return d->need[r->body->outputs[state].node] > 0;
}

// Operations per step that wait for the step before: of the slowest state, or of two that depend on
// each other.
static double step_chain(struct arena *a, const struct recurrence *r, const struct demand *d) {
    double most = 0;
    for (int i = 0; i < r->n_states; i++)
        for (int k = i; k < r->n_states; k++) {
            if (!is_asked(r, d, i) || !is_asked(r, d, k))
                continue;
            double there = state_path(a, r, i, k), back = state_path(a, r, k, i);
            if (there >= 0 && back >= 0)
                most = fmax(most, (there + back) / 2);
        }
    return most;
}

// Is every next state a sum of states times what does not depend on them, element by element?
static bool is_linear(struct arena *a, const struct recurrence *r, const struct demand *d) {
    enum share { NONE, LINEAR, OTHER };
    const struct graph *g = &r->body->graph;
    enum share *of = arena_array(a, enum share, g->n_nodes);
    bool all = true;
    for (int i = 0; i < r->n_states; i++)
        of[r->body->inputs[i].node] = LINEAR;
    for (node_id i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        int n_linear = 0;
        bool is_other = false;
        for (int k = 0; k < n->n_args; k++) {
            n_linear += of[n->arg[k]] == LINEAR;
            is_other |= of[n->arg[k]] == OTHER;
        }
        bool keeps = n->op == OP_NEG || n->op == OP_ADD || n->op == OP_SUB || n->op == OP_VIEW ||
                     (n->op == OP_MUL && n_linear == 1) ||
                     (n->op == OP_DIV && of[n->arg[1]] == NONE);
        if (is_other || n_linear)
            of[i] = keeps && !is_other ? LINEAR : OTHER;
    }
    for (int i = 0; i < r->n_states; i++)
        all &= !is_asked(r, d, i) || of[r->body->outputs[i].node] != OTHER;
    return all;
}

// Of a loop that somebody waits for, the demand of its body; else NULL.
static const struct demand *loop_demand(const struct graph *g, const struct demand *usual,
                                        node_id n) {
    return g->nodes[n].op == OP_RECUR ? usual->inner[recurrence_first(g, n)] : NULL;
}

// The operations of a loop by itself that wait for one another.
static double loop_chain(struct arena *a, const struct recurrence *r, const struct demand *d) {
    double step = step_chain(a, r, d), tree = 2 * levels((double)r->n_steps);
    return step > 0 && is_linear(a, r, d) ? tree : (double)r->n_steps * step;
}

double operations_chain(struct arena *a, const struct problem *p, const struct demand *usual) {
    const struct graph *g = &p->graph;
    double *chain = arena_array(a, double, g->n_nodes), most = 0;
    for (node_id i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        const struct demand *d = loop_demand(g, usual, i);
        const struct recurrence *r = recurrence_of(n);
        double own = d ? loop_chain(a, r, d) : 0;
        chain[i] = own;
        // A step can follow as soon as its part is there: layers of a network go side by side.
        for (int k = 0; k < n->n_args; k++) {
            bool is_stream = r && recurrence_is_slice(r, k);
            chain[i] = fmax(chain[i], chain[n->arg[k]] + (is_stream ? 0 : own));
        }
    }
    for (int i = 0; i < p->n_outputs; i++)
        most = fmax(most, chain[p->outputs[i].node]);
    return most;
}
