// columns, by hone VERSION.
// kernel for columns on sm_90a
// stage y : reduce  threads 8  results 32  vec 4  split 32
#include "dev.h"

#ifndef M
#define M 4096
#endif
#ifndef N
#define N 1000
#endif

HONE_ASSERT(M == 4096, "lowered for M = 4096");
HONE_ASSERT(N == 1000, "lowered for N = 1000");

#pragma hone scratch y_parts f32[32, 1000]
#pragma hone launch y_reduce grid((N + 127) / 128 * 32) block(256) args(x, y_parts)
#pragma hone launch y_finish grid((N + 127) / 128) block(128) args(y, y_parts)

HONE_KERNEL(256) y_reduce(const float *__restrict__ x, float *__restrict__ y_parts) {
    f32x4 y_part;
    HONE_SHARED(y_parts_2, 8 * 128);
    const int block = hone_block();
    const int thread = hone_thread();
    int i = block / 32 * 128 + thread % 32 * 4;
    int at = (i < 996 ? i : 996);
    y_part = hone_all4(-HONE_INFINITY);
    int middle = block % 32 * 128 + 128;
    for (int at_2 = block % 32 * 128; at_2 < middle; at_2 += 64) {
        #pragma unroll
        for (int step = 0; step < 8; step++) {
            int j = at_2 + step * 8 + thread / 32;
            f32x4 x_v = hone_load4(&x[j * N + at]);
            y_part = hone_max4(y_part, x_v);
        }
    }
    for (int j = middle + thread / 32; j < block % 32 * 128 + 128; j += 8) {
        f32x4 x_v = hone_load4(&x[j * N + at]);
        y_part = hone_max4(y_part, x_v);
    }
    hone_store4(&y_parts_2[thread / 32 * 128 + thread % 32 * 4], y_part);
    hone_barrier();
    if (thread / 32 < 1) {
        #pragma unroll
        for (int other = 1; other < 8; other++) {
            y_part = hone_max4(y_part, hone_load4(&y_parts_2[other * 128 + thread % 32 * 4]));
        }
        if (i < N) {
            hone_store4(&y_parts[block % 32 * N + i], y_part);
        }
    }
}

HONE_KERNEL(128) y_finish(float *__restrict__ y, const float *__restrict__ y_parts) {
    float y_part_;
    const int block = hone_block();
    const int thread = hone_thread();
    int row = block * 128 + thread;
    if (row < N) {
        y_part_ = -HONE_INFINITY;
        for (int j = 0; j < 32; j++) {
            y_part_ = hone_max1(y_part_, y_parts[j * N + row]);
        }
        float y_v = y_part_;
        y[row] = y_v;
    }
}
