#include <criterion/criterion.h>
#include <glob.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../../bench/estimates.h"
#include "base/rng.h"
#include "eval/samples.h"
#include "record/measurement.h"

enum { PAIRS_MOST = 4000 };

static double ones[PAIRS_MOST];

// Pairs with these ratios.
static struct pair_times pairs_of(const double *ratios, int n) {
    for (int i = 0; i < n; i++)
        ones[i] = 1;
    return (struct pair_times){ones, ratios, n};
}

static struct estimate median_of(const double *ratios, int n, uint64_t seed) {
    struct pair_times p = pairs_of(ratios, n);
    return estimate_interval(estimator_median, &p, 0.99, seed);
}

static const struct estimator *find(const char *name) {
    int i = 0;
    while (i < ESTIMATES && strcmp(estimates_at(i)->name, name) != 0)
        i++;
    cr_assert(i < ESTIMATES, "%s", name);
    return estimates_at(i);
}

Test(estimate, each_is_what_its_name_says) {
    double room[40], subject[20], baseline[20];
    // Ratios 1.00, 1.01, ...: the baseline's times ascend, one of the subject's is an outlier.
    for (int i = 0; i < 20; i++) {
        subject[i] = 1;
        baseline[i] = 1 + 0.01 * i;
    }
    struct pair_times p = {subject, baseline, 20};
    cr_expect_float_eq(find("median")->of(&p, room), 1.095, 1e-12);
    cr_expect_float_eq(find("medians")->of(&p, room), 1.095, 1e-12);
    cr_expect_float_eq(find("quarters")->of(&p, room), 1.04, 1e-12, "the fifth of twenty");
    cr_expect_float_eq(find("low")->of(&p, room), 1.01, 1e-12, "the second");
    cr_expect_float_eq(find("lowest")->of(&p, room), 1, 1e-12, "the first");
    cr_expect_float_eq(find("trimmed")->of(&p, room), 1.0946, 1e-3);
    cr_expect_float_eq(find("means")->of(&p, room), 1.0942, 1e-3);
    baseline[0] = 100;
    cr_expect_float_eq(find("median")->of(&p, room), 1.105, 1e-12);
    cr_expect_float_eq(find("trimmed")->of(&p, room), 1.1046, 1e-3);
    cr_expect_eq(baseline[0], 100, "the samples keep their order");
    for (int i = 0; i < ESTIMATES; i++) {
        struct pair_times one = {subject, subject, 1};
        const struct estimator *e = estimates_at(i);
        cr_expect_eq(e->of(&one, room), 1, "%s of one pair", e->name);
    }
}

Test(estimate, a_slowdown_of_all_calls_is_what_each_finds) {
    double room[200], subject[100], baseline[100];
    struct rng r;
    rng_init(&r, 3);
    for (int i = 0; i < 100; i++) {
        baseline[i] = 1 + rng_unit(&r);
        subject[i] = 1.25 * baseline[i];
    }
    struct pair_times p = {subject, baseline, 100};
    for (int i = 0; i < ESTIMATES; i++)
        cr_expect_float_eq(estimates_at(i)->of(&p, room), 0.8, 1e-12, "%s", estimates_at(i)->name);
}

Test(estimate, of_nothing_is_nothing) {
    struct pair_times none = {ones, ones, 0};
    struct estimate e = estimate_speedup(&none, 0.99, 1);
    cr_expect(isnan(e.value) && isnan(e.low) && isnan(e.high));
    cr_expect_eq(e.confidence, 0);
}

Test(estimate, few_pairs_get_their_range_widened) {
    double v[] = {1.0, 1.1, 0.9, 1.2};
    struct estimate i = median_of(v, 4, 1);
    cr_expect_eq(i.confidence, 0.99);
    cr_expect_float_eq(i.low, 0.9 * 0.9 / 1.2, 1e-12);
    cr_expect_float_eq(i.high, 1.2 * 1.2 / 0.9, 1e-12);
    cr_expect_float_eq(i.value, 1.05, 1e-12);
    // Three say less than was asked for, and that is told.
    i = median_of(v, 3, 1);
    cr_expect_eq(i.confidence, 0.75);
}

