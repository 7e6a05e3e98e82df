// What difference between two kernels a machine can resolve in a given time, measured with a kernel
// against itself: the slow-down that 95% of comparisons would have detected, by which the interval
// must be moved until it excludes 1 by the margin that equal kernels are granted.
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

// What comparisons of a length say, each a number; those of a longer one have stretches of shorter
// lengths in them. `last` is the length of the whole.
enum { RESOLUTION_TOLD_MAX = 64 };
struct resolution_trials {
    double needed[RESOLUTION_TOLD_MAX];
    int n;
};
struct measurement;
void op_resolution_note(struct resolution_trials trials[RESOLUTIONS], const struct measurement *m,
                        int last);
void op_resolution_conclude(const struct resolution_trials trials[RESOLUTIONS],
                            struct resolution *r);

// Measure what fits into durations up to `most_s`, and keep it next to the ceilings.
bool op_resolution_measure(struct arena *a, const struct target *t, double most_s,
                           struct resolution *r, struct error *err);

// What was kept; not present where nothing was.
void op_resolution_load(struct arena *a, const struct target *t, struct resolution *r);

// "1.2% in 1 s, 0.8% in 5 s"
const char *op_resolution_text(struct arena *a, const struct resolution *r);
