// scan, by hone VERSION.
// kernel for scan on sm_90a
// stage y : scan  threads 256  lines 1  vec 4  items 4  split 1  store cached
#include "dev.h"

#ifndef M
#define M 4096
#endif
#ifndef N
#define N 32768
#endif

HONE_ASSERT(M == 4096, "lowered for M = 4096");
HONE_ASSERT(N == 32768, "lowered for N = 32768");

#pragma hone launch y_scan grid(4096) block(256) args(x, m, y)

HONE_KERNEL(256) y_scan(const float *__restrict__ x, const unsigned char *__restrict__ m, unsigned short *__restrict__ y) {
    f32x4 item[4];
    float start[4];
    float run;
    float carry;
    float ahead;
    HONE_SHARED(y_f32_parts, 16);
    const int block = hone_block();
    const int thread = hone_thread();
    carry = 0.0f;
    for (int tile = 0; tile < 32768; tile += 4096) {
        #pragma unroll
        for (int item_v = 0; item_v < 4; item_v++) {
            int p = tile + ((thread / 32 * 4 + item_v) * 32 + thread % 32) * 4;
            item[item_v] = hone_all4(0.0f);
            i32x4 m_v = hone_load4_bool(&m[block * N + 32764 - p]);
            f32x4 x_v = hone_load4(&x[block * N + 32764 - p]);
            f32x4 t_1 = hone_select4(m_v, x_v, hone_all4(0.0f));
            item[item_v] = hone_lanes_reversed4(t_1);
        }
        run = 0.0f;
        #pragma unroll
        for (int item_v = 0; item_v < 4; item_v++) {
            float own = hone_lanes_sum4(item[item_v]);
            float before = hone_warp_before_sum(own);
            start[item_v] = run + before;
            float upto = before + own;
            float last = hone_warp_last(upto);
            run += last;
        }
        int set = tile / 4096 % 2;
        float before = carry;
        if (thread % 32 < 1) {
            y_f32_parts[set * 8 + thread / 32] = run;
        }
        hone_barrier();
        ahead = before;
        #pragma unroll
        for (int part = 0; part < 8; part++) {
            float all = carry + y_f32_parts[set * 8 + part];
            carry = all;
            ahead = ((int)part < (int)(thread / 32) ? all : ahead);
        }
        #pragma unroll
        for (int item_v = 0; item_v < 4; item_v++) {
            int p = tile + ((thread / 32 * 4 + item_v) * 32 + thread % 32) * 4;
            float before_2 = ahead + start[item_v];
            f32x4 y_f32 = hone_lanes_reversed4(before_2 + hone_lanes_before_sum4(item[item_v]));
            hone_store4_bf16(&y[block * N + 32764 - p], y_f32);
        }
    }
}
