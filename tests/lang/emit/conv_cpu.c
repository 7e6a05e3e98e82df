// block, by hone VERSION.
// kernel for block on cpu
// stage y : conv  tile 4x32  micro 7x16  depth 8  lanes channels  vec 8
#include "hone_math.h"
#include "hone_types.h"

#ifndef B
#define B 4
#endif
#ifndef C
#define C 24
#endif
#ifndef O
#define O 48
#endif
#ifndef H
#define H 28
#endif

_Static_assert(B == 4, "lowered for B = 4");
_Static_assert(C == 24, "lowered for C = 24");
_Static_assert(O == 48, "lowered for O = 48");
_Static_assert(H == 28, "lowered for H = 28");

#pragma hone scratch y_weights f32[3, 3456]
#pragma hone launch y_copy_weights grid(72) args(w, y_weights)
#pragma hone launch y_conv grid(32) args(x, bias, y, y_weights)

void y_copy_weights(long block, const unsigned short *restrict w, float *restrict y_weights) {
    for (long lane = 0; lane < 16; lane++) {
        long out = block / 24 * 16 + lane;
        for (long tap = 0; tap < 9; tap++) {
            long i = tap % 3;
            long i_2 = tap / 3;
            float w_v = hone_from_f16(w[((out * 24 + block % 24) * 3 + i_2) * 3 + i]);
            y_weights[block * 144 + tap * 16 + lane] = w_v;
        }
    }
}

