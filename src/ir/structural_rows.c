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

static bool gather_keeps(const struct graph *g, const struct node *n, const bool *carries) {
    (void)g;
    return n->detail->axis != 0 && (n->op == OP_TAKE ? only_first(n, carries) : carries[n->arg[1]]);
}

static bool line_keeps(const struct graph *g, const struct node *n, const bool *carries) {
    (void)g, (void)carries;
    return n->detail->axis != 0;
}

static bool scatter_keeps(const struct graph *g, const struct node *n, const bool *carries) {
    (void)g;
    return n->op == OP_SCATTER_ADD && n->detail->axis != 0 && carries[n->arg[1]] &&
           carries[n->arg[2]];
}

// Where the first argument has rows; a class that is not here does not keep them.
static bool (*const keeps[OP_CLASS_COUNT])(const struct graph *g, const struct node *n,
                                           const bool *carries) = {
    [OP_CLASS_MOVE] = move_keeps,     [OP_CLASS_GATHER] = gather_keeps,
    [OP_CLASS_SCAN] = line_keeps,     [OP_CLASS_ORDER] = line_keeps,
    [OP_CLASS_WINDOW] = window_keeps, [OP_CLASS_SCATTER] = scatter_keeps,
};

bool structural_keeps_rows(const struct graph *g, const struct node *n, bool *carries, node_id id) {
    carries[id] = any_carries(n, carries, 0);
    // What carries no rows at all has nothing to keep.
    if (!carries[id] || other_rows(n, carries))
        return true;
    if (!carries[n->arg[0]])
        return false;
    enum op_class class = op_infos[n->op].class;
    return keeps[class] && keeps[class](g, n, carries);
}
