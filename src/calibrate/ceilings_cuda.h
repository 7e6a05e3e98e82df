// A GPU as a target: its facts, and its ceilings by our own micro-kernels.
//
// Runs in the calling process with a context of its own: no candidate's code is involved.
// Clocks, power and modes are never changed; the card is measured as it is found.
#pragma once

#include <stdbool.h>

#include "model/target.h"

struct arena;
struct error;

// How many GPUs the driver sees; 0 with the reason in `why` where there is none.
int cuda_target_count(struct error *why);

// Facts of GPU number `ordinal` as a target called "cuda:N". No driver, no GPU, or no such
// number is ERROR_UNSUPPORTED.
bool cuda_target_read(struct arena *a, int ordinal, struct target *t, struct error *err);

// Measure the ceilings of such a target. `progress` (may be NULL) hears of each part.
bool cuda_calibrate(struct arena *a, struct target *t,
                    void (*progress)(const char *what, void *ctx), void *ctx, struct error *err);
