// turned, by hone VERSION.
// kernel for turned on cpu
// stage y : map as tiles  vec 8  tile 32x16  ahead 1  turn registers  store stream
#include "hone_math.h"
#include "hone_types.h"

#ifndef M
#define M 56
#endif
#ifndef N
#define N 21
#endif

_Static_assert(M == 56, "lowered for M = 56");
_Static_assert(N == 21, "lowered for N = 21");

#pragma hone launch y_map grid(4) args(x, c, y)

void y_map(long block, const unsigned short *restrict x, const float *restrict c, unsigned short *restrict y) {
    long across = block % 2 * 16;
    long along = block / 2 * 32;
    long whole = across + ((N < across + 16 ? N : across + 16) - across) / 8 * 8;
    long whole_2 = along + ((M < along + 32 ? M : along + 32) - along) / 16 * 16;
    for (long a = across; a < whole; a += 8) {
        for (long j = along; j < whole_2; j += 16) {
            f32x8 x_v = hone_load8_bf16(&x[j * N + a]);
            __builtin_prefetch(&x[j * N + a + 16], 0, 2);
            f32x8 x_2 = hone_load8_bf16(&x[(j + 1) * N + a]);
            f32x8 x_3 = hone_load8_bf16(&x[(j + 2) * N + a]);
            __builtin_prefetch(&x[(j + 2) * N + a + 16], 0, 2);
            f32x8 x_4 = hone_load8_bf16(&x[(j + 3) * N + a]);
            f32x8 x_5 = hone_load8_bf16(&x[(j + 4) * N + a]);
            __builtin_prefetch(&x[(j + 4) * N + a + 16], 0, 2);
            f32x8 x_6 = hone_load8_bf16(&x[(j + 5) * N + a]);
            f32x8 x_7 = hone_load8_bf16(&x[(j + 6) * N + a]);
            __builtin_prefetch(&x[(j + 6) * N + a + 16], 0, 2);
            f32x8 x_8 = hone_load8_bf16(&x[(j + 7) * N + a]);
            f32x8 turned = hone_lanes_even4_8(x_v, x_5);
            f32x8 turned_2 = hone_lanes_odd4_8(x_v, x_5);
            f32x8 turned_3 = hone_lanes_even4_8(x_2, x_6);
            f32x8 turned_4 = hone_lanes_odd4_8(x_2, x_6);
            f32x8 turned_5 = hone_lanes_even4_8(x_3, x_7);
            f32x8 turned_6 = hone_lanes_odd4_8(x_3, x_7);
            f32x8 turned_7 = hone_lanes_even4_8(x_4, x_8);
            f32x8 turned_8 = hone_lanes_odd4_8(x_4, x_8);
            f32x8 turned_9 = hone_lanes_even2_8(turned, turned_5);
            f32x8 turned_10 = hone_lanes_odd2_8(turned, turned_5);
            f32x8 turned_11 = hone_lanes_even2_8(turned_3, turned_7);
            f32x8 turned_12 = hone_lanes_odd2_8(turned_3, turned_7);
            f32x8 turned_13 = hone_lanes_even2_8(turned_2, turned_6);
            f32x8 turned_14 = hone_lanes_odd2_8(turned_2, turned_6);
            f32x8 turned_15 = hone_lanes_even2_8(turned_4, turned_8);
            f32x8 turned_16 = hone_lanes_odd2_8(turned_4, turned_8);
            f32x8 turned_17 = hone_lanes_even1_8(turned_9, turned_11);
            f32x8 turned_18 = hone_lanes_odd1_8(turned_9, turned_11);
            f32x8 turned_19 = hone_lanes_even1_8(turned_10, turned_12);
            f32x8 turned_20 = hone_lanes_odd1_8(turned_10, turned_12);
            f32x8 turned_21 = hone_lanes_even1_8(turned_13, turned_15);
            f32x8 turned_22 = hone_lanes_odd1_8(turned_13, turned_15);
            f32x8 turned_23 = hone_lanes_even1_8(turned_14, turned_16);
            f32x8 turned_24 = hone_lanes_odd1_8(turned_14, turned_16);
            f32x8 x_9 = hone_load8_bf16(&x[(j + 8) * N + a]);
            __builtin_prefetch(&x[(j + 8) * N + a + 16], 0, 2);
            f32x8 x_10 = hone_load8_bf16(&x[(j + 9) * N + a]);
            f32x8 x_11 = hone_load8_bf16(&x[(j + 10) * N + a]);
            __builtin_prefetch(&x[(j + 10) * N + a + 16], 0, 2);
            f32x8 x_12 = hone_load8_bf16(&x[(j + 11) * N + a]);
            f32x8 x_13 = hone_load8_bf16(&x[(j + 12) * N + a]);
            __builtin_prefetch(&x[(j + 12) * N + a + 16], 0, 2);
            f32x8 x_14 = hone_load8_bf16(&x[(j + 13) * N + a]);
            f32x8 x_15 = hone_load8_bf16(&x[(j + 14) * N + a]);
            __builtin_prefetch(&x[(j + 14) * N + a + 16], 0, 2);
            f32x8 x_16 = hone_load8_bf16(&x[(j + 15) * N + a]);
            f32x8 turned_25 = hone_lanes_even4_8(x_9, x_13);
            f32x8 turned_26 = hone_lanes_odd4_8(x_9, x_13);
            f32x8 turned_27 = hone_lanes_even4_8(x_10, x_14);
            f32x8 turned_28 = hone_lanes_odd4_8(x_10, x_14);
            f32x8 turned_29 = hone_lanes_even4_8(x_11, x_15);
            f32x8 turned_30 = hone_lanes_odd4_8(x_11, x_15);
            f32x8 turned_31 = hone_lanes_even4_8(x_12, x_16);
            f32x8 turned_32 = hone_lanes_odd4_8(x_12, x_16);
            f32x8 turned_33 = hone_lanes_even2_8(turned_25, turned_29);
            f32x8 turned_34 = hone_lanes_odd2_8(turned_25, turned_29);
            f32x8 turned_35 = hone_lanes_even2_8(turned_27, turned_31);
            f32x8 turned_36 = hone_lanes_odd2_8(turned_27, turned_31);
            f32x8 turned_37 = hone_lanes_even2_8(turned_26, turned_30);
            f32x8 turned_38 = hone_lanes_odd2_8(turned_26, turned_30);
            f32x8 turned_39 = hone_lanes_even2_8(turned_28, turned_32);
            f32x8 turned_40 = hone_lanes_odd2_8(turned_28, turned_32);
            f32x8 turned_41 = hone_lanes_even1_8(turned_33, turned_35);
            f32x8 turned_42 = hone_lanes_odd1_8(turned_33, turned_35);
            f32x8 turned_43 = hone_lanes_even1_8(turned_34, turned_36);
            f32x8 turned_44 = hone_lanes_odd1_8(turned_34, turned_36);
            f32x8 turned_45 = hone_lanes_even1_8(turned_37, turned_39);
            f32x8 turned_46 = hone_lanes_odd1_8(turned_37, turned_39);
            f32x8 turned_47 = hone_lanes_even1_8(turned_38, turned_40);
            f32x8 turned_48 = hone_lanes_odd1_8(turned_38, turned_40);
            f32x8 c_v = hone_load8(&c[j]);
            f32x8 y_f32 = turned_17 * c_v;
            hone_stream8_bf16(&y[a * M + j], y_f32);
            f32x8 c_2 = hone_load8(&c[j + 8]);
            f32x8 y_f32_2 = turned_41 * c_2;
            hone_stream8_bf16(&y[a * M + j + 8], y_f32_2);
            f32x8 y_f32_3 = turned_18 * c_v;
            hone_stream8_bf16(&y[(a + 1) * M + j], y_f32_3);
            f32x8 y_f32_4 = turned_42 * c_2;
            hone_stream8_bf16(&y[(a + 1) * M + j + 8], y_f32_4);
            f32x8 y_f32_5 = turned_19 * c_v;
            hone_stream8_bf16(&y[(a + 2) * M + j], y_f32_5);
            f32x8 y_f32_6 = turned_43 * c_2;
            hone_stream8_bf16(&y[(a + 2) * M + j + 8], y_f32_6);
            f32x8 y_f32_7 = turned_20 * c_v;
            hone_stream8_bf16(&y[(a + 3) * M + j], y_f32_7);
            f32x8 y_f32_8 = turned_44 * c_2;
            hone_stream8_bf16(&y[(a + 3) * M + j + 8], y_f32_8);
            f32x8 y_f32_9 = turned_21 * c_v;
            hone_stream8_bf16(&y[(a + 4) * M + j], y_f32_9);
            f32x8 y_f32_10 = turned_45 * c_2;
            hone_stream8_bf16(&y[(a + 4) * M + j + 8], y_f32_10);
            f32x8 y_f32_11 = turned_22 * c_v;
            hone_stream8_bf16(&y[(a + 5) * M + j], y_f32_11);
            f32x8 y_f32_12 = turned_46 * c_2;
            hone_stream8_bf16(&y[(a + 5) * M + j + 8], y_f32_12);
            f32x8 y_f32_13 = turned_23 * c_v;
            hone_stream8_bf16(&y[(a + 6) * M + j], y_f32_13);
            f32x8 y_f32_14 = turned_47 * c_2;
            hone_stream8_bf16(&y[(a + 6) * M + j + 8], y_f32_14);
            f32x8 y_f32_15 = turned_24 * c_v;
            hone_stream8_bf16(&y[(a + 7) * M + j], y_f32_15);
            f32x8 y_f32_16 = turned_48 * c_2;
            hone_stream8_bf16(&y[(a + 7) * M + j + 8], y_f32_16);
        }
    }
    for (long a = across; a < whole; a += 8) {
        for (long j = whole_2; j < (M < along + 32 ? M : along + 32); j += 8) {
            f32x8 x_v = hone_load8_bf16(&x[j * N + a]);
            __builtin_prefetch(&x[j * N + a + 16], 0, 2);
            f32x8 x_2 = hone_load8_bf16(&x[(j + 1) * N + a]);
            f32x8 x_3 = hone_load8_bf16(&x[(j + 2) * N + a]);
            __builtin_prefetch(&x[(j + 2) * N + a + 16], 0, 2);
            f32x8 x_4 = hone_load8_bf16(&x[(j + 3) * N + a]);
            f32x8 x_5 = hone_load8_bf16(&x[(j + 4) * N + a]);
            __builtin_prefetch(&x[(j + 4) * N + a + 16], 0, 2);
            f32x8 x_6 = hone_load8_bf16(&x[(j + 5) * N + a]);
            f32x8 x_7 = hone_load8_bf16(&x[(j + 6) * N + a]);
            __builtin_prefetch(&x[(j + 6) * N + a + 16], 0, 2);
            f32x8 x_8 = hone_load8_bf16(&x[(j + 7) * N + a]);
            f32x8 turned = hone_lanes_even4_8(x_v, x_5);
            f32x8 turned_2 = hone_lanes_odd4_8(x_v, x_5);
            f32x8 turned_3 = hone_lanes_even4_8(x_2, x_6);
            f32x8 turned_4 = hone_lanes_odd4_8(x_2, x_6);
            f32x8 turned_5 = hone_lanes_even4_8(x_3, x_7);
            f32x8 turned_6 = hone_lanes_odd4_8(x_3, x_7);
            f32x8 turned_7 = hone_lanes_even4_8(x_4, x_8);
            f32x8 turned_8 = hone_lanes_odd4_8(x_4, x_8);
            f32x8 turned_9 = hone_lanes_even2_8(turned, turned_5);
            f32x8 turned_10 = hone_lanes_odd2_8(turned, turned_5);
            f32x8 turned_11 = hone_lanes_even2_8(turned_3, turned_7);
            f32x8 turned_12 = hone_lanes_odd2_8(turned_3, turned_7);
            f32x8 turned_13 = hone_lanes_even2_8(turned_2, turned_6);
            f32x8 turned_14 = hone_lanes_odd2_8(turned_2, turned_6);
            f32x8 turned_15 = hone_lanes_even2_8(turned_4, turned_8);
            f32x8 turned_16 = hone_lanes_odd2_8(turned_4, turned_8);
            f32x8 turned_17 = hone_lanes_even1_8(turned_9, turned_11);
            f32x8 turned_18 = hone_lanes_odd1_8(turned_9, turned_11);
            f32x8 turned_19 = hone_lanes_even1_8(turned_10, turned_12);
            f32x8 turned_20 = hone_lanes_odd1_8(turned_10, turned_12);
            f32x8 turned_21 = hone_lanes_even1_8(turned_13, turned_15);
            f32x8 turned_22 = hone_lanes_odd1_8(turned_13, turned_15);
            f32x8 turned_23 = hone_lanes_even1_8(turned_14, turned_16);
            f32x8 turned_24 = hone_lanes_odd1_8(turned_14, turned_16);
            f32x8 c_v = hone_load8(&c[j]);
            f32x8 y_f32 = turned_17 * c_v;
            hone_stream8_bf16(&y[a * M + j], y_f32);
            f32x8 y_f32_2 = turned_18 * c_v;
            hone_stream8_bf16(&y[(a + 1) * M + j], y_f32_2);
            f32x8 y_f32_3 = turned_19 * c_v;
            hone_stream8_bf16(&y[(a + 2) * M + j], y_f32_3);
            f32x8 y_f32_4 = turned_20 * c_v;
            hone_stream8_bf16(&y[(a + 3) * M + j], y_f32_4);
            f32x8 y_f32_5 = turned_21 * c_v;
            hone_stream8_bf16(&y[(a + 4) * M + j], y_f32_5);
            f32x8 y_f32_6 = turned_22 * c_v;
            hone_stream8_bf16(&y[(a + 5) * M + j], y_f32_6);
            f32x8 y_f32_7 = turned_23 * c_v;
            hone_stream8_bf16(&y[(a + 6) * M + j], y_f32_7);
            f32x8 y_f32_8 = turned_24 * c_v;
            hone_stream8_bf16(&y[(a + 7) * M + j], y_f32_8);
        }
    }
    for (long a = whole; a < (N < across + 16 ? N : across + 16); a++) {
        for (long j = along; j < (M < along + 32 ? M : along + 32); j++) {
            float x_v = hone_from_bf16(x[j * N + a]);
            float c_v = c[j];
            float y_f32 = x_v * c_v;
            y[a * M + j] = hone_to_bf16(y_f32);
        }
    }
}
