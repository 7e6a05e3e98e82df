// The interface is CBLAS's, as published with the reference implementation: orders and transposes
// are small numbers, matrices a pointer and the distance between rows.
#include "library/blas.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
enum { PART_STEP = 16, WARM_MAX = 256 };  // parts begin at whole vectors

static void find_name(struct blas *b, const char *soname) {
    const char *(*config)(void) = NULL;
    void *symbol = dlsym(b->handle, "openblas_get_config");
    snprintf(b->name, sizeof b->name, "%s", soname);
    if (!symbol)
        return;
    memcpy(&config, &symbol, sizeof config);
    char version[32] = "";
    if (sscanf(config(), "OpenBLAS %31s", version) == 1)
        snprintf(b->name, sizeof b->name, "OpenBLAS %s", version);
    else
        snprintf(b->name, sizeof b->name, "OpenBLAS");
}

static void call_with_one(struct blas *b, const char *name) {
    void (*set_threads)(int);
    void *symbol = dlsym(b->handle, name);
    if (!symbol)
        return;
    memcpy(&set_threads, &symbol, sizeof set_threads);
    set_threads(1);
}

// Memory that it packs operands into, one for each of the threads that call it at the same time:
// it keeps what it was given once.
static void warm(struct blas *b, int n_threads) {
    void *(*take)(int) = NULL;
    void (*give)(void *) = NULL;
    void *symbols[] = {dlsym(b->handle, "blas_memory_alloc"), dlsym(b->handle, "blas_memory_free")};
    void *taken[WARM_MAX];
    if (!symbols[0] || !symbols[1])
        return;
    memcpy(&take, &symbols[0], sizeof take);
    memcpy(&give, &symbols[1], sizeof give);
    int n = n_threads < WARM_MAX ? n_threads : WARM_MAX;
    for (int i = 0; i < n; i++)
        taken[i] = take(0);
    for (int i = 0; i < n; i++)
        give(taken[i]);
}

bool blas_open(struct blas *b, int n_threads, struct error *err) {
    static const char *const sonames[] = {"libopenblas.so.0", "libopenblas.so", "libcblas.so.3",
                                          "libcblas.so", NULL};
    *b = (struct blas){0};
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    for (int i = 0; sonames[i] && !b->handle; i++) {
        b->handle = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (b->handle)
            find_name(b, sonames[i]);
    }
    if (!b->handle)
        return error_set(err, ERROR_UNSUPPORTED,
                         "not installed: OpenBLAS (%s; Debian and Ubuntu: libopenblas0)",
                         sonames[0]);
    void *sgemm = dlsym(b->handle, "cblas_sgemm"), *dgemm = dlsym(b->handle, "cblas_dgemm");
    if (!sgemm || !dgemm)
        return error_set(err, ERROR_UNSUPPORTED, "%s has no cblas_sgemm and cblas_dgemm", b->name);
    memcpy(&b->sgemm, &sgemm, sizeof sgemm);
    memcpy(&b->dgemm, &dgemm, sizeof dgemm);
    call_with_one(b, "openblas_set_num_threads");
    warm(b, n_threads);
    return true;
}

const char *blas_refusal(const struct call *c) {
    if (c->kind != CALL_GEMM ||
        (c->math != CALL_F32 && c->math != CALL_F64 && c->math != CALL_TF32))
        return "OpenBLAS has no such call";
    for (int i = 0; i < GEMM_NUMBERS; i++)
        if (c->number[i] > INT_MAX && i != GEMM_BATCH && i != GEMM_LHS + 2 && i != GEMM_RHS + 2 &&
            i != GEMM_OUT + 2)
            return "OpenBLAS counts with 32 bits";
    return NULL;
}

// How the result of one product is cut: parts along rows times parts along columns.
struct cut {
    int64_t rows, columns;
};

