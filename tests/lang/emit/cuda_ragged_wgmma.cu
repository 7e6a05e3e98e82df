// groups, by hone VERSION.
// kernel for groups on sm_90a
// stage y  : ragged as wgmma  tile 128x256  warpgroups 2  stages 4  group 8  aside 1
// stage dw : ragged as wgmma  tile 64x128  warpgroups 1  stages 4  group 8  aside 1
#include "dev.h"

#ifndef T
#define T 4096
#endif
#ifndef E
#define E 8
#endif
#ifndef K
#define K 256
#endif
#ifndef N
#define N 512
#endif

HONE_ASSERT(T == 4096, "lowered for T = 4096");
HONE_ASSERT(E == 8, "lowered for E = 8");
HONE_ASSERT(K == 256, "lowered for K = 256");
HONE_ASSERT(N == 512, "lowered for N = 512");

#pragma hone tensormap lhs_map = x dims(256, 1073741824, 4097, 1073741825) strides(512, 512, 34359737856) box(64, 128, 1, 1) swizzle(128)
#pragma hone tensormap rhs_map = w dims(512, 256, 8) strides(1024, 262144) box(64, 64, 1) swizzle(128)
#pragma hone tensormap box_map = y dims(512, 1073741824, 4097, 1073741825) strides(1024, 1024, 34359737344) box(64, 16, 1, 1) swizzle(128)
#pragma hone tensormap lhs_map_2 = x dims(256, 1073741824, 4097, 1073741825) strides(512, 512, 34359737856) box(64, 64, 1, 1) swizzle(128)
#pragma hone tensormap rhs_map_2 = g dims(512, 1073741824, 4097, 1073741825) strides(1024, 1024, 34359737344) box(64, 64, 1, 1) swizzle(128)
#pragma hone tensormap box_map_2 = dw dims(512, 256, 8) strides(2048, 524288) box(32, 16, 1) swizzle(128)
#pragma hone launch y_groups grid(84) block(384) shared(229440) args(o, lhs_map, rhs_map, box_map)
#pragma hone launch dw_groups grid(128) block(256) shared(114752) args(o, lhs_map_2, rhs_map_2, box_map_2)

