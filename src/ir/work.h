// How much arithmetic an operation is.
#pragma once

#include "ir/graph.h"

// Floating point operations of one node. What depends on the data (lists of ragged_scatter) is
// counted as if all lists were equally long; a loop counts with the first of its results.
double work_flops(const struct graph *g, const struct node *n);

// Of all sums that the output is made of, the one with the fewest results: so many errors of its
// elements are independent of each other (1 for x / sum(x), however long x is). The output's own
// count where nothing is summed.
int64_t work_fewest_sums(const struct graph *g, node_id output);

// Is it a sum that is divided? A mean may be computed without the sum, from mean to mean; so it
// is not exact where the sum is.
bool work_is_mean(const struct graph *g, node_id id);
bool work_has_mean(const struct graph *g);
// Is there one of values that no product of matrices went into?
bool work_has_plain_mean(const struct graph *g);

// Is the mean of this input taken from it (a variance, a norm), and nothing else done to it but to
// add it to something?
bool work_is_centred(const struct graph *g, node_id input);

// Is it a difference of floats of which the exponential is taken?
bool work_is_exponent(const struct graph *g, node_id id);

// Is it a sum of products that matrix units can do: matmul, convolutions, ragged products?
bool work_is_contraction(const struct node *n);
