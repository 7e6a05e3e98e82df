// The form of an elementwise region: any number of values of one shape.
#pragma once

#include "family/emitter.h"

bool map_accepts(const struct region *r, struct objection *why);

// Lanes along the innermost group, as space_lanes() says.
int64_t map_lanes(const struct region *r);

// The space: the values' own axes, grouped where no access tells them apart.
void map_build_space(struct lowering *l);
