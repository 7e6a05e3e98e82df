// Three passes, each with what it requires and keeps, then a verification.
#include "ir/simplify.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/error.h"
#include "ir/problem.h"

static bool is_plain_view(const struct node *n) {
    return n->op == OP_VIEW && !n->is_named;
}

static bool is_identity(const struct graph *g, const struct node *n) {
    if (!is_plain_view(n) || !shape_equal(&n->shape, &g->nodes[n->arg[0]].shape))
        return false;
    for (int i = 0; i < n->shape.rank; i++)
        if (n->view[i] != i)
            return false;
    return true;
}

// One view in place of a view of a view.
static void compose(const struct graph *g, struct node *n) {
    const struct node *inner = &g->nodes[n->arg[0]];
    for (int i = 0; i < n->shape.rank; i++)
        if (n->view[i] >= 0)
            n->view[i] = inner->view[n->view[i]];
    n->arg[0] = inner->arg[0];
}

// requires: nothing. keeps: names; every node's value.
static void compose_views(struct problem *p) {
    struct graph *g = &p->graph;
    for (node_id i = 0; i < g->n_nodes; i++) {
        struct node *n = &g->nodes[i];
        if (n->op == OP_VIEW && is_plain_view(&g->nodes[n->arg[0]]))
            compose(g, n);
    }
}

// requires: views composed. keeps: names. Views that change nothing lose their readers.
static void skip_identities(struct problem *p) {
    struct graph *g = &p->graph;
    for (node_id i = 0; i < g->n_nodes; i++)
        for (int j = 0; j < g->nodes[i].n_args; j++) {
            const struct node *arg = &g->nodes[g->nodes[i].arg[j]];
            if (is_identity(g, arg))
                g->nodes[i].arg[j] = arg->arg[0];
        }
}

// requires: nothing. keeps: inputs, named values and what they need, in order.
static void drop_unused(struct problem *p) {
    struct graph *g = &p->graph;
    struct arena scratch = {0};
    bool *is_live = arena_array(&scratch, bool, g->n_nodes + 1);
    node_id *moved = arena_array(&scratch, node_id, g->n_nodes + 1);
    int n = 0;
    for (int i = 0; i < p->n_inputs; i++)
        is_live[p->inputs[i].node] = true;
    for (node_id i = g->n_nodes - 1; i >= 0; i--) {
        is_live[i] |= g->nodes[i].is_named;
        for (int j = 0; j < g->nodes[i].n_args && is_live[i]; j++)
            is_live[g->nodes[i].arg[j]] = true;
    }
    for (node_id i = 0; i < g->n_nodes; i++) {
        if (!is_live[i])
            continue;
        moved[i] = n++;
        g->nodes[moved[i]] = g->nodes[i];
        for (int j = 0; j < g->nodes[moved[i]].n_args; j++)
            g->nodes[moved[i]].arg[j] = moved[g->nodes[moved[i]].arg[j]];
    }
    for (int i = 0; i < p->n_inputs; i++)
        p->inputs[i].node = moved[p->inputs[i].node];
    for (int i = 0; i < p->n_outputs; i++)
        p->outputs[i].node = moved[p->outputs[i].node];
    g->n_nodes = n;
    arena_reset(&scratch);
}

// A pass that leaves a graph which breaks a rule is a bug.
static void verify(const struct problem *p) {
    struct error err = {0};
    bool holds = graph_verify(&p->graph, &err);
    if (!holds)
        fprintf(stderr, "problem %s: %s\n", p->name, err.text);
    assert(holds);
}

void problem_simplify(struct problem *p) {
    verify(p);
    compose_views(p);
    verify(p);
    skip_identities(p);
    verify(p);
    drop_unused(p);
    verify(p);
}
