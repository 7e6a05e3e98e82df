// The form of a region around one scattered sum, with values by element before it and after it: one
// whose indices are the same for all elements of a row (index_add), or one over posting lists
// (ragged_scatter).
#pragma once

#include "family/emitter.h"

struct scatter_form {
    const struct region *region;
    node_id anchor;
    bool is_lists;               // posting lists
    int axis;                    // along which is scattered
    int64_t n_rows;              // of the result along it
    int64_t n_sources;           // of what is scattered; lists: postings
    int64_t n_lists, n_entries;  // lists; that a query names
    int64_t n_results;           // elements
};

bool scatter_find(struct form *form, struct objection *why);

// Axes of the space are the result's and, as the last one, that of the sources. Returns its number.
int scatter_build_space(struct lowering *l, const struct scatter_form *f);

// What an argument of the sum is looked at with: 1 the indices and 2 the sources along the axis of
// the sources.
struct axis_map scatter_map(const struct region *r, const struct scatter_form *f, int arg);
