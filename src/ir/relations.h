// Changes of a problem's inputs that change its outputs in a known way, read off the graph. A
// judge makes further input sets of these whose truth needs no computing.
//
//   scaling      some inputs times a power of two: outputs times powers of two, exactly
//   linearity    two sets of such inputs added up: so are the outputs
//   permutation  rows of all inputs that have them in another order: so are those of the outputs
//
// What is not certain is not claimed: an operation that is not named in relations.c ends the law.
#pragma once

#include <stdbool.h>

#include "ir/problem.h"

struct relations_scaling {
    int input[INPUTS_MAX];    // exponent of two that each input is multiplied by
    int output[OUTPUTS_MAX];  // and that each output is multiplied by then
};

// A law with one input scaled (the graph is homogeneous in it, as a product is in each factor),
// else with all of them; false when there is none.
bool relations_find_scaling(const struct problem *p, struct relations_scaling *s);

// The most terms that a sum of the problem has, products and scans included; 1 when there is none.
// On data that cancel, or that are all alike, honest errors of long sums depend on their order.
int64_t relations_longest_sum(const struct problem *p);

// Do rows (axis 0 of every output) neither depend on one another nor on their number? `moves`
// says for each input whether its rows move along.
bool relations_find_permutation(const struct problem *p, bool moves[INPUTS_MAX]);

// Are the outputs linear in these inputs together, the others being what they are?
bool relations_is_linear(const struct problem *p, const bool inputs[INPUTS_MAX]);
