#include "eval/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

enum { RESAMPLES = 2000 };

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *sorted(const double *values, int n) {
    double *copy = malloc(sizeof *copy * (size_t)(n ? n : 1));
    if (!copy)
        abort();
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

static void bootstrap(const double *ratios, int n, double confidence, uint64_t seed,
                      struct stats_interval *out) {
    int n_blocks = n / 2;
    double *sample = malloc(sizeof *sample * (size_t)(2 * n_blocks));
    double *medians = malloc(sizeof *medians * RESAMPLES);
    if (!sample || !medians)
        abort();
    struct rng r;
    rng_init(&r, seed);
    for (int i = 0; i < RESAMPLES; i++) {
        for (int b = 0; b < n_blocks; b++) {
            uint64_t pick = rng_below(&r, (uint64_t)n_blocks);
            sample[2 * b] = ratios[2 * pick];
            sample[2 * b + 1] = ratios[2 * pick + 1];
        }
        medians[i] = stats_median(sample, 2 * n_blocks);
    }
    qsort(medians, RESAMPLES, sizeof *medians, ascending);
    int cut = (int)floor((1 - confidence) / 2 * RESAMPLES);
    out->low = medians[cut];
    out->high = medians[RESAMPLES - 1 - cut];
    free(sample);
    free(medians);
}

struct stats_interval stats_ratio(const double *ratios, int n, double confidence, uint64_t seed) {
    struct stats_interval out = {NAN, NAN, NAN, 0};
    if (n == 0)
        return out;
    double *order = sorted(ratios, n);
    out.median = middle(order, n);
    double attained;
    int k = order_rank(n, confidence, &attained);
    out.confidence = attained < confidence ? attained : confidence;
    out.low = order[k];
    out.high = order[n - 1 - k];
    free(order);
    if (n >= 4) {
        struct stats_interval b = {0};
        bootstrap(ratios, n, confidence, seed, &b);
        out.low = fmin(out.low, b.low);
        out.high = fmax(out.high, b.high);
    }
    return out;
}
