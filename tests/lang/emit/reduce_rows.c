// column_sums, by hone VERSION.
// kernel for column_sums on cpu
// stage s : reduce  vec 4  unroll 2  grain 32  split 2
#include "hone_math.h"

#ifndef M
#define M 3000
#endif
#ifndef N
#define N 40
#endif

_Static_assert(M == 3000, "lowered for M = 3000");
_Static_assert(N == 40, "lowered for N = 40");

#pragma hone scratch t_2_parts f32[2, 40]
#pragma hone launch s_reduce grid((N + 31) / 32 * 2) args(x, t_2_parts)
#pragma hone launch s_finish grid((N + 63) / 64) args(s, t_2_parts)

void s_reduce(long block, const float *restrict x, float *restrict t_2_parts) {
    _Alignas(64) float part[32];
    _Alignas(64) float total[32];
    for (long j = 0; j < (32 < N - block / 2 * 32 ? 32 : N - block / 2 * 32); j += 8) {
        hone_store4(&total[j], hone_all4(0.0f));
        hone_store4(&total[j + 4], hone_all4(0.0f));
    }
    for (long chunk = block % 2 * 1500; chunk < block % 2 * 1500 + 1500; chunk += 1024) {
        for (long j = 0; j < (32 < N - block / 2 * 32 ? 32 : N - block / 2 * 32); j += 8) {
            hone_store4(&part[j], hone_all4(0.0f));
            hone_store4(&part[j + 4], hone_all4(0.0f));
        }
        for (long r = chunk; r < (block % 2 * 1500 + 1500 < chunk + 1024 ? block % 2 * 1500 + 1500 : chunk + 1024); r++) {
            for (long j = 0; j < (32 < N - block / 2 * 32 ? 32 : N - block / 2 * 32); j += 8) {
                f32x4 x_0 = hone_load4(&x[r * N + block / 2 * 32 + j]);
                f32x4 t_1_0 = x_0 * x_0;
                hone_store4(&part[j], hone_load4(&part[j]) + t_1_0);
                f32x4 x_1 = hone_load4(&x[r * N + block / 2 * 32 + j + 4]);
                f32x4 t_1_1 = x_1 * x_1;
                hone_store4(&part[j + 4], hone_load4(&part[j + 4]) + t_1_1);
            }
        }
        for (long j = 0; j < (32 < N - block / 2 * 32 ? 32 : N - block / 2 * 32); j += 8) {
            hone_store4(&total[j], hone_load4(&total[j]) + hone_load4(&part[j]));
            hone_store4(&total[j + 4], hone_load4(&total[j + 4]) + hone_load4(&part[j + 4]));
        }
    }
    for (long j = 0; j < (32 < N - block / 2 * 32 ? 32 : N - block / 2 * 32); j += 8) {
        hone_store4(&t_2_parts[block % 2 * N + block / 2 * 32 + j], hone_load4(&total[j]));
        hone_store4(&t_2_parts[block % 2 * N + block / 2 * 32 + j + 4], hone_load4(&total[j + 4]));
    }
}

void s_finish(long block, float *restrict s, const float *restrict t_2_parts) {
    float total_;
    for (long row = 0; row < N; row++) {
        total_ = 0.0f;
        for (long part_v = 0; part_v < 2; part_v++) {
            total_ += t_2_parts[part_v * N + row];
        }
        float t_2 = total_;
        float s_v = hone_sqrt1(t_2);
        s[row] = s_v;
    }
}
