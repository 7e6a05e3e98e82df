#include <criterion/criterion.h>
#include <math.h>

#include "base/rng.h"
#include "eval/pairs.h"
#include "eval/stats.h"

Test(stats, median_of_odd_even_and_no_values) {
    double v[] = {3, 1, 2, 10};
    cr_expect_eq(stats_median(v, 3), 2);
    cr_expect_eq(stats_median(v, 4), 2.5);
    cr_expect(isnan(stats_median(v, 0)));
    cr_expect_eq(v[0], 3, "the samples keep their order");
}

Test(stats, few_pairs_get_their_range_widened) {
    double v[] = {1.0, 1.1, 0.9, 1.2};
    struct stats_interval i = stats_ratio(v, 4, 0.99, 1);
    cr_expect_eq(i.confidence, 0.99);
    cr_expect_float_eq(i.low, 0.6, 1e-12);
    cr_expect_float_eq(i.high, 1.5, 1e-12);
    cr_expect_float_eq(i.median, 1.05, 1e-12);
    // Three say less than was asked for, and that is told.
    i = stats_ratio(v, 3, 0.99, 1);
    cr_expect_eq(i.confidence, 0.75);
}

Test(stats, so_few_pairs_cover_the_median_too) {
    struct rng r;
    rng_init(&r, 5);
    int missed = 0;
    enum { TRIALS = 2000 };
    for (int t = 0; t < TRIALS; t++) {
        double v[4];
        for (int i = 0; i < 4; i++)
            v[i] = exp(0.02 * (rng_unit(&r) + rng_unit(&r) + rng_unit(&r) - 1.5));
        struct stats_interval i = stats_ratio(v, 4, 0.99, (uint64_t)t);
        missed += i.low > 1 || i.high < 1;
    }
    cr_expect_leq(missed, 40, "%d of %d", missed, TRIALS);
}

Test(stats, one_outlier_does_not_move_a_long_series) {
    double v[100];
    for (int i = 0; i < 100; i++)
        v[i] = 1 + 0.001 * (i % 10);
    v[37] = 50;
    struct stats_interval i = stats_ratio(v, 100, 0.99, 1);
    cr_expect_eq(i.confidence, 0.99);
    cr_expect_lt(i.high, 1.01);
    cr_expect_gt(i.low, 0.999);
}

// Covers the true median about as often as it says, for a skewed distribution, where each
// block of two shares a disturbance.
Test(stats, interval_covers_the_median) {
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
        struct stats_interval i = stats_ratio(v, PAIRS, 0.99, (uint64_t)t);
        missed += i.low > 1 || i.high < 1;
    }
    cr_expect_leq(missed, 20, "%d of %d", missed, TRIALS);
}

Test(stats, same_seed_same_interval) {
    double v[] = {1.0, 1.1, 0.9, 1.2, 1.05, 0.97, 1.3, 0.8, 1.01, 1.02};
    struct stats_interval a = stats_ratio(v, 10, 0.99, 5), b = stats_ratio(v, 10, 0.99, 5);
    cr_expect_eq(a.low, b.low);
    cr_expect_eq(a.high, b.high);
}

// Busy moments of eight pairs: neighbours are alike, and the interval must know.
Test(stats, interval_covers_the_median_of_correlated_samples) {
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
        struct stats_interval i = stats_ratio(v, PAIRS, 0.99, (uint64_t)t);
        missed += i.low > 1 || i.high < 1;
    }
    cr_expect_leq(missed, 4, "%d of %d", missed, TRIALS);
}