void y_conv(long block, const unsigned short *restrict x, const unsigned short *restrict bias, unsigned short *restrict y, const float *restrict y_weights) {
    _Alignas(64) float image[8 * 288];
    _Alignas(64) float tile[56 * 32];
    f32x8 sum_0, sum_1, sum_2, sum_3, sum_4, sum_5, sum_6, sum_7, sum_8, sum_9, sum_10, sum_11, sum_12, sum_13;
    f32x8 vector_0, vector_1;
    long panel0 = block % 2 * 2;
    long row0 = block / 2 % 4 * 4;
    long batch = block / 2 / 4;
    long panels = (2 < 3 - panel0 ? 2 : 3 - panel0);
    long rows = (4 < 14 - row0 ? 4 : 14 - row0);
    for (long c0 = 0; c0 < 24; c0 += 8) {
        for (long c = 0; c < 8; c++) {
            for (long r = 0; r < 9; r++) {
                long to = (c * 9 + r) * 32;
                for (long i = 0; i < 32; i += 8) {
                    hone_store8(&image[to + i], hone_all8(0.0f));
                }
                long y_v = row0 * 2 + r - 1;
                if (-1 < y_v) {
                    if (y_v < 28) {
                        for (long j = 1; j < 25; j += 8) {
                            f32x8 x_v = hone_load8_f16(&x[((batch * C + c0 + c) * H + y_v) * H + -1 + j]);
                            hone_store8(&image[to + j], x_v);
                        }
                        for (long j = 25; j < 29; j++) {
                            float x_v = hone_from_f16(x[((batch * C + c0 + c) * H + y_v) * H + -1 + j]);
                            image[to + j] = x_v;
                        }
                    }
                }
            }
        }
        for (long panel = 0; panel < panels; panel++) {
            for (long row = 0; row < rows; row++) {
                for (long column = 0; column < 14; column += 7) {
                    sum_0 = hone_all8(0.0f);
                    sum_1 = hone_all8(0.0f);
                    sum_2 = hone_all8(0.0f);
                    sum_3 = hone_all8(0.0f);
                    sum_4 = hone_all8(0.0f);
                    sum_5 = hone_all8(0.0f);
                    sum_6 = hone_all8(0.0f);
                    sum_7 = hone_all8(0.0f);
                    sum_8 = hone_all8(0.0f);
                    sum_9 = hone_all8(0.0f);
                    sum_10 = hone_all8(0.0f);
                    sum_11 = hone_all8(0.0f);
                    sum_12 = hone_all8(0.0f);
                    sum_13 = hone_all8(0.0f);
                    for (long c = 0; c < 8; c++) {
                        for (long m = 0; m < 3; m++) {
                            long line = (c * 9 + row * 2 + m) * 32 + column * 2;
                            long first = (((panel0 + panel) * 24 + c0 + c) * 3 + m) * 48;
                            for (long n = 0; n < 3; n++) {
                                vector_0 = hone_load8(&y_weights[first + n * 16]);
                                vector_1 = hone_load8(&y_weights[first + n * 16 + 8]);
                                float e_0 = image[line + n];
                                sum_0 += e_0 * vector_0;
                                sum_1 += e_0 * vector_1;
                                float e_1 = image[line + n + 2];
                                sum_2 += e_1 * vector_0;
                                sum_3 += e_1 * vector_1;
                                float e_2 = image[line + n + 4];
                                sum_4 += e_2 * vector_0;
                                sum_5 += e_2 * vector_1;
                                float e_3 = image[line + n + 6];
                                sum_6 += e_3 * vector_0;
                                sum_7 += e_3 * vector_1;
                                float e_4 = image[line + n + 8];
                                sum_8 += e_4 * vector_0;
                                sum_9 += e_4 * vector_1;
                                float e_5 = image[line + n + 10];
                                sum_10 += e_5 * vector_0;
                                sum_11 += e_5 * vector_1;
                                float e_6 = image[line + n + 12];
                                sum_12 += e_6 * vector_0;
                                sum_13 += e_6 * vector_1;
                            }
                        }
                    }
                    if (c0 < 1) {
                        hone_store8(&tile[(row * 14 + column) * 32 + panel * 16], sum_0);
                        hone_store8(&tile[(row * 14 + column) * 32 + panel * 16 + 8], sum_1);
                        hone_store8(&tile[(row * 14 + column + 1) * 32 + panel * 16], sum_2);
                        hone_store8(&tile[(row * 14 + column + 1) * 32 + panel * 16 + 8], sum_3);
                        hone_store8(&tile[(row * 14 + column + 2) * 32 + panel * 16], sum_4);
                        hone_store8(&tile[(row * 14 + column + 2) * 32 + panel * 16 + 8], sum_5);
                        hone_store8(&tile[(row * 14 + column + 3) * 32 + panel * 16], sum_6);
                        hone_store8(&tile[(row * 14 + column + 3) * 32 + panel * 16 + 8], sum_7);
                        hone_store8(&tile[(row * 14 + column + 4) * 32 + panel * 16], sum_8);
                        hone_store8(&tile[(row * 14 + column + 4) * 32 + panel * 16 + 8], sum_9);
                        hone_store8(&tile[(row * 14 + column + 5) * 32 + panel * 16], sum_10);
                        hone_store8(&tile[(row * 14 + column + 5) * 32 + panel * 16 + 8], sum_11);
                        hone_store8(&tile[(row * 14 + column + 6) * 32 + panel * 16], sum_12);
                        hone_store8(&tile[(row * 14 + column + 6) * 32 + panel * 16 + 8], sum_13);
                    }
                    if (0 < c0) {
                        hone_store8(&tile[(row * 14 + column) * 32 + panel * 16], hone_load8(&tile[(row * 14 + column) * 32 + panel * 16]) + sum_0);
                        hone_store8(&tile[(row * 14 + column) * 32 + panel * 16 + 8], hone_load8(&tile[(row * 14 + column) * 32 + panel * 16 + 8]) + sum_1);
                        hone_store8(&tile[(row * 14 + column + 1) * 32 + panel * 16], hone_load8(&tile[(row * 14 + column + 1) * 32 + panel * 16]) + sum_2);
                        hone_store8(&tile[(row * 14 + column + 1) * 32 + panel * 16 + 8], hone_load8(&tile[(row * 14 + column + 1) * 32 + panel * 16 + 8]) + sum_3);
                        hone_store8(&tile[(row * 14 + column + 2) * 32 + panel * 16], hone_load8(&tile[(row * 14 + column + 2) * 32 + panel * 16]) + sum_4);
                        hone_store8(&tile[(row * 14 + column + 2) * 32 + panel * 16 + 8], hone_load8(&tile[(row * 14 + column + 2) * 32 + panel * 16 + 8]) + sum_5);
                        hone_store8(&tile[(row * 14 + column + 3) * 32 + panel * 16], hone_load8(&tile[(row * 14 + column + 3) * 32 + panel * 16]) + sum_6);
                        hone_store8(&tile[(row * 14 + column + 3) * 32 + panel * 16 + 8], hone_load8(&tile[(row * 14 + column + 3) * 32 + panel * 16 + 8]) + sum_7);
                        hone_store8(&tile[(row * 14 + column + 4) * 32 + panel * 16], hone_load8(&tile[(row * 14 + column + 4) * 32 + panel * 16]) + sum_8);
                        hone_store8(&tile[(row * 14 + column + 4) * 32 + panel * 16 + 8], hone_load8(&tile[(row * 14 + column + 4) * 32 + panel * 16 + 8]) + sum_9);
                        hone_store8(&tile[(row * 14 + column + 5) * 32 + panel * 16], hone_load8(&tile[(row * 14 + column + 5) * 32 + panel * 16]) + sum_10);
                        hone_store8(&tile[(row * 14 + column + 5) * 32 + panel * 16 + 8], hone_load8(&tile[(row * 14 + column + 5) * 32 + panel * 16 + 8]) + sum_11);
                        hone_store8(&tile[(row * 14 + column + 6) * 32 + panel * 16], hone_load8(&tile[(row * 14 + column + 6) * 32 + panel * 16]) + sum_12);
                        hone_store8(&tile[(row * 14 + column + 6) * 32 + panel * 16 + 8], hone_load8(&tile[(row * 14 + column + 6) * 32 + panel * 16 + 8]) + sum_13);
                    }
                }
            }
        }
    }
    for (long o = 0; o < (32 < 48 - panel0 * 16 ? 32 : 48 - panel0 * 16); o++) {
        float bias_v = hone_from_f16(bias[panel0 * 16 + o]);
        for (long row = 0; row < rows; row++) {
            f32x8 t_1_conv = hone_gather8(&tile[row * 14 * 32 + o], 32);
            f32x8 t_1 = t_1_conv + bias_v;
            f32x8 y_f32 = hone_max8(t_1, hone_all8(0.0f));
            hone_store8_f16(&y[((batch * O + panel0 * 16 + o) * 14 + row0 + row) * 14], y_f32);
            for (long j = 8; j < 14; j++) {
                float t_1_conv_2 = tile[(row * 14 + j) * 32 + o];
                float t_1_2 = t_1_conv_2 + bias_v;
                float y_f32_2 = hone_max1(t_1_2, 0.0f);
                y[((batch * O + panel0 * 16 + o) * 14 + row0 + row) * 14 + j] = hone_to_f16(y_f32_2);
            }
        }
    }
}
