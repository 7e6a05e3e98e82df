// Inputs that are indices of an axis: what they are declared to be drawn from must lie on it. Only
// what is computed can go beyond it at run time, and that the interpreter finds.
#include "ir/detail.h"
#include "lang/check_private.h"

// The least and the largest that is drawn; false where it is not known to be whole numbers.
static bool drawn_range(const struct distribution *d, const struct shape *shape, double *low,
                        double *high) {
    *low = 0;
    switch (d->kind) {
    case DISTRIBUTION_INTEGERS:
        *low = d->a;
        *high = d->b;
        return true;
    case DISTRIBUTION_INDEX:
        *high = d->a - 1;
        return true;
    case DISTRIBUTION_ZIPF:
        *high = d->b - 1;
        return true;
    case DISTRIBUTION_PERMUTATION:
        *high = shape->rank ? (double)shape->size[shape->rank - 1] - 1 : 0;
        return true;
    case DISTRIBUTION_OFFSETS:
        *high = d->a;
        return true;
    case DISTRIBUTION_CONSTANT:
        *low = *high = d->a;
        return true;
    default:
        return false;
    }
}

// The input that a value holds in another shape, or NULL.
static const struct problem_input *input_behind(const struct problem *p, node_id id) {
    const struct node *n = &p->graph.nodes[id];
    while (n->op == OP_VIEW || n->op == OP_RESHAPE || n->op == OP_SLICE) {
        id = n->arg[0];
        n = &p->graph.nodes[id];
    }
    for (int i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].node == id && !p->inputs[i].maker)
            return &p->inputs[i];
    return NULL;
}

static void check_index(struct checker *c, node_id index, int64_t size) {
    const struct problem_input *in = input_behind(c->problem, index);
    double low, high;
    if (!in)
        return;
    const struct node *n = &c->problem->graph.nodes[in->node];
    if (!drawn_range(&in->distribution, &n->shape, &low, &high) ||
        (low >= 0 && high < (double)size))
        return;
    const struct symbol *s = names_find(&c->scope.names, n->name);
    mistake_add(c->mistakes, s->at, NULL,
                "'%s' is drawn from %.0f to %.0f and is an index of an axis of size %lld: "
                "`~ index(%lld)` draws from all of it",
                n->name, low, high, (long long)size, (long long)size);
}

void check_indices(struct checker *c) {
    const struct graph *g = &c->problem->graph;
    for (node_id i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        const struct shape *of = n->n_args ? &g->nodes[n->arg[0]].shape : NULL;
        if (n->op == OP_TAKE || n->op == OP_TAKE_ALONG || n->op == OP_SCATTER_ADD)
            check_index(c, n->arg[1], of->size[n->detail->axis]);
        if (n->op == OP_RAGGED_SCATTER) {
            check_index(c, n->arg[0], n->shape.size[n->shape.rank - 1]);
            check_index(c, n->arg[3], g->nodes[n->arg[2]].shape.size[0] - 1);
        }
    }
}
