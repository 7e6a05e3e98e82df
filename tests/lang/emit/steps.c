// rnn, by hone VERSION.
// kernel for rnn on cpu
// stage xw      : nest  vec 8  grain 16  split 1
// stage y, last : nest  vec 1  grain 1  split 1
#include "hone_math.h"

#ifndef B
#define B 4
#endif
#ifndef T
#define T 8
#endif
#ifndef D
#define D 6
#endif
#ifndef H
#define H 10
#endif

_Static_assert(B == 4, "lowered for B = 4");
_Static_assert(T == 8, "lowered for T = 8");
_Static_assert(D == 6, "lowered for D = 6");
_Static_assert(H == 10, "lowered for H = 10");

#pragma hone scratch xw f32[B, T, H]
#pragma hone scratch y_work_f32 f32[4, 40]
#pragma hone launch xw_nest grid(B * T) args(x, w, xw)
#pragma hone launch y_steps grid(4) args(u, y, last, xw, y_work_f32)

void xw_nest(long block, const float *restrict x, const float *restrict w, float *restrict xw) {
    f32x8 xw_sum;
    float xw_sum_;
    xw_sum = hone_all8(0.0f);
    for (long k = 0; k < 6; k++) {
        float x_v = x[block * 6 + k];
        f32x8 w_v = hone_gather8(&w[k], 6);
        xw_sum += x_v * w_v;
    }
    f32x8 xw_v = xw_sum;
    hone_store8(&xw[block * H], xw_v);
    for (long j = 8; j < H; j++) {
        xw_sum_ = 0.0f;
        for (long k = 0; k < 6; k++) {
            float x_v = x[block * 6 + k];
            float w_v = w[j * 6 + k];
            xw_sum_ += x_v * w_v;
        }
        float xw_2 = xw_sum_;
        xw[block * H + j] = xw_2;
    }
}

void y_steps(long block, const float *restrict u, float *restrict y, float *restrict last, const float *restrict xw, float *restrict y_work_f32) {
    float t_1_sum;
    for (long e = 0; e < 10; e++) {
        y_work_f32[block * 40 + e] = 0.0f;
    }
    for (long step = 0; step < 8; step++) {
        for (long e = 0; e < 10; e++) {
            float xw_v = xw[(block * T + step) * H + e];
            y_work_f32[block * 40 + 10 + e] = xw_v;
        }
        for (long e = 0; e < 10; e++) {
            float xw_step1 = y_work_f32[block * 40 + 10 + e];
            t_1_sum = 0.0f;
            for (long k = 0; k < 10; k++) {
                float h = y_work_f32[block * 40 + k];
                float u_v = u[e * 10 + k];
                t_1_sum += h * u_v;
            }
            float t_1 = t_1_sum;
            float t_2 = xw_step1 + t_1;
            float h_next = hone_tanh1(t_2);
            y_work_f32[block * 40 + 20 + e] = h_next;
        }
        for (long e = 0; e < 10; e++) {
            float h_next = y_work_f32[block * 40 + 20 + e];
            y_work_f32[block * 40 + 30 + e] = h_next;
        }
        for (long e = 0; e < 10; e++) {
            y[((block * 10 + e) / 10 * 8 + step) * 10 + (block * 10 + e) % 10] = y_work_f32[block * 40 + 30 + e];
        }
        for (long e = 0; e < 10; e++) {
            y_work_f32[block * 40 + e] = y_work_f32[block * 40 + 20 + e];
        }
    }
    for (long e = 0; e < 10; e++) {
        last[block * 10 + e] = y_work_f32[block * 40 + e];
    }
}
