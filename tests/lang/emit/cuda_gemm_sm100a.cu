// product, by hone VERSION.
// kernel for product on sm_100a
// stage c : gemm  tile 32x32x32  micro 2x2  stages 2  vec 2  minblocks 2
#include "dev.h"

#ifndef M
#define M 1001
#endif
#ifndef N
#define N 334
#endif
#ifndef K
#define K 2050
#endif

HONE_ASSERT(M == 1001, "lowered for M = 1001");
HONE_ASSERT(N == 334, "lowered for N = 334");
HONE_ASSERT(K == 2050, "lowered for K = 2050");

#pragma hone launch c_gemm grid((M + 31) / 32 * ((N + 31) / 32)) block(256) args(a, b, d, c)

HONE_KERNEL_OF(256, 2) c_gemm(const float *__restrict__ a, const float *__restrict__ b, const float *__restrict__ d, float *__restrict__ c) {
    HONE_SHARED(lhs_tile, 64 * 36);
    f32x2 lhs_next[2];
    f32x2 lhs_own;
    HONE_SHARED(rhs_tile, 64 * 32);
    f32x2 rhs_next[2];
    f32x2 rhs_own;
    f32x2 sum[2];
    HONE_SHARED(total, 1024);
    const int block = hone_block();
    const int thread = hone_thread();
    int row0 = block / ((N + 31) / 32) * 32;
    int column0 = block % ((N + 31) / 32) * 32;
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_store2(&total[(i * 256 + thread) * 2], hone_all2(0.0f));
    }
    for (int chunk = 0; chunk < K; chunk += 2048) {
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            sum[i] = hone_all2(0.0f);
        }
        int last = chunk + (((K < chunk + 2048 ? K : chunk + 2048) - chunk + 31) / 32 - 1) * 32;
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            int lhs_at = item * 16 + thread / 16;
            int lhs_k = thread % 16 * 2;
            int k = chunk + lhs_k;
            lhs_next[item] = hone_all2(0.0f);
            if (k < K) {
                f32x2 a_v = hone_load2(&a[(row0 + lhs_at < 1000 ? row0 + lhs_at : 1000) * K + k]);
                lhs_next[item] = a_v;
            }
        }
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            int rhs_at = thread % 16 * 2;
            int rhs_k = item * 16 + thread / 16;
            int k = chunk + rhs_k;
            rhs_next[item] = hone_all2(0.0f);
            if (k < K) {
                f32x2 b_v = hone_load2(&b[k * N + (column0 + rhs_at < 332 ? column0 + rhs_at : 332)]);
                rhs_next[item] = b_v;
            }
        }
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            int lhs_at = item * 16 + thread / 16;
            int lhs_k = thread % 16 * 2;
            #pragma unroll
            for (int lane = 0; lane < 2; lane++) {
                lhs_tile[(chunk / 32 % 2 * 32 + lhs_k + lane) * 36 + lhs_at] = hone_lane2(lhs_next[item], lane);
            }
        }
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            int rhs_at = thread % 16 * 2;
            int rhs_k = item * 16 + thread / 16;
            hone_store2(&rhs_tile[(chunk / 32 % 2 * 32 + rhs_k) * 32 + rhs_at], rhs_next[item]);
        }
        hone_barrier();
        for (int k0 = chunk; k0 < last; k0 += 32) {
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                int lhs_at = item * 16 + thread / 16;
                int lhs_k = thread % 16 * 2;
                f32x2 a_v = hone_load2(&a[(row0 + lhs_at < 1000 ? row0 + lhs_at : 1000) * K + k0 + 32 + lhs_k]);
                lhs_next[item] = a_v;
            }
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                int rhs_at = thread % 16 * 2;
                int rhs_k = item * 16 + thread / 16;
                f32x2 b_v = hone_load2(&b[(k0 + 32 + rhs_k) * N + (column0 + rhs_at < 332 ? column0 + rhs_at : 332)]);
                rhs_next[item] = b_v;
            }
            #pragma unroll
            for (int k = 0; k < 32; k++) {
                lhs_own = hone_load2(&lhs_tile[(k0 / 32 % 2 * 32 + k) * 36 + thread / 16 * 2]);
                rhs_own = hone_load2(&rhs_tile[(k0 / 32 % 2 * 32 + k) * 32 + thread % 16 * 2]);
                #pragma unroll
                for (int i = 0; i < 2; i++) {
                    sum[i] += hone_lane2(lhs_own, i) * rhs_own;
                }
            }
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                int lhs_at = item * 16 + thread / 16;
                int lhs_k = thread % 16 * 2;
                #pragma unroll
                for (int lane = 0; lane < 2; lane++) {
                    lhs_tile[((k0 + 32) / 32 % 2 * 32 + lhs_k + lane) * 36 + lhs_at] = hone_lane2(lhs_next[item], lane);
                }
            }
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                int rhs_at = thread % 16 * 2;
                int rhs_k = item * 16 + thread / 16;
                hone_store2(&rhs_tile[((k0 + 32) / 32 % 2 * 32 + rhs_k) * 32 + rhs_at], rhs_next[item]);
            }
            hone_barrier();
        }
        #pragma unroll
        for (int k = 0; k < 32; k++) {
            lhs_own = hone_load2(&lhs_tile[((long)(last / 32) % 2 * 32 + k) * 36 + thread / 16 * 2]);
            rhs_own = hone_load2(&rhs_tile[((long)(last / 32) % 2 * 32 + k) * 32 + thread % 16 * 2]);
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                sum[i] += hone_lane2(lhs_own, i) * rhs_own;
            }
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_store2(&total[(i * 256 + thread) * 2], hone_load2(&total[(i * 256 + thread) * 2]) + sum[i]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        int row = row0 + thread / 16 * 2 + i;
        if (row < M) {
            int column = column0 + thread % 16 * 2;
            if (column < N) {
                f32x2 t_1 = hone_load2(&total[(i * 256 + thread) * 2]);
                f32x2 d_v = hone_load2(&d[column]);
                f32x2 t_2 = t_1 + d_v;
                f32x2 c_v = hone_max2(t_2, hone_all2(0.0f));
                hone_store2(&c[row * N + column], c_v);
            }
        }
    }
}
