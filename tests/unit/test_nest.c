// Whatever the language can say has a kernel that computes it.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "family/family.h"
#include "family/plain.h"
#include "family/program.h"
#include "loop/passes.h"
#include "lowering.h"
#include "random_any.h"

// An error this many spreads out is not rounding.
enum { TOLERANCE = 60, CASES = 1250, WIDE = 800 };

static void check(struct arena *a, const struct problem *p, const char *text,
                  struct loop_program *program, const char *block, const struct expectation *e) {
    struct error err;
    char message[1200] = "";
    pass_unroll(program);
    pass_prune(program);
    cr_assert(pass_verify(program, &err), "%s\n%s\n%s", text, block, err.text);
    double error = expect_execute(e, a, p, program, message, sizeof message);
    cr_assert(error >= 0 && error < TOLERANCE, "%s\n%s\nerror %g %s", text, block, error, message);
}

static void check_case(struct rng *r, int i, const char *(*make)(struct arena *, struct rng *)) {
    struct arena a = {0};
    const char *text = make(&a, r);
    struct problem *p = problem_from(&a, text);
    if (getenv("HONE_TEST_SHOW"))
        fprintf(stderr, "%d\n%s\n", i, text);
    struct target t = test_target(i % 3 ? 32 : 64);
    if (i % 2)
        target_of_arch("sm_90a", &t);
    struct expectation e;
    expect_open(&e, &a, p, (uint64_t)i);
    if (i % 8 == 7) {
        check(&a, p, text, plain_program(&a, p, &t), "plain", &e);
    } else {
        struct kernel *k = random_kernel(&a, r, p, &t, i % 4);
        check(&a, p, text, program_lower(&a, p, &t, k), kernel_print(&a, k), &e);
    }
    expect_close(&e);
    arena_reset(&a);
}

// Four parts, so that they run side by side; together 5000 cases. $HONE_TEST_SEED: others.
static void check_cases(uint64_t seed) {
    struct rng r;
    const char *more = getenv("HONE_TEST_SEED");
    rng_init(&r, seed + (more ? 4 * strtoull(more, NULL, 10) : 0));
    for (int i = 0; i < CASES; i++)
        check_case(&r, i, random_any);
}

Test(nest, random_problems_of_all_operations_and_types_1, .timeout = 300) {
    check_cases(1);
}
Test(nest, random_problems_of_all_operations_and_types_2, .timeout = 300) {
    check_cases(2);
}
Test(nest, random_problems_of_all_operations_and_types_3, .timeout = 300) {
    check_cases(3);
}
Test(nest, random_problems_of_all_operations_and_types_4, .timeout = 300) {
    check_cases(4);
}

// The other functions, loops with state, infinities and NaN: 1600 cases.
static void check_wide(uint64_t seed) {
    struct rng r;
    const char *more = getenv("HONE_TEST_SEED");
    rng_init(&r, 1000 + seed + (more ? 4 * strtoull(more, NULL, 10) : 0));
    for (int i = 0; i < WIDE; i++)
        check_case(&r, i, random_wide);
}

Test(nest, random_problems_of_every_other_function_1, .timeout = 300) {
    check_wide(1);
}
Test(nest, random_problems_of_every_other_function_2, .timeout = 300) {
    check_wide(2);
}

// A sum of everything has one result: by `nest` it would be one thread's.
Test(nest, leaves_sums_of_every_type_to_reduce) {
    static const char *const types[] = {"f64", "f32", "f16", "i64", "i32", "i8", "u8", "i4"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int gpu = 0; gpu < 2; gpu++) {
            struct arena a = {0};
            struct target t = test_target(32);
            struct kernel k;
            if (gpu)
                target_of_arch("sm_90a", &t);
            const struct problem *p = problem_from(
                &a,
                arena_printf(&a, "problem p\nin x : %s[4096, 4096]\nout y : f64\ny = f64(sum(x))\n",
                             types[i]));
            lower_default(&a, p, &t, &k);
            cr_assert_str_eq(k.stages[0]->family, "reduce", "%s", types[i]);
            cr_assert_gt(stage_number(k.stages[0], "split", 0), 1, "%s", types[i]);
            arena_reset(&a);
        }
}

