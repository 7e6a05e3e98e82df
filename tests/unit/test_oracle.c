#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/rng.h"
#include "lang/lang.h"
#include "oracle/derived.h"
#include "oracle/describe_set.h"
#include "oracle/null_kernels.h"
#include "oracle/oracle_compare.h"
#include "oracle/oracle_private.h"

static const char gemm[] = "problem gemm\ndim M = 24, N = 20, K = 300\nin a : f32[M, K] ~ normal\n"
                           "in b : f32[K, N] ~ normal\nout c : f32[M, N]\nc = a @ b\n";

struct fixture {
    struct arena arena;
    struct problem *problem;
    struct oracle oracle;
    float *inputs[INPUTS_MAX];
    float *out;
};

static void open_fixture(struct fixture *f, const char *text, enum oracle_set set) {
    struct error err = {0};
    struct lang_file file;
    const char *diagnostics = "";
    *f = (struct fixture){0};
    struct lang_source source = {.file = "t", .text = text, .len = strlen(text)};
    cr_assert(lang_parse(&f->arena, &source, &file, &diagnostics, &err), "%s", diagnostics);
    f->problem = file.problems[0];
    oracle_init(&f->oracle, f->problem, 42);
    oracle_compute(&f->oracle, 1U << set, 2);
    for (int i = 0; i < f->problem->n_inputs; i++) {
        int64_t n = shape_count(&f->problem->graph.nodes[f->problem->inputs[i].node].shape);
        f->inputs[i] = arena_array(&f->arena, float, n);
        oracle_fill(&f->oracle, set, i, f->inputs[i]);
    }
    f->out = arena_array(&f->arena, float, f->oracle.sets[set].outputs[0].count);
}

static void close_fixture(struct fixture *f) {
    oracle_reset(&f->oracle);
    arena_reset(&f->arena);
}

enum { M = 24, N = 20, K = 300 };

// Products of `mask`ed inputs over the first `k_end` terms, in f32.
static void multiply(const struct fixture *f, float *out, int k_end, uint32_t mask) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < k_end; k++) {
                uint32_t bits;
                float a;
                memcpy(&bits, &f->inputs[0][i * K + k], 4);
                bits &= mask;
                memcpy(&a, &bits, 4);
                s += a * f->inputs[1][k * N + j];
            }
            out[i * N + j] = s;
        }
}

Test(oracle, accepts_honest_f32_on_every_set) {
    for (int set = 0; set < SET_COUNT; set++) {
        struct fixture f;
        struct comparison c;
        open_fixture(&f, gemm, (enum oracle_set)set);
        multiply(&f, f.out, K, UINT32_MAX);
        cr_expect(oracle_compare(&f.oracle.sets[set].outputs[0], f.out, 1, &c), "%s: rms %g max %g",
                  oracle_set_name((enum oracle_set)set), c.stats.rms, c.stats.max);
        close_fixture(&f);
    }
}

Test(oracle, finds_dropped_terms_and_dropped_bits) {
    for (int set = 0; set < SET_COUNT; set++) {
        struct fixture f;
        struct comparison c;
        open_fixture(&f, gemm, (enum oracle_set)set);
        multiply(&f, f.out, K - 1, UINT32_MAX);
        cr_expect(!oracle_compare(&f.oracle.sets[set].outputs[0], f.out, 1, &c));
        multiply(&f, f.out, K, 0xffffe000);  // eleven bits
        // Small integers survive that; the other sets do not.
        bool hides = set == SET_INTEGERS || set == SET_SUMMED;
        cr_expect_eq(oracle_compare(&f.oracle.sets[set].outputs[0], f.out, 1, &c), hides);
        close_fixture(&f);
    }
}

