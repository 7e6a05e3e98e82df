// Counts per operation, from shapes and details alone.
#include "ir/work.h"

#include <stdlib.h>

#include "ir/detail.h"
#include "ir/recurrence.h"

static double count_of(const struct graph *g, const struct node *n, int arg) {
    return (double)shape_count(&g->nodes[n->arg[arg]].shape);
}

static double window_count(const struct node *n) {
    double count = 1;
    for (int i = 0; i < n->detail->window.n_axes; i++)
        count *= (double)n->detail->window.size[i];
    return count;
}

// Multiply-adds of a contraction, elements looked at otherwise.
static double unit_count(const struct graph *g, const struct node *n) {
    double count = (double)shape_count(&n->shape);
    const struct shape *first = n->n_args ? &g->nodes[n->arg[0]].shape : &n->shape;
    switch (n->op) {
    case OP_MATMUL:
        return count * (double)first->size[first->rank - 1];
    case OP_CONV:
        return count * window_count(n) * (double)(first->size[1] / n->detail->window.groups);
    case OP_CONV_T:
        return count_of(g, n, 0) * window_count(n) *
               (double)(n->shape.size[1] / n->detail->window.groups);
    case OP_POOL_MAX:
    case OP_POOL_SUM:
        return count * window_count(n);
    case OP_SCATTER_ADD:
        return count_of(g, n, 2);
    case OP_RAGGED_SCATTER: {
        double n_lists = count_of(g, n, 2) - 1;
        return count_of(g, n, 3) * count_of(g, n, 0) / n_lists;
    }
    case OP_RAGGED_MATMUL:
        return count * (double)first->size[1];
    case OP_RAGGED_OUTER:
        return count_of(g, n, 0) * (double)n->shape.size[2];
    case OP_TOPK:
        return count_of(g, n, 0);
    default:
        return op_infos[n->op].class == OP_CLASS_REDUCE ? count_of(g, n, 0) : count;
    }
}

// All steps, once for all results of the loop.
static double recurrence_flops(const struct graph *g, const struct node *n) {
    const struct graph *body = &n->detail->recurrence->body->graph;
    double flops = 0;
    if (&g->nodes[recurrence_first(g, (node_id)(n - g->nodes))] != n)
        return 0;
    for (int i = 0; i < body->n_nodes; i++)
        flops += work_flops(body, &body->nodes[i]);
    return flops * (double)n->detail->recurrence->n_steps;
}

double work_flops(const struct graph *g, const struct node *n) {
    if (n->op == OP_RECUR)
        return recurrence_flops(g, n);
    return op_infos[n->op].flops * unit_count(g, n);
}

bool work_is_contraction(const struct node *n) {
    return op_infos[n->op].class == OP_CLASS_CONTRACT || op_infos[n->op].class == OP_CLASS_RAGGED ||
           n->op == OP_CONV || n->op == OP_CONV_T;
}

int64_t work_fewest_sums(const struct graph *g, node_id output) {
    int64_t fewest = shape_count(&g->nodes[output].shape);
    bool *needed = calloc((size_t)output + 1, sizeof *needed);
    if (!needed)
        abort();
    needed[output] = true;
    for (node_id n = output; n >= 0; n--) {
        const struct node *node = &g->nodes[n];
        bool is_sum = work_is_contraction(node) || node->op == OP_RSUM || node->op == OP_RPROD;
        if (needed[n] && is_sum && shape_count(&node->shape) < fewest)
            fewest = shape_count(&node->shape);
        for (int i = 0; needed[n] && i < node->n_args; i++)
            needed[node->arg[i]] = true;
    }
    free(needed);
    return fewest;
}
