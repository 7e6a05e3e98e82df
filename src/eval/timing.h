// A comparison in progress.
#pragma once

#include "eval/environment.h"
#include "eval/judge.h"
#include "eval/samples.h"

enum { BUSY_ROOM = 8000 };

struct timing {
    struct judge *j;
    struct arena *a;
    struct subject *subject, *baseline;
    enum eval_depth depth;
    double seconds, least_s;  // how long at most, and at least however narrow the interval is
    double narrow;            // half width of an interval that is enough
    bool uses_all_time, is_asked, keeps_all;
    int64_t start_ns;
    struct samples samples;
    struct trials trials;
    int next_width;  // not before so many pairs is the width of the interval looked at again
    struct environment environment;
    int n_stolen, n_hot;  // pairs during which a hypervisor took time, or a processor was too hot
    double busy[BUSY_ROOM];  // of the first calls
    int n_busy;
    bool baseline_failed;  // `v` is about the baseline
    struct verdict *v;
};

// A slot of those that have not been used for the longest time, a quarter of all: which comes next
// nobody can tell.
int timing_next_slot(struct judge *j);

// Time the subject against its baseline, every call checked. False: `v` says what is wrong.
bool time_against(struct judge *j, struct arena *a, struct subject *s, struct subject *baseline,
                  const struct eval_job *job, struct eval_result *result);