Test(estimate, so_few_pairs_cover_the_median_too) {
    struct rng r;
    rng_init(&r, 5);
    int missed = 0;
    enum { TRIALS = 2000 };
    for (int t = 0; t < TRIALS; t++) {
        double v[4];
        for (int i = 0; i < 4; i++)
            v[i] = exp(0.02 * (rng_unit(&r) + rng_unit(&r) + rng_unit(&r) - 1.5));
        struct estimate i = median_of(v, 4, (uint64_t)t);
        missed += i.low > 1 || i.high < 1;
    }
    cr_expect_leq(missed, 40, "%d of %d", missed, TRIALS);
}

// ---- four pairs, by noises of every kind

static double normal(struct rng *r) {
    return sqrt(-2 * log(1 - rng_unit(r))) * cos(6.283185307179586 * rng_unit(r));
}

// How long a call takes against what it would alone; `memory` is what goes on from call to call.
static double varied(struct rng *r, int kind, double *memory) {
    double jitter = exp(0.05 * normal(r)), u = rng_unit(r);
    switch (kind) {
    case 0:
        return jitter;
    case 1:
        return exp(0.5 * normal(r));
    case 2:
        return exp(normal(r));
    case 3:
        return exp(2 * normal(r));
    case 4:
        return jitter * (u < 0.5 ? 3 : 1);
    case 5:
        return jitter * (u < 0.5 ? 10 : 1);
    case 6:
        return jitter * (u < 0.3 ? 20 : 1);
    case 7:
        return 1 / (1 - u);
    case 8:
        return pow(1000, u);
    case 9:
        *memory = 0.5 * *memory + sqrt(0.75) * normal(r);
        return exp(*memory);
    default:
        *memory = u < 0.2 ? 1 - *memory : *memory;
        return jitter * (*memory > 0.5 ? 20 : 1);
    }
}
enum { NOISES = 11 };

// Four pairs, ABBA or BAAB by a coin, of kernels that differ by `ratio`.
static struct estimate four_pairs(struct rng *r, int kind, double ratio) {
    double t[4], subject[4], baseline[4], memory = rng_unit(r) < 0.5;
    for (int block = 0; block < 2; block++) {
        int swap = rng_unit(r) < 0.5;
        for (int i = 0; i < 4; i++)
            t[i] = varied(r, kind, &memory);
        for (int i = 0; i < 2; i++) {
            subject[2 * block + i] = t[2 * i + (swap ^ i)];
            baseline[2 * block + i] = ratio * t[2 * i + (swap ^ i ^ 1)];
        }
    }
    struct pair_times p = {subject, baseline, 4};
    return estimate_interval(estimator_median, &p, 0.99, 1);
}

Test(estimate, four_pairs_of_one_kernel_are_not_called_different) {
    enum { TRIALS = 20000 };
    struct rng r;
    rng_init(&r, 41);
    for (int kind = 0; kind < NOISES; kind++) {
        int different = 0, missed = 0;
        for (int t = 0; t < TRIALS; t++) {
            struct estimate e = four_pairs(&r, kind, 1);
            different += measurement_order(e.low, e.high) != 0;
            e = four_pairs(&r, kind, 140);
            missed += e.low > 140 || e.high < 140;
        }
        // 1%, and what 20000 trials of exactly that may show.
        cr_expect_leq(different, 1.2 * TRIALS / 100, "noise %d: %d", kind, different);
        cr_expect_leq(missed, 1.2 * TRIALS / 100, "noise %d: %d missed", kind, missed);
    }
}

