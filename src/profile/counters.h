// Which hardware counters to read for which question, on a chip, in as few passes as possible: a
// pass costs about 10 ms whatever the kernel. Reading them on a card is not done yet; choosing them
// needs none.
#pragma once

#include <stdbool.h>

#include "record/metrics.h"

struct arena;
struct cupti;
struct error;

enum { SET_METRICS_MAX = 32 };

struct counter_set {
    const char *name;     // "basic"
    const char *answers;  // the question, in words
    enum metric_id metrics[SET_METRICS_MAX];
    int n;
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
