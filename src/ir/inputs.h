// Input data: any element of any input from (seed, input, index), by integer
// arithmetic only, so that every machine and device gets the same bits. The
// generator itself is runtime/hone_rng.h, which goes into exported code as well; an element
// is made of it by runtime/hone_inputs.h, in C and in CUDA.
#pragma once

#include <stdint.h>

#include "ir/problem.h"

// Fill out with all elements of input number `input`, as its type stores them.
void inputs_fill(const struct problem *p, int input, uint64_t seed, void *out);

// The sets a judge draws, besides the declared distributions (set 0).
enum input_set {
    INPUT_SET_DECLARED,
    INPUT_SET_INTEGERS,  // small integers: sums and products exact in f32, order cannot excuse an
                         // error
    INPUT_SET_DIGITS,    // mostly 1 and 2, some whole numbers of many digits: so few that sums stay
                         // exact, and products with 1 and 2, so that any lower precision shows
    INPUT_SET_WIDE,  // mixed magnitudes: each element times a power of two from 2^-6 to 2^6; half
                     // of all places are the first or the last; most parts of a row are empty
    INPUT_SET_SHIFTED,  // all of one sign, away from zero: dropped precision shows
    // Adversarial ones. Whole numbers, signs and places mean something: they stay as declared.
    INPUT_SET_EQUAL,        // one draw everywhere: ties, and rows that are all alike
    INPUT_SET_HUGE,         // every draw times 2^20 (2^5 where the exponent has 5 bits or fewer)
    INPUT_SET_TINY,         // divided by as much
    INPUT_SET_ALTERNATING,  // signs alternate where there are two: sums cancel
    INPUT_SET_SPIKE,        // in each row one element stands out 4096-fold
    INPUT_SET_COUNT
};
const char *input_set_name(enum input_set set);

void inputs_fill_set(const struct problem *p, int input, enum input_set set, uint64_t seed,
                     void *out);

// The same on several threads, to the bit.
struct inputs_job {
    const struct problem *problem;
    int input;
    enum input_set set;
    uint64_t seed;
    int n_threads;
    char *fault;  // FAULT_MAX bytes (ir/interpret.h), for what goes wrong in computing an input
                  // that is computed; what was there first stays. NULL: not needed
};
void inputs_fill_parallel(const struct inputs_job *job, void *out);

// For an input that is computed: how input number `i` of its maker is drawn.
struct inputs_job inputs_hidden(const struct inputs_job *job, int i);

// One element as the input's type stores it. requires: the input is not computed.
double inputs_at(const struct inputs_job *job, int64_t index);

// What the elements are drawn from (runtime/hone_inputs.h), for drawing them elsewhere.
// requires: the input is not computed.
struct hone_source;
struct hone_source inputs_source(const struct inputs_job *job);
