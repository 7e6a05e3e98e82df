// bytes, by hone VERSION.
// kernel for bytes on sm_90a
// stage c : gemm as mma  tile 64x64x64  warps 2x2  stages 3  group 4  minblocks 1
#include "dev.h"

#ifndef M
#define M 512
#endif
#ifndef N
#define N 512
#endif
#ifndef K
#define K 256
#endif

HONE_ASSERT(M == 512, "lowered for M = 512");
HONE_ASSERT(N == 512, "lowered for N = 512");
HONE_ASSERT(K == 256, "lowered for K = 256");

#pragma hone launch c_gemm grid(M / 64 * (N / 64)) block(128) args(a, b, c)

HONE_KERNEL_OF(128, 1) c_gemm(const unsigned char *__restrict__ a, const unsigned char *__restrict__ b, unsigned short *__restrict__ c) {
    HONE_SHARED_OF(unsigned char, lhs_tile, 192 * 64);
    int lhs_words[16];
    HONE_SHARED_OF(unsigned char, rhs_tile, 192 * 64);
    int rhs_words[16];
    f32x2 sum[16];
    const int block = hone_block();
    const int thread = hone_thread();
    int above = block / (N / 64 * 4) * 4;
    int inside = block % (N / 64 * 4);
    int row0 = (above + inside % 4) * 64;
    int column0 = inside / 4 * 64;
    int lane = thread % 32;
    int warp_row = thread / 32 / 2 * 32;
    int warp_column = thread / 32 % 2 * 32;
    #pragma unroll
    for (int i = 0; i < 16; i++) {
        sum[i] = hone_all2(0.0f);
    }
    for (int slice = 0; slice < 2; slice++) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            hone_async_copy16(&lhs_tile[(slice * 64 + item * 32 + thread / 4) * 64 + ((thread % 4) ^ (thread / 4 % 8 / 2)) * 16], &a[(row0 + item * 32 + thread / 4) * K + slice * 64 + thread % 4 * 16], 16);
        }
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            hone_async_copy16(&rhs_tile[(slice * 64 + item * 32 + thread / 4) * 64 + ((thread % 4) ^ (thread / 4 % 8 / 2)) * 16], &b[(column0 + item * 32 + thread / 4) * K + slice * 64 + thread % 4 * 16], 16);
        }
        hone_async_commit();
    }
    hone_async_wait(1);
    hone_barrier();
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[(warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8 / 2)) * 16]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[(warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8 / 2)) * 16]);
    }
    for (int slice = 0; slice < 3; slice++) {
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&lhs_words[i * 4 + 8], &lhs_tile[(slice * 64 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((2 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8 / 2)) * 16]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&rhs_words[i * 4 + 8], &rhs_tile[(slice * 64 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((2 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8 / 2)) * 16]);
        }
        if (slice + 2 < 4) {
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                hone_async_copy16(&lhs_tile[((slice + 2) % 3 * 64 + item * 32 + thread / 4) * 64 + ((thread % 4) ^ (thread / 4 % 8 / 2)) * 16], &a[(row0 + item * 32 + thread / 4) * K + (slice + 2) * 64 + thread % 4 * 16], 16);
            }
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                hone_async_copy16(&rhs_tile[((slice + 2) % 3 * 64 + item * 32 + thread / 4) * 64 + ((thread % 4) ^ (thread / 4 % 8 / 2)) * 16], &b[(column0 + item * 32 + thread / 4) * K + (slice + 2) * 64 + thread % 4 * 16], 16);
            }
        }
        hone_async_commit();
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                hone_mma_e5m2(&sum[(i * 4 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
            }
        }
        hone_async_wait(1);
        hone_barrier();
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[((slice + 1) % 3 * 64 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8 / 2)) * 16]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[((slice + 1) % 3 * 64 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8 / 2)) * 16]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                hone_mma_e5m2(&sum[(i * 4 + j) * 2], &lhs_words[i * 4 + 8], &rhs_words[j * 2 + 8]);
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&lhs_words[i * 4 + 8], &lhs_tile[(warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((2 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8 / 2)) * 16]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&rhs_words[i * 4 + 8], &rhs_tile[(warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((2 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8 / 2)) * 16]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            hone_mma_e5m2(&sum[(i * 4 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            hone_mma_e5m2(&sum[(i * 4 + j) * 2], &lhs_words[i * 4 + 8], &rhs_words[j * 2 + 8]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        int row = row0 + warp_row + i * 8 + lane / 4;
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            int column = column0 + warp_column + j * 8 + lane % 4 * 2;
            f32x2 c_f32 = sum[(i / 2 * 4 + j) * 2 + i % 2];
            hone_store2_bf16(&c[row * N + column], c_f32);
        }
    }
}
