// From a run that came to its end to its lesson: a function of the stored nodes, so that a run
// which was resumed teaches what one would that never stopped.
#pragma once

#include "record/lesson.h"
#include "record/run.h"

struct arena;
struct bound;
struct problem;
struct target;

struct learn_from {
    const struct problem *problem;
    const struct target *target;
    const struct bound *bound;
    const struct run *run;
    const struct search_node *nodes;
    int n_nodes;
    const char *identity;  // of the run (advice.run)
};

void learn(struct arena *a, const struct learn_from *from, struct lesson *out);
