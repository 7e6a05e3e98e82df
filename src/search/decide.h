// One decision: which nodes to improve on, and the candidates that come of it.
//
// A function of the search context. What the minds could not improve and what lowers to code
// already seen is found out anew each time, never remembered.
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/rng.h"
#include "record/candidate.h"
#include "search/context.h"
#include "search/tree.h"
#include "search/tried.h"

struct brief;
struct kernel;
struct priors;
struct proposal;

struct decision {
    int parent;
    const char *move, *change, *reason, *by, *tool;  // as in the proposal
    double expected;
    struct candidate candidate;
};

// What a process knows of the nodes so that it need not read them all for each decision. It is
// derived from them and never stored; a caller that has none builds it (a zeroed one), with the
// same result.
struct search_state {
    struct arena arena;  // where it lives
    struct tree tree;
    struct rng rng;  // by the run's seed and the number of nodes
    struct tried tried;
    void *own;      // the policy's, in `arena`; NULL: it has none
    int n_decided;  // by this decision so far
    long n_steps;   // nodes that selections went through, for the benchmark
};

// Have the state say what the context's nodes say. decide() does so itself.
void state_follow(const struct search_context *c, struct search_state *s);
// To be called when nodes change in another way than by being judged for the first time, or the
// bound does; and at the end.
void state_reset(struct search_state *s);

// Up to `room` decisions. Repair a node of the last batch where the mind does that and it did not
// pass; else what the policy proposes. While the root is not judged yet, all are from there.
// Returns how many; 0: nothing is left.
int decide(const struct search_context *c, struct search_state *s, struct decision *out, int room);

// For policies. Have a node improved, with these priors, and lower the results: at most `room`
// decisions, all new. Returns how many. *n_asked is what the mind proposed; 0: nothing is left
// there.
int decide_from(const struct search_context *c, struct search_state *s, int parent,
                const struct priors *priors, struct decision *out, int room, int *n_asked);

// The same for a proposal that the policy made itself. False: it does not lower, or is not new.
bool decide_on(const struct search_context *c, struct search_state *s, int parent,
               const struct proposal *p, struct decision *out);

// A node's block, read back; NULL: it has none that can be read.
struct kernel *decide_kernel(struct arena *a, const struct search_context *c, int node);

// The class of what limits a node, where anybody wants to know: for what other runs learned.
const char *decide_bottleneck(const struct search_context *c, int node);

// What a mind is told of a node. False: the node's block cannot be read
// any more.
bool decide_brief(const struct search_context *c, const struct search_state *s, int node,
                  struct brief *out);
