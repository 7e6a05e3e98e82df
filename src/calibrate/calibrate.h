// The ceilings of a target, measured: the rates that `reach` is computed from.
#pragma once

#include <stdbool.h>

#include "model/target.h"

struct arena;
struct error;

// Measure the ceilings of a target: of a CPU through the same runner, pool and clock as candidates,
// of a GPU by events in this process.
// `progress` (may be NULL) is called with a few words before each part.
// A CPU takes about 5 s and CALIBRATION_MOST_S at most, or `most_s` where that is less; what is
// left of it then is measured with a few calls only, and calibration_is_cut says so. A GPU takes 2
// s.
enum { CALIBRATION_MOST_S = 30 };
bool calibrate(struct arena *a, struct target *t, double most_s,
               void (*progress)(const char *what, void *ctx), void *ctx, struct error *err);
bool calibration_is_cut(const struct target *t, double most_s);
