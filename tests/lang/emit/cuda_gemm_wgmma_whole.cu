// whole, by hone VERSION.
// kernel for whole on sm_90a
// stage c : gemm as wgmma  tile 128x128  warpgroups 2  stages 4  group 4  split 1  apart 0  cluster 1  boxes 2
#include "dev.h"

#ifndef M
#define M 512
#endif
#ifndef N
#define N 512
#endif
#ifndef K
#define K 1024
#endif

HONE_ASSERT(M == 512, "lowered for M = 512");
HONE_ASSERT(N == 512, "lowered for N = 512");
HONE_ASSERT(K == 1024, "lowered for K = 1024");

#pragma hone tensormap lhs_map = a dims(1024, 512) strides(1024) box(128, 128) swizzle(128)
#pragma hone tensormap rhs_map = b dims(1024, 512) strides(1024) box(128, 128) swizzle(128)
#pragma hone launch c_gemm grid(16) block(384) shared(131136) args(c, lhs_map, rhs_map)

HONE_KERNEL_OF(384, 1) c_gemm(int *__restrict__ c, HONE_MAP(lhs_map), HONE_MAP(rhs_map)) {
    HONE_DYNAMIC_OF(signed char, lhs_tile, 0, 512 * 128);
    HONE_DYNAMIC_OF(signed char, rhs_tile, 65536, 512 * 128);
    HONE_DYNAMIC_OF(long long, full, 131072, 4);
    HONE_DYNAMIC_OF(long long, empty, 131104, 4);
    i32x2 sum[32];
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
            int row0 = block % 4 * 128;
            int column0 = block / 4 * 128;
            #pragma unroll 1
            for (int slice = 0; slice < 8; slice++) {
                int slot = slice % 4;
                hone_mbarrier_wait(&empty[slot], (slice + 4) / 4 % 2);
                hone_mbarrier_expect(&full[slot], 32768);
                hone_bulk_copy2(&lhs_tile[slot * 16384], &lhs_map, &full[slot], slice * 128, row0);
                hone_bulk_copy2(&rhs_tile[slot * 16384], &rhs_map, &full[slot], slice * 128, column0);
            }
        }
    }
    if (127 < thread) {
        hone_registers_more(232);
        int consumer = thread / 128 - 1;
        int row0 = block % 4 * 128;
        int column0 = block / 4 * 128;
        for (int slice = 0; slice < 8; slice++) {
            int slot = slice % 4;
            hone_mbarrier_wait(&full[slot], slice / 4);
            hone_wgmma_fence();
            hone_wgmma_i8_128(&sum[0], &lhs_tile[slot * 16384 + consumer * 64 * 128], &rhs_tile[slot * 16384], 0, 0, slice);
            hone_wgmma_i8_128(&sum[0], &lhs_tile[slot * 16384 + consumer * 64 * 128 + 32], &rhs_tile[slot * 16384 + 32], 0, 0, 1);
            hone_wgmma_i8_128(&sum[0], &lhs_tile[slot * 16384 + consumer * 64 * 128 + 64], &rhs_tile[slot * 16384 + 64], 0, 0, 1);
            hone_wgmma_i8_128(&sum[0], &lhs_tile[slot * 16384 + consumer * 64 * 128 + 96], &rhs_tile[slot * 16384 + 96], 0, 0, 1);
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
        #pragma unroll
        for (int j = 0; j < 16; j++) {
            int column = column0 + j * 8 + lane % 4 * 2;
            #pragma unroll
            for (int half = 0; half < 2; half++) {
                int row = own + half * 8 + lane / 4;
                i32x2 c_v = sum[j * 2 + half];
                hone_store2_i32(&c[row * N + column], c_v);
            }
        }
    }
}
