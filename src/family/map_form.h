// The form of an elementwise region: any number of values of one shape.
#pragma once

#include "family/emitter.h"

bool map_find(struct form *f, struct objection *why);

// The space: the values' own axes, grouped where no access tells them apart.
void map_build_space(struct lowering *l);

// What is read across: its last axis is another one than the values'. Those of one region that lie
// along the same axis can share tiles.
enum { MAP_CROSSED_MAX = 4 };
struct map_crossing {
    int axis, last_axis;                // of the values: neighbours there, and in the results
    int64_t n_across, n_last, n_outer;  // elements of the groups that they are in, and of all else
    int64_t lanes;                      // that every access allows along both, as space_lanes()
    bool has_lanes;                     // some along each, beginning anywhere
    int n_reads;
    struct {
        node_id node;
        struct axis_map map;
    } read[MAP_CROSSED_MAX];
    bool is_mixed;  // found while looking: too many, or along several axes
};
// False: there is none.
bool map_find_crossing(const struct region *r, struct map_crossing *c);
