// quantised, by hone VERSION.
// kernel for quantised on sm_80
// stage y : qgemm  tile 32x16  warps 4  stages 3  minblocks 1
#include "dev.h"

#ifndef M
#define M 12
#endif
#ifndef N
#define N 1000
#endif
#ifndef K
#define K 4096
#endif
#ifndef G
#define G 128
#endif

HONE_ASSERT(M == 12, "lowered for M = 12");
HONE_ASSERT(N == 1000, "lowered for N = 1000");
HONE_ASSERT(K == 4096, "lowered for K = 4096");
HONE_ASSERT(G == 128, "lowered for G = 128");

#pragma hone launch y_qgemm grid(32) block(128) shared(82944) args(x, w, scales, d, y)

HONE_KERNEL_OF(128, 1) y_qgemm(const unsigned short *__restrict__ x, const unsigned char *__restrict__ w, const unsigned short *__restrict__ scales, const float *__restrict__ d, unsigned short *__restrict__ y) {
    HONE_DYNAMIC_OF(unsigned char, w_ring, 0, (384 * 128 + 1) / 2);
    HONE_DYNAMIC_OF(unsigned short, x_ring, 24576, 192 * 128);
    HONE_DYNAMIC(partial, 18432, 64 * 36);
    int w_words[16];
    int wide[8];
    int x_words[8];
    f32x2 sum[8];
    f32x2 total[8];
    float scale[4];
    float next[4];
    const int block = hone_block();
    const int thread = hone_thread();
    int lane = thread % 32;
    int warp = thread / 32;
    int row0 = block * 32;
    #pragma unroll
    for (int round = 0; round < 2; round++) {
        int chunk = round * 4 + warp;
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_async_copy16(&w_ring[(((round * 4 + warp) * 4 + i) * 32 + lane) * 32 / 2], &w[((row0 + i * 8 + lane / 4) * 4096 + chunk * 128 + lane % 4 * 32) / 2], ((1000 - (row0 + i * 8 + lane / 4) > 0 ? 1000 - (row0 + i * 8 + lane / 4) : 0) * 16 < 16 ? (1000 - (row0 + i * 8 + lane / 4) > 0 ? 1000 - (row0 + i * 8 + lane / 4) : 0) * 16 : 16));
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            #pragma unroll
            for (int p = 0; p < 4; p++) {
                hone_async_copy16(&x_ring[(((round * 4 + warp) * 8 + i * 4 + (p * 4 + lane % 4) % 4) * 32 + lane / 4 * 4 + (p * 4 + lane % 4) / 4) * 8], &x[(i * 8 + lane / 4) * 4096 + chunk * 128 + (p * 4 + lane % 4) * 8], ((12 - (i * 8 + lane / 4) > 0 ? 12 - (i * 8 + lane / 4) : 0) * 16 < 16 ? (12 - (i * 8 + lane / 4) > 0 ? 12 - (i * 8 + lane / 4) : 0) * 16 : 16));
            }
        }
        hone_async_commit();
    }
    #pragma unroll
    for (int i = 0; i < 8; i++) {
        total[i] = hone_all2(0.0f);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        scale[i] = hone_from_f16(scales[(row0 + i * 8 + lane / 4 < 999 ? row0 + i * 8 + lane / 4 : 999) * 32 + warp]);
    }
    for (int round = 0; round < 8; round++) {
        hone_async_wait(1);
        hone_warp_sync();
        int chunk = (round + 2) * 4 + warp;
        if (chunk < 32) {
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                hone_async_copy16(&w_ring[((((round + 2) % 3 * 4 + warp) * 4 + i) * 32 + lane) * 32 / 2], &w[((row0 + i * 8 + lane / 4) * 4096 + chunk * 128 + lane % 4 * 32) / 2], ((1000 - (row0 + i * 8 + lane / 4) > 0 ? 1000 - (row0 + i * 8 + lane / 4) : 0) * 16 < 16 ? (1000 - (row0 + i * 8 + lane / 4) > 0 ? 1000 - (row0 + i * 8 + lane / 4) : 0) * 16 : 16));
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int p = 0; p < 4; p++) {
                    hone_async_copy16(&x_ring[((((round + 2) % 3 * 4 + warp) * 8 + i * 4 + (p * 4 + lane % 4) % 4) * 32 + lane / 4 * 4 + (p * 4 + lane % 4) / 4) * 8], &x[(i * 8 + lane / 4) * 4096 + chunk * 128 + (p * 4 + lane % 4) * 8], ((12 - (i * 8 + lane / 4) > 0 ? 12 - (i * 8 + lane / 4) : 0) * 16 < 16 ? (12 - (i * 8 + lane / 4) > 0 ? 12 - (i * 8 + lane / 4) : 0) * 16 : 16));
                }
            }
        }
        hone_async_commit();
        int of = ((round + 1) * 4 + warp < 31 ? (round + 1) * 4 + warp : 31);
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            next[i] = hone_from_f16(scales[(row0 + i * 8 + lane / 4 < 999 ? row0 + i * 8 + lane / 4 : 999) * 32 + of]);
        }
        int slot = round % 3;
        #pragma unroll
        for (int i = 0; i < 8; i++) {
            sum[i] = hone_all2(0.0f);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_words4(&w_words[i * 4], &w_ring[(((slot * 4 + warp) * 4 + i) * 32 + lane) * 32 / 2]);
        }
        #pragma unroll
        for (int t = 0; t < 2; t++) {
            hone_words4(&x_words[t * 4], &x_ring[(((slot * 4 + warp) * 8 + t * 4) * 32 + lane) * 8]);
            hone_deal(&x_words[t * 4]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_widen_i4_bf16(&wide[0], &w_words[i * 8], &w_words[i * 8 + 4]);
            #pragma unroll
            for (int t = 0; t < 2; t++) {
                hone_mma_bf16(&sum[(i * 2 + t) * 2], &wide[0], &x_words[t * 4]);
            }
            #pragma unroll
            for (int t = 0; t < 2; t++) {
                hone_mma_bf16(&sum[(i * 2 + t) * 2], &wide[4], &x_words[t * 4 + 2]);
            }
        }
        #pragma unroll
        for (int t = 0; t < 2; t++) {
            hone_words4(&x_words[t * 4], &x_ring[(((slot * 4 + warp) * 8 + t * 4 + 1) * 32 + lane) * 8]);
            hone_deal(&x_words[t * 4]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_widen_i4_bf16(&wide[0], &w_words[i * 8 + 1], &w_words[i * 8 + 5]);
            #pragma unroll
            for (int t = 0; t < 2; t++) {
                hone_mma_bf16(&sum[(i * 2 + t) * 2], &wide[0], &x_words[t * 4]);
            }
            #pragma unroll
            for (int t = 0; t < 2; t++) {
                hone_mma_bf16(&sum[(i * 2 + t) * 2], &wide[4], &x_words[t * 4 + 2]);
            }
        }
        #pragma unroll
        for (int t = 0; t < 2; t++) {
            hone_words4(&x_words[t * 4], &x_ring[(((slot * 4 + warp) * 8 + t * 4 + 2) * 32 + lane) * 8]);
            hone_deal(&x_words[t * 4]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_widen_i4_bf16(&wide[0], &w_words[i * 8 + 2], &w_words[i * 8 + 6]);
            #pragma unroll
            for (int t = 0; t < 2; t++) {
                hone_mma_bf16(&sum[(i * 2 + t) * 2], &wide[0], &x_words[t * 4]);
            }
            #pragma unroll
            for (int t = 0; t < 2; t++) {
                hone_mma_bf16(&sum[(i * 2 + t) * 2], &wide[4], &x_words[t * 4 + 2]);
            }
        }
        #pragma unroll
        for (int t = 0; t < 2; t++) {
            hone_words4(&x_words[t * 4], &x_ring[(((slot * 4 + warp) * 8 + t * 4 + 3) * 32 + lane) * 8]);
            hone_deal(&x_words[t * 4]);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_widen_i4_bf16(&wide[0], &w_words[i * 8 + 3], &w_words[i * 8 + 7]);
            #pragma unroll
            for (int t = 0; t < 2; t++) {
                hone_mma_bf16(&sum[(i * 2 + t) * 2], &wide[0], &x_words[t * 4]);
            }
            #pragma unroll
            for (int t = 0; t < 2; t++) {
                hone_mma_bf16(&sum[(i * 2 + t) * 2], &wide[4], &x_words[t * 4 + 2]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int t = 0; t < 2; t++) {
                total[(i / 2 * 2 + t) * 2 + i % 2] += sum[(i / 2 * 2 + t) * 2 + i % 2] * scale[i];
            }
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            scale[i] = next[i];
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int t = 0; t < 2; t++) {
            #pragma unroll
            for (int j = 0; j < 2; j++) {
                partial[(warp * 16 + t * 8 + lane % 4 * 2 + j) * 36 + i * 8 + lane / 4] = hone_lane2(total[(i / 2 * 2 + t) * 2 + i % 2], j);
            }
        }
    }
    hone_barrier();
    for (int item = 0; item < 4; item++) {
        int at = item * 128 + thread;
        int row = at % 32;
        int token = at / 32;
        if (token < 12) {
            if (row0 + row < 1000) {
                int column = row0 + row;
                float t_1 = partial[token * 36 + row] + partial[(16 + token) * 36 + row] + partial[(32 + token) * 36 + row] + partial[(48 + token) * 36 + row];
                float d_v = d[column];
                float y_f32 = t_1 + d_v;
                y[token * N + column] = hone_to_bf16(y_f32);
            }
        }
    }
}
