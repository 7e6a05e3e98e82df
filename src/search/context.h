// All that a decision of the search depends on, in one const struct: the run, the nodes that are
// stored, and what is left of the budget. Policies and decide.c read it and nothing else, so the
// same nodes, seed and (where a model is asked) stored answers give the same decision.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct advice;
struct arena;
struct bound;
struct policy;
struct priors;
struct problem;
struct proposer;
struct search_node;
struct target;

struct search_context {
    // Of the run; the caller that starts one (search/optimize.h) fills these in.
    const struct problem *problem;
    const struct target *target;
    const struct bound *bound;
    const struct policy *policy;
    const double *settings;  // the policy's (search/policy.h); NULL: its defaults
    const struct proposer *proposer;
    void *mind;                   // the proposer's state; NULL: it has none
    const struct priors *priors;  // what other runs taught of moves; NULL: nothing
    const struct advice *advice;  // all that the run took from memory; NULL: nothing

    // Of the moment; the loop fills these in.
    const struct search_node *nodes;
    int n_nodes;
    uint64_t seed;          // of the run; the number of nodes is added for each decision
    double seconds_left;    // of the run
    int batch;              // of the run
    int evals_left;         // of the run; 0: no limit known
    int mind_since;         // the mind's failures count from this node on
    const char *feedback;   // of the run; NULL: findings
    bool is_race;           // mostly timed roughly; and the same code but for comments is no news
    struct arena *scratch;  // where the decision lives
};