// As many parts as there are threads for it, as square as they can be, since each packs its own
// rows and columns.
static struct cut find_cut(const struct call *c, int n_threads) {
    int64_t m = c->number[GEMM_M], n = c->number[GEMM_N], batch = c->number[GEMM_BATCH];
    int64_t parts = (n_threads + batch - 1) / batch;
    struct cut best = {1, 1};
    double least = 0;
    for (int64_t rows = 1; rows <= parts; rows++) {
        int64_t columns = parts / rows;
        double cost = (double)m / (double)rows + (double)n / (double)columns;
        bool is_too_fine =
            (rows > 1 && m / rows < PART_STEP) || (columns > 1 && n / columns < PART_STEP);
        if (rows * columns != parts || is_too_fine || (least > 0 && cost >= least))
            continue;
        least = cost;
        best = (struct cut){rows, columns};
    }
    return best;
}

int64_t blas_blocks(const struct call *c, int n_threads) {
    struct cut cut = find_cut(c, n_threads);
    return c->number[GEMM_BATCH] * cut.rows * cut.columns;
}

// Where part `i` of `n` begins; at n: the end.
static int64_t part_begin(int64_t size, int64_t n, int64_t i) {
    int64_t step = (size / n + PART_STEP - 1) / PART_STEP * PART_STEP;
    int64_t begin = n == 1 ? i * size : i * step;
    return i == n || begin > size ? size : begin;
}

// A matrix as BLAS sees it.
struct matrix {
    int64_t offset;
    int transpose, lead;
};

static struct matrix matrix_at(const int64_t *stride, int64_t rows, int64_t columns, int64_t row,
                               int64_t column, int64_t batch) {
    bool is_rows = stride[1] == 1 || columns == 1;
    int64_t lead = is_rows ? stride[0] : stride[1], least = is_rows ? columns : rows;
    return (struct matrix){
        .offset = row * stride[0] + column * stride[1] + batch * stride[2],
        .transpose = is_rows ? NO_TRANS : TRANS,
        .lead = (int)(lead > least ? lead : least),
    };
}

void blas_block(const struct blas *b, const struct call *c, int n_threads, int64_t block,
                void *const *args) {
    const int64_t *z = c->number;
    struct cut cut = find_cut(c, n_threads);
    int64_t column = block % cut.columns, row = block / cut.columns % cut.rows;
    int64_t batch = block / (cut.columns * cut.rows);
    int64_t m0 = part_begin(z[GEMM_M], cut.rows, row);
    int64_t m = part_begin(z[GEMM_M], cut.rows, row + 1) - m0;
    int64_t n0 = part_begin(z[GEMM_N], cut.columns, column);
    int64_t n = part_begin(z[GEMM_N], cut.columns, column + 1) - n0;
    if (m <= 0 || n <= 0)
        return;
    struct matrix lhs = matrix_at(z + GEMM_LHS, m, z[GEMM_K], m0, 0, batch);
    struct matrix rhs = matrix_at(z + GEMM_RHS, z[GEMM_K], n, 0, n0, batch);
    struct matrix out = matrix_at(z + GEMM_OUT, m, n, m0, n0, batch);
    if (c->math == CALL_F64)
        b->dgemm(ROW_MAJOR, lhs.transpose, rhs.transpose, (int)m, (int)n, (int)z[GEMM_K], 1,
                 (const double *)args[CALL_LHS] + lhs.offset, lhs.lead,
                 (const double *)args[CALL_RHS] + rhs.offset, rhs.lead, 0,
                 (double *)args[CALL_OUT] + out.offset, out.lead);
    else
        b->sgemm(ROW_MAJOR, lhs.transpose, rhs.transpose, (int)m, (int)n, (int)z[GEMM_K], 1,
                 (const float *)args[CALL_LHS] + lhs.offset, lhs.lead,
                 (const float *)args[CALL_RHS] + rhs.offset, rhs.lead, 0,
                 (float *)args[CALL_OUT] + out.offset, out.lead);
}
