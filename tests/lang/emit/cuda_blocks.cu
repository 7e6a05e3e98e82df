// blocks, by hone VERSION.
// kernel for blocks on sm_90a
// stage y : rowwise as blocks  threads 512  blocks 4  meet cluster  rows 1  minblocks 1  vec 4  unroll 4  stats levels  keep shared  divide exact  store cached
#include "dev.h"

#ifndef M
#define M 64
#endif
#ifndef N
#define N 65535
#endif

HONE_ASSERT(M == 64, "lowered for M = 64");
HONE_ASSERT(N == 65535, "lowered for N = 65535");

#pragma hone scratch t_2_sum_blocks f32[64, 4]
#pragma hone launch y_rowwise grid(M * 4) block(512) shared(65600) cluster(4) args(x, y, t_2_sum_blocks)

HONE_KERNEL(512) y_rowwise(const float *__restrict__ x, float *__restrict__ y, float *t_2_sum_blocks) {
    HONE_DYNAMIC(x_row, 0, 16384);
    float x_end;
    f32x4 t_2_sum_part;
    float t_2_sum_edge;
    HONE_DYNAMIC(t_2_sum_warps, 16384, 16);
    float t_2_sum_part_;
    const int block = hone_block();
    const int thread = hone_thread();
    int row = block / 4;
    int head = (4 - row * 3 % 4) % 4;
    int covered = (N - head) / 4 * 4;
    int begin = head + block % 4 * 16384;
    int end = (head + covered < begin + 16384 ? head + covered : begin + 16384);
    t_2_sum_edge = 0.0f;
    if (block % 4 * 512 + thread < 3) {
        int j = block % 4 * 512 + thread + covered * ((block % 4 * 512 + thread + 4 - head) / 4);
        float x_v = x[row * N + j];
        float t_1 = hone_abs1(x_v);
        t_2_sum_edge += t_1;
        x_end = x_v;
    }
    t_2_sum_part = hone_all4(0.0f);
    int middle = begin + (end - begin) / 8192 * 8192;
    for (int at = begin; at < middle; at += 8192) {
        #pragma unroll
        for (int step = 0; step < 4; step++) {
            int j = at + step * 2048 + thread * 4;
            f32x4 x_v = hone_load4(&x[row * N + j]);
            f32x4 t_1 = hone_abs4(x_v);
            t_2_sum_part += t_1;
            hone_store4(&x_row[j - begin], x_v);
        }
    }
    for (int j = middle + thread * 4; j < end; j += 2048) {
        f32x4 x_v = hone_load4(&x[row * N + j]);
        f32x4 t_1 = hone_abs4(x_v);
        t_2_sum_part += t_1;
        hone_store4(&x_row[j - begin], x_v);
    }
    float t_2_sum_own = hone_lanes_sum4(t_2_sum_part) + t_2_sum_edge;
    float t_2_sum_warp = hone_warp_sum(t_2_sum_own);
    if (thread % 32 < 1) {
        t_2_sum_warps[thread / 32] = t_2_sum_warp;
    }
    hone_barrier();
    float t_2_sum = hone_lanes_sum4(hone_load4(&t_2_sum_warps[0]) + hone_load4(&t_2_sum_warps[4]) + hone_load4(&t_2_sum_warps[8]) + hone_load4(&t_2_sum_warps[12]));
    if (thread < 1) {
        t_2_sum_blocks[row * 4 + block % 4] = t_2_sum;
    }
    hone_cluster_barrier();
    t_2_sum_part_ = 0.0f;
    int j = thread % 32;
    if (j < 4) {
        t_2_sum_part_ += t_2_sum_blocks[row * 4 + j];
    }
    float t_2_sum_own_2 = t_2_sum_part_;
    float t_2_sum_2 = hone_warp_sum(t_2_sum_own_2);
    float t_2_mean = t_2_sum_2 / 65535.0f;
    if (block % 4 * 512 + thread < 3) {
        int j_2 = block % 4 * 512 + thread + covered * ((block % 4 * 512 + thread + 4 - head) / 4);
        float x_v = x_end;
        float y_v = x_v / t_2_mean;
        y[row * N + j_2] = y_v;
    }
    int middle_2 = begin + (end - begin) / 8192 * 8192;
    for (int at = begin; at < middle_2; at += 8192) {
        #pragma unroll
        for (int step = 0; step < 4; step++) {
            int j_2 = at + step * 2048 + thread * 4;
            f32x4 x_v = hone_load4(&x_row[j_2 - begin]);
            f32x4 y_v = x_v / t_2_mean;
            hone_store4(&y[row * N + j_2], y_v);
        }
    }
    for (int j_2 = middle_2 + thread * 4; j_2 < end; j_2 += 2048) {
        f32x4 x_v = hone_load4(&x_row[j_2 - begin]);
        f32x4 y_v = x_v / t_2_mean;
        hone_store4(&y[row * N + j_2], y_v);
    }
}
