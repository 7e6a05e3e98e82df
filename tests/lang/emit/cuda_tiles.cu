// tiles, by hone VERSION.
// kernel for tiles on sm_90a
// stage y : map as tiles  tile 32  rows 8  vec 2  store cached
#include "dev.h"

#ifndef B
#define B 8
#endif
#ifndef C
#define C 48
#endif
#ifndef H
#define H 100
#endif

HONE_ASSERT(B == 8, "lowered for B = 8");
HONE_ASSERT(C == 48, "lowered for C = 48");
HONE_ASSERT(H == 100, "lowered for H = 100");

#pragma hone launch y_map grid(5008) block(128) args(x, w, y)

HONE_KERNEL(128) y_map(const unsigned short *__restrict__ x, const unsigned short *__restrict__ w, unsigned short *__restrict__ y) {
    HONE_SHARED_OF(unsigned short, x_tile, 32 * 33);
    const int block = hone_block();
    const int thread = hone_thread();
    int along = block % 2 * 32;
    int across = block / 2 % 313 * 32;
    int i = block / 2 / 313;
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        if (across + thread % 16 * 2 < H * H) {
            if (along + thread / 16 + item * 8 < C) {
                f32x2 x_v = hone_load2_bf16(&x[(i * C + along + thread / 16 + item * 8) * (H * H) + across + thread % 16 * 2]);
                x_tile[(thread / 16 + item * 8) * 33 + thread % 16 * 2] = hone_to_bf16(hone_lane2(x_v, 0));
                x_tile[(thread / 16 + item * 8) * 33 + thread % 16 * 2 + 1] = hone_to_bf16(hone_lane2(x_v, 1));
            }
        }
    }
    hone_barrier();
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        if (across + thread / 16 + item * 8 < H * H) {
            if (along + thread % 16 * 2 < C) {
                f32x2 w_v = hone_load2_bf16(&w[along + thread % 16 * 2]);
                f32x2 y_f32 = hone_gather2_bf16(&x_tile[thread % 16 * 2 * 33 + thread / 16 + item * 8], 33) * w_v;
                hone_store2_bf16(&y[(i * (H * H) + across + thread / 16 + item * 8) * C + along + thread % 16 * 2], y_f32);
            }
        }
    }
}
