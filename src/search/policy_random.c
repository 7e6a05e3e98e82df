// Any open node with equal chance, by the run's seed: the control that other policies must beat.
#include "search/decide.h"
#include "search/policy.h"

static int select_random(const struct search_context *c, struct search_state *s) {
    const struct tree *t = &s->tree;
    (void)c;
    int n_open = 0;
    for (int i = 0; i < t->n_nodes; i++)
        n_open += tree_is_open(t, i);
    if (n_open == 0)
        return -1;
    int pick = (int)rng_below(&s->rng, (uint64_t)n_open);
    for (int i = 0;; i++)
        if (tree_is_open(t, i) && pick-- == 0)
            return i;
}

const struct policy policy_random = {
    .name = "random",
    .summary = "any working node with equal chance: the control",
    .propose = policy_propose_selected,
    .select = select_random,
};