Test(oracle, wants_integers_exact) {
    struct fixture f;
    struct comparison c;
    open_fixture(&f, gemm, SET_INTEGERS);
    const struct oracle_output *e = &f.oracle.sets[SET_INTEGERS].outputs[0];
    multiply(&f, f.out, K, UINT32_MAX);
    f.out[17] = nextafterf(f.out[17], 1e9f);
    cr_expect(!oracle_compare(e, f.out, 1, &c));
    cr_expect_eq(c.n_wrong, 1);
    close_fixture(&f);
}

Test(oracle, poison_and_nan_are_never_right) {
    struct fixture f;
    struct comparison c;
    open_fixture(&f, gemm, SET_DECLARED);
    const struct oracle_output *e = &f.oracle.sets[SET_DECLARED].outputs[0];
    multiply(&f, f.out, K, UINT32_MAX);
    uint32_t poison = 0x7fc12345;
    memcpy(&f.out[5], &poison, 4);
    cr_expect(!oracle_compare(e, f.out, poison, &c));
    cr_expect_eq(c.n_unwritten, 1);
    const char *words = oracle_evidence(&f.arena, &f.oracle, SET_DECLARED, 0, f.out, &c);
    cr_expect(strstr(words, "1 of 480 elements of c were not written"), "%s", words);
    cr_expect(strstr(words, "c[0, 5] is"), "%s", words);
    f.out[5] = -NAN;
    cr_expect(!oracle_compare(e, f.out, poison, &c));
    cr_expect_eq(c.n_unwritten, 0);
    words = oracle_evidence(&f.arena, &f.oracle, SET_DECLARED, 0, f.out, &c);
    cr_expect(strstr(words, "c[0, 5] is nan"), "%s", words);
    f.out[5] = INFINITY;
    cr_expect(!oracle_compare(e, f.out, poison, &c));
    close_fixture(&f);
}

Test(oracle, nan_where_the_truth_has_it) {
    struct fixture f;
    struct comparison c;
    open_fixture(&f,
                 "problem p\ndim N = 100\nin x : f32[N] ~ integers(-1, 1)\nout y : f32[N]\n"
                 "y = log(x)\n",
                 SET_DECLARED);
    const struct oracle_output *e = &f.oracle.sets[SET_DECLARED].outputs[0];
    for (int i = 0; i < 100; i++)
        f.out[i] = logf(f.inputs[0][i]);
    cr_expect(oracle_compare(e, f.out, 1, &c));
    for (int i = 0; i < 100; i++)
        if (isnan(f.out[i])) {
            f.out[i] = 0;
            break;
        }
    cr_expect(!oracle_compare(e, f.out, 1, &c));
    close_fixture(&f);
}

Test(oracle, subnormal_results_may_be_flushed_but_not_wrong) {
    struct fixture f;
    struct comparison c;
    open_fixture(&f,
                 "problem p\ndim N = 100\nin x : f32[N] ~ uniform(-100, -90)\nout y : f32[N]\n"
                 "y = exp(x)\n",
                 SET_DECLARED);
    const struct oracle_output *e = &f.oracle.sets[SET_DECLARED].outputs[0];
    for (int i = 0; i < 100; i++)
        f.out[i] = expf(f.inputs[0][i]);
    cr_expect(oracle_compare(e, f.out, 1, &c));
    memset(f.out, 0, 100 * sizeof *f.out);
    cr_expect(oracle_compare(e, f.out, 1, &c));
    f.out[3] = 1e-39f;
    cr_expect(!oracle_compare(e, f.out, 1, &c));
    close_fixture(&f);
}

