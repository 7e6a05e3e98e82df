// A comparison in progress: what timing.c, which takes the pairs, and new_data.c, which asks for
// calls on data that nobody can have seen, have in common.
#pragma once

#include "eval/environment.h"
#include "eval/judge.h"
#include "eval/samples.h"

enum { BUSY_ROOM = 8000 };

// A few elements of the declared data changed, all of them a little, or everything drawn anew.
enum new_kind { NEW_PATCHED, NEW_NUDGED, NEW_DRAWN, NEW_KINDS };

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
    double novel_s[NEW_KINDS];  // the shortest call on new data among the timed ones; 0: none
    bool computes_next;         // what is expected of new data as a whole, of a large problem, too
    double busy[BUSY_ROOM];     // of the first calls
    int n_busy;
    struct verdict *v;
};

// What was the matter with the calls of a block.
struct trouble {
    bool is_disturbed;
    int64_t clocks;  // reasons of all calls
};

// A slot of those that have not been used for the longest time, a quarter of all: which comes next
// nobody can tell, to have its data at hand or its results ready. Load it with other data than it
// had, and poison it.
int timing_next_slot(struct judge *j);
void timing_prepare(struct timing *t, int slot);

// Did a thread have to wait for a processor?
bool timing_is_disturbed(const struct call_result *c);

// A call on the next slot, checked. False: the verdict says what is wrong.
bool timing_call(struct timing *t, struct subject *s, double *seconds, struct trouble *trouble);

// A call on new data among the timed ones, where nobody can know of it; then one of each, that do
// not count, so that chance again decides whose call came last.
bool new_data_between(struct timing *t);

// Is it slower on new data, or slower than it was while it was timed? False: it is.
bool new_data_check(struct timing *t);

// Time the subject against its baseline, every call checked. False: `v` says what is wrong.
bool time_beside(struct judge *j, struct arena *a, struct subject *s, struct subject *baseline,
                 const struct eval_job *job, struct eval_result *result);
