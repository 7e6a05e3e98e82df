// scan_side_by_side, by hone VERSION.
// kernel for scan_side_by_side on cpu
// stage y : scan  vec 16  unroll 4  grain 4  split 1  store cached
#include "hone_math.h"
#include "hone_types.h"

#ifndef M
#define M 600
#endif
#ifndef N
#define N 4100
#endif

_Static_assert(M == 600, "lowered for M = 600");
_Static_assert(N == 4100, "lowered for N = 4100");

#pragma hone launch y_scan grid(150) args(x, y)

void y_scan(long block, const unsigned short *restrict x, unsigned short *restrict y) {
    float open;
    float before;
    for (long item = block * 4; item < block * 4 + 4; item++) {
        before = 0.0f;
        for (long run = 0; run < 4100; run += 1024) {
            open = 0.0f;
            for (long p = run; p < run + ((4100 < run + 1024 ? 4100 : run + 1024) - run) / 64 * 64; p += 64) {
                f32x16 x_v = hone_load16_bf16(&x[item * N + p]);
                __builtin_prefetch(&x[item * N + p + 1024], 0, 2);
                f32x16 x_2 = hone_load16_bf16(&x[item * N + p + 16]);
                f32x16 x_3 = hone_load16_bf16(&x[item * N + p + 32]);
                __builtin_prefetch(&x[item * N + p + 1056], 0, 2);
                f32x16 x_4 = hone_load16_bf16(&x[item * N + p + 48]);
                f32x16 upto = hone_lanes_slid1_16(hone_all16(0.0f), x_v) + x_v;
                f32x16 upto_2 = hone_lanes_slid1_16(hone_all16(0.0f), x_2) + x_2;
                f32x16 upto_3 = hone_lanes_slid1_16(hone_all16(0.0f), x_3) + x_3;
                f32x16 upto_4 = hone_lanes_slid1_16(hone_all16(0.0f), x_4) + x_4;
                f32x16 upto_5 = hone_lanes_slid2_16(hone_all16(0.0f), upto) + upto;
                f32x16 upto_6 = hone_lanes_slid2_16(hone_all16(0.0f), upto_2) + upto_2;
                f32x16 upto_7 = hone_lanes_slid2_16(hone_all16(0.0f), upto_3) + upto_3;
                f32x16 upto_8 = hone_lanes_slid2_16(hone_all16(0.0f), upto_4) + upto_4;
                f32x16 upto_9 = hone_lanes_slid4_16(hone_all16(0.0f), upto_5) + upto_5;
                f32x16 upto_10 = hone_lanes_slid4_16(hone_all16(0.0f), upto_6) + upto_6;
                f32x16 upto_11 = hone_lanes_slid4_16(hone_all16(0.0f), upto_7) + upto_7;
                f32x16 upto_12 = hone_lanes_slid4_16(hone_all16(0.0f), upto_8) + upto_8;
                f32x16 upto_13 = hone_lanes_slid8_16(hone_all16(0.0f), upto_9) + upto_9;
                f32x16 upto_14 = hone_lanes_slid8_16(hone_all16(0.0f), upto_10) + upto_10;
                f32x16 upto_15 = hone_lanes_slid8_16(hone_all16(0.0f), upto_11) + upto_11;
                f32x16 upto_16 = hone_lanes_slid8_16(hone_all16(0.0f), upto_12) + upto_12;
                float start = open;
                open = start + hone_lane16(upto_13, 15);
                float start_2 = open;
                open = start_2 + hone_lane16(upto_14, 15);
                float start_3 = open;
                open = start_3 + hone_lane16(upto_15, 15);
                float start_4 = open;
                open = start_4 + hone_lane16(upto_16, 15);
                f32x16 y_f32 = before + (start + upto_13);
                hone_store16_bf16(&y[item * N + p], y_f32);
                f32x16 y_f32_2 = before + (start_2 + upto_14);
                hone_store16_bf16(&y[item * N + p + 16], y_f32_2);
                f32x16 y_f32_3 = before + (start_3 + upto_15);
                hone_store16_bf16(&y[item * N + p + 32], y_f32_3);
                f32x16 y_f32_4 = before + (start_4 + upto_16);
                hone_store16_bf16(&y[item * N + p + 48], y_f32_4);
            }
            for (long p = run + ((4100 < run + 1024 ? 4100 : run + 1024) - run) / 64 * 64; p < run + ((4100 < run + 1024 ? 4100 : run + 1024) - run) / 16 * 16; p += 16) {
                f32x16 x_v = hone_load16_bf16(&x[item * N + p]);
                __builtin_prefetch(&x[item * N + p + 1024], 0, 2);
                f32x16 upto = hone_lanes_slid1_16(hone_all16(0.0f), x_v) + x_v;
                f32x16 upto_2 = hone_lanes_slid2_16(hone_all16(0.0f), upto) + upto;
                f32x16 upto_3 = hone_lanes_slid4_16(hone_all16(0.0f), upto_2) + upto_2;
                f32x16 upto_4 = hone_lanes_slid8_16(hone_all16(0.0f), upto_3) + upto_3;
                float start = open;
                open = start + hone_lane16(upto_4, 15);
                f32x16 y_f32 = before + (start + upto_4);
                hone_store16_bf16(&y[item * N + p], y_f32);
            }
            for (long p = run + ((4100 < run + 1024 ? 4100 : run + 1024) - run) / 16 * 16; p < (4100 < run + 1024 ? 4100 : run + 1024); p++) {
                float x_v = hone_from_bf16(x[item * N + p]);
                float start = open;
                open = start + x_v;
                float y_f32 = before + (start + x_v);
                y[item * N + p] = hone_to_bf16(y_f32);
            }
            before += open;
        }
    }
}
