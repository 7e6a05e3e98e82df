// rnn, by hone VERSION.
// kernel for rnn on sm_90a
// stage xw      : nest  block 128  items 1  split 1  team 1  pieces 1
// stage y, last : nest  block 32  items 1  split 1  team 1  pieces 1
#include "dev.h"

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

HONE_ASSERT(B == 4, "lowered for B = 4");
HONE_ASSERT(T == 8, "lowered for T = 8");
HONE_ASSERT(D == 6, "lowered for D = 6");
HONE_ASSERT(H == 10, "lowered for H = 10");

#pragma hone scratch xw f32[B, T, H]
#pragma hone scratch y_work_f32 f32[4, 40]
#pragma hone launch xw_nest grid((B * T * H + 127) / 128) block(128) args(x, w, xw)
#pragma hone launch y_steps grid(4) block(32) args(u, y, last, xw, y_work_f32)

HONE_KERNEL(128) xw_nest(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ xw) {
    float xw_sum;
    const int block = hone_block();
    const int thread = hone_thread();
    int i = block * 128 + thread;
    if (i < B * T * H) {
        int i_2 = i % H;
        int i_3 = i / H;
        xw_sum = 0.0f;
        for (int k = 0; k < 6; k++) {
            float x_v = x[i_3 * 6 + k];
            float w_v = w[i_2 * 6 + k];
            xw_sum += x_v * w_v;
        }
        float xw_v = xw_sum;
        xw[i_3 * H + i_2] = xw_v;
    }
}

HONE_KERNEL(32) y_steps(const float *__restrict__ u, float *__restrict__ y, float *__restrict__ last, const float *__restrict__ xw, float *y_work_f32) {
    float t_1_sum;
    const int block = hone_block();
    const int thread = hone_thread();
    for (int e = thread; e < 10; e += 32) {
        y_work_f32[block * 40 + e] = 0.0f;
    }
    hone_barrier();
    for (int step = 0; step < 8; step++) {
        int t = 7 - step;
        for (int e = thread; e < 10; e += 32) {
            float xw_v = xw[(block * T + t) * H + e];
            y_work_f32[block * 40 + 10 + e] = xw_v;
        }
        for (int e = thread; e < 10; e += 32) {
            float xw_step1 = y_work_f32[block * 40 + 10 + e];
            t_1_sum = 0.0f;
            for (int k = 0; k < 10; k++) {
                float h = y_work_f32[block * 40 + k];
                float u_v = u[e * 10 + k];
                t_1_sum += h * u_v;
            }
            float t_1 = t_1_sum;
            float t_2 = xw_step1 + t_1;
            float h_next = hone_tanh1(t_2);
            y_work_f32[block * 40 + 20 + e] = h_next;
        }
        for (int e = thread; e < 10; e += 32) {
            float h_next = y_work_f32[block * 40 + 20 + e];
            y_work_f32[block * 40 + 30 + e] = h_next;
        }
        for (int e = thread; e < 10; e += 32) {
            y[((block * 10 + e) / 10 * 8 + t) * 10 + (block * 10 + e) % 10] = y_work_f32[block * 40 + 30 + e];
        }
        hone_barrier();
        for (int e = thread; e < 10; e += 32) {
            y_work_f32[block * 40 + e] = y_work_f32[block * 40 + 20 + e];
        }
        hone_barrier();
    }
    for (int e = thread; e < 10; e += 32) {
        last[block * 10 + e] = y_work_f32[block * 40 + e];
    }
}
