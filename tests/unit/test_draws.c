// Distributions whose elements depend on where they stand, promises, adversarial sets, hidden
// draws.
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/inputs.h"
#include "parsed.h"

enum { ROWS = 50, COLUMNS = 333 };

// x[i] of an input declared as `declaration`, as doubles; malloc'ed.
static double *drawn(const char *declaration, enum input_set set) {
    struct arena a = {0};
    const struct problem *p =
        parsed(&a, arena_printf(&a,
                                "problem p\ndim R = 50, C = 333\nin x : %s\nout y : f32\n"
                                "y = sum(where(x != 0, 1.0, 0.0))\n",
                                declaration));
    const struct node *n = &p->graph.nodes[p->inputs[0].node];
    int64_t count = shape_count(&n->shape);
    void *data = malloc((size_t)dtype_size(n->dtype, count));
    double *x = malloc(sizeof *x * (size_t)count);
    inputs_fill_set(p, 0, set, 5, data);
    dtype_get_run(n->dtype, data, 0, count, x);
    // Any element by itself is the same.
    struct inputs_job job = {.problem = p, .set = set, .seed = 5};
    for (int64_t i = 0; i < count; i += 97)
        cr_assert_eq(dtype_round(n->dtype, inputs_at(&job, i)), x[i], "%s %s: [%ld]", declaration,
                     input_set_name(set), (long)i);
    free(data);
    arena_reset(&a);
    return x;
}

Test(draws, index_and_bernoulli) {
    double *x = drawn("i64[R, C] ~ index(C)", INPUT_SET_DECLARED), mean = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        cr_assert(x[i] >= 0 && x[i] < COLUMNS && x[i] == floor(x[i]));
        mean += x[i] / (ROWS * COLUMNS);
    }
    cr_assert_float_eq(mean, 166, 4);
    free(x);
    x = drawn("f32[R, C] ~ bernoulli(0.2)", INPUT_SET_WIDE);
    mean = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        cr_assert(x[i] == 0 || x[i] == 1);
        mean += x[i] / (ROWS * COLUMNS);
    }
    cr_assert_float_eq(mean, 0.2, 0.015);
    free(x);
}

Test(draws, a_permutation_has_everything_once_in_each_row) {
    double *x = drawn("i32[R, C] ~ permutation", INPUT_SET_DECLARED);
    int n_fixed = 0, n_same = 0;
    for (int r = 0; r < ROWS; r++) {
        bool seen[COLUMNS] = {false};
        for (int c = 0; c < COLUMNS; c++) {
            int v = (int)x[r * COLUMNS + c];
            cr_assert(v >= 0 && v < COLUMNS && !seen[v]);
            seen[v] = true;
            n_fixed += v == c;
            n_same += r > 0 && v == (int)x[(r - 1) * COLUMNS + c];
        }
    }
    // One fixed point a row in the mean, one agreement between neighbours.
    cr_assert_lt(n_fixed, 3 * ROWS);
    cr_assert_lt(n_same, 3 * ROWS);
    free(x);
}

static void check_rising(const char *declaration, double low, double high, bool whole) {
    double *x = drawn(declaration, INPUT_SET_DECLARED);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            double v = x[r * COLUMNS + c];
            cr_assert(v >= low && v <= high && (!whole || v == floor(v)), "%s: %g", declaration, v);
            cr_assert(c == 0 || v >= x[r * COLUMNS + c - 1], "%s", declaration);
        }
    cr_assert_lt(x[0], low + (high - low) / 10);
    cr_assert_gt(x[COLUMNS - 1], high - (high - low) / 10);
    free(x);
}

Test(draws, sorted_rows_never_fall) {
    check_rising("f32[R, C] ~ sorted", 0, 1, false);
    check_rising("f16[R, C] ~ sorted(-3, 5)", -3, 5, false);
    check_rising("i32[R, C] ~ sorted(-7, 100000)", -7, 100000, true);
    check_rising("i64[R, C] ~ offsets(1000000)", 0, 1000000, true);
    double *x = drawn("i64[R, C] ~ offsets(1000000)", INPUT_SET_DECLARED);
    cr_assert_eq(x[0], 0);
    cr_assert_eq(x[COLUMNS - 1], 1000000);
    cr_assert_neq(x[5], x[COLUMNS + 5]);
    free(x);
    x = drawn("i64[2] ~ offsets(10)", INPUT_SET_DECLARED);
    cr_assert(x[0] == 0 && x[1] == 10);
    free(x);
}

