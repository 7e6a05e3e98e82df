// The loop on a table: the judge is a function of the kernel's text, so that nothing is
// compiled or timed and the same run can be repeated exactly. For tests of the loop and of
// policies.
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "model/bound.h"
#include "model/target.h"
#include "record/event.h"
#include "record/run.h"
#include "search/optimize.h"

struct advice;
struct policy;
struct problem;
struct proposer;
struct search_node;

extern struct arena a;
extern struct error err;
extern struct target target;
extern struct problem *problem;
extern struct bound bound;
extern double given_s;                // for a run
extern const struct advice *advised;  // what memory said; NULL: nothing

struct table {
    bool flat;  // all times equal
    bool root_fails;
    bool root_crashes;  // and so nothing can be timed against it
    bool all_fail;
    bool named_fails;     // whatever names an emitter
    int suspect;          // node that is suspect, -1: none
    int n_confirm_fails;  // so many confirmations fail
    bool confirm_infra;
    bool baseline_fails;  // nothing can be timed against plain
    int n_beyond;         // so many verdicts are suspect, far beyond reach
    char notes[1024];     // that were said
    int interrupt_at;     // judge call that is interrupted, -1: none
    int n_calls;
    const char *baseline;  // of the last call
    int die_at;            // point at which the process ends, -1: none
    int point;
    int n_remeasured;
    int point_remeasured;  // after so many judgements, the last time
    bool remeasure_helps;  // the second time, reach is what physics allows
    double reach_again_s;  // or the first time this, unless it is 0
    bool is_lucky;  // against the root, times are off by chance; against others, they are not
    int n_games;    // of the play-off
    double doubt;   // the interval reaches so far on either side; 0: 1%
    int n_screened, n_ranked;
    double ranking_s;  // asked for by the last ranking against the root
    int n_races, n_raced;
    int untimed;      // so many of a race have no turn
    char raced[256];  // what was said of the last race
    char incumbent[32];
    const struct candidate *first;  // of a replay
    bool confirms_first;            // likewise
    double opening_s;               // how long the judge took to open
    int n_confirmed;                // jobs of that depth
    enum run_objective objective;   // of a new run
    bool has_energy;                // it can be measured,
    const char *why_no_energy;      // but this is why it was not; NULL: it was
    int n_energy;                   // comparisons of energy
    double confirm_energy_s;        // asked for with the confirmation
    char judged[256];               // labels of what was judged, each once in a row, in order
};

extern const struct table plain_table;

struct setting {
    const char *db;
    const struct policy *policy;
    const struct proposer *proposer;
    uint64_t seed;
    int evals;
    int batch;
    int race;
};

extern const struct setting usual;

void loop_set_up(void);
void loop_tear_down(void);

// What kill -9 would do here.
void maybe_die(struct table *t);

// Seconds of a block.
double table_time(const struct table *t, const struct candidate *c);

// Joules of a call of a block.
double table_energy(const struct candidate *c);

// Parts of a job.
bool judge_table(void *ctx, struct arena *into, const struct eval_job *job, struct eval_result *r,
                 struct error *e);
bool race_table(void *ctx, struct arena *into, const struct race_job *job, struct screening *out,
                struct error *e);
bool remeasure(void *ctx, struct run *run, const char *why, struct error *e);
void count_event(const struct event *e, void *ctx);

struct run new_run(const struct setting *s);
// Begin a run, or go on with run 1 where it is there.
bool go(const struct setting *s, struct table *t, struct run *run);

int nodes_of(const char *db, struct search_node **nodes);
// All nodes as one text.
const char *tree_text(const char *db);
