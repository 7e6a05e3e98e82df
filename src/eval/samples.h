// The pairs of times that a comparison takes, and what a stretch of them says. All memory is here,
// for as many as there can be.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "eval/estimate.h"
#include "eval/eval_job.h"
#include "eval/pairs.h"

struct samples {
    double subject_s[PAIRS_ROOM], baseline_s[PAIRS_ROOM];
    bool is_disturbed[PAIRS_ROOM], is_slowed[PAIRS_ROOM];
    int n_pairs;
    int n_before_swap;  // of these; 0: subject and baseline have not changed places
    // Of the last estimate.
    int before[PAIRS_ROOM], after[PAIRS_ROOM];
    double subject_picked_s[PAIRS_ROOM], baseline_picked_s[PAIRS_ROOM];
};

struct samples_question {
    int from, to;  // pairs
    double confidence;
    uint64_t seed;
    // Low quantiles too, and no trust in a crowded machine. Where subject and baseline changed
    // places the median of ratios alone counts.
    bool uses_low;
};

// Shorter comparisons within a longer one: each is a stretch of its pairs that would have been a
// comparison of so many seconds, had it begun and ended there. The first begins with it.
enum { TRIALS_ROOM = 512 };

struct trial {
    double seconds;
    int from, to;  // pairs
    int64_t start_ns;
};

struct trials {
    struct trial open[EVAL_TRIALS_MAX];
    struct trial ended[TRIALS_ROOM];  // in the order in which they did; beyond that none is noted
    int n_open, n_ended;
};

void trials_add(struct trials *l, double seconds);  // one more length, of at most EVAL_TRIALS_MAX
void trials_begin(struct trials *l, int64_t now_ns);
void trials_note(struct trials *l, const struct samples *s, int64_t now_ns);  // after each block

// The pairs of [from, to) that count (pairs.h); `picked` has room for all of them.
int samples_pick(const struct samples *s, int from, int to, int *picked);

// What all pairs were (enum measurement_mark), a letter each and a final 0, when these count.
void samples_mark(const struct samples *s, const int *picked, int n_picked, char *marks);

// The share of the pairs that were disturbed.
double samples_disturbed(const struct samples *s, int from, int to);

// Where more than a quarter of the pairs were disturbed, left out or not, the others may be in ways
// that were not noticed: the interval is widened by a quarter on either side.
bool samples_is_crowded(const struct samples *s, int from, int to);
struct estimate samples_estimate(struct samples *s, const struct samples_question *q);
// Could half of the interval be less than this share of the estimate? Asked of the order alone,
// before a bootstrap is worth its time.
bool samples_may_be_narrow(struct samples *s, const struct samples_question *q, double share);
