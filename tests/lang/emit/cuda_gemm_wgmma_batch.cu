// scores, by hone VERSION.
// kernel for scores on sm_90a
// stage c : gemm as wgmma  tile 64x128  warpgroups 1  stages 4  group 1  split 1  apart 0  cluster 1  boxes 2
#include "dev.h"

#ifndef B
#define B 24
#endif
#ifndef M
#define M 200
#endif
#ifndef N
#define N 520
#endif
#ifndef K
#define K 248
#endif

HONE_ASSERT(B == 24, "lowered for B = 24");
HONE_ASSERT(M == 200, "lowered for M = 200");
HONE_ASSERT(N == 520, "lowered for N = 520");
HONE_ASSERT(K == 248, "lowered for K = 248");

#pragma hone tensormap lhs_map = a dims(200, 248, 24) strides(400, 99200) box(64, 64, 1) swizzle(128)
#pragma hone tensormap rhs_map = b dims(520, 248, 24) strides(1040, 257920) box(64, 64, 1) swizzle(128)
#pragma hone tensormap box_map = c dims(520, 200, 24) strides(2080, 416000) box(32, 16, 1) swizzle(128)
#pragma hone launch c_gemm grid(132) block(256) shared(114752) args(lhs_map, rhs_map, box_map)

HONE_KERNEL_OF(256, 1) c_gemm(HONE_MAP(lhs_map), HONE_MAP(rhs_map), HONE_MAP(box_map)) {
    HONE_DYNAMIC_OF(unsigned short, lhs_tile, 0, 256 * 64);
    HONE_DYNAMIC_OF(unsigned short, rhs_tile, 32768, 512 * 64);
    HONE_DYNAMIC(passage, 24576, 4096);
    HONE_DYNAMIC_OF(long long, full, 114688, 4);
    HONE_DYNAMIC_OF(long long, empty, 114720, 4);
    f32x2 sum[32];
    const int block = hone_block();
    const int thread = hone_thread();
    if (thread < 1) {
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_mbarrier_init(&full[i], 1);
            hone_mbarrier_init(&empty[i], 1);
        }
    }
    hone_barrier();
    if (thread < 1) {
        for (int tile = block; tile < 480; tile += 132) {
            int before = tile / 132 * 4;
            int above = tile % 20 / 5;
            int inside = tile % 20 % 5;
            int row0 = above * 64;
            int column0 = inside * 128;
            int lhs_matrix = tile / 20 * K * M / 49600;
            int rhs_matrix = tile / 20 * K * N / 128960;
            #pragma unroll 1
            for (int slice = 0; slice < 4; slice++) {
                int count = before + slice;
                int slot = count % 4;
                hone_mbarrier_wait(&empty[slot], (count + 4) / 4 % 2);
                hone_mbarrier_expect(&full[slot], 24576);
                hone_bulk_copy3(&lhs_tile[slot * 4096], &lhs_map, &full[slot], row0, slice * 64, lhs_matrix);
                #pragma unroll
                for (int box = 0; box < 2; box++) {
                    hone_bulk_copy3(&rhs_tile[slot * 8192 + box * 64 * 64], &rhs_map, &full[slot], column0 + box * 64, slice * 64, rhs_matrix);
                }
            }
        }
    }
    if (127 < thread) {
        for (int tile = block; tile < 480; tile += 132) {
            int before = tile / 132 * 4;
            int above = tile % 20 / 5;
            int inside = tile % 20 % 5;
            int row0 = above * 64;
            int column0 = inside * 128;
            for (int slice = 0; slice < 4; slice++) {
                int count = before + slice;
                int slot = count % 4;
                hone_mbarrier_wait(&full[slot], count / 4 % 2);
                hone_wgmma_fence();
                hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 4096], &rhs_tile[slot * 8192], 1, 1, slice);
                hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 4096 + 1024], &rhs_tile[slot * 8192 + 1024], 1, 1, 1);
                hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 4096 + 2048], &rhs_tile[slot * 8192 + 2048], 1, 1, 1);
                hone_wgmma_f16_128(&sum[0], &lhs_tile[slot * 4096 + 3072], &rhs_tile[slot * 8192 + 3072], 1, 1, 1);
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
                hone_mbarrier_arrive(&empty[(before + 7) % 4]);
            }
            int lane = thread % 32;
            int warp = thread / 32 % 4;
            int own = row0 + warp * 16;
            #pragma unroll
            for (int box = 0; box < 4; box++) {
                hone_bulk_stored(1);
                #pragma unroll
                for (int half = 0; half < 2; half++) {
                    int row = own + half * 8 + lane / 4;
                    if (row < M) {
                        #pragma unroll
                        for (int j = 0; j < 4; j++) {
                            int column = column0 + box * 32 + j * 8 + lane % 4 * 2;
                            if (column < N) {
                                f32x2 c_v = sum[(box * 4 + j) * 2 + half];
                                hone_store2(&passage[(warp * 2 + box % 2) * 512 + (half * 8 + lane / 4) * 32 + (((j * 8 + lane % 4 * 2) / 4) ^ (lane / 4)) * 4 + (j * 8 + lane % 4 * 2) % 4], c_v);
                            }
                        }
                    }
                }
                hone_bulk_store3(&passage[(warp * 2 + box % 2) * 512], &box_map, column0 + box * 32, hone_to_int((int)own, 0, 1073741823), tile / 20);
            }
        }
        hone_bulk_stored(0);
    }
}
