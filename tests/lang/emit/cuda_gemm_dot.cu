// ranking, by hone VERSION.
// kernel for ranking on sm_90a
// stage y : gemm as dot  threads 256  results 1  vec 4  split 2  rows 1
#include "dev.h"

#ifndef M
#define M 2048
#endif
#ifndef K
#define K 65536
#endif

HONE_ASSERT(M == 2048, "lowered for M = 2048");
HONE_ASSERT(K == 65536, "lowered for K = 65536");

#pragma hone scratch t_1_parts f32[2048, 2]
#pragma hone launch y_reduce grid(M * 2) block(256) args(x, w, t_1_parts)
#pragma hone launch y_finish grid(M / 4) block(128) args(y, t_1_parts)

HONE_KERNEL(256) y_reduce(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ t_1_parts) {
    f32x4 t_1_part;
    HONE_SHARED(t_1_warps, 8);
    const int block = hone_block();
    const int thread = hone_thread();
    int row = block / 2;
    t_1_part = hone_all4(0.0f);
    int middle = block % 2 * 32768 + 32768;
    for (int at = block % 2 * 32768; at < middle; at += 8192) {
        #pragma unroll
        for (int step = 0; step < 8; step++) {
            int j = at + step * 1024 + thread * 4;
            f32x4 w_v = hone_load4(&w[j]);
            f32x4 x_v = hone_load4(&x[row * K + j]);
            t_1_part += x_v * w_v;
        }
    }
    for (int j = middle + thread * 4; j < block % 2 * 32768 + 32768; j += 1024) {
        f32x4 w_v = hone_load4(&w[j]);
        f32x4 x_v = hone_load4(&x[row * K + j]);
        t_1_part += x_v * w_v;
    }
    float t_1_own = hone_lanes_sum4(t_1_part);
    float t_1_warp = hone_warp_sum(t_1_own);
    if (thread % 32 < 1) {
        t_1_warps[thread / 32] = t_1_warp;
    }
    hone_barrier();
    float t_1 = hone_lanes_sum4(hone_load4(&t_1_warps[0]) + hone_load4(&t_1_warps[4]));
    if (thread < 1) {
        t_1_parts[row * 2 + block % 2] = t_1;
    }
}

HONE_KERNEL(128) y_finish(float *__restrict__ y, const float *__restrict__ t_1_parts) {
    float t_1_part_;
    const int block = hone_block();
    const int thread = hone_thread();
    int row = block * 4 + thread / 32;
    t_1_part_ = 0.0f;
    for (int j = thread % 32; j < 2; j += 32) {
        t_1_part_ += t_1_parts[row * 2 + j];
    }
    float t_1_own = t_1_part_;
    float t_1 = hone_warp_sum(t_1_own);
    if (thread % 32 < 1) {
        float y_neg = -t_1;
        float y_exp = hone_exp1(y_neg);
        float y_sum = y_exp + 1.0f;
        float y_v = 1.0f / y_sum;
        y[row] = y_v;
    }
}
