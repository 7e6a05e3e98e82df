// up, by hone VERSION.
// kernel for up on cpu
// stage y : conv  tile 4x3  micro 16x3  depth 8  lanes columns  vec 8
#include "hone_math.h"

#ifndef B
#define B 2
#endif
#ifndef C
#define C 6
#endif
#ifndef O
#define O 3
#endif
#ifndef H
#define H 20
#endif

_Static_assert(B == 2, "lowered for B = 2");
_Static_assert(C == 6, "lowered for C = 6");
_Static_assert(O == 3, "lowered for O = 3");
_Static_assert(H == 20, "lowered for H = 20");

#pragma hone scratch y_0_weights f32[1, 72]
#pragma hone scratch y_1_weights f32[1, 72]
#pragma hone scratch y_2_weights f32[1, 72]
#pragma hone scratch y_3_weights f32[1, 72]
#pragma hone launch y_0_copy_weights grid(6) args(w, y_0_weights)
#pragma hone launch y_0_conv grid(10) args(x, y, y_0_weights)
#pragma hone launch y_1_copy_weights grid(6) args(w, y_1_weights)
#pragma hone launch y_1_conv grid(10) args(x, y, y_1_weights)
#pragma hone launch y_2_copy_weights grid(6) args(w, y_2_weights)
#pragma hone launch y_2_conv grid(10) args(x, y, y_2_weights)
#pragma hone launch y_3_copy_weights grid(6) args(w, y_3_weights)
#pragma hone launch y_3_conv grid(10) args(x, y, y_3_weights)

void y_0_copy_weights(long block, const float *restrict w, float *restrict y_0_weights) {
    for (long lane = 0; lane < 3; lane++) {
        for (long tap = 0; tap < 4; tap++) {
            long i = tap % 2;
            long i_2 = tap / 2;
            float w_v = w[lane * 16 - i_2 * 8 - i * 2 + block * 48 + 15];
            y_0_weights[block * 12 + tap * 3 + lane] = w_v;
        }
    }
}

void y_0_conv(long block, const float *restrict x, float *restrict y, const float *restrict y_0_weights) {
    _Alignas(64) float image[6 * 200];
    _Alignas(64) float tile[128 * 3];
    f32x8 sum_0, sum_1, sum_2, sum_3, sum_4, sum_5;
    f32x8 vector_0, vector_1;
    long row0 = block % 5 * 4;
    long batch = block / 5;
    for (long c = 0; c < 6; c++) {
        for (long r = 0; r < 5; r++) {
            long to = (c * 5 + r) * 40;
            for (long i = 0; i < 40; i += 8) {
                hone_store8(&image[to + i], hone_all8(0.0f));
            }
            long y_v = row0 + r - 1;
            if (-1 < y_v) {
                for (long j = 1; j < 17; j += 8) {
                    f32x8 x_v = hone_load8(&x[((batch * C + c) * H + y_v) * H + -1 + j]);
                    hone_store8(&image[to + j], x_v);
                }
                for (long j = 17; j < 21; j++) {
                    float x_v = x[((batch * C + c) * H + y_v) * H + -1 + j];
                    image[to + j] = x_v;
                }
            }
        }
    }
    for (long row = 0; row < 4; row++) {
        for (long column = 0; column < 32; column += 16) {
            sum_0 = hone_all8(0.0f);
            sum_1 = hone_all8(0.0f);
            sum_2 = hone_all8(0.0f);
            sum_3 = hone_all8(0.0f);
            sum_4 = hone_all8(0.0f);
            sum_5 = hone_all8(0.0f);
            for (long c = 0; c < 6; c++) {
                for (long m = 0; m < 2; m++) {
                    long line = (c * 5 + row + m) * 40 + column;
                    long first = (c * 2 + m) * 6;
                    for (long n = 0; n < 2; n++) {
                        vector_0 = hone_load8(&image[line + n]);
                        vector_1 = hone_load8(&image[line + n + 8]);
                        float e_0 = y_0_weights[first + n * 3];
                        sum_0 += e_0 * vector_0;
                        sum_1 += e_0 * vector_1;
                        float e_1 = y_0_weights[first + n * 3 + 1];
                        sum_2 += e_1 * vector_0;
                        sum_3 += e_1 * vector_1;
                        float e_2 = y_0_weights[first + n * 3 + 2];
                        sum_4 += e_2 * vector_0;
                        sum_5 += e_2 * vector_1;
                    }
                }
            }
            hone_store8(&tile[row * 32 + column], sum_0);
            hone_store8(&tile[row * 32 + column + 8], sum_1);
            hone_store8(&tile[(4 + row) * 32 + column], sum_2);
            hone_store8(&tile[(4 + row) * 32 + column + 8], sum_3);
            hone_store8(&tile[(8 + row) * 32 + column], sum_4);
            hone_store8(&tile[(8 + row) * 32 + column + 8], sum_5);
        }
    }
    for (long o = 0; o < 3; o++) {
        for (long row = 0; row < 4; row++) {
            for (long j = 0; j < 20; j++) {
                float t_1 = tile[(o * 4 + row) * 32 + j];
                float y_v = hone_tanh1(t_1);
                y[((batch * O + o) * 40 + (row0 + row) * 2) * 40 + j * 2] = y_v;
            }
        }
    }
}

