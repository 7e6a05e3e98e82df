// Which hardware counters to read for which question, on a chip, in as few passes as possible: a
// pass costs about 10 ms whatever the kernel. Choosing them needs no card; inject/ranges.c reads
// them.
#pragma once

#include <stdbool.h>

#include "record/metrics.h"

struct arena;
struct cupti;
struct error;

enum { SET_METRICS_MAX = 80 };

struct counter_set {
    const char *name;     // "basic"
    const char *answers;  // the question, in words
    enum metric_id metrics[SET_METRICS_MAX];
    int n;
    bool patches_code;  // counters that change the kernel's code are admitted
};

extern const struct counter_set counter_sets[];
extern const int n_counter_sets;
const struct counter_set *counter_set_find(const char *name);  // NULL: unknown

// What a chip has of it.
struct counter_plan {
    const char *counters[SET_METRICS_MAX];  // by the vendor's name
    enum metric_id metrics[SET_METRICS_MAX];
    int n;
    int n_absent;  // metrics of the set that the chip has no counter for
    int passes;
};

// Of several counters for a metric, the one that takes fewest passes.
bool counter_plan(struct arena *a, const struct cupti *c, const char *chip,
                  const struct counter_set *set, struct counter_plan *out, struct error *err);
