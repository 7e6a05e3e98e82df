// channels_last, by hone VERSION.
// kernel for channels_last on cpu
// stage y : map as tiles  vec 4  tile 16x64  ahead 1  turn registers  store stream
#include "hone_math.h"

#ifndef B
#define B 2
#endif
#ifndef C
#define C 40
#endif
#ifndef H
#define H 30
#endif
#ifndef W
#define W 20
#endif

_Static_assert(B == 2, "lowered for B = 2");
_Static_assert(C == 40, "lowered for C = 40");
_Static_assert(H == 30, "lowered for H = 30");
_Static_assert(W == 20, "lowered for W = 20");

#pragma hone launch y_map grid(60) args(x, c, y)

void y_map(long block, const float *restrict x, const float *restrict c, float *restrict y) {
    long across = block % 10 * 64;
    long along = block / 10 % 3 * 16;
    long i = block / 10 / 3;
    for (long a = across; a < (H * W < across + 64 ? H * W : across + 64); a += 4) {
        for (long j = along; j < (C < along + 16 ? C : along + 16); j += 8) {
            f32x4 x_v = hone_load4(&x[(i * C + j) * (H * W) + a]);
            __builtin_prefetch(&x[(i * C + j) * (H * W) + a + 64], 0, 2);
            f32x4 x_2 = hone_load4(&x[(i * C + j + 1) * (H * W) + a]);
            __builtin_prefetch(&x[(i * C + j + 1) * (H * W) + a + 64], 0, 2);
            f32x4 x_3 = hone_load4(&x[(i * C + j + 2) * (H * W) + a]);
            __builtin_prefetch(&x[(i * C + j + 2) * (H * W) + a + 64], 0, 2);
            f32x4 x_4 = hone_load4(&x[(i * C + j + 3) * (H * W) + a]);
            __builtin_prefetch(&x[(i * C + j + 3) * (H * W) + a + 64], 0, 2);
            f32x4 turned = hone_lanes_even2_4(x_v, x_3);
            f32x4 turned_2 = hone_lanes_odd2_4(x_v, x_3);
            f32x4 turned_3 = hone_lanes_even2_4(x_2, x_4);
            f32x4 turned_4 = hone_lanes_odd2_4(x_2, x_4);
            f32x4 turned_5 = hone_lanes_even1_4(turned, turned_3);
            f32x4 turned_6 = hone_lanes_odd1_4(turned, turned_3);
            f32x4 turned_7 = hone_lanes_even1_4(turned_2, turned_4);
            f32x4 turned_8 = hone_lanes_odd1_4(turned_2, turned_4);
            f32x4 x_5 = hone_load4(&x[(i * C + j + 4) * (H * W) + a]);
            __builtin_prefetch(&x[(i * C + j + 4) * (H * W) + a + 64], 0, 2);
            f32x4 x_6 = hone_load4(&x[(i * C + j + 5) * (H * W) + a]);
            __builtin_prefetch(&x[(i * C + j + 5) * (H * W) + a + 64], 0, 2);
            f32x4 x_7 = hone_load4(&x[(i * C + j + 6) * (H * W) + a]);
            __builtin_prefetch(&x[(i * C + j + 6) * (H * W) + a + 64], 0, 2);
            f32x4 x_8 = hone_load4(&x[(i * C + j + 7) * (H * W) + a]);
            __builtin_prefetch(&x[(i * C + j + 7) * (H * W) + a + 64], 0, 2);
            f32x4 turned_9 = hone_lanes_even2_4(x_5, x_7);
            f32x4 turned_10 = hone_lanes_odd2_4(x_5, x_7);
            f32x4 turned_11 = hone_lanes_even2_4(x_6, x_8);
            f32x4 turned_12 = hone_lanes_odd2_4(x_6, x_8);
            f32x4 turned_13 = hone_lanes_even1_4(turned_9, turned_11);
            f32x4 turned_14 = hone_lanes_odd1_4(turned_9, turned_11);
            f32x4 turned_15 = hone_lanes_even1_4(turned_10, turned_12);
            f32x4 turned_16 = hone_lanes_odd1_4(turned_10, turned_12);
            f32x4 c_v = hone_load4(&c[j]);
            f32x4 y_v = turned_5 + c_v;
            hone_stream4(&y[(i * (H * W) + a) * C + j], y_v);
            f32x4 c_2 = hone_load4(&c[j + 4]);
            f32x4 y_2 = turned_13 + c_2;
            hone_stream4(&y[(i * (H * W) + a) * C + j + 4], y_2);
            f32x4 y_3 = turned_6 + c_v;
            hone_stream4(&y[(i * (H * W) + a + 1) * C + j], y_3);
            f32x4 y_4 = turned_14 + c_2;
            hone_stream4(&y[(i * (H * W) + a + 1) * C + j + 4], y_4);
            f32x4 y_5 = turned_7 + c_v;
            hone_stream4(&y[(i * (H * W) + a + 2) * C + j], y_5);
            f32x4 y_6 = turned_15 + c_2;
            hone_stream4(&y[(i * (H * W) + a + 2) * C + j + 4], y_6);
            f32x4 y_7 = turned_8 + c_v;
            hone_stream4(&y[(i * (H * W) + a + 3) * C + j], y_7);
            f32x4 y_8 = turned_16 + c_2;
            hone_stream4(&y[(i * (H * W) + a + 3) * C + j + 4], y_8);
        }
    }
}
