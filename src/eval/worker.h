// Messages between the evaluator and its worker, JSON over descriptor 3 of the worker:
//
//   -> hone.open/1   {"problem": text, "dims": {"M": 64}, "threads", "cc", "machine", "cache",
//                     "lease", "llc_bytes", "limit_s", "reach_s", "seed", "skip_scans", "gpu",
//                     "ordinal"}
//   -> hone.job/1    {"candidate": hone.candidate/1, "baseline": the same or null,
//                     "depth": "screen", "seconds": 0, "uses_all_time": false,
//                     and where it is asked for "resolution": 0.01, "least_s": 5, "energy_s": 2,
//                     "trials_s": [1, 5], "keeps_all": true; "reach_s" where it is known}
//   <- hone.judged/1 {"verdict", "measurement", "profile", "compile_s", "verify_s", "timing_s",
//                  "phases": {"open": 0.4, ...}}
//   -> hone.race/1   {"candidates": [hone.candidate/1, ...], "baseline", "survivors": 2, "seconds":
//   5}
//   <- hone.raced/1  {"screenings": [hone.screening/1, ...]}, as many
//   -> hone.null/1   {}
//   <- hone.nulled/1 {"null_kernel": null or what a kernel that computes nothing does to pass}
//   <- hone.error/1  {"kind", "text", "again"}: instead; nothing can be judged, or (again) not by
//                     this worker
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "eval/eval_job.h"

struct judge_settings;

// The problem of an hone.open/1 or hone.spool-job/1: its text with the sizes of "dims".
const struct problem *worker_read_problem(struct arena *a, const json_t *message,
                                          struct error *err);

json_t *worker_open_message(const struct problem *p, const struct judge_settings *s);
json_t *worker_job_message(const struct eval_job *job);
bool worker_read_result(struct arena *a, const json_t *message, struct eval_result *result,
                        struct error *err);
json_t *worker_result_message(const struct eval_result *r);
bool worker_read_job(struct arena *a, const json_t *message, struct eval_job *job,
                     struct error *err);
// worker_race.c
json_t *worker_race_message(const struct race_job *job);
bool worker_read_race(struct arena *a, const json_t *message, struct race_job *job,
                      struct error *err);
json_t *worker_raced_message(const struct screening *screenings, int n);
bool worker_read_raced(struct arena *a, const json_t *message, struct screening *screenings, int n,
                       struct error *err);

json_t *worker_null_message(void);
json_t *worker_nulled_message(const char *null_kernel);
json_t *worker_error_message(const struct error *err, bool again);
// 0: it is no hone.error/1; 1: nothing can be judged; -1: not by this worker. `err` is set.
int worker_read_error(const json_t *message, struct error *err);