void y_1_copy_weights(long block, const float *restrict w, float *restrict y_1_weights) {
    for (long lane = 0; lane < 3; lane++) {
        for (long tap = 0; tap < 4; tap++) {
            long i = tap % 2;
            long i_2 = tap / 2;
            float w_v = w[lane * 16 - i_2 * 8 - i * 2 + block * 48 + 14];
            y_1_weights[block * 12 + tap * 3 + lane] = w_v;
        }
    }
}

void y_1_conv(long block, const float *restrict x, float *restrict y, const float *restrict y_1_weights) {
    _Alignas(64) float image_2[6 * 200];
    _Alignas(64) float tile_2[128 * 3];
    f32x8 sum__0, sum__1, sum__2, sum__3, sum__4, sum__5;
    f32x8 vector__0, vector__1;
    long row0 = block % 5 * 4;
    long batch = block / 5;
    for (long c = 0; c < 6; c++) {
        for (long r = 0; r < 5; r++) {
            long to = (c * 5 + r) * 40;
            for (long i = 0; i < 40; i += 8) {
                hone_store8(&image_2[to + i], hone_all8(0.0f));
            }
            long y_v = row0 + r - 1;
            if (-1 < y_v) {
                for (long j = 0; j < 16; j += 8) {
                    f32x8 x_v = hone_load8(&x[((batch * C + c) * H + y_v) * H + j]);
                    hone_store8(&image_2[to + j], x_v);
                }
                for (long j = 16; j < 20; j++) {
                    float x_v = x[((batch * C + c) * H + y_v) * H + j];
                    image_2[to + j] = x_v;
                }
            }
        }
    }
    for (long row = 0; row < 4; row++) {
        for (long column = 0; column < 32; column += 16) {
            sum__0 = hone_all8(0.0f);
            sum__1 = hone_all8(0.0f);
            sum__2 = hone_all8(0.0f);
            sum__3 = hone_all8(0.0f);
            sum__4 = hone_all8(0.0f);
            sum__5 = hone_all8(0.0f);
            for (long c = 0; c < 6; c++) {
                for (long m = 0; m < 2; m++) {
                    long line = (c * 5 + row + m) * 40 + column;
                    long first = (c * 2 + m) * 6;
                    for (long n = 0; n < 2; n++) {
                        vector__0 = hone_load8(&image_2[line + n]);
                        vector__1 = hone_load8(&image_2[line + n + 8]);
                        float e_0 = y_1_weights[first + n * 3];
                        sum__0 += e_0 * vector__0;
                        sum__1 += e_0 * vector__1;
                        float e_1 = y_1_weights[first + n * 3 + 1];
                        sum__2 += e_1 * vector__0;
                        sum__3 += e_1 * vector__1;
                        float e_2 = y_1_weights[first + n * 3 + 2];
                        sum__4 += e_2 * vector__0;
                        sum__5 += e_2 * vector__1;
                    }
                }
            }
            hone_store8(&tile_2[row * 32 + column], sum__0);
            hone_store8(&tile_2[row * 32 + column + 8], sum__1);
            hone_store8(&tile_2[(4 + row) * 32 + column], sum__2);
            hone_store8(&tile_2[(4 + row) * 32 + column + 8], sum__3);
            hone_store8(&tile_2[(8 + row) * 32 + column], sum__4);
            hone_store8(&tile_2[(8 + row) * 32 + column + 8], sum__5);
        }
    }
    for (long o = 0; o < 3; o++) {
        for (long row = 0; row < 4; row++) {
            for (long j = 0; j < 20; j++) {
                float t_1 = tile_2[(o * 4 + row) * 32 + j];
                float y_v = hone_tanh1(t_1);
                y[((batch * O + o) * 40 + (row0 + row) * 2) * 40 + j * 2 + 1] = y_v;
            }
        }
    }
}

