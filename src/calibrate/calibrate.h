// The ceilings of a target, measured: the rates that `reach` is computed from.
#pragma once

#include <stdbool.h>

#include "model/target.h"

struct arena;
struct error;

// Measure the ceilings of a target: of a CPU through the same runner, pool and clock as candidates,
// of a GPU by events in this process.
// `progress` (may be NULL) is called with a few words before each part.
bool calibrate(struct arena *a, struct target *t, void (*progress)(const char *what, void *ctx),
               void *ctx, struct error *err);