Test(oracle, patched_data_differ_in_a_few_elements) {
    struct fixture f, g, h;
    open_fixture(&f, gemm, SET_DECLARED);
    open_fixture(&g, gemm, SET_PATCHED);
    open_fixture(&h, gemm, SET_PATCHED_AGAIN);
    for (int i = 0; i < 2; i++) {
        int64_t count = i ? K * N : M * K, differing = 0, others = 0, both = 0;
        for (int64_t k = 0; k < count; k++) {
            bool is_patched = f.inputs[i][k] != g.inputs[i][k];
            bool is_other = f.inputs[i][k] != h.inputs[i][k];
            differing += is_patched;
            others += is_other;
            both += is_patched && is_other;
        }
        cr_expect(differing >= 1 && differing <= PATCHES, "%lld", (long long)differing);
        // Every row depends on an element of b.
        cr_expect(i ? others == 0 : others >= 1 && others <= PATCHES, "%lld", (long long)others);
        cr_expect(both < differing, "elsewhere: %lld of %lld", (long long)both,
                  (long long)differing);
    }
    close_fixture(&f);
    close_fixture(&g);
    close_fixture(&h);
}

Test(oracle, sees_problems_that_null_kernels_solve) {
    static const struct {
        const char *expression, *want;
    } cases[] = {
        {"x - x", "writing zeros"},
        {"x * 1", "copying an input"},
        {"x - x + 3", "writing one constant"},
        {"x * x", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "problem p\ndim N = 100\nin x : f32[N] ~ normal\nout y : f32[N]\ny = %s\n",
                 cases[i].expression);
        struct fixture f;
        open_fixture(&f, text, SET_DECLARED);
        struct null_kernels t;
        null_kernels_start(&t);
        null_kernels_try(&f.oracle, SET_DECLARED, (const void *const *)f.inputs, &t);
        const char *got = null_kernels_text(&t);
        cr_expect((!got && !cases[i].want) || (got && !strcmp(got, cases[i].want)), "%s: %s",
                  cases[i].expression, got ? got : "none");
        close_fixture(&f);
    }
}

// One rounding other than ours is nobody's fault, and on equal data every element has it.
Test(oracle, allows_for_luck_where_elements_are_few_or_alike) {
    static const char text[] = "problem p\ndim N = 500\nin x : f32[N] ~ normal\nout y : f32[N]\n"
                               "y = tanh(0.79788 * (x + 0.044715 * x * x * x)) * x\n";
    struct fixture f;
    struct comparison c;
    open_fixture(&f, text, SET_EQUAL);
    const struct oracle_output *e = &f.oracle.sets[SET_EQUAL].outputs[0];
    for (int i = 0; i < 500; i++)
        f.out[i] = nextafterf((float)((double)e->high[i] + (double)e->low[i]), 1e9F);
    cr_expect(oracle_compare(e, f.out, 1, &c), "rms %g of %g", c.stats.rms, c.stats.limit_rms);
    for (int i = 0; i < 500; i++)
        f.out[i] *= 1.00001F;
    cr_expect_not(oracle_compare(e, f.out, 1, &c));
    struct error_stats s = {.honest_max = 0};
    oracle_limit(&s, f.oracle.problem, SET_DECLARED, 0, 1);
    cr_expect_eq(s.limit_rms, s.limit_max);
    oracle_limit(&s, f.oracle.problem, SET_DECLARED, 0, 64);
    cr_expect_lt(s.limit_rms, s.limit_max);
    close_fixture(&f);
}

// One chain of `n` additions; of what is added, `bits` bits are kept.
static float chain(const float *a, const float *b, int stride, int n, int bits) {
    float s = 0;
    for (int k = 0; k < n; k++) {
        uint32_t u;
        float x = a[k];
        memcpy(&u, &x, sizeof u);
        u &= 0xffffffffU << (24 - bits);
        memcpy(&x, &u, sizeof u);
        s += x * b[k * stride];
    }
    return s;
}

