// The form of a region around one reduction over any axes.
#pragma once

#include "family/emitter.h"

struct reduce_form {
    const struct region *region;
    node_id anchor;
    bool found, mistaken;
    struct axis_map at;   // the reduction's axes in those of the stage's value
    struct axis_map arg;  // and its argument's in those of the space
    bool across;          // the last axis is kept: vectors lie across results
    int n_kept;           // groups of the space
    int64_t n_results;    // elements of a value
    int64_t n_terms;      // per result
    int64_t n_columns;    // across: results that are neighbours in memory; else 1
};

bool reduce_find(struct form *form, struct objection *why);

// Axes of the space: the value's, then those reduced. Returns the map of the reduction's
// argument.
struct axis_map reduce_build_space(struct lowering *l, const struct reduce_form *f);

// Group the kept axes and the reduced ones, never one with the other. Returns how many
// groups are kept.
int reduce_group_space(struct lowering *l, const struct reduce_form *f);
