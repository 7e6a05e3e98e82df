// heads, by hone VERSION.
// kernel for heads on sm_90a
// stage o : attention as wgmma  tile 128x64  stages 2  turns 1  group 2
#include "dev.h"

#pragma hone tensormap q_map = q dims(64, 256, 4) strides(128, 32768) box(64, 128, 1) swizzle(128)
#pragma hone tensormap k_map = k dims(64, 256, 4) strides(128, 32768) box(64, 64, 1) swizzle(128)
#pragma hone tensormap v_map = v dims(64, 256, 4) strides(128, 32768) box(64, 64, 1) swizzle(128)
#pragma hone launch o_attention grid(8) block(384) shared(49232) args(o, q_map, k_map, v_map)

HONE_KERNEL_OF(384, 1) o_attention(unsigned short *__restrict__ o, HONE_MAP(q_map), HONE_MAP(k_map), HONE_MAP(v_map)) {
    HONE_DYNAMIC_OF(unsigned short, q_tile, 0, 128 * 64);
    HONE_DYNAMIC_OF(unsigned short, k_tile, 16384, 128 * 64);
    HONE_DYNAMIC_OF(unsigned short, v_tile, 32768, 128 * 64);
    HONE_DYNAMIC_OF(long long, q_full, 49152, 1);
    HONE_DYNAMIC_OF(long long, k_full, 49168, 2);
    HONE_DYNAMIC_OF(long long, k_empty, 49184, 2);
    HONE_DYNAMIC_OF(long long, v_full, 49200, 2);
    HONE_DYNAMIC_OF(long long, v_empty, 49216, 2);
    int probs[16];
    float single[2];
    f32x2 score[16];
    f32x2 sum[16];
    f32x2 top[2];
    f32x2 next[2];
    f32x2 scale[2];
    f32x2 total[2];
    const int block = hone_block();
    const int thread = hone_thread();
    if (thread < 1) {
        hone_mbarrier_init(&q_full[0], 1);
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_mbarrier_init(&k_full[i], 1);
            hone_mbarrier_init(&k_empty[i], 2);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            hone_mbarrier_init(&v_full[i], 1);
            hone_mbarrier_init(&v_empty[i], 2);
        }
    }
    hone_barrier();
    if (thread < 128) {
        hone_registers_less(24);
        if (thread < 1) {
            int head = block / 4 * 2 + block % 4 % 2;
            int row0 = (1 - block % 4 / 2) * 128;
            int tiles = (row0 + 127) / 64 + 1;
            int q_at = head * 256 * 64;
            int k_at = head * 256 * 64;
            int v_at = head * 256 * 64;
            hone_mbarrier_expect(&q_full[0], 16384);
            hone_bulk_copy3(&q_tile[0], &q_map, &q_full[0], 0, row0, q_at / 16384);
            #pragma unroll 1
            for (int j = 0; j < tiles; j++) {
                int slot = j % 2;
                int phase = (j + 2) / 2 % 2;
                hone_mbarrier_wait(&k_empty[slot], phase);
                hone_mbarrier_expect(&k_full[slot], 8192);
                hone_bulk_copy3(&k_tile[slot * 4096], &k_map, &k_full[slot], 0, j * 64, k_at / 16384);
                hone_mbarrier_wait(&v_empty[slot], phase);
                hone_mbarrier_expect(&v_full[slot], 8192);
                hone_bulk_copy3(&v_tile[slot * 4096], &v_map, &v_full[slot], 0, j * 64, v_at / 16384);
            }
        }
    }
    if (127 < thread) {
        hone_registers_more(240);
        int consumer = (thread - 128) / 128;
        int lane = thread % 32;
        int own = (thread - 128) / 32 * 16;
        int turn = thread / 128;
        if (1 < turn) {
            hone_turn_give(turn % 2 + 1);
        }
        int head = block / 4 * 2 + block % 4 % 2;
        int row0 = (1 - block % 4 / 2) * 128;
        int tiles = (row0 + 127) / 64 + 1;
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            top[i] = hone_all2(-3.39999995e+38f);
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            total[i] = hone_all2(0.0f);
        }
        hone_mbarrier_wait(&q_full[0], 0);
        hone_mbarrier_wait(&k_full[0], 0);
        hone_turn_take(turn);
        hone_wgmma_fence();
        hone_wgmma_bf16_64(&score[0], &q_tile[consumer * 4096], &k_tile[0], 0, 0, 0);
        hone_wgmma_bf16_64(&score[0], &q_tile[consumer * 4096 + 16], &k_tile[16], 0, 0, 1);
        hone_wgmma_bf16_64(&score[0], &q_tile[consumer * 4096 + 32], &k_tile[32], 0, 0, 1);
        hone_wgmma_bf16_64(&score[0], &q_tile[consumer * 4096 + 48], &k_tile[48], 0, 0, 1);
        hone_wgmma_commit();
        hone_turn_give(turn % 2 + 1);
        hone_wgmma_wait(0);
        if (thread % 128 < 1) {
            hone_mbarrier_arrive(&k_empty[0]);
        }
        if (row0 + own < 63) {
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                #pragma unroll
                for (int half = 0; half < 2; half++) {
                    #pragma unroll
                    for (int l = 0; l < 2; l++) {
                        single[l] = (j * 8 + lane % 4 * 2 + l - (row0 + own + half * 8 + lane / 4) <= 0 ? hone_lane2(score[j * 2 + half], l) : -HONE_INFINITY);
                    }
                    hone_pair(&score[j * 2 + half], &single[0]);
                }
            }
        }
        #pragma unroll
        for (int half = 0; half < 2; half++) {
            next[half] = top[half];
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                next[half] = hone_max2(next[half], score[j * 2 + half]);
            }
            hone_quad_max(&next[half]);
            scale[half] = (top[half] - next[half]) * 0.180336878f;
            hone_power(&scale[half]);
            top[half] = next[half];
            total[half] = total[half] * scale[half];
            next[half] = top[half] * -0.180336878f + 0.0f;
        }
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            #pragma unroll
            for (int half = 0; half < 2; half++) {
                score[j * 2 + half] = score[j * 2 + half] * 0.180336878f + next[half];
                hone_power(&score[j * 2 + half]);
                total[half] += score[j * 2 + half];
            }
        }
        #pragma unroll
        for (int i = 0; i < 16; i++) {
            hone_pack_bf16(&probs[i], &score[i]);
        }
        for (int j = 1; j < tiles; j++) {
            int earlier = j - 1;
            int slot = j % 2;
            int other = earlier % 2;
            hone_mbarrier_wait(&k_full[slot], j / 2);
            hone_mbarrier_wait(&v_full[other], earlier / 2);
            hone_turn_take(turn);
            hone_wgmma_fence();
            hone_wgmma_bf16_64(&score[0], &q_tile[consumer * 4096], &k_tile[slot * 4096], 0, 0, 0);
            hone_wgmma_bf16_64(&score[0], &q_tile[consumer * 4096 + 16], &k_tile[slot * 4096 + 16], 0, 0, 1);
            hone_wgmma_bf16_64(&score[0], &q_tile[consumer * 4096 + 32], &k_tile[slot * 4096 + 32], 0, 0, 1);
            hone_wgmma_bf16_64(&score[0], &q_tile[consumer * 4096 + 48], &k_tile[slot * 4096 + 48], 0, 0, 1);
            hone_wgmma_commit();
            hone_wgmma_words_bf16_64(&sum[0], &probs[0], &v_tile[other * 4096], 1, j - 1);
            hone_wgmma_words_bf16_64(&sum[0], &probs[4], &v_tile[other * 4096 + 1024], 1, 1);
            hone_wgmma_words_bf16_64(&sum[0], &probs[8], &v_tile[other * 4096 + 2048], 1, 1);
            hone_wgmma_words_bf16_64(&sum[0], &probs[12], &v_tile[other * 4096 + 3072], 1, 1);
            hone_wgmma_commit();
            hone_turn_give(turn % 2 + 1);
            hone_wgmma_wait(1);
            if (thread % 128 < 1) {
                hone_mbarrier_arrive(&k_empty[slot]);
            }
            int last = j * 64 + 63;
            if (row0 + own < last) {
                #pragma unroll
                for (int j_2 = 0; j_2 < 8; j_2++) {
                    #pragma unroll
                    for (int half = 0; half < 2; half++) {
                        #pragma unroll
                        for (int l = 0; l < 2; l++) {
                            single[l] = (j * 64 + j_2 * 8 + lane % 4 * 2 + l - (row0 + own + half * 8 + lane / 4) <= 0 ? hone_lane2(score[j_2 * 2 + half], l) : -HONE_INFINITY);
                        }
                        hone_pair(&score[j_2 * 2 + half], &single[0]);
                    }
                }
            }
            #pragma unroll
            for (int half = 0; half < 2; half++) {
                next[half] = top[half];
                #pragma unroll
                for (int j_2 = 0; j_2 < 8; j_2++) {
                    next[half] = hone_max2(next[half], score[j_2 * 2 + half]);
                }
                hone_quad_max(&next[half]);
                scale[half] = (top[half] - next[half]) * 0.180336878f;
                hone_power(&scale[half]);
                top[half] = next[half];
                total[half] = total[half] * scale[half];
                next[half] = top[half] * -0.180336878f + 0.0f;
            }
            #pragma unroll
            for (int j_2 = 0; j_2 < 8; j_2++) {
                #pragma unroll
                for (int half = 0; half < 2; half++) {
                    score[j_2 * 2 + half] = score[j_2 * 2 + half] * 0.180336878f + next[half];
                    hone_power(&score[j_2 * 2 + half]);
                    total[half] += score[j_2 * 2 + half];
                }
            }
            hone_wgmma_wait(0);
            if (thread % 128 < 1) {
                hone_mbarrier_arrive(&v_empty[other]);
            }
            #pragma unroll
            for (int i = 0; i < 16; i++) {
                hone_pack_bf16(&probs[i], &score[i]);
            }
            #pragma unroll
            for (int j_2 = 0; j_2 < 8; j_2++) {
                #pragma unroll
                for (int half = 0; half < 2; half++) {
                    sum[j_2 * 2 + half] = sum[j_2 * 2 + half] * scale[half];
                }
            }
        }
        int count = tiles - 1;
        int slot = count % 2;
        hone_mbarrier_wait(&v_full[slot], count / 2);
        hone_wgmma_fence();
        hone_wgmma_words_bf16_64(&sum[0], &probs[0], &v_tile[slot * 4096], 1, tiles - 1);
        hone_wgmma_words_bf16_64(&sum[0], &probs[4], &v_tile[slot * 4096 + 1024], 1, 1);
        hone_wgmma_words_bf16_64(&sum[0], &probs[8], &v_tile[slot * 4096 + 2048], 1, 1);
        hone_wgmma_words_bf16_64(&sum[0], &probs[12], &v_tile[slot * 4096 + 3072], 1, 1);
        hone_wgmma_commit();
        hone_wgmma_wait(0);
        #pragma unroll
        for (int half = 0; half < 2; half++) {
            hone_quad_sum(&total[half]);
            scale[half] = 1.0f / total[half];
            int row = row0 + own + half * 8 + lane / 4;
            #pragma unroll
            for (int j = 0; j < 8; j++) {
                f32x2 quotient = sum[j * 2 + half] * scale[half];
                hone_store2_bf16(&o[(head * 256 + row) * 64 + j * 8 + lane % 4 * 2], quotient);
            }
        }
    }
}
