// The bound of a problem on a target, and where its numbers come from.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "lang/kernel.h"
#include "model/bound.h"

struct arena;
struct error;

// The bound of one stage of a kernel block: its region as a problem of its own.
struct sol_stage {
    const char *values;  // "y.max, y.sum"
    const char *family;
    bool is_prepare;  // depends on params alone: run once, before timing
    bool present;     // false: the region reads more values than a problem has inputs
    struct bound bound;
};

struct sol {
    struct problem *problem;
    struct target target;
    struct bound bound;
    const char *words;  // the bound explained
    // The file's first kernel block for the target, stage by stage.
    const struct kernel *kernel;  // NULL: none
    struct sol_stage *stages;
    int n_stages;
};

// `target` and `dims` may be NULL: the default target, the file's own sizes. A target may also be
// a card that is not here (`h200`): then there is a limit and no reach.
bool op_sol(struct arena *a, const char *file, const char *target, const char *dims,
            struct sol *out, struct error *err);

// The roofline as text in so many columns; "" when there is nothing to draw.
const char *op_sol_roofline(struct arena *a, const struct sol *s, int columns);

// Stages as a table for a person; "" without a kernel block.
const char *op_sol_stages(struct arena *a, const struct sol *s);

// hone.sol/1
json_t *op_sol_json(const struct sol *s);
