// Products by cuBLASLt. It counts columns first, so the result is asked for transposed: its left
// operand is our right one and the other way round, and nothing is moved.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "gpu/library.h"
#include "library/gpu_calls.h"

// Numbers of the documented interface (cublasLt.h, cublas_api.h, library_types.h).
enum { COMPUTE_32F = 68, COMPUTE_32F_FAST_TF32 = 77, COMPUTE_64F = 70, COMPUTE_32I = 72 };
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14, R_8F_E4M3 = 28 };
enum { DESC_TRANSA = 3, DESC_TRANSB = 4, LAYOUT_BATCH_COUNT = 5, LAYOUT_BATCH_OFFSET = 6 };
enum { PREF_MAX_WORKSPACE_BYTES = 1 };
enum { OP_N = 0, OP_T = 1 };
enum { ALGORITHMS_MAX = 32 };

struct algorithm {
    uint64_t data[8];
};

struct heuristic {
    struct algorithm algorithm;
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

struct functions {
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*desc_create)(void **desc, int compute, int scale);
    int (*desc_set)(void *desc, int attribute, const void *value, size_t bytes);
    int (*desc_destroy)(void *desc);
    int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t lead);
    int (*layout_set)(void *layout, int attribute, const void *value, size_t bytes);
    int (*layout_destroy)(void *layout);
    int (*preference_create)(void **preference);
    int (*preference_set)(void *preference, int attribute, const void *value, size_t bytes);
    int (*preference_destroy)(void *preference);
    int (*heuristics)(void *handle, void *desc, void *a, void *b, void *c, void *d,
                      void *preference, int wanted, struct heuristic *found, int *n_found);
    int (*matmul)(void *handle, void *desc, const void *alpha, const void *a, void *layout_a,
                  const void *b, void *layout_b, const void *beta, const void *c, void *layout_c,
                  void *d, void *layout_d, const struct algorithm *algorithm, void *work,
                  size_t work_bytes, void *stream);
};

struct gpu_call {
    struct functions lt;
    const struct call *call;
    void *handle, *desc, *a, *b, *out;  // theirs: a is our rhs, b our lhs
    size_t work_bytes;
    struct heuristic found[ALGORITHMS_MAX];
    int n_found;
};

static bool find_functions(void *library, struct functions *f, struct error *err) {
    const struct library_symbol symbols[] = {
        {"cublasLtCreate", NULL, (void **)&f->create, false},
        {"cublasLtDestroy", NULL, (void **)&f->destroy, false},
        {"cublasLtMatmulDescCreate", NULL, (void **)&f->desc_create, false},
        {"cublasLtMatmulDescSetAttribute", NULL, (void **)&f->desc_set, false},
        {"cublasLtMatmulDescDestroy", NULL, (void **)&f->desc_destroy, false},
        {"cublasLtMatrixLayoutCreate", NULL, (void **)&f->layout_create, false},
        {"cublasLtMatrixLayoutSetAttribute", NULL, (void **)&f->layout_set, false},
        {"cublasLtMatrixLayoutDestroy", NULL, (void **)&f->layout_destroy, false},
        {"cublasLtMatmulPreferenceCreate", NULL, (void **)&f->preference_create, false},
        {"cublasLtMatmulPreferenceSetAttribute", NULL, (void **)&f->preference_set, false},
        {"cublasLtMatmulPreferenceDestroy", NULL, (void **)&f->preference_destroy, false},
        {"cublasLtMatmulAlgoGetHeuristic", NULL, (void **)&f->heuristics, false},
        {"cublasLtMatmul", NULL, (void **)&f->matmul, false},
    };
    return library_fill(library, symbols, sizeof symbols / sizeof symbols[0], "cuBLASLt", err);
}

static int data_type(enum dtype t) {
    switch (t) {
    case DTYPE_F32:
        return R_32F;
    case DTYPE_F64:
        return R_64F;
    case DTYPE_F16:
        return R_16F;
    case DTYPE_BF16:
        return R_16BF;
    case DTYPE_F8E4M3:
        return R_8F_E4M3;
    case DTYPE_I8:
        return R_8I;
    case DTYPE_I32:
        return R_32I;
    default:
        return -1;
    }
}

// A matrix of ours, [rows, columns], as theirs of [columns, rows] in the order of columns; whether
// it is stored the other way round.
struct layout {
    uint64_t rows, columns;
    int64_t lead;
    int op;
};

static struct layout layout_of(const int64_t *stride, int64_t rows, int64_t columns) {
    bool is_rows = stride[1] == 1 || columns == 1;
    struct layout l = {(uint64_t)(is_rows ? columns : rows), (uint64_t)(is_rows ? rows : columns),
                       is_rows ? stride[0] : stride[1], is_rows ? OP_N : OP_T};
    if (l.lead < (int64_t)l.rows)
        l.lead = (int64_t)l.rows;
    return l;
}

static int make_layout(struct gpu_call *c, void **out, enum dtype type, const struct layout *l,
                       int64_t batch_stride) {
    int code = c->lt.layout_create(out, data_type(type), l->rows, l->columns, l->lead);
    int32_t n = (int32_t)c->call->number[GEMM_BATCH];
    if (code || n == 1)
        return code;
    code = c->lt.layout_set(*out, LAYOUT_BATCH_COUNT, &n, sizeof n);
    return code ? code
                : c->lt.layout_set(*out, LAYOUT_BATCH_OFFSET, &batch_stride, sizeof batch_stride);
}

