// Always the best node that still has moves.
#include "search/decide.h"
#include "search/policy.h"

static int select_greedy(const struct search_context *c, struct search_state *s) {
    const struct tree *t = &s->tree;
    (void)c;
    for (int i = 0; i < t->n_works; i++, s->n_steps++)
        if (tree_is_open(t, t->fastest[i].node))
            return t->fastest[i].node;
    return t->n_open > 0 ? t->open[0] : -1;  // nothing works: the root
}

const struct policy policy_greedy = {
    .name = "greedy",
    .summary = "the fastest working node that still has moves",
    .propose = policy_propose_selected,
    .select = select_greedy,
};
