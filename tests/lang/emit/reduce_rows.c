// column_sums, by hone VERSION.
// kernel for column_sums on cpu
// stage s : reduce  vec 4  unroll 2  grain 32  split 1
#include "hone_math.h"

#ifndef M
#define M 3000
#endif
#ifndef N
#define N 40
#endif

_Static_assert(M == 3000, "lowered for M = 3000");
_Static_assert(N == 40, "lowered for N = 40");

#pragma hone launch s_reduce grid((N + 31) / 32) args(x, s)

void s_reduce(long block, const float *restrict x, float *restrict s) {
    _Alignas(64) float part[32];
    _Alignas(64) float total[32];
    for (long j = 0; j < (32 < N - block * 32 ? 32 : N - block * 32); j += 8) {
        hone_store4(&total[j], hone_all4(0.0f));
        hone_store4(&total[j + 4], hone_all4(0.0f));
    }
    for (long chunk = 0; chunk < M; chunk += 1024) {
        for (long j = 0; j < (32 < N - block * 32 ? 32 : N - block * 32); j += 8) {
            hone_store4(&part[j], hone_all4(0.0f));
            hone_store4(&part[j + 4], hone_all4(0.0f));
        }
        for (long r = chunk; r < (M < chunk + 1024 ? M : chunk + 1024); r++) {
            for (long j = 0; j < (32 < N - block * 32 ? 32 : N - block * 32); j += 8) {
                f32x4 x_0 = hone_load4(&x[r * N + block * 32 + j]);
                f32x4 t_1_0 = x_0 * x_0;
                hone_store4(&part[j], hone_load4(&part[j]) + t_1_0);
                f32x4 x_1 = hone_load4(&x[r * N + block * 32 + j + 4]);
                f32x4 t_1_1 = x_1 * x_1;
                hone_store4(&part[j + 4], hone_load4(&part[j + 4]) + t_1_1);
            }
        }
        for (long j = 0; j < (32 < N - block * 32 ? 32 : N - block * 32); j += 8) {
            hone_store4(&total[j], hone_load4(&total[j]) + hone_load4(&part[j]));
            hone_store4(&total[j + 4], hone_load4(&total[j + 4]) + hone_load4(&part[j + 4]));
        }
    }
    for (long j = 0; j < (32 < N - block * 32 ? 32 : N - block * 32); j += 8) {
        f32x4 t_2_0 = hone_load4(&total[j]);
        f32x4 s_0 = hone_sqrt4(t_2_0);
        hone_store4(&s[block * 32 + j], s_0);
        f32x4 t_2_1 = hone_load4(&total[j + 4]);
        f32x4 s_1 = hone_sqrt4(t_2_1);
        hone_store4(&s[block * 32 + j + 4], s_1);
    }
}
