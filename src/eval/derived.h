// Input sets that follow from the declared one by a law of the graph (ir/relations.h), and what
// is expected of them without computing it again: metamorphic checks, as sets like any other. An
// honest kernel meets them because the law is exact, in the truth and in its spread.
#pragma once

#include "eval/oracle.h"

// Is there such a law for this problem?
bool derived_exists(const struct oracle *o, enum oracle_set set);

// Turn an input's declared data into those of the set.
void derived_change(const struct oracle *o, enum oracle_set set, int input, float *values);

// Fill in what is expected. requires: derived_exists, and the declared set is known.
void derived_learn(struct oracle *o, enum oracle_set set);
