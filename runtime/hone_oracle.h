// What the host tells the kernels of oracle.cu: a graph as data. Addresses are numbers, so that
// host and device read the same structs.
#ifndef HONE_ORACLE_H
#define HONE_ORACLE_H

enum {
    ORACLE_RANK = 8,
    ORACLE_ARGS = 3,
    ORACLE_RUN = 1024,   // terms of one block of an honest sum: RUN_MAX of ir/reading.h
    ORACLE_FOLD = 64,    // partial results that one thread joins; a power of two
    ORACLE_LEVELS = 7,   // of pairs in these, and the whole
    ORACLE_TILE = 64,    // rows and columns of a product that one group of threads computes
    ORACLE_GROUP = 256,  // its threads
};

// In the place of an operation of ops.def: as it is.
enum { ORACLE_COPY = -1 };

// Three readings of one array (ir/interpret.h). `value` 0: an input, exact, `honest` its data.
// `honest` 0: the constant `number`.
struct oracle_array {
    unsigned long long value, variance, honest;
    double number;
};

// Axes to walk along: an element's place is the sum of its coordinates times the strides.
struct oracle_axes {
    int rank, is_flat;  // is_flat: an element's place is its number
    unsigned long long size[ORACLE_RANK], stride[ORACLE_RANK];
};

struct oracle_operand {
    struct oracle_array array;
    struct oracle_axes axes;
};

struct oracle_map {
    int op, n_args;
    int is_exponent, unused;  // is_exponent: a difference of which the exponential is taken
    struct oracle_operand args[ORACLE_ARGS];  // axes: those of the result
    struct oracle_array out;
    unsigned long long n;
};

// The result's elements stand at `kept`, and each gathers those of `reduced`.
struct oracle_reduce {
    int op, n_runs;
    int is_mean, unused;            // is_mean: work_is_mean() of ir/work.h
    struct oracle_array from, out;  // out: of oracle_join alone
    struct oracle_axes kept, reduced;
    unsigned long long n, length;         // results; elements of each
    unsigned long long partials, joined;  // [run][result]
};

// left[b, m, k] @ right[b, k, n], every run of k apart.
struct oracle_product {
    struct oracle_array left, right;
    struct oracle_axes left_batch, right_batch;
    unsigned long long left_m, left_k, right_k, right_n;  // strides
    unsigned long long batch, m, n, k;
    unsigned long long partials;  // [run][b][m][n]
    int is_exact;                 // both sides are inputs
    int unused;
};

// Part of an output, to become what is expected of it from element `at` on.
struct oracle_put {
    struct oracle_array from;
    unsigned long long n, at;
    unsigned long long high, low, spread;
    unsigned long long allows_overflow;  // where the truth is no finite float, anything will do
};

// Something that needs no computing: data[i % count], or `constant` where there are no data.
struct oracle_guess {
    unsigned long long data, count;
    unsigned long long high, low, spread;
    unsigned long long n;
    float constant;
    int unused;
};

#endif
