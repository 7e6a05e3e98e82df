// C or CUDA to start from, which is correct; what `hone scaffold` writes.
#pragma once

#include <stdbool.h>

struct arena;
struct error;

struct scaffold_request {
    const char *problem, *dims;
    const char *target;  // NULL: by the tier
    const char *tier;    // "C", "D"; NULL: by the target
    const char *output;  // where it goes, whose name decides where nothing else does; or NULL
};
bool op_scaffold(struct arena *a, const struct scaffold_request *request, const char **source,
                 struct error *err);
