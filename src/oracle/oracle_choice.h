// Outputs that are places: argmax, argmin and topk_index of values that were rounded on the way.
// Where several may be the best, which one is found first hangs on rounding, and any of them is
// right. So the values themselves are kept, with their spread, and what stands at a candidate's
// place is compared with what stands at ours. Of topk_index no place may occur twice in a line.
#pragma once

#include "oracle/oracle.h"

// Is the output such places (as they are, cast to another integer, or reshaped)?
bool oracle_choice_is(const struct problem *p, int output);

// For an output that is: the values it chooses from, of the same data. NULL when every place is
// certain. `row` -1: of all rows, else of this one.
struct oracle_choice *oracle_choice_make(const struct problem *p, const struct oracle_output *e,
                                         int output, const struct interpret_data *data,
                                         int64_t row);
void oracle_choice_free(struct oracle_choice *c);

// May element i be `place` where the truth is `truth`? `values`: all of the output.
bool oracle_choice_allows(const struct oracle_choice *c, const struct oracle_output *e,
                          const void *values, int64_t i);
