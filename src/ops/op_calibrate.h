// Measure what a device can do at best, and keep it.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "model/target.h"

struct arena;
struct error;

// Measure the ceilings of a target (NULL: the default) and save them. `progress` (may be
// NULL) is called with a few words before each part.
bool op_calibrate(struct arena *a, const char *target, void (*progress)(const char *, void *),
                  void *ctx, struct target *t, struct error *err);
