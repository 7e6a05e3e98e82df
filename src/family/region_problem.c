// A region as a problem of its own: its leaves become inputs, its members keep their order.
#include <string.h>

#include "base/arena.h"
#include "family/region.h"

static void add_input(struct problem *p, const struct region *r, node_id leaf, node_id n) {
    struct problem_input *to = &p->inputs[p->n_inputs++];
    *to = (struct problem_input){.node = n, .distribution = {DISTRIBUTION_NORMAL, 0, 1}};
    for (int i = 0; i < r->problem->n_inputs; i++)
        if (r->problem->inputs[i].node == leaf) {
            *to = r->problem->inputs[i];
            to->node = n;
        }
}

struct problem *region_problem(struct arena *a, const struct region *r, node_id *leaves) {
    const struct graph *g = r->graph;
    struct problem *p = arena_new(a, struct problem);
    node_id *moved = arena_array(a, node_id, g->n_nodes);
    int n_leaves = 0;
    for (node_id i = 0; i < g->n_nodes; i++)
        n_leaves += r->is_leaf[i];
    if (n_leaves > INPUTS_MAX)
        return NULL;
    p->name = r->value_name[0];
    p->graph = *g;
    p->graph.nodes = arena_array(a, struct node, r->n_members + n_leaves + 1);
    p->graph.n_nodes = 0;
    for (node_id i = 0; i < g->n_nodes; i++) {
        if (!r->is_leaf[i] && !r->is_member[i])
            continue;
        moved[i] = p->graph.n_nodes;
        struct node *n = &p->graph.nodes[p->graph.n_nodes++];
        *n = g->nodes[i];
        if (r->is_leaf[i]) {
            n->op = OP_INPUT;
            n->n_args = 0;
            leaves[p->n_inputs] = i;
            add_input(p, r, i, moved[i]);
        }
        for (int k = 0; k < n->n_args; k++)
            n->arg[k] = moved[n->arg[k]];
    }
    for (int i = 0; i < r->n_values; i++)
        p->outputs[p->n_outputs++] =
            (struct problem_output){.name = r->value_name[i], .node = moved[r->value[i]]};
    return p;
}
