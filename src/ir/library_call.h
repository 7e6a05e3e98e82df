// A call of a library that our own host code makes in a kernel's place: one product or one
// convolution, as numbers. What computes it is the host's affair (library/blas.h,
// library/gpu_calls.h).
//
//     #pragma hone call gemm math(f32) size(64, 32, 16, 1) lhs(16, 1, 0) rhs(1, 16, 0)
//         out(32, 1, 0) args(x, w, y)
//
// (one line). Numbers come in clauses, each a name and a list; types are those of the buffers.
// Arguments: the two operands, the result, and on a GPU memory to work in.
//
// `call cutlass` is a product by a kernel that CUTLASS's templates make (ir/cutlass.h): how it is
// configured is a part of the call, and so is what is computed of each sum before it is stored, as
// a list of steps. Arguments behind the first four are what those steps load.
//
//     epilogue(load 4 0 1 0, add 0 1, number 0x1p-1, mul 2 3)
//
// Value 0 is the sum, value i what step i gives (from 1), the last one is stored. Everything is
// f32. `load A R C B`: argument A, with the distances between rows, columns and batches; `number`;
// `round TYPE I`; else an operation by element (ir/ops.def) and the values that it takes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/op.h"
#include "ir/types.h"

struct str;

enum call_kind { CALL_GEMM, CALL_CONV, CALL_CUTLASS, CALL_KIND_COUNT };

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

// cutlass: the numbers of a gemm, then the configuration, of which words are counted as
// ir/cutlass.h lists them.
enum {
    CUTLASS_TILE = GEMM_NUMBERS,         // rows, columns, depth
    CUTLASS_CLUSTER = CUTLASS_TILE + 3,  // blocks along rows and along columns
    CUTLASS_SCHEDULE = CUTLASS_CLUSTER + 2,
    CUTLASS_STORE,
    CUTLASS_STAGES,  // 0: as many as fit
    CUTLASS_SCHEDULER,
    CUTLASS_RASTER,
    CUTLASS_SWIZZLE,
    CUTLASS_NUMBERS
};

enum {
    CALL_NUMBERS_MAX = CUTLASS_NUMBERS,
    CALL_LOADS_MAX = 6,
    CALL_BUFFERS_MAX = 4 + CALL_LOADS_MAX,
    EPILOGUE_STEPS_MAX = 64,
};
enum { CALL_LHS, CALL_RHS, CALL_OUT, CALL_WORK, CALL_LOADED };  // arguments

enum epilogue_kind { EPILOGUE_LOAD, EPILOGUE_NUMBER, EPILOGUE_ROUND, EPILOGUE_OP };

struct epilogue_step {
    enum epilogue_kind kind;
    enum op op;         // EPILOGUE_OP
    int arg[3];         // values; EPILOGUE_LOAD: arg[0] is the argument of the call
    int64_t stride[3];  // EPILOGUE_LOAD: of rows, columns, batches
    float number;
    enum dtype type;  // EPILOGUE_ROUND
};

struct call_epilogue {
    int n_steps;
    struct epilogue_step steps[EPILOGUE_STEPS_MAX];
};

struct call {
    enum call_kind kind;
    enum call_math math;
    int64_t number[CALL_NUMBERS_MAX];
    struct call_epilogue epilogue;  // CALL_CUTLASS
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

int call_numbers(enum call_kind kind);  // how many it has

// "load 4 0 1 0, add 0 1"; and back. NULL: it was read, else what is wrong with it.
void epilogue_print(struct str *out, const struct call_epilogue *e);
const char *epilogue_parse(const char *text, size_t len, struct call_epilogue *e);
// May an operation stand in an epilogue?
bool epilogue_allows(enum op op);
// The value that is stored, in float64 but for what is rounded: of a sum and what the steps load
// there, in their order.
double epilogue_evaluate(const struct call_epilogue *e, double sum, const double *loaded);

// "call gemm math(f32) size(64, 32, 16, 1) ...", without arguments.
void call_print(struct str *out, const struct call *c);

// Do operands and result lie within buffers of these types and sizes, of which there are `n`, and
// is it a call that some library could be asked for? NULL: yes; else why not.
const char *call_broken(const struct call *c, const enum dtype *types, const int64_t *sizes_bytes,
                        int n);
