// scale, by hone VERSION.
// kernel for scale on cpu
// stage y : map  vec 4  unroll 2  grain 1024  store stream
#include "hone_math.h"

#ifndef M
#define M 100
#endif
#ifndef N
#define N 50
#endif

_Static_assert(M == 100, "lowered for M = 100");
_Static_assert(N == 50, "lowered for N = 50");

#pragma hone launch y_map grid((M * N + 1023) / 1024) args(x, y)

void y_map(long block, const float *restrict x, float *restrict y) {
    for (long j = block * 1024; j < (M * N < block * 1024 + 1024 ? M * N : block * 1024 + 1024); j += 8) {
        f32x4 x_0 = hone_load4(&x[j]);
        f32x4 t_1_0 = x_0 * 2.0f;
        f32x4 t_2_0 = hone_tanh4(t_1_0);
        f32x4 y_0 = t_2_0 + 1.0f;
        hone_stream4(&y[j], y_0);
        f32x4 x_1 = hone_load4(&x[j + 4]);
        f32x4 t_1_1 = x_1 * 2.0f;
        f32x4 t_2_1 = hone_tanh4(t_1_1);
        f32x4 y_1 = t_2_1 + 1.0f;
        hone_stream4(&y[j + 4], y_1);
    }
}
