// softmax, by hone VERSION.
// kernel for softmax on cpu
// stage y : rowwise  vec 16  rows 2  unroll 2  keep local  ahead 1  overlap rows  divide reciprocal  store stream
#include "hone_math.h"
#include "hone_types.h"

#ifndef M
#define M 5
#endif
#ifndef N
#define N 1091
#endif

_Static_assert(M == 5, "lowered for M = 5");
_Static_assert(N == 1091, "lowered for N = 1091");

#pragma hone launch y_rowwise grid((M + 1) / 2) args(x, y)

void y_rowwise(long block, const unsigned short *restrict x, unsigned short *restrict y) {
    _Alignas(64) float y_exp_row[N];
    float y_sum_before;
    f32x16 y_max_part_0, y_max_part_1;
    float y_max_rest;
    f32x16 y_sum_part_0, y_sum_part_1;
    float y_sum_rest;
    for (long row = block * 2; row < (M < block * 2 + 2 ? M : block * 2 + 2); row++) {
        y_max_part_0 = hone_all16(-__builtin_inff());
        y_max_part_1 = hone_all16(-__builtin_inff());
        y_max_rest = -__builtin_inff();
        for (long j = 0; j < N / 32 * 32; j += 32) {
            f32x16 x_0 = hone_load16_bf16(&x[row * N + j]);
            y_max_part_0 = hone_max16(x_0, y_max_part_0);
            f32x16 x_1 = hone_load16_bf16(&x[row * N + j + 16]);
            y_max_part_1 = hone_max16(x_1, y_max_part_1);
        }
        for (long j = N / 16 * 16; j < N; j++) {
            float x_v = hone_from_bf16(x[row * N + j]);
            y_max_rest = hone_max1(x_v, y_max_rest);
        }
        float y_max = hone_max1(hone_lanes_max16(hone_max16(y_max_part_0, y_max_part_1)), y_max_rest);
        y_sum_part_0 = hone_all16(0.0f);
        y_sum_part_1 = hone_all16(0.0f);
        y_sum_rest = 0.0f;
        if (block * 2 < row) {
            float y_sum_before_v = y_sum_before;
            long head = (N < (32 - (row - 1) * N % 32) % 32 ? N : (32 - (row - 1) * N % 32) % 32);
            float y_sum_inverse = 1.0f / y_sum_before_v;
            for (long j = 0; j < head; j++) {
                float y_exp = y_exp_row[j];
                float x_v = hone_from_bf16(x[row * N + j]);
                float y_shifted = x_v - y_max;
                float y_exp_2 = hone_exp_quick1(y_shifted);
                y_sum_rest += y_exp_2;
                y_exp_row[j] = y_exp_2;
                float y_f32 = y_exp * y_sum_inverse;
                y[(row - 1) * N + j] = hone_to_bf16(y_f32);
            }
            for (long j = head; j < head + (N - head) / 32 * 32; j += 32) {
                __builtin_prefetch(&x[(row + 1) * N + j], 0, 2);
                f32x16 y_exp_0 = hone_load16(&y_exp_row[j]);
                f32x16 x_0 = hone_load16_bf16(&x[row * N + j]);
                f32x16 y_shifted_0 = x_0 - y_max;
                f32x16 y_exp_0_2 = hone_exp_quick16(y_shifted_0);
                y_sum_part_0 += y_exp_0_2;
                hone_store16(&y_exp_row[j], y_exp_0_2);
                f32x16 y_f32_0 = y_exp_0 * y_sum_inverse;
                f32x16 y_exp_1 = hone_load16(&y_exp_row[j + 16]);
                f32x16 x_1 = hone_load16_bf16(&x[row * N + j + 16]);
                f32x16 y_shifted_1 = x_1 - y_max;
                f32x16 y_exp_1_2 = hone_exp_quick16(y_shifted_1);
                y_sum_part_1 += y_exp_1_2;
                hone_store16(&y_exp_row[j + 16], y_exp_1_2);
                f32x16 y_f32_1 = y_exp_1 * y_sum_inverse;
                hone_stream_pair16_bf16(&y[(row - 1) * N + j], y_f32_0, y_f32_1);
            }
            for (long j = head + (N - head) / 32 * 32; j < head + (N - head) / 16 * 16; j += 16) {
                __builtin_prefetch(&x[(row + 1) * N + j], 0, 2);
                f32x16 y_exp = hone_load16(&y_exp_row[j]);
                f32x16 x_v = hone_load16_bf16(&x[row * N + j]);
                f32x16 y_shifted = x_v - y_max;
                f32x16 y_exp_2 = hone_exp_quick16(y_shifted);
                y_sum_part_0 += y_exp_2;
                hone_store16(&y_exp_row[j], y_exp_2);
                f32x16 y_f32 = y_exp * y_sum_inverse;
                hone_stream16_bf16(&y[(row - 1) * N + j], y_f32);
            }
            for (long j = head + (N - head) / 16 * 16; j < N; j++) {
                float y_exp = y_exp_row[j];
                float x_v = hone_from_bf16(x[row * N + j]);
                float y_shifted = x_v - y_max;
                float y_exp_2 = hone_exp_quick1(y_shifted);
                y_sum_rest += y_exp_2;
                y_exp_row[j] = y_exp_2;
                float y_f32 = y_exp * y_sum_inverse;
                y[(row - 1) * N + j] = hone_to_bf16(y_f32);
            }
        }
        if (row < block * 2 + 1) {
            for (long j = 0; j < N / 32 * 32; j += 32) {
                __builtin_prefetch(&x[(row + 1) * N + j], 0, 2);
                f32x16 x_0 = hone_load16_bf16(&x[row * N + j]);
                f32x16 y_shifted_0 = x_0 - y_max;
                f32x16 y_exp_0 = hone_exp_quick16(y_shifted_0);
                y_sum_part_0 += y_exp_0;
                hone_store16(&y_exp_row[j], y_exp_0);
                f32x16 x_1 = hone_load16_bf16(&x[row * N + j + 16]);
                f32x16 y_shifted_1 = x_1 - y_max;
                f32x16 y_exp_1 = hone_exp_quick16(y_shifted_1);
                y_sum_part_1 += y_exp_1;
                hone_store16(&y_exp_row[j + 16], y_exp_1);
            }
            for (long j = N / 16 * 16; j < N; j++) {
                float x_v = hone_from_bf16(x[row * N + j]);
                float y_shifted = x_v - y_max;
                float y_exp = hone_exp_quick1(y_shifted);
                y_sum_rest += y_exp;
                y_exp_row[j] = y_exp;
            }
        }
        float y_sum = hone_lanes_sum16(y_sum_part_0 + y_sum_part_1) + y_sum_rest;
        y_sum_before = y_sum;
    }
    float y_sum_before_v = y_sum_before;
    long head = (32 - ((M < block * 2 + 2 ? M : block * 2 + 2) - 1) * N % 32) % 32;
    float y_sum_inverse = 1.0f / y_sum_before_v;
    for (long j = 0; j < head; j++) {
        float y_exp = y_exp_row[j];
        float y_f32 = y_exp * y_sum_inverse;
        y[((M < block * 2 + 2 ? M : block * 2 + 2) - 1) * N + j] = hone_to_bf16(y_f32);
    }
    for (long j = head; j < head + (N - head) / 32 * 32; j += 32) {
        f32x16 y_exp_0 = hone_load16(&y_exp_row[j]);
        f32x16 y_f32_0 = y_exp_0 * y_sum_inverse;
        f32x16 y_exp_1 = hone_load16(&y_exp_row[j + 16]);
        f32x16 y_f32_1 = y_exp_1 * y_sum_inverse;
        hone_stream_pair16_bf16(&y[((M < block * 2 + 2 ? M : block * 2 + 2) - 1) * N + j], y_f32_0, y_f32_1);
    }
    for (long j = head + (N - head) / 32 * 32; j < head + (N - head) / 16 * 16; j += 16) {
        f32x16 y_exp = hone_load16(&y_exp_row[j]);
        f32x16 y_f32 = y_exp * y_sum_inverse;
        hone_stream16_bf16(&y[((M < block * 2 + 2 ? M : block * 2 + 2) - 1) * N + j], y_f32);
    }
    for (long j = head + (N - head) / 16 * 16; j < N; j++) {
        float y_exp = y_exp_row[j];
        float y_f32 = y_exp * y_sum_inverse;
        y[((M < block * 2 + 2 ? M : block * 2 + 2) - 1) * N + j] = hone_to_bf16(y_f32);
    }
}