// Of a warp that shares a line: ties, NaN, lines shorter than a warp, lanes that have nothing left,
// lines that several reads at a time go through, threads that have more than two of the best.
Test(nest, a_warp_finds_the_best_as_a_thread_does) {
    static const char *const values[] = {
        "argmax(floor(3 * x), axis=1)",  "argmin(floor(3 * x), axis=1)",
        "argmax(sqrt(x - 0.8), axis=1)", "argmin(sqrt(x - 0.1), axis=1)",
        "argmax(log(0 * x), axis=1)",    "argmax(x, axis=0)",
        "2 * argmax(x, axis=1)",         "topk(floor(9 * x), 5)",
        "topk(sqrt(x - 0.5), 7)",        "topk(x, 7)"};
    static const int lengths[] = {7, 32, 77, 600, 2600};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (int n = 0; n < (values[i][0] == 't' ? 5 : 4); n++) {
            struct arena a = {0};
            struct target t;
            struct kernel k;
            struct expectation e;
            target_of_arch("sm_90a", &t);
            bool is_order = values[i][0] == 't';
            const char *text = arena_printf(
                &a, "problem p\nin x : f32[7, %d] ~ uniform(0, 1)\nout y : %s[7%s]\ny = %s\n",
                lengths[n], is_order ? "f32" : "i64", is_order ? (i == 7 ? ", 5" : ", 7") : "",
                values[i]);
            if (i == 5)
                text = arena_printf(&a,
                                    "problem p\nin x : f32[%d, 7] ~ uniform(0, 1)\nout y : "
                                    "i64[7]\ny = %s\n",
                                    lengths[n], values[i]);
            const struct problem *p = problem_from(&a, text);
            lower_default(&a, p, &t, &k);
            struct kernel_stage *s = k.stages[0];
            bool is_long = i != 5 && lengths[n] >= 32;
            cr_assert_str_eq(s->family, "nest", "%s", text);
            cr_assert_eq(stage_number(s, "team", 0), is_long ? 32 : 1, "%s", text);
            stage_set(s, "team", 0, 32);
            stage_set(s, "pieces", 0, 1);
            expect_open(&e, &a, p, i);
            check(&a, p, text, program_lower(&a, p, &t, &k), kernel_print(&a, &k), &e);
            expect_close(&e);
            arena_reset(&a);
        }
}

// Of threads of a block that have a piece each of an axis across memory: ties, NaN, pieces that are
// not equally long, blocks whose columns go beyond the last result.
Test(nest, pieces_of_an_axis_find_the_best_as_one_thread_does) {
    static const char *const values[] = {"argmax(floor(3 * x), axis=0)",
                                         "argmin(sqrt(x - 0.1), axis=0)",
                                         "argmax(-1 - x, axis=0) + 1", "argmin(1 + x, axis=0)"};
    static const int lengths[] = {9, 64, 530};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (int n = 0; n < 3; n++) {
            struct arena a = {0};
            struct target t;
            struct kernel k;
            struct expectation e;
            target_of_arch("sm_90a", &t);
            const char *text = arena_printf(
                &a, "problem p\nin x : %s[%d, 37] ~ uniform(0, 1)\nout y : i64[37]\ny = %s\n",
                i % 2 ? "bf16" : "f32", lengths[n], values[i]);
            const struct problem *p = problem_from(&a, text);
            lower_default(&a, p, &t, &k);
            struct kernel_stage *s = k.stages[0];
            cr_assert_eq(stage_number(s, "pieces", 0), n == 2 ? 8 : 1, "%s", text);
            stage_set(s, "pieces", 0, 4);
            stage_set(s, "block", 0, 128);
            expect_open(&e, &a, p, i);
            check(&a, p, text, program_lower(&a, p, &t, &k), kernel_print(&a, &k), &e);
            expect_close(&e);
            arena_reset(&a);
        }
}
