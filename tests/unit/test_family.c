#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "family/moves.h"
#include "family/plain.h"
#include "family/program.h"
#include "loop/passes.h"
#include "lowering.h"

// An error this many spreads out is not rounding.
enum { TOLERANCE = 60 };

static const int vector_bytes[] = {16, 32, 64};

// Run a kernel before and after unrolling and compare both with the reference.
static void check_kernel(struct arena *a, const struct problem *p, const char *text,
                         struct loop_program *program, const char *block, uint64_t seed) {
    struct expectation e;
    struct error err;
    char message[1200] = "";
    expect_open(&e, a, p, seed);
    for (int unrolled = 0; unrolled < 2; unrolled++) {
        double error = expect_execute(&e, a, p, program, message, sizeof message);
        cr_assert(error >= 0 && error < TOLERANCE, "%s\n%s\n%s error %g %s", text, block,
                  unrolled ? "unrolled" : "as built", error, message);
        pass_unroll(program);
    }
    cr_assert(pass_verify(program, &err), "%s\n%s\n%s", text, block, err.text);
    expect_close(&e);
}

Test(family, random_blocks_of_random_problems_compute_the_problem) {
    struct rng r;
    rng_init(&r, 20261115);
    for (int i = 0; i < 150; i++) {
        struct arena a = {0};
        const char *text = random_problem(&a, &r);
        struct problem *p = problem_from(&a, text);
        struct target t = test_target(vector_bytes[i % 3]);
        struct kernel *k = random_kernel(&a, &r, p, &t, (int)rng_below(&r, 7));
        check_kernel(&a, p, text, program_lower(&a, p, &t, k), kernel_print(&a, k), (uint64_t)i);
        arena_reset(&a);
    }
}

Test(family, plain_of_random_problems_computes_the_problem) {
    struct rng r;
    rng_init(&r, 7);
    for (int i = 0; i < 40; i++) {
        struct arena a = {0};
        const char *text = random_problem(&a, &r);
        struct problem *p = problem_from(&a, text);
        struct target t = test_target(64);
        check_kernel(&a, p, text, plain_program(&a, p, &t), "plain", (uint64_t)i);
        arena_reset(&a);
    }
}
