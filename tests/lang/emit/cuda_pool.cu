// pool, by hone VERSION.
// kernel for pool on sm_90a
// stage y : pool  threads 128  lines 1  items 2  stage none
#include "dev.h"

#ifndef B
#define B 8
#endif
#ifndef C
#define C 64
#endif
#ifndef H
#define H 256
#endif

HONE_ASSERT(B == 8, "lowered for B = 8");
HONE_ASSERT(C == 64, "lowered for C = 64");
HONE_ASSERT(H == 256, "lowered for H = 256");

#pragma hone launch y_pool grid(131072) block(128) args(x, y)

HONE_KERNEL(128) y_pool(const float *__restrict__ x, float *__restrict__ y) {
    float t_1_fold[2];
    const int block = hone_block();
    const int thread = hone_thread();
    int line = block / 2;
    int column = block % 2 * 128 + thread;
    t_1_fold[0] = -HONE_INFINITY;
    t_1_fold[1] = -HONE_INFINITY;
    int i = line / 128 % 64;
    int i_2 = line / 128 / 64;
    int first = line % 128 * 2;
    int at = (column - 1 > 0 ? column - 1 : 0);
    int at_2 = (first - 1 > 0 ? first - 1 : 0);
    float x_v = x[i_2 * 4194304 + i * 65536 + at + at_2 * 256];
    int at_3 = (first - 1 > 0 ? first - 1 : 0);
    float x_2 = x[i_2 * 4194304 + i * 65536 + column + at_3 * 256];
    int at_4 = (column + 1 < 255 ? column + 1 : 255);
    int at_5 = (first - 1 > 0 ? first - 1 : 0);
    float x_3 = x[i_2 * 4194304 + i * 65536 + at_4 + at_5 * 256];
    float row = hone_max1(hone_max1(((((0 <= first - 1) & 1) & ((0 <= column - 1) & 1)) ? x_v : -HONE_INFINITY), ((((0 <= first - 1) & 1) & (1 & 1)) ? x_2 : -HONE_INFINITY)), ((((0 <= first - 1) & 1) & (1 & (column + 1 <= 255))) ? x_3 : -HONE_INFINITY));
    t_1_fold[0] = hone_max1(t_1_fold[0], row);
    int at_6 = (column - 1 > 0 ? column - 1 : 0);
    float x_4 = x[i_2 * 4194304 + i * 65536 + at_6 + first * 256];
    float x_5 = x[i_2 * 4194304 + i * 65536 + column + first * 256];
    int at_7 = (column + 1 < 255 ? column + 1 : 255);
    float x_6 = x[i_2 * 4194304 + i * 65536 + at_7 + first * 256];
    float row_2 = hone_max1(hone_max1((((1 & 1) & ((0 <= column - 1) & 1)) ? x_4 : -HONE_INFINITY), (((1 & 1) & (1 & 1)) ? x_5 : -HONE_INFINITY)), (((1 & 1) & (1 & (column + 1 <= 255))) ? x_6 : -HONE_INFINITY));
    t_1_fold[0] = hone_max1(t_1_fold[0], row_2);
    t_1_fold[1] = hone_max1(t_1_fold[1], row_2);
    int at_8 = (column - 1 > 0 ? column - 1 : 0);
    int at_9 = first + 1;
    float x_7 = x[i_2 * 4194304 + i * 65536 + at_8 + at_9 * 256];
    int at_10 = first + 1;
    float x_8 = x[i_2 * 4194304 + i * 65536 + column + at_10 * 256];
    int at_11 = (column + 1 < 255 ? column + 1 : 255);
    int at_12 = first + 1;
    float x_9 = x[i_2 * 4194304 + i * 65536 + at_11 + at_12 * 256];
    float row_3 = hone_max1(hone_max1((((1 & 1) & ((0 <= column - 1) & 1)) ? x_7 : -HONE_INFINITY), (((1 & 1) & (1 & 1)) ? x_8 : -HONE_INFINITY)), (((1 & 1) & (1 & (column + 1 <= 255))) ? x_9 : -HONE_INFINITY));
    t_1_fold[0] = hone_max1(t_1_fold[0], row_3);
    t_1_fold[1] = hone_max1(t_1_fold[1], row_3);
    int at_13 = (column - 1 > 0 ? column - 1 : 0);
    int at_14 = (first + 2 < 255 ? first + 2 : 255);
    float x_10 = x[i_2 * 4194304 + i * 65536 + at_13 + at_14 * 256];
    int at_15 = (first + 2 < 255 ? first + 2 : 255);
    float x_11 = x[i_2 * 4194304 + i * 65536 + column + at_15 * 256];
    int at_16 = (column + 1 < 255 ? column + 1 : 255);
    int at_17 = (first + 2 < 255 ? first + 2 : 255);
    float x_12 = x[i_2 * 4194304 + i * 65536 + at_16 + at_17 * 256];
    float row_4 = hone_max1(hone_max1((((1 & (first + 2 <= 255)) & ((0 <= column - 1) & 1)) ? x_10 : -HONE_INFINITY), (((1 & (first + 2 <= 255)) & (1 & 1)) ? x_11 : -HONE_INFINITY)), (((1 & (first + 2 <= 255)) & (1 & (column + 1 <= 255))) ? x_12 : -HONE_INFINITY));
    t_1_fold[1] = hone_max1(t_1_fold[1], row_4);
    float t_1 = t_1_fold[0];
    float y_v = hone_max1(t_1, 0.0f);
    y[((i_2 * C + i) * H + first) * H + column] = y_v;
    float t_1_2 = t_1_fold[1];
    float y_2 = hone_max1(t_1_2, 0.0f);
    y[((i_2 * C + i) * H + first + 1) * H + column] = y_2;
}
