// The search tree, derived from a run's stored nodes and nothing else.
//
// Statistics are computed anew before every decision and never stored, so a resumed
// run decides exactly as one that was never stopped. What a mind cannot improve any
// more ("exhausted") is found out again by asking it, within the decision.
#pragma once

#include <stdbool.h>

struct arena;
struct search_node;

struct tree_node {
    int n_children;     // proposed ones count: they are being tried; screened ones do not
    int visits;         // evaluated nodes in its subtree, itself included
    bool is_suspect;    // itself or an ancestor
    bool works;         // verdict ok, not suspect, timed
    double reward;      // rank among the working nodes: the i-th slowest of n has i/n; else 0
    double best;        // largest reward in its subtree
    bool is_exhausted;  // the mind has nothing more from here
    bool is_closed;     // nothing can be added anywhere in its subtree
};

struct tree {
    const struct search_node *nodes;
    struct tree_node *at;  // same numbers
    int n_nodes;
};

// The nodes must outlive the tree; parents come before their children.
void tree_build(struct arena *a, struct tree *t, const struct search_node *nodes, int n_nodes);

// Note that a node gives no new proposal, and what follows for its ancestors.
void tree_exhaust(struct tree *t, int node);

// Can a child be added to this very node? Only to one that works.
bool tree_is_open(const struct tree *t, int node);

// The fastest working node, or -1.
int tree_fastest(const struct tree *t);