// Long sums in one chain are what most programs make. In its rounding 16 bits drown, but not on
// numbers of many digits, where nothing is rounded.
Test(oracle, allows_one_chain_of_any_length_and_sees_lost_digits) {
    static const char *const of[] = {"normal", "uniform(0, 1)"};
    enum { LENGTH = 65536, ROWS = 4, COLUMNS = 16 };
    for (int set = 0; set < 2 * SET_DRAWN; set++) {
        char text[200];
        struct fixture f;
        struct comparison c;
        const char *declared = of[set / SET_DRAWN];
        enum oracle_set which = (enum oracle_set)(set % SET_DRAWN);
        snprintf(text, sizeof text,
                 "problem p\nin a : f32[4, 65536] ~ %s\nin b : f32[65536, 16] ~ %s\n"
                 "out c : f32[4, 16]\nc = a @ b\n",
                 declared, declared);
        open_fixture(&f, text, which);
        for (int bits = 24; bits >= 16; bits -= 8) {
            for (int i = 0; i < ROWS * COLUMNS; i++)
                f.out[i] = chain((float *)f.inputs[0] + i / COLUMNS * LENGTH,
                                 (float *)f.inputs[1] + i % COLUMNS, COLUMNS, LENGTH, bits);
            bool ok = oracle_compare(&f.oracle.sets[which].outputs[0], f.out, 1, &c);
            if (bits == 24 ? which != SET_EQUAL && which != SET_ALTERNATING : which == SET_DIGITS)
                cr_expect_eq(ok, bits == 24, "%s, %s, %d bits: rms %g of %g, worst %g of %g",
                             declared, oracle_set_name(which), bits, c.stats.rms, c.stats.limit_rms,
                             c.stats.max, c.stats.limit_max);
        }
        close_fixture(&f);
    }
}

// What a fast function gives for what is subnormal, and at the end of the type.
Test(oracle, allows_zero_below_the_normal_numbers_and_infinity_near_the_largest) {
    cr_expect_eq(oracle_error(0, 1e-39, 0), 0);
    cr_expect_gt(oracle_error(0, 1e-37, 1e-44), 1e6);
    cr_expect_eq(oracle_error(-INFINITY, -1.7e38, 1e30), 0);
    cr_expect_eq(oracle_error(INFINITY, -1.7e38, 1e30), INFINITY);
    cr_expect_eq(oracle_error(INFINITY, 1e37, 1e30), INFINITY);
}

// An exponent that is known to within its own size alone: exp2(a log2 e - b log2 e) is as good as
// exp(a - b), and where that says nothing, neither does the set.
Test(oracle, allows_exponents_that_are_scaled_before_they_are_subtracted) {
    static const char text[] = "problem p\nin x : f32[8, 64] ~ normal\nout y : f32[8, 64]\n"
                               "y = softmax(x)\n";
    for (int set = 0; set < SET_DRAWN; set++) {
        struct fixture f;
        struct comparison c;
        open_fixture(&f, text, (enum oracle_set)set);
        for (int i = 0; i < 8; i++) {
            const float *x = (float *)f.inputs[0] + (ptrdiff_t)i * 64;
            float largest = x[0], sum = 0, *y = (float *)f.out + (ptrdiff_t)i * 64;
            for (int k = 1; k < 64; k++)
                largest = fmaxf(largest, x[k]);
            largest *= 1.44269504F;
            for (int k = 0; k < 64; k++) {
                volatile float scaled = x[k] * 1.44269504F;  // not fused
                sum += y[k] = exp2f(scaled - largest);
            }
            for (int k = 0; k < 64; k++)
                y[k] *= 1 / sum;
        }
        cr_expect(oracle_compare(&f.oracle.sets[set].outputs[0], f.out, 1, &c),
                  "%s: rms %g of %g, worst %g", oracle_set_name((enum oracle_set)set), c.stats.rms,
                  c.stats.limit_rms, c.stats.max);
        close_fixture(&f);
    }
    struct fixture f;
    open_fixture(&f,
                 "problem p\nin x : f32[500] ~ uniform(-1e12, 1e12)\nout y : f32[500]\n"
                 "y = softmax(x)\n",
                 SET_DECLARED);
    const struct oracle_output *e = &f.oracle.sets[SET_DECLARED].outputs[0];
    for (int i = 0; i < 500; i++)
        cr_expect(isnan(e->spread[i]));
    close_fixture(&f);
}

