// quantised, by hone VERSION.
// kernel for quantised on sm_80
// stage y : qgemm  tile 32x16  warps 2x2  strip 8  stages 3  split 1
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

#pragma hone scratch y_totals f32[2, 12, 1000]
#pragma hone launch y_qgemm grid(16) block(128) shared(107008) args(x, w, scales, d, y, y_totals)

HONE_KERNEL_OF(128, 1) y_qgemm(const unsigned short *__restrict__ x, const unsigned char *__restrict__ w, const unsigned short *__restrict__ scales, const float *__restrict__ d, unsigned short *__restrict__ y, float *y_totals) {
    HONE_DYNAMIC_OF(unsigned char, w_ring, 0, (384 * 256 + 1) / 2);
    HONE_DYNAMIC_OF(unsigned short, x_ring, 49152, 96 * 256);
    int w_words[16];
    int wide[8];
    int x_words[8];
    f32x2 sum[8];
    f32x2 total[8];
    HONE_DYNAMIC(scale_ring, 24576, 128 * 17);
    float next[16];
    const int block = hone_block();
    const int thread = hone_thread();
    int lane = thread % 32;
    int warp = thread / 32;
    int first = block * 2 + warp / 2;
    int part = warp % 2;
    #pragma unroll
    for (int stage = 0; stage < 2; stage++) {
        #pragma unroll
        for (int i = 0; i < 8; i++) {
            hone_async_copy16(&x_ring[(((((stage * 2 + (i * 128 + thread) / 32 / 16) * 2 + (i * 128 + thread) % 32 / 16) * 2 + (i * 128 + thread) / 32 % 16 / 8) * 4 + (i * 128 + thread) % 32 % 16 % 4) * 32 + (i * 128 + thread) / 32 % 16 % 8 * 4 + (i * 128 + thread) % 32 % 16 / 4) * 8], &x[(i * 128 + thread) / 32 % 16 * 4096 + ((i * 128 + thread) / 32 / 16 * 8 + stage) * 256 + (i * 128 + thread) % 32 * 8], ((12 - (i * 128 + thread) / 32 % 16 > 0 ? 12 - (i * 128 + thread) / 32 % 16 : 0) * 16 < 16 ? (12 - (i * 128 + thread) / 32 % 16 > 0 ? 12 - (i * 128 + thread) / 32 % 16 : 0) * 16 : 16));
        }
        int tile_row = first * 32;
        int column = (part * 8 + stage) * 256;
        #pragma unroll
        for (int i = 0; i < 8; i++) {
            hone_async_copy16(&w_ring[(((stage * 4 + warp) * 32 + i * 4 + lane / 8) * 8 + ((lane % 8) ^ ((i * 4 + lane / 8) % 2 * 4))) * 32 / 2], &w[((tile_row + i * 4 + lane / 8) * 4096 + column + lane % 8 * 32) / 2], ((1000 - (tile_row + i * 4 + lane / 8) > 0 ? 1000 - (tile_row + i * 4 + lane / 8) : 0) * 16 < 16 ? (1000 - (tile_row + i * 4 + lane / 8) > 0 ? 1000 - (tile_row + i * 4 + lane / 8) : 0) * 16 : 16));
        }
        hone_async_commit();
    }
    int scaled = first * 32;
    #pragma unroll
    for (int i = 0; i < 16; i++) {
        next[i] = hone_from_f16(scales[(scaled + (i * 32 + lane) / 16 < 999 ? scaled + (i * 32 + lane) / 16 : 999) * 32 + (part * 2048 + (i * 32 + lane) % 16 * 128) / 128]);
    }
    #pragma unroll
    for (int i = 0; i < 16; i++) {
        scale_ring[(warp * 32 + (i * 32 + lane) / 16) * 17 + (i * 32 + lane) % 16] = next[i];
    }
    #pragma unroll
    for (int i = 0; i < 8; i++) {
        total[i] = hone_all2(0.0f);
    }
    for (int strip = 0; strip < 8; strip++) {
        hone_async_wait(1);
        hone_barrier();
        if (strip + 2 < 8) {
            #pragma unroll
            for (int i = 0; i < 8; i++) {
                hone_async_copy16(&x_ring[((((((strip + 2) % 3 * 2 + (i * 128 + thread) / 32 / 16) * 2 + (i * 128 + thread) % 32 / 16) * 2 + (i * 128 + thread) / 32 % 16 / 8) * 4 + (i * 128 + thread) % 32 % 16 % 4) * 32 + (i * 128 + thread) / 32 % 16 % 8 * 4 + (i * 128 + thread) % 32 % 16 / 4) * 8], &x[(i * 128 + thread) / 32 % 16 * 4096 + ((i * 128 + thread) / 32 / 16 * 8 + (strip + 2) % 8) * 256 + (i * 128 + thread) % 32 * 8], ((12 - (i * 128 + thread) / 32 % 16 > 0 ? 12 - (i * 128 + thread) / 32 % 16 : 0) * 16 < 16 ? (12 - (i * 128 + thread) / 32 % 16 > 0 ? 12 - (i * 128 + thread) / 32 % 16 : 0) * 16 : 16));
            }
            int tile_row = ((strip + 2) / 8 * 32 + first) * 32;
            int column = (part * 8 + (strip + 2) % 8) * 256;
            #pragma unroll
            for (int i = 0; i < 8; i++) {
                hone_async_copy16(&w_ring[((((strip + 2) % 3 * 4 + warp) * 32 + i * 4 + lane / 8) * 8 + ((lane % 8) ^ ((i * 4 + lane / 8) % 2 * 4))) * 32 / 2], &w[((tile_row + i * 4 + lane / 8) * 4096 + column + lane % 8 * 32) / 2], ((1000 - (tile_row + i * 4 + lane / 8) > 0 ? 1000 - (tile_row + i * 4 + lane / 8) : 0) * 16 < 16 ? (1000 - (tile_row + i * 4 + lane / 8) > 0 ? 1000 - (tile_row + i * 4 + lane / 8) : 0) * 16 : 16));
            }
        }
        hone_async_commit();
        int slot = strip % 3;
        #pragma unroll
        for (int chunk = 0; chunk < 2; chunk++) {
            #pragma unroll
            for (int i = 0; i < 8; i++) {
                sum[i] = hone_all2(0.0f);
            }
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                hone_words4(&w_words[i * 4], &w_ring[(((slot * 4 + warp) * 32 + i * 8 + lane / 4) * 8 + ((chunk * 4 + lane % 4) ^ ((i * 8 + lane / 4) % 2 * 4))) * 32 / 2]);
            }
            #pragma unroll
            for (int t = 0; t < 2; t++) {
                hone_words4(&x_words[t * 4], &x_ring[((((slot * 2 + warp % 2) * 2 + chunk) * 2 + t) * 4 * 32 + lane) * 8]);
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
                hone_words4(&x_words[t * 4], &x_ring[(((((slot * 2 + warp % 2) * 2 + chunk) * 2 + t) * 4 + 1) * 32 + lane) * 8]);
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
                hone_words4(&x_words[t * 4], &x_ring[(((((slot * 2 + warp % 2) * 2 + chunk) * 2 + t) * 4 + 2) * 32 + lane) * 8]);
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
                hone_words4(&x_words[t * 4], &x_ring[(((((slot * 2 + warp % 2) * 2 + chunk) * 2 + t) * 4 + 3) * 32 + lane) * 8]);
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
                float scale = scale_ring[(warp * 32 + i * 8 + lane / 4) * 17 + strip * 2 + chunk];
                #pragma unroll
                for (int t = 0; t < 2; t++) {
                    total[(i / 2 * 2 + t) * 2 + i % 2] += sum[(i / 2 * 2 + t) * 2 + i % 2] * scale;
                }
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        int row = first * 32 + i * 8 + lane / 4;
        if (row < 1000) {
            #pragma unroll
            for (int t = 0; t < 2; t++) {
                #pragma unroll
                for (int j = 0; j < 2; j++) {
                    if (t * 8 + lane % 4 * 2 + j < 12) {
                        y_totals[(part * 12 + t * 8 + lane % 4 * 2 + j) * 1000 + row] = hone_lane2(total[(i / 2 * 2 + t) * 2 + i % 2], j);
                    }
                }
            }
        }
    }
    hone_barrier();
    for (int item = 0; item < 8; item++) {
        int at = item * 128 + thread;
        int row = block * 64 + at % 64;
        int token = at / 64;
        if (token < 12) {
            if (row < 1000) {
                float t_1 = y_totals[token * 1000 + row] + y_totals[(12 + token) * 1000 + row];
                float d_v = d[row];
                float y_f32 = t_1 + d_v;
                y[token * N + row] = hone_to_bf16(y_f32);
            }
        }
    }
}
