// norm, by hone VERSION.
// kernel for norm on cpu
// stage m, y : rowwise  vec 4  rows 4  unroll 2  keep reread  ahead 0  overlap none  divide exact  store cached
#include "hone_math.h"

#ifndef M
#define M 30
#endif
#ifndef N
#define N 19
#endif

_Static_assert(M == 30, "lowered for M = 30");
_Static_assert(N == 19, "lowered for N = 19");

#pragma hone launch m_rowwise grid((M + 3) / 4) args(x, m, y)

void m_rowwise(long block, const float *restrict x, float *restrict m, float *restrict y) {
    f32x4 m_sum_part_0, m_sum_part_1;
    float m_sum_rest;
    f32x4 t_2_sum_part_0, t_2_sum_part_1;
    float t_2_sum_rest;
    for (long row = block * 4; row < (M < block * 4 + 4 ? M : block * 4 + 4); row++) {
        m_sum_part_0 = hone_all4(0.0f);
        m_sum_part_1 = hone_all4(0.0f);
        m_sum_rest = 0.0f;
        for (long j = 0; j < N / 8 * 8; j += 8) {
            f32x4 x_0 = hone_load4(&x[row * N + j]);
            m_sum_part_0 += x_0;
            f32x4 x_1 = hone_load4(&x[row * N + j + 4]);
            m_sum_part_1 += x_1;
        }
        for (long j = N / 4 * 4; j < N; j++) {
            float x_v = x[row * N + j];
            m_sum_rest += x_v;
        }
        float m_sum = hone_lanes_sum4(m_sum_part_0 + m_sum_part_1) + m_sum_rest;
        t_2_sum_part_0 = hone_all4(0.0f);
        t_2_sum_part_1 = hone_all4(0.0f);
        t_2_sum_rest = 0.0f;
        float m_v = m_sum / 19.0f;
        for (long j = 0; j < N / 8 * 8; j += 8) {
            f32x4 x_0 = hone_load4(&x[row * N + j]);
            f32x4 d_0 = x_0 - m_v;
            f32x4 t_1_0 = d_0 * d_0;
            t_2_sum_part_0 += t_1_0;
            f32x4 x_1 = hone_load4(&x[row * N + j + 4]);
            f32x4 d_1 = x_1 - m_v;
            f32x4 t_1_1 = d_1 * d_1;
            t_2_sum_part_1 += t_1_1;
        }
        for (long j = N / 4 * 4; j < N; j++) {
            float x_v = x[row * N + j];
            float d = x_v - m_v;
            float t_1 = d * d;
            t_2_sum_rest += t_1;
        }
        float t_2_sum = hone_lanes_sum4(t_2_sum_part_0 + t_2_sum_part_1) + t_2_sum_rest;
        float t_2_mean = t_2_sum / 19.0f;
        float t_3 = t_2_mean + 9.99999975e-06f;
        float t_4 = hone_rsqrt1(t_3);
        for (long j = 0; j < N / 8 * 8; j += 8) {
            f32x4 x_0 = hone_load4(&x[row * N + j]);
            f32x4 d_0 = x_0 - m_v;
            f32x4 y_0 = d_0 * t_4;
            hone_store4(&y[row * N + j], y_0);
            f32x4 x_1 = hone_load4(&x[row * N + j + 4]);
            f32x4 d_1 = x_1 - m_v;
            f32x4 y_1 = d_1 * t_4;
            hone_store4(&y[row * N + j + 4], y_1);
        }
        for (long j = N / 4 * 4; j < N; j++) {
            float x_v = x[row * N + j];
            float d = x_v - m_v;
            float y_v = d * t_4;
            y[row * N + j] = y_v;
        }
        m[row] = m_v;
    }
}
