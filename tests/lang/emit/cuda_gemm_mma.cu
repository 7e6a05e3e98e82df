// hidden, by hone VERSION.
// kernel for hidden on sm_90a
// stage y : gemm as mma  tile 128x256x64  warps 2x4  stages 3  group 8  minblocks 1
#include "dev.h"

#ifndef M
#define M 4096
#endif
#ifndef N
#define N 4096
#endif
#ifndef K
#define K 1024
#endif

HONE_ASSERT(M == 4096, "lowered for M = 4096");
HONE_ASSERT(N == 4096, "lowered for N = 4096");
HONE_ASSERT(K == 1024, "lowered for K = 1024");

#pragma hone launch y_gemm grid(M / 128 * (N / 256)) block(256) shared(147456) args(x, w, bias, y)

HONE_KERNEL_OF(256, 1) y_gemm(const unsigned short *__restrict__ x, const unsigned short *__restrict__ w, const unsigned short *__restrict__ bias, unsigned short *__restrict__ y) {
    HONE_DYNAMIC_OF(unsigned short, lhs_tile, 0, 384 * 64);
    int lhs_words[32];
    HONE_DYNAMIC_OF(unsigned short, rhs_tile, 49152, 768 * 64);
    int rhs_words[32];
    f32x2 sum[64];
    const int block = hone_block();
    const int thread = hone_thread();
    int above = block / (N / 256 * 8) * 8;
    int inside = block % (N / 256 * 8);
    int row0 = (above + inside % 8) * 128;
    int column0 = inside / 8 * 256;
    int lane = thread % 32;
    int warp_row = thread / 32 / 4 * 64;
    int warp_column = thread / 32 % 4 * 64;
    #pragma unroll
    for (int i = 0; i < 64; i++) {
        sum[i] = hone_all2(0.0f);
    }
    for (int slice = 0; slice < 2; slice++) {
        #pragma unroll
        for (int item = 0; item < 4; item++) {
            hone_async_copy16(&lhs_tile[(slice * 128 + item * 32 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &x[(row0 + item * 32 + thread / 8) * K + slice * 64 + thread % 8 * 8], 16);
        }
        #pragma unroll
        for (int item = 0; item < 8; item++) {
            hone_async_copy16(&rhs_tile[(slice * 256 + item * 32 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &w[(column0 + item * 32 + thread / 8) * K + slice * 64 + thread % 8 * 8], 16);
        }
        hone_async_commit();
    }
    hone_async_wait(1);
    hone_barrier();
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[(warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[(warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
    }
    for (int slice = 0; slice < 15; slice++) {
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix(&lhs_words[i * 4 + 16], &lhs_tile[(slice % 3 * 128 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((2 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix(&rhs_words[i * 4 + 16], &rhs_tile[(slice % 3 * 256 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((2 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
        }
        if (slice + 2 < 16) {
            #pragma unroll
            for (int item = 0; item < 4; item++) {
                hone_async_copy16(&lhs_tile[((slice + 2) % 3 * 128 + item * 32 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &x[(row0 + item * 32 + thread / 8) * K + (slice + 2) * 64 + thread % 8 * 8], 16);
            }
            #pragma unroll
            for (int item = 0; item < 8; item++) {
                hone_async_copy16(&rhs_tile[((slice + 2) % 3 * 256 + item * 32 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &w[(column0 + item * 32 + thread / 8) * K + (slice + 2) * 64 + thread % 8 * 8], 16);
            }
        }
        hone_async_commit();
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                hone_mma_bf16(&sum[(i * 8 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[(slice % 3 * 128 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((4 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[(slice % 3 * 256 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((4 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                hone_mma_bf16(&sum[(i * 8 + j) * 2], &lhs_words[i * 4 + 16], &rhs_words[j * 2 + 16]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix(&lhs_words[i * 4 + 16], &lhs_tile[(slice % 3 * 128 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((6 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix(&rhs_words[i * 4 + 16], &rhs_tile[(slice % 3 * 256 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((6 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                hone_mma_bf16(&sum[(i * 8 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
            }
        }
        hone_async_wait(1);
        hone_barrier();
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[((slice + 1) % 3 * 128 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[((slice + 1) % 3 * 256 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                hone_mma_bf16(&sum[(i * 8 + j) * 2], &lhs_words[i * 4 + 16], &rhs_words[j * 2 + 16]);
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&lhs_words[i * 4 + 16], &lhs_tile[(warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((2 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&rhs_words[i * 4 + 16], &rhs_tile[(warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((2 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            hone_mma_bf16(&sum[(i * 8 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[(warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((4 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[(warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((4 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            hone_mma_bf16(&sum[(i * 8 + j) * 2], &lhs_words[i * 4 + 16], &rhs_words[j * 2 + 16]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&lhs_words[i * 4 + 16], &lhs_tile[(warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((6 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&rhs_words[i * 4 + 16], &rhs_tile[(warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((6 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            hone_mma_bf16(&sum[(i * 8 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            hone_mma_bf16(&sum[(i * 8 + j) * 2], &lhs_words[i * 4 + 16], &rhs_words[j * 2 + 16]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 8; i++) {
        int row = row0 + warp_row + i * 8 + lane / 4;
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            int column = column0 + warp_column + j * 8 + lane % 4 * 2;
            f32x2 t_1 = sum[(i / 2 * 8 + j) * 2 + i % 2];
            f32x2 bias_v = hone_load2_bf16(&bias[column]);
            f32x2 t_2 = t_1 + bias_v;
            f32x2 y_half = t_2 * 0.5f;
            f32x2 y_scaled = t_2 * 0.707106769f;
            f32x2 y_erf = hone_erf2(y_scaled);
            f32x2 y_gate = y_erf + 1.0f;
            f32x2 y_f32 = y_half * y_gate;
            hone_store2_bf16(&y[row * N + column], y_f32);
        }
    }
}
