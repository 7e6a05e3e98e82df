// product, by hone VERSION.
// kernel for product on cpu
// stage c : gemm  tile 32x32x64  micro 2x8  pack none  vec 4
#include "hone_math.h"

#ifndef M
#define M 32
#endif
#ifndef N
#define N 64
#endif
#ifndef K
#define K 48
#endif

_Static_assert(M == 32, "lowered for M = 32");
_Static_assert(N == 64, "lowered for N = 64");
_Static_assert(K == 48, "lowered for K = 48");

#pragma hone launch c_gemm grid(N / 32) args(a, b, c)

void c_gemm(long block, const float *restrict a, const float *restrict b, float *restrict c) {
    _Alignas(64) float tile[32 * 32];
    f32x4 sum_0, sum_1, sum_2, sum_3;
    f32x4 column_0, column_1;
    long column0 = block * 32;
    for (long column_panel = 0; column_panel < 4; column_panel++) {
        for (long row_panel = 0; row_panel < 16; row_panel++) {
            sum_0 = hone_all4(0.0f);
            sum_1 = hone_all4(0.0f);
            sum_2 = hone_all4(0.0f);
            sum_3 = hone_all4(0.0f);
            for (long k = 0; k < 48; k++) {
                f32x4 b_0 = hone_load4(&b[k * N + column0 + column_panel * 8]);
                column_0 = b_0;
                f32x4 b_1 = hone_load4(&b[k * N + column0 + column_panel * 8 + 4]);
                column_1 = b_1;
                float a_0 = a[row_panel * 2 * K + k];
                sum_0 += a_0 * column_0;
                sum_1 += a_0 * column_1;
                float a_1 = a[(row_panel * 2 + 1) * K + k];
                sum_2 += a_1 * column_0;
                sum_3 += a_1 * column_1;
            }
            hone_store4(&tile[row_panel * 2 * 32 + column_panel * 8], sum_0);
            hone_store4(&tile[row_panel * 2 * 32 + column_panel * 8 + 4], sum_1);
            hone_store4(&tile[(row_panel * 2 + 1) * 32 + column_panel * 8], sum_2);
            hone_store4(&tile[(row_panel * 2 + 1) * 32 + column_panel * 8 + 4], sum_3);
        }
    }
    for (long i = 0; i < 32; i++) {
        for (long j = 0; j < 32; j += 4) {
            f32x4 c_v = hone_load4(&tile[i * 32 + j]);
            hone_store4(&c[i * N + column0 + j], c_v);
        }
    }
}
