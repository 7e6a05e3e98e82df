// The form of a region around one reduction over any axes.
#pragma once

#include "family/emitter.h"

struct reduce_form {
    const struct region *region;
    node_id anchor;
    bool found, mistaken;
    struct axis_map at;  // the reduction's axes in those of the stage's value
};

bool reduce_find_form(const struct region *r, struct reduce_form *f, struct objection *why);
bool reduce_accepts(const struct region *r, struct objection *why);

// Axes of the space: the value's, then those reduced. Returns the map of the reduction's
// argument.
struct axis_map reduce_build_space(struct lowering *l, const struct reduce_form *f);

// Group the kept axes and the reduced ones, never one with the other. Returns how many
// groups are kept.
int reduce_group_space(struct lowering *l, const struct reduce_form *f, const struct axis_map *arg);
