// The estimates of a speed-up that were compared: the judge's two, and five that lost
// (docs/results/judge.md). For bench/estimators.c and the test of each.
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/estimate.h"
#include "eval/stats.h"

static double estimates_ratio_at(const struct pair_times *p, double share) {
    return stats_quantile(p->baseline_s, p->n, share) / stats_quantile(p->subject_s, p->n, share);
}

static double ratio_of_medians(const struct pair_times *p, double *room) {
    (void)room;
    return stats_median(p->baseline_s, p->n) / stats_median(p->subject_s, p->n);
}

static double ratio_of_quarters(const struct pair_times *p, double *room) {
    (void)room;
    return estimates_ratio_at(p, 0.25);
}

static double ratio_of_twentieths(const struct pair_times *p, double *room) {
    (void)room;
    return estimates_ratio_at(p, 0.05);
}

static void estimates_put_logarithms(const struct pair_times *p, double *room) {
    for (int i = 0; i < p->n; i++)
        room[i] = log(p->baseline_s[i] / p->subject_s[i]);
}

static int estimates_ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// A fifth is cut off on either side.
static double trimmed_mean(const struct pair_times *p, double *room) {
    int cut = p->n / 5;
    double sum = 0;
    estimates_put_logarithms(p, room);
    qsort(room, (size_t)p->n, sizeof *room, estimates_ascending);
    for (int i = cut; i < p->n - cut; i++)
        sum += room[i];
    return exp(sum / (p->n - 2 * cut));
}

// Hodges and Lehmann: the median of the means of all two, each with itself too.
static double median_of_means(const struct pair_times *p, double *room) {
    double *means = malloc(sizeof *means * (size_t)p->n * ((size_t)p->n + 1) / 2);
    int n = 0;
    if (!means)
        abort();
    estimates_put_logarithms(p, room);
    for (int i = 0; i < p->n; i++)
        for (int k = i; k < p->n; k++)
            means[n++] = (room[i] + room[k]) / 2;
    double m = exp(stats_median(means, n));
    free(means);
    return m;
}

static const struct estimator estimates_other[] = {
    {"medians", "ratio of medians", ratio_of_medians},
    {"quarters", "ratio of 25% quantiles", ratio_of_quarters},
    {"lowest", "ratio of 5% quantiles", ratio_of_twentieths},
    {"trimmed", "trimmed mean", trimmed_mean},
    {"means", "Hodges-Lehmann", median_of_means},
};
enum { ESTIMATES = 2 + sizeof estimates_other / sizeof estimates_other[0] };

// Number i of all, the judge's first.
static const struct estimator *estimates_at(int i) {
    return i == 0 ? estimator_median : i == 1 ? estimator_low : &estimates_other[i - 2];
}
