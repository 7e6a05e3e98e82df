// What the files of report/ share.
#pragma once

#include "report/report.h"

enum { REPORT_COLUMNS = 80 };

// Add text, wrapped, each line after the first indented by `indent`; `column` is where the
// first one starts.
void report_wrap(struct str *out, const char *text, int column, int indent);

// Add lines of text, each indented.
void report_indented(struct str *out, const char *text, int indent);

// "1.53 ms", "-" when not known; padded to `width` on the left.
void report_seconds(struct str *out, double seconds, int width);

// The time of a node that works, by its ratio to the root's, else NAN. With it the speed-up over
// the root, which agrees with the times.
double report_time(const struct search_node *n);
double report_ratio(const struct run_view *v, const struct search_node *n);

// report_why.c: a "note" when some row looks faster than the champion, or none was faster than the
// start; what the champion does otherwise than the baseline.
void report_unresolved(struct str *out, const struct run_view *v);
void report_why(struct str *out, const struct run_view *v, const struct search_node *n);

// The speed of light in seconds from the run's bound, NAN when it has none.
double report_light(const struct run *r);
// Inputs read once and outputs written once; NAN when it is not known.
double report_least_bytes(const struct run *r);
// "memory-bound; speed of light 1.1 ms, reach 1.3 ms, limit 555 µs (...)"; NULL when the run has no
// bound.
const char *report_bound_line(struct arena *a, const struct run *r);
// " --store PATH" where a command that the text names needs it, else "".
const char *report_store(const struct run_view *v);
// "88% of reach, 71% of the speed of light" of a time; "" when neither is known.
const char *report_fractions(struct arena *a, const struct run *r, double seconds);

// ": uncertain by a factor of 7.7" for behind an interval that is resolved and wide, else "".
const char *report_width(struct arena *a, const struct measurement *m);

// "the least energy of those not slower than node 3, the fastest"; NULL: by time, and nothing is
// said.
const char *report_objective(struct arena *a, const struct run *r);

// Has the run a champion that was confirmed? The node itself, or NULL.
bool report_is_confirmed(const struct run *r);
const struct search_node *report_champion(const struct run_view *v);

int report_n_evaluated(const struct run_view *v);
int report_n_screened(const struct run_view *v);  // lost a race and were not judged

// "after 16 evaluations without a significant gain".
const char *report_stop_text(const char *reason);

// "degenerate: a kernel that does no more than writing zeros would pass, ..."; NULL: it is not.
const char *report_degenerate(struct arena *a, const struct run *r);

// "active", "done", "interrupted", "killed" (active, but nobody works on it),
// "degenerate" (never searched).
const char *report_state(const struct run_view *v);

// What the search began with: "the default kernel", or what --start names.
const char *report_start(const struct run *r);

// Is there something that speed-ups are stated against, and what it is called ("none": no).
bool report_has_baseline(const struct run *r);
const char *report_baseline(const struct run *r);

// Speed-up of the champion over the baseline, and reach with the fraction of it; null when
// there is none.
json_t *report_speedup_json(const struct run *r);
json_t *report_reach_json(const struct run *r);
// The champion as every document has it, null until it is confirmed; of a run whose nodes were not
// read its number and time alone.
json_t *report_champion_json(const struct run_view *v);
json_t *report_bound_json(const struct run *r);  // hone.bound/1, or null
