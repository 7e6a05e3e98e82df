// One decision: which node to improve on, and the candidate that comes of it.
//
// A function of the stored nodes, the seed and, where a model is asked, its stored answers. What
// the minds could not improve and what lowers to code already seen is found out anew each
// time, never remembered.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/candidate.h"

struct arena;
struct bound;
struct brief;
struct policy;
struct problem;
struct proposer;
struct rng;
struct search_node;
struct target;

struct decide_input {
    const struct problem *problem;
    const struct target *target;
    const struct bound *bound;
    const struct policy *policy;
    const struct proposer *proposer;
    void *mind;  // the proposer's state
    const struct search_node *nodes;
    int n_nodes;
    uint64_t seed;          // of the run; the number of nodes is added here
    double seconds_left;    // of the run
    int batch;              // of the run
    int evals_left;         // of the run; 0: no limit known
    int mind_since;         // the mind's failures count from this node on
    bool is_race;           // mostly timed roughly; and the same code but for comments is no news
    struct arena *scratch;  // where the decision lives
};

struct decision {
    int parent;
    const char *move, *change, *reason, *by, *tool;  // as in the proposal
    double expected;
    struct candidate candidate;
};

// Up to `room` decisions. Repair a node of the last batch where the mind does that and it did not
// pass; else select a node, have it improved, lower the results; again while there is room and
// something is left to try. While the root is not judged yet, all are from there. Returns how many;
// 0: nothing is left.
int decide(const struct decide_input *in, struct decision *out, int room);

// What a mind is told of a node. False: the node's block cannot be read
// any more.
bool decide_brief(const struct decide_input *in, int node, struct brief *out);
