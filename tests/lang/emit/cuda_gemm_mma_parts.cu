// parts, by hone VERSION.
// kernel for parts on sm_90a
// stage c : gemm as mma  tile 128x128x16  warps 2x4  stages 4  group 8  minblocks 1
#include "dev.h"

#ifndef M
#define M 2048
#endif
#ifndef N
#define N 2048
#endif
#ifndef K
#define K 2048
#endif

HONE_ASSERT(M == 2048, "lowered for M = 2048");
HONE_ASSERT(N == 2048, "lowered for N = 2048");
HONE_ASSERT(K == 2048, "lowered for K = 2048");

#pragma hone launch c_gemm grid(M / 128 * (N / 128)) block(256) shared(65536) args(a, b, c)

HONE_KERNEL_OF(256, 1) c_gemm(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c) {
    HONE_DYNAMIC(lhs_tile, 0, 512 * 16);
    int lhs_words[32];
    int lhs_high[16];
    int lhs_low[16];
    HONE_DYNAMIC(rhs_tile, 8192, 64 * 128);
    int rhs_words[16];
    int rhs_high[4];
    int rhs_low[4];
    f32x2 sum[32];
    f32x2 total[32];
    f32x2 check;
    float term;
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
    for (int slice = 0; slice < 3; slice++) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            hone_async_copy16(&lhs_tile[(slice * 128 + item * 64 + thread / 4) * 16 + ((thread % 4) ^ (thread / 4 % 8 / 2)) * 4], &a[(row0 + item * 64 + thread / 4) * K + slice * 16 + thread % 4 * 4], 16);
        }
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            hone_async_copy16(&rhs_tile[(slice * 16 + item * 8 + thread / 32) * 128 + ((thread % 32) ^ ((item * 8 + thread / 32) % 4 * 2)) * 4], &b[(slice * 16 + item * 8 + thread / 32) * N + column0 + thread % 32 * 4], 16);
        }
        hone_async_commit();
    }
    hone_async_wait(2);
    hone_barrier();
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[(warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 16 + ((lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8 / 2)) * 4]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        #pragma unroll
        for (int w = 0; w < 4; w++) {
            hone_word(&rhs_words[i * 4 + w], &rhs_tile[(w % 2 * 4 + lane % 4) * 128 + (((warp_column + i * 16 + w / 2 * 8) / 4 + lane / 4 / 4) ^ ((w % 2 * 4 + lane % 4) % 4 * 2)) * 4 + lane / 4 % 4]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 32; i++) {
        total[i] = hone_all2(0.0f);
    }
    for (int chunk = 0; chunk < 127; chunk += 2) {
        for (int slice = chunk; slice < (127 < chunk + 2 ? 127 : chunk + 2); slice++) {
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                hone_ldmatrix(&lhs_words[i * 4 + 16], &lhs_tile[(slice % 4 * 128 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 16 + ((2 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8 / 2)) * 4]);
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int w = 0; w < 4; w++) {
                    hone_word(&rhs_words[i * 4 + 8 + w], &rhs_tile[(slice % 4 * 16 + 8 + w % 2 * 4 + lane % 4) * 128 + (((warp_column + i * 16 + w / 2 * 8) / 4 + lane / 4 / 4) ^ ((8 + w % 2 * 4 + lane % 4) % 4 * 2)) * 4 + lane / 4 % 4]);
                }
            }
            if (slice + 3 < 128) {
                #pragma unroll
                for (int item = 0; item < 2; item++) {
                    hone_async_copy16(&lhs_tile[((slice + 3) % 4 * 128 + item * 64 + thread / 4) * 16 + ((thread % 4) ^ (thread / 4 % 8 / 2)) * 4], &a[(row0 + item * 64 + thread / 4) * K + (slice + 3) * 16 + thread % 4 * 4], 16);
                }
                #pragma unroll
                for (int item = 0; item < 2; item++) {
                    hone_async_copy16(&rhs_tile[((slice + 3) % 4 * 16 + item * 8 + thread / 32) * 128 + ((thread % 32) ^ ((item * 8 + thread / 32) % 4 * 2)) * 4], &b[((slice + 3) * 16 + item * 8 + thread / 32) * N + column0 + thread % 32 * 4], 16);
                }
            }
            hone_async_commit();
            #pragma unroll
            for (int w = 0; w < 16; w++) {
                hone_split_tf32(&lhs_high[w], &lhs_low[w], &lhs_words[w]);
            }
            #pragma unroll
            for (int h = 0; h < 2; h++) {
                #pragma unroll
                for (int w = 0; w < 4; w++) {
                    hone_split_tf32(&rhs_high[w], &rhs_low[w], &rhs_words[h * 4 + w]);
                }
                #pragma unroll
                for (int i = 0; i < 4; i++) {
                    #pragma unroll
                    for (int j = 0; j < 2; j++) {
                        hone_mma_tf32(&sum[(i * 4 + h * 2 + j) * 2], &lhs_low[i * 4], &rhs_high[j * 2]);
                    }
                }
                #pragma unroll
                for (int i = 0; i < 4; i++) {
                    #pragma unroll
                    for (int j = 0; j < 2; j++) {
                        hone_mma_tf32(&sum[(i * 4 + h * 2 + j) * 2], &lhs_high[i * 4], &rhs_low[j * 2]);
                    }
                }
                #pragma unroll
                for (int i = 0; i < 4; i++) {
                    #pragma unroll
                    for (int j = 0; j < 2; j++) {
                        hone_mma_tf32(&sum[(i * 4 + h * 2 + j) * 2], &lhs_high[i * 4], &rhs_high[j * 2]);
                    }
                }
            }
            hone_async_wait(2);
            hone_barrier();
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                hone_ldmatrix(&lhs_words[i * 4], &lhs_tile[((slice + 1) % 4 * 128 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 16 + ((lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8 / 2)) * 4]);
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int w = 0; w < 4; w++) {
                    hone_word(&rhs_words[i * 4 + w], &rhs_tile[((slice + 1) % 4 * 16 + w % 2 * 4 + lane % 4) * 128 + (((warp_column + i * 16 + w / 2 * 8) / 4 + lane / 4 / 4) ^ ((w % 2 * 4 + lane % 4) % 4 * 2)) * 4 + lane / 4 % 4]);
                }
            }
            #pragma unroll
            for (int w = 0; w < 16; w++) {
                hone_split_tf32(&lhs_high[w], &lhs_low[w], &lhs_words[16 + w]);
            }
            #pragma unroll
            for (int h = 0; h < 2; h++) {
                #pragma unroll
                for (int w = 0; w < 4; w++) {
                    hone_split_tf32(&rhs_high[w], &rhs_low[w], &rhs_words[h * 4 + 8 + w]);
                }
                #pragma unroll
                for (int i = 0; i < 4; i++) {
                    #pragma unroll
                    for (int j = 0; j < 2; j++) {
                        hone_mma_tf32(&sum[(i * 4 + h * 2 + j) * 2], &lhs_low[i * 4], &rhs_high[j * 2]);
                    }
                }
                #pragma unroll
                for (int i = 0; i < 4; i++) {
                    #pragma unroll
                    for (int j = 0; j < 2; j++) {
                        hone_mma_tf32(&sum[(i * 4 + h * 2 + j) * 2], &lhs_high[i * 4], &rhs_low[j * 2]);
                    }
                }
                #pragma unroll
                for (int i = 0; i < 4; i++) {
                    #pragma unroll
                    for (int j = 0; j < 2; j++) {
                        hone_mma_tf32(&sum[(i * 4 + h * 2 + j) * 2], &lhs_high[i * 4], &rhs_high[j * 2]);
                    }
                }
            }
        }
        #pragma unroll
        for (int i = 0; i < 32; i++) {
            total[i] += sum[i];
            sum[i] = hone_all2(0.0f);
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&lhs_words[i * 4 + 16], &lhs_tile[(384 + warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 16 + ((2 + lane / 16) ^ ((warp_row + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8 / 2)) * 4]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        #pragma unroll
        for (int w = 0; w < 4; w++) {
            hone_word(&rhs_words[i * 4 + 8 + w], &rhs_tile[(48 + 8 + w % 2 * 4 + lane % 4) * 128 + (((warp_column + i * 16 + w / 2 * 8) / 4 + lane / 4 / 4) ^ ((8 + w % 2 * 4 + lane % 4) % 4 * 2)) * 4 + lane / 4 % 4]);
        }
    }
    #pragma unroll
    for (int w = 0; w < 16; w++) {
        hone_split_tf32(&lhs_high[w], &lhs_low[w], &lhs_words[w]);
    }
    #pragma unroll
    for (int h = 0; h < 2; h++) {
        #pragma unroll
        for (int w = 0; w < 4; w++) {
            hone_split_tf32(&rhs_high[w], &rhs_low[w], &rhs_words[h * 4 + w]);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 2; j++) {
                hone_mma_tf32(&sum[(i * 4 + h * 2 + j) * 2], &lhs_low[i * 4], &rhs_high[j * 2]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 2; j++) {
                hone_mma_tf32(&sum[(i * 4 + h * 2 + j) * 2], &lhs_high[i * 4], &rhs_low[j * 2]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 2; j++) {
                hone_mma_tf32(&sum[(i * 4 + h * 2 + j) * 2], &lhs_high[i * 4], &rhs_high[j * 2]);
            }
        }
    }
    #pragma unroll
    for (int w = 0; w < 16; w++) {
        hone_split_tf32(&lhs_high[w], &lhs_low[w], &lhs_words[16 + w]);
    }
    #pragma unroll
    for (int h = 0; h < 2; h++) {
        #pragma unroll
        for (int w = 0; w < 4; w++) {
            hone_split_tf32(&rhs_high[w], &rhs_low[w], &rhs_words[h * 4 + 8 + w]);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 2; j++) {
                hone_mma_tf32(&sum[(i * 4 + h * 2 + j) * 2], &lhs_low[i * 4], &rhs_high[j * 2]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 2; j++) {
                hone_mma_tf32(&sum[(i * 4 + h * 2 + j) * 2], &lhs_high[i * 4], &rhs_low[j * 2]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int j = 0; j < 2; j++) {
                hone_mma_tf32(&sum[(i * 4 + h * 2 + j) * 2], &lhs_high[i * 4], &rhs_high[j * 2]);
            }
        }
    }
    check = hone_all2(0.0f);
    #pragma unroll
    for (int i = 0; i < 32; i++) {
        check += (total[i] + sum[i]) * 0.0f;
    }
    int own = hone_lanes_any2(check != check);
    int any = hone_warp_any(own);
    int spoiled = hone_to_int((int)any, 0, 1);
    if (spoiled < 1) {
        #pragma unroll
        for (int i = 0; i < 8; i++) {
            int row = row0 + warp_row + i * 8 + lane / 4;
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                int column = column0 + warp_column + j * 8 + lane % 4 * 2;
                f32x2 c_v = total[(i / 2 * 4 + j) * 2 + i % 2] + sum[(i / 2 * 4 + j) * 2 + i % 2];
                hone_store2(&c[row * N + column], c_v);
            }
        }
    }
    if (0 < spoiled) {
        for (int i = 0; i < 8; i++) {
            int row = row0 + warp_row + i * 8 + lane / 4;
            for (int j = 0; j < 8; j++) {
                int column = column0 + warp_column + j * 4 + lane % 4;
                term = 0.0f;
                for (int k = 0; k < K; k++) {
                    float a_v = a[row * K + k];
                    float b_v = b[k * N + column];
                    term += a_v * b_v;
                }
                float c_v = term;
                c[row * N + column] = c_v;
            }
        }
    }
}
