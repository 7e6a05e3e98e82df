// Run a program of somebody else's under the library of inject/ and bring together what it says:
// first a timeline, which shows the kernels that matter; then, in runs of their own, hardware
// counters and samples of those. CUPTI does one of these at a time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/foreground.h"
#include "profile/injected.h"
#include "record/profile.h"

struct arena;
struct error;

enum { COLLECT_NOTES_MAX = 12, COLLECT_SPOTS_MAX = 256 };

struct collect_request {
    const char *const *argv;  // NULL-terminated
    const char *kernel;       // extended regular expression on names; NULL: all
    int top;                  // counters for so many kernels, those with most of the time
    double timeout_s;         // of the first run; 0: none
    bool is_out_error;        // the program's standard output goes to standard error
    bool is_silent;           // it gets /dev/null
    bool only_timeline;
    bool is_ours;  // it ends by exit(): the library need not be loaded before it for _exit()
    int64_t memory_bytes;  // what the program has on the card; 0: not known
    const char *source;    // samples are wanted by lines of this file, too; NULL: they are not
};

// Where samples of a kernel lie.
struct collected_spot {
    uint64_t pc;
    const char *code, *file;  // NULL: not known
    int line;
    double share;  // of the samples that wait
    const char *reason;
};

struct collected_kernel {
    const struct program_kernel *kernel;
    struct collected_spot *spots;  // those with most of the waiting first
    int n_spots;
};

struct collected {
    struct program_data timeline;
    struct foreground_result end;  // of the first run
    double run_s[3];  // how long the runs took: timeline, counters, samples; 0: not done
    // Of kernels that match, by their time; metrics of the timeline in `call`, samples by lines of
    // the source that was asked for in `lines`.
    struct profile profile;
    struct collected_kernel *kernels;  // parallel to its launches
    double all_s;                      // of all kernels, those that do not match too
    int passes;
    const char *notes[COLLECT_NOTES_MAX];  // what could not be had, and why
    int n_notes;
};

// For a process that stays and is asked about one candidate after the other (play/play_warm.h): the
// library as a file, what to write into its `ask`, and why counters did not come.
bool collect_place_library(struct arena *a, const char **path, struct error *err);
struct counter_plan;
struct str;
void collect_ask_counters(struct str *ask, const char *cupti_path, int64_t memory_bytes,
                          const struct counter_plan *plan);
const char *collect_fault_text(struct arena *a, const struct program_fault *f);

// False: CUPTI is absent, or the program could not be started. One that fails, or launches
// nothing, is data.
bool collect(struct arena *a, const struct collect_request *q, struct collected *out,
             struct error *err);
