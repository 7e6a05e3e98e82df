// What difference between two kernels a machine can tell in a given time, measured with a kernel
// beside itself: the half width of the interval, and the margin that equal kernels are granted.
#pragma once

#include <stdbool.h>

#include "model/target.h"

struct arena;
struct error;

enum { RESOLUTIONS = 3 };
extern const double resolution_seconds[RESOLUTIONS];  // 1, 5, 20

struct resolution {
    bool present;
    double smallest[RESOLUTIONS];  // relative: 0.012 is 1.2%; NAN: not measured
    double call_s;                 // of the kernel that was timed
    const char *measured_at;
};

// Measure what fits into durations up to `most_s`, and keep it beside the ceilings.
bool op_resolution_measure(struct arena *a, const struct target *t, double most_s,
                           struct resolution *r, struct error *err);

// What was kept; not present where nothing was.
void op_resolution_load(struct arena *a, const struct target *t, struct resolution *r);

// "1.2% in 1 s, 0.8% in 5 s"
const char *op_resolution_words(struct arena *a, const struct resolution *r);
