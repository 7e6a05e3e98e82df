// What is right in types other than f32: oracle/oracle_typed.h, oracle_choice.h.
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ir/interpret.h"
#include "oracle/null_kernels.h"
#include "oracle/oracle_compare.h"
#include "parsed.h"

enum { POISON = 0x7fd12345 };

struct fixture {
    struct arena arena;
    const struct problem *problem;
    struct oracle oracle;
    const struct oracle_output *e;
    void *out;
};

static void open_fixture(struct fixture *f, const char *text, enum oracle_set set) {
    *f = (struct fixture){0};
    f->problem = parsed(&f->arena, text);
    oracle_init(&f->oracle, f->problem, 42);
    oracle_compute(&f->oracle, 1U << set, 2);
    f->e = &f->oracle.sets[set].outputs[0];
    f->out = calloc((size_t)dtype_size(f->e->type, f->e->count) + 8, 1);
    for (int64_t i = 0; i < f->e->count; i++)
        dtype_put(f->e->type, f->out, i, f->e->truth[i]);
}

static void close_fixture(struct fixture *f) {
    oracle_reset(&f->oracle);
    free(f->out);
    arena_reset(&f->arena);
}

static bool is_right(struct fixture *f) {
    struct comparison c;
    return oracle_compare(f->e, f->out, POISON, &c);
}

static double get(const struct fixture *f, int64_t i) {
    return dtype_get(f->e->type, f->out, i);
}

static void put(struct fixture *f, int64_t i, double v) {
    dtype_put(f->e->type, f->out, i, v);
}

Test(oracle_typed, sets_that_were_computed_side_by_side_are_each_compared_by_all_threads) {
    struct fixture f;
    open_fixture(&f, "problem p\nin x : f16[64]\nout y : f16[64]\ny = exp(x)\n", SET_DECLARED);
    unsigned sets = 1U << SET_INTEGERS | 1U << SET_WIDE;
    oracle_compute(&f.oracle, sets, 4);
    cr_expect_eq(f.oracle.sets[SET_INTEGERS].outputs[0].n_threads, 4);
    cr_expect_eq(f.oracle.sets[SET_WIDE].outputs[0].n_threads, 4);
    close_fixture(&f);
}

