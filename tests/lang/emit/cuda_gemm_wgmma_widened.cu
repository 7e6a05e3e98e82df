// widened, by hone VERSION.
// kernel for widened on sm_90a
// stage c : gemm as wgmma  tile 128x128  warpgroups 2  stages 4  group 4  split 1  apart 0  cluster 1  boxes 2
#include "dev.h"

#ifndef M
#define M 512
#endif
#ifndef N
#define N 512
#endif
#ifndef K
#define K 2048
#endif

HONE_ASSERT(M == 512, "lowered for M = 512");
HONE_ASSERT(N == 512, "lowered for N = 512");
HONE_ASSERT(K == 2048, "lowered for K = 2048");

#pragma hone scratch c_lhs_high f16[512, 2048]
#pragma hone scratch c_lhs_factors f32[2, 512]
#pragma hone scratch c_rhs_high f16[2048, 512]
#pragma hone scratch c_rhs_factors f32[2, 512]
#pragma hone scratch c_rhs_peak f32[128, 32]
#pragma hone scratch c_rhs_small f32[128, 32]
#pragma hone tensormap lhs_map = c_lhs_high dims(2048, 512) strides(4096) box(64, 128) swizzle(128)
#pragma hone tensormap rhs_map = c_rhs_high dims(512, 2048) strides(1024) box(64, 64) swizzle(128)
#pragma hone launch c_lhs_split grid(512) block(128) args(a, c_lhs_high, c_lhs_factors)
#pragma hone launch c_rhs_split grid(128) block(512) cluster(8) programmatic args(b, c_rhs_high, c_rhs_factors, c_rhs_peak, c_rhs_small)
#pragma hone launch c_gemm grid(16) block(384) shared(147584) programmatic args(a, b, c, c_lhs_factors, c_rhs_factors, lhs_map, rhs_map)

HONE_KERNEL(128) c_lhs_split(const unsigned char *__restrict__ a, unsigned short *__restrict__ c_lhs_high, float *__restrict__ c_lhs_factors) {
    float kept[16];
    float peak_part;
    HONE_SHARED(peak_warps, 4);
    float small_part;
    HONE_SHARED(small_warps, 4);
    const int block = hone_block();
    const int thread = hone_thread();
    hone_launch_next();
    peak_part = -HONE_INFINITY;
    #pragma unroll
    for (int item = 0; item < 16; item++) {
        int j = item * 128 + thread;
        float a_v = hone_from_f8e4m3(a[block * K + j]);
        kept[item] = a_v;
        peak_part = hone_max1(peak_part, hone_abs1(a_v));
    }
    float peak_own = peak_part;
    float peak_warp = hone_warp_max(peak_own);
    if (thread % 32 < 1) {
        peak_warps[thread / 32] = peak_warp;
    }
    hone_barrier();
    float peak = hone_lanes_max4(hone_load4(&peak_warps[0]));
    float shift = 14.0f - hone_min1(hone_max1(hone_floor1(hone_log2_1(hone_max1(peak, 1.92592994e-34f))), -112.0f), 127.0f);
    float half = hone_floor1(shift * 0.5f);
    float scale = hone_exp2_1(half);
    float scale_2 = hone_exp2_1(shift - half);
    small_part = 0.0f;
    #pragma unroll
    for (int item = 0; item < 16; item++) {
        int j = item * 128 + thread;
        float scaled = kept[item] * scale * scale_2;
        float high = hone_round_f16(scaled);
        small_part += (((hone_abs1(scaled) < 6.10351562e-05f) & (scaled != 0.0f)) ? 1.0f : 0.0f);
        int at = block * 2048 + j;
        c_lhs_high[at] = hone_to_f16(high);
    }
    float small_own = small_part;
    float small_warp = hone_warp_sum(small_own);
    if (thread % 32 < 1) {
        small_warps[thread / 32] = small_warp;
    }
    hone_barrier();
    float small = hone_lanes_sum4(hone_load4(&small_warps[0]));
    if (thread < 1) {
        c_lhs_factors[block] = (((peak < HONE_INFINITY) & (small <= 128.0f)) ? hone_exp2_1(-half) : 0.0f);
        c_lhs_factors[512 + block] = (((peak < HONE_INFINITY) & (small <= 128.0f)) ? hone_exp2_1(-(shift - half)) : 0.0f);
    }
}

