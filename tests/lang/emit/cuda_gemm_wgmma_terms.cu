// terms, by hone VERSION.
// kernel for terms on sm_90a
// stage y : gemm as wgmma  tile 128x128  warpgroups 2  stages 6  group 8  split 4  apart 0  cluster 1  boxes 2
#include "dev.h"

#ifndef M
#define M 128
#endif
#ifndef N
#define N 500
#endif
#ifndef K
#define K 8192
#endif

HONE_ASSERT(M == 128, "lowered for M = 128");
HONE_ASSERT(N == 500, "lowered for N = 500");
HONE_ASSERT(K == 8192, "lowered for K = 8192");

#pragma hone scratch y_sums f32[16, 16384]
#pragma hone tensormap lhs_map = x dims(8192, 128) strides(16384) box(64, 128) swizzle(128)
#pragma hone tensormap rhs_map = w dims(8192, 500) strides(16384) box(64, 128) swizzle(128)
#pragma hone launch y_gemm grid(16) block(384) shared(196704) cluster(4) args(y, lhs_map, rhs_map, y_sums)

HONE_KERNEL_OF(384, 1) y_gemm(unsigned short *__restrict__ y, HONE_MAP(lhs_map), HONE_MAP(rhs_map), float *y_sums) {
    HONE_DYNAMIC_OF(unsigned short, lhs_tile, 0, 768 * 64);
    HONE_DYNAMIC_OF(unsigned short, rhs_tile, 98304, 768 * 64);
    HONE_DYNAMIC_OF(long long, full, 196608, 6);
    HONE_DYNAMIC_OF(long long, empty, 196656, 6);
    f32x2 sum[32];
    const int block = hone_block();
    const int thread = hone_thread();
    if (thread < 1) {
        #pragma unroll
        for (int i = 0; i < 6; i++) {
            hone_mbarrier_init(&full[i], 1);
            hone_mbarrier_init(&empty[i], 2);
        }
    }
    hone_barrier();
    if (thread < 128) {
        hone_registers_less(40);
        if (thread < 1) {
            int first = block % 4 * 32;
            int inside = block / 4;
            int column0 = inside * 128;
            #pragma unroll 1
            for (int slice = 0; slice < 32; slice++) {
                int slot = slice % 6;
                hone_mbarrier_wait(&empty[slot], (slice + 6) / 6 % 2);
                hone_mbarrier_expect(&full[slot], 32768);
                hone_bulk_copy2(&lhs_tile[slot * 8192], &lhs_map, &full[slot], (first + slice) * 64, 0);
                hone_bulk_copy2(&rhs_tile[slot * 8192], &rhs_map, &full[slot], (first + slice) * 64, column0);
            }
        }
    }
    if (127 < thread) {
        hone_registers_more(232);
        int consumer = thread / 128 - 1;
        for (int slice = 0; slice < 32; slice++) {
            int slot = slice % 6;
            hone_mbarrier_wait(&full[slot], slice / 6 % 2);
            hone_wgmma_fence();
            hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64], &rhs_tile[slot * 8192], 0, 0, slice);
            hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 16], &rhs_tile[slot * 8192 + 16], 0, 0, 1);
            hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 32], &rhs_tile[slot * 8192 + 32], 0, 0, 1);
            hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 48], &rhs_tile[slot * 8192 + 48], 0, 0, 1);
            hone_wgmma_commit();
            hone_wgmma_wait(1);
            if (0 < slice) {
                if (thread % 128 < 1) {
                    hone_mbarrier_arrive(&empty[(slice + 5) % 6]);
                }
            }
        }
        hone_wgmma_wait(0);
        #pragma unroll
        for (int i = 0; i < 32; i++) {
            hone_store2(&y_sums[(((block / 4 * 4 + block % 4) * 32 + i) * 256 + thread - 128) * 2], sum[i]);
        }
    }
    hone_cluster_barrier();
    if (127 < thread) {
        int inside = block / 4;
        int column0 = inside * 128;
        int lane = thread % 32;
        int warp = thread / 32 % 4;
        int own = (thread / 128 - 1) * 64 + warp * 16;
        #pragma unroll
        for (int j = 0; j < 8; j++) {
            int pair = j * 4 + block % 4;
            int row = own + pair % 2 * 8 + lane / 4;
            int column = column0 + pair / 2 * 8 + lane % 4 * 2;
            if (column < N) {
                f32x2 t_1 = hone_load2(&y_sums[((block / 4 * 4 * 32 + pair) * 256 + thread - 128) * 2]) + hone_load2(&y_sums[(((block / 4 * 4 + 1) * 32 + pair) * 256 + thread - 128) * 2]) + hone_load2(&y_sums[(((block / 4 * 4 + 2) * 32 + pair) * 256 + thread - 128) * 2]) + hone_load2(&y_sums[(((block / 4 * 4 + 3) * 32 + pair) * 256 + thread - 128) * 2]);
                f32x2 y_f32 = hone_max2(t_1, hone_all2(0.0f));
                hone_store2_f16(&y[row * N + column], y_f32);
            }
        }
    }
}
