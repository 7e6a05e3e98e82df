// columns, by hone VERSION.
// kernel for columns on sm_90a
// stage y : rowwise as columns  columns 64  threads 4  vec 4  unroll 1  keep register  divide exact  store cached
#include "dev.h"

#ifndef B
#define B 8
#endif
#ifndef C
#define C 64
#endif
#ifndef H
#define H 512
#endif

HONE_ASSERT(B == 8, "lowered for B = 8");
HONE_ASSERT(C == 64, "lowered for C = 64");
HONE_ASSERT(H == 512, "lowered for H = 512");

#pragma hone launch y_rowwise grid(B * (H * H) / 256) block(256) args(x, y)

HONE_KERNEL(256) y_rowwise(const float *__restrict__ x, float *__restrict__ y) {
    f32x4 x_row[16];
    f32x4 t_2_sum_part;
    HONE_SHARED(t_2_sum_parts, 4 * 256);
    const int block = hone_block();
    const int thread = hone_thread();
    int i = block * 256 + thread % 64 * 4;
    int i_2 = i % (H * H);
    int i_3 = i / (H * H);
    t_2_sum_part = hone_all4(0.0f);
    #pragma unroll
    for (int item = 0; item < 16; item++) {
        int j = item * 4 + thread / 64;
        f32x4 x_v = hone_load4(&x[(i_3 * C + j) * (H * H) + i_2]);
        f32x4 t_1 = x_v * x_v;
        t_2_sum_part += t_1;
        x_row[item] = x_v;
    }
    hone_store4(&t_2_sum_parts[thread / 64 * 256 + thread % 64 * 4], t_2_sum_part);
    hone_barrier();
    f32x4 t_2_sum = hone_load4(&t_2_sum_parts[thread % 64 * 4]) + hone_load4(&t_2_sum_parts[256 + thread % 64 * 4]) + hone_load4(&t_2_sum_parts[512 + thread % 64 * 4]) + hone_load4(&t_2_sum_parts[768 + thread % 64 * 4]);
    f32x4 t_2_mean = t_2_sum / 64.0f;
    f32x4 t_3 = t_2_mean + 9.99999975e-06f;
    f32x4 t_4 = hone_sqrt4(t_3);
    #pragma unroll
    for (int item = 0; item < 16; item++) {
        int j = item * 4 + thread / 64;
        f32x4 x_v = x_row[item];
        f32x4 y_v = x_v / t_4;
        hone_store4(&y[(i_3 * C + j) * (H * H) + i_2], y_v);
    }
}
