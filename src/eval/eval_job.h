// What the judge is asked and what it answers: jobs, races, results; and the processes that it is
// made of.
#pragma once

#include <stdbool.h>

#include "record/candidate.h"
#include "record/measurement.h"
#include "record/profile.h"
#include "record/screening.h"
#include "record/verdict.h"

enum eval_depth {
    EVAL_VERIFY,   // correct or not, no timing
    EVAL_SCREEN,   // and not clearly slower than the baseline: few pairs
    EVAL_RANK,     // pairs until the interval is narrow or the time is spent
    EVAL_ENERGY,   // as EVAL_RANK, then the energy of both in the same moments
    EVAL_CONFIRM,  // a new pool of inputs, new runners, then as EVAL_RANK
};

enum { EVAL_TRIALS_MAX = 4 };

struct eval_job {
    const struct candidate *candidate;
    const struct candidate *baseline;  // NULL: timed alone (against itself)
    enum eval_depth depth;
    double seconds;      // spent on timing at most; 0: the depth's default
    double resolution;   // 0.01: pairs until a difference by 1% can be resolved; 0: about 2%
    double least_s;      // but not before so many seconds
    bool uses_all_time;  // pairs for all these seconds, however narrow the interval is by then
    // Seconds, about, in which the energy of a call is measured once the verdict is ok; 0: it is
    // not.
    double energy_s;
    bool keeps_all;  // the measurement has the pairs that did not count too, and which those are
    // What comparisons of so many seconds would have said, had they been stretches of this one.
    double trials_s[EVAL_TRIALS_MAX];
    int n_trials;
};

// A race: candidates that our own families emitted, timed roughly and unverified against an
// incumbent, the slower half left out again and again. It decides who is worth a verdict and
// nothing more (record/screening.h).
struct race_job {
    const struct candidate *candidates;  // all of tier K
    int n_candidates;                    // at most RACE_MAX
    const struct candidate *incumbent;   // likewise
    int n_survivors;                     // at most
    double seconds;  // from the first compile on; then it ends with what is known
};

enum { RACE_MAX = 256 };

// Where the time of a verdict goes. None of it is in two of these.
enum eval_phase {
    PHASE_OPEN,     // the judge itself: its context, its own kernels; of the first job alone
    PHASE_INPUTS,   // drawing inputs
    PHASE_TRUTH,    // computing what is expected of them
    PHASE_COMPILE,  // waiting for the compiler, beyond what was done meanwhile
    PHASE_RUNNERS,  // waiting for runners and their memory
    PHASE_LOAD,     // loading candidates into them
    PHASE_VERIFY,   // calls and comparisons
    PHASE_TIME,     // timed calls
    PHASE_ENERGY,   // calls whose energy is measured
    PHASE_COUNT
};
extern const char *const eval_phase_names[PHASE_COUNT];

struct eval_result {
    struct verdict verdict;
    struct measurement measurement;
    struct profile profile;
    bool is_final;  // no deeper judgement of this candidate is to be had: said by a replay alone
    double compile_s, verify_s, timing_s;  // from beginning to end, the baseline's not counted
    double phase_s[PHASE_COUNT];           // of the judge, with the baseline's
};

// Bodies of the hidden commands `hone _worker`, `_runner` and `_gpu_runner`; descriptor 3 is the
// socket to the process that started us. They return the exit status.
int worker_main(void);
int runner_main(void);
int gpu_runner_main(void);
