// The control: how often are identical kernels called different, and which slow-down would have
// been detected? What `hone eval --aa` does.
//
// A trial is one comparison of the candidate with itself: verified and timed in a process that was
// started for it, against a process of the same kernel that lives on from trial to trial, as a
// baseline's does in a search. The judge, its inputs and their truth live on too; all of this is
// started and drawn anew after every 50 trials (with --confirm: for each). Asked for several
// lengths, a trial lasts for the longest; each shorter one is every stretch of it that long, and
// these share the trial's two processes. (A GPU, where subject and baseline change places half way,
// makes a trial of each length.)
//
// Asked for a resolution, a trial ends when it can resolve that, and the row says how long this
// took; of several lengths it takes the longest but one in any case, so that there are stretches of
// all.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "ops/op_eval.h"

struct aa_report;
struct str;

enum { AA_LENGTHS_MAX = EVAL_TRIALS_MAX };

struct aa_request {
    struct eval_request eval;  // its seconds do not count
    int n;                     // trials
    double seconds[AA_LENGTHS_MAX];
    int n_lengths;     // ascending; 0: one, and a comparison ends when its interval is narrow
                       // (with a resolution the last is the most that it takes)
    const char *keep;  // write every pair into this file; or NULL
    // After each trial, with the rows so far (counts only, what is made of them comes at the end);
    // or NULL.
    void (*on_trial)(const struct aa_report *so_far, void *ctx);
    void *ctx;
};

// Of all comparisons of one length.
struct aa_row {
    double seconds;  // 0: as long as it took
    int n, n_faster, n_slower;
    int n_pairs;        // in all
    double widest;      // largest |speed-up - 1| seen
    double half_width;  // mean half width of the intervals
    double bound;       // of the share called different, with 95% confidence
    double smallest;    // slow-down that 95% of the comparisons would have detected
    // Where a resolution is asked for: so many would have detected it, and took so long.
    int n_detected;
    double took_half_s, took_95_s;
};

struct aa_report {
    const char *problem, *target, *device, *candidate, *method;
    int n;              // trials that came to their end
    double resolution;  // as asked, or 0
    struct aa_row rows[AA_LENGTHS_MAX];
    int n_rows;
    double call_s;  // median of a call, in the last trial
};

// Interrupted, or failed at a later trial: false, and the report is of those before, where `n` of
// its last row is not 0.
bool op_aa(struct arena *a, const struct aa_request *request, struct aa_report *report,
           struct error *err);

// The pairs of one trial as they are kept: a head, then a line for each with the seconds of subject
// and baseline, and a word where there is something to say of it: `left-out` (disturbed; it did not
// count), `disturbed` (it counted, as too few others were left), `slowed` (by the card: did not
// count).
void op_aa_put_pairs(struct str *s, int trial, const struct measurement *m);

// hone.aa/1
json_t *op_aa_json(const struct aa_report *r);
const char *op_aa_text(struct arena *a, const struct aa_report *r);
