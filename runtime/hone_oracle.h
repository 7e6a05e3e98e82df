// What the host tells the kernels of oracle.cu: a graph as data. Addresses are numbers, so that
// host and device read the same structs.
#ifndef HONE_ORACLE_H
#define HONE_ORACLE_H

enum {
    ORACLE_RANK = 8,
    ORACLE_ARGS = 3,
    ORACLE_RUN = 1024,     // terms of one block of an honest sum: RUN_MAX of ir/reading.h
    ORACLE_EXTREMES = 64,  // of one block of an extreme, which is the same in blocks of any length
    ORACLE_FOLD = 64,      // partial results that one thread joins; a power of two
    ORACLE_LEVELS = 7,     // of pairs in these, and the whole
    ORACLE_GROUP = 256,    // threads that compute a tile of a product
};

// In the place of an operation of ops.def: as it is.
enum { ORACLE_COPY = -1 };

// In the place of a type of types.def: f32 and bool, for which there is a faster way.
enum { ORACLE_PLAIN = -1 };

// Three readings of one array (ir/interpret.h). `value` 0: an input, exact, `honest` its data.
// `honest` 0: the constant `number`. The honest reading is in float, or where the type is wide
// (ir/types.h) in double.
struct oracle_array {
    unsigned long long value, variance, honest;
    double number;
    int type, is_wide;
    unsigned long long fault;  // 0, or an int to be set when a result is too large to be exact
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
    int is_exponent;                          // a difference of which the exponential is taken
    int type;                                 // what the operation is computed in, or ORACLE_PLAIN
    struct oracle_operand args[ORACLE_ARGS];  // axes: those of the result
    struct oracle_array out;
    struct oracle_axes to;  // where elements of the result go
    unsigned long long n;
    unsigned long long advance[ORACLE_ARGS], advance_to;  // of oracle_chain: elements for each step
};

// The result's elements stand at `kept`, and each gathers those of `reduced`.
struct oracle_reduce {
    int op, n_runs, run;            // blocks of a result, terms of each
    int is_mean;                    // work_is_mean() of ir/work.h
    int lack;                       // of oracle_join: digits that partial sums have less than f32
    int runs_are_near;              // the next run lies nearer than the next result
    struct oracle_array from, out;  // out: of oracle_join alone
    struct oracle_axes kept, reduced;
    unsigned long long n, length;         // results; elements of each
    unsigned long long partials, joined;  // [run][result]
    struct oracle_axes to;                // of oracle_join: where results go, from `to_at` on
    unsigned long long to_at;
    unsigned long long first;  // of argmax and argmin: the place of the first element
};

// One side of a product, packed: [batch][k][rows], the number of rows a multiple of four. `value`
// 0: an input, exact, `honest` its data. Of one batch: it serves for all.
struct oracle_factor {
    unsigned long long value, variance, honest;
    unsigned long long rows, batches;
    unsigned long long bits;  // struct oracle_bits [run][batch of the product][rows]
};

// Exponents of the lowest and the highest bit of some numbers.
struct oracle_bits {
    int low, high;
};

// In the place of a type that factors are rounded to.
enum { ORACLE_AS_STORED = -2, ORACLE_TF32 = -1 };

// One spatial axis of a convolution, for results that see the same taps (of a transposed one: those
// of one residue modulo the stride): position j of them reads element
// j advance + offset + t offset_step of the argument under tap number t, which has the weight
// tap + t tap_step. Some of these are below zero.
struct oracle_span {
    unsigned long long n, n_taps;  // positions; taps
    unsigned long long size;       // of the argument's axis
    unsigned long long window;     // of the weights' axis
    unsigned long long advance, offset, offset_step, tap, tap_step;
};

// How a side is packed: from strides; elements under the taps of a window; weights of these taps.
enum { ORACLE_STRIDED, ORACLE_UNDER_TAPS, ORACLE_WEIGHTS };

struct oracle_pack {
    struct oracle_operand from;  // axes: of a strided side its batches, else all
    unsigned long long at, row_step, k_step;
    unsigned long long rows, k;
    struct oracle_factor to;
    int precision, kind;
    struct oracle_span spans[3];
    unsigned long long channels, m;  // of a group; m: of the weights
    int is_transposed, unused;
    unsigned long long fault;  // an int to be set when a weight of a window is not finite
};

// left[b, m, k] @ right[b, k, n], every run of k apart.
struct oracle_product {
    struct oracle_factor left, right;
    unsigned long long batch, m, n, k;
    unsigned long long partials;  // [run][b][m][n]
    int is_exact;                 // both sides are inputs
    int is_short;                 // of so few digits that f32 holds their products
    int by_parts, unused;         // as in ir/reading.h
};

// What only moves data: slice, pad, concat, take, take_along and iota. The axis along which it
// moves has `length` elements in the result (take: so many indices), `size` in the first argument,
// and `inner` elements to each step.
struct oracle_move {
    int op, rank;
    struct oracle_operand args[2];  // axes: of the argument, row-major
    struct oracle_array out;
    unsigned long long n, inner, length, size;
    struct oracle_axes walk;  // slice: along the argument, from `at` on
    unsigned long long at;
    double value;  // pad, with the sizes of both and what is before the first element
    unsigned long long from[ORACLE_RANK], to[ORACLE_RANK], start[ORACLE_RANK];
    unsigned long long fault;  // an int to be set when an index is out of range
};

// Running sums or products of `n` lines, whose runs are scanned side by side: first the sum of
// each, then in its place what came before it.
struct oracle_scan {
    int op, reverse, exclusive, unused;
    struct oracle_operand from;
    struct oracle_array out;
    unsigned long long n, length, inner;
    unsigned long long n_runs, partials;  // of a line; [run][line], not used where there is one run
};

// Lines put in order: runs of `width` elements are in order already, and two of them become one. Of
// each run only what may be among the first `kept` of the line is looked at, and one more.
struct oracle_order {
    int is_rising, is_honest;  // smallest first, NaN behind all; by which reading
    struct oracle_operand from;
    struct oracle_array out;  // of oracle_ranks
    unsigned long long n, length, inner, kept;
    unsigned long long width;
    unsigned long long places, merged;  // unsigned [line][length]
};

// base, and every element of src added where its index says: along lines whose indices have been
// put in order, so that each result finds its own terms, first to last.
struct oracle_scatter {
    struct oracle_order order;  // of the indices: `places`
    struct oracle_operand base, src;
    struct oracle_array out;
    unsigned long long n, size, inner;  // results; rows of the result, elements of each
    unsigned long long length;          // rows of src
    unsigned long long fault;           // an int to be set when an index is out of range
};

// Windows over three axes.
struct oracle_pool {
    int op, unused;
    struct oracle_operand from;
    struct oracle_array out;
    unsigned long long n;
    unsigned long long size[3], positions[3], window[3], stride[3], dilation[3], before[3];
};

// Part of an output, to become what is expected of it from element `at` on: of f32 the truth as the
// sum of two floats and its spread, of any other type (from.type) two doubles, truth and unit.
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
    double constant;
    int data_type, type;  // of the data; of the output
};

#endif
