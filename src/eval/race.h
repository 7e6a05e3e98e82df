// A race as the judge runs it (race.c), and what that needs of the judge.
#pragma once

#include "eval/judge.h"

// One screening for each candidate of the job. False: nothing can be judged.
bool judge_race(struct judge *j, struct arena *a, const struct race_job *job,
                struct screening *screenings, struct error *err);

// Compilers and what was seen, kept from race to race.
void judge_close_races(struct judge *j);

// judge.c: have a candidate ready as j->baseline, unverified. What is wrong is in `v`.
bool judge_open_incumbent(struct judge *j, struct arena *a, const struct candidate *c,
                          struct verdict *v, struct error *err);

// A process that holds the lease longer than this is stuck.
extern const double judge_lease_wait_s;
