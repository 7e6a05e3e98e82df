// Statistics of samples; estimate.h has those of pairs.
#pragma once

double stats_median(const double *values, int n);

// The value below which that share of all lies, at least one of them; NAN of none.
double stats_quantile(const double *values, int n, double share);

// The share that `k` of `n` independent trials speak for is below this with that confidence, by the
// binomial distribution itself (Clopper and Pearson, one-sided).
double stats_share_bound(int k, int n, double confidence);
