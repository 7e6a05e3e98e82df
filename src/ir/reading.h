// Inside the interpreter: runs of elements in all three readings at once. Only
// interpret*.c include this.
//
// `variance` is the square of interpret.h's spread. A rounding adds to it only where it
// changes something: a value that f32 holds exactly costs nothing, so exact data stays
// exact all the way.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ir/graph.h"

// Elements per run: one block of an honest sum.
enum { RUN_MAX = 1024 };

// The fused multiply-add that a compiler may choose would make the honest reading depend on
// the machine. GCC does not contract under -std=c17; clang has to be told.
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

// Hot loops are compiled for what the machine has; the sanitizers do not stand the resolver.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(HONE_NO_CLONES)
#define READING_HOT __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define READING_HOT
#endif

// One run of elements; somebody else owns the memory. The honest reading stands in `honest`
// (exactly, whatever the type) unless the type is wide (types.h): then in `wide`.
struct reading {
    double *value, *variance;
    float *honest;
    double *wide;
    enum dtype type;
};

// u^2 / 3 with u = 2^-24, and the same for the quantum of subnormal numbers.
#define READING_ROUND (0x1p-48 / 3)
#define READING_QUANTUM (0x1p-298 / 12)

// Variance that rounding v to f32 adds.
static inline double reading_round(double v) {
    return (double)(float)v != v ? v * v * READING_ROUND + READING_QUANTUM : 0;
}

// The same for the result of an operation whose operands vary by `carried`: where they are not
// exact, that our result happens to need no rounding says nothing about another's.
static inline double reading_round_from(double v, double carried) {
    return carried > 0 ? v * v * READING_ROUND + READING_QUANTUM : reading_round(v);
}

// What rounding v to a type adds; `carried` as above. Of f64 every result counts as rounded,
// since the truth itself is no finer.
double reading_round_to(enum dtype t, double v, double carried);

// How many deviations an operand is taken to stray when it stands near a jump.
enum { READING_STRAYS = 4 };

// Exponent of the lowest bit that is set in v; READING_NO_BIT for zero. What is not finite has
// bits without end.
enum { READING_NO_BIT = 1 << 20, READING_ALL_BITS = -(1 << 20) };
static inline int reading_low(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent == 0x7ff)
        return READING_ALL_BITS;
    if (exponent == 0)
        return mantissa ? __builtin_ctzll(mantissa) - 1074 : READING_NO_BIT;
    return exponent - 1075 + __builtin_ctzll(mantissa | UINT64_C(1) << 52);
}

// Does f32 hold every partial sum, in whatever order, of terms that are multiples of 2^low and
// whose sizes add up to `size`? That our own order needs no rounding would not be enough: small
// partial sums on a grid can be exact by luck.
static inline bool reading_sums_exactly(double size, int low) {
    return low == READING_NO_BIT || (low >= -149 && size <= ldexp(1, 24 + low));
}

// Mean square of the partial sums of some terms, over all orders in which they can be added:
// of `sum` and of the sum of their squares. A candidate may add in any order, so one unit of
// error must not hang on ours: with one large term, those who meet it first err most.
static inline double reading_sum_square(double sum, double squares) {
    return squares / 2 + (sum * sum - squares) / 3;
}

// Elementwise: out[0..n) from the arguments' runs. `out.type` is the node's. Typed: for any types.
void reading_elementwise(enum op op, struct reading out, const struct reading *args, int n);
void reading_elementwise_typed(enum op op, struct reading out, const struct reading *args, int n);

// The square of the highest jump that lies within reach of operands `at` with variances
// `variance`, where the result is y.
double reading_jump(enum op op, const double at[2], const double variance[2], double y);

// The honest reading of element i, whichever array it stands in.
static inline double reading_honest(const struct reading *r, int64_t i) {
    return r->wide ? r->wide[i] : (double)r->honest[i];
}
static inline void reading_set_honest(const struct reading *r, int64_t i, double v) {
    if (r->wide)
        r->wide[i] = v;
    else
        r->honest[i] = (float)v;
}

// A sum, product, maximum or minimum that grows by runs of at most RUN_MAX elements: each is
// added up in sequence, and the runs pairwise.
struct reading_partial {
    double value, variance;
    float honest;
    double wide;  // the honest reading where the result's type is wide
    // Of argmax and argmin: where the best of each reading stands, and the best of the others.
    int64_t at, honest_at;
    double other, other_variance;
    // Of a sum: the sizes of its terms added up, and the lowest bit that any of them has.
    double size;
    int low;
};
struct reading_fold {
    enum op op;
    enum dtype type;  // of the result
    int64_t n_runs;
    struct reading_partial levels[48];  // level i holds 2^i runs when bit i of n_runs is set
};
struct reading_partial reading_run(const struct reading_fold *f, struct reading x, int n);
// Two results become one.
struct reading_partial reading_join(const struct reading_fold *f, struct reading_partial p,
                                    struct reading_partial q);
// Both for results that are not f32.
struct reading_partial reading_run_typed(const struct reading_fold *f, struct reading x, int n);
struct reading_partial reading_join_typed(const struct reading_fold *f, struct reading_partial p,
                                          struct reading_partial q);
void reading_fold_add(struct reading_fold *f, struct reading_partial p);
struct reading_partial reading_fold_end(const struct reading_fold *f);

// out[m, n] = left[m, k] @ right[k, n], one matrix; a NULL variance means exact. Typed: not f32.
struct reading_matmul {
    struct reading out, left, right;
    int64_t m, n, k;
};
void reading_matmul(const struct reading_matmul *mm);
void reading_matmul_typed(const struct reading_matmul *mm);

void *reading_alloc(int64_t count, int64_t size);  // or abort
