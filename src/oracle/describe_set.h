// What an input set is, for the reader of a verdict that names it.
#pragma once

#include "oracle/oracle.h"

// "every draw times 2^20"; of a set that follows from the declared one its law, with the names of
// the problem's inputs and outputs: "the declared data with x times 16, so the results must be y
// times 16".
const char *describe_set(struct arena *a, const struct oracle *o, enum oracle_set set);
