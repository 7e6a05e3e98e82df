// Shared objects for the calls of a plan that CUTLASS's kernels compute: each is compiled from the
// text that its numbers make, and the step gets the object's path.
#pragma once

#include <stdbool.h>

struct arena;
struct compile_result;
struct error;
struct plan;

// `result` is of the first that does not compile, else how long all took. False when there is no
// verdict: CUTLASS or nvcc is absent (ERROR_UNSUPPORTED), a full disk, Ctrl-C.
bool cutlass_objects_build(struct arena *a, const char *cache, struct plan *p,
                           struct compile_result *result, struct error *err);
