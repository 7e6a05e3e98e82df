// hidden, by hone VERSION.
// kernel for hidden on cpu
// stage y : gemm  tile 16x16x32  micro 2x8  pack both  vec 4
#include "hone_math.h"

#ifndef M
#define M 50
#endif
#ifndef N
#define N 30
#endif
#ifndef K
#define K 70
#endif

_Static_assert(M == 50, "lowered for M = 50");
_Static_assert(N == 30, "lowered for N = 30");
_Static_assert(K == 70, "lowered for K = 70");

#pragma hone launch y_gemm grid((M + 15) / 16 * ((N + 15) / 16)) args(x, w, b, y)

void y_gemm(long block, const float *restrict x, const float *restrict w, const float *restrict b, float *restrict y) {
    _Alignas(64) float tile[16 * 16];
    _Alignas(64) float lhs[16 * 32];
    _Alignas(64) float rhs[32 * 16];
    f32x4 sum_0, sum_1, sum_2, sum_3;
    f32x4 column_0, column_1;
    long row0 = block / ((N + 15) / 16) * 16;
    long column0 = block % ((N + 15) / 16) * 16;
    long rows = (16 < M - row0 ? 16 : M - row0);
    long columns = (16 < N - column0 ? 16 : N - column0);
    for (long k0 = 0; k0 < K; k0 += 32) {
        for (long panel = 0; panel < (columns + 7) / 8; panel++) {
            for (long lane = 0; lane < (8 < columns - panel * 8 ? 8 : columns - panel * 8); lane++) {
                for (long k = 0; k < (32 < K - k0 ? 32 : K - k0); k++) {
                    float w_v = w[(column0 + panel * 8 + lane) * K + k0 + k];
                    rhs[(panel * 32 + k) * 8 + lane] = w_v;
                }
            }
            for (long lane = (8 < columns - panel * 8 ? 8 : columns - panel * 8); lane < 8; lane++) {
                for (long k = 0; k < (32 < K - k0 ? 32 : K - k0); k++) {
                    rhs[(panel * 32 + k) * 8 + lane] = 0.0f;
                }
            }
        }
        for (long panel = 0; panel < (rows + 1) / 2; panel++) {
            for (long lane = 0; lane < (2 < rows - panel * 2 ? 2 : rows - panel * 2); lane++) {
                for (long k = 0; k < (32 < K - k0 ? 32 : K - k0); k++) {
                    float x_v = x[(row0 + panel * 2 + lane) * K + k0 + k];
                    lhs[(panel * 32 + k) * 2 + lane] = x_v;
                }
            }
            for (long lane = (2 < rows - panel * 2 ? 2 : rows - panel * 2); lane < 2; lane++) {
                for (long k = 0; k < (32 < K - k0 ? 32 : K - k0); k++) {
                    lhs[(panel * 32 + k) * 2 + lane] = 0.0f;
                }
            }
        }
        for (long column_panel = 0; column_panel < (columns + 7) / 8; column_panel++) {
            for (long row_panel = 0; row_panel < (rows + 1) / 2; row_panel++) {
                sum_0 = hone_all4(0.0f);
                sum_1 = hone_all4(0.0f);
                sum_2 = hone_all4(0.0f);
                sum_3 = hone_all4(0.0f);
                for (long k = 0; k < (32 < K - k0 ? 32 : K - k0); k++) {
                    column_0 = hone_load4(&rhs[(column_panel * 32 + k) * 8]);
                    column_1 = hone_load4(&rhs[(column_panel * 32 + k) * 8 + 4]);
                    float row_0 = lhs[(row_panel * 32 + k) * 2];
                    sum_0 += row_0 * column_0;
                    sum_1 += row_0 * column_1;
                    float row_1 = lhs[(row_panel * 32 + k) * 2 + 1];
                    sum_2 += row_1 * column_0;
                    sum_3 += row_1 * column_1;
                }
                if (k0 < 1) {
                    hone_store4(&tile[row_panel * 2 * 16 + column_panel * 8], sum_0);
                    hone_store4(&tile[row_panel * 2 * 16 + column_panel * 8 + 4], sum_1);
                    hone_store4(&tile[(row_panel * 2 + 1) * 16 + column_panel * 8], sum_2);
                    hone_store4(&tile[(row_panel * 2 + 1) * 16 + column_panel * 8 + 4], sum_3);
                }
                if (0 < k0) {
                    hone_store4(&tile[row_panel * 2 * 16 + column_panel * 8], hone_load4(&tile[row_panel * 2 * 16 + column_panel * 8]) + sum_0);
                    hone_store4(&tile[row_panel * 2 * 16 + column_panel * 8 + 4], hone_load4(&tile[row_panel * 2 * 16 + column_panel * 8 + 4]) + sum_1);
                    hone_store4(&tile[(row_panel * 2 + 1) * 16 + column_panel * 8], hone_load4(&tile[(row_panel * 2 + 1) * 16 + column_panel * 8]) + sum_2);
                    hone_store4(&tile[(row_panel * 2 + 1) * 16 + column_panel * 8 + 4], hone_load4(&tile[(row_panel * 2 + 1) * 16 + column_panel * 8 + 4]) + sum_3);
                }
            }
        }
    }
    for (long i = 0; i < rows; i++) {
        for (long j = 0; j < columns / 4 * 4; j += 4) {
            f32x4 t_1 = hone_load4(&tile[i * 16 + j]);
            f32x4 b_v = hone_load4(&b[column0 + j]);
            f32x4 t_2 = t_1 + b_v;
            f32x4 y_half = t_2 * 0.5f;
            f32x4 y_scaled = t_2 * 0.707106769f;
            f32x4 y_erf = hone_erf4(y_scaled);
            f32x4 y_gate = y_erf + 1.0f;
            f32x4 y_v = y_half * y_gate;
            hone_store4(&y[(row0 + i) * N + column0 + j], y_v);
        }
        for (long j = columns / 4 * 4; j < columns; j++) {
            float t_1 = tile[i * 16 + j];
            float b_v = b[column0 + j];
            float t_2 = t_1 + b_v;
            float y_half = t_2 * 0.5f;
            float y_scaled = t_2 * 0.707106769f;
            float y_erf = hone_erf1(y_scaled);
            float y_gate = y_erf + 1.0f;
            float y_v = y_half * y_gate;
            y[(row0 + i) * N + column0 + j] = y_v;
        }
    }
}
