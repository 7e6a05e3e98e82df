// Always the best node that still has moves.
#include "search/decide.h"
#include "search/policy.h"

static int select_greedy(const struct search_context *c, struct search_state *s) {
    const struct tree *t = &s->tree;
    (void)c;
    int best = -1;
    for (int i = 0; i < t->n_nodes; i++)
        if (tree_is_open(t, i) && (best < 0 || t->at[i].reward > t->at[best].reward))
            best = i;
    return best;
}

const struct policy policy_greedy = {
    .name = "greedy",
    .summary = "the fastest working node that still has moves",
    .propose = policy_propose_selected,
    .select = select_greedy,
};
