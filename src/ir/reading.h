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

// Elementwise: out[0..n) from the arguments' runs. `out.type` is the node's. Typed: for any types.
void reading_elementwise(enum op op, struct reading out, const struct reading *args, int n);
void reading_elementwise_typed(enum op op, struct reading out, const struct reading *args, int n);

// exp(a - b) may be computed as exp2(a log2 e - b log2 e): the difference of exponents `out` then
// has the rounding errors of both.
void reading_exponent(struct reading out, const struct reading *args, int n);
// Slopes carry small errors. Operands that honest rounding moves farther than a function is
// straight (the result of a long sum of huge terms, near 0) need more, which this adds to `out`:
//   - where an exponent is not known to within 1, nothing is known of its exponential: any value
//   may
//     come out there, infinity too. Unless it is 0, exponents being below READING_NOTHING;
//   - functions that level off (tanh, erf) or turn back (sin) are flat where they stand, and not
//     within reach of the operand: the largest difference there counts;
//   - both factors of a product may be off at once, a gate that is open or shut (gelu) by all of
//   it.
enum { READING_NOTHING = -104 };
void reading_doubt(enum op op, struct reading out, const struct reading *args, int n);

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

// What honest arithmetic makes products and their sums of.
struct reading_products {
    int lack;  // digits that sums have less than f32
    // Factors may be taken apart, high + low with 11 digits each, and the product of the low parts
    // left out: as good as f32 (`precision f32`, unless it says `exact`), but where f32 holds the
    // product of such factors this does not.
    bool by_parts;
};

// out[m, n] = left[m, k] @ right[k, n], one matrix; a NULL variance means exact. Typed: not f32.
struct reading_matmul {
    struct reading out, left, right;
    int64_t m, n, k;
    struct reading_products how;
};
void reading_matmul(const struct reading_matmul *mm);
void reading_matmul_typed(const struct reading_matmul *mm);

void *reading_alloc(int64_t count, int64_t size);  // or abort
