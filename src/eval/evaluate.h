// Evaluation as its users see it: a worker process that judges candidates.
//
// The evaluator starts `hone _worker` (the judge), which draws secret inputs,
// keeps expected outputs, compiles, starts a `hone _runner` per candidate and
// answers with a verdict, a measurement and a profile. A worker that dies is
// replaced and the job tried again, up to three times; then the verdict is infra. So is a job
// whose device slowed itself down while it was timed.
// Or the jobs go elsewhere: where to is a place (place.h), which the caller hands in.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ir/problem.h"
#include "model/target.h"
#include "record/candidate.h"
#include "record/measurement.h"
#include "record/profile.h"
#include "record/screening.h"
#include "record/verdict.h"

struct arena;
struct error;
struct evaluator;

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

// Start a worker for one problem on one target. `seed` 0: from the operating system. A target with
// llc_bytes below 0 is timed warm: data stay in the caches from call to call.
bool evaluator_open(struct evaluator **out, const struct problem *p, const struct target *t,
                    uint64_t seed, struct error *err);

// The same on several devices of this machine that are alike, the run's own first: announced jobs
// and races are shared among them, all others go to the run's own. `targets` must outlive it.
bool evaluator_open_devices(struct evaluator **out, const struct problem *p,
                            const struct target *const *targets, int n_targets, struct error *err);
// How many jobs are judged at once there, as far as is known: 1, or devices that serve.
int evaluator_at_once(const struct evaluator *e);

// Where the last answer was measured: as opened, or as the worker behind the spool says.
const struct target *evaluator_target(const struct evaluator *e);

// What a kernel that computes nothing does to pass on every input set ("writing zeros"), or
// NULL. With such a problem no verdict means anything. Takes about as long as verifying. False:
// nobody found out, and NULL says nothing.
bool evaluator_null_kernel(struct evaluator *e, const char **what, struct error *err);
// The same, without asking anybody.
bool evaluator_knows_null(const struct evaluator *e);

// Judge one candidate. False only when nothing can be judged any more (no compiler,
// interrupted); everything about the candidate is in the result.
bool evaluator_judge(struct evaluator *e, struct arena *a, const struct eval_job *job,
                     struct eval_result *result, struct error *err);

// This job will be judged soon: workers of a spool, or one on another device, may begin with it.
// Elsewhere nothing happens.
bool evaluator_announce(struct evaluator *e, const struct eval_job *job, struct error *err);

// Can candidates be raced there? What is judged elsewhere is judged one by one.
bool evaluator_can_race(const struct evaluator *e);

// Race candidates; one screening for each. Where there are several devices each has a part of them
// and races it against the incumbent there; those that did best of all survive. False when nothing
// can be judged any more.
bool evaluator_race(struct evaluator *e, struct arena *a, const struct race_job *job,
                    struct screening *screenings, struct error *err);

void evaluator_close(struct evaluator *e);

// Bodies of the hidden commands `hone _worker`, `_runner` and `_gpu_runner`; descriptor 3 is the
// socket to whoever started us. They return the exit status.
int worker_main(void);
int runner_main(void);
int gpu_runner_main(void);
