// Any open node with equal chance, by the run's seed: the control that other policies must beat.
#include "search/decide.h"
#include "search/policy.h"

static int select_random(const struct search_context *c, struct search_state *s) {
    const struct tree *t = &s->tree;
    (void)c;
    return t->n_open > 0 ? t->open[rng_below(&s->rng, (uint64_t)t->n_open)] : -1;
}

const struct policy policy_random = {
    .name = "random",
    .summary = "any working node with equal chance: the control",
    .propose = policy_propose_selected,
    .select = select_random,
};
