// The form of an elementwise region: any number of values of one shape.
#pragma once

#include "family/emitter.h"

bool map_find(struct form *f, struct objection *why);

// The space: the values' own axes, grouped where no access tells them apart.
void map_build_space(struct lowering *l);
