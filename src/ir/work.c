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
    return op_class_of(n->op)->has_terms && op_infos[n->op].arity > 1;
}

bool work_is_mean(const struct graph *g, node_id id) {
    bool is = false;
    for (node_id n = id + 1; g->nodes[id].op == OP_RSUM && n < g->n_nodes && !is; n++)
        is = g->nodes[n].op == OP_DIV && g->nodes[n].arg[0] == id;
    return is;
}

bool work_has_mean(const struct graph *g) {
    bool has = false;
    for (node_id i = 0; i < g->n_nodes && !has; i++)
        has = work_is_mean(g, i);
    return has;
}

static node_id below_views(const struct graph *g, node_id id) {
    while (op_infos[g->nodes[id].op].class == OP_CLASS_VIEW)
        id = g->nodes[id].arg[0];
    return id;
}

bool work_is_centred(const struct graph *g, node_id input) {
    bool is = false;
    for (node_id id = input + 1; id < g->n_nodes; id++) {
        const struct node *n = &g->nodes[id];
        bool takes = false;
        for (int i = 0; i < n->n_args; i++)
            takes |= below_views(g, n->arg[i]) == input;
        if (!takes || op_infos[n->op].class == OP_CLASS_VIEW)
            continue;
        if (n->op != OP_RSUM && n->op != OP_ADD && n->op != OP_SUB)
            return false;
        if (n->op != OP_SUB)
            continue;
        const struct node *from = &g->nodes[below_views(g, n->arg[1])];
        node_id sum = from->op == OP_DIV ? from->arg[0] : input;
        is |= g->nodes[sum].op == OP_RSUM && below_views(g, g->nodes[sum].arg[0]) == input;
    }
    return is;
}

bool work_is_exponent(const struct graph *g, node_id id) {
    bool is = false;
    if (g->nodes[id].op != OP_SUB || !dtype_is_float(g->nodes[id].dtype))
        return false;
    for (node_id n = id + 1; n < g->n_nodes && !is; n++)
        is = (g->nodes[n].op == OP_EXP || g->nodes[n].op == OP_EXP2) && g->nodes[n].arg[0] == id;
    return is;
}

// The nodes that the output is made of; the caller frees it.
static bool *needed_for(const struct graph *g, node_id output) {
    bool *needed = calloc((size_t)output + 1, sizeof *needed);
    if (!needed)
        abort();
    needed[output] = true;
    for (node_id n = output; n >= 0; n--)
        for (int i = 0; needed[n] && i < g->nodes[n].n_args; i++)
            needed[g->nodes[n].arg[i]] = true;
    return needed;
}

bool work_has_plain_mean(const struct graph *g) {
    bool has = false;
    for (node_id i = 0; i < g->n_nodes && !has; i++) {
        if (!work_is_mean(g, i))
            continue;
        bool *needed = needed_for(g, i);
        has = true;
        for (node_id n = 0; n < i && has; n++)
            has = !(needed[n] && work_is_contraction(&g->nodes[n]));
        free(needed);
    }
    return has;
}

static bool is_sum(const struct node *n) {
    return work_is_contraction(n) || n->op == OP_RSUM || n->op == OP_RPROD;
}

int64_t work_fewest_sums(const struct graph *g, node_id output) {
    int64_t fewest = shape_count(&g->nodes[output].shape);
    bool *needed = needed_for(g, output);
    for (node_id n = 0; n <= output; n++)
        if (needed[n] && is_sum(&g->nodes[n]) && shape_count(&g->nodes[n].shape) < fewest)
            fewest = shape_count(&g->nodes[n].shape);
    free(needed);
    return fewest;
}