// A mean may be a running one, which is not exact where the sum is.
Test(oracle, does_not_want_means_exact) {
    struct fixture f;
    open_fixture(&f,
                 "problem p\nin x : f32[64, 64] ~ normal\nout y : f32[64]\n"
                 "out z : f32[64]\ny = mean(x, axis=1)\nz = sum(x, axis=1)\n",
                 SET_INTEGERS);
    for (int i = 0; i < 64; i++) {
        cr_expect_gt(f.oracle.sets[SET_INTEGERS].outputs[0].spread[i], 0);
        cr_expect_eq(f.oracle.sets[SET_INTEGERS].outputs[1].spread[i], 0);
    }
    close_fixture(&f);
}

// One sum is in every element: its honest error may be none by luck, and another order of the same
// terms, half a unit off, is not wrong for that.
Test(oracle, allows_a_unit_where_elements_share_a_sum) {
    static const char shared[] = "problem p\ndim N = 4096\nin x : f32[N] ~ uniform(0, 1)\n"
                                 "out y : f32[N]\ny = x / sum(x)\n";
    static const char own[] = "problem p\ndim N = 4096\nin x : f32[N] ~ uniform(0, 1)\n"
                              "out y : f32[N]\ny = x / (x + 1)\n";
    struct fixture f;
    open_fixture(&f, shared, SET_DECLARED);
    cr_expect_geq(f.oracle.sets[SET_DECLARED].outputs[0].stats.limit_rms, 16);
    cr_expect_eq(oracle_independent(f.oracle.problem, 0, 4096), 1);
    close_fixture(&f);
    open_fixture(&f, own, SET_DECLARED);
    cr_expect_lt(f.oracle.sets[SET_DECLARED].outputs[0].stats.limit_rms, 16);
    cr_expect_eq(oracle_independent(f.oracle.problem, 0, 4096), 4096);
    close_fixture(&f);
}

// Differences to a first element that lies far out would all be alike, and the errors of their sums
// add up: so on data of mixed magnitudes no row begins with one.
Test(oracle, allows_a_variance_by_differences_to_the_first_element) {
    enum { ROWS = 64, LONG = 65536 };
    static const char text[] = "problem p\ndim M = 64, K = 65536\nin x : f32[M, K] ~ normal\n"
                               "out y : f32[M]\nd = x - mean(x, axis=1)[:, None]\n"
                               "y = mean(d * d, axis=1)\n";
    struct fixture f;
    struct comparison c;
    open_fixture(&f, text, SET_WIDE);
    const struct oracle_output *e = &f.oracle.sets[SET_WIDE].outputs[0];
    for (int i = 0; i < ROWS; i++) {
        const float *x = f.inputs[0] + (size_t)i * LONG;
        float sum = 0, squares = 0;
        for (int k = 0; k < LONG; k++) {
            float d = x[k] - x[0];
            sum += d;
            squares += d * d;
        }
        f.out[i] = (squares - sum * sum / LONG) / LONG;
    }
    cr_expect(oracle_compare(e, f.out, 1, &c), "worst %g of %g", c.stats.max, c.stats.limit_max);
    cr_expect_lt(c.stats.max, c.stats.limit_max / 4, "%g", c.stats.max);
    // A hundredth is too much.
    f.out[5] *= 1.01F;
    cr_expect_not(oracle_compare(e, f.out, 1, &c));
    close_fixture(&f);
}

// softmax of one row, its sum in eight lanes; `bits` of each exponential are kept.
static void softmax(const float *x, float *y, int n, int bits) {
    float largest = x[0], lanes[8] = {0}, sum = 0;
    for (int i = 1; i < n; i++)
        largest = fmaxf(largest, x[i]);
    for (int i = 0; i < n; i++) {
        uint32_t u;
        float e = expf(x[i] - largest);
        memcpy(&u, &e, sizeof u);
        u &= 0xffffffffU << (24 - bits);
        memcpy(&y[i], &u, sizeof u);
        lanes[i % 8] += y[i];
    }
    for (int i = 0; i < 8; i++)
        sum += lanes[i];
    for (int i = 0; i < n; i++)
        y[i] /= sum;
}