// 28 ms against 3.9 s on a busy machine: calls of a kernel take up to twenty times as long as
// others of it, and all of one are still shorter than any of the other.
Test(estimate, four_pairs_tell_what_is_far_apart) {
    double subject[] = {0.028, 0.41, 0.031, 0.19}, baseline[] = {3.9, 4.4, 19.5, 4.1};
    struct pair_times p = {subject, baseline, 4};
    struct estimate e = estimate_interval(estimator_median, &p, 0.99, 1);
    cr_expect_float_eq(e.low, 3.9 / 0.41 / 4, 1e-9);
    cr_expect_eq(measurement_order(e.low, e.high), 1);
    struct pair_times turned = {baseline, subject, 4};
    e = estimate_interval(estimator_median, &turned, 0.99, 1);
    cr_expect_float_eq(e.high, 0.41 / 3.9 * 4, 1e-9);
    cr_expect_eq(measurement_order(e.low, e.high), -1);
    enum { TRIALS = 2000 };
    struct rng r;
    rng_init(&r, 43);
    int told = 0;
    for (int t = 0; t < TRIALS; t++) {
        e = four_pairs(&r, 10, 140);
        told += measurement_order(e.low, e.high) == 1;
    }
    cr_expect_eq(told, TRIALS, "%d of %d", told, TRIALS);
    // Three times, which such a machine cannot tell from noise.
    for (int i = 0; i < 4; i++)
        baseline[i] *= 3.0 / 140;
    e = estimate_interval(estimator_median, &p, 0.99, 1);
    cr_expect_eq(measurement_order(e.low, e.high), 0);
}

Test(estimate, one_outlier_does_not_move_a_long_series) {
    double v[100];
    for (int i = 0; i < 100; i++)
        v[i] = 1 + 0.001 * (i % 10);
    v[37] = 50;
    struct estimate i = median_of(v, 100, 1);
    cr_expect_eq(i.confidence, 0.99);
    cr_expect_lt(i.high, 1.01);
    cr_expect_gt(i.low, 0.999);
}

// Covers the true median about as often as it says, for a skewed distribution, where each
// block of two shares a disturbance.
Test(estimate, interval_covers_the_median) {
    struct rng r;
    rng_init(&r, 7);
    int missed = 0;
    enum { TRIALS = 1000, PAIRS = 16 };
    for (int t = 0; t < TRIALS; t++) {
        double v[PAIRS];
        for (int i = 0; i < PAIRS; i += 2)
            for (int k = 0; k < 2; k++)
                v[i + k] = exp(0.02 * (rng_unit(&r) + rng_unit(&r) - 1) +
                               (rng_unit(&r) < 0.05 ? 0.3 * (rng_unit(&r) - 0.5) : 0));
        struct estimate i = median_of(v, PAIRS, (uint64_t)t);
        missed += i.low > 1 || i.high < 1;
    }
    cr_expect_leq(missed, 20, "%d of %d", missed, TRIALS);
}

Test(estimate, same_seed_same_interval) {
    double v[] = {1.0, 1.1, 0.9, 1.2, 1.05, 0.97, 1.3, 0.8, 1.01, 1.02};
    struct estimate a = median_of(v, 10, 5), b = median_of(v, 10, 5);
    cr_expect_eq(a.low, b.low);
    cr_expect_eq(a.high, b.high);
}

// Busy moments of eight pairs: neighbours are alike, and the interval must know.
Test(estimate, interval_covers_the_median_of_correlated_samples) {
    struct rng r;
    rng_init(&r, 11);
    int missed = 0;
    enum { TRIALS = 150, PAIRS = 200 };
    for (int t = 0; t < TRIALS; t++) {
        double v[PAIRS], moment = 0;
        for (int i = 0; i < PAIRS; i++) {
            if (i % 8 == 0)
                moment = 0.05 * (rng_unit(&r) - 0.5);
            v[i] = exp(moment + 0.01 * (rng_unit(&r) - 0.5));
        }
        struct estimate i = median_of(v, PAIRS, (uint64_t)t);
        missed += i.low > 1 || i.high < 1;
    }
    cr_expect_leq(missed, 4, "%d of %d", missed, TRIALS);
}

Test(estimate, very_long_series_have_an_interval_too) {
    enum { N = 4000 };
    static double v[N];
    for (int i = 0; i < N; i++)
        v[i] = 1 + 0.01 * (i % 7 - 3);
    struct estimate i = median_of(v, N, 1);
    cr_expect_float_eq(i.value, 1, 0.01);
    cr_expect(i.low <= i.value && i.high >= i.value && i.high - i.low < 0.03);
}

