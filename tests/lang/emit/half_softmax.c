// softmax, by hone VERSION.
// kernel for softmax on cpu
// stage y : rowwise  vec 8  rows 2  unroll 2  keep local  ahead 0  overlap none  divide exact  store cached
#include "hone_math.h"
#include "hone_types.h"

#ifndef M
#define M 100
#endif
#ifndef N
#define N 1003
#endif

_Static_assert(M == 100, "lowered for M = 100");
_Static_assert(N == 1003, "lowered for N = 1003");

#pragma hone launch y_rowwise grid(M / 2) args(x, y)

void y_rowwise(long block, const unsigned short *restrict x, unsigned short *restrict y) {
    _Alignas(64) float t_1_exp_row[N];
    f32x8 t_1_max_part_0, t_1_max_part_1;
    float t_1_max_rest;
    f32x8 t_1_sum_part_0, t_1_sum_part_1;
    float t_1_sum_rest;
    for (long row = block * 2; row < block * 2 + 2; row++) {
        t_1_max_part_0 = hone_all8(-__builtin_inff());
        t_1_max_part_1 = hone_all8(-__builtin_inff());
        t_1_max_rest = -__builtin_inff();
        for (long j = 0; j < N / 16 * 16; j += 16) {
            f32x8 x_0 = hone_load8_f16(&x[row * N + j]);
            t_1_max_part_0 = hone_max8(x_0, t_1_max_part_0);
            f32x8 x_1 = hone_load8_f16(&x[row * N + j + 8]);
            t_1_max_part_1 = hone_max8(x_1, t_1_max_part_1);
        }
        f32x8 x_v = hone_load8_f16(&x[row * N + N / 16 * 16]);
        t_1_max_part_0 = hone_max8(x_v, t_1_max_part_0);
        for (long j = N / 8 * 8; j < N; j++) {
            float x_2 = hone_from_f16(x[row * N + j]);
            t_1_max_rest = hone_max1(x_2, t_1_max_rest);
        }
        float t_1_max = hone_max1(hone_lanes_max8(hone_max8(t_1_max_part_0, t_1_max_part_1)), t_1_max_rest);
        t_1_sum_part_0 = hone_all8(0.0f);
        t_1_sum_part_1 = hone_all8(0.0f);
        t_1_sum_rest = 0.0f;
        for (long j = 0; j < N / 16 * 16; j += 16) {
            f32x8 x_0 = hone_load8_f16(&x[row * N + j]);
            f32x8 t_1_shifted_0 = x_0 - t_1_max;
            f32x8 t_1_exp_0 = hone_exp_quick8(t_1_shifted_0);
            t_1_sum_part_0 += t_1_exp_0;
            hone_store8(&t_1_exp_row[j], t_1_exp_0);
            f32x8 x_1 = hone_load8_f16(&x[row * N + j + 8]);
            f32x8 t_1_shifted_1 = x_1 - t_1_max;
            f32x8 t_1_exp_1 = hone_exp_quick8(t_1_shifted_1);
            t_1_sum_part_1 += t_1_exp_1;
            hone_store8(&t_1_exp_row[j + 8], t_1_exp_1);
        }
        f32x8 x_2 = hone_load8_f16(&x[row * N + N / 16 * 16]);
        f32x8 t_1_shifted = x_2 - t_1_max;
        f32x8 t_1_exp = hone_exp_quick8(t_1_shifted);
        t_1_sum_part_0 += t_1_exp;
        hone_store8(&t_1_exp_row[N / 16 * 16], t_1_exp);
        for (long j = N / 8 * 8; j < N; j++) {
            float x_3 = hone_from_f16(x[row * N + j]);
            float t_1_shifted_2 = x_3 - t_1_max;
            float t_1_exp_2 = hone_exp_quick1(t_1_shifted_2);
            t_1_sum_rest += t_1_exp_2;
            t_1_exp_row[j] = t_1_exp_2;
        }
        float t_1_sum = hone_lanes_sum8(t_1_sum_part_0 + t_1_sum_part_1) + t_1_sum_rest;
        for (long j = 0; j < N / 16 * 16; j += 16) {
            f32x8 t_1_exp_0 = hone_load8(&t_1_exp_row[j]);
            f32x8 t_1_0 = t_1_exp_0 / t_1_sum;
            hone_store8_bf16(&y[row * N + j], t_1_0);
            f32x8 t_1_exp_1 = hone_load8(&t_1_exp_row[j + 8]);
            f32x8 t_1_1 = t_1_exp_1 / t_1_sum;
            hone_store8_bf16(&y[row * N + j + 8], t_1_1);
        }
        f32x8 t_1_exp_2 = hone_load8(&t_1_exp_row[N / 16 * 16]);
        f32x8 t_1 = t_1_exp_2 / t_1_sum;
        hone_store8_bf16(&y[row * N + N / 16 * 16], t_1);
        for (long j = N / 8 * 8; j < N; j++) {
            float t_1_exp_3 = t_1_exp_row[j];
            float t_1_2 = t_1_exp_3 / t_1_sum;
            y[row * N + j] = hone_to_bf16(t_1_2);
        }
    }
}
