// softmax, by hone VERSION.
// kernel for softmax on sm_80
// stage y : rowwise  threads 256  rows 1  vec 4  keep register  divide reciprocal  store stream
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

HONE_KERNEL(256) y_rowwise(const unsigned short *__restrict__ x, unsigned short *__restrict__ y) {
    f32x4 x_row[4];
    f32x4 t_1_exp_row[4];
    f32x4 t_1_max_part;
    HONE_SHARED(t_1_max_warps, 8);
    f32x4 t_1_sum_part;
    HONE_SHARED(t_1_sum_warps, 8);
    const int block = hone_block();
    const int thread = hone_thread();
    t_1_max_part = hone_all4(-HONE_INFINITY);
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        int j = item * 1024 + thread * 4;
        f32x4 x_v = hone_load4_f16(&x[block * N + j]);
        t_1_max_part = hone_max4(t_1_max_part, x_v);
        x_row[item] = x_v;
    }
    float t_1_max_own = hone_lanes_max4(t_1_max_part);
    float t_1_max_warp = hone_warp_max(t_1_max_own);
    if (thread % 32 < 1) {
        t_1_max_warps[thread / 32] = t_1_max_warp;
    }
    hone_barrier();
    float t_1_max = hone_lanes_max4(hone_max4(hone_load4(&t_1_max_warps[0]), hone_load4(&t_1_max_warps[4])));
    t_1_sum_part = hone_all4(0.0f);
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        f32x4 x_v = x_row[item];
        f32x4 t_1_shifted = x_v - t_1_max;
        f32x4 t_1_exp = hone_exp_quick4(t_1_shifted);
        t_1_sum_part += t_1_exp;
        t_1_exp_row[item] = t_1_exp;
    }
    float t_1_sum_own = hone_lanes_sum4(t_1_sum_part);
    float t_1_sum_warp = hone_warp_sum(t_1_sum_own);
    if (thread % 32 < 1) {
        t_1_sum_warps[thread / 32] = t_1_sum_warp;
    }
    hone_barrier();
    float t_1_sum = hone_lanes_sum4(hone_load4(&t_1_sum_warps[0]) + hone_load4(&t_1_sum_warps[4]));
    float t_1_sum_inverse = 1.0f / t_1_sum;
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        int j = item * 1024 + thread * 4;
        f32x4 t_1_exp = t_1_exp_row[item];
        f32x4 t_1 = t_1_exp * t_1_sum_inverse;
        hone_stream4_bf16(&y[block * N + j], t_1);
    }
}
