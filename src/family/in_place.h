// A region whose values are by element from one anchor on: each element of a value needs the
// anchor's at its own place and no other.
#pragma once

#include "family/emitter.h"

bool in_place_check(const struct region *r, node_id anchor, struct objection *why);