// A quarter, a half and so on have five exponentials between them. Rounding errors of equal terms
// do not cancel: a chain of 768 errs by 20 spreads where the honest one happens to err by 2.4.
Test(oracle, allows_what_equal_terms_add_up_to_but_no_lower_precision) {
    static const char text[] = "problem p\ndim M = 16, N = 6144\nin x : f32[M, N] ~ uniform(0, 1)\n"
                               "out y : f32[M, N]\ny = softmax(x)\n";
    for (int set = 0; set < 2; set++) {
        struct fixture f;
        struct comparison c;
        enum oracle_set which = set ? SET_INTEGERS : SET_DECLARED;
        open_fixture(&f, text, which);
        const struct oracle_output *e = &f.oracle.sets[which].outputs[0];
        for (int keep = 24; keep >= 11; keep -= 13) {
            for (int i = 0; i < 16; i++)
                softmax((float *)f.inputs[0] + i * 6144, (float *)f.out + i * 6144, 6144, keep);
            cr_expect_eq(oracle_compare(e, f.out, 1, &c), keep == 24, "%d bits: rms %g of %g", keep,
                         c.stats.rms, c.stats.limit_rms);
        }
        close_fixture(&f);
    }
}

// A stable kernel is right where the formula overflows; far beyond the declared data that is so.
Test(oracle, allows_overflow_on_huge_data_alone) {
    static const char text[] = "problem p\ndim N = 500\nin x : f32[N] ~ uniform(80, 100)\n"
                               "out y : f32[N]\ny = log(1 + exp(x))\n";
    struct fixture f;
    struct comparison c;
    open_fixture(&f, text, SET_HUGE);
    memcpy(f.out, f.inputs[0], 500 * sizeof(float));
    cr_expect(oracle_compare(&f.oracle.sets[SET_HUGE].outputs[0], f.out, 1, &c));
    f.out[3] = 0;
    f.oracle.sets[SET_HUGE].outputs[0].spread[3] = 1;
    cr_expect_not(oracle_compare(&f.oracle.sets[SET_HUGE].outputs[0], f.out, 1, &c));
    close_fixture(&f);
}

Test(oracle, derives_sets_by_laws_of_the_graph) {
    for (int set = SET_DRAWN; set < SET_COUNT; set++) {
        struct fixture f;
        struct comparison c;
        open_fixture(&f, gemm, (enum oracle_set)set);
        multiply(&f, f.out, K, UINT32_MAX);
        cr_expect(oracle_compare(&f.oracle.sets[set].outputs[0], f.out, 1, &c), "%s",
                  oracle_set_name((enum oracle_set)set));
        // The declared results are not those of the set.
        const struct oracle_output *e = &f.oracle.sets[SET_DECLARED].outputs[0];
        cr_expect_not(oracle_compare(&f.oracle.sets[set].outputs[0], e->high, 1, &c));
        close_fixture(&f);
    }
}

