// Monte Carlo tree search over complete candidates.
//
// Walk down from the root. At each node the arms are its children and the node itself,
// i.e. one more child of it; the arm with the largest
//
//     worth + explore * sqrt(ln visits of the node / visits of the arm)
//
// wins. A child is worth the best of its subtree, not the mean: what counts is the best
// kernel found, and most edits of a good kernel are worse than it. The node itself is
// worth what its own time is, and `prior` times what was learned elsewhere of the moves that its
// findings ask for.
//
// A time is worth its rank among the working nodes (search/tree.h), and by the share `log` its
// reward: how far it is from the root to reach, log(t0 / t) / log(t0 / reach). Ranks tell kernels
// apart that are nearly equal; the reward does not let many small differences outweigh a large one.
//
// Progressive widening: a node has at most widen * visits^alpha children. Asymmetric branching: one
// that did not pass has at most `failing`, and is worth nothing itself. Closed subtrees, in which
// nothing is left to try, are not entered. That a node may be widened does not mean that it
// must: with obligatory widening the search stayed near the root and lost to greedy on every table.
#include <math.h>

#include "base/arena.h"
#include "mind/expect.h"
#include "mind/priors.h"
#include "model/bound.h"
#include "record/run.h"
#include "search/decide.h"
#include "search/policy.h"

enum { EXPLORE, WIDEN, ALPHA, LOG, FAILING, PRIOR };

static const struct policy_setting settings[] = {
    [EXPLORE] = {"explore", "weight of what was tried seldom", 0.08, 0.08},
    [WIDEN] = {"widen", "a node has at most widen * visits^alpha children", 3, 3},
    [ALPHA] = {"alpha", "see widen", 0.5, 0.5},
    [LOG] = {"log", "share of the reward against the bound in a node's worth; the rest is its rank",
             0, 0},
    [FAILING] = {"failing", "children that a node may have that did not pass", 0, 0},
    [PRIOR] = {"prior", "weight of what other runs learned of moves", 0, 0},
    {0},
};

// What the walk needs, looked up once.
struct walk {
    const struct search_context *c;
    struct search_state *s;
    const struct tree *t;
    double explore, log_share, prior;
    double t0, span;  // of rewards; span 0: there are none
};

static double worth(const struct walk *w, double time_s) {
    double rank = tree_rank(w->t, time_s);
    if (w->span <= 0 || isinf(time_s))
        return rank;
    double reward = fmin(1, fmax(0, log(w->t0 / time_s) / w->span));
    return (1 - w->log_share) * rank + w->log_share * reward;
}

// The gain that other runs lead to expect of the first finding that they know.
static double prior_of(const struct walk *w, int node) {
    const struct search_node *n = &w->c->nodes[node];
    struct arena scratch = {0};
    double gain = 0;
    for (int f = 0; w->c->priors && gain == 0 && f < n->n_findings; f++)
        for (int i = 0; gain == 0 && i < n->findings[f].n_actions &&
                        expect_uses_finding(w->c->feedback, &n->findings[f]);
             i++) {
            const struct action *action = &n->findings[f].actions[i];
            if (!action->knob || (!action->word && action->direction == 0))
                continue;
            const char *way = action->word ? action->word : action->direction > 0 ? "up" : "down";
            struct prior p = w->c->priors->expect(
                w->c->priors->ctx, arena_printf(&scratch, "%s %s", action->knob, way),
                n->findings[f].tool, decide_bottleneck(w->c, node));
            gain = prior_log_gain(&p);
        }
    arena_reset(&scratch);
    return w->prior * gain;
}

static double score(const struct walk *w, int node, double value, int arm_visits) {
    double visits = w->t->at[node].visits > 1 ? w->t->at[node].visits : 1;
    // A child that is proposed and not yet evaluated counts as one visit.
    return value + w->explore * sqrt(log(visits) / (arm_visits > 0 ? arm_visits : 1));
}

static int best_child(const struct walk *w, int node, double *best_score) {
    const struct tree *t = w->t;
    int best = -1;
    for (int i = t->at[node].first; i >= 0; i = t->at[i].after, w->s->n_steps++) {
        if (tree_is_closed(t, i))
            continue;
        double value = score(w, node, worth(w, t->at[i].best_s), t->at[i].visits);
        if (best < 0 || value > *best_score) {
            best = i;
            *best_score = value;
        }
    }
    return best;
}

static struct walk begin(const struct search_context *c, struct search_state *s) {
    struct walk w = {.c = c,
                     .s = s,
                     .t = &s->tree,
                     .explore = policy_setting(c, EXPLORE),
                     .log_share = policy_setting(c, LOG),
                     .prior = policy_setting(c, PRIOR)};
    w.t0 = w.t->n_nodes > 0 ? w.t->at[0].time_s : INFINITY;
    if (isinf(w.t0) && w.t->n_works > 0)
        w.t0 = w.t->fastest[w.t->n_works - 1].time_s;  // the root does not work
    if (c->bound && isfinite(w.t0) && c->bound->reach_s > 0 && c->bound->reach_s < w.t0)
        w.span = log(w.t0 / c->bound->reach_s);
    return w;
}

static int select_mcts(const struct search_context *c, struct search_state *s) {
    const struct tree *t = &s->tree;
    if (t->n_nodes == 0 || tree_is_closed(t, 0))
        return -1;
    struct walk w = begin(c, s);
    double widen = policy_setting(c, WIDEN), alpha = policy_setting(c, ALPHA);
    int node = 0;
    for (;;) {
        const struct tree_node *at = &t->at[node];
        double child_score = 0;
        int child = best_child(&w, node, &child_score);
        if (child < 0)
            return node;  // not closed and no child to go to: it is open itself
        bool may_widen = tree_is_open(t, node) && at->n_children < widen * pow(at->visits, alpha);
        double own = worth(&w, at->time_s) + prior_of(&w, node);
        if (may_widen && score(&w, node, own, at->n_children + 1) >= child_score)
            return node;
        node = child;
    }
}

const struct policy policy_mcts = {
    .name = "mcts",
    .summary = "tree search: widen where the best results lie, look elsewhere now and then",
    .propose = policy_propose_selected,
    .select = select_mcts,
    .settings = settings,
};
