// The C or CUDA that a problem becomes: by a kernel block, by the default lowering, or plain.
#pragma once

#include <stdbool.h>

#include "record/candidate.h"

struct arena;
struct error;

struct emit_request {
    const char *file;  // holds the problem, perhaps kernel blocks
    const char
        *kernel_file;    // holds the kernel block; NULL: the first one in `file` for the target
    bool plain;          // the baseline instead of a kernel block
    const char *target;  // `cpu`, `cuda`, an architecture; NULL: the kernel block's, else cpu
    const char *dims;    // sizes from outside, "M=64,N=32"; NULL: the file's own
};

bool op_emit(struct arena *a, const struct emit_request *request, struct candidate *out,
             struct error *err);