HONE_KERNEL_OF(512, 2) c_rhs_split(const unsigned char *__restrict__ b, unsigned short *__restrict__ c_rhs_high, float *__restrict__ c_rhs_factors, float *c_rhs_peak, float *c_rhs_small) {
    HONE_SHARED(scales, 5 * 32);
    float kept_[16];
    float peak_part_;
    HONE_SHARED(peak_parts, 16 * 32);
    float peak_all;
    float small_part_;
    HONE_SHARED(small_parts, 16 * 32);
    float small_all;
    const int block = hone_block();
    const int thread = hone_thread();
    hone_launch_next();
    int column = thread % 32;
    int lane = thread / 32;
    int first = block / 8 * 32;
    int own = first + column;
    int begin = block % 8 * 256;
    int end = begin + 256;
    peak_part_ = -HONE_INFINITY;
    #pragma unroll
    for (int item = 0; item < 16; item++) {
        int j = begin + item * 16 + lane;
        if (j < end) {
            float b_v = hone_from_f8e5m2(b[j * N + own]);
            kept_[item] = b_v;
            peak_part_ = hone_max1(peak_part_, hone_abs1(b_v));
        }
    }
    peak_parts[lane * 32 + column] = peak_part_;
    hone_barrier();
    if (thread < 32) {
        peak_all = peak_parts[thread];
        #pragma unroll
        for (int row = 1; row < 16; row++) {
            peak_all = hone_max1(peak_all, peak_parts[thread + row * 32]);
        }
        c_rhs_peak[block * 32 + thread] = peak_all;
    }
    hone_cluster_barrier();
    if (thread < 32) {
        peak_all = c_rhs_peak[block / 8 * 8 * 32 + thread];
        peak_all = hone_max1(peak_all, c_rhs_peak[(block / 8 * 8 + 1) * 32 + thread]);
        peak_all = hone_max1(peak_all, c_rhs_peak[(block / 8 * 8 + 2) * 32 + thread]);
        peak_all = hone_max1(peak_all, c_rhs_peak[(block / 8 * 8 + 3) * 32 + thread]);
        peak_all = hone_max1(peak_all, c_rhs_peak[(block / 8 * 8 + 4) * 32 + thread]);
        peak_all = hone_max1(peak_all, c_rhs_peak[(block / 8 * 8 + 5) * 32 + thread]);
        peak_all = hone_max1(peak_all, c_rhs_peak[(block / 8 * 8 + 6) * 32 + thread]);
        peak_all = hone_max1(peak_all, c_rhs_peak[(block / 8 * 8 + 7) * 32 + thread]);
        float peak = peak_all;
        float shift = 14.0f - hone_min1(hone_max1(hone_floor1(hone_log2_1(hone_max1(peak, 1.92592994e-34f))), -112.0f), 127.0f);
        float half = hone_floor1(shift * 0.5f);
        float scale = hone_exp2_1(half);
        float scale_2 = hone_exp2_1(shift - half);
        scales[thread] = scale;
        scales[32 + thread] = scale_2;
        scales[64 + thread] = hone_exp2_1(-half);
        scales[96 + thread] = hone_exp2_1(-(shift - half));
        scales[128 + thread] = peak;
    }
    hone_barrier();
    float scale = scales[column];
    float scale_2 = scales[32 + column];
    small_part_ = 0.0f;
    #pragma unroll
    for (int item = 0; item < 16; item++) {
        int j = begin + item * 16 + lane;
        if (j < end) {
            float scaled = kept_[item] * scale * scale_2;
            float high = hone_round_f16(scaled);
            small_part_ += (((hone_abs1(scaled) < 6.10351562e-05f) & (scaled != 0.0f)) ? 1.0f : 0.0f);
            int at = j * 512 + own;
            c_rhs_high[at] = hone_to_f16(high);
        }
    }
    small_parts[lane * 32 + column] = small_part_;
    hone_barrier();
    if (thread < 32) {
        small_all = small_parts[thread];
        #pragma unroll
        for (int row = 1; row < 16; row++) {
            small_all += small_parts[thread + row * 32];
        }
        c_rhs_small[block * 32 + thread] = small_all;
    }
    hone_cluster_barrier();
    if (thread < 32) {
        small_all = c_rhs_small[block / 8 * 8 * 32 + thread];
        small_all += c_rhs_small[(block / 8 * 8 + 1) * 32 + thread];
        small_all += c_rhs_small[(block / 8 * 8 + 2) * 32 + thread];
        small_all += c_rhs_small[(block / 8 * 8 + 3) * 32 + thread];
        small_all += c_rhs_small[(block / 8 * 8 + 4) * 32 + thread];
        small_all += c_rhs_small[(block / 8 * 8 + 5) * 32 + thread];
        small_all += c_rhs_small[(block / 8 * 8 + 6) * 32 + thread];
        small_all += c_rhs_small[(block / 8 * 8 + 7) * 32 + thread];
        float small = small_all;
        if (block % 8 < 1) {
            int own_2 = first + thread;
            if (own_2 < 512) {
                c_rhs_factors[own_2] = (((scales[128 + thread] < HONE_INFINITY) & (small <= 128.0f)) ? scales[64 + thread] : 0.0f);
                c_rhs_factors[512 + own_2] = (((scales[128 + thread] < HONE_INFINITY) & (small <= 128.0f)) ? scales[96 + thread] : 0.0f);
            }
        }
    }
    hone_launch_wait();
}

