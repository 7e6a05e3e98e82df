// chain, by hone VERSION.
// kernel for chain on sm_80
// stage y : map  block 64  vec 2  items 4  store cached
#include "dev.h"

#ifndef M
#define M 50
#endif
#ifndef N
#define N 30
#endif

HONE_ASSERT(M == 50, "lowered for M = 50");
HONE_ASSERT(N == 30, "lowered for N = 30");

#pragma hone launch y_map grid((M * N + 511) / 512) block(64) args(x, w, s, y)

HONE_KERNEL(64) y_map(const float *__restrict__ x, const float *__restrict__ w, const float *__restrict__ s, float *__restrict__ y) {
    f32x2 x_item[4];
    f32x2 w_item[4];
    float s_item[4];
    const int block = hone_block();
    const int thread = hone_thread();
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        int i = block * 512 + thread * 2 + item * 128;
        if (i < M * N) {
            int i_2 = i % N;
            int i_3 = i / N;
            f32x2 x_v = hone_load2(&x[i_3 * N + i_2]);
            x_item[item] = x_v;
            f32x2 w_v = hone_gather2(&w[i_2 * M + i_3], 50);
            w_item[item] = w_v;
            float s_v = s[i_3];
            s_item[item] = s_v;
        }
    }
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        int i = block * 512 + thread * 2 + item * 128;
        if (i < M * N) {
            int i_2 = i % N;
            int i_3 = i / N;
            i32x2 t_1 = x_item[item] < w_item[item];
            f32x2 y_v = hone_select2(t_1, x_item[item], hone_all2(s_item[item]));
            hone_store2(&y[i_3 * N + i_2], y_v);
        }
    }
}
