// Median, quantiles, and the upper bound of a share that was seen k of n times (Clopper and
// Pearson), by bisection.
#include "eval/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *allocate(int n) {
    double *values = malloc(sizeof *values * (size_t)(n ? n : 1));
    if (!values)
        abort();
    return values;
}

static double *sorted(const double *values, int n) {
    double *copy = allocate(n);
    memcpy(copy, values, sizeof *copy * (size_t)n);
    qsort(copy, (size_t)n, sizeof *copy, ascending);
    return copy;
}

static double middle(const double *ascending_values, int n) {
    return n % 2 ? ascending_values[n / 2]
                 : (ascending_values[n / 2 - 1] + ascending_values[n / 2]) / 2;
}

double stats_median(const double *values, int n) {
    if (n == 0)
        return NAN;
    double *copy = sorted(values, n);
    double m = middle(copy, n);
    free(copy);
    return m;
}

double stats_quantile(const double *values, int n, double share) {
    if (n == 0)
        return NAN;
    double *copy = sorted(values, n);
    int rank = (int)ceil(share * n) - 1;
    double q = copy[rank < 0 ? 0 : rank >= n ? n - 1 : rank];
    free(copy);
    return q;
}

// P(at most k of n) when each happens with probability p.
static double at_most(int k, int n, double p) {
    double sum = 0;
    for (int i = 0; i <= k; i++)
        sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(p) +
                   (n - i) * log1p(-p));
    return sum;
}

double stats_share_bound(int k, int n, double confidence) {
    double low = 0, high = 1;
    if (n <= 0 || k >= n)
        return 1;
    for (int i = 0; i < 60; i++) {
        double middle_p = (low + high) / 2;
        if (at_most(k, n, middle_p) > 1 - confidence)
            low = middle_p;
        else
            high = middle_p;
    }
    return high;
}
