// The machine code of a cubin's kernels as a listing that says what matters: the hot loop, widths
// of accesses, and what each instruction waits for.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "profile/sass.h"

struct arena;
struct error;

struct sass_listing {
    struct sass sass;
    // By kernel and instruction: with operands where nvdisasm is there; NULL: it is not.
    const char ***texts;
};

// `kernel` NULL: all; else it must be there.
bool op_sass(struct arena *a, const char *file, const char *kernel, struct sass_listing *out,
             struct error *err);
const char *op_sass_text(struct arena *a, const struct sass_listing *l, const char *kernel);
json_t *op_sass_json(const struct sass_listing *l);  // hone.sass/1: the facts, not the listing
