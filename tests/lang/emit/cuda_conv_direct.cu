// depthwise, by hone VERSION.
// kernel for depthwise on sm_90a
// stage y : conv as direct  threads 32  lines 8  items 2
#include "dev.h"

#ifndef B
#define B 8
#endif
#ifndef C
#define C 24
#endif
#ifndef H
#define H 28
#endif

HONE_ASSERT(B == 8, "lowered for B = 8");
HONE_ASSERT(C == 24, "lowered for C = 24");
HONE_ASSERT(H == 28, "lowered for H = 28");

#pragma hone launch y_conv grid(336) block(256) args(x, w, y)

HONE_KERNEL(256) y_conv(const unsigned short *__restrict__ x, const unsigned short *__restrict__ w, unsigned short *__restrict__ y) {
    const int block = hone_block();
    const int thread = hone_thread();
    int column = thread % 32;
    int line = block * 8 + thread / 32;
    if (column < 28) {
        int i = line % 14 * 2;
        int i_2 = line / 14 % 24;
        int i_3 = line / 14 / 24;
        int at = ((column - 1 > 0 ? column - 1 : 0) < 27 ? (column - 1 > 0 ? column - 1 : 0) : 27);
        int at_2 = (i - 1 > 0 ? i - 1 : 0);
        float x_v = hone_from_f16(x[i_3 * 18816 + i_2 * 784 + at + at_2 * 28]);
        float inside = (((0 <= i - 1) & (0 <= column - 1)) ? x_v : 0.0f);
        float w_v = hone_from_f16(w[i_2 * 3 * 3]);
        float sum = inside * w_v;
        float x_2 = hone_from_f16(x[i_3 * 18816 + i_2 * 784 + column + at_2 * 28]);
        float inside_2 = (0 <= i - 1 ? x_2 : 0.0f);
        float w_2 = hone_from_f16(w[i_2 * 9 + 1]);
        float sum_2 = inside_2 * w_2 + sum;
        int at_3 = (column + 1 < 27 ? column + 1 : 27);
        float x_3 = hone_from_f16(x[i_3 * 18816 + i_2 * 784 + at_3 + at_2 * 28]);
        float inside_3 = (((0 <= i - 1) & (column + 1 <= 27)) ? x_3 : 0.0f);
        float w_3 = hone_from_f16(w[i_2 * 9 + 2]);
        float sum_3 = inside_3 * w_3 + sum_2;
        float x_4 = hone_from_f16(x[i_3 * 18816 + i_2 * 784 + i * 28 + at]);
        float inside_4 = (0 <= column - 1 ? x_4 : 0.0f);
        float w_4 = hone_from_f16(w[i_2 * 9 + 3]);
        float sum_4 = inside_4 * w_4 + sum_3;
        float sum_5 = inside_4 * w_v;
        float x_5 = hone_from_f16(x[((i_3 * C + i_2) * H + i) * H + column]);
        float w_5 = hone_from_f16(w[i_2 * 9 + 4]);
        float sum_6 = x_5 * w_5 + sum_4;
        float sum_7 = x_5 * w_2 + sum_5;
        float x_6 = hone_from_f16(x[i_3 * 18816 + i_2 * 784 + i * 28 + at_3]);
        float inside_5 = (column + 1 <= 27 ? x_6 : 0.0f);
        float w_6 = hone_from_f16(w[i_2 * 9 + 5]);
        float sum_8 = inside_5 * w_6 + sum_6;
        float sum_9 = inside_5 * w_3 + sum_7;
        int at_4 = i + 1;
        float x_7 = hone_from_f16(x[i_3 * 18816 + i_2 * 784 + at + at_4 * 28]);
        float inside_6 = ((1 & (0 <= column - 1)) ? x_7 : 0.0f);
        float w_7 = hone_from_f16(w[i_2 * 9 + 6]);
        float sum_10 = inside_6 * w_7 + sum_8;
        float sum_11 = inside_6 * w_4 + sum_9;
        float x_8 = hone_from_f16(x[i_3 * 18816 + i_2 * 784 + column + at_4 * 28]);
        float w_8 = hone_from_f16(w[i_2 * 9 + 7]);
        float sum_12 = x_8 * w_8 + sum_10;
        float sum_13 = x_8 * w_5 + sum_11;
        float x_9 = hone_from_f16(x[i_3 * 18816 + i_2 * 784 + at_3 + at_4 * 28]);
        float inside_7 = ((1 & (column + 1 <= 27)) ? x_9 : 0.0f);
        float w_9 = hone_from_f16(w[i_2 * 9 + 8]);
        float sum_14 = inside_7 * w_9 + sum_12;
        float sum_15 = inside_7 * w_6 + sum_13;
        int at_5 = (i + 2 < 27 ? i + 2 : 27);
        float x_10 = hone_from_f16(x[i_3 * 18816 + i_2 * 784 + at + at_5 * 28]);
        float inside_8 = (((i + 2 <= 27) & (0 <= column - 1)) ? x_10 : 0.0f);
        float sum_16 = inside_8 * w_7 + sum_15;
        float x_11 = hone_from_f16(x[i_3 * 18816 + i_2 * 784 + column + at_5 * 28]);
        float inside_9 = (i + 2 <= 27 ? x_11 : 0.0f);
        float sum_17 = inside_9 * w_8 + sum_16;
        float x_12 = hone_from_f16(x[i_3 * 18816 + i_2 * 784 + at_3 + at_5 * 28]);
        float inside_10 = (((i + 2 <= 27) & (column + 1 <= 27)) ? x_12 : 0.0f);
        float sum_18 = inside_10 * w_9 + sum_17;
        float y_f32 = hone_max1(sum_14, 0.0f);
        y[((i_3 * C + i_2) * H + i) * H + column] = hone_to_f16(y_f32);
        float y_f32_2 = hone_max1(sum_18, 0.0f);
        y[((i_3 * C + i_2) * H + i + 1) * H + column] = hone_to_f16(y_f32_2);
    }
}
