// split, by hone VERSION.
// kernel for split on sm_90a
// stage y : gemm as wgmma  tile 128x128  warpgroups 2  stages 3  group 8  split 1  apart 0  cluster 1  boxes 2
#include "dev.h"

#ifndef M
#define M 1000
#endif
#ifndef N
#define N 2050
#endif
#ifndef K
#define K 3000
#endif

HONE_ASSERT(M == 1000, "lowered for M = 1000");
HONE_ASSERT(N == 2050, "lowered for N = 2050");
HONE_ASSERT(K == 3000, "lowered for K = 3000");

#pragma hone scratch y_lhs_high f16[1000, 3000]
#pragma hone scratch y_lhs_low f16[1000, 3000]
#pragma hone scratch y_lhs_factors f32[2, 1000]
#pragma hone scratch y_rhs_high f16[3000, 2056]
#pragma hone scratch y_rhs_low f16[3000, 2056]
#pragma hone scratch y_rhs_factors f32[2, 2056]
#pragma hone scratch y_rhs_peak f32[520, 32]
#pragma hone scratch y_rhs_small f32[520, 32]
#pragma hone tensormap lhs_map = y_lhs_high dims(3000, 1000) strides(6000) box(64, 128) swizzle(128)
#pragma hone tensormap lhs_low_map = y_lhs_low dims(3000, 1000) strides(6000) box(64, 128) swizzle(128)
#pragma hone tensormap rhs_map = y_rhs_high dims(2050, 3000) strides(4112) box(64, 64) swizzle(128)
#pragma hone tensormap rhs_low_map = y_rhs_low dims(2050, 3000) strides(4112) box(64, 64) swizzle(128)
#pragma hone launch y_lhs_split grid(1000) block(256) args(x, y_lhs_high, y_lhs_low, y_lhs_factors)
#pragma hone launch y_rhs_split grid(520) block(512) cluster(8) programmatic args(w, y_rhs_high, y_rhs_low, y_rhs_factors, y_rhs_peak, y_rhs_small)
#pragma hone launch y_gemm grid(132) block(384) shared(196672) programmatic args(x, w, bias, y, y_lhs_factors, y_rhs_factors, lhs_map, lhs_low_map, rhs_map, rhs_low_map)

HONE_KERNEL(256) y_lhs_split(const float *__restrict__ x, unsigned short *__restrict__ y_lhs_high, unsigned short *__restrict__ y_lhs_low, float *__restrict__ y_lhs_factors) {
    f32x4 kept[3];
    f32x4 peak_part;
    HONE_SHARED(peak_warps, 8);
    f32x4 small_part;
    HONE_SHARED(small_warps, 8);
    const int block = hone_block();
    const int thread = hone_thread();
    hone_launch_next();
    peak_part = hone_all4(-HONE_INFINITY);
    #pragma unroll
    for (int item = 0; item < 3; item++) {
        int j = item * 1024 + thread * 4;
        if (j < 3000) {
            f32x4 x_v = hone_load4(&x[block * K + j]);
            kept[item] = x_v;
            peak_part = hone_max4(peak_part, hone_abs4(x_v));
        }
    }
    float peak_own = hone_lanes_max4(peak_part);
    float peak_warp = hone_warp_max(peak_own);
    if (thread % 32 < 1) {
        peak_warps[thread / 32] = peak_warp;
    }
    hone_barrier();
    float peak = hone_lanes_max4(hone_max4(hone_load4(&peak_warps[0]), hone_load4(&peak_warps[4])));
    float shift = 14.0f - hone_min1(hone_max1(hone_floor1(hone_log2_1(hone_max1(peak, 1.92592994e-34f))), -112.0f), 127.0f);
    float half = hone_floor1(shift * 0.5f);
    float scale = hone_exp2_1(half);
    float scale_2 = hone_exp2_1(shift - half);
    small_part = hone_all4(0.0f);
    #pragma unroll
    for (int item = 0; item < 3; item++) {
        int j = item * 1024 + thread * 4;
        if (j < 3000) {
            f32x4 scaled = kept[item] * scale * scale_2;
            f32x4 high = hone_round4_f16(scaled);
            small_part += hone_select4(((hone_abs4(scaled) < 6.10351562e-05f) & (scaled != 0.0f)), hone_all4(1.0f), hone_all4(0.0f));
            int at = block * 3000 + j;
            hone_store4_f16(&y_lhs_high[at], high);
            hone_store4_f16(&y_lhs_low[at], (scaled - high) * 2048.0f);
        }
    }
    float small_own = hone_lanes_sum4(small_part);
    float small_warp = hone_warp_sum(small_own);
    if (thread % 32 < 1) {
        small_warps[thread / 32] = small_warp;
    }
    hone_barrier();
    float small = hone_lanes_sum4(hone_load4(&small_warps[0]) + hone_load4(&small_warps[4]));
    if (thread < 1) {
        y_lhs_factors[block] = (((peak < HONE_INFINITY) & (small <= 188.0f)) ? hone_exp2_1(-half) : 0.0f);
        y_lhs_factors[1000 + block] = (((peak < HONE_INFINITY) & (small <= 188.0f)) ? hone_exp2_1(-(shift - half)) : 0.0f);
    }
}

