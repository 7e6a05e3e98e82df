// down, by hone VERSION.
// kernel for down on sm_90a
// stage y : gemm as wgmma  tile 128x256  warpgroups 2  stages 3  group 8  split 1  apart 0  cluster 1  boxes 2
#include "dev.h"

#ifndef M
#define M 2000
#endif
#ifndef N
#define N 4096
#endif
#ifndef K
#define K 14336
#endif

HONE_ASSERT(M == 2000, "lowered for M = 2000");
HONE_ASSERT(N == 4096, "lowered for N = 4096");
HONE_ASSERT(K == 14336, "lowered for K = 14336");

#pragma hone tensormap lhs_map = gate dims(14336, 2000) strides(28672) box(64, 128) swizzle(128)
#pragma hone tensormap lhs_second_map = up dims(14336, 2000) strides(28672) box(64, 128) swizzle(128)
#pragma hone tensormap rhs_map = w dims(14336, 4096) strides(28672) box(64, 256) swizzle(128)
#pragma hone tensormap box_map = y dims(4096, 2000, 1) strides(8192, 16384000) box(64, 16, 1) swizzle(128)
#pragma hone launch y_gemm grid(132) block(384) shared(229472) args(lhs_map, lhs_second_map, rhs_map, box_map)

HONE_KERNEL_OF(384, 1) y_gemm(HONE_MAP(lhs_map), HONE_MAP(lhs_second_map), HONE_MAP(rhs_map), HONE_MAP(box_map)) {
    HONE_DYNAMIC_OF(unsigned short, lhs_tile, 0, 384 * 64);
    HONE_DYNAMIC_OF(unsigned short, lhs_second_tile, 49152, 384 * 64);
    HONE_DYNAMIC_OF(unsigned short, rhs_tile, 98304, 768 * 64);
    HONE_DYNAMIC_OF(unsigned short, passage, 196608, 16384);
    HONE_DYNAMIC_OF(long long, full, 229376, 3);
    HONE_DYNAMIC_OF(long long, empty, 229408, 3);
    HONE_DYNAMIC_OF(long long, ready, 229440, 3);
    f32x2 sum[64];
    const int block = hone_block();
    const int thread = hone_thread();
    if (thread < 1) {
        #pragma unroll
        for (int i = 0; i < 3; i++) {
            hone_mbarrier_init(&full[i], 1);
            hone_mbarrier_init(&empty[i], 2);
            hone_mbarrier_init(&ready[i], 96);
        }
    }
    hone_barrier();
    if (thread < 128) {
        hone_registers_less(88);
    }
    if (thread < 1) {
        for (int tile = block; tile < 256; tile += 132) {
            int before = tile / 132 * 224;
            int above = tile / 128 * 8;
            int inside = tile % 128;
            int row0 = (above + inside % 8) * 128;
            int column0 = inside / 8 * 256;
            #pragma unroll 1
            for (int slice = 0; slice < 224; slice++) {
                int count = before + slice;
                int slot = count % 3;
                hone_mbarrier_wait(&empty[slot], (count + 3) / 3 % 2);
                hone_mbarrier_expect(&full[slot], 65536);
                hone_bulk_copy2(&lhs_tile[slot * 8192], &lhs_map, &full[slot], slice * 64, row0);
                hone_bulk_copy2(&lhs_second_tile[slot * 8192], &lhs_second_map, &full[slot], slice * 64, row0);
                hone_bulk_copy2(&rhs_tile[slot * 16384], &rhs_map, &full[slot], slice * 64, column0);
            }
        }
    }
    if ((thread + 352) % 384 < 96) {
        int own = hone_to_int((int)((thread + 352) % 384), 0, 95);
        for (int tile = block; tile < 256; tile += 132) {
            int before = tile / 132 * 224;
            for (int slice = 0; slice < 224; slice++) {
                int count = before + slice;
                int slot = count % 3;
                hone_mbarrier_wait(&full[slot], count / 3 % 2);
                #pragma unroll
                for (int item = 0; item < 11; item++) {
                    if (item * 12 + own / 8 < 128) {
                        f32x8 gate_v = hone_load8_bf16(&lhs_tile[slot * 8192 + (item * 12 + own / 8) * 64 + ((own % 8) ^ ((item * 12 + own / 8) % 8)) * 8]);
                        f32x8 up_v = hone_load8_bf16(&lhs_second_tile[slot * 8192 + (item * 12 + own / 8) * 64 + ((own % 8) ^ ((item * 12 + own / 8) % 8)) * 8]);
                        f32x8 t_1_neg = -gate_v;
                        f32x8 t_1_exp = hone_exp_quick8(t_1_neg);
                        f32x8 t_1_sum = t_1_exp + 1.0f;
                        f32x8 t_1 = gate_v * hone_inverse_quick8(t_1_sum);
                        f32x8 h_f32 = t_1 * up_v;
                        hone_store8_bf16(&lhs_tile[slot * 8192 + (item * 12 + own / 8) * 64 + ((own % 8) ^ ((item * 12 + own / 8) % 8)) * 8], h_f32);
                    }
                }
                hone_fence_writes();
                hone_mbarrier_arrive(&ready[slot]);
            }
        }
    }
    if (127 < thread) {
        hone_registers_more(208);
        int consumer = thread / 128 - 1;
        for (int tile = block; tile < 256; tile += 132) {
            int before = tile / 132 * 224;
            int above = tile / 128 * 8;
            int inside = tile % 128;
            int row0 = (above + inside % 8) * 128;
            int column0 = inside / 8 * 256;
            for (int slice = 0; slice < 224; slice++) {
                int count = before + slice;
                int slot = count % 3;
                hone_mbarrier_wait(&ready[slot], count / 3 % 2);
                hone_wgmma_fence();
                hone_wgmma_bf16_256(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64], &rhs_tile[slot * 16384], 0, 0, slice);
                hone_wgmma_bf16_256(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 16], &rhs_tile[slot * 16384 + 16], 0, 0, 1);
                hone_wgmma_bf16_256(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 32], &rhs_tile[slot * 16384 + 32], 0, 0, 1);
                hone_wgmma_bf16_256(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 48], &rhs_tile[slot * 16384 + 48], 0, 0, 1);
                hone_wgmma_commit();
                hone_wgmma_wait(1);
                if (0 < slice) {
                    if (thread % 128 < 1) {
                        hone_mbarrier_arrive(&empty[(count + 2) % 3]);
                    }
                }
            }
            hone_wgmma_wait(0);
            if (thread % 128 < 1) {
                hone_mbarrier_arrive(&empty[(before + 226) % 3]);
            }
            int lane = thread % 32;
            int warp = thread / 32 % 4;
            int own = row0 + consumer * 64 + warp * 16;
            #pragma unroll
            for (int box = 0; box < 4; box++) {
                hone_bulk_stored(1);
                #pragma unroll
                for (int half = 0; half < 2; half++) {
                    int row = own + half * 8 + lane / 4;
                    if (row < M) {
                        #pragma unroll
                        for (int j = 0; j < 8; j++) {
                            f32x2 y_f32 = sum[(box * 8 + j) * 2 + half];
                            hone_store2_bf16(&passage[((consumer * 4 + warp) * 2 + box % 2) * 1024 + (half * 8 + lane / 4) * 64 + (((j * 8 + lane % 4 * 2) / 8) ^ (lane / 4)) * 8 + (j * 8 + lane % 4 * 2) % 8], y_f32);
                        }
                    }
                }
                hone_bulk_store3(&passage[((consumer * 4 + warp) * 2 + box % 2) * 1024], &box_map, column0 + box * 64, hone_to_int((int)own, 0, 1073741823), 0);
            }
        }
        hone_bulk_stored(0);
    }
}
