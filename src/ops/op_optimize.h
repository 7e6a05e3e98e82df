// The operation behind `hone optimize`: from a problem file, or a run to go on with, to a
// run in the store.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ops/team_request.h"
#include "record/event.h"
#include "report/report.h"

struct arena;
struct error;

struct optimize_request {
    const char *file;      // the problem; NULL with `resume`
    const char *baseline;  // a candidate as hone eval names it; NULL: plain
    const char *start;     // source that the search begins with; NULL: the default kernel
    bool resume;
    const char *run;                         // with `resume`: which; NULL: the newest unfinished
    const char *target, *policy, *proposer;  // NULL: the default
    const char *store;                       // NULL: settings, then upward
    const char *spool;                       // judged by workers of this spool; NULL: here
    double wait_s;                           // for a worker of the spool; 0: the default
    const char *dims;                        // "M=64,N=32" in place of the file's; NULL: none
    int64_t jobs;                            // candidates judged at once; 0: one
    int64_t race;                            // blocks that are raced at once; 0: as many as suit
    int64_t batch;                           // proposed before they are judged; 0: one
    int64_t evals;                           // 0: no limit, or the resumed run's
    double seconds, until;                   // 0: default, or the resumed run's
    int64_t seed;
    const char *memory;        // "off" or a file; NULL: the settings', or the user's
    struct team_request team;  // the model; none: the settings', or no model at all
    const char *tool;          // one of the user's, besides those in his directory; NULL: none
    bool no_counters;          // on a GPU: tools do without hardware counters
    const char *objective;     // time, energy or edp; NULL: time
    bool no_energy;            // on a GPU: the champion's energy is not measured
    bool no_calibrate;         // go on without reach where the ceilings are not measured
    event_fn on_event;         // may be NULL
    void *event_ctx;
};

struct optimize_outcome {
    bool has_run;  // the run below is in the store, whatever happened
    struct run_view view;
};

// True when the run came to its end. On ERROR_INTERRUPTED and other failures after the run
// began, `has_run` is set and the run can be resumed.
bool op_optimize(struct arena *a, const struct optimize_request *q, struct optimize_outcome *out,
                 struct error *err);
