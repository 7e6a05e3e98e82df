// Measure what a device can do at best, and keep it.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "model/target.h"

struct arena;
struct error;

struct calibration {
    const char *target;                      // NULL: the default
    void (*progress)(const char *, void *);  // may be NULL; hears a few words before each part
    void *ctx;
    // The result.
    struct target measured;
    const char *not_kept;  // why the cache could not take the ceilings; NULL: it did
};

bool op_calibrate(struct arena *a, struct calibration *c, struct error *err);
