// An exported gemm (1024^3, f32) against OpenBLAS in the same process. Built and run by
// bench/run.sh inside the exported directory; OpenBLAS by dlopen, and absent is said.
#include <dlfcn.h>
#include <math.h>

#include "gemm.h"
#include "peer.h"

enum { SIZE = 1024 };

typedef void (*sgemm_fn)(int order, int ta, int tb, int m, int n, int k, float alpha,
                         const float *a, int lda, const float *b, int ldb, float beta, float *c,
                         int ldc);

static float *a, *b, *c, *c_peer;
static sgemm_fn sgemm;

static void ours(void) {
    gemm(a, b, c);
}

static void peer(void) {
    enum { ROW_MAJOR = 101, NO_TRANS = 111 };
    sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, SIZE, SIZE, SIZE, 1, a, SIZE, b, SIZE, 0, c_peer, SIZE);
}

int main(void) {
    void *lib = dlopen("libopenblas.so.0", RTLD_NOW);
    sgemm = lib ? (sgemm_fn)dlsym(lib, "cblas_sgemm") : NULL;
    if (!sgemm) {
        printf("absent\n");
        return 3;
    }
    float **buffers[] = {&a, &b, &c, &c_peer};
    for (int i = 0; i < 4; i++)
        *buffers[i] = aligned_alloc(64, sizeof(float) * SIZE * SIZE);
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = (float)(i * 7 % 31) - 15;
        b[i] = (float)(i * 5 % 29) - 14;
    }
    peer_run("openblas", ours, peer, 0.04);
    for (int i = 0; i < SIZE * SIZE; i++)
        if (!(fabsf(c[i] - c_peer[i]) <= 0)) {
            printf("differs from OpenBLAS at %d: %g and %g\n", i, (double)c[i], (double)c_peer[i]);
            return 1;
        }
    return 0;
}
