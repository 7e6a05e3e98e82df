// channels_last, by hone VERSION.
// kernel for channels_last on cpu
// stage y : map as tiles  vec 4  tile 16x64  ahead 1  store stream
#include "hone_math.h"

#ifndef B
#define B 2
#endif
#ifndef C
#define C 40
#endif
#ifndef H
#define H 30
#endif
#ifndef W
#define W 20
#endif

_Static_assert(B == 2, "lowered for B = 2");
_Static_assert(C == 40, "lowered for C = 40");
_Static_assert(H == 30, "lowered for H = 30");
_Static_assert(W == 20, "lowered for W = 20");

#pragma hone launch y_map grid(60) args(x, c, y)

void y_map(long block, const float *restrict x, const float *restrict c, float *restrict y) {
    _Alignas(64) float x_tile[16 * 64];
    long across = block % 10 * 64;
    long along = block / 10 % 3 * 16;
    long i = block / 10 / 3;
    for (long l = along; l < (C < along + 16 ? C : along + 16); l++) {
        for (long j = across; j < (H * W < across + 64 ? H * W : across + 64); j += 4) {
            f32x4 x_v = hone_load4(&x[(i * C + l) * (H * W) + j]);
            hone_store4(&x_tile[(l - along) * 64 + j - across], x_v);
        }
    }
    for (long a = across; a < (H * W < across + 64 ? H * W : across + 64); a++) {
        for (long j = along; j < (C < along + 16 ? C : along + 16); j += 4) {
            __builtin_prefetch(&x[(i * C + j + (a - across) % 4) * (H * W) + across + 64 + (a - across) / 4 * 4], 0, 2);
            f32x4 x_v = hone_gather4(&x_tile[(j - along) * 64 + a - across], 64);
            f32x4 c_v = hone_load4(&c[j]);
            f32x4 y_v = x_v + c_v;
            hone_stream4(&y[(i * (H * W) + a) * C + j], y_v);
        }
    }
}
