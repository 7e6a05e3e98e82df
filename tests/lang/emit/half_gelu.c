// gelu, by hone VERSION.
// kernel for gelu on cpu
// stage y : map  vec 16  unroll 4  grain 16384  store stream
#include "hone_math.h"
#include "hone_types.h"

#ifndef M
#define M 64
#endif
#ifndef N
#define N 4096
#endif

_Static_assert(M == 64, "lowered for M = 64");
_Static_assert(N == 4096, "lowered for N = 4096");

#pragma hone launch y_map grid(M * N / 16384) args(x, y)

void y_map(long block, const unsigned short *restrict x, unsigned short *restrict y) {
    for (long j = block * 16384; j < block * 16384 + 16384; j += 64) {
        f32x16 x_0 = hone_load16_bf16(&x[j]);
        f32x16 y_f32_0 = hone_gelu_quick16(x_0);
        f32x16 x_1 = hone_load16_bf16(&x[j + 16]);
        f32x16 y_f32_1 = hone_gelu_quick16(x_1);
        hone_stream_pair16_bf16(&y[j], y_f32_0, y_f32_1);
        f32x16 x_2 = hone_load16_bf16(&x[j + 32]);
        f32x16 y_f32_2 = hone_gelu_quick16(x_2);
        f32x16 x_3 = hone_load16_bf16(&x[j + 48]);
        f32x16 y_f32_3 = hone_gelu_quick16(x_3);
        hone_stream_pair16_bf16(&y[j + 32], y_f32_2, y_f32_3);
    }
}
