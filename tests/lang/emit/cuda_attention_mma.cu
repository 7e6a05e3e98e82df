// attention_causal, by hone VERSION.
// kernel for attention_causal on sm_90a
// stage o : attention  tile 64x32  minblocks 2
#include "dev.h"

#ifndef B
#define B 4
#endif
#ifndef H
#define H 16
#endif
#ifndef S
#define S 2048
#endif
#ifndef D
#define D 64
#endif

HONE_ASSERT(B == 4, "lowered for B = 4");
HONE_ASSERT(H == 16, "lowered for H = 16");
HONE_ASSERT(S == 2048, "lowered for S = 2048");
HONE_ASSERT(D == 64, "lowered for D = 64");

#pragma hone launch o_attention grid(B * H * 32) block(128) args(q, k, v, o)

HONE_KERNEL_OF(128, 2) o_attention(const unsigned short *__restrict__ q, const unsigned short *__restrict__ k, const unsigned short *__restrict__ v, unsigned short *__restrict__ o) {
    HONE_SHARED_OF(unsigned short, q_tile, 64 * 64);
    HONE_SHARED_OF(unsigned short, k_tile, 64 * 64);
    HONE_SHARED_OF(unsigned short, v_tile, 64 * 64);
    int queries[16];
    int fragment[16];
    int probs[8];
    int probs_low[8];
    float single[2];
    f32x2 score[8];
    f32x2 sum[16];
    f32x2 top[2];
    f32x2 next[2];
    f32x2 scale[2];
    f32x2 total[2];
    const int block = hone_block();
    const int thread = hone_thread();
    int row0 = (31 - block % 32) * 64;
    int lane = thread % 32;
    int own = thread / 32 * 16;
    int tiles = (row0 + 63) / 32 + 1;
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        hone_async_copy16(&q_tile[(item * 128 + thread) / 8 * 64 + (((item * 128 + thread) % 8) ^ ((item * 128 + thread) / 8 % 8)) * 8], &q[(block / 32 * S + row0 + (item * 128 + thread) / 8) * 64 + (item * 128 + thread) % 8 * 8], 16);
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        hone_async_copy16(&k_tile[(item * 128 + thread) / 8 * 64 + (((item * 128 + thread) % 8) ^ ((item * 128 + thread) / 8 % 8)) * 8], &k[(block / 32 * S + (item * 128 + thread) / 8) * 64 + (item * 128 + thread) % 8 * 8], 16);
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        hone_async_copy16(&v_tile[(item * 128 + thread) / 8 * 64 + (((item * 128 + thread) % 8) ^ ((item * 128 + thread) / 8 % 8)) * 8], &v[(block / 32 * S + (item * 128 + thread) / 8) * D + (item * 128 + thread) % 8 * 8], 16);
    }
    hone_async_commit();
    hone_async_wait(0);
    hone_barrier();
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        hone_ldmatrix(&queries[i * 4], &q_tile[(own + lane % 16) * 64 + ((i * 2 + lane / 16) ^ ((own + lane % 16) % 8)) * 8]);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        top[i] = hone_all2(-3.39999995e+38f);
    }
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        total[i] = hone_all2(0.0f);
    }
    #pragma unroll
    for (int i = 0; i < 16; i++) {
        sum[i] = hone_all2(0.0f);
    }
    for (int tile = 0; tile < tiles; tile++) {
        if (tile + 1 < tiles) {
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                hone_async_copy16(&k_tile[((tile + 1) % 2 * 32 + (item * 128 + thread) / 8) * 64 + (((item * 128 + thread) % 8) ^ ((item * 128 + thread) / 8 % 8)) * 8], &k[(block / 32 * S + (tile + 1) * 32 + (item * 128 + thread) / 8) * 64 + (item * 128 + thread) % 8 * 8], 16);
            }
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                hone_async_copy16(&v_tile[((tile + 1) % 2 * 32 + (item * 128 + thread) / 8) * 64 + (((item * 128 + thread) % 8) ^ ((item * 128 + thread) / 8 % 8)) * 8], &v[(block / 32 * S + (tile + 1) * 32 + (item * 128 + thread) / 8) * D + (item * 128 + thread) % 8 * 8], 16);
            }
        }
        hone_async_commit();
        int slot = tile % 2 * 32;
        #pragma unroll
        for (int i = 0; i < 8; i++) {
            score[i] = hone_all2(0.0f);
        }
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            #pragma unroll
            for (int g = 0; g < 2; g++) {
                hone_ldmatrix(&fragment[g * 4], &k_tile[(slot + g * 16 + lane / 16 * 8 + lane % 8) * 64 + ((i * 2 + lane / 8 % 2) ^ ((slot + g * 16 + lane / 16 * 8 + lane % 8) % 8)) * 8]);
            }
            #pragma unroll
            for (int h = 0; h < 4; h++) {
                hone_mma_f16(&score[h * 2], &queries[i * 4], &fragment[h * 2]);
            }
        }
        int last = tile * 32 + 31;
        if (row0 + own < last) {
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                #pragma unroll
                for (int half = 0; half < 2; half++) {
                    #pragma unroll
                    for (int l = 0; l < 2; l++) {
                        single[l] = (tile * 32 + j * 8 + lane % 4 * 2 + l - (row0 + own + half * 8 + lane / 4) <= 0 ? hone_lane2(score[j * 2 + half], l) : -HONE_INFINITY);
                    }
                    hone_pair(&score[j * 2 + half], &single[0]);
                }
            }
        }
        #pragma unroll
        for (int half = 0; half < 2; half++) {
            next[half] = top[half];
            #pragma unroll
            for (int j = 0; j < 4; j++) {
                next[half] = hone_max2(next[half], score[j * 2 + half]);
            }
            hone_quad_max(&next[half]);
            scale[half] = (top[half] - next[half]) * 0.180336878f;
            hone_power(&scale[half]);
            top[half] = next[half];
            total[half] = total[half] * scale[half];
            next[half] = top[half] * -0.180336878f + 12.0f;
        }
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            #pragma unroll
            for (int half = 0; half < 2; half++) {
                score[j * 2 + half] = score[j * 2 + half] * 0.180336878f + next[half];
                hone_power(&score[j * 2 + half]);
                total[half] += score[j * 2 + half];
            }
        }
        #pragma unroll
        for (int i = 0; i < 8; i++) {
            hone_pack_f16(&probs[i], &score[i]);
            hone_pack_f16(&probs_low[i], &score[i]);
        }
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            #pragma unroll
            for (int half = 0; half < 2; half++) {
                sum[j * 2 + half] = sum[j * 2 + half] * scale[half];
            }
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            #pragma unroll
            for (int g = 0; g < 4; g++) {
                hone_ldmatrix_transposed(&fragment[g * 4], &v_tile[(slot + i * 16 + lane / 8 % 2 * 8 + lane % 8) * 64 + ((g * 2 + lane / 16) ^ ((slot + i * 16 + lane / 8 % 2 * 8 + lane % 8) % 8)) * 8]);
            }
            #pragma unroll
            for (int h = 0; h < 8; h++) {
                hone_mma_f16(&sum[h * 2], &probs_low[i * 4], &fragment[h * 2]);
            }
            #pragma unroll
            for (int h = 0; h < 8; h++) {
                hone_mma_f16(&sum[h * 2], &probs[i * 4], &fragment[h * 2]);
            }
        }
        hone_async_wait(0);
        hone_barrier();
    }
    #pragma unroll
    for (int half = 0; half < 2; half++) {
        hone_quad_sum(&total[half]);
        scale[half] = 1.0f / total[half];
        int row = row0 + own + half * 8 + lane / 4;
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            f32x2 quotient = sum[j * 2 + half] * scale[half];
            hone_store2_f16(&o[(block / 32 * S + row) * D + j * 8 + lane % 4 * 2], quotient);
        }
    }
}