// Times of a kernel against itself while others use the machine: half of the calls take longer, up
// to three times as long.
static double draw_noisy(struct rng *r) {
    return 1 + 0.01 * rng_unit(r) + (rng_unit(r) < 0.5 ? 2 * rng_unit(r) : 0);
}

Test(estimate, low_quantiles_see_through_noise) {
    enum { TRIALS = 30, N = 200 };
    double subject[N], baseline[N], median_width = 0, width = 0;
    int missed = 0;
    struct rng r;
    rng_init(&r, 21);
    for (int t = 0; t < TRIALS; t++) {
        for (int i = 0; i < N; i++) {
            subject[i] = draw_noisy(&r);
            baseline[i] = draw_noisy(&r);
        }
        struct pair_times p = {subject, baseline, N};
        struct estimate m = estimate_interval(estimator_median, &p, 0.99, (uint64_t)t);
        struct estimate e = estimate_speedup(&p, 0.99, (uint64_t)t);
        median_width += (m.high - m.low) / 2 / TRIALS;
        width += (e.high - e.low) / 2 / TRIALS;
        missed += e.low > 1 || e.high < 1;
    }
    cr_expect_leq(missed, 1);
    cr_expect_lt(width, 0.01);
    cr_expect_gt(median_width, 4 * width, "%g", median_width);
}

// Times that drift slowly, together: pairs see through that, quantiles of all times do not.
Test(estimate, the_median_sees_through_drift) {
    enum { N = 200 };
    double subject[N], baseline[N];
    struct rng r;
    rng_init(&r, 22);
    for (int i = 0; i < N; i++) {
        double drift = 1 + 0.2 * sin(i * 0.7);
        subject[i] = drift * (1 + 0.001 * rng_unit(&r));
        baseline[i] = 1.03 * drift * (1 + 0.001 * rng_unit(&r));
    }
    struct pair_times p = {subject, baseline, N};
    struct estimate e = estimate_speedup(&p, 0.99, 1);
    cr_expect_float_eq(e.value, 1.03, 0.001);
    cr_expect_lt(e.high - e.low, 0.002);
}

// One that is fast in a quarter of its calls and slower in all others is not called faster.
Test(estimate, a_kernel_that_is_fast_now_and_then_is_not_faster) {
    enum { N = 400 };
    double subject[N], baseline[N];
    struct rng r;
    rng_init(&r, 23);
    for (int i = 0; i < N; i++) {
        subject[i] = (rng_unit(&r) < 0.25 ? 0.5 : 1.2) * (1 + 0.01 * rng_unit(&r));
        baseline[i] = 1 + 0.01 * rng_unit(&r);
    }
    struct pair_times p = {subject, baseline, N};
    struct estimate low = estimate_interval(estimator_low, &p, 0.99, 1);
    cr_expect_gt(low.low, 1.9, "the low quantiles alone would have said so");
    struct estimate e = estimate_speedup(&p, 0.99, 1);
    cr_expect_lt(e.low, 0.85);
    cr_expect_gt(e.high, 1.9);
    cr_expect_lt(e.value, 0.85);
}

Test(estimate, with_few_pairs_intervals_are_widened) {
    double v[48];
    for (int i = 0; i < 48; i++)
        v[i] = 1 + 0.001 * (i % 8);
    struct estimate eight = median_of(v, 8, 1);
    cr_expect_float_eq(eight.low, pow(1.007, -0.25), 1e-12);
    cr_expect_float_eq(eight.high, pow(1.007, 1.25), 1e-12);
    cr_expect_eq(eight.confidence, 0.99, "1 - 2 / 2^8 is above it");
    // From ESTIMATE_ENOUGH on it is not.
    struct pair_times p = pairs_of(v, ESTIMATE_ENOUGH);
    struct estimate enough = estimate_interval(estimator_median, &p, 0.99, 1);
    cr_expect_geq(enough.low, 1);
    cr_expect_leq(enough.high, 1.007);
}

