// norm, by hone VERSION.
// kernel for norm on sm_100a
// stage y : rowwise  threads 512  rows 1  vec 2  keep register  divide exact  store cached
#include "dev.h"

#ifndef M
#define M 1001
#endif
#ifndef N
#define N 3330
#endif

HONE_ASSERT(M == 1001, "lowered for M = 1001");
HONE_ASSERT(N == 3330, "lowered for N = 3330");

#pragma hone launch y_rowwise grid(M) block(512) args(x, g, y)

HONE_KERNEL(512) y_rowwise(const float *__restrict__ x, const float *__restrict__ g, float *__restrict__ y) {
    f32x2 x_row[4];
    f32x2 d_row[4];
    f32x2 t_1_sum_part;
    HONE_SHARED(t_1_sum_warps, 16);
    f32x2 t_3_sum_part;
    HONE_SHARED(t_3_sum_warps, 16);
    const int block = hone_block();
    const int thread = hone_thread();
    t_1_sum_part = hone_all2(0.0f);
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        int j = item * 1024 + thread * 2;
        if (j < N) {
            f32x2 x_v = hone_load2(&x[block * N + j]);
            t_1_sum_part += x_v;
            x_row[item] = x_v;
        }
    }
    float t_1_sum_own = hone_lanes_sum2(t_1_sum_part);
    float t_1_sum_warp = hone_warp_sum(t_1_sum_own);
    if (thread % 32 < 1) {
        t_1_sum_warps[thread / 32] = t_1_sum_warp;
    }
    hone_barrier();
    float t_1_sum = hone_lanes_sum4(hone_load4(&t_1_sum_warps[0]) + hone_load4(&t_1_sum_warps[4]) + hone_load4(&t_1_sum_warps[8]) + hone_load4(&t_1_sum_warps[12]));
    t_3_sum_part = hone_all2(0.0f);
    float t_1_mean = t_1_sum / 3330.0f;
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        int j = item * 1024 + thread * 2;
        if (j < N) {
            f32x2 x_v = x_row[item];
            f32x2 d = x_v - t_1_mean;
            f32x2 t_2 = d * d;
            t_3_sum_part += t_2;
            d_row[item] = d;
        }
    }
    float t_3_sum_own = hone_lanes_sum2(t_3_sum_part);
    float t_3_sum_warp = hone_warp_sum(t_3_sum_own);
    if (thread % 32 < 1) {
        t_3_sum_warps[thread / 32] = t_3_sum_warp;
    }
    hone_barrier();
    float t_3_sum = hone_lanes_sum4(hone_load4(&t_3_sum_warps[0]) + hone_load4(&t_3_sum_warps[4]) + hone_load4(&t_3_sum_warps[8]) + hone_load4(&t_3_sum_warps[12]));
    float t_3_mean = t_3_sum / 3330.0f;
    float t_4 = t_3_mean + 9.99999975e-06f;
    float t_5 = hone_rsqrt1(t_4);
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        int j = item * 1024 + thread * 2;
        if (j < N) {
            f32x2 d = d_row[item];
            f32x2 t_6 = d * t_5;
            f32x2 g_v = hone_load2(&g[j]);
            f32x2 y_v = t_6 * g_v;
            hone_store2(&y[block * N + j], y_v);
        }
    }
}
