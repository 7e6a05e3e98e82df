// Crossing: a block of two parents, for policies that keep a population.
#pragma once

#include "lang/kernel.h"

struct arena;
struct problem;
struct rng;
struct target;

// A legal block with the stages of one parent, in which each stage that the other one has too takes
// about half of its knobs from there, or the whole of it where the emitters differ; repaired to the
// nearest legal one. `words` says what became of `x`. False: the two share no stage, or nothing
// came of it but `x`. requires: both complete and legal.
bool kernel_cross(struct arena *a, const struct problem *p, const struct target *t,
                  const struct kernel *x, const struct kernel *y, struct rng *rng,
                  struct kernel *out, const char **words);
