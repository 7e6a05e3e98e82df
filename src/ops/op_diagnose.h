// Files that other programs left, explained: counters (ncu's CSV, .ncu-rep through ncu), a timeline
// (nsys' SQLite export), machine code (cubins). No GPU is needed.
#pragma once

#include "ops/diagnosis.h"

struct diagnose_request {
    const char *const *files;
    int n_files;
    const char *target;  // a card or an architecture; NULL: what the files say
    const char *tool;    // as in struct profile_request
    int top;             // so many kernels, those with most of the time first; 0: all
};

bool op_diagnose(struct arena *a, const struct diagnose_request *q, struct diagnosis *out,
                 struct error *err);
const char *op_diagnose_text(struct arena *a, const struct diagnosis *d);
