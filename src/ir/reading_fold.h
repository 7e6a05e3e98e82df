// Inside the interpreter: sums and other reductions in all three readings, and what is exact about
// them. Only interpret*.c include this.
#pragma once

#include "ir/reading.h"

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

// 2^e as ldexp() has it, without a call for every sum. requires: e > -1023.
static inline double reading_power(int e) {
    uint64_t bits = (uint64_t)(e < 1024 ? e + 1023 : 0x7ff) << 52;
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

// Does f32, or what `lack` digits fewer, hold every partial sum, in whatever order, of terms that
// are multiples of 2^low and whose sizes add up to `size`? That our own order needs no rounding
// would not be enough: small partial sums on a grid can be exact by luck.
static inline bool reading_sums_exactly(double size, int low, int lack) {
    return low == READING_NO_BIT || (low >= -149 && size <= reading_power(24 - lack + low));
}

// Mean square of the partial sums of some terms, over all orders in which they can be added one
// after the other: of `sum` and of the sum of their squares. A candidate may add in any order, and
// all of them in one chain, so one unit of error must not depend on ours.
static inline double reading_sum_square(double sum, double squares) {
    return squares / 2 + (sum * sum - squares) / 3;
}

// The same, added up over all additions. Chains of more than READING_CHAIN terms lose so much in
// f32 that nobody makes them: a longer sum is one of such chains, and their results are another.
enum { READING_CHAIN = 1 << 16 };
static inline double reading_chain_squares(double n, double sum, double squares) {
    if (n <= READING_CHAIN)
        return (n - 1) * reading_sum_square(sum, squares);
    double m = ceil(n / READING_CHAIN), pairs = sum * sum - squares, joined = squares + pairs / m;
    return (n - m) * (squares / m / 2 + pairs / (m * m) / 3) +
           (m - 1) * reading_sum_square(sum, joined);
}

// A sum, product, maximum or minimum that grows by runs of at most RUN_MAX elements: each is
// added up in sequence, and the runs pairwise. Only the honest reading is made in that order; the
// variance of a sum is that of one chain of all its terms, up to READING_CHAIN of them, which is
// what most programs make.
struct reading_partial {
    double value, variance;
    float honest;
    double wide;  // the honest reading where the result's type is wide
    // Of argmax and argmin: where the best of each reading stands, and the best of the others.
    int64_t at, honest_at;
    double other, other_variance;
    // Of a sum: how many terms, their variances and squares and sizes added up, and the lowest bit
    // that any of them has.
    double terms, carried, squares, size;
    int low;
};
struct reading_fold {
    enum op op;
    enum dtype type;  // of the result
    bool is_mean;     // of a sum: work_is_mean()
    int lack;         // of a sum: digits that its partial sums have less than f32
    int64_t n_runs;
    struct reading_partial levels[48];  // level i holds 2^i runs when bit i of n_runs is set
};
struct reading_partial reading_run(const struct reading_fold *f, struct reading x, int n);
// The variance of a sum of f32 from the rest of it: what the terms bring, and one rounding per
// addition, unless no order rounds anything. `lack`: as in struct reading_fold.
static inline void reading_vary(struct reading_partial *p, int lack) {
    p->variance = p->carried;
    if (p->carried > 0 || !reading_sums_exactly(p->size, p->low, lack))
        p->variance += reading_chain_squares(p->terms, p->value, p->squares) *
                           (READING_ROUND * reading_power(2 * lack)) +
                       (p->terms - 1) * READING_QUANTUM;
}
// Two results become one.
struct reading_partial reading_join(const struct reading_fold *f, struct reading_partial p,
                                    struct reading_partial q);
// Both for results that are not f32.
struct reading_partial reading_run_typed(const struct reading_fold *f, struct reading x, int n);
struct reading_partial reading_join_typed(const struct reading_fold *f, struct reading_partial p,
                                          struct reading_partial q);
void reading_fold_add(struct reading_fold *f, struct reading_partial p);
struct reading_partial reading_fold_end(const struct reading_fold *f);
