// Two estimates; order statistics and a moving-block bootstrap for their intervals:
// neighbouring pairs of a busy machine are not independent.
#include "eval/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

// A bootstrap looks at about RESAMPLED pairs in all, within these limits.
enum { RESAMPLES = 2000, RESAMPLES_LEAST = 400, RESAMPLED = 1600000, UNITS = 20 };
// From FEW pairs on, the whole range widened by itself on both sides is an interval: for four
// values of a normal distribution Student's is about as wide. From USUAL on a quarter will do.
enum { FEW = 4, USUAL = 8 };
// Where so few pairs do not overlap by this factor, that alone is evidence (by_gap).
static const double GAP = 4;

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *allocate(size_t n) {
    double *values = malloc(sizeof *values * (n ? n : 1));
    if (!values)
        abort();
    return values;
}

// The k-th smallest (from 0); what is before it is not larger then (Hoare).
static double nth(double *v, int n, int k) {
    int low = 0, high = n - 1;
    while (low < high) {
        double pivot = v[low + (high - low) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i <= j) {
                double t = v[i];
                v[i++] = v[j];
                v[j--] = t;
            }
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            break;
    }
    return v[k];
}

static double middle(double *v, int n) {
    double upper = nth(v, n, n / 2), lower = v[0];
    if (n % 2)
        return upper;
    for (int i = 1; i < n / 2; i++)
        lower = fmax(lower, v[i]);
    return (lower + upper) / 2;
}

// ---- the estimates

static double median_of_ratios(const struct pair_times *p, double *room) {
    for (int i = 0; i < p->n; i++)
        room[i] = p->baseline_s[i] / p->subject_s[i];
    return middle(room, p->n);
}

static double ratio_of_tenths(const struct pair_times *p, double *room) {
    int rank = (int)ceil(0.1 * p->n) - 1;
    memcpy(room, p->subject_s, sizeof *room * (size_t)p->n);
    memcpy(room + p->n, p->baseline_s, sizeof *room * (size_t)p->n);
    return nth(room + p->n, p->n, rank) / nth(room, p->n, rank);
}

const struct estimator *const estimator_median =
    &(const struct estimator){"median", "median of ratios", median_of_ratios};
const struct estimator *const estimator_low =
    &(const struct estimator){"low", "ratio of 10% quantiles", ratio_of_tenths};

// ---- intervals

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

static struct pair_times part(const struct pair_times *p, int from, int n) {
    return (struct pair_times){p->subject_s + from, p->baseline_s + from, n};
}

// Between the k-th smallest and the k-th largest of the estimates of `length` neighbours each.
static struct estimate by_order(const struct estimator *e, const struct pair_times *p,
                                double confidence, double *room) {
    int length = p->n / UNITS > 1 ? p->n / UNITS : 1, n_units = p->n / length;
    double *units = allocate((size_t)n_units), attained;
    for (int i = 0; i < n_units; i++) {
        struct pair_times unit = part(p, i * length, length);
        units[i] = e->of(&unit, room);
    }
    qsort(units, (size_t)n_units, sizeof *units, ascending);
    int k = order_rank(n_units, confidence, &attained);
    struct estimate interval = {
        .low = units[k], .high = units[n_units - 1 - k], .confidence = fmin(confidence, attained)};
    free(units);
    return interval;
}

static int resamples(int n) {
    int count = RESAMPLED / n;
    return count > RESAMPLES ? RESAMPLES : count < RESAMPLES_LEAST ? RESAMPLES_LEAST : count;
}

// Resample blocks of neighbours with replacement.
struct estimate estimate_bootstrap(const struct estimator *e, const struct pair_times *p,
                                   double confidence, uint64_t seed) {
    int length = p->n / UNITS > 2 ? p->n / UNITS / 2 * 2 : 2, n_blocks = p->n / length;
    int n = n_blocks * length, count = resamples(p->n);
    double *sample = allocate(2 * (size_t)n), *room = allocate(2 * (size_t)p->n);
    double *seen = allocate((size_t)count);
    size_t block = sizeof *sample * (size_t)length;
    struct pair_times resampled = {sample, sample + n, n};
    struct rng r;
    rng_init(&r, seed);
    for (int i = 0; i < count; i++) {
        for (int b = 0; b < n_blocks; b++) {
            uint64_t pick = rng_below(&r, (uint64_t)n_blocks) * (uint64_t)length;
            memcpy(sample + b * length, p->subject_s + pick, block);
            memcpy(sample + n + b * length, p->baseline_s + pick, block);
        }
        seen[i] = e->of(&resampled, room);
    }
    qsort(seen, (size_t)count, sizeof *seen, ascending);
    int cut = (int)floor((1 - confidence) / 2 * count);
    struct estimate interval = {.value = e->of(p, room),
                                .low = seen[cut],
                                .high = seen[count - 1 - cut],
                                .confidence = confidence};
    free(sample);
    free(room);
    free(seen);
    return interval;
}

