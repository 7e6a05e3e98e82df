#include <criterion/criterion.h>
#include <math.h>

#include "ops/suite_stats.h"

Test(suite, means_have_intervals) {
    const double values[] = {1, 2, 3, 4};
    struct suite_mean m = suite_mean_of(values, 4);
    double half = 1.959964 * sqrt(5.0 / 3 / 4);
    cr_expect_float_eq(m.mean, 2.5, 1e-12);
    cr_expect_float_eq(m.low, 2.5 - half, 1e-9);
    cr_expect_float_eq(m.high, 2.5 + half, 1e-9);
    m = suite_mean_of(values, 1);
    cr_expect(m.mean == 1 && isnan(m.low), "one value has no spread");
}

Test(suite, compares_in_pairs) {
    double x[64], y[64], p;
    for (int i = 0; i < 64; i++) {
        y[i] = 10 + i;                        // differs far more from pair to pair
        x[i] = y[i] * (i % 2 ? 0.55 : 0.45);  // than within one
    }
    struct suite_mean m = suite_ratio(x, y, 64, &p);
    cr_expect_float_eq(m.mean, sqrt(0.55 * 0.45), 1e-9);
    cr_expect(m.low < m.mean && m.mean < m.high && m.high < 0.52);
    cr_expect_lt(p, 0.001);
    for (int i = 0; i < 64; i++)
        x[i] = y[i] * (i % 2 ? 1.1 : 1 / 1.1);
    m = suite_ratio(x, y, 64, &p);
    cr_expect_float_eq(m.mean, 1, 1e-9);
    cr_expect_gt(p, 0.8);
    m = suite_ratio(y, y, 64, &p);
    cr_expect(m.mean == 1 && p == 1, "the same is the same");
}
