// A problem: inputs with their distributions, a graph, outputs, the precision.
#pragma once

#include <stdint.h>

#include "ir/graph.h"

enum distribution_kind {
    DISTRIBUTION_NORMAL,    // mean a, standard deviation b
    DISTRIBUTION_UNIFORM,   // [a, b)
    DISTRIBUTION_INTEGERS,  // a .. b inclusive, as floats
    DISTRIBUTION_SIGN,      // -1 or +1
    DISTRIBUTION_CONSTANT,  // a; only made by tests and adversarial sets
    DISTRIBUTION_COUNT
};

struct distribution {
    enum distribution_kind kind;
    double a, b;
};

struct problem_input {
    node_id node;
    struct distribution distribution;
    bool is_param;  // known ahead (weights)
};

struct problem_output {
    const char *name;
    node_id node;
};

enum { INPUTS_MAX = 16, OUTPUTS_MAX = 8 };

struct problem {
    const char *name;
    struct graph graph;
    struct problem_input inputs[INPUTS_MAX];
    int n_inputs;
    struct problem_output outputs[OUTPUTS_MAX];
    int n_outputs;
    const char *text;  // the block's canonical text: what is stored, sent and hashed
};