bool estimate_is_narrow(const struct estimate *e, double share) {
    return (e->high - e->low) / 2 < share * e->value;
}

struct estimate estimate_widen(struct estimate e, double by) {
    double factor = pow(e.high / e.low, by);
    return (struct estimate){e.value, e.low / factor, e.high * factor, e.confidence};
}

static void range_of(const double *v, int n, double *low, double *high) {
    *low = *high = v[0];
    for (int i = 1; i < n; i++) {
        *low = fmin(*low, v[i]);
        *high = fmax(*high, v[i]);
    }
}

// A few pairs whose ratios vary by more than the speed-up itself have a widened range that holds 1,
// even where every call of one kernel takes twenty times as long as any of the other. What they do
// say: were the kernels equally fast and calls independent, n calls of one would all lie below a
// given time and n of the other all above it with a probability of (F (1 - F))^n, at most 4^-n,
// F being the share of calls below that time. That is 1/256 either way for four pairs, 0.8% both
// ways. Times that are apart by a factor of GAP have a power of GAP between them, and calls of one
// kernel hardly spread over several of those, so that holds for whichever power it is. The same of
// times that are scaled bounds the ratio. By simulation (test_estimate.c) intervals miss what they
// shall hold in at most 1% of noises that vary by 3 to 1000 times, in 1.4% of one that was made
// for it (40% of calls take 1, 20% take 10, 40% take 100).
static struct estimate by_gap(const struct pair_times *p, struct estimate e) {
    double least, most, baseline_least, baseline_most;
    range_of(p->subject_s, p->n, &least, &most);
    range_of(p->baseline_s, p->n, &baseline_least, &baseline_most);
    e.low = fmax(e.low, baseline_least / most / GAP);
    e.high = fmin(e.high, baseline_most / least * GAP);
    return e;
}

struct estimate estimate_by_order(const struct estimator *e, const struct pair_times *p,
                                  double confidence) {
    if (p->n == 0)
        return (struct estimate){NAN, NAN, NAN, 0};
    double *room = allocate(2 * (size_t)p->n);
    struct estimate order = by_order(e, p, confidence, room);
    order.value = e->of(p, room);
    free(room);
    return order;
}

struct estimate estimate_interval(const struct estimator *e, const struct pair_times *p,
                                  double confidence, uint64_t seed) {
    struct estimate order = estimate_by_order(e, p, confidence);
    if (p->n < FEW)
        return order;
    if (p->n < USUAL) {
        order.confidence = confidence;
        return by_gap(p, estimate_widen(order, 1));
    }
    struct estimate boot = estimate_bootstrap(e, p, confidence, seed);
    order.low = fmin(order.low, boot.low);
    order.high = fmax(order.high, boot.high);
    return p->n < ESTIMATE_ENOUGH ? estimate_widen(order, 0.25) : order;
}

struct estimate estimate_narrower(const struct estimator *other, const struct pair_times *p,
                                  double confidence, uint64_t seed) {
    if (p->n < ESTIMATE_ENOUGH)
        return estimate_interval(estimator_median, p, confidence, seed);
    // Each is wrong half as often, so that both together are not more often than was asked for.
    double each = 1 - (1 - confidence) / 2;
    struct estimate m = estimate_interval(estimator_median, p, each, seed);
    struct estimate l = estimate_interval(other, p, each, seed);
    struct estimate best = l.high - l.low < m.high - m.low ? l : m;
    if (l.high < m.low || l.low > m.high)
        best = (struct estimate){m.value, fmin(m.low, l.low), fmax(m.high, l.high), 0};
    best.confidence = confidence;
    return best;
}

struct estimate estimate_speedup(const struct pair_times *p, double confidence, uint64_t seed) {
    return estimate_narrower(estimator_low, p, confidence, seed);
}
