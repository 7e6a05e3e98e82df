// down, by hone VERSION.
// kernel for down on sm_80
// stage y : gemm as mma  tile 128x128x64  warps 2x4  stages 3  group 8  minblocks 1
#include "dev.h"

#ifndef M
#define M 2000
#endif
#ifndef N
#define N 4096
#endif
#ifndef K
#define K 14336
#endif

HONE_ASSERT(M == 2000, "lowered for M = 2000");
HONE_ASSERT(N == 4096, "lowered for N = 4096");
HONE_ASSERT(K == 14336, "lowered for K = 14336");

#pragma hone launch y_gemm grid((M + 127) / 128 * (N / 128)) block(256) shared(147456) args(gate, up, w, y)

HONE_KERNEL_OF(256, 1) y_gemm(const unsigned short *__restrict__ gate, const unsigned short *__restrict__ up, const unsigned short *__restrict__ w, unsigned short *__restrict__ y) {
    HONE_DYNAMIC_OF(unsigned short, lhs_tile, 0, 384 * 64);
    HONE_DYNAMIC_OF(unsigned short, lhs_source, 49152, 384 * 64);
    int lhs_words[32];
    HONE_DYNAMIC_OF(unsigned short, rhs_tile, 98304, 384 * 64);
    int rhs_words[16];
    f32x2 sum[32];
    const int block = hone_block();
    const int thread = hone_thread();
    int above = block / (N / 128 * 8) * 8;
    int inside = block % (N / 128 * 8);
    int row0 = (above + inside % 8) * 128;
    int column0 = inside / 8 * 128;
    int lane = thread % 32;
    int warp_row = thread / 32 / 4 * 64;
    int warp_column = thread / 32 % 4 * 32;
    #pragma unroll
    for (int i = 0; i < 32; i++) {
        sum[i] = hone_all2(0.0f);
    }
    for (int slice = 0; slice < 2; slice++) {
        #pragma unroll
        for (int item = 0; item < 4; item++) {
            hone_async_copy16(&lhs_tile[(slice * 128 + item * 32 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &gate[(row0 + item * 32 + thread / 8) * K + slice * 64 + thread % 8 * 8], ((M - (row0 + item * 32 + thread / 8) > 0 ? M - (row0 + item * 32 + thread / 8) : 0) * 16 < 16 ? (M - (row0 + item * 32 + thread / 8) > 0 ? M - (row0 + item * 32 + thread / 8) : 0) * 16 : 16));
        }
        #pragma unroll
        for (int item = 0; item < 4; item++) {
            hone_async_copy16(&lhs_source[(slice * 128 + item * 32 + thread / 8) * 64 + thread % 8 * 8], &up[(row0 + item * 32 + thread / 8) * K + slice * 64 + thread % 8 * 8], ((M - (row0 + item * 32 + thread / 8) > 0 ? M - (row0 + item * 32 + thread / 8) : 0) * 16 < 16 ? (M - (row0 + item * 32 + thread / 8) > 0 ? M - (row0 + item * 32 + thread / 8) : 0) * 16 : 16));
        }
        #pragma unroll
        for (int item = 0; item < 4; item++) {
            hone_async_copy16(&rhs_tile[(slice * 128 + item * 32 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &w[(column0 + item * 32 + thread / 8) * K + slice * 64 + thread % 8 * 8], 16);
        }
        hone_async_commit();
    }
    hone_async_wait(1);
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        f32x8 gate_v = hone_load8_bf16(&lhs_tile[(item * 32 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8]);
        f32x8 up_v = hone_load8_bf16(&lhs_source[(item * 32 + thread / 8) * 64 + thread % 8 * 8]);
        f32x8 t_1_neg = -gate_v;
        f32x8 t_1_exp = hone_exp8(t_1_neg);
        f32x8 t_1_sum = t_1_exp + 1.0f;
        f32x8 t_1 = gate_v / t_1_sum;
        f32x8 h_f32 = t_1 * up_v;
        hone_store8_bf16(&lhs_tile[(item * 32 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], h_f32);
    }
    hone_barrier();
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[(warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[(warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
    }
    for (int slice = 0; slice < 223; slice++) {
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix(&lhs_words[i * 4 + 16], &lhs_tile[(slice % 3 * 128 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((2 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&rhs_words[i * 4 + 8], &rhs_tile[(slice % 3 * 128 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((2 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
        }
        if (slice + 2 < 224) {
            #pragma unroll
            for (int item = 0; item < 4; item++) {
                hone_async_copy16(&lhs_tile[((slice + 2) % 3 * 128 + item * 32 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &gate[(row0 + item * 32 + thread / 8) * K + (slice + 2) * 64 + thread % 8 * 8], ((M - (row0 + item * 32 + thread / 8) > 0 ? M - (row0 + item * 32 + thread / 8) : 0) * 16 < 16 ? (M - (row0 + item * 32 + thread / 8) > 0 ? M - (row0 + item * 32 + thread / 8) : 0) * 16 : 16));
            }
            #pragma unroll
            for (int item = 0; item < 4; item++) {
                hone_async_copy16(&lhs_source[((slice + 2) % 3 * 128 + item * 32 + thread / 8) * 64 + thread % 8 * 8], &up[(row0 + item * 32 + thread / 8) * K + (slice + 2) * 64 + thread % 8 * 8], ((M - (row0 + item * 32 + thread / 8) > 0 ? M - (row0 + item * 32 + thread / 8) : 0) * 16 < 16 ? (M - (row0 + item * 32 + thread / 8) > 0 ? M - (row0 + item * 32 + thread / 8) : 0) * 16 : 16));
            }
            #pragma unroll
            for (int item = 0; item < 4; item++) {
                hone_async_copy16(&rhs_tile[((slice + 2) % 3 * 128 + item * 32 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &w[(column0 + item * 32 + thread / 8) * K + (slice + 2) * 64 + thread % 8 * 8], 16);
            }
        }
        hone_async_commit();
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[(slice % 3 * 128 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((4 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[(slice % 3 * 128 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((4 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4 + 16], &rhs_words[j * 2 + 8]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix(&lhs_words[i * 4 + 16], &lhs_tile[(slice % 3 * 128 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((6 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&rhs_words[i * 4 + 8], &rhs_tile[(slice % 3 * 128 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((6 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
            }
        }
        hone_async_wait(1);
        #pragma unroll
        for (int item = 0; item < 4; item++) {
            f32x8 gate_v = hone_load8_bf16(&lhs_tile[((slice + 1) % 3 * 128 + item * 32 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8]);
            f32x8 up_v = hone_load8_bf16(&lhs_source[((slice + 1) % 3 * 128 + item * 32 + thread / 8) * 64 + thread % 8 * 8]);
            f32x8 t_1_neg = -gate_v;
            f32x8 t_1_exp = hone_exp8(t_1_neg);
            f32x8 t_1_sum = t_1_exp + 1.0f;
            f32x8 t_1 = gate_v / t_1_sum;
            f32x8 h_f32 = t_1 * up_v;
            hone_store8_bf16(&lhs_tile[((slice + 1) % 3 * 128 + item * 32 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], h_f32);
        }
        hone_barrier();
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[((slice + 1) % 3 * 128 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[((slice + 1) % 3 * 128 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4 + 16], &rhs_words[j * 2 + 8]);
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&lhs_words[i * 4 + 16], &lhs_tile[(128 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((2 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&rhs_words[i * 4 + 8], &rhs_tile[(128 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((2 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[(128 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((4 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[(128 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((4 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4 + 16], &rhs_words[j * 2 + 8]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&lhs_words[i * 4 + 16], &lhs_tile[(128 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((6 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&rhs_words[i * 4 + 8], &rhs_tile[(128 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((6 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4 + 16], &rhs_words[j * 2 + 8]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 8; i++) {
        int row = row0 + warp_row + i * 8 + lane / 4;
        if (row < M) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                int column = column0 + warp_column + j * 8 + lane % 4 * 2;
                f32x2 y_f32 = sum[(i / 2 * 4 + j) * 2 + i % 2];
                hone_store2_bf16(&y[row * N + column], y_f32);
            }
        }
    }
}
