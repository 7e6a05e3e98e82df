// A call of a library that our own host code makes in a kernel's place: one product or one
// convolution, as numbers. What computes it is the host's affair (library/blas.h,
// library/gpu_calls.h).
//
//     #pragma hone call gemm math(f32) size(64, 32, 16, 1) lhs(16, 1, 0) rhs(1, 16, 0)
//         out(32, 1, 0) args(x, w, y)
//
// (one line). Numbers come in clauses, each a name and a list; types are those of the buffers.
// Arguments: the two operands, the result, and on a GPU memory to work in.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ir/types.h"

struct str;

enum call_kind { CALL_GEMM, CALL_CONV, CALL_KIND_COUNT };

// What products are made of and summed in.
enum call_math { CALL_F32, CALL_TF32, CALL_F64, CALL_I32, CALL_MATH_COUNT };

// Places of the numbers. gemm: out[b, m, n] = sum over k of lhs[b, m, k] rhs[b, k, n], with the
// distances between rows, columns and batches in elements.
enum {
    GEMM_M,
    GEMM_N,
    GEMM_K,
    GEMM_BATCH,
    GEMM_LHS,  // row, column, batch
    GEMM_RHS = GEMM_LHS + 3,
    GEMM_OUT = GEMM_RHS + 3,
    GEMM_NUMBERS = GEMM_OUT + 3
};

// conv: images [batch, groups * in, size...], windows [groups * out, in, taps...] of a plain one or
// [groups * in, out, taps...] of a transposed one, results [batch, groups * out, result...]; all
// in row-major order.
enum {
    CONV_BATCH,
    CONV_GROUPS,
    CONV_IN,  // channels of a group
    CONV_OUT,
    CONV_TRANSPOSED,
    CONV_AXES,
    CONV_IMAGE,  // three places each, the first CONV_AXES used, the others 1 (padding: 0)
    CONV_WINDOW = CONV_IMAGE + 3,
    CONV_STRIDE = CONV_WINDOW + 3,
    CONV_PADDING = CONV_STRIDE + 3,
    CONV_DILATION = CONV_PADDING + 3,
    CONV_RESULT = CONV_DILATION + 3,
    CONV_NUMBERS = CONV_RESULT + 3
};

enum { CALL_NUMBERS_MAX = CONV_NUMBERS, CALL_BUFFERS_MAX = 4 };
enum { CALL_LHS, CALL_RHS, CALL_OUT, CALL_WORK };  // arguments

struct call {
    enum call_kind kind;
    enum call_math math;
    int64_t number[CALL_NUMBERS_MAX];
};

// Clauses of a kind, ended by a name of NULL.
struct call_clause {
    const char *name;
    int first, n;
};
const struct call_clause *call_clauses(enum call_kind kind);

const char *call_kind_name(enum call_kind kind);
const char *call_math_name(enum call_math math);
bool call_kind_find(const char *name, enum call_kind *kind);
bool call_math_find(const char *name, enum call_math *math);

// "call gemm math(f32) size(64, 32, 16, 1) ...", without arguments.
void call_print(struct str *out, const struct call *c);

// Do operands and result lie within buffers of these types and sizes, and is it a call that some
// library could be asked for? NULL: yes; else why not.
const char *call_broken(const struct call *c, const enum dtype *types, const int64_t *sizes_bytes);
