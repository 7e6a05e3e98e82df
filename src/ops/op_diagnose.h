// Files that other programs left, explained: counters (ncu's CSV, .ncu-rep through ncu), a timeline
// (nsys' SQLite export), machine code (cubins). No GPU is needed.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "model/target.h"
#include "profile/classify.h"
#include "profile/import.h"
#include "record/finding.h"
#include "record/run.h"

struct arena;
struct error;

struct diagnose_request {
    const char *const *files;
    int n_files;
    const char *target;  // a card or an architecture; NULL: what the files say
    int top;             // so many kernels, those with most of the time first; 0: all
};

struct diagnosed_kernel {
    const char *name;
    const struct profile_launch *launch;
    double share;  // of the time; NAN: not timed
    struct class_of measured;
    struct finding findings[NODE_FINDINGS_MAX];
    int n_findings;
};

struct diagnosis {
    const char *what;  // "ncu, raw page"
    const char *device;
    struct target target;
    int n_launches;  // of all kernels
    struct profile profile;
    struct diagnosed_kernel *kernels;
    int n_kernels, n_left_out;
    struct finding findings[NODE_FINDINGS_MAX];  // about the whole, not a kernel
    int n_findings;
    bool has_counters, has_code, has_times;
};

bool op_diagnose(struct arena *a, const struct diagnose_request *q, struct diagnosis *out,
                 struct error *err);
const char *op_diagnose_text(struct arena *a, const struct diagnosis *d);
json_t *op_diagnose_json(const struct diagnosis *d);  // hone.diagnosis/1