static int make(struct gpu_call *c, const enum dtype *types) {
    static const int computes[] = {[CALL_F32] = COMPUTE_32F,
                                   [CALL_TF32] = COMPUTE_32F_FAST_TF32,
                                   [CALL_F64] = COMPUTE_64F,
                                   [CALL_I32] = COMPUTE_32I};
    static const int scales[] = {
        [CALL_F32] = R_32F, [CALL_TF32] = R_32F, [CALL_F64] = R_64F, [CALL_I32] = R_32I};
    const int64_t *z = c->call->number;
    struct layout lhs = layout_of(z + GEMM_LHS, z[GEMM_M], z[GEMM_K]);
    struct layout rhs = layout_of(z + GEMM_RHS, z[GEMM_K], z[GEMM_N]);
    struct layout out = layout_of(z + GEMM_OUT, z[GEMM_M], z[GEMM_N]);
    int code = c->lt.create(&c->handle);
    code =
        code ? code : c->lt.desc_create(&c->desc, computes[c->call->math], scales[c->call->math]);
    code = code ? code : c->lt.desc_set(c->desc, DESC_TRANSA, &rhs.op, sizeof rhs.op);
    code = code ? code : c->lt.desc_set(c->desc, DESC_TRANSB, &lhs.op, sizeof lhs.op);
    code = code ? code : make_layout(c, &c->a, types[CALL_RHS], &rhs, z[GEMM_RHS + 2]);
    code = code ? code : make_layout(c, &c->b, types[CALL_LHS], &lhs, z[GEMM_LHS + 2]);
    return code ? code : make_layout(c, &c->out, types[CALL_OUT], &out, z[GEMM_OUT + 2]);
}

static void close_call(struct gpu_call *c) {
    if (c->desc)
        c->lt.desc_destroy(c->desc);
    void *layouts[] = {c->a, c->b, c->out};
    for (int i = 0; i < 3; i++)
        if (layouts[i])
            c->lt.layout_destroy(layouts[i]);
    if (c->handle)
        c->lt.destroy(c->handle);
    free(c);
}

static struct gpu_call *open_call(void *library, const struct plan *p, const struct plan_step *s,
                                  struct error *err) {
    struct gpu_call *c = calloc(1, sizeof *c);
    enum dtype types[CALL_BUFFERS_MAX];
    for (int i = 0; i < s->n_args; i++)
        types[i] = p->buffers[s->args[i]].type;
    c->call = s->call;
    c->work_bytes = s->n_args > CALL_WORK ? (size_t)p->buffers[s->args[CALL_WORK]].size_bytes : 0;
    bool ok = find_functions(library, &c->lt, err);
    int code = ok ? make(c, types) : 0;
    if (ok && code == 0)
        return c;
    if (ok)
        error_set(err, ERROR_UNSUPPORTED, "cuBLASLt cannot describe this product: its status %d",
                  code);
    close_call(c);
    return NULL;
}

static int propose(struct gpu_call *c, cuda_stream stream, const cuda_pointer *args,
                   struct error *err) {
    void *preference = NULL;
    int n = 0;
    (void)stream, (void)args;
    int code = c->lt.preference_create(&preference);
    code = code ? code
                : c->lt.preference_set(preference, PREF_MAX_WORKSPACE_BYTES, &c->work_bytes,
                                       sizeof c->work_bytes);
    code = code ? code
                : c->lt.heuristics(c->handle, c->desc, c->a, c->b, c->out, c->out, preference,
                                   ALGORITHMS_MAX, c->found, &n);
    if (preference)
        c->lt.preference_destroy(preference);
    if (code || n == 0)
        error_set(err, ERROR_UNSUPPORTED,
                  "cuBLASLt has no algorithm for this product: its status %d", code);
    c->n_found = code ? 0 : n;
    return c->n_found;
}

static int issue(struct gpu_call *c, int algorithm, cuda_stream stream, const cuda_pointer *args) {
    static const double one_f64 = 1, zero_f64 = 0;
    static const float one_f32 = 1, zero_f32 = 0;
    static const int32_t one_i32 = 1, zero_i32 = 0;
    enum call_math math = c->call->math;
    const void *one = math == CALL_F64   ? (const void *)&one_f64
                      : math == CALL_I32 ? (const void *)&one_i32
                                         : &one_f32;
    const void *zero = math == CALL_F64   ? (const void *)&zero_f64
                       : math == CALL_I32 ? (const void *)&zero_i32
                                          : &zero_f32;
    void *out = (void *)(uintptr_t)args[CALL_OUT];
    // Before anything was proposed it chooses itself.
    const struct algorithm *how = algorithm < c->n_found ? &c->found[algorithm].algorithm : NULL;
    return c->lt.matmul(c->handle, c->desc, one, (void *)(uintptr_t)args[CALL_RHS], c->a,
                        (void *)(uintptr_t)args[CALL_LHS], c->b, zero, out, c->out, out, c->out,
                        how, (void *)(uintptr_t)args[CALL_WORK], c->work_bytes, stream);
}

static const char *const sonames[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};

const struct gpu_library gpu_cublaslt = {
    .name = "cuBLASLt",
    .sonames = sonames,
    .version_symbol = "cublasLtGetVersion",
    .open = open_call,
    .propose = propose,
    .issue = issue,
    .close = close_call,
};
