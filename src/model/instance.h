// What demand can know before a run: whole numbers that inputs hold (indices, offsets), by one
// draw of the declared distribution, and masks made of positions alone.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ir/problem.h"

struct arena;

// The elements of the input that `n` is, as whole numbers: NULL when it is computed from others,
// or too large to draw. Casts and new shapes are seen through.
const int64_t *instance_values(struct arena *a, const struct problem *p, node_id n, int64_t *count);

// How many different values `n` holds; false when it is not known.
bool instance_distinct(struct arena *a, const struct problem *p, node_id n, double *distinct);

// How many different elements of argument 0 a take_along reads; false when it is not known.
bool instance_distinct_along(struct arena *a, const struct problem *p, const struct node *take,
                             double *distinct);

// The share of elements for which a condition holds that is made of positions and constants alone
// (triangular masks); false when it depends on data. Large ones are sampled.
bool instance_share(const struct problem *p, node_id condition, double *share);

// Of the elements of an input with a promise, the share that is not known to be zero.
double instance_promised(const struct problem_input *in, const struct shape *shape);

// Of the multiply-adds of a matmul, the share that promises leave, and masks of positions: a causal
// softmax is 0 where it was masked, so half of its product with the values need not be done.
double instance_products(const struct problem *p, const struct node *matmul);