HONE_KERNEL_OF(384, 1) y_groups(const int *__restrict__ o, HONE_MAP(lhs_map), HONE_MAP(rhs_map), HONE_MAP(box_map)) {
    int number[3];
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
            number[0] = 0;
            number[1] = 0;
            number[2] = 0;
            for (int e = 0; e < 10; e++) {
                int begin = hone_to_int(number[1], 0, 4096);
                int offset = hone_to_int(o[(e < 8 ? e : 8)], 0, 4096);
                int end = (offset > e / 9 * 4096 ? offset : e / 9 * 4096);
                int is_some = (e < 1 ? e : 1) * (9 - e < 1 ? 9 - e : 1);
                int read_end = end * is_some;
                int slices = is_some * 3 + 1;
                int group = hone_to_int((int)(e - 1), 0, 7);
                int down = (hone_to_int((int)(end - begin), 0, 4096) + 127) / 128;
                int tiles = down * 2;
                int before = hone_to_int(number[2], 0, 83);
                number[2] = (int)((before + tiles) % 84);
                number[1] = (int)end;
                int first = (block + 84 - before) % 84;
                for (int tile = first; tile < tiles; tile += 84) {
                    int so_far = hone_to_int(number[0], 0, 1073741823);
                    int above = tile / 16 * 8;
                    int inside = tile % 16;
                    int rows = hone_to_int((int)(down - above < 8 ? down - above : 8), 1, 8);
                    int row0 = (above + inside % rows) * 128;
                    int column0 = inside / rows * 256;
                    int first_row = begin + row0;
                    #pragma unroll 1
                    for (int slice = 0; slice < slices; slice++) {
                        int count = so_far + slice;
                        int slot = count % 4;
                        hone_mbarrier_wait(&empty[slot], (count + 4) / 4 % 2);
                        hone_mbarrier_expect(&full[slot], 49152);
                        hone_bulk_copy4(&lhs_tile[slot * 8192], &lhs_map, &full[slot], slice * 64, 1073741824 - read_end + first_row, read_end, 1073741824);
                        #pragma unroll
                        for (int box = 0; box < 4; box++) {
                            hone_bulk_copy3(&rhs_tile[slot * 16384 + box * 64 * 64], &rhs_map, &full[slot], column0 + box * 64, slice * 64, group);
                        }
                    }
                    number[0] = (int)(so_far + slices);
                }
            }
        }
    }
    if (127 < thread) {
        hone_registers_more(232);
        int consumer = thread / 128 - 1;
        number[0] = 0;
        number[1] = 0;
        number[2] = 0;
        for (int e = 0; e < 10; e++) {
            int begin = hone_to_int(number[1], 0, 4096);
            int offset = hone_to_int(o[(e < 8 ? e : 8)], 0, 4096);
            int end = (offset > e / 9 * 4096 ? offset : e / 9 * 4096);
            int is_some = (e < 1 ? e : 1) * (9 - e < 1 ? 9 - e : 1);
            int slices = is_some * 3 + 1;
            int down = (hone_to_int((int)(end - begin), 0, 4096) + 127) / 128;
            int tiles = down * 2;
            int before = hone_to_int(number[2], 0, 83);
            number[2] = (int)((before + tiles) % 84);
            number[1] = (int)end;
            int first = (block + 84 - before) % 84;
            for (int tile = first; tile < tiles; tile += 84) {
                int so_far = hone_to_int(number[0], 0, 1073741823);
                int above = tile / 16 * 8;
                int inside = tile % 16;
                int rows = hone_to_int((int)(down - above < 8 ? down - above : 8), 1, 8);
                int row0 = (above + inside % rows) * 128;
                int column0 = inside / rows * 256;
                int first_row = begin + row0;
                for (int slice = 0; slice < slices; slice++) {
                    int count = so_far + slice;
                    int slot = count % 4;
                    hone_mbarrier_wait(&full[slot], count / 4 % 2);
                    hone_wgmma_fence();
                    hone_wgmma_bf16_256(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64], &rhs_tile[slot * 16384], 0, 1, slice);
                    hone_wgmma_bf16_256(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 16], &rhs_tile[slot * 16384 + 1024], 0, 1, 1);
                    hone_wgmma_bf16_256(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 32], &rhs_tile[slot * 16384 + 2048], 0, 1, 1);
                    hone_wgmma_bf16_256(&sum[0], &lhs_tile[slot * 8192 + consumer * 64 * 64 + 48], &rhs_tile[slot * 16384 + 3072], 0, 1, 1);
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
                    hone_mbarrier_arrive(&empty[(so_far + slices + 3) % 4]);
                }
                int lane = thread % 32;
                int warp = thread / 32 % 4;
                int own = first_row + consumer * 64 + warp * 16;
                #pragma unroll
                for (int box = 0; box < 4; box++) {
                    hone_bulk_stored(1);
                    #pragma unroll
                    for (int half = 0; half < 2; half++) {
                        int row = own + half * 8 + lane / 4;
                        if (row < end) {
                            #pragma unroll
                            for (int j = 0; j < 8; j++) {
                                int column = column0 + box * 64 + j * 8 + lane % 4 * 2;
                                if (column < N) {
                                    f32x2 y_f32 = sum[(box * 8 + j) * 2 + half];
                                    hone_store2_bf16(&passage[((consumer * 4 + warp) * 2 + box % 2) * 1024 + (half * 8 + lane / 4) * 64 + (((j * 8 + lane % 4 * 2) / 8) ^ (lane / 4)) * 8 + (j * 8 + lane % 4 * 2) % 8], y_f32);
                                }
                            }
                        }
                    }
                    hone_bulk_store4(&passage[((consumer * 4 + warp) * 2 + box % 2) * 1024], &box_map, column0 + box * 64, 1073741824 - end + own, end, 1073741824);
                }
                number[0] = (int)(so_far + slices);
            }
        }
        hone_bulk_stored(0);
    }
}

