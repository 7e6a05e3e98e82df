// One decision: which node to improve on, and the candidate that comes of it.
//
// A pure function of the stored nodes and the seed. What the minds could not improve
// and what lowers to code already seen is found out anew each time, never remembered.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/candidate.h"

struct arena;
struct bound;
struct policy;
struct problem;
struct proposer;
struct search_node;
struct target;

struct decide_input {
    const struct problem *problem;
    const struct target *target;
    const struct bound *bound;
    const struct policy *policy;
    const struct proposer *proposer;
    const struct search_node *nodes;
    int n_nodes;
    uint64_t seed;          // of the run; the number of nodes is added here
    struct arena *scratch;  // where the decision lives
};

struct decision {
    int parent;
    const char *move, *reason;
    struct candidate candidate;
};

// Select a node, have it improved, lower the result; again while that gives something that
// was seen before. False when nothing is left to try.
bool decide(const struct decide_input *in, struct decision *out);
