// product, by hone VERSION.
// kernel for product on sm_80
// stage c : gemm  tile 32x32x8  micro 4x4  stages 1  vec 1  minblocks 1
#include "dev.h"

#ifndef B
#define B 3
#endif
#ifndef M
#define M 100
#endif
#ifndef N
#define N 50
#endif
#ifndef K
#define K 37
#endif

HONE_ASSERT(B == 3, "lowered for B = 3");
HONE_ASSERT(M == 100, "lowered for M = 100");
HONE_ASSERT(N == 50, "lowered for N = 50");
HONE_ASSERT(K == 37, "lowered for K = 37");

#pragma hone launch c_gemm grid(B * ((M + 31) / 32 * ((N + 31) / 32))) block(64) args(a, b, c)

HONE_KERNEL(64) c_gemm(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c) {
    HONE_SHARED(lhs_tile, 8 * 36);
    float lhs_next[4];
    f32x4 lhs_own;
    HONE_SHARED(rhs_tile, 8 * 32);
    float rhs_next[4];
    f32x4 rhs_own;
    f32x4 sum[4];
    const int block = hone_block();
    const int thread = hone_thread();
    int row0 = block % ((M + 31) / 32 * ((N + 31) / 32)) / ((N + 31) / 32) * 32;
    int column0 = block % ((M + 31) / 32 * ((N + 31) / 32)) % ((N + 31) / 32) * 32;
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        sum[i] = hone_all4(0.0f);
    }
    for (int k0 = 0; k0 < K; k0 += 8) {
        #pragma unroll
        for (int item = 0; item < 4; item++) {
            int lhs_at = item * 8 + thread / 8;
            int lhs_k = thread % 8;
            int k = k0 + lhs_k;
            lhs_next[item] = 0.0f;
            if (k < K) {
                float a_v = a[(block / ((M + 31) / 32 * ((N + 31) / 32)) * M + (row0 + lhs_at < 99 ? row0 + lhs_at : 99)) * K + k];
                lhs_next[item] = a_v;
            }
        }
        #pragma unroll
        for (int item = 0; item < 4; item++) {
            int rhs_at = thread % 32;
            int rhs_k = item * 2 + thread / 32;
            int k = k0 + rhs_k;
            rhs_next[item] = 0.0f;
            if (k < K) {
                float b_v = b[(block / ((M + 31) / 32 * ((N + 31) / 32)) * K + k) * N + (column0 + rhs_at < 49 ? column0 + rhs_at : 49)];
                rhs_next[item] = b_v;
            }
        }
        hone_barrier();
        #pragma unroll
        for (int item = 0; item < 4; item++) {
            int lhs_at = item * 8 + thread / 8;
            int lhs_k = thread % 8;
            lhs_tile[lhs_k * 36 + lhs_at] = lhs_next[item];
        }
        #pragma unroll
        for (int item = 0; item < 4; item++) {
            int rhs_at = thread % 32;
            int rhs_k = item * 2 + thread / 32;
            rhs_tile[rhs_k * 32 + rhs_at] = rhs_next[item];
        }
        hone_barrier();
        #pragma unroll
        for (int k = 0; k < 8; k++) {
            lhs_own = hone_load4(&lhs_tile[k * 36 + thread / 8 * 4]);
            rhs_own = hone_load4(&rhs_tile[k * 32 + thread % 8 * 4]);
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                sum[i] += hone_lane4(lhs_own, i) * rhs_own;
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        int row = row0 + thread / 8 * 4 + i;
        if (row < M) {
            #pragma unroll
            for (int c_v = 0; c_v < 4; c_v++) {
                int column = column0 + thread % 8 * 4 + c_v;
                if (column < N) {
                    float c_2 = hone_lane4(sum[i], c_v);
                    c[(block / ((M + 31) / 32 * ((N + 31) / 32)) * M + row) * N + column] = c_2;
                }
            }
        }
    }
}