Test(oracle_typed, misses_are_counted_from_the_nearest_number_that_rounds_there) {
    static const struct {
        enum dtype t;
        double v, x, miss;
    } rows[] = {
        {DTYPE_F16, 1, 1, 0},
        {DTYPE_F16, 1, 1 + 0x1p-11, 0},  // in the middle, to even
        {DTYPE_F16, 1 + 0x1p-10, 1, 0x1p-11},
        {DTYPE_F16, 1, 1 - 0x1p-11, 0x1p-12},  // numbers below a power of two stand closer
        {DTYPE_F16, -1, 1, 2 - 0x1p-12},
        {DTYPE_F16, 0, 0x1p-24, 0x1p-25},
        {DTYPE_F16, 65504, 65519, 0},
        {DTYPE_F16, INFINITY, 65519, 1},
        {DTYPE_F16, INFINITY, 65521, 0},
        {DTYPE_F16, -INFINITY, 65521, 65520 + 65521},
        {DTYPE_F16, 65504, 65521, 1},
        {DTYPE_F16, NAN, 1, INFINITY},
        {DTYPE_BF16, 1, 1 + 0x1p-6, 0x1p-6 - 0x1p-8},
        {DTYPE_F8E4M3, NAN, 460, 4},
        {DTYPE_F8E4M3, 448, 470, 6},
        {DTYPE_F8E5M2, 4, 5, 0.5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_eq(dtype_rounding_distance(rows[i].t, rows[i].v, rows[i].x), rows[i].miss,
                     "%s %g of %g: %g", dtype_name(rows[i].t), rows[i].v, rows[i].x,
                     dtype_rounding_distance(rows[i].t, rows[i].v, rows[i].x));
}

// The honest computation passes on every set; the same in the storage type does not.
Test(oracle_typed, asks_for_one_rounding) {
    static const char *const types[] = {"f16", "bf16", "f8e4m3", "f8e5m2"};
    for (int k = 0; k < 4; k++)
        for (int set = 0; set < SET_DRAWN; set++) {
            struct fixture f;
            struct arena a = {0};
            open_fixture(&f,
                         arena_printf(&a,
                                      "problem p\ndim M = 50, N = 64\nin x : %s[M, N] ~ normal\n"
                                      "out y : %s[M]\ny = sum(x * x, axis=1) / 100\n",
                                      types[k], types[k]),
                         (enum oracle_set)set);
            enum dtype t = f.e->type;
            uint8_t *x = calloc(50 * 64, 2);
            oracle_fill(&f.oracle, (enum oracle_set)set, 0, x);
            for (int twice = 0; twice < 2; twice++) {
                for (int i = 0; i < 50; i++) {
                    float s = 0;
                    for (int j = 63; j >= 0; j--) {
                        float v = (float)dtype_get(t, x, i * 64 + j);
                        s = twice ? (float)dtype_round(t, (double)(s + v * v)) : s + v * v;
                    }
                    put(&f, i, (double)(s / 100));
                }
                if (!twice)
                    cr_expect(is_right(&f), "%s on %s", types[k],
                              oracle_set_name((enum oracle_set)set));
                else if (set == SET_DECLARED || set == SET_SHIFTED)
                    cr_expect_not(is_right(&f), "%s twice on %s", types[k],
                                  oracle_set_name((enum oracle_set)set));
            }
            free(x);
            close_fixture(&f);
            arena_reset(&a);
        }
}

Test(oracle_typed, one_step_of_the_type_is_wrong_where_nothing_is_near) {
    struct fixture f;
    open_fixture(&f,
                 "problem p\ndim N = 500\nin x : f32[N] ~ normal\nout y : bf16[N]\ny = exp(x)\n",
                 SET_DECLARED);
    cr_expect(is_right(&f));
    int64_t i = 0;  // whose truth is not half way between two
    while (fabs(f.e->truth[i] - get(&f, i)) > 0x1p-10 * get(&f, i))
        i++;
    put(&f, i, get(&f, i) * (1 + 0x1p-7));
    cr_expect_not(is_right(&f));
    close_fixture(&f);
}

// The truth is float64 itself: an answer that differs by a few roundings is right, f32 is not.
Test(oracle_typed, f64_against_a_truth_that_rounds_too) {
    struct fixture f;
    open_fixture(&f,
                 "problem p\ndim M = 40, N = 500\nin x : f64[M, N] ~ normal\nout y : f64[M]\n"
                 "y = sum(x * x, axis=1)\n",
                 SET_DECLARED);
    double *x = calloc(40 * 500, sizeof *x);
    oracle_fill(&f.oracle, SET_DECLARED, 0, x);
    for (int i = 0; i < 40; i++) {
        double s = 0;
        for (int j = 499; j >= 0; j--)
            s += x[i * 500 + j] * x[i * 500 + j];
        put(&f, i, s);
    }
    cr_expect(is_right(&f));
    put(&f, 3, get(&f, 3) * (1 + 1e-12));
    cr_expect_not(is_right(&f));
    for (int i = 0; i < 40; i++)
        put(&f, i, (double)(float)f.e->truth[i]);
    cr_expect_not(is_right(&f));
    free(x);
    close_fixture(&f);
}

Test(oracle_typed, whole_numbers_are_exact) {
    static const char *const types[] = {"i64", "i32", "i8", "u8", "i4"};
    for (int k = 0; k < 5; k++) {
        struct fixture f;
        struct arena a = {0};
        open_fixture(&f,
                     arena_printf(&a,
                                  "problem p\ndim N = 77\nin x : %s[N]\nout y : %s[N]\n"
                                  "y = %s(x * 3 - 1)\n",
                                  types[k], types[k], types[k]),
                     SET_DECLARED);
        cr_expect(is_right(&f), "%s", types[k]);
        put(&f, 76, get(&f, 76) > 0 ? get(&f, 76) - 1 : get(&f, 76) + 1);
        cr_expect_not(is_right(&f), "%s", types[k]);
        close_fixture(&f);
        arena_reset(&a);
    }
}

// A test of rounded values: either answer where they are within the rounding, else one.
Test(oracle_typed, comparisons_may_go_either_way_within_the_rounding) {
    struct fixture f;
    open_fixture(
        &f,
        "problem p\ndim N = 300\nin x : f32[N] ~ uniform(1, 2)\nin d : f32[N] ~ integers(0, 1)\n"
        "out y : bool[N]\ny = (x * 3.3) / 3.3 + d > x\n",
        SET_DECLARED);
    float *d = calloc(300, sizeof *d);
    oracle_fill(&f.oracle, SET_DECLARED, 1, d);
    int n_free = 0;
    for (int i = 0; i < 300; i++) {
        double before = get(&f, i);
        put(&f, i, before == 0);
        bool is_free = is_right(&f);
        cr_expect_eq(is_free, d[i] == 0, "%d", i);
        n_free += is_free;
        put(&f, i, before);
    }
    cr_expect_gt(n_free, 0);
    ((uint8_t *)f.out)[5] = 3;  // no truth value at all
    cr_expect_not(is_right(&f));
    free(d);
    close_fixture(&f);
}

Test(oracle_typed, casts_jump_by_one_within_the_rounding) {
    struct fixture f;
    open_fixture(&f,
                 "problem p\ndim N = 400\nin x : f32[N] ~ integers(1, 50)\nout y : i32[N]\n"
                 "y = i32(floor(x / 3 * 3))\n",
                 SET_DECLARED);
    for (int i = 0; i < 400; i++) {
        double before = get(&f, i);
        bool is_free = f.e->unit[i] > 0;
        for (int by = -3; by <= 3; by++) {
            put(&f, i, before + by);
            cr_expect_eq(is_right(&f), by == 0 || (is_free && abs(by) == 1), "%d by %d", i, by);
        }
        put(&f, i, before);
    }
    close_fixture(&f);
}

// Two rows of w are nearly the same, so that two places are as good; all others are not.
Test(oracle_typed, places_are_right_when_what_stands_there_is) {
    struct fixture f;
    open_fixture(
        &f,
        "problem p\ndim M = 60, K = 16, N = 12\nin x : f32[M, K] ~ uniform(1, 2)\n"
        "in w : f32[N, K] ~ uniform(0, 1)\nout y : i64[M]\n"
        "both = concat(x @ w.T, (x * 3.3) @ w.T / 3.3, axis=1)\ny = argmax(both, axis=1)\n",
        SET_DECLARED);
    for (int i = 0; i < 60; i++) {
        double best = get(&f, i), twin = best < 12 ? best + 12 : best - 12;
        put(&f, i, twin);
        cr_expect(is_right(&f), "row %d: %g for %g", i, twin, best);
        for (int wrong = 0; wrong < 24; wrong++) {
            put(&f, i, wrong);
            if (wrong != (int)best && wrong != (int)twin)
                cr_expect_not(is_right(&f), "row %d: %d for %g", i, wrong, best);
        }
        put(&f, i, 24);
        cr_expect_not(is_right(&f));
        put(&f, i, best);
    }
    close_fixture(&f);
}

Test(oracle_typed, the_best_few_come_in_either_order_and_once) {
    struct fixture f;
    open_fixture(&f,
                 "problem p\ndim M = 30, K = 16, N = 12\nin x : f32[M, K] ~ uniform(1, 2)\n"
                 "in w : f32[N, K] ~ uniform(0, 1)\nout y : i32[M, 4]\n"
                 "both = concat(x @ w.T, (x * 3.3) @ w.T / 3.3, axis=1)\n"
                 "y = i32(topk_index(both, 4))\n",
                 SET_DECLARED);
    for (int i = 0; i < 30; i++) {
        double a = get(&f, 4 * i), b = get(&f, 4 * i + 1), c = get(&f, 4 * i + 2);
        put(&f, 4 * i, b);
        put(&f, 4 * i + 1, a);
        cr_expect(is_right(&f), "row %d: the first two change places", i);
        put(&f, 4 * i + 1, b);
        cr_expect_not(is_right(&f), "row %d: one twice", i);
        put(&f, 4 * i, c);
        put(&f, 4 * i + 1, b);
        put(&f, 4 * i + 2, a);
        cr_expect_not(is_right(&f), "row %d: the third is not the first", i);
        put(&f, 4 * i, a);
        put(&f, 4 * i + 2, c);
    }
    cr_expect(is_right(&f));
    close_fixture(&f);
}

// The poison of an integer may be a right value; what is not written is wrong all the same.
Test(oracle_typed, finds_what_was_not_written) {
    struct fixture f;
    struct comparison c;
    open_fixture(&f, "problem p\ndim N = 1001\nin x : i4[N]\nout y : i4[N]\ny = i4(x + 1)\n",
                 SET_DECLARED);
    for (int i = 1; i < 501; i++)
        ((uint8_t *)f.out)[i] = (uint8_t)((uint32_t)POISON >> (8 * (i % 4)));
    cr_expect_not(oracle_compare(f.e, f.out, POISON, &c));
    cr_expect(c.n_unwritten > 800 && c.n_unwritten < 1000, "%lld", (long long)c.n_unwritten);
    put(&f, 0, get(&f, 0) > 0 ? 0 : 1);
    cr_expect_not(oracle_compare(f.e, f.out, POISON, &c));
    cr_expect_eq(c.n_unwritten, 0);  // somebody wrote that
    close_fixture(&f);
}

Test(oracle_typed, nan_and_infinity_in_every_float) {
    static const char *const types[] = {"f64", "f16", "bf16", "f8e4m3", "f8e5m2"};
    for (int k = 0; k < 5; k++) {
        struct fixture f;
        struct arena a = {0};
        open_fixture(&f,
                     arena_printf(&a,
                                  "problem p\ndim N = 100\nin x : %s[N] ~ integers(-1, 1)\n"
                                  "out y : %s[N]\ny = x / abs(x) + 1 / x\n",
                                  types[k], types[k]),
                     SET_DECLARED);
        int n = 0;
        cr_expect(is_right(&f), "%s", types[k]);
        for (int i = 0; i < 100; i++) {
            double before = get(&f, i);
            bool is_nan = isnan(before);
            put(&f, i, is_nan ? 1 : NAN);
            cr_expect_not(is_right(&f), "%s: %g", types[k], before);
            n += is_nan;
            put(&f, i, before);
        }
        cr_expect(n > 0, "%s has no NaN", types[k]);
        close_fixture(&f);
        arena_reset(&a);
    }
}

Test(oracle_typed, an_index_outside_its_axis_is_nobodys_answer) {
    struct fixture f = {0};
    f.problem =
        parsed(&f.arena, "problem p\ndim N = 20\nin x : f32[N] ~ normal\n"
                         "in i : i64[N] ~ integers(0, 30)\nout y : f32[N]\ny = take(x, i * 1)\n");
    oracle_init(&f.oracle, f.problem, 1);
    oracle_compute(&f.oracle, 1U << SET_DECLARED, 1);
    cr_expect(strstr(f.oracle.sets[SET_DECLARED].fault, "is outside [0, 20)") != NULL, "%s",
              f.oracle.sets[SET_DECLARED].fault);
    cr_expect_eq(oracle_faulty(&f.oracle), 1U << SET_DECLARED);
    oracle_reset(&f.oracle);
    arena_reset(&f.arena);
}

// An input that is computed: from hidden draws, rounded to its type, other ones on other sets.
Test(oracle_typed, computed_inputs_follow_the_set) {
    struct arena a = {0};
    struct oracle o;
    const struct problem *p =
        parsed(&a, "problem p\ndim M = 8, N = 50\nin x : f16[M, N] = softmax(u) where u ~ normal\n"
                   "out y : f32[M]\ny = sum(x, axis=1)\n");
    uint16_t declared[400], huge[400];
    oracle_init(&o, p, 3);
    oracle_compute(&o, 1U << SET_DECLARED | 1U << SET_HUGE | 1U << SET_PATCHED, 2);
    oracle_fill(&o, SET_DECLARED, 0, declared);
    oracle_fill(&o, SET_HUGE, 0, huge);
    double most = 0;
    for (int i = 0; i < 8; i++) {
        double sum = 0;
        for (int k = 0; k < 50; k++) {
            sum += dtype_get(DTYPE_F16, declared, i * 50 + k);
            most = fmax(most, dtype_get(DTYPE_F16, huge, i * 50 + k));
        }
        cr_expect_float_eq(sum, 1, 0.01);
    }
    cr_expect_gt(most, 0.99);  // of huge draws one takes it all
    oracle_reset(&o);
    arena_reset(&a);
}

Test(oracle_typed, null_kernels_of_any_type) {
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"problem p\ndim N = 64\nin x : i32[N]\nout y : i8[N]\ny = i8(x - x)\n", "writing zeros"},
        {"problem p\ndim N = 64\nin x : bf16[N]\nout y : bf16[N]\ny = x * 1\n", "copying an input"},
        {"problem p\ndim N = 64\nin x : f64[N]\nout y : u8[N]\ny = u8(x - x + 7)\n",
         "writing one constant"},
        {"problem p\ndim N = 64\nin x : f16[N]\nout y : f16[N]\ny = x + 1\n", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture f;
        struct null_kernels t;
        uint8_t x[64 * 8];
        const void *inputs[] = {x};
        open_fixture(&f, rows[i].text, SET_DECLARED);
        oracle_fill(&f.oracle, SET_DECLARED, 0, x);
        null_kernels_start(&t);
        null_kernels_try(&f.oracle, SET_DECLARED, inputs, &t);
        const char *words = null_kernels_text(&t);
        cr_expect_str_eq(words ? words : "none", rows[i].words ? rows[i].words : "none");
        close_fixture(&f);
    }
}
