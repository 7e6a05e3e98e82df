// What it takes for an element of another type than f32 to be right.
//
//   f16 bf16 f8*   Computed in f32 (or f64) and rounded once. An element is as wrong as the number
//                  that rounds to it and is nearest to the truth: a value that the truth itself
//                  rounds to has no error. The unit is the spread *before* that rounding, so a
//                  kernel that computes in the storage type errs by thousands of units.
//   f64            The truth is float64 as well, and errs as an honest kernel does. Their
//                  difference has the spread of both; limits never go below what that takes.
//   integers,      Exact. Where an element depends on rounded values (a comparison, a cast, a
//   place: bool           its spread is the height of the jump within four deviations of the
//   operand),
//                  every answer that some rounding gives is right: within as many jumps as there
//                  may have been, at most four times their spread. Places that argmax, argmin and
//                  topk_index choose are looked up (oracle_choice.h): what stands there must be
//                  within the rounding of the best.
//
// A bool is 0 or 1: other bytes are no truth value. Infinity and NaN must be met where the truth,
// as the type stores it, has them.
#pragma once

#include "oracle/oracle_compare.h"

struct interpret_result;

// Expectations of one output: takes over the result's arrays.
struct oracle_typed_source {
    struct interpret_result *result;
    int output;
    bool allows_overflow;  // oracle_allows_overflow() of the set
    int n_threads;
};
void oracle_typed_store(struct oracle_output *e, const struct oracle_typed_source *l);

// The error of element i, in its unit; INFINITY when it cannot be right.
double oracle_typed_error(const struct oracle_output *e, const void *values, int64_t i);

// As oracle_compare().
bool oracle_typed_compare(const struct oracle_output *e, const void *values, uint32_t poison,
                          struct comparison *c);
