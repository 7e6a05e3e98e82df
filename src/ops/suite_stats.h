// Statistics of a suite: means with intervals, and paired comparisons.
#pragma once

#include <stdint.h>

#include "ops/op_suite.h"

// With the interval of the normal distribution, which for fewer than 30 values is too narrow by
// some percent.
struct suite_mean suite_mean_of(const double *values, int64_t n);

// exp of the mean of paired differences of logarithms: the ratio of x to y. *p: that it is 1, by
// flipping signs of differences at random (seeded).
struct suite_mean suite_ratio(const double *x, const double *y, int64_t n, double *p);