Test(pairs, are_eight_at_least_then_as_the_time_allows) {
    static const struct {
        struct pairs_state state;
        enum pairs_answer want;
    } cases[] = {
        // Quick calls: eight pairs, then by the width of the interval.
        {{.n_pairs = 2, .halves = 1, .spent_s = 0.001, .seconds = 2}, PAIRS_MORE},
        {{.n_pairs = 8, .halves = 1, .spent_s = 0.001, .seconds = 2}, PAIRS_BY_WIDTH},
        {{.n_pairs = 8, .halves = 2, .spent_s = 1.1, .seconds = 2}, PAIRS_ENOUGH},
        {{.n_pairs = 100, .halves = 1, .spent_s = 2.1, .seconds = 2}, PAIRS_ENOUGH},
        // The time is spent, but not four times over: eight pairs all the same.
        {{.n_pairs = 6, .halves = 1, .spent_s = 6, .seconds = 2}, PAIRS_MORE},
        // Slow calls: four pairs, however long they take, and not more.
        {{.n_pairs = 2, .halves = 1, .spent_s = 60, .seconds = 2}, PAIRS_MORE},
        {{.n_pairs = 4, .halves = 1, .spent_s = 120, .seconds = 2}, PAIRS_ENOUGH},
        // Slowed down all the time: it ends, and others decide what it was worth.
        {{.n_pairs = 40, .n_slowed = 40, .halves = 1, .spent_s = 1, .seconds = 2}, PAIRS_MORE},
        {{.n_pairs = 40, .n_slowed = 40, .halves = 1, .spent_s = 8, .seconds = 2}, PAIRS_ENOUGH},
        // All of the time, however narrow.
        {{.n_pairs = 900, .halves = 1, .uses_all_time = true, .spent_s = 1, .seconds = 2},
         PAIRS_MORE},
        {{.n_pairs = 900, .halves = 1, .uses_all_time = true, .spent_s = 2.1, .seconds = 2},
         PAIRS_ENOUGH},
        {{.n_pairs = PAIRS_MAX, .halves = 1, .spent_s = 0, .seconds = 2}, PAIRS_ENOUGH},
        {{.n_pairs = PAIRS_MAX / 2, .halves = 2, .spent_s = 0, .seconds = 2}, PAIRS_ENOUGH},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_eq(pairs_ask(&cases[i].state), cases[i].want, "case %zu", i);
}

Test(pairs, leave_out_what_was_slowed_or_disturbed) {
    bool slowed[20] = {0}, disturbed[20] = {0};
    int picked[20];
    cr_expect_eq(pairs_pick(slowed, disturbed, 20, picked), 20);
    slowed[3] = slowed[4] = disturbed[0] = true;
    cr_expect_eq(pairs_pick(slowed, disturbed, 20, picked), 17);
    cr_expect_eq(picked[0], 1);
    cr_expect_eq(picked[2], 5);
    // Of eight, one disturbed pair stays: too few would be left. A slowed one never does.
    cr_expect_eq(pairs_pick(slowed, disturbed, 8, picked), 6);
    cr_expect_eq(picked[0], 0);
    for (int i = 0; i < 20; i++)
        disturbed[i] = i % 3 != 0;
    cr_expect_eq(pairs_pick(slowed, disturbed, 20, picked), 18);
}

Test(stats, bounds_a_share) {
    cr_expect_float_eq(stats_share_bound(0, 100, 0.95), 1 - pow(0.05, 0.01), 1e-9);
    cr_expect_float_eq(stats_share_bound(0, 1000, 0.95), 0.00299, 1e-5);
    cr_expect_float_eq(stats_share_bound(3, 1000, 0.95), 0.00774, 1e-5);
    cr_expect_eq(stats_share_bound(5, 5, 0.95), 1);
    cr_expect_eq(stats_share_bound(0, 0, 0.95), 1);
}

Test(stats, very_long_series_are_shortened) {
    enum { N = 4000 };
    static double v[N];
    for (int i = 0; i < N; i++)
        v[i] = 1 + 0.01 * (i % 7 - 3);
    struct stats_interval i = stats_ratio(v, N, 0.99, 1);
    cr_expect_float_eq(i.median, 1, 0.01);
    cr_expect(i.low <= i.median && i.high >= i.median && i.high - i.low < 0.03);
}
