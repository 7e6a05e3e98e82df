// block, by hone VERSION.
// kernel for block on sm_90a
// stage y : conv as wgmma  tile 128x128  warpgroups 1  stages 3  minblocks 2
#include "dev.h"

#ifndef B
#define B 8
#endif
#ifndef C
#define C 24
#endif
#ifndef O
#define O 96
#endif
#ifndef H
#define H 28
#endif

HONE_ASSERT(B == 8, "lowered for B = 8");
HONE_ASSERT(C == 24, "lowered for C = 24");
HONE_ASSERT(O == 96, "lowered for O = 96");
HONE_ASSERT(H == 28, "lowered for H = 28");

#pragma hone scratch y_image f16[7200, 24]
#pragma hone scratch y_weights f16[96, 288]
#pragma hone tensormap weights_map = y_weights dims(288, 96) strides(576) box(64, 128) swizzle(128)
#pragma hone tensormap image_map = y_image dims(72, 7198) strides(48) box(64, 128) swizzle(128)
#pragma hone launch y_copy_image grid(64) block(256) args(x, y_image)
#pragma hone launch y_copy_weights grid(108) block(256) args(w, y_weights)
#pragma hone launch y_conv grid(57) block(160) shared(106624) args(bias, y, weights_map, image_map)

HONE_KERNEL(256) y_copy_image(const unsigned short *__restrict__ x, unsigned short *__restrict__ y_image) {
    HONE_SHARED_OF(unsigned short, part, 32 * 129);
    const int block = hone_block();
    const int thread = hone_thread();
    int place = block % 8 * 128;
    int image = block / 8;
    #pragma unroll
    for (int item = 0; item < 16; item++) {
        int at = place + thread % 128;
        int i = at % 30;
        int i_2 = at / 30;
        int at_2 = ((i - 1 > 0 ? i - 1 : 0) < 27 ? (i - 1 > 0 ? i - 1 : 0) : 27);
        int at_3 = ((i_2 - 1 > 0 ? i_2 - 1 : 0) < 27 ? (i_2 - 1 > 0 ? i_2 - 1 : 0) : 27);
        float x_v = hone_from_f16(x[image * 18816 + (item * 2 + thread / 128 < 23 ? item * 2 + thread / 128 : 23) * 784 + at_2 + at_3 * 28]);
        float inside = ((((0 <= i_2 - 1) & (i_2 - 1 <= 27)) & ((0 <= i - 1) & (i - 1 <= 27))) ? x_v : 0.0f);
        part[(item * 2 + thread / 128) * 129 + thread % 128] = hone_to_f16(inside);
    }
    hone_barrier();
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (place + item * 64 + thread / 4 < 900) {
            if (thread % 4 * 8 < 24) {
                hone_store8_f16(&y_image[(image * 900 + place + item * 64 + thread / 4) * 24 + thread % 4 * 8], hone_gather8_f16(&part[thread % 4 * 8 * 129 + item * 64 + thread / 4], 129));
            }
        }
    }
}

HONE_KERNEL(256) y_copy_weights(const unsigned short *__restrict__ w, unsigned short *__restrict__ y_weights) {
    const int block = hone_block();
    const int thread = hone_thread();
    int i = block * 256 + thread;
    int i_2 = i % 96;
    int i_3 = i / 96 % 3;
    int i_4 = i / 96 / 3;
    int at = (i_2 < 71 ? i_2 : 71);
    float w_v = hone_from_f16(w[i_4 * 216 + i_3 * 3 + at / 24 + at % 24 * 9]);
    float inside = (i_2 <= 71 ? w_v : 0.0f);
    y_weights[i] = hone_to_f16(inside);
}

