// columns, by hone VERSION.
// kernel for columns on sm_100a
// stage y : reduce  threads 8  results 32  vec 2  split 64
#include "dev.h"

#ifndef M
#define M 10001
#endif
#ifndef N
#define N 334
#endif

HONE_ASSERT(M == 10001, "lowered for M = 10001");
HONE_ASSERT(N == 334, "lowered for N = 334");

#pragma hone scratch y_parts f32[64, 334]
#pragma hone launch y_reduce grid((N + 63) / 64 * 64) block(256) args(x, y_parts)
#pragma hone launch y_finish grid((N + 127) / 128) block(128) args(y, y_parts)

HONE_KERNEL(256) y_reduce(const float *__restrict__ x, float *__restrict__ y_parts) {
    f32x2 y_part;
    HONE_SHARED(y_parts_2, 8 * 64);
    const int block = hone_block();
    const int thread = hone_thread();
    int i = block / 64 * 64 + thread % 32 * 2;
    int at = (i < 332 ? i : 332);
    y_part = hone_all2(0.0f);
    int end = (M < block % 64 * 157 + 157 ? M : block % 64 * 157 + 157);
    int middle = block % 64 * 157 + (end - block % 64 * 157) / 64 * 64;
    for (int at_2 = block % 64 * 157; at_2 < middle; at_2 += 64) {
        #pragma unroll
        for (int step = 0; step < 8; step++) {
            int j = at_2 + step * 8 + thread / 32;
            f32x2 x_v = hone_load2(&x[j * N + at]);
            y_part += x_v;
        }
    }
    for (int j = middle + thread / 32; j < end; j += 8) {
        f32x2 x_v = hone_load2(&x[j * N + at]);
        y_part += x_v;
    }
    hone_store2(&y_parts_2[thread / 32 * 64 + thread % 32 * 2], y_part);
    hone_barrier();
    if (thread / 32 < 1) {
        #pragma unroll
        for (int other = 1; other < 8; other++) {
            y_part += hone_load2(&y_parts_2[other * 64 + thread % 32 * 2]);
        }
        if (i < N) {
            hone_store2(&y_parts[block % 64 * N + i], y_part);
        }
    }
}

HONE_KERNEL(128) y_finish(float *__restrict__ y, const float *__restrict__ y_parts) {
    float y_part_;
    float y_total;
    const int block = hone_block();
    const int thread = hone_thread();
    int row = block * 128 + thread;
    if (row < N) {
        y_total = 0.0f;
        for (int chunk = 0; chunk < 64; chunk += 16) {
            y_part_ = 0.0f;
            for (int j = chunk; j < chunk + 16; j++) {
                y_part_ += y_parts[j * N + row];
            }
            y_total += y_part_;
        }
        float y_v = y_total;
        y[row] = y_v;
    }
}