HONE_KERNEL_OF(256, 1) dw_groups(const int *__restrict__ o, HONE_MAP(lhs_map_2), HONE_MAP(rhs_map_2), HONE_MAP(box_map_2)) {
    int number_[3];
    HONE_DYNAMIC_OF(unsigned short, lhs_tile_2, 0, 256 * 64);
    HONE_DYNAMIC_OF(unsigned short, rhs_tile_2, 32768, 512 * 64);
    HONE_DYNAMIC(passage_2, 24576, 4096);
    HONE_DYNAMIC_OF(long long, full_2, 114688, 4);
    HONE_DYNAMIC_OF(long long, empty_2, 114720, 4);
    f32x2 sum_[32];
    f32x2 total[32];
    const int block = hone_block();
    const int thread = hone_thread();
    if (thread < 1) {
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            hone_mbarrier_init(&full_2[i], 1);
            hone_mbarrier_init(&empty_2[i], 1);
        }
    }
    hone_barrier();
    if (thread < 1) {
        number_[0] = 0;
        for (int group = 0; group < 8; group++) {
            int begin = hone_to_int(o[group], 0, 4096);
            int end = hone_to_int(o[group + 1], 0, 4096);
            int slices = ((end - begin > 1 ? end - begin : 1) + 63) / 64;
            int first = (block + 128 - group * 16) % 128;
            for (int tile = first; tile < 16; tile += 128) {
                int so_far = hone_to_int(number_[0], 0, 1073741823);
                int row0 = tile % 4 * 64;
                int column0 = tile / 4 * 128;
                #pragma unroll 1
                for (int slice = 0; slice < slices; slice++) {
                    int count = so_far + slice;
                    int slot = count % 4;
                    hone_mbarrier_wait(&empty_2[slot], (count + 4) / 4 % 2);
                    hone_mbarrier_expect(&full_2[slot], 24576);
                    hone_bulk_copy4(&lhs_tile_2[slot * 4096], &lhs_map_2, &full_2[slot], row0, 1073741824 - end + begin + slice * 64, end, 1073741824);
                    #pragma unroll
                    for (int box = 0; box < 2; box++) {
                        hone_bulk_copy4(&rhs_tile_2[slot * 8192 + box * 64 * 64], &rhs_map_2, &full_2[slot], column0 + box * 64, 1073741824 - end + begin + slice * 64, end, 1073741824);
                    }
                }
                number_[0] = (int)(so_far + slices);
            }
        }
    }
    if (127 < thread) {
        number_[0] = 0;
        for (int group = 0; group < 8; group++) {
            int begin = hone_to_int(o[group], 0, 4096);
            int end = hone_to_int(o[group + 1], 0, 4096);
            int slices = ((end - begin > 1 ? end - begin : 1) + 63) / 64;
            int each = (slices / 8 < 3 ? slices / 8 : 3) * 2 + 2;
            int first = (block + 128 - group * 16) % 128;
            for (int tile = first; tile < 16; tile += 128) {
                int so_far = hone_to_int(number_[0], 0, 1073741823);
                int row0 = tile % 4 * 64;
                int column0 = tile / 4 * 128;
                #pragma unroll
                for (int i = 0; i < 32; i++) {
                    total[i] = hone_all2(0.0f);
                }
                int parts = (slices + each - 1) / each;
                for (int part = 0; part < parts; part++) {
                    int chunk = part * each;
                    int end_2 = (chunk + each < slices ? chunk + each : slices);
                    for (int slice = chunk; slice < end_2; slice++) {
                        int count = so_far + slice;
                        int slot = count % 4;
                        hone_mbarrier_wait(&full_2[slot], count / 4 % 2);
                        hone_wgmma_fence();
                        hone_wgmma_bf16_128(&sum_[0], &lhs_tile_2[slot * 4096], &rhs_tile_2[slot * 8192], 1, 1, hone_to_int((int)(slice - chunk), 0, 1));
                        hone_wgmma_bf16_128(&sum_[0], &lhs_tile_2[slot * 4096 + 1024], &rhs_tile_2[slot * 8192 + 1024], 1, 1, 1);
                        hone_wgmma_bf16_128(&sum_[0], &lhs_tile_2[slot * 4096 + 2048], &rhs_tile_2[slot * 8192 + 2048], 1, 1, 1);
                        hone_wgmma_bf16_128(&sum_[0], &lhs_tile_2[slot * 4096 + 3072], &rhs_tile_2[slot * 8192 + 3072], 1, 1, 1);
                        hone_wgmma_commit();
                        hone_wgmma_wait(1);
                        if (chunk < slice) {
                            if (thread % 128 < 1) {
                                hone_mbarrier_arrive(&empty_2[(count + 3) % 4]);
                            }
                        }
                    }
                    hone_wgmma_wait(0);
                    if (thread % 128 < 1) {
                        hone_mbarrier_arrive(&empty_2[(so_far + end_2 + 3) % 4]);
                    }
                    #pragma unroll
                    for (int i = 0; i < 32; i++) {
                        total[i] += sum_[i];
                    }
                }
                int lane = thread % 32;
                int warp = thread / 32 % 4;
                int own = row0 + warp * 16;
                #pragma unroll
                for (int box = 0; box < 4; box++) {
                    hone_bulk_stored(1);
                    #pragma unroll
                    for (int half = 0; half < 2; half++) {
                        #pragma unroll
                        for (int j = 0; j < 4; j++) {
                            f32x2 dw_v = total[(box * 4 + j) * 2 + half];
                            hone_store2(&passage_2[(warp * 2 + box % 2) * 512 + (half * 8 + lane / 4) * 32 + (((j * 8 + lane % 4 * 2) / 4) ^ (lane / 4)) * 4 + (j * 8 + lane % 4 * 2) % 4], dw_v);
                        }
                    }
                    hone_bulk_store3(&passage_2[(warp * 2 + box % 2) * 512], &box_map_2, column0 + box * 32, hone_to_int((int)own, 0, 1073741823), group);
                }
                number_[0] = (int)(so_far + slices);
            }
        }
        hone_bulk_stored(0);
    }
}
