// A mind: given a brief, proposes what to try next. The expert and the team of models stand
// behind the same two structs. A mind never sees the tree: the search hands it a window.
#pragma once

#include <stdbool.h>

#include "base/rng.h"
#include "family/moves.h"
#include "ir/problem.h"
#include "lang/kernel.h"
#include "model/bound.h"
#include "model/target.h"
#include "record/run.h"

struct arena;
struct error;
struct priors;

// Some nodes of the tree, in an order that their name says.
struct node_list {
    const struct search_node *const *nodes;
    int n;
};

struct brief {
    const struct problem *problem;
    const struct target *target;
    const struct bound *bound;
    const struct search_node *node;  // to improve on, or to repair
    const struct kernel *kernel;     // the node's block; NULL: somebody wrote its source
    const char *const *tried;        // canonical kernel blocks already in the tree
    int n_tried;
    const char *const *hashes;  // of every candidate in the tree
    int n_hashes;
    const struct search_node *root;
    struct node_list children;  // of the node: what was tried from here
    struct node_list siblings;  // other children of its parent
    struct node_list cousins;   // children of its parent's siblings
    struct node_list leaders;   // the fastest that work, the best first
    struct node_list all;       // every node, the oldest first: for what a mind looks up by name
    bool is_repair;             // the node did not pass: repair it, change as little as possible
    int number;                 // that the node will have which comes of this
    int n_expert;               // how many of the newest nodes the expert had to step in for
    int mind_since;             // what the mind could not do before this node does not count
    double seconds_left;        // of the run; INFINITY: no limit
    int batch;                  // so many proposals are judged together; 0 or 1: each alone
    int evals_left;             // of the run, that of this proposal included; 0: no limit known
    const char *feedback;       // what it may know of profiles: "findings" (NULL), "raw", "none"
    bool is_race;               // many are timed roughly at once: it may go far from the node
    struct rng *rng;

    const char *bottleneck;       // class of what limits the node; NULL: not known
    const struct priors *priors;  // what is expected of moves; NULL: nothing was learned
    void *mind;                   // the proposer's own state; NULL: it has none
};

// Either a kernel block, complete and legal, or source by a person or a model.
struct proposal {
    const struct kernel *kernel;
    const char *source;  // where `kernel` is NULL
    enum tier tier;      // of the source
    const char *move;
    const char *change;  // the move in full, where it was cut short; NULL: it was not
    const char *reason;
    const char *by;    // who: "expert", "team", "debug"
    const char *tool;  // whose finding is behind it; NULL: none
    double expected;   // speed-up over the node; 0 or NAN: not stated
};

struct proposer {
    const char *name;
    // Up to `room` proposals (at least 1), the best first: each different, none in `tried`. Returns
    // how many; fewer than there is room for may mean that it gives one at a time. 0: it has none
    // for this node, and the search marks the node as exhausted.
    int (*propose)(struct arena *a, const struct brief *brief, struct proposal *out, int room);
    // Does it repair nodes that did not pass? Then it is asked to, up to REPAIRS_MAX times in a
    // row, before the search goes on.
    bool can_repair;
    // Called when it has nothing more; why, as a run's stop reason. May be NULL: nothing is
    // left to try.
    const char *(*stopped)(void *mind);
};

enum { REPAIRS_MAX = 3 };

extern const struct proposer proposer_expert;
// Uniform over the untried moves: the control that the expert must beat.
extern const struct proposer proposer_blind;
// Models plan, write and repair (mind/team.h); the expert steps in where they fail.
extern const struct proposer proposer_team;
