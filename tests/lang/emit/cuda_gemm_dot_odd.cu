// ranking, by hone VERSION.
// kernel for ranking on sm_90a
// stage y : gemm as dot  threads 256  results 1  vec 4  split 2  rows 4
#include "dev.h"

#ifndef M
#define M 2047
#endif
#ifndef K
#define K 65537
#endif

HONE_ASSERT(M == 2047, "lowered for M = 2047");
HONE_ASSERT(K == 65537, "lowered for K = 65537");

#pragma hone scratch y_f32_parts f32[2047, 2]
#pragma hone launch y_reduce grid(1024) block(256) args(x, w, y_f32_parts)
#pragma hone launch y_finish grid((M + 3) / 4) block(128) args(y, y_f32_parts)

HONE_KERNEL(256) y_reduce(const unsigned short *__restrict__ x, const unsigned short *__restrict__ w, float *__restrict__ y_f32_parts) {
    float y_f32_part;
    float y_f32_edge;
    HONE_SHARED(y_f32_warps, 8);
    float y_f32_part_;
    float y_f32_edge_;
    HONE_SHARED(y_f32_warps_2, 8);
    float y_f32_part__;
    float y_f32_edge__;
    HONE_SHARED(y_f32_warps_3, 8);
    float y_f32_part___;
    float y_f32_edge___;
    HONE_SHARED(y_f32_warps_4, 8);
    const int block = hone_block();
    const int thread = hone_thread();
    int strip = block / 2;
    int first = strip / 4 * 16 + strip % 4;
    int last = (2046 - first) / 4;
    int m = first + 4;
    int m_2 = first + 8;
    int m_3 = first + (3 < last ? 3 : last) * 4;
    int head = (4 - first % 4) % 4;
    int covered = (65537 - head) / 4 * 4;
    int begin = head + block % 2 * 32768;
    int end = (head + covered < begin + 32768 ? head + covered : begin + 32768);
    int who = block % 2 * 256 + thread;
    y_f32_edge = 0.0f;
    y_f32_edge_ = 0.0f;
    y_f32_edge__ = 0.0f;
    y_f32_edge___ = 0.0f;
    if (who < 65537 - covered) {
        int j = who + covered * ((who + 4 - head) / 4);
        float w_v = hone_from_bf16(w[j]);
        float x_v = hone_from_bf16(x[first * K + j]);
        y_f32_edge += x_v * w_v;
        float x_2 = hone_from_bf16(x[m * K + j]);
        y_f32_edge_ += x_2 * w_v;
        float x_3 = hone_from_bf16(x[m_2 * K + j]);
        y_f32_edge__ += x_3 * w_v;
        float x_4 = hone_from_bf16(x[m_3 * K + j]);
        y_f32_edge___ += x_4 * w_v;
    }
    y_f32_part = 0.0f;
    y_f32_part_ = 0.0f;
    y_f32_part__ = 0.0f;
    y_f32_part___ = 0.0f;
    int middle = begin + (end - begin) / 2048 * 2048;
    for (int at = begin; at < middle; at += 2048) {
        #pragma unroll
        for (int step = 0; step < 2; step++) {
            int j = at + step * 1024 + thread * 4;
            f32x4 x_v = hone_load4_bf16(&x[first * K + j]);
            f32x4 x_2 = hone_load4_bf16(&x[m * K + j]);
            f32x4 x_3 = hone_load4_bf16(&x[m_2 * K + j]);
            f32x4 x_4 = hone_load4_bf16(&x[m_3 * K + j]);
            float w_v = hone_from_bf16(w[j]);
            y_f32_part += hone_lane4(x_v, 0) * w_v;
            y_f32_part_ += hone_lane4(x_2, 0) * w_v;
            y_f32_part__ += hone_lane4(x_3, 0) * w_v;
            y_f32_part___ += hone_lane4(x_4, 0) * w_v;
            float w_2 = hone_from_bf16(w[j + 1]);
            y_f32_part += hone_lane4(x_v, 1) * w_2;
            y_f32_part_ += hone_lane4(x_2, 1) * w_2;
            y_f32_part__ += hone_lane4(x_3, 1) * w_2;
            y_f32_part___ += hone_lane4(x_4, 1) * w_2;
            float w_3 = hone_from_bf16(w[j + 2]);
            y_f32_part += hone_lane4(x_v, 2) * w_3;
            y_f32_part_ += hone_lane4(x_2, 2) * w_3;
            y_f32_part__ += hone_lane4(x_3, 2) * w_3;
            y_f32_part___ += hone_lane4(x_4, 2) * w_3;
            float w_4 = hone_from_bf16(w[j + 3]);
            y_f32_part += hone_lane4(x_v, 3) * w_4;
            y_f32_part_ += hone_lane4(x_2, 3) * w_4;
            y_f32_part__ += hone_lane4(x_3, 3) * w_4;
            y_f32_part___ += hone_lane4(x_4, 3) * w_4;
        }
    }
    for (int j = middle + thread * 4; j < end; j += 1024) {
        f32x4 x_v = hone_load4_bf16(&x[first * K + j]);
        f32x4 x_2 = hone_load4_bf16(&x[m * K + j]);
        f32x4 x_3 = hone_load4_bf16(&x[m_2 * K + j]);
        f32x4 x_4 = hone_load4_bf16(&x[m_3 * K + j]);
        float w_v = hone_from_bf16(w[j]);
        y_f32_part += hone_lane4(x_v, 0) * w_v;
        y_f32_part_ += hone_lane4(x_2, 0) * w_v;
        y_f32_part__ += hone_lane4(x_3, 0) * w_v;
        y_f32_part___ += hone_lane4(x_4, 0) * w_v;
        float w_2 = hone_from_bf16(w[j + 1]);
        y_f32_part += hone_lane4(x_v, 1) * w_2;
        y_f32_part_ += hone_lane4(x_2, 1) * w_2;
        y_f32_part__ += hone_lane4(x_3, 1) * w_2;
        y_f32_part___ += hone_lane4(x_4, 1) * w_2;
        float w_3 = hone_from_bf16(w[j + 2]);
        y_f32_part += hone_lane4(x_v, 2) * w_3;
        y_f32_part_ += hone_lane4(x_2, 2) * w_3;
        y_f32_part__ += hone_lane4(x_3, 2) * w_3;
        y_f32_part___ += hone_lane4(x_4, 2) * w_3;
        float w_4 = hone_from_bf16(w[j + 3]);
        y_f32_part += hone_lane4(x_v, 3) * w_4;
        y_f32_part_ += hone_lane4(x_2, 3) * w_4;
        y_f32_part__ += hone_lane4(x_3, 3) * w_4;
        y_f32_part___ += hone_lane4(x_4, 3) * w_4;
    }
    float y_f32_own = y_f32_part + y_f32_edge;
    float y_f32_warp = hone_warp_sum(y_f32_own);
    float y_f32_own_2 = y_f32_part_ + y_f32_edge_;
    float y_f32_warp_2 = hone_warp_sum(y_f32_own_2);
    float y_f32_own_3 = y_f32_part__ + y_f32_edge__;
    float y_f32_warp_3 = hone_warp_sum(y_f32_own_3);
    float y_f32_own_4 = y_f32_part___ + y_f32_edge___;
    float y_f32_warp_4 = hone_warp_sum(y_f32_own_4);
    if (thread % 32 < 1) {
        y_f32_warps[thread / 32] = y_f32_warp;
        y_f32_warps_2[thread / 32] = y_f32_warp_2;
        y_f32_warps_3[thread / 32] = y_f32_warp_3;
        y_f32_warps_4[thread / 32] = y_f32_warp_4;
    }
    hone_barrier();
    float y_f32 = hone_lanes_sum4(hone_load4(&y_f32_warps[0]) + hone_load4(&y_f32_warps[4]));
    float y_f32_2 = hone_lanes_sum4(hone_load4(&y_f32_warps_2[0]) + hone_load4(&y_f32_warps_2[4]));
    float y_f32_3 = hone_lanes_sum4(hone_load4(&y_f32_warps_3[0]) + hone_load4(&y_f32_warps_3[4]));
    float y_f32_4 = hone_lanes_sum4(hone_load4(&y_f32_warps_4[0]) + hone_load4(&y_f32_warps_4[4]));
    if (thread < 1) {
        y_f32_parts[first * 2 + block % 2] = y_f32;
    }
    if (thread < 1) {
        y_f32_parts[(first + 4) * 2 + block % 2] = y_f32_2;
    }
    if (thread < 1) {
        y_f32_parts[(first + 8) * 2 + block % 2] = y_f32_3;
    }
    if (first + 12 < 2047) {
        if (thread < 1) {
            y_f32_parts[(first + 12) * 2 + block % 2] = y_f32_4;
        }
    }
}

HONE_KERNEL(128) y_finish(unsigned short *__restrict__ y, const float *__restrict__ y_f32_parts) {
    float y_f32_part____;
    const int block = hone_block();
    const int thread = hone_thread();
    int row = block * 4 + thread / 32;
    if (row < M) {
        y_f32_part____ = 0.0f;
        for (int j = thread % 32; j < 2; j += 32) {
            y_f32_part____ += y_f32_parts[row * 2 + j];
        }
        float y_f32_own = y_f32_part____;
        float y_f32 = hone_warp_sum(y_f32_own);
        if (thread % 32 < 1) {
            y[row] = hone_to_bf16(y_f32);
        }
    }
}
