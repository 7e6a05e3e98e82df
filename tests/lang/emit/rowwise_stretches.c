// norm, by hone VERSION.
// kernel for norm on cpu
// stage y : rowwise  vec 4  rows 2  unroll 2  keep reread  ahead 0  overlap none  divide reciprocal  store stream
#include "hone_math.h"

#ifndef B
#define B 3
#endif
#ifndef C
#define C 2
#endif
#ifndef N
#define N 275
#endif

_Static_assert(B == 3, "lowered for B = 3");
_Static_assert(C == 2, "lowered for C = 2");
_Static_assert(N == 275, "lowered for N = 275");

#pragma hone launch y_rowwise grid(C / 2) args(x, y)

void y_rowwise(long block, const float *restrict x, float *restrict y) {
    f32x4 t_1_sum_part_0, t_1_sum_part_1;
    float t_1_sum_rest;
    float c_1_inverse = 1.0f / 825.0f;
    for (long row = 0; row < C; row++) {
        t_1_sum_part_0 = hone_all4(0.0f);
        t_1_sum_part_1 = hone_all4(0.0f);
        t_1_sum_rest = 0.0f;
        for (long stretch = 0; stretch < B; stretch++) {
            for (long j = 0; j < N / 8 * 8; j += 8) {
                f32x4 x_0 = hone_load4(&x[(stretch * C + row) * N + j]);
                t_1_sum_part_0 += x_0;
                f32x4 x_1 = hone_load4(&x[(stretch * C + row) * N + j + 4]);
                t_1_sum_part_1 += x_1;
            }
            for (long j = N / 4 * 4; j < N; j++) {
                float x_v = x[(stretch * C + row) * N + j];
                t_1_sum_rest += x_v;
            }
        }
        float t_1_sum = hone_lanes_sum4(t_1_sum_part_0 + t_1_sum_part_1) + t_1_sum_rest;
        float t_1_mean = t_1_sum * c_1_inverse;
        for (long stretch = 0; stretch < B; stretch++) {
            long head = (16 - (stretch * C + row) * N % 16) % 16;
            for (long j = 0; j < head; j++) {
                float x_v = x[(stretch * C + row) * N + j];
                float y_v = x_v - t_1_mean;
                y[(stretch * C + row) * N + j] = y_v;
            }
            for (long j = head; j < head + (N - head) / 8 * 8; j += 8) {
                f32x4 x_0 = hone_load4(&x[(stretch * C + row) * N + j]);
                f32x4 y_0 = x_0 - t_1_mean;
                hone_stream4(&y[(stretch * C + row) * N + j], y_0);
                f32x4 x_1 = hone_load4(&x[(stretch * C + row) * N + j + 4]);
                f32x4 y_1 = x_1 - t_1_mean;
                hone_stream4(&y[(stretch * C + row) * N + j + 4], y_1);
            }
            for (long j = head + (N - head) / 8 * 8; j < head + (N - head) / 4 * 4; j += 4) {
                f32x4 x_v = hone_load4(&x[(stretch * C + row) * N + j]);
                f32x4 y_v = x_v - t_1_mean;
                hone_stream4(&y[(stretch * C + row) * N + j], y_v);
            }
            for (long j = head + (N - head) / 4 * 4; j < N; j++) {
                float x_v = x[(stretch * C + row) * N + j];
                float y_v = x_v - t_1_mean;
                y[(stretch * C + row) * N + j] = y_v;
            }
        }
    }
}
