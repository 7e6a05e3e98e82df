// window, by hone VERSION.
// kernel for window on sm_90a
// stage y : pool as vectors  threads 32  lines 2  items 2  columns 8
#include "dev.h"

#ifndef B
#define B 3
#endif
#ifndef H
#define H 9
#endif
#ifndef W
#define W 24
#endif

HONE_ASSERT(B == 3, "lowered for B = 3");
HONE_ASSERT(H == 9, "lowered for H = 9");
HONE_ASSERT(W == 24, "lowered for W = 24");

#pragma hone launch y_pool grid(8) block(64) args(x, y)

HONE_KERNEL(64) y_pool(const unsigned short *__restrict__ x, unsigned short *__restrict__ y) {
    float t_1_fold[16];
    HONE_SHARED_OF(unsigned short, tile, 104);
    const int block = hone_block();
    const int thread = hone_thread();
    int from = (block * 2 / 5 * 9 + block * 2 % 5 * 2) * 23;
    int next = (block * 2 + 2 < 15 ? block * 2 + 2 : 15);
    int to = (next / 5 * 9 + next % 5 * 2) * 23;
    int shift = from % 8;
    int begin = from - shift;
    int line = block * 2 + thread / 32;
    int column = thread % 32 * 8;
    if (line < 15) {
        if (column < 23) {
            int i = line / 5;
            int first = line % 5 * 2;
            t_1_fold[0] = -HONE_INFINITY;
            t_1_fold[1] = -HONE_INFINITY;
            t_1_fold[2] = -HONE_INFINITY;
            t_1_fold[3] = -HONE_INFINITY;
            t_1_fold[4] = -HONE_INFINITY;
            t_1_fold[5] = -HONE_INFINITY;
            t_1_fold[6] = -HONE_INFINITY;
            t_1_fold[7] = -HONE_INFINITY;
            t_1_fold[8] = -HONE_INFINITY;
            t_1_fold[9] = -HONE_INFINITY;
            t_1_fold[10] = -HONE_INFINITY;
            t_1_fold[11] = -HONE_INFINITY;
            t_1_fold[12] = -HONE_INFINITY;
            t_1_fold[13] = -HONE_INFINITY;
            t_1_fold[14] = -HONE_INFINITY;
            t_1_fold[15] = -HONE_INFINITY;
            int base = i * 216 + (first + -1 > 0 ? first + -1 : 0) * 24;
            f32x8 v = hone_load8_bf16(&x[base + (column + -8 > 0 ? column + -8 : 0)]);
            f32x8 v_2 = hone_load8_bf16(&x[base + column]);
            f32x8 v_3 = hone_load8_bf16(&x[base + (column + 8 < 16 ? column + 8 : 16)]);
            float row = (0 <= first + -1 ? hone_max1(hone_max1(hone_max1((0 <= column + -8 ? hone_lane8(v, 7) : -HONE_INFINITY), hone_lane8(v_2, 0)), hone_lane8(v_2, 1)), hone_lane8(v_2, 2)) : -HONE_INFINITY);
            t_1_fold[0] = hone_max1(t_1_fold[0], row);
            float row_2 = (0 <= first + -1 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_2, 0), hone_lane8(v_2, 1)), hone_lane8(v_2, 2)), hone_lane8(v_2, 3)) : -HONE_INFINITY);
            t_1_fold[1] = hone_max1(t_1_fold[1], row_2);
            float row_3 = (0 <= first + -1 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_2, 1), hone_lane8(v_2, 2)), hone_lane8(v_2, 3)), hone_lane8(v_2, 4)) : -HONE_INFINITY);
            t_1_fold[2] = hone_max1(t_1_fold[2], row_3);
            float row_4 = (0 <= first + -1 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_2, 2), hone_lane8(v_2, 3)), hone_lane8(v_2, 4)), hone_lane8(v_2, 5)) : -HONE_INFINITY);
            t_1_fold[3] = hone_max1(t_1_fold[3], row_4);
            float row_5 = (0 <= first + -1 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_2, 3), hone_lane8(v_2, 4)), hone_lane8(v_2, 5)), hone_lane8(v_2, 6)) : -HONE_INFINITY);
            t_1_fold[4] = hone_max1(t_1_fold[4], row_5);
            float row_6 = (0 <= first + -1 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_2, 4), hone_lane8(v_2, 5)), hone_lane8(v_2, 6)), hone_lane8(v_2, 7)) : -HONE_INFINITY);
            t_1_fold[5] = hone_max1(t_1_fold[5], row_6);
            float row_7 = (0 <= first + -1 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_2, 5), hone_lane8(v_2, 6)), hone_lane8(v_2, 7)), (column + 8 < 24 ? hone_lane8(v_3, 0) : -HONE_INFINITY)) : -HONE_INFINITY);
            t_1_fold[6] = hone_max1(t_1_fold[6], row_7);
            float row_8 = (0 <= first + -1 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_2, 6), hone_lane8(v_2, 7)), (column + 8 < 24 ? hone_lane8(v_3, 0) : -HONE_INFINITY)), (column + 8 < 24 ? hone_lane8(v_3, 1) : -HONE_INFINITY)) : -HONE_INFINITY);
            t_1_fold[7] = hone_max1(t_1_fold[7], row_8);
            int base_2 = i * 216 + first * 24;
            f32x8 v_4 = hone_load8_bf16(&x[base_2 + (column + -8 > 0 ? column + -8 : 0)]);
            f32x8 v_5 = hone_load8_bf16(&x[base_2 + column]);
            f32x8 v_6 = hone_load8_bf16(&x[base_2 + (column + 8 < 16 ? column + 8 : 16)]);
            float row_9 = hone_max1(hone_max1(hone_max1((0 <= column + -8 ? hone_lane8(v_4, 7) : -HONE_INFINITY), hone_lane8(v_5, 0)), hone_lane8(v_5, 1)), hone_lane8(v_5, 2));
            t_1_fold[0] = hone_max1(t_1_fold[0], row_9);
            t_1_fold[8] = hone_max1(t_1_fold[8], row_9);
            float row_10 = hone_max1(hone_max1(hone_max1(hone_lane8(v_5, 0), hone_lane8(v_5, 1)), hone_lane8(v_5, 2)), hone_lane8(v_5, 3));
            t_1_fold[1] = hone_max1(t_1_fold[1], row_10);
            t_1_fold[9] = hone_max1(t_1_fold[9], row_10);
            float row_11 = hone_max1(hone_max1(hone_max1(hone_lane8(v_5, 1), hone_lane8(v_5, 2)), hone_lane8(v_5, 3)), hone_lane8(v_5, 4));
            t_1_fold[2] = hone_max1(t_1_fold[2], row_11);
            t_1_fold[10] = hone_max1(t_1_fold[10], row_11);
            float row_12 = hone_max1(hone_max1(hone_max1(hone_lane8(v_5, 2), hone_lane8(v_5, 3)), hone_lane8(v_5, 4)), hone_lane8(v_5, 5));
            t_1_fold[3] = hone_max1(t_1_fold[3], row_12);
            t_1_fold[11] = hone_max1(t_1_fold[11], row_12);
            float row_13 = hone_max1(hone_max1(hone_max1(hone_lane8(v_5, 3), hone_lane8(v_5, 4)), hone_lane8(v_5, 5)), hone_lane8(v_5, 6));
            t_1_fold[4] = hone_max1(t_1_fold[4], row_13);
            t_1_fold[12] = hone_max1(t_1_fold[12], row_13);
            float row_14 = hone_max1(hone_max1(hone_max1(hone_lane8(v_5, 4), hone_lane8(v_5, 5)), hone_lane8(v_5, 6)), hone_lane8(v_5, 7));
            t_1_fold[5] = hone_max1(t_1_fold[5], row_14);
            t_1_fold[13] = hone_max1(t_1_fold[13], row_14);
            float row_15 = hone_max1(hone_max1(hone_max1(hone_lane8(v_5, 5), hone_lane8(v_5, 6)), hone_lane8(v_5, 7)), (column + 8 < 24 ? hone_lane8(v_6, 0) : -HONE_INFINITY));
            t_1_fold[6] = hone_max1(t_1_fold[6], row_15);
            t_1_fold[14] = hone_max1(t_1_fold[14], row_15);
            float row_16 = hone_max1(hone_max1(hone_max1(hone_lane8(v_5, 6), hone_lane8(v_5, 7)), (column + 8 < 24 ? hone_lane8(v_6, 0) : -HONE_INFINITY)), (column + 8 < 24 ? hone_lane8(v_6, 1) : -HONE_INFINITY));
            t_1_fold[7] = hone_max1(t_1_fold[7], row_16);
            t_1_fold[15] = hone_max1(t_1_fold[15], row_16);
            int base_3 = i * 216 + (first + 1 < 8 ? first + 1 : 8) * 24;
            f32x8 v_7 = hone_load8_bf16(&x[base_3 + (column + -8 > 0 ? column + -8 : 0)]);
            f32x8 v_8 = hone_load8_bf16(&x[base_3 + column]);
            f32x8 v_9 = hone_load8_bf16(&x[base_3 + (column + 8 < 16 ? column + 8 : 16)]);
            float row_17 = (first + 1 < 9 ? hone_max1(hone_max1(hone_max1((0 <= column + -8 ? hone_lane8(v_7, 7) : -HONE_INFINITY), hone_lane8(v_8, 0)), hone_lane8(v_8, 1)), hone_lane8(v_8, 2)) : -HONE_INFINITY);
            t_1_fold[0] = hone_max1(t_1_fold[0], row_17);
            t_1_fold[8] = hone_max1(t_1_fold[8], row_17);
            float row_18 = (first + 1 < 9 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_8, 0), hone_lane8(v_8, 1)), hone_lane8(v_8, 2)), hone_lane8(v_8, 3)) : -HONE_INFINITY);
            t_1_fold[1] = hone_max1(t_1_fold[1], row_18);
            t_1_fold[9] = hone_max1(t_1_fold[9], row_18);
            float row_19 = (first + 1 < 9 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_8, 1), hone_lane8(v_8, 2)), hone_lane8(v_8, 3)), hone_lane8(v_8, 4)) : -HONE_INFINITY);
            t_1_fold[2] = hone_max1(t_1_fold[2], row_19);
            t_1_fold[10] = hone_max1(t_1_fold[10], row_19);
            float row_20 = (first + 1 < 9 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_8, 2), hone_lane8(v_8, 3)), hone_lane8(v_8, 4)), hone_lane8(v_8, 5)) : -HONE_INFINITY);
            t_1_fold[3] = hone_max1(t_1_fold[3], row_20);
            t_1_fold[11] = hone_max1(t_1_fold[11], row_20);
            float row_21 = (first + 1 < 9 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_8, 3), hone_lane8(v_8, 4)), hone_lane8(v_8, 5)), hone_lane8(v_8, 6)) : -HONE_INFINITY);
            t_1_fold[4] = hone_max1(t_1_fold[4], row_21);
            t_1_fold[12] = hone_max1(t_1_fold[12], row_21);
            float row_22 = (first + 1 < 9 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_8, 4), hone_lane8(v_8, 5)), hone_lane8(v_8, 6)), hone_lane8(v_8, 7)) : -HONE_INFINITY);
            t_1_fold[5] = hone_max1(t_1_fold[5], row_22);
            t_1_fold[13] = hone_max1(t_1_fold[13], row_22);
            float row_23 = (first + 1 < 9 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_8, 5), hone_lane8(v_8, 6)), hone_lane8(v_8, 7)), (column + 8 < 24 ? hone_lane8(v_9, 0) : -HONE_INFINITY)) : -HONE_INFINITY);
            t_1_fold[6] = hone_max1(t_1_fold[6], row_23);
            t_1_fold[14] = hone_max1(t_1_fold[14], row_23);
            float row_24 = (first + 1 < 9 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_8, 6), hone_lane8(v_8, 7)), (column + 8 < 24 ? hone_lane8(v_9, 0) : -HONE_INFINITY)), (column + 8 < 24 ? hone_lane8(v_9, 1) : -HONE_INFINITY)) : -HONE_INFINITY);
            t_1_fold[7] = hone_max1(t_1_fold[7], row_24);
            t_1_fold[15] = hone_max1(t_1_fold[15], row_24);
            int base_4 = i * 216 + (first + 2 < 8 ? first + 2 : 8) * 24;
            f32x8 v_10 = hone_load8_bf16(&x[base_4 + (column + -8 > 0 ? column + -8 : 0)]);
            f32x8 v_11 = hone_load8_bf16(&x[base_4 + column]);
            f32x8 v_12 = hone_load8_bf16(&x[base_4 + (column + 8 < 16 ? column + 8 : 16)]);
            float row_25 = (first + 2 < 9 ? hone_max1(hone_max1(hone_max1((0 <= column + -8 ? hone_lane8(v_10, 7) : -HONE_INFINITY), hone_lane8(v_11, 0)), hone_lane8(v_11, 1)), hone_lane8(v_11, 2)) : -HONE_INFINITY);
            t_1_fold[8] = hone_max1(t_1_fold[8], row_25);
            float row_26 = (first + 2 < 9 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_11, 0), hone_lane8(v_11, 1)), hone_lane8(v_11, 2)), hone_lane8(v_11, 3)) : -HONE_INFINITY);
            t_1_fold[9] = hone_max1(t_1_fold[9], row_26);
            float row_27 = (first + 2 < 9 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_11, 1), hone_lane8(v_11, 2)), hone_lane8(v_11, 3)), hone_lane8(v_11, 4)) : -HONE_INFINITY);
            t_1_fold[10] = hone_max1(t_1_fold[10], row_27);
            float row_28 = (first + 2 < 9 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_11, 2), hone_lane8(v_11, 3)), hone_lane8(v_11, 4)), hone_lane8(v_11, 5)) : -HONE_INFINITY);
            t_1_fold[11] = hone_max1(t_1_fold[11], row_28);
            float row_29 = (first + 2 < 9 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_11, 3), hone_lane8(v_11, 4)), hone_lane8(v_11, 5)), hone_lane8(v_11, 6)) : -HONE_INFINITY);
            t_1_fold[12] = hone_max1(t_1_fold[12], row_29);
            float row_30 = (first + 2 < 9 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_11, 4), hone_lane8(v_11, 5)), hone_lane8(v_11, 6)), hone_lane8(v_11, 7)) : -HONE_INFINITY);
            t_1_fold[13] = hone_max1(t_1_fold[13], row_30);
            float row_31 = (first + 2 < 9 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_11, 5), hone_lane8(v_11, 6)), hone_lane8(v_11, 7)), (column + 8 < 24 ? hone_lane8(v_12, 0) : -HONE_INFINITY)) : -HONE_INFINITY);
            t_1_fold[14] = hone_max1(t_1_fold[14], row_31);
            float row_32 = (first + 2 < 9 ? hone_max1(hone_max1(hone_max1(hone_lane8(v_11, 6), hone_lane8(v_11, 7)), (column + 8 < 24 ? hone_lane8(v_12, 0) : -HONE_INFINITY)), (column + 8 < 24 ? hone_lane8(v_12, 1) : -HONE_INFINITY)) : -HONE_INFINITY);
            t_1_fold[15] = hone_max1(t_1_fold[15], row_32);
            float t_1 = t_1_fold[0];
            float y_f32 = hone_max1(t_1, 0.0f);
            float y_v = hone_round_bf16(y_f32);
            tile[(i * H + first) * 23 + column - begin] = hone_to_bf16(y_v);
            if (column + 1 < 23) {
                float t_1_2 = t_1_fold[1];
                float y_f32_2 = hone_max1(t_1_2, 0.0f);
                float y_2 = hone_round_bf16(y_f32_2);
                tile[(i * H + first) * 23 + column + 1 - begin] = hone_to_bf16(y_2);
            }
            if (column + 2 < 23) {
                float t_1_2 = t_1_fold[2];
                float y_f32_2 = hone_max1(t_1_2, 0.0f);
                float y_2 = hone_round_bf16(y_f32_2);
                tile[(i * H + first) * 23 + column + 2 - begin] = hone_to_bf16(y_2);
            }
            if (column + 3 < 23) {
                float t_1_2 = t_1_fold[3];
                float y_f32_2 = hone_max1(t_1_2, 0.0f);
                float y_2 = hone_round_bf16(y_f32_2);
                tile[(i * H + first) * 23 + column + 3 - begin] = hone_to_bf16(y_2);
            }
            if (column + 4 < 23) {
                float t_1_2 = t_1_fold[4];
                float y_f32_2 = hone_max1(t_1_2, 0.0f);
                float y_2 = hone_round_bf16(y_f32_2);
                tile[(i * H + first) * 23 + column + 4 - begin] = hone_to_bf16(y_2);
            }
            if (column + 5 < 23) {
                float t_1_2 = t_1_fold[5];
                float y_f32_2 = hone_max1(t_1_2, 0.0f);
                float y_2 = hone_round_bf16(y_f32_2);
                tile[(i * H + first) * 23 + column + 5 - begin] = hone_to_bf16(y_2);
            }
            if (column + 6 < 23) {
                float t_1_2 = t_1_fold[6];
                float y_f32_2 = hone_max1(t_1_2, 0.0f);
                float y_2 = hone_round_bf16(y_f32_2);
                tile[(i * H + first) * 23 + column + 6 - begin] = hone_to_bf16(y_2);
            }
            if (column + 7 < 23) {
                float t_1_2 = t_1_fold[7];
                float y_f32_2 = hone_max1(t_1_2, 0.0f);
                float y_2 = hone_round_bf16(y_f32_2);
                tile[(i * H + first) * 23 + column + 7 - begin] = hone_to_bf16(y_2);
            }
            if (first + 1 < 9) {
                float t_1_2 = t_1_fold[8];
                float y_f32_2 = hone_max1(t_1_2, 0.0f);
                float y_2 = hone_round_bf16(y_f32_2);
                tile[(i * H + first + 1) * 23 + column - begin] = hone_to_bf16(y_2);
                if (column + 1 < 23) {
                    float t_1_3 = t_1_fold[9];
                    float y_f32_3 = hone_max1(t_1_3, 0.0f);
                    float y_3 = hone_round_bf16(y_f32_3);
                    tile[(i * H + first + 1) * 23 + column + 1 - begin] = hone_to_bf16(y_3);
                }
                if (column + 2 < 23) {
                    float t_1_3 = t_1_fold[10];
                    float y_f32_3 = hone_max1(t_1_3, 0.0f);
                    float y_3 = hone_round_bf16(y_f32_3);
                    tile[(i * H + first + 1) * 23 + column + 2 - begin] = hone_to_bf16(y_3);
                }
                if (column + 3 < 23) {
                    float t_1_3 = t_1_fold[11];
                    float y_f32_3 = hone_max1(t_1_3, 0.0f);
                    float y_3 = hone_round_bf16(y_f32_3);
                    tile[(i * H + first + 1) * 23 + column + 3 - begin] = hone_to_bf16(y_3);
                }
                if (column + 4 < 23) {
                    float t_1_3 = t_1_fold[12];
                    float y_f32_3 = hone_max1(t_1_3, 0.0f);
                    float y_3 = hone_round_bf16(y_f32_3);
                    tile[(i * H + first + 1) * 23 + column + 4 - begin] = hone_to_bf16(y_3);
                }
                if (column + 5 < 23) {
                    float t_1_3 = t_1_fold[13];
                    float y_f32_3 = hone_max1(t_1_3, 0.0f);
                    float y_3 = hone_round_bf16(y_f32_3);
                    tile[(i * H + first + 1) * 23 + column + 5 - begin] = hone_to_bf16(y_3);
                }
                if (column + 6 < 23) {
                    float t_1_3 = t_1_fold[14];
                    float y_f32_3 = hone_max1(t_1_3, 0.0f);
                    float y_3 = hone_round_bf16(y_f32_3);
                    tile[(i * H + first + 1) * 23 + column + 6 - begin] = hone_to_bf16(y_3);
                }
                if (column + 7 < 23) {
                    float t_1_3 = t_1_fold[15];
                    float y_f32_3 = hone_max1(t_1_3, 0.0f);
                    float y_3 = hone_round_bf16(y_f32_3);
                    tile[(i * H + first + 1) * 23 + column + 7 - begin] = hone_to_bf16(y_3);
                }
            }
        }
    }
    hone_barrier();
    int end = shift + to - from;
    for (int j = thread * 8; j < end; j += 512) {
        int inside = (j - shift < end - (j + 8) ? j - shift : end - (j + 8));
        if (-1 < inside) {
            hone_store8_bf16(&y[begin + j], hone_load8_bf16(&tile[j]));
        }
        if (inside < 0) {
            if (shift - 1 < j) {
                if (j < end) {
                    y[begin + j] = hone_to_bf16(hone_from_bf16(tile[j]));
                }
            }
            if (shift - 1 < j + 1) {
                if (j + 1 < end) {
                    y[begin + j + 1] = hone_to_bf16(hone_from_bf16(tile[j + 1]));
                }
            }
            if (shift - 1 < j + 2) {
                if (j + 2 < end) {
                    y[begin + j + 2] = hone_to_bf16(hone_from_bf16(tile[j + 2]));
                }
            }
            if (shift - 1 < j + 3) {
                if (j + 3 < end) {
                    y[begin + j + 3] = hone_to_bf16(hone_from_bf16(tile[j + 3]));
                }
            }
            if (shift - 1 < j + 4) {
                if (j + 4 < end) {
                    y[begin + j + 4] = hone_to_bf16(hone_from_bf16(tile[j + 4]));
                }
            }
            if (shift - 1 < j + 5) {
                if (j + 5 < end) {
                    y[begin + j + 5] = hone_to_bf16(hone_from_bf16(tile[j + 5]));
                }
            }
            if (shift - 1 < j + 6) {
                if (j + 6 < end) {
                    y[begin + j + 6] = hone_to_bf16(hone_from_bf16(tile[j + 6]));
                }
            }
            if (j + 7 < end) {
                y[begin + j + 7] = hone_to_bf16(hone_from_bf16(tile[j + 7]));
            }
        }
    }
}
