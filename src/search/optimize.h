// The closed loop: select, propose, lower, judge, explain, record, until the bound, a
// plateau or the budget says stop; then the champion is confirmed on fresh data.
//
// Every step is in the store before the next begins, and every decision is a function
// of the stored nodes, the run's seed and the node's number. So a run that was killed
// anywhere and resumed takes the same way as one that was not.
//
// Where candidates are raced (run.race) many are proposed at once, roughly timed and mostly
// screened; the few that come through are judged.
//
// Candidates come in batches (run.batch): all of one are proposed before the first is judged, and
// a batch ends at a node whose number is a multiple of its size, also after a kill in between.
#pragma once

#include <stdbool.h>

#include "place/evaluate.h"
#include "record/event.h"
#include "search/context.h"

struct arena;
struct error;
struct run;
struct search_node;
struct store;

// Who judges: evaluator_judge in production, a table in tests.
struct judging {
    bool (*judge)(void *ctx, struct arena *a, const struct eval_job *job,
                  struct eval_result *result, struct error *err);
    void *ctx;
    // May be NULL. Called with every job of a batch before the first of them is judged: a caller
    // that has several workers can set them all to work.
    bool (*announce)(void *ctx, const struct eval_job *job, struct error *err);
    // So many are judged at once where they are announced; 0: one. What is announced may be judged
    // on another device than the run's; all else is judged there.
    int at_once;
    // May be NULL: nobody races candidates. Fills in one screening for each.
    bool (*race)(void *ctx, struct arena *a, const struct race_job *job,
                 struct screening *screenings, struct error *err);
};

struct optimize_job {
    struct search_context context;  // what of it holds for the whole run
    struct judging judge;
    bool has_energy;  // the judge can measure it: a GPU
    struct store *store;
    // Called when the champion is faster than reach, which says that the ceilings are too low, or
    // the first time that it is as fast as the run wants, since they may be of a slow moment:
    // measure again, raise `bound` and the run's copy of it. May be NULL: reach stays.
    bool (*remeasure)(void *ctx, struct run *run, const char *why, struct error *err);
    // A replay: does the record have a bound here, whatever it was measured for? Else NULL.
    bool (*is_measured_next)(void *ctx);
    void *remeasure_ctx;
    // How long the judge took to open, which draws the declared inputs and computes what is
    // expected of them: what a verdict will take follows from it. 0: not known.
    double opening_s;
    // A replay: was the first verdict of the record the confirmation?
    bool confirms_first;
    event_fn on_event;  // may be NULL
    void *event_ctx;
    // A replay begins with the block that the recorded run began with, whatever the default is by
    // now. NULL: with the run's start, or the default.
    const struct candidate *first;
    // A replay ends where the recorded run did, whatever ended that: time, say. 0: no such end.
    int end_nodes;
    const char *end_reason;
    // May be NULL. Asked before every proposal: is it enough? Then neither reach nor a plateau ends
    // the run.
    bool (*is_enough)(void *ctx, const struct search_node *nodes, int n_nodes);
    void *enough_ctx;
};

enum { PLATEAU_EVALS = 16 };

// Work on a run that is in the store, from wherever it stands to its end. `run` is kept up
// to date; its strings live in `a`. On an error (ERROR_INTERRUPTED among them) the run can
// be resumed.
bool optimize(struct arena *a, const struct optimize_job *job, struct run *run, struct error *err);
