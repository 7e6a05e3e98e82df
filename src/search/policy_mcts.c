// Monte Carlo tree search over complete candidates.
//
// Walk down from the root. At each node the arms are its children and the node itself,
// i.e. one more child of it; the arm with the largest
//
//     worth + EXPLORE * sqrt(ln visits of the node / visits of the arm)
//
// wins. A child is worth the best of its subtree, not the mean: what counts is the best
// kernel found, and most edits of a good kernel are worse than it. The node itself is
// worth its own reward. Rewards are ranks (search/tree.h). Progressive widening: a node
// has at most WIDEN * visits^ALPHA children. Failed and suspect nodes have none; closed
// subtrees are not entered. That a node may be widened does not mean that it must: with
// obligatory widening the search stayed near the root and lost to greedy on every table.
#include <math.h>

#include "record/run.h"
#include "search/decide.h"
#include "search/policy.h"

static const double WIDEN = 3.0, ALPHA = 0.5, EXPLORE = 0.08;

static double score(const struct tree *t, int node, double worth, int arm_visits) {
    double visits = t->at[node].visits > 1 ? t->at[node].visits : 1;
    // A child that is proposed and not yet evaluated counts as one visit.
    return worth + EXPLORE * sqrt(log(visits) / (arm_visits > 0 ? arm_visits : 1));
}

static int best_child(const struct tree *t, int node, double *best_score) {
    int best = -1;
    for (int i = node + 1; i < t->n_nodes; i++) {
        if (t->nodes[i].parent != node || t->at[i].is_closed)
            continue;
        double s = score(t, node, t->at[i].best, t->at[i].visits);
        if (best < 0 || s > *best_score) {
            best = i;
            *best_score = s;
        }
    }
    return best;
}

static int select_mcts(const struct search_context *c, struct search_state *s) {
    const struct tree *t = &s->tree;
    (void)c;
    if (t->n_nodes == 0 || t->at[0].is_closed)
        return -1;
    int node = 0;
    for (;;) {
        const struct tree_node *at = &t->at[node];
        double child_score = 0;
        int child = best_child(t, node, &child_score);
        if (child < 0)
            return node;  // not closed and no child to go to: it is open itself
        bool may_widen = tree_is_open(t, node) && at->n_children < WIDEN * pow(at->visits, ALPHA);
        if (may_widen && score(t, node, at->reward, at->n_children + 1) >= child_score)
            return node;
        node = child;
    }
}

const struct policy policy_mcts = {
    .name = "mcts",
    .summary = "tree search: widen where the best results lie, look elsewhere now and then",
    .propose = policy_propose_selected,
    .select = select_mcts,
};
