// Monte Carlo tree search over complete candidates.
//
// Walk down from the root: at each node either add a child there (progressive
// widening: as long as it has at most WIDEN * visits^ALPHA of them) or go on to the
// child with the largest
//
//     best reward of its subtree + EXPLORE * sqrt(ln visits of the parent / visits)
//
// A node is worth the best of its subtree, not the mean: what counts is the best
// kernel found, and most edits of a good kernel are worse than it. Rewards are ranks
// (search/tree.h). Failed and suspect nodes have no children; closed subtrees are
// not entered.
#include <math.h>

#include "record/run.h"
#include "search/tree.h"

static const double WIDEN = 2.0, ALPHA = 0.5, EXPLORE = 0.35;

static bool may_widen(const struct tree_node *at) {
    return at->n_children + 1 <= WIDEN * pow(at->visits, ALPHA);
}

static double score(const struct tree *t, int parent, int child) {
    // A child that is proposed and not yet evaluated counts as one visit.
    double visits = t->at[child].visits > 0 ? t->at[child].visits : 1;
    double parent_visits = t->at[parent].visits > 1 ? t->at[parent].visits : 1;
    return t->at[child].best + EXPLORE * sqrt(log(parent_visits) / visits);
}

static int best_child(const struct tree *t, int parent) {
    int best = -1;
    double best_score = 0;
    for (int i = parent + 1; i < t->n_nodes; i++) {
        if (t->nodes[i].parent != parent || t->at[i].is_closed)
            continue;
        double s = score(t, parent, i);
        if (best < 0 || s > best_score) {
            best = i;
            best_score = s;
        }
    }
    return best;
}

static int select_mcts(const struct tree *t, struct rng *rng) {
    (void)rng;
    if (t->n_nodes == 0 || t->at[0].is_closed)
        return -1;
    int node = 0;
    for (;;) {
        int child = best_child(t, node);
        bool open = tree_is_open(t, node);
        if (open && (child < 0 || may_widen(&t->at[node])))
            return node;
        node = child;  // the subtree is not closed: an open node lies below
    }
}

const struct policy policy_mcts = {
    .name = "mcts",
    .summary = "tree search: widen where the best results lie, look elsewhere now and then",
    .select = select_mcts,
};
