// The statistics of paired samples.
#pragma once

#include <stdint.h>

double stats_median(const double *values, int n);

struct stats_interval {
    double median, low, high;
    double confidence;  // attained; with few pairs less than was asked for
};

// Interval for the median of `ratios`, taken pair by pair in the order measured; two
// neighbours (one block ABBA) stay together. The wider of two intervals holds: the bootstrap
// over blocks, and the one that the order of the values alone gives, which no outlier and
// no shape of the distribution can deceive.
struct stats_interval stats_ratio(const double *ratios, int n, double confidence, uint64_t seed);
