// total, by hone VERSION.
// kernel for total on sm_90a
// stage y : reduce  threads 256  results 1  vec 4  split 64
#include "dev.h"

#ifndef M
#define M 1000
#endif
#ifndef N
#define N 1000
#endif

HONE_ASSERT(M == 1000, "lowered for M = 1000");
HONE_ASSERT(N == 1000, "lowered for N = 1000");

#pragma hone scratch y_parts f32[1, 64]
#pragma hone launch y_reduce grid(64) block(256) args(x, y_parts)
#pragma hone launch y_finish grid(1) block(128) args(y, y_parts)

HONE_KERNEL(256) y_reduce(const float *__restrict__ x, float *__restrict__ y_parts) {
    f32x4 y_part;
    HONE_SHARED(y_warps, 8);
    const int block = hone_block();
    const int thread = hone_thread();
    y_part = hone_all4(0.0f);
    int end = (M * N < block * 15628 + 15628 ? M * N : block * 15628 + 15628);
    int middle = block * 15628 + (end - block * 15628) / 8192 * 8192;
    for (int at = block * 15628; at < middle; at += 8192) {
        #pragma unroll
        for (int step = 0; step < 8; step++) {
            int j = at + step * 1024 + thread * 4;
            f32x4 x_v = hone_load4(&x[j]);
            f32x4 t_1 = x_v * x_v;
            y_part += t_1;
        }
    }
    for (int j = middle + thread * 4; j < end; j += 1024) {
        f32x4 x_v = hone_load4(&x[j]);
        f32x4 t_1 = x_v * x_v;
        y_part += t_1;
    }
    float y_own = hone_lanes_sum4(y_part);
    float y_warp = hone_warp_sum(y_own);
    if (thread % 32 < 1) {
        y_warps[thread / 32] = y_warp;
    }
    hone_barrier();
    float y_v = hone_lanes_sum4(hone_load4(&y_warps[0]) + hone_load4(&y_warps[4]));
    if (thread < 1) {
        y_parts[block] = y_v;
    }
}

HONE_KERNEL(128) y_finish(float *__restrict__ y, const float *__restrict__ y_parts) {
    float y_part_;
    const int thread = hone_thread();
    int row = thread / 32;
    if (row < 1) {
        y_part_ = 0.0f;
        for (int j = thread % 32; j < 64; j += 32) {
            y_part_ += y_parts[row * 64 + j];
        }
        float y_own = y_part_;
        float y_v = hone_warp_sum(y_own);
        if (thread % 32 < 1) {
            y[0] = y_v;
        }
    }
}
