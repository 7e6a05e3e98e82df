// A product is followed from user to user, as long as there is but one and what it does is linear.
#include "model/collapse.h"

#include "base/arena.h"
#include "ir/work.h"

enum { STEPS_MAX = 64 };

struct path {
    const struct graph *g;
    const node_id *only_user;  // -1: none or several, or an output
    node_id steps[STEPS_MAX];  // linear ones after the product
    int n_steps;
    node_id end;     // what stopped it, or -1
    bool is_heavy;   // something of the product's own size was added on the way
    bool is_turned;  // axes are no longer where they were
};

static const struct node *at(const struct path *p, node_id n) {
    return &p->g->nodes[n];
}

static bool is_number(const struct graph *g, node_id n) {
    while (g->nodes[n].op == OP_VIEW)
        n = g->nodes[n].arg[0];
    return g->nodes[n].op == OP_CONST;
}

// Something that was spread over the shape, so that its own sum costs nothing.
static bool is_light(const struct graph *g, node_id n) {
    const struct node *v = &g->nodes[n];
    return is_number(g, n) ||
           (v->op == OP_VIEW && shape_count(&g->nodes[v->arg[0]].shape) < shape_count(&v->shape));
}

// Is `user` linear in `n`? For the limit a factor may be anything that does not depend on `n`.
static bool is_linear(struct path *p, node_id n, node_id user, enum demand_mode mode) {
    const struct node *u = at(p, user);
    node_id other = u->n_args > 1 ? u->arg[u->arg[0] == n] : -1;
    bool is_least = mode == DEMAND_LEAST;
    switch (u->op) {
    case OP_NEG:
        return true;
    case OP_CAST:
        return dtype_is_float(u->dtype) && is_least;
    case OP_ADD:
    case OP_SUB:
        p->is_heavy |= !is_light(p->g, other);
        return u->arg[0] != u->arg[1];
    case OP_MUL:
        return u->arg[0] != u->arg[1] && (is_least || is_number(p->g, other));
    case OP_DIV:
        return u->arg[0] == n && u->arg[1] != n && (is_least || is_number(p->g, other));
    case OP_VIEW:
        p->is_turned = true;
        return is_least;
    default:
        return false;
    }
}

static void follow(struct path *p, node_id n, enum demand_mode mode) {
    p->n_steps = 0;
    p->is_heavy = p->is_turned = false;
    p->end = p->only_user[n];
    for (node_id from = n; p->end >= 0 && p->n_steps < STEPS_MAX; p->end = p->only_user[from]) {
        if (!is_linear(p, from, p->end, mode))
            return;
        from = p->steps[p->n_steps++] = p->end;
    }
    p->end = -1;
}

// How many rows or columns of the product become one, or 1.
static double merged(const struct path *p, const struct node *product) {
    const struct node *sum = at(p, p->end);
    int rank = product->shape.rank;
    unsigned rows = 1u << (rank - 2), columns = 1u << (rank - 1);
    if (sum->op != OP_RSUM || p->is_turned || sum->axes & ~(rows | columns))
        return 1;
    return (sum->axes & rows ? (double)product->shape.size[rank - 2] : 1) *
           (sum->axes & columns ? (double)product->shape.size[rank - 1] : 1);
}

static bool collapse_usual(const struct path *p, node_id n, double *share) {
    const struct node *product = at(p, n);
    double factor = product->op == OP_MATMUL ? merged(p, product) : 1;
    if (factor <= 1)
        return false;
    share[n] /= factor;
    for (int i = 0; i < p->n_steps && !p->is_heavy; i++)
        share[p->steps[i]] /= factor;
    if (!p->is_heavy)
        share[p->end] /= factor;
    return true;
}

static bool collapse_least(const struct path *p, node_id n, double *share) {
    const struct node *end = at(p, p->end);
    if (end->op != OP_RSUM && end->op != OP_MATMUL)
        return false;
    share[n] = 0;
    if (end->op == OP_MATMUL && at(p, n)->op == OP_MATMUL)
        share[p->end] = 0;
    return true;
}

static void find_only_users(const struct problem *p, node_id *only_user) {
    enum { NONE = -1, SEVERAL = -2 };
    for (node_id i = 0; i < p->graph.n_nodes; i++)
        only_user[i] = NONE;
    for (int i = 0; i < p->n_outputs; i++)
        only_user[p->outputs[i].node] = SEVERAL;
    for (node_id i = 0; i < p->graph.n_nodes; i++)
        for (int j = 0; j < p->graph.nodes[i].n_args; j++) {
            node_id *user = &only_user[p->graph.nodes[i].arg[j]];
            *user = *user == NONE || *user == i ? i : SEVERAL;
        }
}

bool collapse_find(struct arena *a, const struct problem *p, enum demand_mode mode, double *share) {
    node_id *only_user = arena_array(a, node_id, p->graph.n_nodes + 1);
    struct path path = {.g = &p->graph, .only_user = only_user};
    bool found = false;
    find_only_users(p, only_user);
    for (node_id i = 0; i < p->graph.n_nodes; i++)
        share[i] = 1;
    for (node_id i = 0; i < p->graph.n_nodes; i++) {
        if (!work_is_contraction(&p->graph.nodes[i]))
            continue;
        follow(&path, i, mode);
        if (path.end < 0)
            continue;
        found |= mode == DEMAND_LEAST ? collapse_least(&path, i, share)
                                      : collapse_usual(&path, i, share);
    }
    return found;
}