HONE_KERNEL_OF(384, 1) c_gemm(const unsigned char *__restrict__ a, const unsigned char *__restrict__ b, unsigned short *__restrict__ c, const float *c_lhs_factors, const float *c_rhs_factors, HONE_MAP(lhs_map), HONE_MAP(rhs_map)) {
    HONE_DYNAMIC_OF(unsigned short, lhs_tile, 0, 512 * 64);
    HONE_DYNAMIC_OF(unsigned short, rhs_tile, 65536, 512 * 64);
    HONE_DYNAMIC_OF(long long, full, 131072, 4);
    HONE_DYNAMIC_OF(long long, empty, 131104, 4);
    float least;
    float plain;
    float plain_part;
    HONE_DYNAMIC_OF(unsigned short, passage, 131200, 8192);
    f32x2 sum[32];
    const int block = hone_block();
    const int thread = hone_thread();
    if (thread < 1) {
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_mbarrier_init(&full[i], 1);
            hone_mbarrier_init(&empty[i], 2);
        }
    }
    hone_barrier();
    hone_launch_wait();
    hone_renew(c_lhs_factors);
    hone_renew(c_rhs_factors);
    if (thread < 128) {
        hone_registers_less(40);
        if (thread < 1) {
            int row0 = block % 4 * 128;
            int column0 = block / 4 * 128;
            #pragma unroll 1
            for (int slice = 0; slice < 32; slice++) {
                int slot = slice % 4;
                hone_mbarrier_wait(&empty[slot], (slice + 4) / 4 % 2);
                hone_mbarrier_expect(&full[slot], 32768);
                hone_bulk_copy2(&lhs_tile[slot * 8192], &lhs_map, &full[slot], slice * 64, row0);
                #pragma unroll
                for (int box = 0; box < 2; box++) {
                    hone_bulk_copy2(&rhs_tile[slot * 8192 + box * 64 * 64], &rhs_map, &full[slot], column0 + box * 64, slice * 64);
                }
            }
        }
    }
    if (127 < thread) {
        hone_registers_more(232);
        int consumer = thread / 128 - 1;
        int row0 = block % 4 * 128;
        int column0 = block / 4 * 128;
        for (int slice = 0; slice < 32; slice++) {
            int slot = slice % 4;
            hone_mbarrier_wait(&full[slot], slice / 4 % 2);
            hone_wgmma_fence();
            hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64], &rhs_tile[slot * 8192], 0, 1, slice);
            hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 16], &rhs_tile[slot * 8192 + 1024], 0, 1, 1);
            hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 32], &rhs_tile[slot * 8192 + 2048], 0, 1, 1);
            hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 48], &rhs_tile[slot * 8192 + 3072], 0, 1, 1);
            hone_wgmma_commit();
            hone_wgmma_wait(1);
            if (0 < slice) {
                if (thread % 128 < 1) {
                    hone_mbarrier_arrive(&empty[(slice + 3) % 4]);
                }
            }
        }
        hone_wgmma_wait(0);
        int lane = thread % 32;
        int warp = thread / 32 % 4;
        int own = row0 + consumer * 64 + warp * 16;
        least = 1.0f;
        #pragma unroll
        for (int c_v = 0; c_v < 2; c_v++) {
            hone_warp_sync();
            #pragma unroll
            for (int half = 0; half < 2; half++) {
                int row = own + half * 8 + lane / 4;
                #pragma unroll
                for (int j = 0; j < 8; j++) {
                    int column = column0 + c_v * 64 + j * 8 + lane % 4 * 2;
                    f32x2 first = c_lhs_factors[row] * hone_load2(&c_rhs_factors[column]);
                    f32x2 second = c_lhs_factors[512 + row] * hone_load2(&c_rhs_factors[512 + column]);
                    least = hone_min1(least, hone_lanes_min2(first));
                    f32x2 c_f32 = sum[(c_v * 8 + j) * 2 + half] * first * second;
                    hone_store2_bf16(&passage[(consumer * 4 + warp) * 1024 + (half * 8 + lane / 4) * 64 + (j ^ (lane / 4)) * 8 + lane % 4 * 2], c_f32);
                }
            }
            hone_warp_sync();
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                int row = own + i * 4 + lane / 8;
                int column = column0 + c_v * 64 + lane % 8 * 8;
                hone_store8_bf16(&c[row * N + column], hone_load8_bf16(&passage[(consumer * 4 + warp) * 1024 + (i * 4 + lane / 8) * 64 + ((lane % 8) ^ ((i * 4 + lane / 8) % 8)) * 8]));
            }
        }
        hone_warp_sync();
        if (0 < hone_to_int((int)(least <= 0.0f), 0, 1)) {
            for (int j = 0; j < 32; j++) {
                int row = own + j % 2 * 8 + lane / 4;
                int column = column0 + j / 2 * 8 + lane % 4 * 2;
                for (int lane_2 = 0; lane_2 < 2; lane_2++) {
                    int column_2 = column + lane_2;
                    if (0 < hone_to_int((int)(c_lhs_factors[row] * c_rhs_factors[column_2] <= 0.0f), 0, 1)) {
                        plain = 0.0f;
                        for (int part = 0; part < 2048; part += 256) {
                            plain_part = 0.0f;
                            for (int k = part; k < part + 256; k++) {
                                float a_v = hone_from_f8e4m3(a[row * K + k]);
                                float b_v = hone_from_f8e5m2(b[k * N + column_2]);
                                plain_part += a_v * b_v;
                            }
                            plain += plain_part;
                        }
                        float c_f32 = plain;
                        c[row * N + column_2] = hone_to_bf16(c_f32);
                    }
                }
            }
        }
    }
}
