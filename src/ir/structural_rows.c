// Which structural operations leave rows (axis 0) alone, so that threads can share them out.
#include "ir/structural.h"

static bool any_carries(const struct node *n, const bool *carries, int from) {
    for (int i = from; i < n->n_args; i++)
        if (carries[n->arg[i]])
            return true;
    return false;
}

// Only argument 0 has rows.
static bool only_first(const struct node *n, const bool *carries) {
    return !any_carries(n, carries, 1);
}

static bool window_keeps(const struct graph *g, const struct node *n, const bool *carries) {
    bool is_conv = n->op == OP_CONV || n->op == OP_CONV_T;
    const struct shape *x = &g->nodes[n->arg[0]].shape;
    return is_conv ? only_first(n, carries) : x->rank > n->detail->window.n_axes;
}

static bool move_keeps(const struct graph *g, const struct node *n, const bool *carries) {
    const struct shape *from = &g->nodes[n->arg[0]].shape;
    const struct node_detail *d = n->detail;
    switch (n->op) {
    case OP_RESHAPE:
        return n->shape.rank > 0 && n->shape.size[0] == from->size[0];
    case OP_SLICE:
        return d->start[0] == 0 && d->step[0] == 1 && n->shape.size[0] == from->size[0];
    case OP_PAD:
        return d->start[0] == 0 && d->step[0] == 0;
    default:
        return d->axis != 0 && carries[n->arg[0]] == carries[n->arg[1]];
    }
}

// Where the rows are those of another argument than the first.
static bool other_rows(const struct node *n, const bool *carries) {
    if (n->op == OP_TAKE)
        return n->detail->axis == 0 && !carries[n->arg[0]] && carries[n->arg[1]];
    return n->op == OP_RAGGED_SCATTER && n->shape.rank > 1 && !carries[n->arg[0]] &&
           !carries[n->arg[1]] && !carries[n->arg[2]] && carries[n->arg[3]] && carries[n->arg[4]];
}

bool structural_keeps_rows(const struct graph *g, const struct node *n, bool *carries, node_id id) {
    carries[id] = any_carries(n, carries, 0);
    // What carries no rows at all has nothing to keep.
    if (!carries[id] || other_rows(n, carries))
        return true;
    if (!carries[n->arg[0]])
        return false;
    switch (op_infos[n->op].class) {
    case OP_CLASS_MOVE:
        return move_keeps(g, n, carries);
    case OP_CLASS_GATHER:
        return n->detail->axis != 0 &&
               (n->op == OP_TAKE ? only_first(n, carries) : carries[n->arg[1]]);
    case OP_CLASS_SCAN:
    case OP_CLASS_ORDER:
        return n->detail->axis != 0;
    case OP_CLASS_WINDOW:
        return window_keeps(g, n, carries);
    case OP_CLASS_SCATTER:
        return n->op == OP_SCATTER_ADD && n->detail->axis != 0 && carries[n->arg[1]] &&
               carries[n->arg[2]];
    default:
        return false;
    }
}
