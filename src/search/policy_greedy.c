// Always the best node that still has moves.
#include "search/tree.h"

static int select_greedy(const struct tree *t, struct rng *rng) {
    (void)rng;
    int best = -1;
    for (int i = 0; i < t->n_nodes; i++)
        if (tree_is_open(t, i) && (best < 0 || t->at[i].reward > t->at[best].reward))
            best = i;
    return best;
}

const struct policy policy_greedy = {
    .name = "greedy",
    .summary = "the fastest working node that still has moves",
    .select = select_greedy,
};
