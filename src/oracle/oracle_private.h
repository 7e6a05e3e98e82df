// What the oracle's parts share: oracle.c (sets, expectations), oracle_compare.c (comparing,
// words).
#pragma once

#include "oracle/oracle.h"

// What expectations are made of: an interpretation of these data.
struct oracle_source_data {
    const struct problem *problem;
    const struct interpret_data *data;
    struct interpret_result *result;  // arrays may be taken over
    enum oracle_set set;
    int64_t row;  // the only one that was interpreted, or -1
    int n_threads;
};
void oracle_store_expected(struct oracle_output *e, const struct oracle_source_data *l, int output);

// Error of one element of f32 in units of the spread.
double oracle_error(float value, double truth, double spread);
