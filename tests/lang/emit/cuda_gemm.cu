// product, by hone VERSION.
// kernel for product on sm_90a
// stage c : gemm  tile 128x128x8  micro 8x8  stages 2  vec 4  minblocks 2
#include "dev.h"

#ifndef M
#define M 1024
#endif
#ifndef N
#define N 1024
#endif
#ifndef K
#define K 1024
#endif

HONE_ASSERT(M == 1024, "lowered for M = 1024");
HONE_ASSERT(N == 1024, "lowered for N = 1024");
HONE_ASSERT(K == 1024, "lowered for K = 1024");

#pragma hone launch c_gemm grid(M / 128 * (N / 128)) block(256) args(a, b, d, c)

HONE_KERNEL_OF(256, 2) c_gemm(const float *__restrict__ a, const float *__restrict__ b, const float *__restrict__ d, float *__restrict__ c) {
    HONE_SHARED(lhs_tile, 16 * 132);
    f32x4 lhs_next;
    f32x4 lhs_own[2];
    HONE_SHARED(rhs_tile, 16 * 128);
    f32x4 rhs_next;
    f32x4 rhs_own[2];
    f32x4 sum[16];
    const int block = hone_block();
    const int thread = hone_thread();
    int row0 = block / (N / 128) * 128;
    int column0 = block % (N / 128) * 128;
    #pragma unroll
    for (int i = 0; i < 16; i++) {
        sum[i] = hone_all4(0.0f);
    }
    int lhs_at = thread / 2;
    int lhs_k = thread % 2 * 4;
    f32x4 a_v = hone_load4(&a[(row0 + lhs_at) * K + lhs_k]);
    lhs_next = a_v;
    int rhs_at = thread % 32 * 4;
    int rhs_k = thread / 32;
    f32x4 b_v = hone_load4(&b[rhs_k * N + column0 + rhs_at]);
    rhs_next = b_v;
    int lhs_at_2 = thread / 2;
    int lhs_k_2 = thread % 2 * 4;
    #pragma unroll
    for (int lane = 0; lane < 4; lane++) {
        lhs_tile[(lhs_k_2 + lane) * 132 + lhs_at_2] = hone_lane4(lhs_next, lane);
    }
    int rhs_at_2 = thread % 32 * 4;
    int rhs_k_2 = thread / 32;
    hone_store4(&rhs_tile[rhs_k_2 * 128 + rhs_at_2], rhs_next);
    hone_barrier();
    for (int k0 = 0; k0 < 1016; k0 += 8) {
        int lhs_at_3 = thread / 2;
        int lhs_k_3 = thread % 2 * 4;
        f32x4 a_2 = hone_load4(&a[(row0 + lhs_at_3) * K + k0 + 8 + lhs_k_3]);
        lhs_next = a_2;
        int rhs_at_3 = thread % 32 * 4;
        int rhs_k_3 = thread / 32;
        f32x4 b_2 = hone_load4(&b[(k0 + 8 + rhs_k_3) * N + column0 + rhs_at_3]);
        rhs_next = b_2;
        #pragma unroll
        for (int k = 0; k < 8; k++) {
            #pragma unroll
            for (int c_v = 0; c_v < 2; c_v++) {
                lhs_own[c_v] = hone_load4(&lhs_tile[(k0 / 8 % 2 * 8 + k) * 132 + c_v * 64 + thread / 16 * 4]);
            }
            #pragma unroll
            for (int c_v = 0; c_v < 2; c_v++) {
                rhs_own[c_v] = hone_load4(&rhs_tile[(k0 / 8 % 2 * 8 + k) * 128 + c_v * 64 + thread % 16 * 4]);
            }
            #pragma unroll
            for (int i = 0; i < 8; i++) {
                #pragma unroll
                for (int c_v = 0; c_v < 2; c_v++) {
                    sum[i * 2 + c_v] += hone_lane4(lhs_own[i / 4], i % 4) * rhs_own[c_v];
                }
            }
        }
        int lhs_at_4 = thread / 2;
        int lhs_k_4 = thread % 2 * 4;
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            lhs_tile[((k0 + 8) / 8 % 2 * 8 + lhs_k_4 + lane) * 132 + lhs_at_4] = hone_lane4(lhs_next, lane);
        }
        int rhs_at_4 = thread % 32 * 4;
        int rhs_k_4 = thread / 32;
        hone_store4(&rhs_tile[((k0 + 8) / 8 % 2 * 8 + rhs_k_4) * 128 + rhs_at_4], rhs_next);
        hone_barrier();
    }
    #pragma unroll
    for (int k = 0; k < 8; k++) {
        #pragma unroll
        for (int c_v = 0; c_v < 2; c_v++) {
            lhs_own[c_v] = hone_load4(&lhs_tile[(8 + k) * 132 + c_v * 64 + thread / 16 * 4]);
        }
        #pragma unroll
        for (int c_v = 0; c_v < 2; c_v++) {
            rhs_own[c_v] = hone_load4(&rhs_tile[(8 + k) * 128 + c_v * 64 + thread % 16 * 4]);
        }
        #pragma unroll
        for (int i = 0; i < 8; i++) {
            #pragma unroll
            for (int c_v = 0; c_v < 2; c_v++) {
                sum[i * 2 + c_v] += hone_lane4(lhs_own[i / 4], i % 4) * rhs_own[c_v];
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < 8; i++) {
        int row = row0 + i / 4 * 64 + thread / 16 * 4 + i % 4;
        #pragma unroll
        for (int c_v = 0; c_v < 2; c_v++) {
            int column = column0 + c_v * 64 + thread % 16 * 4;
            f32x4 t_1 = sum[i * 2 + c_v];
            f32x4 d_v = hone_load4(&d[column]);
            f32x4 t_2 = t_1 + d_v;
            f32x4 c_2 = hone_max4(t_2, hone_all4(0.0f));
            hone_store4(&c[row * N + column], c_2);
        }
    }
}
