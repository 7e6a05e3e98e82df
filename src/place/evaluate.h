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

#include "eval/eval_job.h"
#include "ir/problem.h"
#include "model/target.h"

struct arena;
struct error;
struct evaluator;

// Start a worker for one problem on one target. `seed` 0: from the operating system. A target with
// llc_bytes below 0 is timed warm: data stay in the caches from call to call.
bool evaluator_open(struct evaluator **out, const struct problem *p, const struct target *t,
                    uint64_t seed, struct error *err);

// The same on several devices of this machine that are alike, the run's own first: announced jobs
// and races are shared among them, all others go to the run's own. `targets` must outlive it.
bool evaluator_open_devices(struct evaluator **out, const struct problem *p,
                            const struct target *const *targets, int n_targets, struct error *err);
// How many jobs are judged at once there, as far as is known: 1, or devices that serve.
int evaluator_capacity(const struct evaluator *e);

// Where the last answer was measured: as opened, or as the worker behind the spool says.
const struct target *evaluator_target(const struct evaluator *e);

// What a kernel that computes nothing does to pass on every input set ("writing zeros"), or
// NULL. With such a problem no verdict means anything. Takes about as long as verifying. False:
// nobody found out, and NULL says nothing.
bool evaluator_null_kernel(struct evaluator *e, const char **what, struct error *err);
// The same, without asking anybody.
bool evaluator_null_is_known(const struct evaluator *e);

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
