// gates, by hone VERSION.
// kernel for gates on sm_90a
// stage y, cn : nest as persistent  blocks 8  threads 64  rows 3  unroll 3  keep register
#include "dev.h"

#ifndef B
#define B 6
#endif
#ifndef T
#define T 8
#endif
#ifndef H
#define H 40
#endif

HONE_ASSERT(B == 6, "lowered for B = 6");
HONE_ASSERT(T == 8, "lowered for T = 8");
HONE_ASSERT(H == 40, "lowered for H = 40");

#pragma hone scratch meetings i32[1] = 0
#pragma hone scratch y_h f32[2, 240]
#pragma hone scratch y_c f32[2, 240]
#pragma hone launch y_persistent grid(8) block(64) cooperative args(x, c0, u, y, cn, meetings, y_h, y_c)

HONE_KERNEL(64) y_persistent(const float *__restrict__ x, const float *__restrict__ c0, const float *__restrict__ u, float *__restrict__ y, float *__restrict__ cn, int *__restrict__ meetings, float *y_h, float *y_c) {
    float held[20];
    float t_1_part[6];
    float t_1_own[2];
    const int block = hone_block();
    const int thread = hone_thread();
    int own = block * 64 + thread;
    int lane = thread % 32;
    int warp = own / 32;
    #pragma unroll
    for (int own_2 = 0; own_2 < 5; own_2++) {
        int column = (own_2 * 16 + warp) % 40;
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            int k = i * 32 + lane;
            if (k < 40) {
                float u_v = u[column * 40 + k];
                held[own_2 * 4 + i] = u_v;
            }
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            int k = i * 32 + lane;
            if (k < 40) {
                float u_v = u[column * 40 + k + 1600];
                held[own_2 * 4 + 2 + i] = u_v;
            }
        }
    }
    for (int e = own; e < 240; e += 512) {
        y_h[e] = 0.0f;
    }
    for (int e = own; e < 240; e += 512) {
        int i = e % 40;
        int i_2 = e / 40;
        float c0_v = c0[i_2 * H + i];
        y_c[e] = c0_v;
    }
    hone_group_barrier(&meetings[0], 8);
    for (int step = 0; step < 8; step++) {
        int parity = step % 2;
        #pragma unroll
        for (int own_2 = 0; own_2 < 5; own_2++) {
            int item = own_2 * 16 + warp;
            int column = item % 40;
            int row = item / 40 * 3;
            t_1_own[0] = 0.0f;
            t_1_own[1] = 0.0f;
            #pragma unroll
            for (int r = 0; r < 6; r++) {
                t_1_part[r] = 0.0f;
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                int k = i * 32 + lane;
                if (k < 40) {
                    #pragma unroll
                    for (int r = 0; r < 3; r++) {
                        int own_row = row + r;
                        float h = y_h[parity * 240 + own_row * 40 + k];
                        t_1_part[r * 2] += h * held[own_2 * 4 + i];
                        t_1_part[r * 2 + 1] += h * held[own_2 * 4 + 2 + i];
                    }
                }
            }
            #pragma unroll
            for (int r = 0; r < 3; r++) {
                float t_1 = hone_warp_sum(t_1_part[r * 2]);
                t_1_own[0] = (lane - r == 0 ? t_1 : t_1_own[0]);
                float t_1_2 = hone_warp_sum(t_1_part[r * 2 + 1]);
                t_1_own[1] = (lane - r == 0 ? t_1_2 : t_1_own[1]);
            }
            if (lane < 3) {
                int at_row = row + lane;
                float t_1 = t_1_own[0];
                float t_1_2 = t_1_own[1];
                float x_step1 = x[step * 80 + at_row * 640 + column];
                float g = x_step1 + t_1;
                float t_2_neg = -g;
                float t_2_exp = hone_exp1(t_2_neg);
                float t_2_sum = t_2_exp + 1.0f;
                float t_2 = 1.0f / t_2_sum;
                float c = y_c[parity * 240 + at_row * H + column];
                float t_3 = t_2 * c;
                float x_step1_2 = x[step * 80 + at_row * 640 + column + 40];
                float g_2 = x_step1_2 + t_1_2;
                float t_4 = hone_tanh1(g_2);
                float c_next = t_3 + t_4;
                float h_next = hone_tanh1(c_next);
                y_h[(1 - parity) * 240 + at_row * H + column] = h_next;
                y_c[(1 - parity) * 240 + at_row * H + column] = c_next;
                y[step * 40 + at_row * 8 * H + column] = h_next;
            }
        }
        hone_group_barrier(&meetings[0], 8);
    }
    for (int e = own; e < 240; e += 512) {
        cn[e] = y_c[e];
    }
}