HONE_KERNEL_OF(160, 2) y_conv(const unsigned short *__restrict__ bias, unsigned short *__restrict__ y, HONE_MAP(weights_map), HONE_MAP(image_map)) {
    HONE_DYNAMIC_OF(unsigned short, weights_tile, 0, 384 * 64);
    HONE_DYNAMIC_OF(unsigned short, image_tile, 49152, 384 * 64);
    HONE_DYNAMIC_OF(long long, full, 98304, 3);
    HONE_DYNAMIC_OF(long long, empty, 98336, 3);
    f32x2 sum[64];
    HONE_DYNAMIC_OF(unsigned short, passage, 98432, 4096);
    const int block = hone_block();
    const int thread = hone_thread();
    if (thread < 1) {
        #pragma unroll
        for (int i = 0; i < 3; i++) {
            hone_mbarrier_init(&full[i], 1);
            hone_mbarrier_init(&empty[i], 1);
        }
    }
    hone_barrier();
    if (thread < 128) {
        int column0 = block * 128;
        for (int slice = 0; slice < 6; slice++) {
            int slot = slice % 3;
            hone_mbarrier_wait(&full[slot], slice / 3);
            hone_wgmma_fence();
            hone_wgmma_f16_128(&sum[0], &weights_tile[slot * 128 * 64], &image_tile[slot * 128 * 64], 0, 0, slice);
            hone_wgmma_f16_128(&sum[32], &weights_tile[(slot * 128 + 64) * 64], &image_tile[slot * 128 * 64], 0, 0, slice);
            hone_wgmma_f16_128(&sum[0], &weights_tile[slot * 128 * 64 + 16], &image_tile[slot * 128 * 64 + 16], 0, 0, 1);
            hone_wgmma_f16_128(&sum[32], &weights_tile[(slot * 128 + 64) * 64 + 16], &image_tile[slot * 128 * 64 + 16], 0, 0, 1);
            hone_wgmma_f16_128(&sum[0], &weights_tile[slot * 128 * 64 + 32], &image_tile[slot * 128 * 64 + 32], 0, 0, 1);
            hone_wgmma_f16_128(&sum[32], &weights_tile[(slot * 128 + 64) * 64 + 32], &image_tile[slot * 128 * 64 + 32], 0, 0, 1);
            hone_wgmma_commit();
            hone_wgmma_wait(1);
            if (0 < slice) {
                if (thread % 128 < 1) {
                    hone_mbarrier_arrive(&empty[(slice + 2) % 3]);
                }
            }
        }
        hone_wgmma_wait(0);
        int lane = thread % 32;
        int warp = thread / 32;
        int own = warp % 4 * 16;
        #pragma unroll
        for (int c = 0; c < 2; c++) {
            #pragma unroll
            for (int part_v = 0; part_v < 2; part_v++) {
                hone_warp_sync();
                #pragma unroll
                for (int j = 0; j < 8; j++) {
                    #pragma unroll
                    for (int half = 0; half < 2; half++) {
                        int row = own + part_v * 64 + half * 8 + lane / 4;
                        if (row < 96) {
                            f32x2 t_1_conv = sum[part_v * 32 + (c * 8 + j) * 2 + half];
                            float bias_v = hone_from_f16(bias[row]);
                            f32x2 t_1 = t_1_conv + bias_v;
                            f32x2 y_f32 = hone_max2(t_1, hone_all2(0.0f));
                            hone_store2_f16(&passage[(warp * 16 + half * 8 + lane / 4) * 64 + (((j * 8 + lane % 4 * 2) / 8) ^ (lane / 4)) * 8 + (j * 8 + lane % 4 * 2) % 8], y_f32);
                        }
                    }
                }
                hone_warp_sync();
                #pragma unroll
                for (int i = 0; i < 16; i++) {
                    int column = column0 + c * 64 + lane * 2;
                    int image = column / 900;
                    int at = column % 900 % 30;
                    int at_2 = column % 900 / 30;
                    if (column < 7200) {
                        if (at_2 < 28) {
                            if (at < 28) {
                                int row = own + part_v * 64 + i;
                                if (row < 96) {
                                    hone_store2_f16(&y[(image * O + row) * (H * H) + at_2 * 28 + at], hone_load2_f16(&passage[(warp * 16 + i) * 64 + ((lane * 2 / 8) ^ (i % 8)) * 8 + lane * 2 % 8]));
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    if (127 < thread) {
        if (thread < 129) {
            int column0 = block * 128;
            #pragma unroll 1
            for (int slice = 0; slice < 6; slice++) {
                int slot = slice % 3;
                hone_mbarrier_wait(&empty[slot], (slice + 3) / 3 % 2);
                hone_mbarrier_expect(&full[slot], 32768);
                hone_bulk_copy2(&weights_tile[slot * 128 * 64], &weights_map, &full[slot], slice * 48, 0);
                int tap = slice / 2;
                hone_bulk_copy2(&image_tile[slot * 128 * 64], &image_map, &full[slot], slice % 2 * 48, column0 + tap * 30);
            }
        }
    }
}
