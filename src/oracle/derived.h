// Input sets that follow from the declared one, or that of integers, by a law of the graph
// (ir/relations.h), and what is expected of them without computing it again: metamorphic checks, as
// sets like any other. An honest kernel meets them because the law is exact, in the truth and in
// its spread.
#pragma once

#include "ir/relations.h"
#include "oracle/oracle.h"

// What is done to inputs, and what that does to outputs. A GPU does the same with its own arrays.
struct derived_law {
    struct relations_scaling scaling;  // all 0: nothing is scaled
    int64_t *order;                    // which row stands in each place; NULL: rows stay
    int64_t n_rows;                    // of the order; of very many rows several go together
    bool moves[INPUTS_MAX];            // inputs whose rows go along; those of outputs all do
    bool is_sum;                       // what has moved is added to what was there
};

// The law of a set, the same whenever it is asked for; false when the problem has none.
bool derived_find(const struct oracle *o, enum oracle_set set, struct derived_law *law);
void derived_reset(struct derived_law *law);

// Is there such a law for this problem?
bool derived_exists(const struct oracle *o, enum oracle_set set);

// Turn an input's data of the set that it follows from into those of the set.
void derived_change(const struct oracle *o, enum oracle_set set, int input, void *values);

// Fill in what is expected. requires: derived_exists, and the set that it follows from is known.
void derived_compute(struct oracle *o, enum oracle_set set);

// Is nothing claimed of an expected value that was scaled? Beyond the type, or so small that steps
// are absolute there. (oracle_edges of runtime/oracle.cu says the same.)
bool derived_is_edge(float high);

// The law in words: "x times 16: y is times 16". "" when the set has none.
const char *derived_text(struct arena *a, const struct oracle *o, enum oracle_set set);