// Rounding of the inputs themselves would spoil the sum: it is one of whole numbers, where there
// are such, of a graph that is linear.
Test(oracle, adds_up_only_what_is_linear_and_whole) {
    static const struct {
        const char *of, *value;
        bool wanted;
    } rows[] = {
        {"normal", "x * 3", true},
        {"normal", "x * x", false},
        {"normal", "x + 1", false},
        {"uniform(1, 2)", "x - x / 4", true},
        {"uniform(100000, 100001)", "x * 3", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture f;
        char text[200];
        snprintf(text, sizeof text,
                 "problem p\ndim N = 40\nin x : f32[N] ~ %s\nout y : f32[N]\ny = %s\n", rows[i].of,
                 rows[i].value);
        open_fixture(&f, text, SET_DECLARED);
        cr_expect_eq(derived_exists(&f.oracle, SET_SUMMED), rows[i].wanted, "%s", text);
        close_fixture(&f);
    }
}

// An error that no element shows, since each has it: only the mean square is too large.
Test(oracle, judges_by_norm_what_no_element_shows) {
    struct fixture f;
    struct comparison c;
    open_fixture(&f, gemm, SET_DECLARED);
    const struct oracle_output *e = &f.oracle.sets[SET_DECLARED].outputs[0];
    for (int i = 0; i < M * N; i++)
        f.out[i] = (float)((double)e->high[i] + (double)e->low[i] +
                           (i % 2 ? 1.5 : -1.5) * e->stats.limit_rms * (double)e->spread[i]);
    cr_expect_not(oracle_compare(e, f.out, 1, &c));
    cr_expect_eq(c.n_wrong, 0);
    cr_expect(c.stats.rms > c.stats.limit_rms && c.stats.max <= c.stats.limit_max);
    const char *words = oracle_evidence(&f.arena, &f.oracle, SET_DECLARED, 0, f.out, &c);
    cr_expect(strstr(words, "c is less precise than f32 honestly gives"), "%s", words);
    cr_expect(strstr(words, "expected"), "%s", words);
    close_fixture(&f);
}

Test(oracle, says_what_a_set_is) {
    struct fixture f;
    static const struct {
        enum oracle_set set;
        const char *words;
    } rows[] = {
        {SET_DECLARED, "drawn as the problem declares"},
        {SET_PATCHED, "the declared data with 4 elements of a, 4 elements of b changed"},
        {SET_PATCHED_AGAIN, "the declared data with 4 elements of a changed"},
        {SET_TINY, "every draw divided by 2^20"},
        {SET_SCALED, "the declared data with a times 16, so the results must be c times 16"},
        {SET_PERMUTED, "the rows of a stand in another order than in the declared data, so those "
                       "of the results must too"},
        {SET_SUMMED, "whole numbers, to each row of a another one added, so the results must be "
                     "sums, too"},
    };
    open_fixture(&f, gemm, SET_DECLARED);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_str_eq(describe_set(&f.arena, &f.oracle, rows[i].set), rows[i].words);
    for (int set = 0; set < SET_COUNT; set++)
        cr_expect(*describe_set(&f.arena, &f.oracle, (enum oracle_set)set), "%d", set);
    close_fixture(&f);
}

// Of very many rows several move together, and none is lost.
Test(oracle, moves_rows_in_bundles) {
    static const char text[] = "problem p\ndim N = 200000\nin x : f32[N] ~ normal\n"
                               "out y : f32[N]\ny = x * 2 + 1\n";
    struct fixture f;
    struct derived_law law;
    open_fixture(&f, text, SET_PERMUTED);
    cr_assert(derived_find(&f.oracle, SET_PERMUTED, &law));
    cr_expect_eq(law.n_rows, 50000);
    bool *seen = arena_array(&f.arena, bool, 50000);
    int64_t n_moved = 0;
    for (int i = 0; i < 50000; i++) {
        cr_assert(law.order[i] >= 0 && law.order[i] < 50000 && !seen[law.order[i]]);
        seen[law.order[i]] = true;
        n_moved += law.order[i] != i;
    }
    cr_expect(n_moved > 49000, "%lld", (long long)n_moved);
    const struct oracle_output *e = &f.oracle.sets[SET_PERMUTED].outputs[0];
    for (int i = 0; i < 200000; i++)
        f.out[i] = 2 * f.inputs[0][i] + 1;
    struct comparison c;
    cr_expect(oracle_compare(e, f.out, 1, &c));
    derived_reset(&law);
    cr_expect(!derived_find(&f.oracle, SET_DECLARED, &law));
    close_fixture(&f);
}
