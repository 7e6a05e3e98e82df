// ragged, by hone VERSION.
// kernel for ragged on sm_80
// stage c : gemm as mma  tile 128x128x32  warps 2x2  stages 3  group 4  minblocks 1
#include "dev.h"

#ifndef B
#define B 3
#endif
#ifndef M
#define M 1000
#endif
#ifndef N
#define N 777
#endif
#ifndef K
#define K 2052
#endif

HONE_ASSERT(B == 3, "lowered for B = 3");
HONE_ASSERT(M == 1000, "lowered for M = 1000");
HONE_ASSERT(N == 777, "lowered for N = 777");
HONE_ASSERT(K == 2052, "lowered for K = 2052");

#pragma hone launch c_gemm grid(B * ((M + 127) / 128 * ((N + 127) / 128))) block(128) shared(114688) args(a, b, c)

HONE_KERNEL_OF(128, 1) c_gemm(const unsigned short *__restrict__ a, const unsigned short *__restrict__ b, float *__restrict__ c) {
    HONE_DYNAMIC_OF(unsigned short, lhs_tile, 0, 96 * 128);
    int lhs_words[32];
    HONE_DYNAMIC_OF(unsigned short, rhs_tile, 24576, 384 * 32);
    int rhs_words[32];
    f32x2 sum[64];
    HONE_DYNAMIC(total, 12288, 16384);
    const int block = hone_block();
    const int thread = hone_thread();
    int above = block % ((M + 127) / 128 * ((N + 127) / 128)) / ((N + 127) / 128 * 4) * 4;
    int inside = block % ((M + 127) / 128 * ((N + 127) / 128)) % ((N + 127) / 128 * 4);
    int row0 = (above + inside % 4) * 128;
    int column0 = inside / 4 * 128;
    int lane = thread % 32;
    int warp_row = thread / 32 / 2 * 64;
    int warp_column = thread / 32 % 2 * 64;
    #pragma unroll
    for (int i = 0; i < 64; i++) {
        sum[i] = hone_all2(0.0f);
    }
    #pragma unroll
    for (int i = 0; i < 64; i++) {
        hone_store2(&total[(i * 128 + thread) * 2], hone_all2(0.0f));
    }
    for (int slice = 0; slice < 2; slice++) {
        #pragma unroll
        for (int item = 0; item < 4; item++) {
            hone_async_copy16(&lhs_tile[(slice * 32 + item * 8 + thread / 16) * 128 + ((thread % 16) ^ (thread / 16)) * 8], &a[(block / ((M + 127) / 128 * ((N + 127) / 128)) * K + slice * 32 + item * 8 + thread / 16) * M + (row0 + thread % 16 * 8 < 992 ? row0 + thread % 16 * 8 : 992)], 16);
        }
        #pragma unroll
        for (int item = 0; item < 8; item++) {
            hone_async_copy8(&rhs_tile[(slice * 128 + item * 16 + thread / 8) * 32 + ((thread % 8 * 4 / 8) ^ (thread / 8 % 8 / 2)) * 8 + thread % 8 * 4 % 8], &b[(block / ((M + 127) / 128 * ((N + 127) / 128)) * N + (column0 + item * 16 + thread / 8 < 776 ? column0 + item * 16 + thread / 8 : 776)) * K + slice * 32 + thread % 8 * 4], 8);
        }
        hone_async_commit();
    }
    hone_async_wait(1);
    hone_barrier();
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix_transposed(&lhs_words[i * 4], &lhs_tile[(lane / 16 * 8 + lane % 8) * 128 + (((warp_row + i * 16) / 8 + lane / 8 % 2) ^ (lane % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[(warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 32 + ((lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8 / 2)) * 8]);
    }
    for (int slice = 0; slice < 64; slice++) {
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix_transposed(&lhs_words[i * 4 + 16], &lhs_tile[(slice % 3 * 32 + 16 + lane / 16 * 8 + lane % 8) * 128 + (((warp_row + i * 16) / 8 + lane / 8 % 2) ^ (lane % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix(&rhs_words[i * 4 + 16], &rhs_tile[(slice % 3 * 128 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 32 + ((2 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8 / 2)) * 8]);
        }
        if (slice + 2 < 65) {
            #pragma unroll
            for (int item = 0; item < 4; item++) {
                hone_async_copy16(&lhs_tile[((slice + 2) % 3 * 32 + item * 8 + thread / 16) * 128 + ((thread % 16) ^ (thread / 16)) * 8], &a[(block / ((M + 127) / 128 * ((N + 127) / 128)) * K + (slice + 2) * 32 + item * 8 + thread / 16) * M + (row0 + thread % 16 * 8 < 992 ? row0 + thread % 16 * 8 : 992)], ((K - ((slice + 2) * 32 + item * 8 + thread / 16) > 0 ? K - ((slice + 2) * 32 + item * 8 + thread / 16) : 0) * 2 < 16 ? (K - ((slice + 2) * 32 + item * 8 + thread / 16) > 0 ? K - ((slice + 2) * 32 + item * 8 + thread / 16) : 0) * 2 : 16));
            }
            #pragma unroll
            for (int item = 0; item < 8; item++) {
                hone_async_copy8(&rhs_tile[((slice + 2) % 3 * 128 + item * 16 + thread / 8) * 32 + ((thread % 8 * 4 / 8) ^ (thread / 8 % 8 / 2)) * 8 + thread % 8 * 4 % 8], &b[(block / ((M + 127) / 128 * ((N + 127) / 128)) * N + (column0 + item * 16 + thread / 8 < 776 ? column0 + item * 16 + thread / 8 : 776)) * K + (slice + 2) * 32 + thread % 8 * 4], ((K - ((slice + 2) * 32 + thread % 8 * 4) > 0 ? K - ((slice + 2) * 32 + thread % 8 * 4) : 0) * 2 < 8 ? (K - ((slice + 2) * 32 + thread % 8 * 4) > 0 ? K - ((slice + 2) * 32 + thread % 8 * 4) : 0) * 2 : 8));
            }
        }
        hone_async_commit();
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                hone_mma_f16(&sum[(i * 8 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
            }
        }
        hone_async_wait(1);
        hone_barrier();
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix_transposed(&lhs_words[i * 4], &lhs_tile[((slice + 1) % 3 * 32 + lane / 16 * 8 + lane % 8) * 128 + (((warp_row + i * 16) / 8 + lane / 8 % 2) ^ (lane % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[((slice + 1) % 3 * 128 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 32 + ((lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8 / 2)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                hone_mma_f16(&sum[(i * 8 + j) * 2], &lhs_words[i * 4 + 16], &rhs_words[j * 2 + 16]);
            }
        }
        if (6 < slice % 8) {
            #pragma unroll
            for (int i = 0; i < 64; i++) {
                hone_store2(&total[(i * 128 + thread) * 2], hone_load2(&total[(i * 128 + thread) * 2]) + sum[i]);
                sum[i] = hone_all2(0.0f);
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix_transposed(&lhs_words[i * 4 + 16], &lhs_tile[(32 + 16 + lane / 16 * 8 + lane % 8) * 128 + (((warp_row + i * 16) / 8 + lane / 8 % 2) ^ (lane % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&rhs_words[i * 4 + 16], &rhs_tile[(128 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 32 + ((2 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8 / 2)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            hone_mma_f16(&sum[(i * 8 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            hone_mma_f16(&sum[(i * 8 + j) * 2], &lhs_words[i * 4 + 16], &rhs_words[j * 2 + 16]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 8; i++) {
        int row = row0 + warp_row + i * 8 + lane / 4;
        if (row < M) {
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                int column = column0 + warp_column + j * 8 + lane % 4 * 2;
                #pragma unroll
                for (int lane_2 = 0; lane_2 < 2; lane_2++) {
                    if (column + lane_2 < N) {
                        float c_v = hone_lane2(hone_load2(&total[(((i / 2 * 8 + j) * 2 + i % 2) * 128 + thread) * 2]) + sum[(i / 2 * 8 + j) * 2 + i % 2], lane_2);
                        c[(block / ((M + 127) / 128 * ((N + 127) / 128)) * M + row) * N + column + lane_2] = c_v;
                    }
                }
            }
        }
    }
}
