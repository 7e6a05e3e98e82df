// From a kernel block to a candidate: resolve, check, lower, print.
#pragma once

#include <stdbool.h>

#include "ir/problem.h"
#include "lang/kernel.h"
#include "model/target.h"
#include "record/candidate.h"

struct arena;
struct error;

// Check a kernel block against its problem: values exist, regions have a form that their
// family accepts, knobs are known and legal on the target. A mistake is ERROR_PARSE with
// place, reason and the nearest legal value. Knobs that are not given are filled in with
// the family's defaults, so `k` comes back complete.
bool lower_check(struct arena *a, const struct problem *p, const struct target *t, struct kernel *k,
                 struct error *err);

// The same for one that shares most of its stages with `base` (family/block.h), which is not looked
// at again; NULL: none.
struct block;
bool lower_check_near(struct arena *a, const struct problem *p, const struct target *t,
                      const struct block *base, struct kernel *k, struct error *err);

// Lower a kernel block (checked first) to a sealed candidate of tier K: C source with its plan.
bool lower_kernel(struct arena *a, const struct problem *p, const struct target *t,
                  const struct kernel *k, struct candidate *c, struct error *err);

// The kernel block that is tried first: as few stages as the families accept, default knobs.
// Every checked problem has one, unless it takes more than STAGES_MAX stages: then the block
// is not complete and lower_check says so.
void lower_default(struct arena *a, const struct problem *p, const struct target *t,
                   struct kernel *k);

// What a run begins with unless it is told otherwise: the default kernel, complete; of a bounded
// space its first block. NULL: none is legal.
struct kernel *lower_initial(struct arena *a, const struct problem *p, const struct target *t);

// The same by the first emitter of each family that takes a region, in the place of the one that
// should be fastest: for a search whose first kernel does not pass.
void lower_simple(struct arena *a, const struct problem *p, const struct target *t,
                  struct kernel *k);

// The candidate `library`: every product and convolution that a library of the target takes is a
// stage of the family `library`, what is around them stages as in the default. ERROR_UNSUPPORTED:
// there is none, and why.
bool lower_library(struct arena *a, const struct problem *p, const struct target *t,
                   struct kernel *k, struct error *err);

// The baseline `plain`: one straightforward loop nest per named value, scalar, blocks over
// the outermost axis, the C library's functions, the compiler's best flags.
void lower_plain(struct arena *a, const struct problem *p, const struct target *t,
                 struct candidate *c);

// What `hone scaffold` writes: plain's source with a comment that explains the contract of tier C
// or D; where there is no plain (support.h), typed functions with nothing in them (skeleton.h).
const char *lower_scaffold(struct arena *a, const struct problem *p, const struct target *t);
