// quantised, by hone VERSION.
// kernel for quantised on sm_90a
// stage y : qgemm as stream  tile 16x16  warps 2x2  ahead 4  split 2
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

#pragma hone scratch y_sums f32[64, 512]
#pragma hone launch y_qgemm grid(64) block(128) shared(71168) cluster(2) args(x, w, scales, d, y, y_sums)

HONE_KERNEL_OF(128, 1) y_qgemm(const unsigned short *__restrict__ x, const unsigned char *__restrict__ w, const unsigned short *__restrict__ scales, const float *__restrict__ d, unsigned short *__restrict__ y, float *y_sums) {
    int w_words[32];
    int wide[8];
    int x_words[8];
    f32x2 sum[4];
    f32x2 total[4];
    HONE_DYNAMIC_OF(unsigned short, x_tile, 0, 256 * 128);
    HONE_DYNAMIC(kept, 16384, 4 * 256);
    HONE_DYNAMIC_OF(unsigned short, scale, 69632, 32 * 24);
    const int block = hone_block();
    const int thread = hone_thread();
    int rank = block % 2;
    int strip0 = block / 2 * 2;
    int lane = thread % 32;
    int warp = thread / 32;
    int along = warp % 2;
    int own = warp / 2;
    int column0 = (rank * 2 + along) * 1024;
    #pragma unroll
    for (int slot = 0; slot < 4; slot++) {
        hone_load_rows(&w_words[slot * 8], &w[(((strip0 + own) * 16 + lane / 4 < 999 ? (strip0 + own) * 16 + lane / 4 : 999) * 4096 + column0 + lane % 4 * 32 + slot * 128) / 2], &w[(((strip0 + own) * 16 + lane / 4 + 8 < 999 ? (strip0 + own) * 16 + lane / 4 + 8 : 999) * 4096 + column0 + lane % 4 * 32 + slot * 128) / 2]);
    }
    for (int piece = thread; piece < 4096; piece += 128) {
        hone_async_copy16(&x_tile[((((piece / 128 / 16 * 8 + piece % 128 / 16) * 2 + piece / 128 % 16 / 8) * 4 + piece % 128 % 16 % 4) * 32 + piece / 128 % 16 % 8 * 4 + piece % 128 % 16 / 4) * 8], &x[(piece / 128 % 16 < 11 ? piece / 128 % 16 : 11) * 4096 + ((rank * 2 + piece / 128 / 16) * 8 + piece % 128 / 16) * 128 + piece % 128 % 16 * 8], 16);
    }
    for (int from = thread; from < 64; from += 128) {
        hone_async_copy16(&scale[(from / 2 / 16 * 16 + from / 2 % 16) * 24 + from % 2 * 8], &scales[((strip0 + from / 2 / 16) * 16 + from / 2 % 16 < 999 ? (strip0 + from / 2 / 16) * 16 + from / 2 % 16 : 999) * 32 + rank * 16 + from % 2 * 8], 16);
    }
    hone_async_commit();
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        total[i] = hone_all2(0.0f);
    }
    hone_async_wait(0);
    hone_barrier();
    for (int turn = 0; turn < 2; turn++) {
        #pragma unroll
        for (int slot = 0; slot < 4; slot++) {
            int chunk = turn * 4 + slot;
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                sum[i] = hone_all2(0.0f);
            }
            #pragma unroll
            for (int p = 0; p < 4; p++) {
                #pragma unroll
                for (int t = 0; t < 2; t++) {
                    hone_words4(&x_words[t * 4], &x_tile[((((along * 8 + chunk) * 2 + t) * 4 + p) * 32 + lane) * 8]);
                    hone_deal(&x_words[t * 4]);
                }
                hone_widen_i4_bf16(&wide[0], &w_words[(slot * 4 + p) * 2], &w_words[(slot * 4 + p) * 2 + 1]);
                #pragma unroll
                for (int t = 0; t < 2; t++) {
                    hone_mma_bf16(&sum[t * 2], &wide[0], &x_words[t * 4]);
                }
                #pragma unroll
                for (int t = 0; t < 2; t++) {
                    hone_mma_bf16(&sum[t * 2], &wide[4], &x_words[t * 4 + 2]);
                }
            }
            if (chunk + 4 < 8) {
                hone_load_rows(&w_words[slot * 8], &w[(((strip0 + own) * 16 + lane / 4 < 999 ? (strip0 + own) * 16 + lane / 4 : 999) * 4096 + column0 + lane % 4 * 32 + (chunk + 4) * 128) / 2], &w[(((strip0 + own) * 16 + lane / 4 + 8 < 999 ? (strip0 + own) * 16 + lane / 4 + 8 : 999) * 4096 + column0 + lane % 4 * 32 + (chunk + 4) * 128) / 2]);
            }
            #pragma unroll
            for (int h = 0; h < 2; h++) {
                float scale_v = hone_from_f16(scale[(own * 16 + h * 8 + lane / 4) * 24 + along * 8 + chunk]);
                #pragma unroll
                for (int t = 0; t < 2; t++) {
                    total[t * 2 + h] += sum[t * 2 + h] * scale_v;
                }
            }
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_store2(&kept[((own * 2 + along) * 128 + i * 32 + lane) * 2], total[i]);
    }
    hone_barrier();
    for (int at = thread; at < 256; at += 128) {
        hone_store2(&y_sums[(block * 256 + at) * 2], hone_load2(&kept[(at / 128 * 2 * 128 + at % 128) * 2]) + hone_load2(&kept[((at / 128 * 2 + 1) * 128 + at % 128) * 2]));
    }
    hone_cluster_barrier();
    for (int at = thread + rank * 128; at < 256; at += 256) {
        f32x2 pair = hone_load2(&y_sums[((block - rank) * 256 + at) * 2]) + hone_load2(&y_sums[((block - rank + 1) * 256 + at) * 2]);
        int row = (strip0 + at / 128) * 16 + at % 128 / 32 % 2 * 8 + at % 128 % 32 / 4;
        if (row < 1000) {
            int token = at % 128 / 64 * 8 + at % 128 % 32 % 4 * 2;
            if (token < 12) {
                float t_1 = hone_lane2(pair, 0);
                float d_v = d[row];
                float y_f32 = t_1 + d_v;
                y[token * N + row] = hone_to_bf16(y_f32);
            }
            int token_2 = at % 128 / 64 * 8 + at % 128 % 32 % 4 * 2 + 1;
            if (token_2 < 12) {
                float t_1 = hone_lane2(pair, 1);
                float d_v = d[row];
                float y_f32 = t_1 + d_v;
                y[token_2 * N + row] = hone_to_bf16(y_f32);
            }
        }
    }
}