void y_2_copy_weights(long block, const float *restrict w, float *restrict y_2_weights) {
    for (long lane = 0; lane < 3; lane++) {
        for (long tap = 0; tap < 4; tap++) {
            long i = tap % 2;
            long i_2 = tap / 2;
            float w_v = w[lane * 16 - i_2 * 8 - i * 2 + block * 48 + 11];
            y_2_weights[block * 12 + tap * 3 + lane] = w_v;
        }
    }
}

void y_2_conv(long block, const float *restrict x, float *restrict y, const float *restrict y_2_weights) {
    _Alignas(64) float image_3[6 * 200];
    _Alignas(64) float tile_3[128 * 3];
    f32x8 sum___0, sum___1, sum___2, sum___3, sum___4, sum___5;
    f32x8 vector___0, vector___1;
    long row0 = block % 5 * 4;
    long batch = block / 5;
    for (long c = 0; c < 6; c++) {
        for (long r = 0; r < 5; r++) {
            long to = (c * 5 + r) * 40;
            for (long i = 0; i < 40; i += 8) {
                hone_store8(&image_3[to + i], hone_all8(0.0f));
            }
            long y_v = row0 + 1 + r - 1;
            if (y_v < 20) {
                for (long j = 1; j < 17; j += 8) {
                    f32x8 x_v = hone_load8(&x[((batch * C + c) * H + y_v) * H + -1 + j]);
                    hone_store8(&image_3[to + j], x_v);
                }
                for (long j = 17; j < 21; j++) {
                    float x_v = x[((batch * C + c) * H + y_v) * H + -1 + j];
                    image_3[to + j] = x_v;
                }
            }
        }
    }
    for (long row = 0; row < 4; row++) {
        for (long column = 0; column < 32; column += 16) {
            sum___0 = hone_all8(0.0f);
            sum___1 = hone_all8(0.0f);
            sum___2 = hone_all8(0.0f);
            sum___3 = hone_all8(0.0f);
            sum___4 = hone_all8(0.0f);
            sum___5 = hone_all8(0.0f);
            for (long c = 0; c < 6; c++) {
                for (long m = 0; m < 2; m++) {
                    long line = (c * 5 + row + m) * 40 + column;
                    long first = (c * 2 + m) * 6;
                    for (long n = 0; n < 2; n++) {
                        vector___0 = hone_load8(&image_3[line + n]);
                        vector___1 = hone_load8(&image_3[line + n + 8]);
                        float e_0 = y_2_weights[first + n * 3];
                        sum___0 += e_0 * vector___0;
                        sum___1 += e_0 * vector___1;
                        float e_1 = y_2_weights[first + n * 3 + 1];
                        sum___2 += e_1 * vector___0;
                        sum___3 += e_1 * vector___1;
                        float e_2 = y_2_weights[first + n * 3 + 2];
                        sum___4 += e_2 * vector___0;
                        sum___5 += e_2 * vector___1;
                    }
                }
            }
            hone_store8(&tile_3[row * 32 + column], sum___0);
            hone_store8(&tile_3[row * 32 + column + 8], sum___1);
            hone_store8(&tile_3[(4 + row) * 32 + column], sum___2);
            hone_store8(&tile_3[(4 + row) * 32 + column + 8], sum___3);
            hone_store8(&tile_3[(8 + row) * 32 + column], sum___4);
            hone_store8(&tile_3[(8 + row) * 32 + column + 8], sum___5);
        }
    }
    for (long o = 0; o < 3; o++) {
        for (long row = 0; row < 4; row++) {
            for (long j = 0; j < 20; j++) {
                float t_1 = tile_3[(o * 4 + row) * 32 + j];
                float y_v = hone_tanh1(t_1);
                y[((batch * O + o) * 40 + (row0 + row) * 2 + 1) * 40 + j * 2] = y_v;
            }
        }
    }
}

