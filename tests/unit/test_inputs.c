#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "hone_rng.h"
#include "ir/inputs.h"
#include "parsed.h"

// The known answers published with Philox4x32-10 (Random123, kat_vectors).
Test(hone_rng, gives_the_known_answers) {
    static const struct {
        uint64_t seed, block;
        uint32_t input, stream, want[4];
    } cases[] = {
        {0, 0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX,
         UINT64_MAX,
         UINT32_MAX,
         UINT32_MAX,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822,
         0x85a308d3243f6a88,
         0x13198a2e,
         0x03707344,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int i = 0; i < 3; i++) {
        uint32_t got[4];
        hone_random4(cases[i].seed, cases[i].input, cases[i].stream, cases[i].block, got);
        for (int j = 0; j < 4; j++)
            cr_assert_eq(got[j], cases[i].want[j]);
    }
    cr_assert_eq(hone_random(0, 0, 0, 2), 0xbc57ac4cu);
}

static uint32_t bits(float x) {
    union {
        float f;
        uint32_t u;
    } b = {x};
    return b.u;
}

// The quantile at a word, to compare with: bisection on erfc.
static double quantile(uint32_t word) {
    double p = ((word & 0x7fffffff) + 0.5) / 0x1p32, low = 0, high = 8;
    for (int i = 0; i < 70; i++) {
        double middle = (low + high) / 2;
        *(erfc(middle / sqrt(2)) / 2 > p ? &low : &high) = middle;
    }
    return word >> 31 ? -low : low;
}

Test(hone_rng, normal_follows_the_quantile_everywhere) {
    for (uint64_t w = 0; w < 0x100000000; w = w * 21 / 20 + 1) {
        uint32_t word = (uint32_t)w;
        double got = hone_normal(word, 0, 1), want = quantile(word);
        cr_assert_float_eq(got, want, 1e-4, "word %x: %g, not %g", word, got, want);
    }
    for (uint32_t w = 0; w < 200; w++)
        cr_assert_float_eq(hone_normal(w, 0, 1), quantile(w), 1e-4);
    cr_assert_float_eq(hone_normal(0x7fffffff, 0, 1), 0, 1e-6);
}

Test(hone_rng, normal_is_symmetric_and_decreasing) {
    float last = 10;
    for (uint64_t w = 0; w < 0x80000000; w += 99991) {
        float z = hone_normal((uint32_t)w, 0, 1);
        cr_assert_leq(z, last);
        cr_assert_eq(hone_normal((uint32_t)w | 0x80000000u, 0, 1), -z);
        last = z;
    }
}

// These bits are a promise: stored runs and exported samples were made with them.
Test(hone_rng, draws_the_golden_values) {
    cr_assert_eq(bits(hone_normal(0, 0, 1)), bits(0x1.95a11ap+2f));
    cr_assert_eq(bits(hone_normal(0x12345678, 0, 1)), bits(0x1.77b4c8p+0f));
    cr_assert_eq(bits(hone_normal(0x92345678, 2, 0.02f)), bits(0x1.f87c62p+0f));
    cr_assert_eq(bits(hone_uniform(0xffffffff, -1, 1)), bits(0x1.fffffcp-1f));
    cr_assert_eq(bits(hone_uniform(0x12345678, 0, 3)), bits(0x1.b4e81p-3f));
    cr_assert_eq(hone_integer(0, -3, 3), -3);
    cr_assert_eq(hone_integer(UINT32_MAX, -3, 3), 3);
    cr_assert_eq(hone_integer(UINT32_MAX, -16777216, 16777216), 16777216);
    cr_assert_eq(hone_sign(0), 1);
    cr_assert_eq(hone_sign(0x80000000), -1);
}

Test(hone_rng, adds_and_multiplies_in_two_steps) {
    // Fused, the product's last bits would survive: 1.0000001^2 - 1.0000002.
    float x = 1 + 0x1p-23f;
    volatile float product = x * x;
    cr_assert_eq(bits(hone_affine(x, x, -1 - 0x1p-22f)), bits(product + (-1 - 0x1p-22f)));
    cr_assert_neq(bits(hone_affine(x, x, -1 - 0x1p-22f)), bits(fmaf(x, x, -1 - 0x1p-22f)));
    cr_assert_eq(hone_affine(0.3f, 1, 0), 0.3f);
}

enum { COUNT = 200000 };

static float *filled(const char *declaration, enum input_set set, uint64_t seed) {
    struct arena a = {0};
    const struct problem *p =
        parsed(&a, arena_printf(&a,
                                "problem p\nin a : f32[2]\nin x : f32[200000]%s\nout y : f32\n"
                                "y = sum(x) + sum(a)\n",
                                declaration));
    float *x = malloc(sizeof *x * COUNT);
    inputs_fill_set(p, 1, set, seed, x);
    arena_reset(&a);
    return x;
}

struct moments {
    double mean, variance, kurtosis, min, max;
};

static struct moments moments_of(const float *x) {
    struct moments m = {.min = INFINITY, .max = -INFINITY};
    for (int i = 0; i < COUNT; i++) {
        m.mean += x[i] / (double)COUNT;
        m.min = fmin(m.min, x[i]);
        m.max = fmax(m.max, x[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        double d = (x[i] - m.mean) * (x[i] - m.mean);
        m.variance += d / COUNT;
        m.kurtosis += d * d / COUNT;
    }
    m.kurtosis /= m.variance * m.variance;
    return m;
}

Test(inputs, normal_has_the_moments_and_the_tail) {
    float *x = filled("", INPUT_SET_DECLARED, 1);
    struct moments m = moments_of(x);
    cr_assert_float_eq(m.mean, 0, 0.01);
    cr_assert_float_eq(m.variance, 1, 0.015);
    cr_assert_float_eq(m.kurtosis, 3, 0.07);
    int beyond = 0;
    for (int i = 0; i < COUNT; i++)
        beyond += fabsf(x[i]) > 3;
    cr_assert_float_eq(beyond / (double)COUNT, 0.0027, 0.0005);
    cr_assert_lt(m.max, 6.5);
    free(x);
}

Test(inputs, follows_the_declared_distribution) {
    float *x = filled(" ~ normal(5, 0.5)", INPUT_SET_DECLARED, 1);
    struct moments m = moments_of(x);
    cr_assert_float_eq(m.mean, 5, 0.01);
    cr_assert_float_eq(m.variance, 0.25, 0.005);
    free(x);

    x = filled(" ~ uniform(-1, 3)", INPUT_SET_DECLARED, 1);
    m = moments_of(x);
    cr_assert_float_eq(m.mean, 1, 0.01);
    cr_assert_float_eq(m.variance, 16 / 12.0, 0.01);
    cr_assert(m.min >= -1 && m.max <= 3);
    free(x);

    x = filled(" ~ integers(-3, 3)", INPUT_SET_DECLARED, 1);
    int seen[7] = {0};
    for (int i = 0; i < COUNT; i++)
        seen[(int)x[i] + 3]++;
    for (int i = 0; i < 7; i++)
        cr_assert_float_eq(seen[i] / (double)COUNT, 1 / 7.0, 0.005);
    free(x);

    x = filled(" ~ sign", INPUT_SET_DECLARED, 1);
    m = moments_of(x);
    cr_assert_float_eq(m.mean, 0, 0.01);
    cr_assert_eq(m.min, -1);
    cr_assert_eq(m.max, 1);
    free(x);
}

Test(inputs, depend_on_seed_and_input_and_index_alone) {
    struct arena a = {0};
    const struct problem *p = parsed(&a, "problem p\nin x : f32[7]\nin z : f32[7]\nout y : f32[7]\n"
                                         "y = x + z\n");
    float x[8] = {0}, again[8] = {0}, z[8] = {0}, other[8] = {0};
    x[7] = 42;
    inputs_fill(p, 0, 9, x);
    inputs_fill(p, 0, 9, again);
    inputs_fill(p, 1, 9, z);
    inputs_fill(p, 0, 10, other);
    cr_assert_eq(x[7], 42);  // not beyond the end
    for (int i = 0; i < 7; i++) {
        cr_assert_eq(x[i], again[i]);
        cr_assert_eq(x[i], hone_normal(hone_random(9, 0, 0, (uint64_t)i), 0, 1));
        cr_assert_neq(x[i], z[i]);
        cr_assert_neq(x[i], other[i]);
    }
    arena_reset(&a);
}

// Few multiples of a power of two inside the declared range.
static void check_integers(const char *declaration, float step, float lo, float hi) {
    float *x = filled(declaration, INPUT_SET_INTEGERS, 3);
    struct moments m = moments_of(x);
    cr_assert_eq(m.min, lo, "%s: %g", declaration, m.min);
    cr_assert_eq(m.max, hi, "%s: %g", declaration, m.max);
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(x[i] / step, floorf(x[i] / step));
    free(x);
}

Test(inputs, integers_lie_where_the_declared_draws_lie) {
    check_integers("", 1, -3, 3);
    check_integers(" ~ normal(0, 0.02)", 1 / 64.0f, -3 / 64.0f, 3 / 64.0f);
    check_integers(" ~ normal(10, 1)", 1, 7, 13);
    check_integers(" ~ uniform(0.5, 2)", 0.25f, 0.5f, 2);
    check_integers(" ~ uniform(-1, 1)", 0.5f, -1, 1);
    check_integers(" ~ integers(2, 5)", 1, 2, 5);
    check_integers(" ~ sign", 1, -1, 1);
}

// Ones and twos of a small power of two, and a few odd numbers of 19 bits; of either sign where the
// declared draws have both, and small integers where zero is not among them.
Test(inputs, digits_are_few_and_lie_where_the_declared_draws_lie) {
    static const struct {
        const char *declaration;
        float step, low, high;
    } rows[] = {{"", 0x1p-18F, -2, 2},
                {" ~ uniform(0, 1)", 0x1p-19F, 0, 1},
                {" ~ uniform(-4, 0)", 0x1p-17F, -4, 0}};
    int n_long = 0;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        float *x = filled(rows[row].declaration, INPUT_SET_DIGITS, 4);
        for (int i = 0; i < COUNT; i++) {
            float size = fabsf(x[i]) / rows[row].step;
            n_long += size > 2;
            cr_assert(x[i] >= rows[row].low && x[i] <= rows[row].high);
            cr_assert(size == 1 || size == 2 ||
                      (size >= 0x1p18F && size < 0x1p19F && fmodf(size, 2) == 1));
        }
        free(x);
    }
    cr_assert(n_long > 0 && n_long < 36);  // about four in one sum
    float *x = filled(" ~ normal(10, 1)", INPUT_SET_DIGITS, 4);
    struct moments m = moments_of(x);
    cr_assert(m.min == 7 && m.max == 13);
    free(x);
}

// Tensor cores lose digits of sums with factors below the smallest normal number.
Test(inputs, digits_of_halves_are_normal_numbers) {
    static const struct {
        const char *distribution;
        float step, longest;
    } rows[] = {{"normal", 0x1p-14F, 0x1p15F}, {"normal(0, 0.02)", 0x1p-14F, 0x1p9F}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        struct arena a = {0};
        const struct problem *p = parsed(
            &a, arena_printf(&a, "problem p\nin x : f16[4000] ~ %s\nout y : f32\ny = sum(x)\n",
                             rows[row].distribution));
        struct inputs_job job = {.problem = p, .input = 0, .set = INPUT_SET_DIGITS, .seed = 4};
        int n_long = 0;
        for (int i = 0; i < 4000; i++) {
            double size = fabs(inputs_at(&job, i)) / rows[row].step;
            n_long += size > 2;
            cr_assert(size == 1 || size == 2 ||
                      (size >= rows[row].longest / 2 && size <= rows[row].longest));
        }
        cr_assert(n_long > 0 && n_long < 20);
        arena_reset(&a);
    }
}

Test(inputs, wide_spans_magnitudes) {
    float *x = filled(" ~ uniform(1, 2)", INPUT_SET_WIDE, 3);
    struct moments m = moments_of(x);
    cr_assert(m.min >= 1 / 64.0 && m.min < 1.1 / 64);
    cr_assert(m.max <= 128 && m.max > 120);
    free(x);
    x = filled(" ~ integers(1, 4)", INPUT_SET_WIDE, 3);
    m = moments_of(x);
    cr_assert(m.min == 1 && m.max == 4);
    free(x);
}

// The first of a row or a column is no larger than a draw, of others some are.
Test(inputs, wide_begins_no_row_or_column_far_out) {
    enum { ROWS = 50, COLUMNS = 100 };
    struct arena a = {0};
    const struct problem *p = parsed(&a, "problem p\nin x : f32[7, 50, 100] ~ uniform(1, 2)\n"
                                         "out y : f32[7, 50]\ny = sum(x, axis=2)\n");
    struct inputs_job job = {.problem = p, .set = INPUT_SET_WIDE, .seed = 3};
    double largest = 0, largest_first = 0;
    for (int64_t i = 0; i < 7 * ROWS * COLUMNS; i++) {
        bool is_first = i % COLUMNS == 0 || i / COLUMNS % ROWS == 0;
        double *most = is_first ? &largest_first : &largest;
        *most = fmax(*most, inputs_at(&job, i));
    }
    cr_expect(largest_first > 1 && largest_first <= 2, "%g", largest_first);
    cr_expect(largest > 100 && largest <= 128, "%g", largest);
    arena_reset(&a);
}

static void check_shifted(const char *declaration, double low, double high) {
    float *x = filled(declaration, INPUT_SET_SHIFTED, 3);
    struct moments m = moments_of(x);
    cr_assert(m.min >= low && m.max <= high, "%s: %g .. %g", declaration, m.min, m.max);
    cr_assert(m.min * m.max > 0);
    free(x);
}

Test(inputs, shifted_is_of_one_sign) {
    check_shifted("", 12.8, 19.2);
    check_shifted(" ~ normal(-2, 1)", -21.2, -14.8);
    check_shifted(" ~ uniform(-1, 3)", 1.5, 3);
    check_shifted(" ~ uniform(-3, 1)", -3, -1.5);
    check_shifted(" ~ uniform(1, 8)", 4, 8);
    check_shifted(" ~ integers(-3, 7)", 3, 7);
}

// Where nothing but the mean is taken from them: around a power of two, 4096 deviations from zero.
Test(inputs, shifted_is_far_where_the_mean_is_taken_off) {
    static const struct {
        const char *type, *body;
        double low, high;
    } cases[] = {
        {"f32[64, 64]", "y = x - mean(x, axis=1)[:, None]", 2045, 2051},
        {"f32[64, 64] ~ normal(-1.5, 1)", "y = x - mean(x, axis=1)[:, None]", -4099, -4093},
        {"f32[64, 64] ~ normal(3000, 1)", "y = x - mean(x, axis=1)[:, None]", 3013, 3019},
        {"f32[64, 64] ~ uniform(0, 1)", "y = x - mean(x, axis=1)[:, None]", 0.498, 0.502},
        {"f32[64, 64] ~ uniform(-3, 0)", "y = x - mean(x, axis=1)[:, None]", -2.01, -1.99},
        {"f32[64, 64] ~ uniform(1.2, 1.8)", "y = x - mean(x, axis=1)[:, None]", 1.2, 1.8},
        {"f64[64, 64]", "y = layernorm(x)", 2045, 2051},
        {"f32[64, 64]", "y = layernorm(x) + x", 2045, 2051},
        // Too few digits; another use of the same data; no mean of them, or of something else.
        {"f16[64, 64]", "y = x - mean(x, axis=1)[:, None]", 12, 20},
        {"f32[64, 64]", "y = exp(x) - mean(x, axis=1)[:, None]", 12, 20},
        {"f32[64, 64]", "y = layernorm(x) * x", 12, 20},
        {"f32[64, 64]", "y = x - sum(x, axis=1)[:, None]", 12, 20},
        {"f32[64, 64]", "y = x - mean(x * x, axis=1)[:, None]", 12, 20},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a = {0};
        const struct problem *p =
            parsed(&a, arena_printf(&a, "problem p\nin x : %s\nout y : %.3s[64, 64]\n%s\n",
                                    cases[i].type, cases[i].type, cases[i].body));
        struct inputs_job job = {.problem = p, .set = INPUT_SET_SHIFTED, .seed = 3};
        for (int64_t k = 0; k < 64 * 64; k++) {
            double x = inputs_at(&job, k);
            cr_assert(x >= cases[i].low && x <= cases[i].high, "%s, %s: %g", cases[i].type,
                      cases[i].body, x);
        }
        arena_reset(&a);
    }
}

Test(inputs, sets_have_names) {
    cr_assert_str_eq(input_set_name(INPUT_SET_DECLARED), "declared");
    cr_assert_str_eq(input_set_name(INPUT_SET_SHIFTED), "shifted");
}
