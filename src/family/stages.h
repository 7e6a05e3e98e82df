// Edits of the list of stages: each gives a checked, complete block or none.
#pragma once

#include "family/lower.h"

// Compute stage `i` inside the stage after it: fused away, or beside it where it is an output.
bool stages_merge(struct arena *a, const struct problem *p, const struct target *t,
                  const struct kernel *k, int i, struct kernel *out);

// Materialise `node`, inside stage `i`, in a stage of its own before it.
bool stages_split(struct arena *a, const struct problem *p, const struct target *t,
                  const struct kernel *k, int i, node_id node, struct kernel *out);

// Give stage `i` to another family, with that family's default knobs.
bool stages_change_family(struct arena *a, const struct problem *p, const struct target *t,
                          const struct kernel *k, int i, const char *family, struct kernel *out);

// The region of stage `i`.
struct region *stages_region(struct arena *a, const struct problem *p, const struct kernel *k,
                             int i);
