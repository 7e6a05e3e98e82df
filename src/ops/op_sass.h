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
    int **lines;         // likewise: of the source; 0: the code does not say
    const char *source;  // of a node, or of a file next to the cubin; NULL: not known
    // Likewise: of a kernel's samples that wait, those at an instruction; NULL: not sampled.
    struct sass_stall {
        double share;  // 0: none
        const char *reason;
    } * *stalls;
};

// `file` is a cubin, or the name of a node of a stored run on a GPU ("3.7"), which is compiled
// again. `kernel` NULL: all; else it must be there.
struct sass_request {
    const char *file, *kernel, *store;
    bool stalls;  // of a node: run it on the card of this machine and sample it
};
bool op_sass(struct arena *a, const struct sass_request *q, struct sass_listing *out,
             struct error *err);
const char *op_sass_text(struct arena *a, const struct sass_listing *l, const char *kernel);
json_t *op_sass_json(const struct sass_listing *l);  // hone.sass/1: the facts, not the listing
