// A forward pass with sets of inputs as bits: which inputs reach both a reduction and what meets
// its result.
#include "model/again.h"

#include <stdint.h>

#include "base/arena.h"

// Sets of inputs, a bit each.
struct seen {
    uint32_t direct;   // reach the value element by element or by movement of data
    uint32_t reduced;  // reach it through a reduction whose groups do not fit the chip
};

static bool is_direct(const struct node *n) {
    switch (op_infos[n->op].class) {
    case OP_CLASS_VIEW:
    case OP_CLASS_ELEMENTWISE:
    case OP_CLASS_MOVE:
        return true;
    default:
        return false;
    }
}

// The inputs of `set` of which one group, all that makes one element of the result, is too large.
static uint32_t too_large(const struct problem *p, const struct node *n, uint32_t set,
                          double on_chip) {
    uint32_t large = 0;
    double groups = (double)shape_count(&n->shape);
    for (int i = 0; i < p->n_inputs; i++) {
        const struct node *input = &p->graph.nodes[p->inputs[i].node];
        double bytes = (double)dtype_size(input->dtype, shape_count(&input->shape));
        if (set >> i & 1 && bytes / groups > on_chip)
            large |= (uint32_t)1 << i;
    }
    return large;
}

void again_find(struct arena *a, const struct problem *p, double on_chip, bool *is_again) {
    const struct graph *g = &p->graph;
    struct seen *seen = arena_array(a, struct seen, g->n_nodes);
    uint32_t again = 0;
    for (int i = 0; i < p->n_inputs; i++)
        seen[p->inputs[i].node].direct = (uint32_t)1 << i;
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        for (int j = 0; j < n->n_args; j++) {
            const struct seen *arg = &seen[n->arg[j]];
            seen[i].reduced |= arg->reduced;
            if (is_direct(n)) {
                // Both the value and what it was reduced to: it had to wait, or come again.
                again |= (seen[i].direct & arg->reduced) | (arg->direct & seen[i].reduced);
                seen[i].direct |= arg->direct;
            } else if (op_infos[n->op].class == OP_CLASS_REDUCE) {
                seen[i].reduced |= too_large(p, n, arg->direct, on_chip);
            }
        }
    }
    for (int i = 0; i < p->n_inputs; i++)
        is_again[i] = again >> i & 1;
}
