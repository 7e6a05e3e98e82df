// softmax, by hone VERSION.
// kernel for softmax on cpu
// stage y : rowwise  vec 4  rows 8  unroll 2  keep local  ahead 1  overlap rows  divide reciprocal  store stream
#include "hone_math.h"

#ifndef M
#define M 64
#endif
#ifndef N
#define N 128
#endif

_Static_assert(M == 64, "lowered for M = 64");
_Static_assert(N == 128, "lowered for N = 128");

#pragma hone launch y_rowwise grid(M / 8) args(x, y)

void y_rowwise(long block, const float *restrict x, float *restrict y) {
    _Alignas(64) float y_exp_row[N];
    float y_sum_before;
    f32x4 y_max_part_0, y_max_part_1;
    f32x4 y_sum_part_0, y_sum_part_1;
    for (long row = block * 8; row < block * 8 + 8; row++) {
        y_max_part_0 = hone_all4(-__builtin_inff());
        y_max_part_1 = hone_all4(-__builtin_inff());
        for (long j = 0; j < N; j += 8) {
            f32x4 x_0 = hone_load4(&x[row * N + j]);
            y_max_part_0 = hone_max4(x_0, y_max_part_0);
            f32x4 x_1 = hone_load4(&x[row * N + j + 4]);
            y_max_part_1 = hone_max4(x_1, y_max_part_1);
        }
        float y_max = hone_lanes_max4(hone_max4(y_max_part_0, y_max_part_1));
        y_sum_part_0 = hone_all4(0.0f);
        y_sum_part_1 = hone_all4(0.0f);
        if (block * 8 < row) {
            float y_sum_before_v = y_sum_before;
            float y_sum_inverse = 1.0f / y_sum_before_v;
            for (long j = 0; j < N; j += 8) {
                __builtin_prefetch(&x[(row + 1) * N + j], 0, 2);
                f32x4 y_exp_0 = hone_load4(&y_exp_row[j]);
                f32x4 x_0 = hone_load4(&x[row * N + j]);
                f32x4 y_shifted_0 = x_0 - y_max;
                f32x4 y_exp_0_2 = hone_exp4(y_shifted_0);
                y_sum_part_0 += y_exp_0_2;
                hone_store4(&y_exp_row[j], y_exp_0_2);
                f32x4 y_0 = y_exp_0 * y_sum_inverse;
                hone_stream4(&y[(row - 1) * N + j], y_0);
                f32x4 y_exp_1 = hone_load4(&y_exp_row[j + 4]);
                f32x4 x_1 = hone_load4(&x[row * N + j + 4]);
                f32x4 y_shifted_1 = x_1 - y_max;
                f32x4 y_exp_1_2 = hone_exp4(y_shifted_1);
                y_sum_part_1 += y_exp_1_2;
                hone_store4(&y_exp_row[j + 4], y_exp_1_2);
                f32x4 y_1 = y_exp_1 * y_sum_inverse;
                hone_stream4(&y[(row - 1) * N + j + 4], y_1);
            }
        }
        if (row < block * 8 + 1) {
            for (long j = 0; j < N; j += 8) {
                __builtin_prefetch(&x[(row + 1) * N + j], 0, 2);
                f32x4 x_0 = hone_load4(&x[row * N + j]);
                f32x4 y_shifted_0 = x_0 - y_max;
                f32x4 y_exp_0 = hone_exp4(y_shifted_0);
                y_sum_part_0 += y_exp_0;
                hone_store4(&y_exp_row[j], y_exp_0);
                f32x4 x_1 = hone_load4(&x[row * N + j + 4]);
                f32x4 y_shifted_1 = x_1 - y_max;
                f32x4 y_exp_1 = hone_exp4(y_shifted_1);
                y_sum_part_1 += y_exp_1;
                hone_store4(&y_exp_row[j + 4], y_exp_1);
            }
        }
        float y_sum = hone_lanes_sum4(y_sum_part_0 + y_sum_part_1);
        y_sum_before = y_sum;
    }
    float y_sum_before_v = y_sum_before;
    float y_sum_inverse = 1.0f / y_sum_before_v;
    for (long j = 0; j < N; j += 8) {
        f32x4 y_exp_0 = hone_load4(&y_exp_row[j]);
        f32x4 y_0 = y_exp_0 * y_sum_inverse;
        hone_stream4(&y[(block * 8 + 7) * N + j], y_0);
        f32x4 y_exp_1 = hone_load4(&y_exp_row[j + 4]);
        f32x4 y_1 = y_exp_1 * y_sum_inverse;
        hone_stream4(&y[(block * 8 + 7) * N + j + 4], y_1);
    }
}