static const struct samples_question all = {.confidence = 0.99, .seed = 1, .uses_low = true};

static struct samples *equal_samples(int n) {
    static struct samples s;
    s.n_pairs = n;
    for (int i = 0; i < n; i++) {
        s.subject_s[i] = 1 + 0.001 * (i % 7);
        s.baseline_s[i] = 1 + 0.001 * (i % 5);
    }
    return &s;
}

Test(samples, say_what_their_stretches_say) {
    struct samples *s = equal_samples(200);
    for (int i = 100; i < 200; i++)
        s->subject_s[i] *= 2;
    struct samples_question q = all;
    q.to = 100;
    cr_expect_float_eq(samples_estimate(s, &q).value, 1, 0.01);
    q.from = 100, q.to = 200;
    cr_expect_float_eq(samples_estimate(s, &q).value, 0.5, 0.01);
    // What was disturbed does not count.
    for (int i = 150; i < 200; i += 2)
        s->is_disturbed[i] = true, s->subject_s[i] = 1000;
    cr_expect_float_eq(samples_estimate(s, &q).value, 0.5, 0.01);
    cr_expect_leq(samples_estimate(s, &q).high, 0.51);
    int picked[200];
    cr_expect_eq(samples_pick(s, 100, 200, picked), 75);
    cr_expect_eq(picked[0], 100);
}

// What a look at the order alone calls too wide, the whole interval is not narrower than.
Test(samples, are_looked_at_before_a_bootstrap) {
    struct samples *s = equal_samples(200);
    struct rng r;
    int n_narrow = 0, n_wide = 0;
    rng_init(&r, 5);
    for (int trial = 0; trial < 60; trial++) {
        struct samples_question q = all;
        q.uses_low = trial % 2;
        q.to = 8 + (int)rng_below(&r, 190);
        for (int i = 0; i < q.to; i++) {
            s->subject_s[i] = 1 + 1e-4 * (double)rng_below(&r, 1 + 20 * (uint64_t)trial);
            s->baseline_s[i] = 1 + 1e-4 * (double)rng_below(&r, 1 + 20 * (uint64_t)trial);
        }
        struct estimate e = samples_estimate(s, &q);
        bool is_narrow = estimate_is_narrow(&e, 0.01), may = samples_may_be_narrow(s, &q, 0.01);
        cr_expect(may || !is_narrow, "trial %d", trial);
        n_narrow += is_narrow;
        n_wide += !may;
    }
    cr_expect(n_narrow > 5 && n_wide > 5, "%d narrow, %d too wide at a look", n_narrow, n_wide);
}

Test(samples, say_of_each_pair_what_it_was) {
    struct samples *s = equal_samples(20);
    int picked[20];
    char marks[21];
    s->is_disturbed[2] = s->is_disturbed[3] = s->is_slowed[5] = true;
    int n = samples_pick(s, 0, 20, picked);
    samples_mark(s, picked, n, marks);
    cr_expect_str_eq(marks, "..xx.s..............");
    // Too many are disturbed: they count, and are marked still.
    for (int i = 8; i < 20; i++)
        s->is_disturbed[i] = true;
    n = samples_pick(s, 0, 20, picked);
    samples_mark(s, picked, n, marks);
    cr_expect_eq(n, 19);
    cr_expect_str_eq(marks, "..dd.s..dddddddddddd");
}

Test(samples, a_crowded_machine_is_trusted_less) {
    struct samples *s = equal_samples(160);
    struct samples_question q = all;
    q.to = 160;
    for (int i = 0; i < 40; i++)
        s->is_disturbed[i] = true;
    struct estimate calm = samples_estimate(s, &q);
    // One more, and it is more than a quarter; which one is left out makes no difference here.
    s->is_disturbed[40] = s->is_disturbed[41] = true;
    struct estimate crowded = samples_estimate(s, &q);
    cr_expect_gt(crowded.high / crowded.low, 1.2 * (calm.high / calm.low - 1) + 1);
    // Of so few, widened already, it is not widened again.
    q.from = 0, q.to = 30;
    struct estimate few = samples_estimate(s, &q);
    struct pair_times p = {s->subject_s, s->baseline_s, 30};
    cr_expect_eq(few.high, estimate_speedup(&p, 0.99, 1).high);
}

