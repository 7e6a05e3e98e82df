// block, by hone VERSION.
// kernel for block on sm_90a
// stage y : conv  tile 64x64x64  warps 2x2  stages 3  group 8  minblocks 1
#include "dev.h"

#ifndef B
#define B 8
#endif
#ifndef C
#define C 24
#endif
#ifndef O
#define O 48
#endif
#ifndef H
#define H 28
#endif

HONE_ASSERT(B == 8, "lowered for B = 8");
HONE_ASSERT(C == 24, "lowered for C = 24");
HONE_ASSERT(O == 48, "lowered for O = 48");
HONE_ASSERT(H == 28, "lowered for H = 28");

#pragma hone scratch y_image f16[6728, 24]
#pragma hone scratch y_weights f16[48, 216]
#pragma hone launch y_copy_image grid(112) block(256) args(x, y_image)
#pragma hone launch y_copy_weights grid(41) block(256) args(w, y_weights)
#pragma hone launch y_conv grid(25) block(128) args(bias, y, y_image, y_weights)

HONE_KERNEL(256) y_copy_image(const unsigned short *__restrict__ x, unsigned short *__restrict__ y_image) {
    HONE_SHARED_OF(unsigned short, part, 32 * 65);
    const int block = hone_block();
    const int thread = hone_thread();
    int position = block % 14 * 64;
    int image = block / 14;
    #pragma unroll
    for (int item = 0; item < 8; item++) {
        int at = (position + thread % 64 < 840 ? position + thread % 64 : 840);
        int i = at % 29;
        int i_2 = at / 29;
        int at_2 = (i - 1 > 0 ? i - 1 : 0);
        int at_3 = (i_2 - 1 > 0 ? i_2 - 1 : 0);
        float x_v = hone_from_f16(x[image * 18816 + (item * 4 + thread / 64 < 23 ? item * 4 + thread / 64 : 23) * 784 + at_2 + at_3 * 28]);
        float inside = (((0 <= i_2 - 1) & (0 <= i - 1)) ? x_v : 0.0f);
        part[(item * 4 + thread / 64) * 65 + thread % 64] = hone_to_f16(inside);
    }
    hone_barrier();
    #pragma unroll
    for (int item = 0; item < 8; item++) {
        if (position + item * 8 + thread / 32 < 841) {
            if (thread % 32 < 24) {
                y_image[(image * 841 + position + item * 8 + thread / 32) * 24 + thread % 32] = hone_to_f16(hone_from_f16(part[thread % 32 * 65 + item * 8 + thread / 32]));
            }
        }
    }
}

HONE_KERNEL(256) y_copy_weights(const unsigned short *__restrict__ w, unsigned short *__restrict__ y_weights) {
    const int block = hone_block();
    const int thread = hone_thread();
    int i = block * 256 + thread;
    if (i < 10368) {
        int i_2 = i % 24;
        int i_3 = i / 24 % 3;
        int i_4 = i / 24 / 3 % 3;
        int i_5 = i / 24 / 3 / 3 % 48;
        float w_v = hone_from_f16(w[((i_5 * 24 + i_2) * 3 + i_4) * 3 + i_3]);
        y_weights[i] = hone_to_f16(w_v);
    }
}

