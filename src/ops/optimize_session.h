// One optimisation while it is gathered and runs: what op_optimize.c begins, optimize_resume.c
// restores from a record, optimize_target.c finds to measure on, and optimize_judge.c asks for
// verdicts.
#ifndef OPS_OPTIMIZE_SESSION_H
#define OPS_OPTIMIZE_SESSION_H

#include "model/bound.h"
#include "model/target.h"
#include "ops/op_optimize.h"
#include "ops/op_table.h"
#include "ops/op_team.h"
#include "ops/plugins.h"
#include "place/evaluate.h"
#include "play/play.h"
#include "record/advice.h"
#include "search/judging.h"
#include "search/policy.h"
#include "store/store.h"

// Everything that one optimisation needs, gathered step by step.
struct session {
    struct arena *a;
    const struct optimize_request *q;
    struct optimize_outcome *out;
    struct problem *problem;
    struct target target;
    struct bound bound;
    struct policy_choice policy;
    enum run_objective objective;
    const struct proposer *proposer;
    struct store *store;
    struct evaluator *evaluator;
    const struct target **devices;  // the target, and others of this machine that judge with it
    int n_devices;                  // that still do; 0: the target alone
    struct play *play;  // counters of candidates; NULL: not asked yet, or there are none
    bool has_no_counters;
    struct plugins plugins;  // tools of the user's
    struct judging judge;    // without them
    double counters_s;       // how long they took the last time; 0: not asked yet
    struct op_team team;
    struct run run;
    struct candidate start;     // no source: the default kernel
    struct candidate baseline;  // no source: plain
    struct op_table *table;     // stands for the device; NULL: there is one
    struct judge_recorder recorder;
    struct kernel **kernels;  // blocks of the problem's file
    int n_kernels;
    const char *memory;  // the file; NULL: off
    struct advice advice;
    int64_t opened_ns;  // when what counts as time of the run began
    double opening_s;   // how long the judge of a new run took to open
};

// op_optimize.c
void session_note(struct session *s, const char *words);
double session_seconds(const struct optimize_request *q);  // for which it may run
void session_note_from_team(void *ctx, const char *words);
bool session_find_memory(struct session *s, struct error *err);
bool session_find_proposer(struct session *s, const char *name, struct error *err);
const char *session_bound_text(struct arena *a, const struct bound *b);
const char *session_facts_text(struct session *s);
bool session_refuse_degenerate(struct session *s, struct error *err);

// optimize_target.c
bool session_find_target(struct session *s, const char *name, struct error *err);
bool session_measure_ceilings(struct session *s, struct error *err);
bool session_remeasure(void *ctx, struct run *run, const char *why, struct error *err);
bool session_open_evaluator(struct session *s, struct error *err);
void session_follow_devices(struct session *s);

// optimize_resume.c
bool session_begin_resumed(struct session *s, struct error *err);

// optimize_judge.c
struct judging session_judge(struct session *s);
bool session_judge_and_ask(void *ctx, struct arena *a, const struct eval_job *job,
                           struct eval_result *result, struct error *err);

#endif
