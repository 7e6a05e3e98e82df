// What the files of the closed loop share (optimize.c, racing.c, confirm.c): its state and a few
// steps.
#pragma once

#include "base/arena.h"
#include "search/decide.h"
#include "search/finale.h"
#include "search/optimize.h"

struct search_node;

struct search_loop {
    const struct optimize_job *job;
    struct run *run;
    struct arena *a;       // the run: nodes and their records
    struct arena scratch;  // one decision
    struct search_state state;
    struct search_node *nodes;
    int n_nodes, room;
    int64_t started_ns;
    double elapsed_before_s;     // by earlier processes
    int n_remeasured;            // by this process
    double first_eval_s;         // how long the first evaluation of this process took
    const char *baseline_fault;  // what is wrong with the baseline; NULL: nothing that is known
    bool was_prolonged;          // beyond its time, and that was said
    bool is_hurried;             // the time that is left is kept for the end: a screening at most
    bool confirms_first;         // there is no time for a verdict and a confirmation: for one alone
    struct finale_times took;    // by the end of the run
};

void search_update_elapsed(struct search_loop *l);
void search_tell(struct search_loop *l, enum event_kind kind, const struct search_node *n);
void search_tell_text(struct search_loop *l, enum event_kind kind, const char *words);
void search_say(struct search_loop *l, const char *words);

bool search_same_source(const struct candidate *x, const struct candidate *y);
const char *search_first_line(struct arena *a, const char *text);
int search_count_proposed(const struct search_loop *l);

// One judgement, unless somebody pressed Ctrl-C.
bool search_judge(struct search_loop *l, const struct eval_job *job, struct eval_result *result,
                  struct error *err);

// Put decisions in the store as nodes, all or none.
bool search_add_all(struct search_loop *l, const struct decision *decisions, int n,
                    struct error *err);

// warm.c: kernels that memory begins with, right behind the root; and how many there are.
bool search_add_warm(struct search_loop *l, struct error *err);
int search_count_warm(const struct search_loop *l);
// The one that is judged before the root; NULL: none is.
struct search_node *search_before_root(const struct search_loop *l);

// Decide what to try next, at most `room` of it, and put it in the store, all or nothing; *n says
// how many, 0 when nothing is left.
bool search_add_next(struct search_loop *l, int room, int *n, struct error *err);

// racing.c: are candidates raced in this run?
bool search_races(const struct search_loop *l);
// Before the root is judged: race it against what is proposed from there.
bool search_race_opening(struct search_loop *l, struct error *err);
// Race those that wait to be judged and have not been raced; those that lose are screened.
bool search_race(struct search_loop *l, struct error *err);

// finale_energy.c: seconds for the energy of the confirmed champion; 0: it is not measured.
double search_energy_s(const struct search_loop *l);
// And with what a choice by energy takes at least.
double search_energy_kept_s(const struct search_loop *l);
// Where the run's objective is energy: who is champion in place of the fastest, *best.
bool search_choose_by_energy(struct search_loop *l, int *best, struct error *err);

// Seconds since a moment of this process (clock_now_ns).
double search_since(int64_t start_ns);

// hurry.c: is there no time for the root's verdict, a search and a confirmation? Says so.
bool search_must_confirm_first(struct search_loop *l);
// Of those that wait the one to judge next; NULL: none waits.
struct search_node *search_next_proposed(const struct search_loop *l);
// Is something proposed, and no time for it?
bool search_is_late(struct search_loop *l);
// Does a run whose time is over go on, since nothing passed yet? And that the first verdict took
// all of it, once.
bool search_is_prolonged(const struct search_loop *l);
void search_say_prolonged(struct search_loop *l);

// confirm.c: the root's only judgement: the confirmation, which is its verdict too.
bool search_confirm_root(struct search_loop *l, struct search_node *n, struct eval_result *result,
                         struct error *err);

// confirm.c: the end of a run.
bool search_confirm(struct search_loop *l, bool *settled, struct error *err);
