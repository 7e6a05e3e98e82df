// One node at a time against what the emitters have; the first that is missing names the reason.
#include "family/support.h"

#include "base/error.h"
#include "family/point.h"

static bool has_lowering(const struct node *n) {
    switch (op_infos[n->op].class) {
    case OP_CLASS_LEAF:
    case OP_CLASS_VIEW:
        return true;
    case OP_CLASS_ELEMENTWISE:
        return point_has_op(n->op);
    case OP_CLASS_REDUCE:
        return n->op == OP_RSUM || n->op == OP_RMAX || n->op == OP_RMIN || n->op == OP_RPROD;
    default:
        return n->op == OP_MATMUL;
    }
}

// Comparisons live inside a kernel; what is stored is f32.
static bool is_stored(const struct problem *p, node_id id) {
    for (int i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].node == id)
            return true;
    for (int i = 0; i < p->n_outputs; i++)
        if (p->outputs[i].node == id)
            return true;
    return false;
}

bool support_node(const struct problem *p, node_id i, struct error *err) {
    const struct node *n = &p->graph.nodes[i];
    bool is_type = n->dtype == DTYPE_F32 || (n->dtype == DTYPE_BOOL && !is_stored(p, i));
    if (!is_type)
        return error_set(err, ERROR_UNSUPPORTED,
                         "'%s' is %s, and kernels are made for f32 alone yet", n->name,
                         dtype_name(n->dtype));
    if (!has_lowering(n))
        return error_set(err, ERROR_UNSUPPORTED, "'%s' is a %s, and no kernel is made of that yet",
                         n->name, op_infos[n->op].name);
    return true;
}

bool support_problem(const struct problem *p, struct error *err) {
    for (node_id i = 0; i < p->graph.n_nodes; i++)
        if (!support_node(p, i, err))
            return error_wrap(err, "problem %s", p->name);
    return true;
}
