// channels, by hone VERSION.
// kernel for channels on cpu
// stage y : rowwise as columns  vec 4  strip 2  keep local  ahead 4  overlap none  divide reciprocal  store cached
#include "hone_math.h"

#ifndef B
#define B 3
#endif
#ifndef C
#define C 20
#endif
#ifndef N
#define N 45
#endif

_Static_assert(B == 3, "lowered for B = 3");
_Static_assert(C == 20, "lowered for C = 20");
_Static_assert(N == 45, "lowered for N = 45");

#pragma hone launch y_rowwise grid((N + 7) / 8 * B) args(x, y)

void y_rowwise(long block, const float *restrict x, float *restrict y) {
    _Alignas(64) float x_strip[20 * 8];
    f32x4 t_2_sum_part_0, t_2_sum_part_1;
    f32x4 t_2_sum_part_;
    float t_2_sum_part__;
    long i = block / ((N + 7) / 8);
    long first = block % ((N + 7) / 8) * 8;
    float c_1_inverse = 1.0f / 20.0f;
    if (first + 7 < N) {
        t_2_sum_part_0 = hone_all4(0.0f);
        t_2_sum_part_1 = hone_all4(0.0f);
        for (long column = 0; column < C; column++) {
            __builtin_prefetch(&x[(i * C + column + 4) * N + first], 0, 2);
            f32x4 x_v = hone_load4(&x[(i * C + column) * N + first]);
            f32x4 t_1 = x_v * x_v;
            t_2_sum_part_0 += t_1;
            hone_store4(&x_strip[column * 8], x_v);
            f32x4 x_2 = hone_load4(&x[(i * C + column) * N + first + 4]);
            f32x4 t_1_2 = x_2 * x_2;
            t_2_sum_part_1 += t_1_2;
            hone_store4(&x_strip[column * 8 + 4], x_2);
        }
        f32x4 t_2_sum = t_2_sum_part_0;
        f32x4 t_2_sum_2 = t_2_sum_part_1;
        f32x4 t_2_mean = t_2_sum * c_1_inverse;
        f32x4 t_3 = t_2_mean + 9.99999975e-06f;
        f32x4 t_4 = hone_sqrt4(t_3);
        f32x4 t_4_inverse = 1.0f / t_4;
        f32x4 t_2_mean_2 = t_2_sum_2 * c_1_inverse;
        f32x4 t_3_2 = t_2_mean_2 + 9.99999975e-06f;
        f32x4 t_4_2 = hone_sqrt4(t_3_2);
        f32x4 t_4_inverse_2 = 1.0f / t_4_2;
        for (long column = 0; column < C; column++) {
            f32x4 x_v = hone_load4(&x_strip[column * 8]);
            f32x4 y_v = x_v * t_4_inverse;
            hone_store4(&y[(i * C + column) * N + first], y_v);
            f32x4 x_2 = hone_load4(&x_strip[column * 8 + 4]);
            f32x4 y_2 = x_2 * t_4_inverse_2;
            hone_store4(&y[(i * C + column) * N + first + 4], y_2);
        }
    }
    if (N < first + 8) {
        for (long row = first; row < 44; row += 4) {
            t_2_sum_part_ = hone_all4(0.0f);
            for (long column = 0; column < C; column++) {
                __builtin_prefetch(&x[(i * C + column + 4) * N + row], 0, 2);
                f32x4 x_v = hone_load4(&x[(i * C + column) * N + row]);
                f32x4 t_1 = x_v * x_v;
                t_2_sum_part_ += t_1;
                hone_store4(&x_strip[column * 4], x_v);
            }
            f32x4 t_2_sum = t_2_sum_part_;
            f32x4 t_2_mean = t_2_sum * c_1_inverse;
            f32x4 t_3 = t_2_mean + 9.99999975e-06f;
            f32x4 t_4 = hone_sqrt4(t_3);
            f32x4 t_4_inverse = 1.0f / t_4;
            for (long column = 0; column < C; column++) {
                f32x4 x_v = hone_load4(&x_strip[column * 4]);
                f32x4 y_v = x_v * t_4_inverse;
                hone_store4(&y[(i * C + column) * N + row], y_v);
            }
        }
        t_2_sum_part__ = 0.0f;
        for (long column = 0; column < C; column++) {
            float x_v = x[(i * C + column) * N + 44];
            float t_1 = x_v * x_v;
            t_2_sum_part__ += t_1;
            x_strip[column] = x_v;
        }
        float t_2_sum = t_2_sum_part__;
        float t_2_mean = t_2_sum * c_1_inverse;
        float t_3 = t_2_mean + 9.99999975e-06f;
        float t_4 = hone_sqrt1(t_3);
        float t_4_inverse = 1.0f / t_4;
        for (long column = 0; column < C; column++) {
            float x_v = x_strip[column];
            float y_v = x_v * t_4_inverse;
            y[(i * C + column) * N + 44] = y_v;
        }
    }
}
