// suffixes, by hone VERSION.
// kernel for suffixes on cpu
// stage y : scan  vec 8  unroll 1  grain 2  split 1  store cached
#include "hone_math.h"
#include "hone_types.h"

#ifndef M
#define M 5
#endif
#ifndef N
#define N 2500
#endif

_Static_assert(M == 5, "lowered for M = 5");
_Static_assert(N == 2500, "lowered for N = 2500");

#pragma hone launch y_scan grid(3) args(x, c, y)

void y_scan(long block, const unsigned short *restrict x, const unsigned char *restrict c, unsigned short *restrict y) {
    float open;
    float before;
    for (long item = block * 2; item < (5 < block * 2 + 2 ? 5 : block * 2 + 2); item++) {
        before = 0.0f;
        for (long run = 0; run < 2500; run += 1024) {
            open = 0.0f;
            for (long p = run; p < run + ((2500 < run + 1024 ? 2500 : run + 1024) - run) / 8 * 8; p += 8) {
                i32x8 c_v = hone_load8_bool(&c[item * N + 2492 - p]);
                f32x8 x_v = hone_load8_bf16(&x[item * N + 2492 - p]);
                f32x8 t_1 = hone_select8(c_v, x_v, hone_all8(0.0f));
                f32x8 turned = hone_lanes_reversed8(t_1);
                f32x8 upto = hone_lanes_slid1_8(hone_all8(0.0f), turned) + turned;
                f32x8 upto_2 = hone_lanes_slid2_8(hone_all8(0.0f), upto) + upto;
                f32x8 upto_3 = hone_lanes_slid4_8(hone_all8(0.0f), upto_2) + upto_2;
                float start = open;
                open = start + hone_lane8(upto_3, 7);
                f32x8 y_f32 = hone_lanes_reversed8(before + (start + hone_lanes_slid1_8(hone_all8(0.0f), upto_3)));
                hone_store8_f16(&y[item * N + 2492 - p], y_f32);
            }
            for (long p = run + ((2500 < run + 1024 ? 2500 : run + 1024) - run) / 8 * 8; p < (2500 < run + 1024 ? 2500 : run + 1024); p++) {
                int c_v = c[item * N + 2499 - p] != 0;
                float x_v = hone_from_bf16(x[item * N + 2499 - p]);
                float t_1 = (c_v ? x_v : 0.0f);
                float start = open;
                open = start + t_1;
                float y_f32 = before + (start + 0.0f);
                y[item * N + 2499 - p] = hone_to_f16(y_f32);
            }
            before += open;
        }
    }
}
