// Children have larger numbers than their parents, so statistics are one pass from the end.
#include "search/tree.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/arena.h"
#include "record/run.h"

static bool is_evaluated(const struct search_node *n) {
    return n->state == NODE_EVALUATED;
}

static bool judge_works(const struct tree_node *at, const struct search_node *n) {
    return is_evaluated(n) && n->verdict.kind == VERDICT_OK && !at->is_suspect &&
           isfinite(n->time_s);
}

struct timed {
    double time_s;
    int node;
};

static int by_time(const void *x, const void *y) {
    const struct timed *a = x, *b = y;
    return a->time_s < b->time_s ? -1 : a->time_s > b->time_s;
}

// Ranks, not times: neither a bad first kernel nor one near the bound distorts them. Equal
// times share the better rank.
static void rank(struct arena *a, struct tree *t) {
    struct timed *all = arena_array(a, struct timed, t->n_nodes + 1);
    int n = 0, first = 0;
    for (int i = 0; i < t->n_nodes; i++)
        if (t->at[i].works)
            all[n++] = (struct timed){t->nodes[i].time_s, i};
    qsort(all, (size_t)n, sizeof *all, by_time);
    for (int i = 0; i < n; i++) {
        if (all[i].time_s > all[first].time_s)
            first = i;
        t->at[all[i].node].reward = (double)(n - first) / n;
    }
}

// Closed: no child can be added here, and every child is closed. Children have larger
// numbers, so one pass from the end sees them first.
static void close_subtrees(struct tree *t) {
    for (int i = 0; i < t->n_nodes; i++)
        t->at[i].is_closed = !tree_is_open(t, i);
    for (int i = t->n_nodes - 1; i > 0; i--)
        if (!t->at[i].is_closed)
            t->at[t->nodes[i].parent].is_closed = false;
}

void tree_build(struct arena *a, struct tree *t, const struct search_node *nodes, int n_nodes) {
    *t = (struct tree){
        .nodes = nodes,
        .n_nodes = n_nodes,
        .at = arena_array(a, struct tree_node, n_nodes > 0 ? n_nodes : 1),
    };
    for (int i = 0; i < n_nodes; i++) {
        int parent = nodes[i].parent;
        assert(nodes[i].number == i && parent < i && (i == 0) == (parent < 0));
        struct tree_node *at = &t->at[i];
        at->is_suspect = (is_evaluated(&nodes[i]) && nodes[i].verdict.kind == VERDICT_SUSPECT) ||
                         (parent >= 0 && t->at[parent].is_suspect);
        at->works = judge_works(at, &nodes[i]);
        at->visits = is_evaluated(&nodes[i]);
        if (parent >= 0 && nodes[i].state != NODE_SCREENED)
            t->at[parent].n_children++;
    }
    rank(a, t);
    for (int i = n_nodes - 1; i >= 0; i--) {
        struct tree_node *at = &t->at[i];
        if (at->reward > at->best)
            at->best = at->reward;
        if (i == 0)
            break;
        struct tree_node *up = &t->at[nodes[i].parent];
        up->visits += at->visits;
        if (at->best > up->best)
            up->best = at->best;
    }
    close_subtrees(t);
}

void tree_exhaust(struct tree *t, int node) {
    t->at[node].is_exhausted = true;
    close_subtrees(t);
}

bool tree_is_open(const struct tree *t, int node) {
    // The root stays open when it does not work: its children are the only way on.
    return !t->at[node].is_exhausted && (t->at[node].works || (node == 0 && t->at[0].visits > 0));
}

int tree_fastest(const struct tree *t) {
    int best = -1;
    for (int i = 0; i < t->n_nodes; i++)
        if (t->at[i].works && (best < 0 || t->nodes[i].time_s < t->nodes[best].time_s))
            best = i;
    return best;
}
