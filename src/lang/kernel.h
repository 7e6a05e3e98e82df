// A kernel block as written: stages with knobs, names not yet resolved.
//
//     kernel for softmax on cpu
//     stage y : rowwise  vec 16  rows 4  store stream
//
// What the words mean is decided in family/, which resolves values against the
// problem, finds each stage's region and checks the knobs.
#pragma once

#include <stddef.h>

#include "ir/graph.h"

struct arena;

enum { STAGES_MAX = 32, KNOBS_MAX = 12, STAGE_VALUES_MAX = 4 };

// `tile 128x256x64` has three parts, `vec 16` one, `store stream` a word.
struct kernel_knob {
    const char *name;
    const char *word;  // NULL when the value is numbers
    int n_parts;
    int part[3];
    struct place at;
};

struct kernel_stage {
    const char *values[STAGE_VALUES_MAX];
    int n_values;
    const char *family;
    struct kernel_knob knobs[KNOBS_MAX];
    int n_knobs;
    struct place at, family_at;
};

struct kernel {
    const char *problem;
    const char *target;
    struct kernel_stage stages[STAGES_MAX];
    int n_stages;
    const char *file;  // for messages; may be NULL
    const char *text;  // of that file, which the places are in; NULL: made by us
    size_t text_len;
};

// Canonical text: the same kernel always prints the same, so that text can be compared.
const char *kernel_print(struct arena *a, const struct kernel *k);

struct kernel_knob *kernel_find_knob(struct kernel_stage *s, const char *name);  // NULL: not given
