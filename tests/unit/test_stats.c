#include <criterion/criterion.h>
#include <math.h>

#include "base/rng.h"
#include "eval/pairs.h"
#include "eval/stats.h"
#include "record/measurement.h"

Test(stats, median_of_odd_even_and_no_values) {
    double v[] = {3, 1, 2, 10};
    cr_expect_eq(stats_median(v, 3), 2);
    cr_expect_eq(stats_median(v, 4), 2.5);
    cr_expect(isnan(stats_median(v, 0)));
    cr_expect_eq(v[0], 3, "the samples keep their order");
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
        // Asked for a resolution: by the width alone, with as many pairs as there is room for.
        {{.n_pairs = PAIRS_MAX, .halves = 1, .is_asked = true, .spent_s = 1, .seconds = 2},
         PAIRS_BY_WIDTH},
        {{.n_pairs = PAIRS_ROOM, .halves = 1, .is_asked = true, .spent_s = 1, .seconds = 2},
         PAIRS_ENOUGH},
        {{.n_pairs = 900, .halves = 1, .is_asked = true, .spent_s = 2.1, .seconds = 2},
         PAIRS_ENOUGH},
        {{.n_pairs = PAIRS_MAX / 2, .halves = 2, .spent_s = 0, .seconds = 2}, PAIRS_ENOUGH},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_eq(pairs_ask(&cases[i].state), cases[i].want, "case %zu", i);
}

// Where errors are as the interval says, a slow-down by the resolution is detected in 95% of
// comparisons whose interval is just narrow enough for it.
Test(pairs, an_interval_narrow_enough_for_a_resolution_tells_it_in_95_percent) {
    enum { TRIALS = 20000 };
    static const double apart = 0.0025;  // the two processes, in favour of the slower
    static const double resolutions[] = {0.008, 0.01, 0.02};
    struct rng rng;
    rng_init(&rng, 5);
    for (size_t i = 0; i < sizeof resolutions / sizeof resolutions[0]; i++) {
        double half_width = pairs_narrow(resolutions[i]);
        int n_detected = 0;
        cr_expect_float_eq(pairs_resolution(half_width), resolutions[i], 1e-12);
        for (int k = 0; k < TRIALS; k++) {
            double radius = sqrt(-2 * log(1 - rng_unit(&rng)));
            double error = radius * cos(2 * M_PI * rng_unit(&rng)) * half_width / 2.576;
            double speedup = (1 + error) * (1 + apart) / (1 + resolutions[i]);
            n_detected +=
                measurement_order(speedup * (1 - half_width), speedup * (1 + half_width)) < 0;
        }
        cr_expect_float_eq((double)n_detected / TRIALS, 0.95, 0.015, "%g: %d", resolutions[i],
                           n_detected);
    }
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
