// Random problems over all operations and types of the language, as text.
#pragma once

#include "base/arena.h"
#include "base/rng.h"
#include "ir/graph.h"

const char *random_any(struct arena *a, struct rng *r);

// The functions that those lack, loops, infinities and NaN, and longer axes.
const char *random_wide(struct arena *a, struct rng *r);
