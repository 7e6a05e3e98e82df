// bytes, by hone VERSION.
// kernel for bytes on sm_90a
// stage c : gemm as wgmma  tile 128x256  warpgroups 2  stages 4  group 4  split 1  apart 0  cluster 1  boxes 2
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

#pragma hone tensormap lhs_map = a dims(2048, 512) strides(2048) box(128, 128) swizzle(128)
#pragma hone tensormap rhs_map = b dims(2048, 512) strides(2048) box(128, 256) swizzle(128)
#pragma hone tensormap box_map = c dims(512, 512, 1) strides(1024, 524288) box(64, 16, 1) swizzle(128)
#pragma hone launch c_gemm grid(8) block(384) shared(229440) args(s, lhs_map, rhs_map, box_map)

HONE_KERNEL_OF(384, 1) c_gemm(const float *__restrict__ s, HONE_MAP(lhs_map), HONE_MAP(rhs_map), HONE_MAP(box_map)) {
    HONE_DYNAMIC_OF(unsigned char, lhs_tile, 0, 512 * 128);
    HONE_DYNAMIC_OF(unsigned char, rhs_tile, 65536, 1024 * 128);
    HONE_DYNAMIC_OF(unsigned short, passage, 196608, 16384);
    HONE_DYNAMIC_OF(long long, full, 229376, 4);
    HONE_DYNAMIC_OF(long long, empty, 229408, 4);
    f32x2 sum[32];
    f32x2 total[64];
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
        hone_registers_less(24);
        if (thread < 1) {
            int row0 = block % 4 * 128;
            int column0 = block / 4 * 256;
            #pragma unroll 1
            for (int slice = 0; slice < 16; slice++) {
                int slot = slice % 4;
                hone_mbarrier_wait(&empty[slot], (slice + 4) / 4 % 2);
                hone_mbarrier_expect(&full[slot], 49152);
                hone_bulk_copy2(&lhs_tile[slot * 16384], &lhs_map, &full[slot], slice * 128, row0);
                hone_bulk_copy2(&rhs_tile[slot * 32768], &rhs_map, &full[slot], slice * 128, column0);
            }
        }
    }
    if (127 < thread) {
        hone_registers_more(240);
        int consumer = thread / 128 - 1;
        int row0 = block % 4 * 128;
        int column0 = block / 4 * 256;
        #pragma unroll
        for (int i = 0; i < 64; i++) {
            total[i] = hone_all2(0.0f);
        }
        for (int slice = 0; slice < 16; slice++) {
            int slot = slice % 4;
            hone_mbarrier_wait(&full[slot], slice / 4 % 2);
            hone_wgmma_fence();
            hone_wgmma_e4m3_128(&sum[0], &lhs_tile[slot * 16384 + consumer * 64 * 128], &rhs_tile[slot * 32768], 0, 0, 0);
            hone_wgmma_e4m3_128(&sum[0], &lhs_tile[slot * 16384 + consumer * 64 * 128 + 32], &rhs_tile[slot * 32768 + 32], 0, 0, 1);
            hone_wgmma_e4m3_128(&sum[0], &lhs_tile[slot * 16384 + consumer * 64 * 128 + 64], &rhs_tile[slot * 32768 + 64], 0, 0, 1);
            hone_wgmma_e4m3_128(&sum[0], &lhs_tile[slot * 16384 + consumer * 64 * 128 + 96], &rhs_tile[slot * 32768 + 96], 0, 0, 1);
            hone_wgmma_commit();
            hone_wgmma_wait(0);
            #pragma unroll
            for (int i = 0; i < 32; i++) {
                total[i] += sum[i];
            }
            hone_wgmma_fence();
            hone_wgmma_e4m3_128(&sum[0], &lhs_tile[slot * 16384 + consumer * 64 * 128], &rhs_tile[slot * 32768 + 16384], 0, 0, 0);
            hone_wgmma_e4m3_128(&sum[0], &lhs_tile[slot * 16384 + consumer * 64 * 128 + 32], &rhs_tile[slot * 32768 + 16416], 0, 0, 1);
            hone_wgmma_e4m3_128(&sum[0], &lhs_tile[slot * 16384 + consumer * 64 * 128 + 64], &rhs_tile[slot * 32768 + 16448], 0, 0, 1);
            hone_wgmma_e4m3_128(&sum[0], &lhs_tile[slot * 16384 + consumer * 64 * 128 + 96], &rhs_tile[slot * 32768 + 16480], 0, 0, 1);
            hone_wgmma_commit();
            hone_wgmma_wait(0);
            if (thread % 128 < 1) {
                hone_mbarrier_arrive(&empty[slice % 4]);
            }
            #pragma unroll
            for (int i = 0; i < 32; i++) {
                total[i + 32] += sum[i];
            }
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
                    f32x2 t_1 = total[(box * 8 + j) * 2 + half];
                    f32x2 s_v = hone_load2(&s[column]);
                    f32x2 c_f32 = t_1 * s_v;
                    hone_store2_bf16(&passage[((consumer * 4 + warp) * 2 + box % 2) * 1024 + (half * 8 + lane / 4) * 64 + (((j * 8 + lane % 4 * 2) / 8) ^ (lane / 4)) * 8 + (j * 8 + lane % 4 * 2) % 8], c_f32);
                }
            }
            hone_bulk_store3(&passage[((consumer * 4 + warp) * 2 + box % 2) * 1024], &box_map, column0 + box * 64, hone_to_int((int)own, 0, 1073741823), 0);
        }
        hone_bulk_stored(0);
    }
}