Test(draws, zipf_favours_the_first) {
    double *x = drawn("i32[R, C] ~ zipf(1, 1000)", INPUT_SET_DECLARED);
    int count[1000] = {0}, n_low = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        cr_assert(x[i] >= 0 && x[i] < 1000);
        count[(int)x[i]]++;
        n_low += x[i] < 31;  // the first five octaves of ten weigh about half
    }
    cr_assert_float_eq(n_low / (double)(ROWS * COLUMNS), 0.54, 0.08);
    cr_assert(count[0] > 5 * count[10] && count[10] > 2 * count[100]);
    free(x);
    x = drawn("i32[R, C] ~ zipf(0, 1000)", INPUT_SET_DECLARED);
    n_low = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        n_low += x[i] < 500;
    cr_assert_float_eq(n_low / (double)(ROWS * COLUMNS), 0.5, 0.02);
    free(x);
}

Test(draws, promises_are_kept) {
    enum { N = 40 };
    double *upper = drawn("f32[3, 40, 40] triangular upper ~ normal", INPUT_SET_DECLARED);
    double *lower = drawn("f32[3, 40, 40] triangular lower ~ normal", INPUT_SET_WIDE);
    double *same = drawn("f32[3, 40, 40] symmetric ~ normal", INPUT_SET_DECLARED);
    double *diagonal = drawn("f32[3, 40, 40] diagonal ~ normal", INPUT_SET_DECLARED);
    for (int i = 0; i < 3 * N * N; i++) {
        int r = i / N % N, c = i % N, mirror = i - r * N - c + c * N + r;
        cr_assert_eq(upper[i] == 0, r > c);
        cr_assert_eq(lower[i] == 0, r < c);
        cr_assert_eq(diagonal[i] == 0, r != c);
        cr_assert_eq(same[i], same[mirror]);
    }
    cr_assert_neq(same[1], same[N * N + 1]);
    free(upper);
    free(lower);
    free(same);
    free(diagonal);
}

Test(draws, adversarial_sets_do_what_they_say) {
    double *plain = drawn("f32[R, C] ~ normal", INPUT_SET_DECLARED);
    double *equal = drawn("f32[R, C] ~ normal", INPUT_SET_EQUAL);
    double *huge = drawn("f32[R, C] ~ normal", INPUT_SET_HUGE);
    double *tiny = drawn("f16[R, C] ~ normal", INPUT_SET_TINY);
    double *turns = drawn("f32[R, C] ~ normal", INPUT_SET_ALTERNATING);
    double *spike = drawn("f32[R, C] ~ normal", INPUT_SET_SPIKE);
    double *positive = drawn("f32[R, C] ~ uniform(1, 2)", INPUT_SET_ALTERNATING);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        cr_assert_eq(equal[i], plain[0]);
        cr_assert_eq(huge[i], plain[i] * 0x1p20);
        cr_assert_eq(tiny[i], dtype_round(DTYPE_F16, plain[i] / 32));
        cr_assert(fabs(turns[i]) == fabs(plain[i]) && (turns[i] >= 0 || i & 1));
        cr_assert(positive[i] >= 1);
    }
    for (int r = 0; r < ROWS; r++) {
        int n = 0;
        for (int c = 0; c < COLUMNS; c++)
            n += spike[r * COLUMNS + c] == plain[r * COLUMNS + c];
        cr_assert_eq(n, 1);
    }
    double *all[] = {plain, equal, huge, tiny, turns, spike, positive};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

// Any place may be named, however often, and most parts of a row may be empty.
Test(draws, places_at_the_ends_and_empty_parts) {
    static const char *const places[] = {"i64[R, C] ~ index(C)", "i32[R, C] ~ zipf(1.1, C)"};
    for (int k = 0; k < 2; k++) {
        double *x = drawn(places[k], INPUT_SET_WIDE);
        int n_first = 0, n_last = 0;
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            cr_assert(x[i] >= 0 && x[i] < COLUMNS && x[i] == floor(x[i]));
            n_first += x[i] == 0;
            n_last += x[i] == COLUMNS - 1;
        }
        cr_assert(n_first > ROWS * COLUMNS / 5 && n_last > ROWS * COLUMNS / 5);
        cr_assert(n_first + n_last < ROWS * COLUMNS * 3 / 4);
        free(x);
    }
    double *x = drawn("i32[C] ~ offsets(10000)", INPUT_SET_WIDE), longest = 0;
    int n_empty = 0;
    for (int i = 1; i < COLUMNS; i++) {
        cr_assert_geq(x[i], x[i - 1]);
        n_empty += x[i] == x[i - 1];
        longest = fmax(longest, x[i] - x[i - 1]);
    }
    cr_assert(x[0] == 0 && x[COLUMNS - 1] == 10000);
    cr_assert(n_empty > COLUMNS / 3 && longest > 10 * 10000 / COLUMNS, "%d %g", n_empty, longest);
    free(x);
}

