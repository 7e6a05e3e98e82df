// The form of a region around one scan: values by element before it and after it.
#pragma once

#include "family/emitter.h"

struct scan_form {
    const struct region *region;
    node_id anchor;
    int axis;          // that is walked
    bool is_along;     // its elements are neighbours in memory; else those of lines are
    int64_t n_lines;   // that are walked from end to end
    int64_t n_inner;   // of them side by side in memory
    int64_t n_joined;  // of these, in one group of the space: vectors begin anew with the next
    int64_t length;    // of each
};

bool scan_find(struct form *form, struct objection *why);

// Axes of the space are the scan's own; the one that is walked is a group by itself. Returns its
// number: groups before it and behind it are those of lines.
int scan_build_space(struct lowering *l, const struct scan_form *f);
