#include "ops/suite_stats.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"

static const double normal_95 = 1.959964;
enum { FLIPS = 2000 };

struct suite_mean suite_mean_of(const double *values, int64_t n) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += values[i];
    double mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    double half = n > 1 ? normal_95 * sqrt(squares / (double)(n - 1) / (double)n) : NAN;
    return (struct suite_mean){mean, mean - half, mean + half};
}

// How often chance alone makes a mean as far from zero, by so many flips; at least one of them.
static double flip_signs(const double *d, int64_t n, double mean) {
    struct rng rng;
    int n_far = 1;
    rng_init(&rng, 1);
    for (int k = 0; k < FLIPS; k++) {
        double sum = 0;
        uint64_t bits = 0;
        for (int64_t i = 0; i < n; i++) {
            if (i % 64 == 0)
                bits = rng_next(&rng);
            sum += bits >> (i % 64) & 1 ? d[i] : -d[i];
        }
        n_far += fabs(sum) >= fabs(mean) * (double)n * (1 - 1e-12);
    }
    return (double)n_far / (FLIPS + 1);
}

struct suite_mean suite_ratio(const double *x, const double *y, int64_t n, double *p) {
    double *d = calloc((size_t)n + 1, sizeof *d);
    if (!d)
        abort();
    for (int64_t i = 0; i < n; i++)
        d[i] = log(x[i] / y[i]);
    struct suite_mean m = suite_mean_of(d, n);
    *p = flip_signs(d, n, m.mean);
    free(d);
    return (struct suite_mean){exp(m.mean), exp(m.low), exp(m.high)};
}
