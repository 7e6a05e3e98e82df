// How long a loop takes whose rows have a block each, on a GPU.
//
// A thread adds up all terms of an element. Where weights lie along the terms, its neighbours read
// at 32 other places, and the first cache answers one of them a clock: on an H200 the steps of
// problems/lstm.hone took 142 us and those of gru.hone 107, which are the 1024 and 768 elements of
// a row by 256 terms at 1.83 GHz.
#include <math.h>

#include "base/arena.h"
#include "family/gpu.h"
#include "family/nest_steps.h"

// Does the second factor lie along the columns of the product?
static bool is_along_columns(const struct graph *g, const struct node *product) {
    const struct node *n = &g->nodes[product->arg[1]];
    int rank = n->shape.rank;
    return n->op != OP_VIEW || n->view[rank - 1] == rank - 1;
}

double nest_steps_seconds(const struct region *r, const struct target *t) {
    const struct recurrence *loop = recurrence_of(&r->graph->nodes[nest_walker(r)]);
    const struct graph *g = &loop->body->graph;
    double rows = (double)nest_steps_rows(r), cycles = 0, meetings = 2;
    for (node_id n = 0; n < g->n_nodes; n++) {
        const struct node *node = &g->nodes[n];
        double count = (double)shape_count(&node->shape) / rows;
        meetings += node->is_named && op_infos[node->op].class != OP_CLASS_LEAF;
        if (node->op == OP_MATMUL) {
            const struct shape *lhs = &g->nodes[node->arg[0]].shape;
            double terms = (double)lhs->size[lhs->rank - 1];
            cycles += count * terms * (is_along_columns(g, node) ? 0.1 : 1) + 20 * terms;
        } else if (terms_has(node)) {
            double terms = (double)shape_count(&g->nodes[node->arg[0]].shape) / rows / count;
            cycles += count * terms * 0.1 + 20 * terms;
        } else if (op_infos[node->op].class == OP_CLASS_ELEMENTWISE) {
            cycles += 10 * ceil(count / 1024);
        }
    }
    // A value that is computed is stored, and read by others after a barrier.
    double step = cycles / t->top_clock_hz + meetings * 0.8e-6;
    return 5e-6 + (double)loop->n_steps * step * ceil(rows / (2.0 * t->sms));
}
