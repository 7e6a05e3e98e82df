// groups, by hone VERSION.
// kernel for groups on sm_80
// stage y  : ragged  tile 64x64x64  warps 2x2  stages 3  group 8  minblocks 1
// stage dw : ragged  tile 64x64x32  warps 2x2  stages 3  group 8  minblocks 1
#include "dev.h"

#ifndef T
#define T 4096
#endif
#ifndef E
#define E 8
#endif
#ifndef K
#define K 256
#endif
#ifndef N
#define N 512
#endif

HONE_ASSERT(T == 4096, "lowered for T = 4096");
HONE_ASSERT(E == 8, "lowered for E = 8");
HONE_ASSERT(K == 256, "lowered for K = 256");
HONE_ASSERT(N == 512, "lowered for N = 512");

#pragma hone launch y_groups grid(592) block(128) args(x, o, w, y)
#pragma hone launch dw_groups grid(256) block(128) args(x, o, g, dw)

HONE_KERNEL_OF(128, 1) y_groups(const unsigned short *__restrict__ x, const int *__restrict__ o, const unsigned short *__restrict__ w, unsigned short *__restrict__ y) {
    HONE_SHARED_OF(unsigned short, lhs_tile, 192 * 64);
    int lhs_words[16];
    HONE_SHARED_OF(unsigned short, rhs_tile, 192 * 64);
    int rhs_words[16];
    f32x2 sum[16];
    int number[5];
    const int block = hone_block();
    const int thread = hone_thread();
    int own = (int)(block / 8);
    number[0] = 0;
    number[1] = 0;
    number[2] = -1;
    number[3] = 0;
    number[4] = 0;
    for (int e = 0; e < 9; e++) {
        int offset = hone_to_int(o[e], 0, 4096);
        int end = (int)offset;
        int group = hone_sub_i32((int)e, 1);
        int begin = number[1];
        int before = number[0];
        int tiles = hone_shr_i32(hone_add_i32(hone_max_i32(hone_sub_i32(end, begin), 0), 63), 6);
        int part = hone_sub_i32(own, before);
        int is_own = ((0 <= part) & (part < tiles));
        number[2] = (is_own ? group : number[2]);
        number[3] = (is_own ? hone_add_i32(begin, hone_mul_i32(part, 64)) : number[3]);
        number[4] = (is_own ? end : number[4]);
        number[0] = hone_add_i32(before, tiles);
        number[1] = hone_max_i32(begin, end);
    }
    int begin = number[1];
    int before = number[0];
    int tiles = hone_shr_i32(hone_add_i32(hone_max_i32(hone_sub_i32(4096, begin), 0), 63), 6);
    int part = hone_sub_i32(own, before);
    int is_own = ((0 <= part) & (part < tiles));
    number[2] = (is_own ? -1 : number[2]);
    number[3] = (is_own ? hone_add_i32(begin, hone_mul_i32(part, 64)) : number[3]);
    number[4] = (is_own ? 4096 : number[4]);
    number[0] = hone_add_i32(before, tiles);
    number[1] = hone_max_i32(begin, 4096);
    int group = hone_to_int(number[2], 0, 7);
    int row0 = hone_to_int(number[3], 0, 4096);
    int rows_end = hone_to_int(number[4], 0, 4096);
    int found = number[2];
    int is_none = found < 0;
    int read_end = hone_to_int((is_none ? 0 : number[4]), 0, 4096);
    int column0 = block % 8 * 64;
    if (row0 < rows_end) {
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
                hone_async_copy16(&lhs_tile[(slice * 64 + item * 16 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &x[(row0 + item * 16 + thread / 8) * 256 + slice * 64 + thread % 8 * 8], ((read_end - (row0 + item * 16 + thread / 8) > 0 ? read_end - (row0 + item * 16 + thread / 8) : 0) * 16 < 16 ? (read_end - (row0 + item * 16 + thread / 8) > 0 ? read_end - (row0 + item * 16 + thread / 8) : 0) * 16 : 16));
            }
            #pragma unroll
            for (int item = 0; item < 4; item++) {
                hone_async_copy16(&rhs_tile[(slice * 64 + item * 16 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &w[(group * 256 + slice * 64 + item * 16 + thread / 8) * 512 + column0 + thread % 8 * 8], 16);
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
            hone_ldmatrix_transposed(&rhs_words[i * 4], &rhs_tile[(lane / 8 % 2 * 8 + lane % 8) * 64 + (((warp_column + i * 16) / 8 + lane / 16) ^ (lane % 8)) * 8]);
        }
        for (int slice = 0; slice < 3; slice++) {
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                hone_ldmatrix(&lhs_words[i * 4 + 8], &lhs_tile[(slice * 64 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((2 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                hone_ldmatrix_transposed(&rhs_words[i * 4 + 8], &rhs_tile[(slice * 64 + 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + (((warp_column + i * 16) / 8 + lane / 16) ^ (lane % 8)) * 8]);
            }
            if (slice + 2 < 4) {
                #pragma unroll
                for (int item = 0; item < 4; item++) {
                    hone_async_copy16(&lhs_tile[((slice + 2) % 3 * 64 + item * 16 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &x[(row0 + item * 16 + thread / 8) * 256 + (slice + 2) * 64 + thread % 8 * 8], ((read_end - (row0 + item * 16 + thread / 8) > 0 ? read_end - (row0 + item * 16 + thread / 8) : 0) * 16 < 16 ? (read_end - (row0 + item * 16 + thread / 8) > 0 ? read_end - (row0 + item * 16 + thread / 8) : 0) * 16 : 16));
                }
                #pragma unroll
                for (int item = 0; item < 4; item++) {
                    hone_async_copy16(&rhs_tile[((slice + 2) % 3 * 64 + item * 16 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &w[(group * 256 + (slice + 2) * 64 + item * 16 + thread / 8) * 512 + column0 + thread % 8 * 8], 16);
                }
            }
            hone_async_commit();
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
                }
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[(slice * 64 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((4 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                hone_ldmatrix_transposed(&rhs_words[i * 4], &rhs_tile[(slice * 64 + 32 + lane / 8 % 2 * 8 + lane % 8) * 64 + (((warp_column + i * 16) / 8 + lane / 16) ^ (lane % 8)) * 8]);
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4 + 8], &rhs_words[j * 2 + 8]);
                }
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                hone_ldmatrix(&lhs_words[i * 4 + 8], &lhs_tile[(slice * 64 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((6 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                hone_ldmatrix_transposed(&rhs_words[i * 4 + 8], &rhs_tile[(slice * 64 + 48 + lane / 8 % 2 * 8 + lane % 8) * 64 + (((warp_column + i * 16) / 8 + lane / 16) ^ (lane % 8)) * 8]);
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
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
                hone_ldmatrix_transposed(&rhs_words[i * 4], &rhs_tile[((slice + 1) % 3 * 64 + lane / 8 % 2 * 8 + lane % 8) * 64 + (((warp_column + i * 16) / 8 + lane / 16) ^ (lane % 8)) * 8]);
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4 + 8], &rhs_words[j * 2 + 8]);
                }
            }
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&lhs_words[i * 4 + 8], &lhs_tile[(warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((2 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix_transposed(&rhs_words[i * 4 + 8], &rhs_tile[(16 + lane / 8 % 2 * 8 + lane % 8) * 64 + (((warp_column + i * 16) / 8 + lane / 16) ^ (lane % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[(warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((4 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix_transposed(&rhs_words[i * 4], &rhs_tile[(32 + lane / 8 % 2 * 8 + lane % 8) * 64 + (((warp_column + i * 16) / 8 + lane / 16) ^ (lane % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4 + 8], &rhs_words[j * 2 + 8]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix(&lhs_words[i * 4 + 8], &lhs_tile[(warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((6 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_ldmatrix_transposed(&rhs_words[i * 4 + 8], &rhs_tile[(48 + lane / 8 % 2 * 8 + lane % 8) * 64 + (((warp_column + i * 16) / 8 + lane / 16) ^ (lane % 8)) * 8]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4], &rhs_words[j * 2]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                hone_mma_bf16(&sum[(i * 4 + j) * 2], &lhs_words[i * 4 + 8], &rhs_words[j * 2 + 8]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            int row = row0 + warp_row + i * 8 + lane / 4;
            if (row < rows_end) {
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    int column = column0 + warp_column + j * 8 + lane % 4 * 2;
                    f32x2 y_f32 = sum[(i / 2 * 4 + j) * 2 + i % 2];
                    hone_store2_bf16(&y[row * N + column], y_f32);
                }
            }
        }
    }
}

HONE_KERNEL_OF(128, 1) dw_groups(const unsigned short *__restrict__ x, const int *__restrict__ o, const unsigned short *__restrict__ g, float *__restrict__ dw) {
    HONE_SHARED_OF(unsigned short, lhs_tile_2, 96 * 64);
    int lhs_words_[16];
    HONE_SHARED_OF(unsigned short, rhs_tile_2, 96 * 64);
    int rhs_words_[16];
    f32x2 sum_[16];
    f32x2 total[16];
    const int block = hone_block();
    const int thread = hone_thread();
    int group = block / 32;
    int begin = hone_to_int(o[group], 0, 4096);
    int end = hone_to_int(o[group + 1], 0, 4096);
    int slices = ((end - begin > 1 ? end - begin : 1) + 31) / 32;
    int inside = block % 32;
    int row0 = inside % 4 * 64;
    int column0 = inside / 4 * 64;
    int lane = thread % 32;
    int warp_row = thread / 32 / 2 * 32;
    int warp_column = thread / 32 % 2 * 32;
    int last = slices - 1;
    #pragma unroll
    for (int i = 0; i < 16; i++) {
        sum_[i] = hone_all2(0.0f);
    }
    for (int slice = 0; slice < 2; slice++) {
        if (slice < slices) {
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                hone_async_copy16(&lhs_tile_2[(slice * 32 + item * 16 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &x[(begin + slice * 32 + item * 16 + thread / 8) * 256 + row0 + thread % 8 * 8], ((end - (begin + slice * 32 + item * 16 + thread / 8) > 0 ? end - (begin + slice * 32 + item * 16 + thread / 8) : 0) * 16 < 16 ? (end - (begin + slice * 32 + item * 16 + thread / 8) > 0 ? end - (begin + slice * 32 + item * 16 + thread / 8) : 0) * 16 : 16));
            }
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                hone_async_copy16(&rhs_tile_2[(slice * 32 + item * 16 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &g[(begin + slice * 32 + item * 16 + thread / 8) * 512 + column0 + thread % 8 * 8], ((end - (begin + slice * 32 + item * 16 + thread / 8) > 0 ? end - (begin + slice * 32 + item * 16 + thread / 8) : 0) * 16 < 16 ? (end - (begin + slice * 32 + item * 16 + thread / 8) > 0 ? end - (begin + slice * 32 + item * 16 + thread / 8) : 0) * 16 : 16));
            }
        }
        hone_async_commit();
    }
    hone_async_wait(1);
    hone_barrier();
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix_transposed(&lhs_words_[i * 4], &lhs_tile_2[(lane / 16 * 8 + lane % 8) * 64 + (((warp_row + i * 16) / 8 + lane / 8 % 2) ^ (lane % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix_transposed(&rhs_words_[i * 4], &rhs_tile_2[(lane / 8 % 2 * 8 + lane % 8) * 64 + (((warp_column + i * 16) / 8 + lane / 16) ^ (lane % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 16; i++) {
        total[i] = hone_all2(0.0f);
    }
    for (int chunk = 0; chunk < last; chunk += 4) {
        for (int slice = chunk; slice < (last < chunk + 4 ? last : chunk + 4); slice++) {
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                hone_ldmatrix_transposed(&lhs_words_[i * 4 + 8], &lhs_tile_2[(slice % 3 * 32 + 16 + lane / 16 * 8 + lane % 8) * 64 + (((warp_row + i * 16) / 8 + lane / 8 % 2) ^ (lane % 8)) * 8]);
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                hone_ldmatrix_transposed(&rhs_words_[i * 4 + 8], &rhs_tile_2[(slice % 3 * 32 + 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + (((warp_column + i * 16) / 8 + lane / 16) ^ (lane % 8)) * 8]);
            }
            if (slice + 2 < slices) {
                #pragma unroll
                for (int item = 0; item < 2; item++) {
                    hone_async_copy16(&lhs_tile_2[((slice + 2) % 3 * 32 + item * 16 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &x[(begin + (slice + 2) * 32 + item * 16 + thread / 8) * 256 + row0 + thread % 8 * 8], ((end - (begin + (slice + 2) * 32 + item * 16 + thread / 8) > 0 ? end - (begin + (slice + 2) * 32 + item * 16 + thread / 8) : 0) * 16 < 16 ? (end - (begin + (slice + 2) * 32 + item * 16 + thread / 8) > 0 ? end - (begin + (slice + 2) * 32 + item * 16 + thread / 8) : 0) * 16 : 16));
                }
                #pragma unroll
                for (int item = 0; item < 2; item++) {
                    hone_async_copy16(&rhs_tile_2[((slice + 2) % 3 * 32 + item * 16 + thread / 8) * 64 + ((thread % 8) ^ (thread / 8 % 8)) * 8], &g[(begin + (slice + 2) * 32 + item * 16 + thread / 8) * 512 + column0 + thread % 8 * 8], ((end - (begin + (slice + 2) * 32 + item * 16 + thread / 8) > 0 ? end - (begin + (slice + 2) * 32 + item * 16 + thread / 8) : 0) * 16 < 16 ? (end - (begin + (slice + 2) * 32 + item * 16 + thread / 8) > 0 ? end - (begin + (slice + 2) * 32 + item * 16 + thread / 8) : 0) * 16 : 16));
                }
            }
            hone_async_commit();
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    hone_mma_bf16(&sum_[(i * 4 + j) * 2], &lhs_words_[i * 4], &rhs_words_[j * 2]);
                }
            }
            hone_async_wait(1);
            hone_barrier();
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                hone_ldmatrix_transposed(&lhs_words_[i * 4], &lhs_tile_2[((slice + 1) % 3 * 32 + lane / 16 * 8 + lane % 8) * 64 + (((warp_row + i * 16) / 8 + lane / 8 % 2) ^ (lane % 8)) * 8]);
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                hone_ldmatrix_transposed(&rhs_words_[i * 4], &rhs_tile_2[((slice + 1) % 3 * 32 + lane / 8 % 2 * 8 + lane % 8) * 64 + (((warp_column + i * 16) / 8 + lane / 16) ^ (lane % 8)) * 8]);
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    hone_mma_bf16(&sum_[(i * 4 + j) * 2], &lhs_words_[i * 4 + 8], &rhs_words_[j * 2 + 8]);
                }
            }
        }
        #pragma unroll
        for (int i = 0; i < 16; i++) {
            total[i] += sum_[i];
            sum_[i] = hone_all2(0.0f);
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix_transposed(&lhs_words_[i * 4 + 8], &lhs_tile_2[(last % 3 * 32 + 16 + lane / 16 * 8 + lane % 8) * 64 + (((warp_row + i * 16) / 8 + lane / 8 % 2) ^ (lane % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        hone_ldmatrix_transposed(&rhs_words_[i * 4 + 8], &rhs_tile_2[(last % 3 * 32 + 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + (((warp_column + i * 16) / 8 + lane / 16) ^ (lane % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            hone_mma_bf16(&sum_[(i * 4 + j) * 2], &lhs_words_[i * 4], &rhs_words_[j * 2]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            hone_mma_bf16(&sum_[(i * 4 + j) * 2], &lhs_words_[i * 4 + 8], &rhs_words_[j * 2 + 8]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        int row = row0 + warp_row + i * 8 + lane / 4;
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            int column = column0 + warp_column + j * 8 + lane % 4 * 2;
            f32x2 dw_v = total[(i / 2 * 4 + j) * 2 + i % 2] + sum_[(i / 2 * 4 + j) * 2 + i % 2];
            hone_store2(&dw[(group * K + row) * N + column], dw_v);
        }
    }
}
