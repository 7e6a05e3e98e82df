// The end of a run, as rules: how much time is kept for it, and who plays off.
//
// Of nodes that cannot be distinguished the fastest by its own measurement is the luckiest as
// likely as the best. So those few are timed against each other before one is confirmed.
#pragma once

#include <stdbool.h>

#include "record/run.h"

struct arena;
struct search_node;

enum { CONTENDERS_MAX = 3, FINALISTS_MAX = 3 };

// Seconds of timing that the confirmation, and each game of the play-off, may take: a fiftieth of
// the run's, between 0.5 and 4.
double finale_timing_s(double max_seconds);

// Seconds in which the energy of the confirmed champion is measured: a twelfth of the run's,
// between 2.2 and 4; and that of a finalist and the fastest, together.
double finale_energy_s(double max_seconds);
double finale_energy_game_s(double max_seconds);

// Seconds of timing for a candidate that may be the best: as many, but at most 2. A short run is
// better served by more candidates.
double finale_ranking_s(double max_seconds);

// Seconds that are kept for the end: a game of the play-off, and a confirmation, which takes about
// twice as long as the first evaluation (it draws and computes more sets, starts runners and
// verifies the baseline too), and what it takes to measure energy; but at most half of the run.
double finale_kept_s(double max_seconds, double first_eval_s, double energy_s);
// Is it time to stop, so that these still fit?
bool finale_is_near(double elapsed_s, double max_seconds, double first_eval_s, double energy_s);

// What a first verdict and a confirmation will take, together, by how long the judge took to open.
double finale_verdicts_s(double opening_s);

// What the end of a run took; energy is part of the confirmation.
struct finale_times {
    double play_off_s, choice_s, confirm_s, energy_s;
};
// Where a run took longer than it was given: what for, "confirmation 1.3 s, energy of the champion
// 2.2 s". What was under way when the time was over comes first. NULL: it did not.
const char *finale_overrun_text(struct arena *a, double elapsed_s, double max_seconds,
                                const struct finale_times *t);

// Verdicts for a race that `left_s` seconds have room for, a confirmation kept: at least one, at
// most `most`. `verdict_s`: how long a verdict takes.
int finale_survivors(double left_s, double verdict_s, int most);

// Nodes that may be faster than the champion for all that is known, the fastest first; how many.
int finale_contenders(const struct search_node *nodes, int n_nodes, int champion,
                      int contenders[CONTENDERS_MAX]);

// Nodes whose energy is compared with that of the fastest, the fastest of them first; how many.
// By OBJECTIVE_ENERGY those that are not known to be slower than it, by OBJECTIVE_EDP those that
// take at most a fifth longer: a product has room for that.
int finale_finalists(const struct search_node *nodes, int n_nodes, int fastest,
                     enum run_objective objective, int finalists[FINALISTS_MAX]);
