// What a loop asks of its arguments, and the work of all its steps.
#pragma once

#include "ir/recurrence.h"
#include "model/demand.h"

// Of each of the body's outputs: how much of its result is asked for (from 0 to 1), and whether
// that result is an output of the problem as it is.
struct steps_wanted {
    double share[OUTPUTS_MAX];
    bool is_output[OUTPUTS_MAX];
};

struct steps_demand {
    double need[ARGS_MAX];   // elements, per argument
    double flops, textbook;  // of all steps
    struct demand body;      // its flops are those of all steps too
};

// `is_prepared` says of the arguments whether they depend on params alone. False when nothing is
// asked for.
bool demand_steps(struct arena *a, const struct recurrence *r, enum demand_mode mode,
                  const struct steps_wanted *wanted, const bool *is_prepared,
                  struct steps_demand *out);
