// What the oracle's parts share: oracle.c (sets, expectations), oracle_compare.c (comparing, words).
#pragma once

#include "eval/oracle.h"

// What is learned from: an interpretation of these data.
struct oracle_lesson {
    const struct problem *problem;
    const struct interpret_data *data;
    struct interpret_result *result;  // arrays may be taken over
    enum oracle_set set;
    int64_t row;  // the only one that was interpreted, or -1
    int n_threads;
};
void oracle_learn_output(struct oracle_output *e, const struct oracle_lesson *l, int output);

// Error of one element of f32 in units of the spread.
double oracle_error(float value, double truth, double spread);
