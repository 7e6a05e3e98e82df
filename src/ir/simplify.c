#include "ir/simplify.h"

#include <stdlib.h>

#include "base/arena.h"
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

// Where each node goes: its new id, or -1. `same[i]` is the node to read in place of i.
static void renumber(struct problem *p, const node_id *same, const bool *is_live) {
    struct graph *g = &p->graph;
    struct arena scratch = {0};
    node_id *moved = arena_array(&scratch, node_id, g->n_nodes + 1);
    int n = 0;
    for (node_id i = 0; i < g->n_nodes; i++)
        moved[i] = is_live[i] ? n++ : -1;
    for (node_id i = 0; i < g->n_nodes; i++) {
        if (!is_live[i])
            continue;
        g->nodes[moved[i]] = g->nodes[i];
        for (int j = 0; j < g->nodes[i].n_args; j++)
            g->nodes[moved[i]].arg[j] = moved[same[g->nodes[i].arg[j]]];
    }
    for (int i = 0; i < p->n_inputs; i++)
        p->inputs[i].node = moved[p->inputs[i].node];
    for (int i = 0; i < p->n_outputs; i++)
        p->outputs[i].node = moved[p->outputs[i].node];
    g->n_nodes = n;
    arena_reset(&scratch);
}

void problem_simplify(struct problem *p) {
    struct graph *g = &p->graph;
    struct arena scratch = {0};
    node_id *same = arena_array(&scratch, node_id, g->n_nodes + 1);
    bool *is_live = arena_array(&scratch, bool, g->n_nodes + 1);

    for (node_id i = 0; i < g->n_nodes; i++) {
        struct node *n = &g->nodes[i];
        for (int j = 0; j < n->n_args; j++)
            n->arg[j] = same[n->arg[j]];
        if (n->op == OP_VIEW && is_plain_view(&g->nodes[n->arg[0]]))
            compose(g, n);
        same[i] = is_identity(g, n) ? n->arg[0] : i;
    }

    for (int i = 0; i < p->n_inputs; i++)
        is_live[p->inputs[i].node] = true;
    for (node_id i = g->n_nodes - 1; i >= 0; i--) {
        is_live[i] |= g->nodes[i].is_named;
        for (int j = 0; j < g->nodes[i].n_args && is_live[i]; j++)
            is_live[same[g->nodes[i].arg[j]]] = true;
    }
    renumber(p, same, is_live);
    arena_reset(&scratch);
}
