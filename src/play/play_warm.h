// A process that stays for one problem and counts one candidate after the other: the context, the
// inputs and the profiler are there already, so that a launch of eleven passes takes about a tenth
// of a second. It holds nothing of the judge and is nobody's runner: what it counts was found
// correct before.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/process.h"
#include "gpu/cupti.h"
#include "profile/collect.h"
#include "profile/counters.h"

struct arena;
struct error;

struct warm {
    struct arena *arena;  // lives as long as this
    const char *self, *dir;
    const char *cupti_path;
    struct cupti cupti;
    struct process process;
    bool is_open;
    struct counter_plan plan;
};

// `dir` is that of play.h, with play.json; both live as long as `w`.
void warm_init(struct warm *w, struct arena *a, const char *self, const char *dir);
void warm_close(struct warm *w);

// Count the launches that are named, of the plan and the cubin in the directory, once each. What
// the driver told of the plan's launches goes to `facts`, which the caller owns. False: the process
// could not be had or has died; counters that did not come are faults in `out`.
bool warm_count(struct warm *w, struct arena *a, const struct program_kernel *kernels, int n,
                int64_t memory_bytes, struct program_data *out, json_t **facts, struct error *err);
