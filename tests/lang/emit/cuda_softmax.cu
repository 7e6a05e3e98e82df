// softmax, by hone VERSION.
// kernel for softmax on sm_90a
// stage y : rowwise  threads 256  rows 1  vec 4  keep register  divide exact  store cached
#include "dev.h"

#ifndef M
#define M 4096
#endif
#ifndef N
#define N 4096
#endif

HONE_ASSERT(M == 4096, "lowered for M = 4096");
HONE_ASSERT(N == 4096, "lowered for N = 4096");

#pragma hone launch y_rowwise grid(M) block(256) args(x, y)

HONE_KERNEL(256) y_rowwise(const float *__restrict__ x, float *__restrict__ y) {
    f32x4 x_row[4];
    f32x4 y_exp_row[4];
    f32x4 y_max_part;
    HONE_SHARED(y_max_warps, 8);
    f32x4 y_sum_part;
    HONE_SHARED(y_sum_warps, 8);
    const int block = hone_block();
    const int thread = hone_thread();
    y_max_part = hone_all4(-HONE_INFINITY);
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        int j = item * 1024 + thread * 4;
        f32x4 x_v = hone_load4(&x[block * N + j]);
        y_max_part = hone_max4(y_max_part, x_v);
        x_row[item] = x_v;
    }
    float y_max_own = hone_lanes_max4(y_max_part);
    float y_max_warp = hone_warp_max(y_max_own);
    if (thread % 32 < 1) {
        y_max_warps[thread / 32] = y_max_warp;
    }
    hone_barrier();
    float y_max = hone_lanes_max4(hone_max4(hone_load4(&y_max_warps[0]), hone_load4(&y_max_warps[4])));
    y_sum_part = hone_all4(0.0f);
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        f32x4 x_v = x_row[item];
        f32x4 y_shifted = x_v - y_max;
        f32x4 y_exp = hone_exp4(y_shifted);
        y_sum_part += y_exp;
        y_exp_row[item] = y_exp;
    }
    float y_sum_own = hone_lanes_sum4(y_sum_part);
    float y_sum_warp = hone_warp_sum(y_sum_own);
    if (thread % 32 < 1) {
        y_sum_warps[thread / 32] = y_sum_warp;
    }
    hone_barrier();
    float y_sum = hone_lanes_sum4(hone_load4(&y_sum_warps[0]) + hone_load4(&y_sum_warps[4]));
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        int j = item * 1024 + thread * 4;
        f32x4 y_exp = y_exp_row[item];
        f32x4 y_v = y_exp / y_sum;
        hone_store4(&y[block * N + j], y_v);
    }
}
