// Which nodes the card's oracle computes, and what kernels need to know of each operation; a
// problem with any other is the host's.
#include "ir/detail.h"
#include "ir/recurrence.h"
#include "oracle/oracle_plan.h"
#include "oracle/oracle_products.h"

bool oracle_plan_makes_long(const struct node *n) {
    return n->dtype == DTYPE_I64 && op_class_of(n->op)->makes_numbers && n->op != OP_CAST &&
           n->op != OP_WHERE;
}

bool oracle_plan_multiplies(enum op op) {
    return op == OP_MATMUL || op == OP_CONV || op == OP_CONV_T || op == OP_RAGGED_MATMUL ||
           op == OP_RAGGED_OUTER;
}

bool oracle_plan_chooses(enum op op) {
    return op == OP_ARGMAX || op == OP_ARGMIN;
}

int oracle_plan_run(enum op op) {
    return op == OP_RMAX || op == OP_RMIN ? ORACLE_EXTREMES : ORACLE_RUN;
}

int64_t oracle_plan_partial_bytes(enum op op) {
    return oracle_plan_chooses(op) ? ORACLE_BEST_BYTES : ORACLE_PARTIAL_BYTES;
}

// Is everything that it reads, but indices, held by f32?
static bool has_narrow_arguments(const struct graph *g, const struct node *n) {
    int n_numbers = op_infos[n->op].class == OP_CLASS_RAGGED ? 2 : n->n_args;
    for (int i = 0; i < n_numbers; i++)
        if (!(n->op == OP_SCATTER_ADD && i == 1) && dtype_is_wide(g->nodes[n->arg[i]].dtype))
            return false;
    return true;
}

// A product of whole numbers that are inputs.
static bool is_whole_product(const struct graph *g, const struct node *n) {
    for (int i = 0; i < 2; i++) {
        const struct node *a = &g->nodes[n->arg[i]];
        while (a->op == OP_VIEW || a->op == OP_RESHAPE)
            a = &g->nodes[a->arg[0]];
        if (a->op != OP_INPUT || !dtype_is_integer(a->dtype))
            return false;
    }
    return n->op == OP_MATMUL && dtype_is_integer(n->dtype);
}

// A loop whose arguments are f32.
static bool takes_loop(const struct graph *g, const struct node *n) {
    for (int i = 0; i < n->n_args; i++)
        if (g->nodes[n->arg[i]].dtype != DTYPE_F32)
            return false;
    const struct problem *body = recurrence_of(n)->body;
    for (int i = 0; i < body->n_inputs; i++)
        if (body->graph.nodes[body->inputs[i].node].dtype != DTYPE_F32)
            return false;
    return n->dtype == DTYPE_F32 && oracle_plan_supports(body);
}

static bool takes_any(const struct graph *g, const struct node *n) {
    (void)g, (void)n;
    return true;
}

static bool takes_floats(const struct graph *g, const struct node *n) {
    return n->dtype == DTYPE_F32 && has_narrow_arguments(g, n);
}

static bool takes_reduction(const struct graph *g, const struct node *n) {
    return oracle_plan_chooses(n->op) ? has_narrow_arguments(g, n)
                                      : takes_floats(g, n) && op_infos[n->op].joins != OP_COUNT;
}

static bool takes_order(const struct graph *g, const struct node *n) {
    return has_narrow_arguments(g, n) && n->shape.size[n->detail->axis] < INT32_MAX &&
           g->nodes[n->arg[0]].shape.size[n->detail->axis] < INT32_MAX;
}

static bool takes_scatter(const struct graph *g, const struct node *n) {
    return takes_floats(g, n) && n->op == OP_SCATTER_ADD &&
           g->nodes[n->arg[1]].shape.size[n->detail->axis] < INT32_MAX;
}

static bool takes_product(const struct graph *g, const struct node *n) {
    return takes_floats(g, n) || (has_narrow_arguments(g, n) && is_whole_product(g, n));
}

// What is not named here is not known to the kernels.
static bool takes_node(const struct graph *g, const struct node *n) {
    static bool (*const by_class[OP_CLASS_COUNT])(const struct graph *g, const struct node *n) = {
        [OP_CLASS_LEAF] = takes_any,         [OP_CLASS_VIEW] = takes_any,
        [OP_CLASS_ELEMENTWISE] = takes_any,  [OP_CLASS_IOTA] = takes_any,
        [OP_CLASS_MOVE] = takes_any,         [OP_CLASS_GATHER] = takes_any,
        [OP_CLASS_REDUCE] = takes_reduction, [OP_CLASS_ORDER] = takes_order,
        [OP_CLASS_SCATTER] = takes_scatter,  [OP_CLASS_CONTRACT] = takes_product,
        [OP_CLASS_SCAN] = takes_floats,      [OP_CLASS_WINDOW] = takes_floats,
        [OP_CLASS_RAGGED] = takes_floats,    [OP_CLASS_RECUR] = takes_loop,
    };
    enum op_class class = op_infos[n->op].class;
    return by_class[class] && by_class[class](g, n);
}

bool oracle_plan_supports(const struct problem *p) {
    for (int i = 0; i < p->graph.n_nodes; i++) {
        const struct node *n = &p->graph.nodes[i];
        if (n->shape.rank > ORACLE_RANK || !takes_node(&p->graph, n))
            return false;
    }
    return true;
}