// Where a mean is of inputs, one of them weighs as much as all others; where it is of products,
// these have their digits.
Test(draws, digits_of_problems_with_means) {
    static const struct {
        const char *value;
        bool has_spike;
    } rows[] = {{"mean(x * x)", true}, {"mean(x @ x.T)", false}, {"sum(x)", false}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct arena a = {0};
        const struct problem *p =
            parsed(&a, arena_printf(&a,
                                    "problem p\nin x : f32[2, 8192] ~ uniform(0, 1)\n"
                                    "out y : f32\ny = %s\n",
                                    rows[k].value));
        struct inputs_job job = {.problem = p, .set = INPUT_SET_DIGITS, .seed = 5};
        double sum = 0, most = 0;
        bool has_fraction = false;
        for (int i = 0; i < 8192; i++) {
            double v = inputs_at(&job, i);
            sum += v;
            most = fmax(most, v);
            has_fraction |= ldexp(v, 20) != floor(ldexp(v, 20));
        }
        cr_expect_eq(has_fraction, rows[k].has_spike, "%s", rows[k].value);
        if (rows[k].has_spike)
            cr_expect(most > 0.01 * sum && most < 0.9 * sum, "%g of %g", most, sum);
        arena_reset(&a);
    }
}

Test(draws, f64_uses_all_its_bits) {
    double *x = drawn("f64[R, C] ~ normal", INPUT_SET_DECLARED);
    int n_fine = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        n_fine += x[i] != (double)(float)x[i];
    cr_assert_gt(n_fine, ROWS * COLUMNS * 9 / 10);
    free(x);
}

Test(draws, an_input_can_be_computed_from_hidden_draws) {
    struct arena a = {0};
    const struct problem *p = parsed(
        &a, "problem p\ndim R = 50, C = 333\n"
            "in x : f32[R, C] = softmax(u * s) where u ~ normal, s : f32[C] ~ uniform(1, 2)\n"
            "in z : i32[R] = argmax(u, axis=1) where u : f32[R, C] ~ normal\n"
            "out y : f32[R]\ny = sum(x, axis=1) + z\n");
    float *x = malloc(sizeof *x * ROWS * COLUMNS), *again = malloc(sizeof *x * ROWS * COLUMNS);
    int32_t z[ROWS];
    inputs_fill(p, 0, 5, x);
    inputs_fill_parallel(&(struct inputs_job){.problem = p, .seed = 5, .n_threads = 3}, again);
    cr_assert_eq(memcmp(x, again, sizeof *x * ROWS * COLUMNS), 0);
    inputs_fill(p, 1, 5, z);
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int c = 0; c < COLUMNS; c++)
            sum += x[r * COLUMNS + c];
        cr_assert_float_eq(sum, 1, 1e-5);
        cr_assert(z[r] >= 0 && z[r] < COLUMNS);
    }
    inputs_fill(p, 0, 6, again);
    cr_assert_neq(x[0], again[0]);
    free(x);
    free(again);
    arena_reset(&a);
}

// The types of 16 bits are drawn four at a time; every element is what inputs_at() says, in every
// set.
Test(draws, of_16_bits_are_the_same_one_at_a_time) {
    static const char *const declarations[] = {
        "f16[R, C] ~ normal",
        "bf16[R, C] ~ normal(0, 3)",
        "f16[R, C] ~ uniform(-1, 2)",
        "bf16[R, C] ~ uniform(0.5, 1.5)",
        "bf16[R, C] ~ integers(-256, 256)",
        "f16[R, C] ~ integers(-2000, 2048)",
        "f16[R, C] ~ bernoulli(0.2)",
        "bf16[R, C] ~ constant(0.3)",
    };
    for (size_t d = 0; d < sizeof declarations / sizeof *declarations; d++)
        for (int set = 0; set < INPUT_SET_COUNT; set++) {
            struct arena a = {0};
            const struct problem *p =
                parsed(&a, arena_printf(&a,
                                        "problem p\ndim R = 5, C = 333\nin x : %s\nout y : f32\n"
                                        "y = sum(where(x != 0, 1.0, 0.0))\n",
                                        declarations[d]));
            struct inputs_job job = {.problem = p, .set = (enum input_set)set, .seed = 7};
            enum dtype type = p->graph.nodes[p->inputs[0].node].dtype;
            uint16_t x[5 * 333], one;
            inputs_fill_set(p, 0, (enum input_set)set, 7, x);
            for (int i = 0; i < 5 * 333; i++) {
                dtype_put(type, &one, 0, inputs_at(&job, i));
                cr_assert_eq(one, x[i], "%s %s: [%d]", declarations[d],
                             input_set_name((enum input_set)set), i);
            }
            arena_reset(&a);
        }
}
