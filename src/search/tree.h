// The search tree, derived from a run's stored nodes and nothing else.
//
// Statistics are never stored: a process computes them once and then follows the nodes as they come
// and are judged, so that a decision in a tree of 100 000 nodes does not read all of them. What
// follows and what is built anew are equal; so a resumed run decides exactly as one that was
// never stopped. What a mind cannot improve any more ("exhausted") is found out again by asking it,
// within the decision.
#pragma once

#include <stdbool.h>

struct arena;
struct search_node;

struct tree_node {
    int parent;      // -1: the root
    int depth;       // 0: the root
    int n_children;  // proposed ones count: they are being tried; screened ones do not
    int visits;      // evaluated nodes in its subtree, itself included
    int n_open;      // open nodes in its subtree, itself included; 0: it is closed
    // Children that were evaluated, by number; -1: none. `before` and `after` are siblings.
    int first, last, before, after;
    bool is_suspect;    // itself or an ancestor
    bool works;         // verdict ok, not suspect, timed
    bool is_failure;    // evaluated, and the verdict is the candidate's fault
    bool is_open;       // see tree_is_open
    bool is_exhausted;  // the mind has nothing more from here
    double time_s;      // INFINITY unless it works
    double best_s;      // the fastest in its subtree; INFINITY: none works
};

struct timed {
    double time_s;
    int node;
};

struct tree {
    struct arena *arena;
    const struct search_node *nodes;
    struct tree_node *at;  // same numbers
    int n_nodes, room;
    struct timed *fastest;  // those that work, the fastest first, of equals the oldest
    int n_works;
    int *open;  // those that are open, by number
    int n_open;
    int *waiting;  // proposed, not yet judged
    int n_waiting;
    int *undo;  // of this decision: exhausted nodes, and ~node for each child to come
    int n_undo, undo_room;
    int failing_children;  // so many may a node have that did not pass; 0: none
};

// The nodes must outlive the tree; parents come before their children.
void tree_build(struct arena *a, struct tree *t, const struct search_node *nodes, int n_nodes);
// Those that came, and those that waited and were judged. Whatever else changes needs a new tree,
// which is a zeroed one with its arena that follows all nodes. Exhausted nodes and children to come
// are forgotten.
void tree_follow(struct tree *t, const struct search_node *nodes, int n_nodes);

// Note that a node gives no new proposal, and what follows for its ancestors.
void tree_exhaust(struct tree *t, int node);
// Note that the decision gives a node one more child.
void tree_expect_child(struct tree *t, int node);

// Can a child be added to this very node? Only to one that works; to the root in any case, once it
// was judged; and to `failing_children` of one that failed.
bool tree_is_open(const struct tree *t, int node);
bool tree_is_closed(const struct tree *t, int node);  // nothing is open in its subtree

// Rank of a time among the working nodes: the i-th slowest of n has i/n, equal times share the
// better rank; 0 for INFINITY. Neither a bad first kernel nor one near the bound distorts it.
double tree_rank(const struct tree *t, double time_s);

// The fastest working node, or -1.
int tree_fastest(const struct tree *t);

// Which nodes work, by the same rule, without a tree.
void tree_mark_working(const struct search_node *nodes, int n_nodes, bool *works);
