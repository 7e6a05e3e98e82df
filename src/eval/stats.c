#include "eval/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

// Long series are cut into this many units.
enum { RESAMPLES = 2000, UNITS = 20, LONG = 400 };
// From FEW values on, the whole range widened by itself on both sides is an interval: for four
// values of a normal distribution Student's is about as wide. From WIDENED on there are enough.
enum { FEW = 4, WIDENED = 8 };

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

// The largest k such that the median lies between the k-th smallest and the k-th largest
// value with that confidence (k from 0). The number of values below the median is binomial.
static int order_rank(int n, double confidence, double *attained) {
    double below = pow(0.5, n), term = below;  // P(at most k values below)
    int k = 0;
    *attained = 1 - 2 * below;
    while (k + 1 < n / 2) {
        term = term * (n - k) / (k + 1);
        if (1 - 2 * (below + term) < confidence)
            break;
        below += term;
        k++;
        *attained = 1 - 2 * below;
    }
    return k;
}

// Resample blocks of `length` neighbours with replacement.
static void bootstrap(const double *ratios, int n, int length, uint64_t seed,
                      struct stats_interval *out) {
    int n_blocks = n / length;
    double *sample = allocate(n_blocks * length), *medians = allocate(RESAMPLES);
    struct rng r;
    rng_init(&r, seed);
    for (int i = 0; i < RESAMPLES; i++) {
        for (int b = 0; b < n_blocks; b++) {
            uint64_t pick = rng_below(&r, (uint64_t)n_blocks) * (uint64_t)length;
            memcpy(sample + b * length, ratios + pick, sizeof *sample * (size_t)length);
        }
        medians[i] = stats_median(sample, n_blocks * length);
    }
    qsort(medians, RESAMPLES, sizeof *medians, ascending);
    int cut = (int)floor((1 - out->confidence) / 2 * RESAMPLES);
    out->low = medians[cut];
    out->high = medians[RESAMPLES - 1 - cut];
    free(sample);
    free(medians);
}

// Between the k-th smallest and the k-th largest of the medians of `length` neighbours each.
static void by_order(const double *ratios, int n, int length, struct stats_interval *out) {
    int n_units = n / length;
    double *units = allocate(n_units), attained;
    for (int i = 0; i < n_units; i++)
        units[i] = stats_median(ratios + i * length, length);
    qsort(units, (size_t)n_units, sizeof *units, ascending);
    int k = order_rank(n_units, out->confidence, &attained);
    out->confidence = fmin(out->confidence, attained);
    out->low = units[k];
    out->high = units[n_units - 1 - k];
    free(units);
}

static struct stats_interval widen(const struct stats_interval *range, double confidence) {
    double width = range->high - range->low;
    return (struct stats_interval){range->median, range->low - width, range->high + width,
                                   confidence};
}

// Very long series are shortened first: each value the median of some neighbours.
static struct stats_interval of_long(const double *ratios, int n, double confidence,
                                     uint64_t seed) {
    int length = (n + LONG - 1) / LONG, n_short = n / length;
    double *values = allocate(n_short);
    for (int i = 0; i < n_short; i++)
        values[i] = stats_median(ratios + i * length, length);
    struct stats_interval interval = stats_ratio(values, n_short, confidence, seed);
    free(values);
    return interval;
}

struct stats_interval stats_ratio(const double *ratios, int n, double confidence, uint64_t seed) {
    if (n > LONG)
        return of_long(ratios, n, confidence, seed);
    struct stats_interval order = {.confidence = confidence}, boot = {.confidence = confidence};
    if (n == 0)
        return (struct stats_interval){NAN, NAN, NAN, 0};
    int length = n / UNITS;
    by_order(ratios, n, length > 1 ? length : 1, &order);
    order.median = stats_median(ratios, n);
    if (n < FEW)
        return order;
    if (n < WIDENED)
        return widen(&order, confidence);
    bootstrap(ratios, n, length > 2 ? length / 2 * 2 : 2, seed, &boot);
    order.low = fmin(order.low, boot.low);
    order.high = fmax(order.high, boot.high);
    return order;
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
