// flip, by hone VERSION.
// kernel for flip on cpu
// stage y : map  vec 4  unroll 1  grain 1024  store cached
#include "hone_math.h"

#ifndef M
#define M 64
#endif
#ifndef N
#define N 32
#endif

_Static_assert(M == 64, "lowered for M = 64");
_Static_assert(N == 32, "lowered for N = 32");

#pragma hone launch y_map grid(M / 32) args(x, w, y)

void y_map(long block, const float *restrict x, const float *restrict w, float *restrict y) {
    for (long row = block * 32; row < block * 32 + 32; row++) {
        for (long j = 0; j < N; j += 4) {
            f32x4 x_v = hone_load4(&x[row * N + j]);
            f32x4 w_v = hone_gather4(&w[j * M + row], 64);
            i32x4 t_1 = x_v < w_v;
            f32x4 y_v = hone_select4(t_1, x_v, w_v);
            hone_store4(&y[row * N + j], y_v);
        }
    }
}
