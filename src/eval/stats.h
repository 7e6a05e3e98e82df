// The statistics of paired samples.
#pragma once

#include <stdint.h>

double stats_median(const double *values, int n);

// The value below which that share of all lies, at least one of them; NAN of none.
double stats_quantile(const double *values, int n, double share);

struct stats_interval {
    double median, low, high;
    double confidence;  // attained; with less than four pairs less than was asked for
};

// Interval for the median of `ratios`, taken pair by pair in the order measured. The wider of
// two intervals holds: a bootstrap over blocks of neighbours, and the one that the order of
// the values alone gives, which no outlier and no shape of the distribution can deceive. In
// a long series neighbours are alike (somebody else uses the machine for a moment), so it is
// cut into 20 units, each one value; blocks are at least two pairs, one ABBA. Four to seven values
// get their range, widened by itself on both sides.
struct stats_interval stats_ratio(const double *ratios, int n, double confidence, uint64_t seed);

// The share that `k` of `n` independent trials speak for is below this with that confidence, by the
// binomial distribution itself (Clopper and Pearson, one-sided).
double stats_share_bound(int k, int n, double confidence);
