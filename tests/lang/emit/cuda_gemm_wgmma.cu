// hidden, by hone VERSION.
// kernel for hidden on sm_90a
// stage y : gemm as wgmma  tile 128x256  warpgroups 2  stages 4  group 8  split 1  apart 0  cluster 1  boxes 2
#include "dev.h"

#ifndef M
#define M 4096
#endif
#ifndef N
#define N 4096
#endif
#ifndef K
#define K 1024
#endif

HONE_ASSERT(M == 4096, "lowered for M = 4096");
HONE_ASSERT(N == 4096, "lowered for N = 4096");
HONE_ASSERT(K == 1024, "lowered for K = 1024");

#pragma hone tensormap lhs_map = x dims(1024, 4096) strides(2048) box(64, 128) swizzle(128)
#pragma hone tensormap rhs_map = w dims(1024, 4096) strides(2048) box(64, 256) swizzle(128)
#pragma hone tensormap box_map = y dims(4096, 4096, 1) strides(8192, 33554432) box(64, 16, 1) swizzle(128)
#pragma hone launch y_gemm grid(132) block(384) shared(229440) args(bias, lhs_map, rhs_map, box_map)

HONE_KERNEL_OF(384, 1) y_gemm(const unsigned short *__restrict__ bias, HONE_MAP(lhs_map), HONE_MAP(rhs_map), HONE_MAP(box_map)) {
    HONE_DYNAMIC_OF(unsigned short, lhs_tile, 0, 512 * 64);
    HONE_DYNAMIC_OF(unsigned short, rhs_tile, 65536, 1024 * 64);
    HONE_DYNAMIC_OF(unsigned short, passage, 196608, 16384);
    HONE_DYNAMIC_OF(long long, full, 229376, 4);
    HONE_DYNAMIC_OF(long long, empty, 229408, 4);
    f32x2 sum[64];
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
    if (thread < 128) {
        hone_registers_less(40);
        if (thread < 1) {
            for (int tile = block; tile < 512; tile += 132) {
                int before = tile / 132 * 16;
                int above = tile / 128 * 8;
                int inside = tile % 128;
                int row0 = (above + inside % 8) * 128;
                int column0 = inside / 8 * 256;
                #pragma unroll 1
                for (int slice = 0; slice < 16; slice++) {
                    int count = before + slice;
                    int slot = count % 4;
                    hone_mbarrier_wait(&empty[slot], (count + 4) / 4 % 2);
                    hone_mbarrier_expect(&full[slot], 49152);
                    hone_bulk_copy2(&lhs_tile[slot * 8192], &lhs_map, &full[slot], slice * 64, row0);
                    hone_bulk_copy2(&rhs_tile[slot * 16384], &rhs_map, &full[slot], slice * 64, column0);
                }
            }
        }
    }
    if (127 < thread) {
        hone_registers_more(232);
        int consumer = thread / 128 - 1;
        for (int tile = block; tile < 512; tile += 132) {
            int before = tile / 132 * 16;
            int above = tile / 128 * 8;
            int inside = tile % 128;
            int row0 = (above + inside % 8) * 128;
            int column0 = inside / 8 * 256;
            for (int slice = 0; slice < 16; slice++) {
                int count = before + slice;
                int slot = count % 4;
                hone_mbarrier_wait(&full[slot], count / 4 % 2);
                hone_wgmma_fence();
                hone_wgmma_bf16_256(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64], &rhs_tile[slot * 16384], 0, 0, slice);
                hone_wgmma_bf16_256(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 16], &rhs_tile[slot * 16384 + 16], 0, 0, 1);
                hone_wgmma_bf16_256(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 32], &rhs_tile[slot * 16384 + 32], 0, 0, 1);
                hone_wgmma_bf16_256(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 48], &rhs_tile[slot * 16384 + 48], 0, 0, 1);
                hone_wgmma_commit();
                hone_wgmma_wait(1);
                if (0 < slice) {
                    if (thread % 128 < 1) {
                        hone_mbarrier_arrive(&empty[(count + 3) % 4]);
                    }
                }
            }
            hone_wgmma_wait(0);
            if (thread % 128 < 1) {
                hone_mbarrier_arrive(&empty[(before + 19) % 4]);
            }
            int lane = thread % 32;
            int warp = thread / 32 % 4;
            int own = row0 + consumer * 64 + warp * 16;
            #pragma unroll
            for (int box = 0; box < 4; box++) {
                hone_bulk_stored(1);
                #pragma unroll
                for (int half = 0; half < 2; half++) {
                    #pragma unroll
                    for (int j = 0; j < 8; j++) {
                        int column = column0 + box * 64 + j * 8 + lane % 4 * 2;
                        f32x2 t_1 = sum[(box * 8 + j) * 2 + half];
                        f32x2 bias_v = hone_load2_bf16(&bias[column]);
                        f32x2 t_2 = t_1 + bias_v;
                        f32x2 y_f32 = hone_gelu_quick2(t_2);
                        hone_store2_bf16(&passage[((consumer * 4 + warp) * 2 + box % 2) * 1024 + (half * 8 + lane / 4) * 64 + (((j * 8 + lane % 4 * 2) / 8) ^ (lane / 4)) * 8 + (j * 8 + lane % 4 * 2) % 8], y_f32);
                    }
                }
                hone_bulk_store3(&passage[((consumer * 4 + warp) * 2 + box % 2) * 1024], &box_map, column0 + box * 64, hone_to_int((int)own, 0, 1073741823), 0);
            }
        }
        hone_bulk_stored(0);
    }
}
