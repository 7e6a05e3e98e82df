// One decision: which nodes to improve on, and the candidates that come of it.
//
// A function of the search context. What the minds could not improve and what lowers to code
// already seen is found out anew each time, never remembered.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "record/candidate.h"
#include "search/context.h"
#include "search/tree.h"

struct brief;
struct priors;
struct proposal;

struct decision {
    int parent;
    const char *move, *change, *reason, *by, *tool;  // as in the proposal
    double expected;
    struct candidate candidate;
};

// What is known of a decision in the making, derived from the context's nodes and never stored.
struct search_state {
    struct tree tree;
    struct rng rng;        // by the run's seed and the number of nodes
    const char **kernels;  // canonical blocks of the nodes, then of what was tried since
    int n_kernels, room;
    uint64_t *codes;  // of the nodes' candidates, then of what was decided
    const char **hashes;
    int n_codes;
    int n_decided;
};

// Up to `room` decisions. Repair a node of the last batch where the mind does that and it did not
// pass; else what the policy proposes. While the root is not judged yet, all are from there.
// Returns how many; 0: nothing is left.
int decide(const struct search_context *c, struct decision *out, int room);

// For policies. Have a node improved, with these priors, and lower the results: at most `room`
// decisions, all new. Returns how many. *n_asked is what the mind proposed; 0: nothing is left
// there.
int decide_from(const struct search_context *c, struct search_state *s, int parent,
                const struct priors *priors, struct decision *out, int room, int *n_asked);

// The same for a proposal that the policy made itself. False: it does not lower, or is not new.
bool decide_on(const struct search_context *c, struct search_state *s, int parent,
               const struct proposal *p, struct decision *out);

// What a mind is told of a node. False: the node's block cannot be read
// any more.
bool decide_brief(const struct search_context *c, int node, struct brief *out);
