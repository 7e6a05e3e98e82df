// Products that honest algebra leaves out: the sum over rows or columns of a product is a product
// of sums, and (a b) c is a (b c). A kernel that does so is right, and must not look impossible.
#pragma once

#include <stdbool.h>

#include "ir/problem.h"
#include "model/demand.h"

struct arena;

// Per node, the share of its flops that is left. For reach, what the law `collapse` gives; for the
// limit, nothing of a product that goes on linearly to a sum or to another product, since in which
// order they are best done depends on their sizes. True: there was something to leave out.
bool collapse_find(struct arena *a, const struct problem *p, enum demand_mode mode, double *share);
