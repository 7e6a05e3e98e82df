// A measurement: how long a candidate took, against a baseline in the same interleaved
// run. hone.measurement/1. Raw samples are kept; a number says how it was taken.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "record/energy.h"

struct arena;
struct error;

// A stretch of a measurement, as if it were one of so many seconds.
struct measurement_trial {
    double seconds;
    int n_pairs;
    double speedup, low, high;
};

// How much samples scatter: there are so many, and half of them lie between these. It stays where
// the samples themselves are left out.
struct measurement_spread {
    int n;  // 0: not known
    double low_s, high_s;
};

// What each pair was, in the order taken. The samples of a measurement are the first two kinds.
enum measurement_mark {
    MEASUREMENT_COUNTED = '.',
    MEASUREMENT_DISTURBED = 'd',  // counted: too few others were left
    MEASUREMENT_LEFT_OUT = 'x',   // disturbed, and did not count
    MEASUREMENT_SLOWED = 's',     // nor did this one: the card slowed itself down
};

// All pairs, where a job asks for them.
struct measurement_raw {
    const char *marks;               // one for each pair; NULL: nobody asked
    double *subject_s, *baseline_s;  // of those that did not count, n_dropped of them
};

struct measurement {
    bool present;
    const char *baseline;  // label of what it was interleaved with
    int n_pairs;
    double *subject_s;  // n_pairs samples, in the order taken
    double *baseline_s;
    struct measurement_spread spread;  // of the subject
    double median_s;                   // of the subject
    double baseline_median_s;
    // Speed-up over the baseline, by the pairs (eval/estimate.h), with an interval of the stated
    // confidence. Above 1 is faster.
    double speedup, speedup_low, speedup_high;
    double confidence;  // 0.99
    int n_dropped;      // disturbed samples left out by the stated rule
    struct measurement_raw raw;
    const char *clocks;  // of a GPU meanwhile: "free", "not watched: ..."; NULL: not asked
    const char *method;  // "ABBA, cold by rotation over 4 slots, 2 threads, judge's clock"
    struct measurement_trial *trials;  // those that the job asked for, in the order of their ends
    int n_trials;
    // Where the job asks: of the subject, and of the baseline in the same moments.
    struct energy energy, baseline_energy;
};

// Identical kernels differ by a systematic fraction of a percent: their code and their buffers lie
// elsewhere. An interval that excludes 1 by less than this says nothing about the code.
static const double MEASUREMENT_MARGIN = 0.005;

// Is the subject certainly faster (1), certainly slower (-1), or is this not resolved (0)?
int measurement_compare(const struct measurement *m);
// The same of an interval.
int measurement_order(double low, double high);

// "1.25x", "2000x".
const char *measurement_ratio_text(struct arena *a, double ratio);

// A word of warning on an interval that is resolved and still says little, for behind it:
// "uncertain by a factor of 1710". NULL where its ends are within a factor of MEASUREMENT_WIDE, or
// where nothing is resolved, which says enough.
static const double MEASUREMENT_WIDE = 2;
const char *measurement_width_text(struct arena *a, double low, double high);

// Is a pair with this mark among the samples?
bool measurement_counts(char mark);

// Fill in the spread from the samples.
void measurement_set_spread(struct arena *a, struct measurement *m);

json_t *measurement_to_json(const struct measurement *m);  // null when not present
bool measurement_from_json(struct arena *a, const json_t *json, struct measurement *m,
                           struct error *err);
