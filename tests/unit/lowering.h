// Shared by the tests of family/ and loop/: problems from text, random ones too, and their
// loop programs run against the reference interpreter.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/rng.h"
#include "family/lower.h"
#include "ir/interpret.h"
#include "lang/lang.h"
#include "loop/loop_build.h"

// The one problem of a text; fails the test when it has a mistake.
struct problem *problem_from(struct arena *a, const char *text);

// The loop program of a problem's kernel block, legal and verified.
struct loop_program *program_from(struct arena *a, const struct problem *p, const struct target *t,
                                  const char *block);

// A machine like the one that knobs were made for.
struct target test_target(int vector_bytes);

// A random small problem as text.
const char *random_problem(struct arena *a, struct rng *r);

// A random legal block: the default one after some random moves.
struct kernel *random_kernel(struct arena *a, struct rng *r, const struct problem *p,
                             const struct target *t, int n_moves);

// Inputs drawn for a problem and what the reference makes of them.
struct expectation {
    void *inputs[INPUTS_MAX];  // as their types are stored
    const struct problem *problem;
    struct interpret_result result;
};
void expect_open(struct expectation *e, struct arena *a, const struct problem *p, uint64_t seed);
void expect_close(struct expectation *e);

// Largest error of outputs against the reference, in units of its spread; `outputs` holds
// one array per output, as its type is stored.
double expect_error(const struct expectation *e, void *const *outputs);

// Run a loop program on the expectation's inputs; the error as above, or -1 and `message`.
double expect_execute(const struct expectation *e, struct arena *a, const struct problem *p,
                      const struct loop_program *program, char *message, int room);
