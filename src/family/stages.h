// Edits of the list of stages: each gives a checked, complete block or none.
#pragma once

#include "family/lower.h"

// A block and one of its stages.
struct stages_edit {
    struct arena *arena;
    const struct problem *problem;
    const struct target *target;
    const struct kernel *kernel;  // complete and legal
    int stage;
    const struct block *base;  // of `kernel`, without mistakes; NULL: not known
};

// Compute the stage inside the one after it: fused away, or stored by it where it is an output.
bool stages_merge(const struct stages_edit *e, struct kernel *out);

// Materialise `node`, inside the stage, in a stage of its own before it.
bool stages_split(const struct stages_edit *e, node_id node, struct kernel *out);

// Give the stage to another emitter, of its family or of another one, with default knobs.
bool stages_change_emitter(const struct stages_edit *e, const char *family, const char *emitter,
                           struct kernel *out);

// The region of stage `i`.
struct region *stages_region(struct arena *a, const struct problem *p, const struct kernel *k,
                             int i);
