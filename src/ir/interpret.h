// The reference: a graph evaluated node by node over whole arrays.
//
// Three readings of one graph, sharing shapes and order:
//   - value:  every operation in float64. The truth.
//   - spread: with the value, the standard deviation of the error that an honest
//     computation in the declared precision makes, to first order: each rounding
//     adds u|v|/sqrt(3), operations carry it on through their derivative, sums add
//     variances. It says, element by element, what one unit of error is.
//   - honest: the computation in the declared precision itself, every operation
//     rounded, sums sequential in blocks of 1024 and those pairwise. Casts (typed values,
//     outputs) round here and widen the spread; the truth does not round to a float type.
// The judge takes a candidate's error in units of spread and compares it with the
// honest computation's error in the same units. Arrays are freed after their last
// use, so memory is what the widest cut of the graph needs.
#pragma once

#include "ir/problem.h"

struct arena;

// Each input's data: `shape_count` elements as its type stores them.
struct interpret_data {
    const void *inputs[INPUTS_MAX];
};

enum { FAULT_MAX = 160 };

// Per output: malloc'ed arrays that the caller frees with interpret_reset.
struct interpret_result {
    int n_outputs;
    int64_t count[OUTPUTS_MAX];
    double *value[OUTPUTS_MAX];   // float64 truth
    double *spread[OUTPUTS_MAX];  // deviation of the honest error; 0 where exact, NAN where
                                  // something on the way was infinite
    float *honest[OUTPUTS_MAX];   // the declared precision's own answer, exactly; NULL where
    double *wide[OUTPUTS_MAX];    // f32 does not hold the output's type: then it is here
    // The first index that was out of range ("y: index 7 ... is outside [0, 5)"); what depends on
    // it is NaN. Or the first i64 that is too large to be exact here. Empty: there was none.
    char fault[FAULT_MAX];
};

void interpret(const struct problem *p, const struct interpret_data *data,
               struct interpret_result *result);

// Do the rows (the outermost axis of every output) not depend on one another?
bool interpret_rows_independent(const struct problem *p);

// The nodes whose axis 0 is that of the outputs, row for row; false when rows are not independent.
bool interpret_carriers(const struct problem *p, bool *carries);

// The problem of `n` of the rows alone, in `piece`, which the arena keeps: the same graph, in which
// axis 0 of the carriers is as long. False when rows are not independent. `carries`: per node.
bool interpret_rows_piece(struct arena *a, const struct problem *p, int64_t n, bool *carries,
                          struct problem *piece);

// The nodes of a loop's body whose axis 0 is that of `n_rows` rows, given which of its inputs have
// them; false when a step looks at several rows, or a state has rows in one step and not in
// another.
struct recurrence;
bool interpret_body_carriers(const struct recurrence *r, int64_t n_rows, bool *carries);

// The row of the outputs that element `index` of an input has a part in; -1 when that may be more
// than one.
int64_t interpret_row_of(const struct problem *p, int input, int64_t index);

// One row of the outputs alone; the rows must be independent.
void interpret_row(const struct problem *p, const struct interpret_data *data, int64_t row,
                   struct interpret_result *result);

// The same on several threads, to the bit: independent rows are shared out, anything else is
// done by one thread.
void interpret_parallel(const struct problem *p, const struct interpret_data *data, int n_threads,
                        struct interpret_result *result);

void interpret_reset(struct interpret_result *result);

// Memory that interpret() takes at its peak, about, the result included; and interpret_parallel().
int64_t interpret_whole_bytes(const struct problem *p);
int64_t interpret_bytes(const struct problem *p, int n_threads);

// What rounding v to a float type adds to the square of a spread, where it changes something.
double interpret_rounding(enum dtype t, double v);
