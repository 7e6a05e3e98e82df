// reduce_ahead, by hone VERSION.
// kernel for reduce_ahead on cpu
// stage y : reduce  vec 16  unroll 1  grain 2048  split 1
#include "hone_math.h"
#include "hone_types.h"

#ifndef B
#define B 12
#endif
#ifndef M
#define M 100
#endif
#ifndef N
#define N 2047
#endif

_Static_assert(B == 12, "lowered for B = 12");
_Static_assert(M == 100, "lowered for M = 100");
_Static_assert(N == 2047, "lowered for N = 2047");

#pragma hone launch y_reduce grid(B) args(x, y)

void y_reduce(long block, const unsigned short *restrict x, unsigned short *restrict y) {
    _Alignas(64) float part[2047];
    for (long j = 0; j < 2032; j += 16) {
        hone_store16(&part[j], hone_all16(0.0f));
    }
    for (long j = 2032; j < 2047; j++) {
        part[j] = 0.0f;
    }
    for (long r = 0; r < M; r++) {
        for (long j = 0; j < 2032; j += 16) {
            __builtin_prefetch(&x[(block * M + r + 3) * N + j], 0, 2);
            f32x16 x_v = hone_load16_f16(&x[(block * M + r) * N + j]);
            f32x16 t_1 = x_v * x_v;
            hone_store16(&part[j], hone_load16(&part[j]) + t_1);
        }
        for (long j = 2032; j < 2047; j++) {
            float x_v = hone_from_f16(x[(block * M + r) * N + j]);
            float t_1 = x_v * x_v;
            part[j] += t_1;
        }
    }
    for (long j = 0; j < 2032; j += 16) {
        f32x16 y_f32 = hone_load16(&part[j]);
        hone_store16_f16(&y[block * N + j], y_f32);
    }
    for (long j = 2032; j < 2047; j++) {
        float y_f32 = part[j];
        y[block * N + j] = hone_to_f16(y_f32);
    }
}