Test(samples, a_place_cancels_when_it_is_changed) {
    struct samples *s = equal_samples(200);
    s->n_before_swap = 100;
    for (int i = 0; i < 200; i++)
        *(i < 100 ? &s->subject_s[i] : &s->baseline_s[i]) *= 1.1;
    struct samples_question q = all;
    q.to = 200;
    struct estimate e = samples_estimate(s, &q);
    cr_expect_float_eq(e.value, 1, 0.005);
    cr_expect(e.low < 1 && e.high > 1 && e.high - e.low < 0.02);
}

// Pairs of 50 ms: stretches of one and of two seconds, one after the other.
Test(trials, are_stretches_of_a_longer_comparison) {
    static struct samples s;
    static struct trials l;
    trials_add(&l, 1);
    trials_add(&l, 2);
    trials_begin(&l, 1000000000);
    for (s.n_pairs = 2; s.n_pairs <= 90; s.n_pairs += 2)
        trials_note(&l, &s, 1000000000 + s.n_pairs * 50000000LL);
    static const struct trial want[] = {{1, 0, 22, 0},  {2, 0, 42, 0},  {1, 22, 44, 0},
                                        {1, 44, 66, 0}, {2, 42, 84, 0}, {1, 66, 88, 0}};
    cr_assert_eq(l.n_ended, 6);
    for (int i = 0; i < 6; i++) {
        cr_expect_eq(l.ended[i].seconds, want[i].seconds, "%d", i);
        cr_expect_eq(l.ended[i].from, want[i].from, "%d: %d", i, l.ended[i].from);
        cr_expect_eq(l.ended[i].to, want[i].to, "%d: %d", i, l.ended[i].to);
    }
}

// A stretch of slow pairs has eight of them, as a comparison has, however short it was to be.
Test(trials, have_as_many_pairs_as_a_comparison) {
    static struct samples s;
    static struct trials l;
    trials_add(&l, 1);
    trials_begin(&l, 0);
    for (s.n_pairs = 2; s.n_pairs <= 16; s.n_pairs += 2)
        trials_note(&l, &s, s.n_pairs * 300000000LL);
    cr_assert_eq(l.n_ended, 2);
    cr_expect_eq(l.ended[0].to, 8);
    cr_expect_eq(l.ended[1].from, 8);
}

Test(trials, end_where_there_is_no_room) {
    static struct samples s;
    static struct trials l;
    trials_add(&l, 0.001);
    trials_begin(&l, 0);
    for (s.n_pairs = 8; s.n_pairs <= 8 * (TRIALS_ROOM + 3); s.n_pairs += 8)
        trials_note(&l, &s, s.n_pairs * 1000000LL);
    cr_expect_eq(l.n_ended, TRIALS_ROOM);
}

// Kept samples of kernels against themselves, from busy hours. Either could be called the subject
// in each ABBA, so names are given by chance; the data and the chance are the same on every
// machine.
enum { KEPT_MOST = 2000 };

struct kept {
    double subject_s[KEPT_MOST], baseline_s[KEPT_MOST];
    int n;
};

static bool is_called_different(const struct kept *k, int from, int n, struct rng *r) {
    double subject[KEPT_MOST], baseline[KEPT_MOST];
    for (int i = 0; i < n; i += 2) {
        bool swap = rng_below(r, 2);
        for (int j = i; j < i + 2; j++) {
            subject[j] = swap ? k->baseline_s[from + j] : k->subject_s[from + j];
            baseline[j] = swap ? k->subject_s[from + j] : k->baseline_s[from + j];
        }
    }
    struct pair_times p = {subject, baseline, n};
    struct estimate e = estimate_speedup(&p, 0.99, rng_next(r));
    return measurement_order(e.low, e.high) != 0;
}

