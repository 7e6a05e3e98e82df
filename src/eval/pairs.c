// The stopping rule as arithmetic on the half width of the interval.
#include "eval/pairs.h"

#include "record/measurement.h"

// An error that 95% stay below on one side, over the half width of an interval of 99%.
static const double error_share = 1.645 / 2.576;
// Identical kernels in two processes mostly differ by less than this (docs/results/judge.md).
static const double apart = 0.0025;

enum pairs_answer pairs_ask(const struct pairs_state *s) {
    int n_counted = s->n_pairs - s->n_slowed;
    double spent_s = s->halves * s->spent_s;
    int most = s->uses_all_time || s->is_asked ? PAIRS_ROOM : PAIRS_MAX;
    if (s->halves * s->n_pairs + PAIRS_BLOCK > most)
        return PAIRS_ENOUGH;
    if (s->n_pairs >= PAIRS_LEAST && spent_s >= PAIRS_OVERTIME * s->seconds)
        return PAIRS_ENOUGH;
    if (n_counted < PAIRS_USUAL)
        return PAIRS_MORE;
    if (spent_s > s->seconds)
        return PAIRS_ENOUGH;
    return s->uses_all_time ? PAIRS_MORE : PAIRS_BY_WIDTH;
}

double pairs_narrow(double resolution) {
    double left = (1 + resolution) / (1 + MEASUREMENT_MARGIN) / (1 + apart) - 1;
    return left / (1 + error_share);
}

double pairs_resolution(double half_width) {
    double left = half_width * (1 + error_share);
    return (1 + left) * (1 + MEASUREMENT_MARGIN) * (1 + apart) - 1;
}

int pairs_pick(const bool *is_slowed, const bool *is_disturbed, int n, int *picked) {
    int n_quiet = 0, n_counted = 0, n_picked = 0;
    for (int i = 0; i < n; i++) {
        n_counted += !is_slowed[i];
        n_quiet += !is_slowed[i] && !is_disturbed[i];
    }
    bool drop = 2 * n_quiet > n_counted && n_quiet >= PAIRS_USUAL;
    for (int i = 0; i < n; i++)
        if (!is_slowed[i] && !(drop && is_disturbed[i]))
            picked[n_picked++] = i;
    return n_picked;
}
