// attention_scores, by hone VERSION.
// kernel for attention_scores on cpu
// stage t : gemm     tile 16x16x32  micro 4x8  pack rhs  vec 4
// stage p : rowwise  vec 4  rows 2  unroll 1  keep reread  ahead 0  overlap none  divide exact  store cached
#include "hone_math.h"

#ifndef M
#define M 16
#endif
#ifndef N
#define N 16
#endif
#ifndef K
#define K 8
#endif

_Static_assert(M == 16, "lowered for M = 16");
_Static_assert(N == 16, "lowered for N = 16");
_Static_assert(K == 8, "lowered for K = 8");

#pragma hone scratch t f32[M, N]
#pragma hone launch t_gemm grid(1) args(q, k, t)
#pragma hone launch p_rowwise grid(M / 2) args(p, t)

void t_gemm(long block, const float *restrict q, const float *restrict k, float *restrict t) {
    _Alignas(64) float tile[16 * 16];
    _Alignas(64) float rhs[8 * 16];
    f32x4 sum_0, sum_1, sum_2, sum_3, sum_4, sum_5, sum_6, sum_7;
    f32x4 column_0, column_1;
    for (long panel = 0; panel < 2; panel++) {
        for (long lane = 0; lane < 8; lane++) {
            for (long k_v = 0; k_v < 8; k_v++) {
                float k_2 = k[(panel * 8 + lane) * K + k_v];
                rhs[(panel * 8 + k_v) * 8 + lane] = k_2;
            }
        }
    }
    for (long column_panel = 0; column_panel < 2; column_panel++) {
        for (long row_panel = 0; row_panel < 4; row_panel++) {
            sum_0 = hone_all4(0.0f);
            sum_1 = hone_all4(0.0f);
            sum_2 = hone_all4(0.0f);
            sum_3 = hone_all4(0.0f);
            sum_4 = hone_all4(0.0f);
            sum_5 = hone_all4(0.0f);
            sum_6 = hone_all4(0.0f);
            sum_7 = hone_all4(0.0f);
            for (long k_v = 0; k_v < 8; k_v++) {
                column_0 = hone_load4(&rhs[(column_panel * 8 + k_v) * 8]);
                column_1 = hone_load4(&rhs[(column_panel * 8 + k_v) * 8 + 4]);
                float q_0 = q[row_panel * 4 * K + k_v];
                sum_0 += q_0 * column_0;
                sum_1 += q_0 * column_1;
                float q_1 = q[(row_panel * 4 + 1) * K + k_v];
                sum_2 += q_1 * column_0;
                sum_3 += q_1 * column_1;
                float q_2 = q[(row_panel * 4 + 2) * K + k_v];
                sum_4 += q_2 * column_0;
                sum_5 += q_2 * column_1;
                float q_3 = q[(row_panel * 4 + 3) * K + k_v];
                sum_6 += q_3 * column_0;
                sum_7 += q_3 * column_1;
            }
            hone_store4(&tile[row_panel * 4 * 16 + column_panel * 8], sum_0);
            hone_store4(&tile[row_panel * 4 * 16 + column_panel * 8 + 4], sum_1);
            hone_store4(&tile[(row_panel * 4 + 1) * 16 + column_panel * 8], sum_2);
            hone_store4(&tile[(row_panel * 4 + 1) * 16 + column_panel * 8 + 4], sum_3);
            hone_store4(&tile[(row_panel * 4 + 2) * 16 + column_panel * 8], sum_4);
            hone_store4(&tile[(row_panel * 4 + 2) * 16 + column_panel * 8 + 4], sum_5);
            hone_store4(&tile[(row_panel * 4 + 3) * 16 + column_panel * 8], sum_6);
            hone_store4(&tile[(row_panel * 4 + 3) * 16 + column_panel * 8 + 4], sum_7);
        }
    }
    for (long i = 0; i < 16; i++) {
        for (long j = 0; j < 16; j += 4) {
            f32x4 t_1 = hone_load4(&tile[i * 16 + j]);
            f32x4 t_v = t_1 * 0.125f;
            hone_store4(&t[i * N + j], t_v);
        }
    }
}

void p_rowwise(long block, float *restrict p, const float *restrict t) {
    f32x4 p_max_part;
    f32x4 p_sum_part;
    for (long row = block * 2; row < block * 2 + 2; row++) {
        p_max_part = hone_all4(-__builtin_inff());
        for (long j = 0; j < N; j += 4) {
            f32x4 t_v = hone_load4(&t[row * N + j]);
            p_max_part = hone_max4(t_v, p_max_part);
        }
        float p_max = hone_lanes_max4(p_max_part);
        p_sum_part = hone_all4(0.0f);
        for (long j = 0; j < N; j += 4) {
            f32x4 t_v = hone_load4(&t[row * N + j]);
            f32x4 p_shifted = t_v - p_max;
            f32x4 p_exp = hone_exp4(p_shifted);
            p_sum_part += p_exp;
        }
        float p_sum = hone_lanes_sum4(p_sum_part);
        for (long j = 0; j < N; j += 4) {
            f32x4 t_v = hone_load4(&t[row * N + j]);
            f32x4 p_shifted = t_v - p_max;
            f32x4 p_exp = hone_exp4(p_shifted);
            f32x4 p_v = p_exp / p_sum;
            hone_store4(&p[row * N + j], p_v);
        }
    }
}
