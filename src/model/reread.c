// A forward pass with sets of inputs as bits: which inputs reach both a reduction and what meets
// its result.
#include "model/reread.h"

#include <stdint.h>

#include "base/arena.h"

enum { WORD = 64 };

// Two sets of inputs for every node, a bit each.
struct seen {
    uint64_t *direct;   // reach the value element by element or by movement of data
    uint64_t *reduced;  // reach it through a reduction whose groups do not fit the chip
};

struct sets {
    const struct problem *p;
    double on_chip;
    int n_words;
    struct seen *seen;  // per node
};

// Does an element depend on elements of its arguments at places that are known?
static bool is_direct(const struct node *n) {
    const struct op_class_info *c = op_class_of(n->op);
    return c->role == OP_ROLE_ELEMENTWISE || (c->role == OP_ROLE_INDEX && !c->is_by_data);
}

// Is one group of an input, all that makes one element of the result, too large for the chip?
static bool is_too_large(const struct sets *s, int input, double groups) {
    const struct node *n = &s->p->graph.nodes[s->p->inputs[input].node];
    return (double)dtype_size(n->dtype, shape_count(&n->shape)) / groups > s->on_chip;
}

static void reduce(const struct sets *s, const struct node *n, const struct seen *arg,
                   struct seen *to) {
    double groups = (double)shape_count(&n->shape);
    for (int i = 0; i < s->p->n_inputs; i++)
        if (arg->direct[i / WORD] >> i % WORD & 1 && is_too_large(s, i, groups))
            to->reduced[i / WORD] |= (uint64_t)1 << i % WORD;
}

static void visit(const struct sets *s, node_id id, uint64_t *again) {
    const struct node *n = &s->p->graph.nodes[id];
    struct seen *to = &s->seen[id];
    for (int j = 0; j < n->n_args; j++) {
        const struct seen *arg = &s->seen[n->arg[j]];
        for (int w = 0; w < s->n_words; w++) {
            to->reduced[w] |= arg->reduced[w];
            if (!is_direct(n))
                continue;
            // Both the value and what it was reduced to: it had to wait, or come again.
            again[w] |= (to->direct[w] & arg->reduced[w]) | (arg->direct[w] & to->reduced[w]);
            to->direct[w] |= arg->direct[w];
        }
        if (op_infos[n->op].class == OP_CLASS_REDUCE)
            reduce(s, n, arg, to);
    }
}

void reread_find(struct arena *a, const struct problem *p, double on_chip, bool *is_again) {
    int n_nodes = p->graph.n_nodes, n_words = (p->n_inputs + WORD - 1) / WORD;
    struct sets s = {p, on_chip, n_words, arena_array(a, struct seen, n_nodes + 1)};
    uint64_t *words = arena_array(a, uint64_t, (size_t)n_words * (2 * (size_t)n_nodes + 1) + 1);
    uint64_t *again = words + (size_t)n_words * 2 * (size_t)n_nodes;
    for (int i = 0; i < n_nodes; i++) {
        s.seen[i].direct = words + (size_t)n_words * 2 * (size_t)i;
        s.seen[i].reduced = s.seen[i].direct + n_words;
    }
    for (int i = 0; i < p->n_inputs; i++)
        s.seen[p->inputs[i].node].direct[i / WORD] = (uint64_t)1 << i % WORD;
    for (int i = 0; i < n_nodes; i++)
        visit(&s, i, again);
    for (int i = 0; i < p->n_inputs; i++)
        is_again[i] = again[i / WORD] >> i % WORD & 1;
}
