// Epsilon-greedy: mostly the fastest node, now and then any other.
//
// Three rules keep it from wasting attempts. The root is throttled: it has the most moves and would
// be drawn for ever, so it has at most 4 + throttle * (nodes judged) children while there is
// another node. A branch is dead when a node has `dead` children or more and nothing below is
// faster than itself. Leaves are preferred: of nodes within `leaf` of the fastest, or of three
// that were drawn, the one with the fewest children.
#include "base/rng.h"
#include "record/run.h"
#include "search/decide.h"
#include "search/policy.h"

enum { EPSILON, THROTTLE, DEAD, LEAF };

static const struct policy_setting settings[] = {
    [EPSILON] = {"epsilon", "share of attempts that begin at any open node", 0.2, 0.2},
    [THROTTLE] = {"throttle", "children of the root per node judged, above the first four", 0.1,
                  0.1},
    [DEAD] = {"dead", "children without a gain after which a node is left alone", 8, 8},
    [LEAF] = {"leaf", "nodes this close to the fastest count as equal, and leaves come first", 0.02,
              0.02},
    {0},
};

enum { ROOT_FREE = 4, DRAWN = 3 };

static bool is_wasted(const struct search_context *c, const struct tree *t, int node) {
    const struct tree_node *at = &t->at[node];
    if (node == 0 && at->n_children >= ROOT_FREE + policy_setting(c, THROTTLE) * at->visits)
        return true;
    return at->n_children >= policy_setting(c, DEAD) && !(at->best_s < at->time_s);
}

static bool serves(const struct search_context *c, const struct tree *t, int node, bool takes_all) {
    return tree_is_open(t, node) && (takes_all || !is_wasted(c, t, node));
}

// The fastest, or of those nearly as fast the one with the fewest children; -1: none serves.
static int exploit(const struct search_context *c, struct search_state *s, bool takes_all) {
    const struct tree *t = &s->tree;
    int best = -1;
    double limit_s = 0;
    for (int i = 0; i < t->n_works; i++, s->n_steps++) {
        int node = t->fastest[i].node;
        if (best >= 0 && t->fastest[i].time_s > limit_s)
            break;
        if (!serves(c, t, node, takes_all))
            continue;
        if (best < 0)
            limit_s = t->fastest[i].time_s * (1 + policy_setting(c, LEAF));
        if (best < 0 || t->at[node].n_children < t->at[best].n_children)
            best = node;
    }
    return best;
}

static int explore(const struct search_context *c, struct search_state *s) {
    const struct tree *t = &s->tree;
    int best = -1;
    for (int i = 0; i < DRAWN && t->n_open > 0; i++, s->n_steps++) {
        int node = t->open[rng_below(&s->rng, (uint64_t)t->n_open)];
        bool is_better = best < 0 || t->at[node].n_children < t->at[best].n_children;
        if (serves(c, t, node, false) && is_better)
            best = node;
    }
    return best;
}

static int select_epsilon(const struct search_context *c, struct search_state *s) {
    int node = -1;
    if (rng_unit(&s->rng) < policy_setting(c, EPSILON))
        node = explore(c, s);
    if (node < 0)
        node = exploit(c, s, false);
    if (node < 0)
        node = exploit(c, s, true);
    return node < 0 && s->tree.n_open > 0 ? s->tree.open[0] : node;
}

const struct policy policy_epsilon = {
    .name = "epsilon",
    .summary =
        "mostly the fastest node, now and then any other; root throttled, dead branches left",
    .propose = policy_propose_selected,
    .select = select_epsilon,
    .settings = settings,
};
