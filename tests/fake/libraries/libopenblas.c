// A library with OpenBLAS's name and the two functions that hone calls, for machines without it.
// Compiled with IS_WRONG it adds one to an element. It will not be loaded by who did not forbid it
// to make threads.
#include <stdlib.h>
#include <string.h>

enum { TRANS = 112 };

__attribute__((constructor)) static void begin(void) {
    const char *threads = getenv("OPENBLAS_NUM_THREADS");
    if (!threads || strcmp(threads, "1") != 0)
        abort();
}

char *openblas_get_config(void) {
    return "OpenBLAS 9.9.9 FAKE";
}

#define GEMM(name, type)                                                                          \
    void name(int order, int ta, int tb, int m, int n, int k, type alpha, const type *a, int lda, \
              const type *b, int ldb, type beta, type *c, int ldc) {                              \
        (void)order, (void)beta;                                                                  \
        for (int i = 0; i < m; i++)                                                               \
            for (int j = 0; j < n; j++) {                                                         \
                double sum = 0;                                                                   \
                for (int l = 0; l < k; l++)                                                       \
                    sum += (double)(ta == TRANS ? a[(long)l * lda + i] : a[(long)i * lda + l]) *  \
                           (tb == TRANS ? b[(long)j * ldb + l] : b[(long)l * ldb + j]);           \
                c[(long)i * ldc + j] = (type)(alpha * sum + (IS_WRONG && i == 1 && j == 1));      \
            }                                                                                     \
    }

GEMM(cblas_sgemm, float)
GEMM(cblas_dgemm, double)
