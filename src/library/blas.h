// OpenBLAS as a runner uses it, found at run time (libopenblas.so.0, else a libcblas).
//
// Its own threads stay unused: between calls they would spin on processors on which the other
// candidate is timed. Our threads call it instead, each for a part of the result (a block of the
// step), and it runs every such call alone. What it allocates is allocated when it is opened,
// since a runner has no memory to give later.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ir/library_call.h"

struct error;

struct blas {
    void *handle;
    void (*sgemm)(int order, int lhs, int rhs, int m, int n, int k, float alpha, const float *a,
                  int lda, const float *b, int ldb, float beta, float *c, int ldc);
    void (*dgemm)(int order, int lhs, int rhs, int m, int n, int k, double alpha, const double *a,
                  int lda, const double *b, int ldb, double beta, double *c, int ldc);
    char name[64];  // "OpenBLAS 0.3.21", or the file that it is
};

// Opens it for so many threads of ours. ERROR_UNSUPPORTED: not installed, with what would be.
// The environment of the process says from then on that it shall make no threads.
bool blas_open(struct blas *b, int n_threads, struct error *err);

// Parts that a call is cut into for so many threads, and one of them.
int64_t blas_blocks(const struct call *c, int n_threads);
void blas_block(const struct blas *b, const struct call *c, int n_threads, int64_t block,
                void *const *args);

// NULL: it can be called with these sizes; else why not.
const char *blas_refusal(const struct call *c);