HONE_KERNEL_OF(512, 2) y_rhs_split(const float *__restrict__ w, unsigned short *__restrict__ y_rhs_high, unsigned short *__restrict__ y_rhs_low, float *__restrict__ y_rhs_factors, float *y_rhs_peak, float *y_rhs_small) {
    HONE_SHARED(scales, 5 * 32);
    f32x2 kept_[12];
    f32x2 peak_part_;
    HONE_SHARED(peak_parts, 32 * 32);
    float peak_all;
    HONE_SHARED(peak_warps_2, 16 * 32);
    f32x2 small_part_;
    HONE_SHARED(small_parts, 32 * 32);
    float small_all;
    HONE_SHARED(small_warps_2, 16 * 32);
    const int block = hone_block();
    const int thread = hone_thread();
    hone_launch_next();
    int column = thread % 16;
    int lane = thread / 16;
    int first = block / 8 * 32;
    int own = first + column * 2;
    int near = (own < 2048 ? own : 2048);
    int begin = block % 8 * 375;
    int end = begin + 375;
    peak_part_ = hone_all2(-HONE_INFINITY);
    #pragma unroll
    for (int item = 0; item < 12; item++) {
        int j = begin + item * 32 + lane;
        if (j < end) {
            f32x2 w_v = hone_load2(&w[j * N + near]);
            kept_[item] = w_v;
            peak_part_ = hone_max2(peak_part_, hone_abs2(w_v));
        }
    }
    hone_store2(&peak_parts[lane * 32 + column * 2], peak_part_);
    hone_barrier();
    peak_all = peak_parts[thread / 32 * 2 * 32 + thread % 32];
    peak_all = hone_max1(peak_all, peak_parts[thread / 32 * 2 * 32 + thread % 32 + 32]);
    peak_warps_2[thread] = peak_all;
    hone_barrier();
    if (thread < 32) {
        peak_all = peak_warps_2[thread];
        #pragma unroll
        for (int row = 1; row < 16; row++) {
            peak_all = hone_max1(peak_all, peak_warps_2[thread + row * 32]);
        }
        y_rhs_peak[block * 32 + thread] = peak_all;
    }
    hone_cluster_barrier();
    if (thread < 32) {
        peak_all = y_rhs_peak[block / 8 * 8 * 32 + thread];
        peak_all = hone_max1(peak_all, y_rhs_peak[(block / 8 * 8 + 1) * 32 + thread]);
        peak_all = hone_max1(peak_all, y_rhs_peak[(block / 8 * 8 + 2) * 32 + thread]);
        peak_all = hone_max1(peak_all, y_rhs_peak[(block / 8 * 8 + 3) * 32 + thread]);
        peak_all = hone_max1(peak_all, y_rhs_peak[(block / 8 * 8 + 4) * 32 + thread]);
        peak_all = hone_max1(peak_all, y_rhs_peak[(block / 8 * 8 + 5) * 32 + thread]);
        peak_all = hone_max1(peak_all, y_rhs_peak[(block / 8 * 8 + 6) * 32 + thread]);
        peak_all = hone_max1(peak_all, y_rhs_peak[(block / 8 * 8 + 7) * 32 + thread]);
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
    f32x2 scale = hone_load2(&scales[column * 2]);
    f32x2 scale_2 = hone_load2(&scales[32 + column * 2]);
    small_part_ = hone_all2(0.0f);
    #pragma unroll
    for (int item = 0; item < 12; item++) {
        int j = begin + item * 32 + lane;
        if (j < end) {
            f32x2 scaled = kept_[item] * scale * scale_2;
            f32x2 high = hone_round2_f16(scaled);
            small_part_ += hone_select2(((hone_abs2(scaled) < 6.10351562e-05f) & (scaled != 0.0f)), hone_all2(1.0f), hone_all2(0.0f));
            int at = j * 2056 + own;
            if (own < 2050) {
                hone_store2_f16(&y_rhs_high[at], high);
                hone_store2_f16(&y_rhs_low[at], (scaled - high) * 2048.0f);
            }
        }
    }
    hone_store2(&small_parts[lane * 32 + column * 2], small_part_);
    hone_barrier();
    small_all = small_parts[thread / 32 * 2 * 32 + thread % 32];
    small_all += small_parts[thread / 32 * 2 * 32 + thread % 32 + 32];
    small_warps_2[thread] = small_all;
    hone_barrier();
    if (thread < 32) {
        small_all = small_warps_2[thread];
        #pragma unroll
        for (int row = 1; row < 16; row++) {
            small_all += small_warps_2[thread + row * 32];
        }
        y_rhs_small[block * 32 + thread] = small_all;
    }
    hone_cluster_barrier();
    if (thread < 32) {
        small_all = y_rhs_small[block / 8 * 8 * 32 + thread];
        small_all += y_rhs_small[(block / 8 * 8 + 1) * 32 + thread];
        small_all += y_rhs_small[(block / 8 * 8 + 2) * 32 + thread];
        small_all += y_rhs_small[(block / 8 * 8 + 3) * 32 + thread];
        small_all += y_rhs_small[(block / 8 * 8 + 4) * 32 + thread];
        small_all += y_rhs_small[(block / 8 * 8 + 5) * 32 + thread];
        small_all += y_rhs_small[(block / 8 * 8 + 6) * 32 + thread];
        small_all += y_rhs_small[(block / 8 * 8 + 7) * 32 + thread];
        float small = small_all;
        if (block % 8 < 1) {
            int own_2 = first + thread;
            if (own_2 < 2050) {
                y_rhs_factors[own_2] = (((scales[128 + thread] < HONE_INFINITY) & (small <= 188.0f)) ? scales[64 + thread] : 0.0f);
                y_rhs_factors[2056 + own_2] = (((scales[128 + thread] < HONE_INFINITY) & (small <= 188.0f)) ? scales[96 + thread] : 0.0f);
            }
        }
    }
    hone_launch_wait();
}

HONE_KERNEL_OF(384, 1) y_gemm(const float *__restrict__ x, const float *__restrict__ w, const float *__restrict__ bias, float *__restrict__ y, const float *y_lhs_factors, const float *y_rhs_factors, HONE_MAP(lhs_map), HONE_MAP(lhs_low_map), HONE_MAP(rhs_map), HONE_MAP(rhs_low_map)) {
    HONE_DYNAMIC_OF(unsigned short, lhs_tile, 0, 384 * 64);
    HONE_DYNAMIC_OF(unsigned short, lhs_low_tile, 49152, 384 * 64);
    HONE_DYNAMIC_OF(unsigned short, rhs_tile, 98304, 384 * 64);
    HONE_DYNAMIC_OF(unsigned short, rhs_low_tile, 147456, 384 * 64);
    HONE_DYNAMIC_OF(long long, full, 196608, 3);
    HONE_DYNAMIC_OF(long long, empty, 196640, 3);
    f32x2 cross[32];
    float least;
    float plain;
    float plain_part;
    f32x2 sum[32];
    f32x2 total[32];
    const int block = hone_block();
    const int thread = hone_thread();
    if (thread < 1) {
        #pragma unroll
        for (int i = 0; i < 3; i++) {
            hone_mbarrier_init(&full[i], 1);
            hone_mbarrier_init(&empty[i], 2);
        }
    }
    hone_barrier();
    hone_launch_wait();
    hone_renew(y_lhs_factors);
    hone_renew(y_rhs_factors);
    if (thread < 128) {
        hone_registers_less(24);
        if (thread < 1) {
            for (int tile = block; tile < 136; tile += 132) {
                int before = tile / 132 * 47;
                int row0 = tile % 8 * 128;
                int column0 = tile / 8 * 128;
                #pragma unroll 1
                for (int slice = 0; slice < 47; slice++) {
                    int count = before + slice;
                    int slot = count % 3;
                    hone_mbarrier_wait(&empty[slot], (count + 3) / 3 % 2);
                    hone_mbarrier_expect(&full[slot], 65536);
                    hone_bulk_copy2(&lhs_tile[slot * 8192], &lhs_map, &full[slot], slice * 64, row0);
                    hone_bulk_copy2(&lhs_low_tile[slot * 8192], &lhs_low_map, &full[slot], slice * 64, row0);
                    #pragma unroll
                    for (int box = 0; box < 2; box++) {
                        hone_bulk_copy2(&rhs_tile[slot * 8192 + box * 64 * 64], &rhs_map, &full[slot], column0 + box * 64, slice * 64);
                    }
                    #pragma unroll
                    for (int box = 0; box < 2; box++) {
                        hone_bulk_copy2(&rhs_low_tile[slot * 8192 + box * 64 * 64], &rhs_low_map, &full[slot], column0 + box * 64, slice * 64);
                    }
                }
            }
        }
    }
    if (127 < thread) {
        hone_registers_more(240);
        int consumer = thread / 128 - 1;
        for (int tile = block; tile < 136; tile += 132) {
            int before = tile / 132 * 47;
            int row0 = tile % 8 * 128;
            int column0 = tile / 8 * 128;
            #pragma unroll
            for (int i = 0; i < 32; i++) {
                total[i] = hone_all2(0.0f);
            }
            for (int slice = 0; slice < 47; slice++) {
                int count = before + slice;
                int slot = count % 3;
                hone_mbarrier_wait(&full[slot], count / 3 % 2);
                hone_wgmma_fence();
                hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64], &rhs_tile[slot * 8192], 0, 1, 0);
                hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 16], &rhs_tile[slot * 8192 + 1024], 0, 1, 1);
                hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 32], &rhs_tile[slot * 8192 + 2048], 0, 1, 1);
                hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 48], &rhs_tile[slot * 8192 + 3072], 0, 1, 1);
                hone_wgmma_commit();
                hone_wgmma_f16_128(&cross[0], &lhs_tile[slot * 8192 + consumer * 64 * 64], &rhs_low_tile[slot * 8192], 0, 1, slice);
                hone_wgmma_f16_128(&cross[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 16], &rhs_low_tile[slot * 8192 + 1024], 0, 1, 1);
                hone_wgmma_f16_128(&cross[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 32], &rhs_low_tile[slot * 8192 + 2048], 0, 1, 1);
                hone_wgmma_f16_128(&cross[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 48], &rhs_low_tile[slot * 8192 + 3072], 0, 1, 1);
                hone_wgmma_f16_128(&cross[0], &lhs_low_tile[slot * 8192 + consumer * 64 * 64], &rhs_tile[slot * 8192], 0, 1, 1);
                hone_wgmma_f16_128(&cross[0], &lhs_low_tile[slot * 8192 + consumer * 64 * 64 + 16], &rhs_tile[slot * 8192 + 1024], 0, 1, 1);
                hone_wgmma_f16_128(&cross[0], &lhs_low_tile[slot * 8192 + consumer * 64 * 64 + 32], &rhs_tile[slot * 8192 + 2048], 0, 1, 1);
                hone_wgmma_f16_128(&cross[0], &lhs_low_tile[slot * 8192 + consumer * 64 * 64 + 48], &rhs_tile[slot * 8192 + 3072], 0, 1, 1);
                hone_wgmma_commit();
                hone_wgmma_wait(1);
                if (0 < slice) {
                    if (thread % 128 < 1) {
                        hone_mbarrier_arrive(&empty[(count + 2) % 3]);
                    }
                }
                #pragma unroll
                for (int i = 0; i < 32; i++) {
                    total[i] += sum[i];
                }
            }
            hone_wgmma_wait(0);
            if (thread % 128 < 1) {
                hone_mbarrier_arrive(&empty[(before + 49) % 3]);
            }
            #pragma unroll
            for (int i = 0; i < 32; i++) {
                total[i] += cross[i] * 0.00048828125f;
            }
            int lane = thread % 32;
            int warp = thread / 32 % 4;
            int own = row0 + consumer * 64 + warp * 16;
            least = 1.0f;
            #pragma unroll
            for (int j = 0; j < 16; j++) {
                int column = column0 + j * 8 + lane % 4 * 2;
                #pragma unroll
                for (int half = 0; half < 2; half++) {
                    int row = own + half * 8 + lane / 4;
                    if (row < M) {
                        if (column < N) {
                            f32x2 first = y_lhs_factors[row] * hone_load2(&y_rhs_factors[column]);
                            f32x2 second = y_lhs_factors[1000 + row] * hone_load2(&y_rhs_factors[2056 + column]);
                            least = hone_min1(least, hone_lanes_min2(first));
                            f32x2 t_1 = total[j * 2 + half] * first * second;
                            f32x2 bias_v = hone_load2(&bias[column]);
                            f32x2 t_2 = t_1 + bias_v;
                            f32x2 y_v = hone_max2(t_2, hone_all2(0.0f));
                            hone_store2(&y[row * N + column], y_v);
                        }
                    }
                }
            }
            if (0 < hone_to_int((int)(least <= 0.0f), 0, 1)) {
                for (int j = 0; j < 32; j++) {
                    int row = own + j % 2 * 8 + lane / 4;
                    int column = column0 + j / 2 * 8 + lane % 4 * 2;
                    if (row < M) {
                        for (int lane_2 = 0; lane_2 < 2; lane_2++) {
                            int column_2 = column + lane_2;
                            if (column_2 < N) {
                                if (0 < hone_to_int((int)(y_lhs_factors[row] * y_rhs_factors[column_2] <= 0.0f), 0, 1)) {
                                    plain = 0.0f;
                                    for (int part = 0; part < 3000; part += 256) {
                                        plain_part = 0.0f;
                                        for (int k = part; k < (part + 256 < 3000 ? part + 256 : 3000); k++) {
                                            float x_v = x[row * K + k];
                                            float w_v = w[k * N + column_2];
                                            plain_part += x_v * w_v;
                                        }
                                        plain += plain_part;
                                    }
                                    float t_1 = plain;
                                    float bias_v = bias[column_2];
                                    float t_2 = t_1 + bias_v;
                                    float y_v = hone_max1(t_2, 0.0f);
                                    y[row * N + column_2] = y_v;
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
