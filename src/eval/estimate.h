// How much faster is the subject? Estimates from pairs of times, and intervals for them.
//
// bench/estimators.c compares these estimates with others on kept samples of kernels against
// themselves, and docs/results/judge.md has the table:
//
//   - two estimates compete from ESTIMATE_ENOUGH pairs on: the median of the pairs' ratios, which
//     is the better where a machine drifts, and the ratio of the 10% quantiles, whose
//     interval is several times as narrow where others use the machine: nine calls of ten may be
//     disturbed;
//   - the one with the narrower interval counts, and each has half the risk of being wrong; where
//     the intervals do not meet, times vary for another reason than the machine (a kernel that is
//     fast now and then), and the interval spans both;
//   - below that the median alone, its interval widened.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ESTIMATE_ENOUGH = 40 };

// Times of pairs in the order measured: an ABBA is two of them.
struct pair_times {
    const double *subject_s, *baseline_s;
    int n;
};

struct estimate {
    double value, low, high;
    double confidence;  // attained; with less than four pairs less than was asked for
};

struct estimator {
    const char *name, *words;
    // Of at least one pair; `room` has place for two values a pair.
    double (*of)(const struct pair_times *p, double *room);
};

extern const struct estimator *const estimator_median, *const estimator_low;

// Interval for one estimate. The wider of two holds: a bootstrap over blocks of neighbours, and the
// one that the order of the estimates of 20 units alone gives, which no outlier and no shape of the
// distribution can deceive. In a long series neighbours are alike (somebody else uses the machine
// for a moment), so a unit is a stretch of it; blocks are at least two pairs, one ABBA.
// With less than ESTIMATE_ENOUGH pairs it is widened, as two calls of an ABBA are disturbed
// together: four to seven get their range, widened by itself on both sides, more by a quarter. Of
// so few, calls that do not overlap by a factor of four bound the ratio as well.
struct estimate estimate_interval(const struct estimator *e, const struct pair_times *p,
                                  double confidence, uint64_t seed);

// By the order alone, which takes a hundredth of the time: no interval above is narrower.
struct estimate estimate_by_order(const struct estimator *e, const struct pair_times *p,
                                  double confidence);

// Is half of the interval less than this share of the estimate?
bool estimate_is_narrow(const struct estimate *e, double share);

// The bootstrap alone, for comparison.
struct estimate estimate_bootstrap(const struct estimator *e, const struct pair_times *p,
                                   double confidence, uint64_t seed);

// Both ends move by the interval's width times `by`, as ratios go.
struct estimate estimate_widen(struct estimate e, double by);

// The rule with another estimate besides the median of ratios; the judge's has estimator_low.
struct estimate estimate_narrower(const struct estimator *other, const struct pair_times *p,
                                  double confidence, uint64_t seed);
struct estimate estimate_speedup(const struct pair_times *p, double confidence, uint64_t seed);
