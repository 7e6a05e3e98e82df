#include <criterion/criterion.h>
#include <math.h>

#include "base/arena.h"
#include "ops/op_resolution.h"
#include "record/measurement.h"

// What a busy machine resolves is no number with an exponent, and what was not measured is not
// said.
Test(resolution, is_said_in_plain_digits) {
    static const struct {
        double smallest[RESOLUTIONS];
        const char *words;
    } rows[] = {
        {{0.0123, NAN, NAN}, "1.2% in 1 s"},
        {{0.5, 0.0999, 0.001}, "50% in 1 s, 10% in 5 s, 0.1% in 20 s"},
        {{0.994, 0.996, 12.345}, "99% in 1 s, 100% in 5 s, 1234% in 20 s"},
        {{NAN, NAN, NAN}, ""},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct resolution r = {.present = true};
        for (int k = 0; k < RESOLUTIONS; k++)
            r.smallest[k] = rows[i].smallest[k];
        cr_expect_str_eq(op_resolution_text(&a, &r), rows[i].words);
    }
    arena_reset(&a);
}

// A comparison of 5 s has those of 1 s in it; of what was not measured nothing is known.
Test(resolution, takes_the_stretches_of_a_comparison) {
    struct measurement_trial trials[5];
    for (int i = 0; i < 5; i++)
        trials[i] = (struct measurement_trial){.seconds = 1, .low = 0.98, .high = 1.01 + 0.01 * i};
    struct measurement m = {.trials = trials, .n_trials = 5, .speedup_high = 1.004};
    struct resolution_trials told[RESOLUTIONS] = {0};
    struct resolution r = {0};
    op_resolution_note(told, &m, 1);
    cr_expect_eq(told[0].n, 5);
    cr_expect_eq(told[1].n, 1);
    op_resolution_conclude(told, &r);
    cr_expect_float_eq(r.smallest[0], 1.05 * (1 + MEASUREMENT_MARGIN) - 1, 1e-12);
    cr_expect_float_eq(r.smallest[1], 1.004 * (1 + MEASUREMENT_MARGIN) - 1, 1e-12);
    cr_expect(isnan(r.smallest[2]));
    for (int i = 0; i < RESOLUTION_TOLD_MAX; i++)
        op_resolution_note(told, &m, 1);
    cr_expect_eq(told[0].n, RESOLUTION_TOLD_MAX);
}
