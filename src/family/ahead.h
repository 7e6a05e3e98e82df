// Asking for what a stream reads some turns later: where functions are computed between loads, too
// few loads are under way by themselves.
#pragma once

#include "family/point.h"

// Is much read from memory, and slow functions computed of it?
bool ahead_is_worth(const struct region *r);

// Prefetch what the node's value will read further along the scope's lanes.
void ahead_ask(struct scope *s, node_id n, const struct axis_map *map);