void y_3_copy_weights(long block, const float *restrict w, float *restrict y_3_weights) {
    for (long lane = 0; lane < 3; lane++) {
        for (long tap = 0; tap < 4; tap++) {
            long i = tap % 2;
            long i_2 = tap / 2;
            float w_v = w[lane * 16 - i_2 * 8 - i * 2 + block * 48 + 10];
            y_3_weights[block * 12 + tap * 3 + lane] = w_v;
        }
    }
}

void y_3_conv(long block, const float *restrict x, float *restrict y, const float *restrict y_3_weights) {
    _Alignas(64) float image_4[6 * 200];
    _Alignas(64) float tile_4[128 * 3];
    f32x8 sum____0, sum____1, sum____2, sum____3, sum____4, sum____5;
    f32x8 vector____0, vector____1;
    long row0 = block % 5 * 4;
    long batch = block / 5;
    for (long c = 0; c < 6; c++) {
        for (long r = 0; r < 5; r++) {
            long to = (c * 5 + r) * 40;
            for (long i = 0; i < 40; i += 8) {
                hone_store8(&image_4[to + i], hone_all8(0.0f));
            }
            long y_v = row0 + 1 + r - 1;
            if (y_v < 20) {
                for (long j = 0; j < 16; j += 8) {
                    f32x8 x_v = hone_load8(&x[((batch * C + c) * H + y_v) * H + j]);
                    hone_store8(&image_4[to + j], x_v);
                }
                for (long j = 16; j < 20; j++) {
                    float x_v = x[((batch * C + c) * H + y_v) * H + j];
                    image_4[to + j] = x_v;
                }
            }
        }
    }
    for (long row = 0; row < 4; row++) {
        for (long column = 0; column < 32; column += 16) {
            sum____0 = hone_all8(0.0f);
            sum____1 = hone_all8(0.0f);
            sum____2 = hone_all8(0.0f);
            sum____3 = hone_all8(0.0f);
            sum____4 = hone_all8(0.0f);
            sum____5 = hone_all8(0.0f);
            for (long c = 0; c < 6; c++) {
                for (long m = 0; m < 2; m++) {
                    long line = (c * 5 + row + m) * 40 + column;
                    long first = (c * 2 + m) * 6;
                    for (long n = 0; n < 2; n++) {
                        vector____0 = hone_load8(&image_4[line + n]);
                        vector____1 = hone_load8(&image_4[line + n + 8]);
                        float e_0 = y_3_weights[first + n * 3];
                        sum____0 += e_0 * vector____0;
                        sum____1 += e_0 * vector____1;
                        float e_1 = y_3_weights[first + n * 3 + 1];
                        sum____2 += e_1 * vector____0;
                        sum____3 += e_1 * vector____1;
                        float e_2 = y_3_weights[first + n * 3 + 2];
                        sum____4 += e_2 * vector____0;
                        sum____5 += e_2 * vector____1;
                    }
                }
            }
            hone_store8(&tile_4[row * 32 + column], sum____0);
            hone_store8(&tile_4[row * 32 + column + 8], sum____1);
            hone_store8(&tile_4[(4 + row) * 32 + column], sum____2);
            hone_store8(&tile_4[(4 + row) * 32 + column + 8], sum____3);
            hone_store8(&tile_4[(8 + row) * 32 + column], sum____4);
            hone_store8(&tile_4[(8 + row) * 32 + column + 8], sum____5);
        }
    }
    for (long o = 0; o < 3; o++) {
        for (long row = 0; row < 4; row++) {
            for (long j = 0; j < 20; j++) {
                float t_1 = tile_4[(o * 4 + row) * 32 + j];
                float y_v = hone_tanh1(t_1);
                y[((batch * O + o) * 40 + (row0 + row) * 2 + 1) * 40 + j * 2 + 1] = y_v;
            }
        }
    }
}
