// Judge one candidate: what `hone eval` does.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/bound.h"
#include "place/evaluate.h"
#include "record/run.h"

struct arena;
struct error;

struct eval_request {
    const char *problem;    // path of a file with one problem
    const char *candidate;  // path of C with a plan, or of a file with one kernel block
    const char *baseline;   // the same, or "plain", "default"; NULL: plain
    const char *target;     // NULL: what the candidate is for, else the default
    const char *dims;       // "M=64,...", NULL: the file's own
    enum eval_depth depth;
    double seconds;     // of timing; 0: the depth's default
    double energy_s;    // on a GPU: about so many seconds for the energy of a call; 0: not measured
    double resolution;  // the difference that is to be resolved; 0: about 2%
    uint64_t seed;      // 0: from the operating system
    const char *spool;  // judged by a worker of this spool; NULL: here
    double wait_s;      // for such a worker; 0: the default
    bool is_warm;       // leave data in the caches from call to call; here alone
};

struct eval_report {
    struct problem *problem;
    struct target target;
    struct bound bound;
    struct candidate candidate, baseline;
    const char *refusal;           // the candidate's file cannot be judged (candidate_file.h): why
    enum verdict_kind refused_as;  // its verdict then
    enum eval_depth depth;
    double resolution;        // as asked
    bool is_null_known;       // were kernels that compute nothing tried?
    const char *null_kernel;  // the problem is degenerate: what such a kernel does to pass
    struct eval_result result;
    struct finding findings[NODE_FINDINGS_MAX];  // what limits it, of one that was timed
    int n_findings;
    uint64_t seed;   // of its inputs; 0: not known, a worker elsewhere drew it
    double seconds;  // in all
    // Of these: reading files and the target, asking for null kernels, ending processes. The rest
    // is the judge's (result.phase_s) and starting it.
    double prepare_s, null_s, close_s;
};

// False when nothing could be judged; a verdict that is not ok is in the report.
bool op_eval(struct arena *a, const struct eval_request *request, struct eval_report *report,
             struct error *err);

// Why there is no candidate `library` of this problem where the request's candidate would run;
// *why is NULL where there is one.
bool op_eval_library_absent(struct arena *a, const struct eval_request *request, const char **why,
                            struct error *err);

// The same for one candidate after the other, by one judge that stays warm. False when nothing
// could be judged any more.
struct eval_list {
    const char *const *candidates;
    int n_candidates;
    // Called before any is judged, for each whose plan breaks a rule; may be NULL.
    void (*on_illegal)(const char *candidate, const char *why, void *ctx);
    void (*on_start)(const char *candidate, void *ctx);         // called before each; may be NULL
    void (*on_report)(const struct eval_report *r, void *ctx);  // called with each verdict
    void *ctx;
};
bool op_eval_each(struct arena *a, const struct eval_request *request, const struct eval_list *list,
                  struct error *err);

// Two candidates against each other: the second is verified, then the first is timed against it, so
// that reports[0] holds the comparison. Where either is not correct neither is timed. Of the list
// its two candidates count, and on_illegal.
bool op_eval_pair(struct arena *a, const struct eval_request *request, const struct eval_list *pair,
                  struct eval_report reports[2], struct error *err);
// "a.c is faster than b.c: 1.25x, between 1.22x and 1.28x"
const char *op_eval_pair_text(struct arena *a, const struct eval_report reports[2]);
// hone.compare/1
json_t *op_eval_pair_json(struct arena *a, const struct eval_report reports[2]);

// Only leave the job in the spool; `id` has room for 33 bytes. The same request without this takes
// its answer, from any worker; `is_answered`: it is there already.
bool op_eval_post(struct arena *a, const struct eval_request *request, char *id, bool *is_answered,
                  struct error *err);

// hone.eval/1
json_t *op_eval_json(const struct eval_report *r);

// The report for a person.
const char *op_eval_text(struct arena *a, const struct eval_report *r);

// Read what a request names and start its evaluator, for callers that have other questions to it.
bool op_eval_open(struct arena *a, const struct eval_request *request, struct eval_report *report,
                  struct evaluator **e, struct error *err);
