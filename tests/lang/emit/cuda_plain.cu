// softmax, by hone VERSION.
// plain: one straightforward kernel per value, a thread for each element,
// no vectors. The baseline that speed-ups are stated against.
#include "dev.h"

#ifndef M
#define M 100
#endif
#ifndef N
#define N 50
#endif

HONE_ASSERT(M == 100, "lowered for M = 100");
HONE_ASSERT(N == 50, "lowered for N = 50");

#pragma hone scratch y_max f32[M]
#pragma hone scratch y_sum f32[M]
#pragma hone launch y_max_reduce grid(M / 4) block(128) args(x, y_max)
#pragma hone launch y_sum_reduce grid(M / 4) block(128) args(x, y_max, y_sum)
#pragma hone launch y_plain grid((M * N + 255) / 256) block(256) args(x, y, y_max, y_sum)

HONE_KERNEL(128) y_max_reduce(const float *__restrict__ x, float *__restrict__ y_max) {
    float y_max_part;
    const int block = hone_block();
    const int thread = hone_thread();
    int row = block * 4 + thread / 32;
    y_max_part = -HONE_INFINITY;
    for (int j = thread % 32; j < N; j += 32) {
        float x_v = x[row * N + j];
        y_max_part = hone_max1(y_max_part, x_v);
    }
    float y_max_own = y_max_part;
    float y_max_v = hone_warp_max(y_max_own);
    if (thread % 32 < 1) {
        y_max[row] = y_max_v;
    }
}

HONE_KERNEL(128) y_sum_reduce(const float *__restrict__ x, const float *__restrict__ y_max, float *__restrict__ y_sum) {
    float y_sum_part;
    const int block = hone_block();
    const int thread = hone_thread();
    int row = block * 4 + thread / 32;
    y_sum_part = 0.0f;
    float y_max_v = y_max[row];
    for (int j = thread % 32; j < N; j += 32) {
        float x_v = x[row * N + j];
        float y_shifted = x_v - y_max_v;
        float y_exp = hone_exp1(y_shifted);
        y_sum_part += y_exp;
    }
    float y_sum_own = y_sum_part;
    float y_sum_v = hone_warp_sum(y_sum_own);
    if (thread % 32 < 1) {
        y_sum[row] = y_sum_v;
    }
}

HONE_KERNEL(256) y_plain(const float *__restrict__ x, float *__restrict__ y, const float *__restrict__ y_max, const float *__restrict__ y_sum) {
    const int block = hone_block();
    const int thread = hone_thread();
    int i = block * 256 + thread;
    if (i < M * N) {
        int i_2 = i % N;
        int i_3 = i / N;
        float x_v = x[i_3 * N + i_2];
        float y_max_v = y_max[i_3];
        float y_shifted = x_v - y_max_v;
        float y_exp = hone_exp1(y_shifted);
        float y_sum_v = y_sum[i_3];
        float y_v = y_exp / y_sum_v;
        y[i_3 * N + i_2] = y_v;
    }
}
