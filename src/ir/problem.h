// A problem: inputs with their distributions, a graph, outputs, the precision.
#pragma once

#include <stdint.h>

#include "ir/graph.h"

enum distribution_kind {
    DISTRIBUTION_NORMAL,       // mean a, standard deviation b
    DISTRIBUTION_UNIFORM,      // [a, b)
    DISTRIBUTION_INTEGERS,     // a .. b inclusive
    DISTRIBUTION_SIGN,         // -1 or +1
    DISTRIBUTION_INDEX,        // whole numbers below a: places along an axis
    DISTRIBUTION_BERNOULLI,    // 1 with probability a, else 0
    DISTRIBUTION_ZIPF,         // whole numbers below b, k as often as 1/(k + 1)^a, by octaves
    DISTRIBUTION_PERMUTATION,  // each row of the last axis has every place once
    DISTRIBUTION_SORTED,       // uniform in [a, b), or a .. b for integers; no row falls
    DISTRIBUTION_OFFSETS,      // whole numbers from 0 to a; no row falls
    DISTRIBUTION_CONSTANT,     // a, everywhere
    DISTRIBUTION_COUNT
};

struct distribution {
    enum distribution_kind kind;
    double a, b;
};

// What is known of an input's last two axes, besides its data.
enum promise {
    PROMISE_NONE,
    PROMISE_UPPER,     // triangular: 0 below the diagonal
    PROMISE_LOWER,     // triangular: 0 above it
    PROMISE_DIAGONAL,  // 0 elsewhere
    PROMISE_SYMMETRIC,
    PROMISE_COUNT
};

struct problem_input {
    node_id node;
    struct distribution distribution;
    enum promise promise;
    bool is_param;  // known ahead (weights)
    // Not drawn but computed: the only output of this problem, whose inputs are drawn in turn.
    const struct problem *maker;
};

// What products are made of, and what sums them. Storage is another matter.
struct precision {
    enum precision_operand {
        PRECISION_STORED,  // operands as they are
        PRECISION_TF32,    // rounded to 11 digits, to nearest
        PRECISION_TYPE     // rounded to `type`
    } operand;
    enum dtype type;
    bool is_exact;    // `f32 exact`: products of f32 itself, not what is as good
    bool short_sums;  // `accumulate f22`: sums have 14 digits, as tensor cores have them for f8
};
// Is a product of f32 held to no more than what parts of its factors give (ir/reading.h)?
static inline bool precision_by_parts(const struct precision *q) {
    return q->operand == PRECISION_STORED && !q->is_exact;
}
// Digits that f32 has and f22 (8 bits of exponent, 13 of fraction) has not.
enum { SHORT_SUMS_LACK = 10 };

struct problem_output {
    const char *name;
    node_id node;
};

// Far beyond what a network has: docs/language.md states them.
enum { INPUTS_MAX = 512, OUTPUTS_MAX = 64 };

struct problem {
    const char *name;
    struct graph graph;
    struct problem_input inputs[INPUTS_MAX];
    int n_inputs;
    struct problem_output outputs[OUTPUTS_MAX];
    int n_outputs;
    struct precision precision;
    bool order_any;    // results may differ by the order of summation from call to call
    const char *text;  // the block's canonical text: what is stored, sent and hashed
};