HONE_KERNEL_OF(128, 1) y_conv(const unsigned short *__restrict__ bias, unsigned short *__restrict__ y, const unsigned short *__restrict__ y_image, const unsigned short *__restrict__ y_weights) {
    HONE_SHARED_OF(unsigned short, lhs_tile, 192 * 64);
    int lhs_words[16];
    HONE_SHARED_OF(unsigned short, rhs_tile, 192 * 64);
    int rhs_words[16];
    f32x2 sum[16];
    const int block = hone_block();
    const int thread = hone_thread();
    int column0 = block * 64;
    int lane = thread % 32;
    int warp_row = thread / 32 / 2 * 32;
    int warp_column = thread / 32 % 2 * 32;
    #pragma unroll
    for (int i = 0; i < 16; i++) {
        sum[i] = hone_all2(0.0f);
    }
    for (int slice = 0; slice < 2; slice++) {
        #pragma unroll
        for (int item = 0; item < 4; item++) {
            hone_async_copy16(&lhs_tile[(slice * 64 + item * 16 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &y_weights[(item * 16 + thread / 8) * 216 + slice * 64 + thread % 8 * 8], (((216 - (slice * 64 + thread % 8 * 8)) * 2 < (48 - (item * 16 + thread / 8) > 0 ? 48 - (item * 16 + thread / 8) : 0) * 16 ? (216 - (slice * 64 + thread % 8 * 8)) * 2 : (48 - (item * 16 + thread / 8) > 0 ? 48 - (item * 16 + thread / 8) : 0) * 16) < 16 ? ((216 - (slice * 64 + thread % 8 * 8)) * 2 < (48 - (item * 16 + thread / 8) > 0 ? 48 - (item * 16 + thread / 8) : 0) * 16 ? (216 - (slice * 64 + thread % 8 * 8)) * 2 : (48 - (item * 16 + thread / 8) > 0 ? 48 - (item * 16 + thread / 8) : 0) * 16) : 16));
        }
        #pragma unroll
        for (int item = 0; item < 4; item++) {
            hone_async_copy16(&rhs_tile[(slice * 64 + item * 16 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &y_image[(column0 + item * 16 + thread / 8) / 196 * 20184 + (column0 + item * 16 + thread / 8) % 196 / 14 * 2 * 696 + (column0 + item * 16 + thread / 8) % 196 % 14 * 2 * 24 + (slice * 64 + thread % 8 * 8) % 72 + (slice * 64 + thread % 8 * 8) / 72 * 696], (((216 - (slice * 64 + thread % 8 * 8)) * 2 < (1568 - (column0 + item * 16 + thread / 8) > 0 ? 1568 - (column0 + item * 16 + thread / 8) : 0) * 16 ? (216 - (slice * 64 + thread % 8 * 8)) * 2 : (1568 - (column0 + item * 16 + thread / 8) > 0 ? 1568 - (column0 + item * 16 + thread / 8) : 0) * 16) < 16 ? ((216 - (slice * 64 + thread % 8 * 8)) * 2 < (1568 - (column0 + item * 16 + thread / 8) > 0 ? 1568 - (column0 + item * 16 + thread / 8) : 0) * 16 ? (216 - (slice * 64 + thread % 8 * 8)) * 2 : (1568 - (column0 + item * 16 + thread / 8) > 0 ? 1568 - (column0 + item * 16 + thread / 8) : 0) * 16) : 16));
        }
        hone_async_commit();
    }
    hone_async_wait(1);
    hone_barrier();
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[(warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[(warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
    }
    for (int slice = 0; slice < 3; slice++) {
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&lhs_words[i * 4 + 8], &lhs_tile[(slice * 64 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((2 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&rhs_words[i * 4 + 8], &rhs_tile[(slice * 64 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((2 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
        }
        if (slice + 2 < 4) {
            #pragma unroll
            for (int item = 0; item < 4; item++) {
                hone_async_copy16(&lhs_tile[((slice + 2) % 3 * 64 + item * 16 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &y_weights[(item * 16 + thread / 8) * 216 + (slice + 2) * 64 + thread % 8 * 8], (((216 - ((slice + 2) * 64 + thread % 8 * 8) > 0 ? 216 - ((slice + 2) * 64 + thread % 8 * 8) : 0) * 2 < (48 - (item * 16 + thread / 8) > 0 ? 48 - (item * 16 + thread / 8) : 0) * 16 ? (216 - ((slice + 2) * 64 + thread % 8 * 8) > 0 ? 216 - ((slice + 2) * 64 + thread % 8 * 8) : 0) * 2 : (48 - (item * 16 + thread / 8) > 0 ? 48 - (item * 16 + thread / 8) : 0) * 16) < 16 ? ((216 - ((slice + 2) * 64 + thread % 8 * 8) > 0 ? 216 - ((slice + 2) * 64 + thread % 8 * 8) : 0) * 2 < (48 - (item * 16 + thread / 8) > 0 ? 48 - (item * 16 + thread / 8) : 0) * 16 ? (216 - ((slice + 2) * 64 + thread % 8 * 8) > 0 ? 216 - ((slice + 2) * 64 + thread % 8 * 8) : 0) * 2 : (48 - (item * 16 + thread / 8) > 0 ? 48 - (item * 16 + thread / 8) : 0) * 16) : 16));
            }
            #pragma unroll
            for (int item = 0; item < 4; item++) {
                hone_async_copy16(&rhs_tile[((slice + 2) % 3 * 64 + item * 16 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &y_image[(column0 + item * 16 + thread / 8) / 196 * 20184 + (column0 + item * 16 + thread / 8) % 196 / 14 * 2 * 696 + (column0 + item * 16 + thread / 8) % 196 % 14 * 2 * 24 + ((slice + 2) * 64 + thread % 8 * 8) % 72 + ((slice + 2) * 64 + thread % 8 * 8) / 72 * 696], (((216 - ((slice + 2) * 64 + thread % 8 * 8) > 0 ? 216 - ((slice + 2) * 64 + thread % 8 * 8) : 0) * 2 < (1568 - (column0 + item * 16 + thread / 8) > 0 ? 1568 - (column0 + item * 16 + thread / 8) : 0) * 16 ? (216 - ((slice + 2) * 64 + thread % 8 * 8) > 0 ? 216 - ((slice + 2) * 64 + thread % 8 * 8) : 0) * 2 : (1568 - (column0 + item * 16 + thread / 8) > 0 ? 1568 - (column0 + item * 16 + thread / 8) : 0) * 16) < 16 ? ((216 - ((slice + 2) * 64 + thread % 8 * 8) > 0 ? 216 - ((slice + 2) * 64 + thread % 8 * 8) : 0) * 2 < (1568 - (column0 + item * 16 + thread / 8) > 0 ? 1568 - (column0 + item * 16 + thread / 8) : 0) * 16 ? (216 - ((slice + 2) * 64 + thread % 8 * 8) > 0 ? 216 - ((slice + 2) * 64 + thread % 8 * 8) : 0) * 2 : (1568 - (column0 + item * 16 + thread / 8) > 0 ? 1568 - (column0 + item * 16 + thread / 8) : 0) * 16) : 16));
            }
        }
        hone_async_commit();
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                hone_mma_f16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[(slice * 64 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((4 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[(slice * 64 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((4 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                hone_mma_f16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4 + 8], &rhs_words[j * 2 + 8]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&lhs_words[i * 4 + 8], &lhs_tile[(slice * 64 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((6 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&rhs_words[i * 4 + 8], &rhs_tile[(slice * 64 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((6 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                hone_mma_f16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
            }
        }
        hone_async_wait(1);
        hone_barrier();
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[((slice + 1) % 3 * 64 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[((slice + 1) % 3 * 64 + warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                hone_mma_f16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4 + 8], &rhs_words[j * 2 + 8]);
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&lhs_words[i * 4 + 8], &lhs_tile[(warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((2 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&rhs_words[i * 4 + 8], &rhs_tile[(warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((2 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            hone_mma_f16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[(warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((4 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&rhs_words[i * 4], &rhs_tile[(warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((4 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            hone_mma_f16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4 + 8], &rhs_words[j * 2 + 8]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&lhs_words[i * 4 + 8], &lhs_tile[(warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((6 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix(&rhs_words[i * 4 + 8], &rhs_tile[(warp_column + i * 16 + lane / 16 * 8 + lane % 8) * 64 + ((6 + lane / 8 % 2) ^ ((warp_column + i * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            hone_mma_f16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            hone_mma_f16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4 + 8], &rhs_words[j * 2 + 8]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        int row = warp_row + i * 8 + lane / 4;
        if (row < 48) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                int column = column0 + warp_column + j * 8 + lane % 4 * 2;
                if (column < 1568) {
                    f32x2 t_1_conv = sum[(i / 2 * 4 + j) * 2 + i % 2];
                    float bias_v = hone_from_f16(bias[row]);
                    f32x2 t_1 = t_1_conv + bias_v;
                    f32x2 y_f32 = hone_max2(t_1, hone_all2(0.0f));
                    hone_store2_f16(&y[(column / 196 * O + row) * 196 + column % 196], y_f32);
                }
            }
        }
    }
}