// At most one in a hundred, as is promised, in each file and for each length.
static void check_kept(const char *path) {
    static struct kept k;
    char line[256];
    FILE *f = fopen(path, "r");
    cr_assert(f, "%s", path);
    for (k.n = 0; k.n < KEPT_MOST && fgets(line, sizeof line, f);)
        k.n += sscanf(line, "%lf %lf", &k.subject_s[k.n], &k.baseline_s[k.n]) == 2;
    fclose(f);
    cr_assert_geq(k.n, 200, "%s: %d pairs", path, k.n);
    static const int lengths[] = {8, 40, 100};
    for (int l = 0; l < 3; l++) {
        struct rng r;
        rng_init(&r, 31);
        int trials = 0, different = 0, n = lengths[l];
        for (int at = 0; at + n <= k.n; at += n, trials++)
            different += is_called_different(&k, at, n, &r);
        cr_expect_leq(100 * different, trials, "%s: %d of %d windows of %d", path, different,
                      trials, n);
    }
}

Test(estimate, kept_samples_of_identical_kernels_are_not_called_different) {
    glob_t files;
    cr_assert(glob("tests/fixtures/timing/*.txt", 0, NULL, &files) == 0 && files.gl_pathc >= 9);
    for (size_t i = 0; i < files.gl_pathc; i++)
        check_kept(files.gl_pathv[i]);
    globfree(&files);
}

// All pairs of comparisons in which many were disturbed, with their marks: what the judge makes of
// stretches of them, with names by chance. Each trial has 600, so that no window is of two.
static void check_raw(const char *path) {
    static struct samples kept, window;
    char line[256], mark[16];
    FILE *f = fopen(path, "r");
    cr_assert(f, "%s", path);
    int n_marked = 0;
    for (kept.n_pairs = 0; kept.n_pairs < PAIRS_ROOM && fgets(line, sizeof line, f);) {
        int i = kept.n_pairs;
        int n = sscanf(line, "%lf %lf %15s", &kept.subject_s[i], &kept.baseline_s[i], mark);
        kept.is_disturbed[i] = n == 3 && strcmp(mark, "left-out") == 0;
        n_marked += kept.is_disturbed[i];
        kept.n_pairs += n >= 2;
    }
    fclose(f);
    cr_assert_eq(kept.n_pairs, 2400, "%s: %d pairs", path, kept.n_pairs);
    cr_assert_gt(n_marked, 100, "%s: %d left out", path, n_marked);
    static const int lengths[] = {8, 40, 100};
    for (int l = 0; l < 3; l++) {
        struct samples_question q = {
            .to = lengths[l], .confidence = 0.99, .seed = 31, .uses_low = true};
        struct rng r;
        rng_init(&r, 31);
        int trials = 0, different = 0;
        for (int at = 0; at + q.to <= kept.n_pairs; at += q.to, trials++) {
            window.n_pairs = q.to;
            uint64_t swap = 0;
            for (int i = 0; i < q.to; i++) {
                swap = i % 2 ? swap : rng_below(&r, 2);
                window.subject_s[i] = swap ? kept.baseline_s[at + i] : kept.subject_s[at + i];
                window.baseline_s[i] = swap ? kept.subject_s[at + i] : kept.baseline_s[at + i];
                window.is_disturbed[i] = kept.is_disturbed[at + i];
            }
            struct estimate e = samples_estimate(&window, &q);
            different += measurement_order(e.low, e.high) != 0;
        }
        cr_expect_leq(100 * different, trials, "%s: %d of %d windows of %d", path, different,
                      trials, q.to);
    }
}

Test(samples, kept_with_their_marks_are_not_called_different) {
    glob_t files;
    cr_assert(glob("tests/fixtures/timing-raw/crowded-*.txt", 0, NULL, &files) == 0 &&
              files.gl_pathc == 3);
    for (size_t i = 0; i < files.gl_pathc; i++)
        check_raw(files.gl_pathv[i]);
    globfree(&files);
}
