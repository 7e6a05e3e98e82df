// Several candidates of one problem in order, fastest first, each timed against the same baseline:
// what `hone eval` prints below the reports of more than two, and with --markdown and --csv alone.
#pragma once

#include <stdbool.h>

struct arena;
struct eval_report;

enum { RANKING_MAX = 1000 };

enum rank_form { RANK_TEXT, RANK_MARKDOWN, RANK_CSV };

struct rank_row {
    const char *name, *verdict, *evidence, *finding;  // finding: the first, or ""
    const char *baseline;
    bool is_ok, is_timed;
    // time_s as it was measured; ranking_print() makes it agree with the speed-up.
    double time_s, baseline_s, speedup, low, high;
    double reach_s;  // where the finding says how far from reach, else NAN
};

struct ranking {
    struct rank_row rows[RANKING_MAX];
    int n_rows;
    int n_left_out;  // beyond RANKING_MAX
};

// Keeps what the table needs; the texts are copied to the arena.
void ranking_add(struct arena *a, struct ranking *r, const struct eval_report *report);

// Sorts the rows: those that were timed by speed-up, then the others in their order. A row that is
// not resolved from the best of its rank shares that rank.
const char *ranking_print(struct arena *a, struct ranking *r, enum rank_form form);
