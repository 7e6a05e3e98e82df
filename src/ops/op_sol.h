// The bound of a problem on a target, and where its numbers come from.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "model/bound.h"

struct arena;
struct error;

struct sol {
    struct problem *problem;
    struct target target;
    struct bound bound;
    const char *words;  // the bound explained
};

// `target` and `dims` may be NULL: the default target, the file's own sizes.
bool op_sol(struct arena *a, const char *file, const char *target, const char *dims,
            struct sol *out, struct error *err);

// hone.sol/1
json_t *op_sol_json(const struct sol *s);
