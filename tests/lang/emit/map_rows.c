// affine, by hone VERSION.
// kernel for affine on cpu
// stage y : map  vec 4  unroll 1  grain 1024  store cached
#include "hone_math.h"

#ifndef M
#define M 64
#endif
#ifndef N
#define N 18
#endif

_Static_assert(M == 64, "lowered for M = 64");
_Static_assert(N == 18, "lowered for N = 18");

#pragma hone launch y_map grid((M + 55) / 56) args(x, s, b, y)

void y_map(long block, const float *restrict x, const float *restrict s, const float *restrict b, float *restrict y) {
    for (long row = block * 56; row < (M < block * 56 + 56 ? M : block * 56 + 56); row++) {
        float s_v = s[row];
        float t_1 = hone_exp1(s_v);
        for (long j = 0; j < N / 4 * 4; j += 4) {
            f32x4 x_v = hone_load4(&x[row * N + j]);
            f32x4 t_2 = x_v * t_1;
            f32x4 b_v = hone_load4(&b[j]);
            f32x4 t_3 = t_2 + b_v;
            f32x4 y_v = hone_max4(t_3, hone_all4(0.0f));
            hone_store4(&y[row * N + j], y_v);
        }
        for (long j = N / 4 * 4; j < N; j++) {
            float x_v = x[row * N + j];
            float t_2 = x_v * t_1;
            float b_v = b[j];
            float t_3 = t_2 + b_v;
            float y_v = hone_max1(t_3, 0.0f);
            y[row * N + j] = y_v;
        }
    }
}
