// A mind: given a brief, proposes what to try next. The expert and, later, a team of
// models stand behind the same two structs. A mind never sees the tree: the search
// hands it a window.
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

struct brief {
    const struct problem *problem;
    const struct target *target;
    const struct bound *bound;
    const struct search_node *node;  // to improve on
    const struct kernel *kernel;     // the node's block
    const char *const *tried;        // canonical kernel blocks already in the tree
    int n_tried;
    const struct search_node *const *children;  // of the node: what was tried from here
    int n_children;
    struct rng *rng;
};

struct proposal {
    const struct kernel *kernel;  // complete and legal
    const char *move;
    const char *reason;
};

struct proposer {
    const char *name;
    // One proposal that is not in `tried`. False when it has none for this node
    // (`err` untouched): the search marks the node as exhausted.
    bool (*propose)(struct arena *a, const struct brief *brief, struct proposal *out);
};

extern const struct proposer proposer_expert;
// Uniform over the untried moves: the control that the expert must beat.
extern const struct proposer proposer_blind;
