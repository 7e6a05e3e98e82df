// Asking for what a stream reads some turns later: where functions are computed between loads, too
// few loads are under way by themselves.
#pragma once

#include "family/point.h"

// Is much read from memory, and slow functions computed of it?
bool prefetch_is_worth(const struct region *r);

// Is so much read that it comes from memory, whatever is computed of it?
bool prefetch_is_long(const struct region *r);

// Prefetch what the node's value will read further along the scope's lanes.
void prefetch_value(struct scope *s, node_id n, const struct axis_map *map);

// The same so many places further in a group of the space, the lanes' or another.
void prefetch_value_by(struct scope *s, int group, int64_t distance, node_id n,
                       const struct axis_map *map);
