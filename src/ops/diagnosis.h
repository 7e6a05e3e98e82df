// Kernels of other programs, explained from their metrics: what `hone diagnose` says of
// files and `hone profile` of a program. hone.diagnosis/1.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/target.h"
#include "profile/classify.h"
#include "record/finding.h"
#include "record/profile.h"
#include "record/run.h"

struct arena;
struct error;
struct str;

enum { DIAGNOSIS_ABSENT_MAX = 12 };

// An instruction at which many samples of the program counter lie.
struct diagnosed_spot {
    uint64_t pc;       // offset within the kernel
    const char *code;  // "LDG"; NULL: the machine code is not known
    const char *file;  // of the source; NULL: the code does not say
    int line;
    double share;        // of the samples that wait
    const char *reason;  // what most of them wait for
};

struct diagnosed_kernel {
    const char *name;
    const struct profile_launch *launch;
    double share;  // of the time; NAN: not timed
    struct class_of measured;
    struct finding findings[NODE_FINDINGS_MAX];
    int n_findings;
    const struct diagnosed_spot *spots;
    int n_spots;
};

// What to do first: of all findings the one that gains most of the whole.
struct diagnosis_first {
    const struct finding *finding;  // NULL: nothing was found
    const char *kernel;             // NULL: it is about the whole
    double gain;                    // of the time from the first kernel to the last
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
    struct diagnosis_first first;
    bool has_counters, has_code, has_times;
    const char *absent[DIAGNOSIS_ABSENT_MAX];  // what is not known, and what would tell
    int n_absent;
};

// The target of `d->device`, or of an architecture (90 for 9.0) with so many multiprocessors.
void diagnosis_find_target(struct diagnosis *d, int capability, int sms);

// Fill the kernels (those with most of the time first; `top` 0: all) and what is found in
// `profile` for `target`.
void diagnosis_examine(struct arena *a, int top, struct diagnosis *d);

// Choose `first` among all that was found, plug-ins' findings too. It points into `d`.
void diagnosis_rank(struct diagnosis *d);

void diagnosis_absent(struct diagnosis *d, const char *what);
void diagnosis_put(struct arena *a, struct str *s, const struct diagnosis *d);
json_t *diagnosis_to_json(const struct diagnosis *d);
json_t *diagnosis_first_to_json(const struct diagnosis *d);

// Is the kernel "void k<int>(float *)" the function `code`, plain or mangled?
bool diagnosis_is_code_of(struct arena *a, const char *kernel, const char *code);
