// embed, by hone VERSION.
// kernel for embed on cpu
// stage y : map  vec 8  unroll 2  grain 4096  store cached
#include "hone_math.h"
#include "hone_types.h"

#ifndef V
#define V 40000
#endif
#ifndef D
#define D 132
#endif
#ifndef N
#define N 1000
#endif

_Static_assert(V == 40000, "lowered for V = 40000");
_Static_assert(D == 132, "lowered for D = 132");
_Static_assert(N == 1000, "lowered for N = 1000");

#pragma hone launch y_map grid((N + 30) / 31) args(w, i, y)

void y_map(long block, const float *restrict w, const long long *restrict i, float *restrict y) {
    for (long row = block * 31; row < (N < block * 31 + 31 ? N : block * 31 + 31); row++) {
        long long i_v = i[(999 < row + 7 ? 999 : row + 7)];
        long later = hone_to_long(i_v, 0LL, 39999LL) * 132;
        long long i_2 = i[row];
        for (long j = 0; j < D / 16 * 16; j += 16) {
            __builtin_prefetch(&w[later + j], 0, 2);
            long at_0 = hone_to_long(i_2, 0LL, 39999LL);
            f32x8 w_0 = hone_load8(&w[j + at_0 * 132]);
            f32x8 y_0 = w_0 * 2.0f;
            hone_store8(&y[row * D + j], y_0);
            long at_1 = hone_to_long(i_2, 0LL, 39999LL);
            f32x8 w_1 = hone_load8(&w[j + 8 + at_1 * 132]);
            f32x8 y_1 = w_1 * 2.0f;
            hone_store8(&y[row * D + j + 8], y_1);
        }
        for (long j = D / 8 * 8; j < D; j++) {
            long at = hone_to_long(i_2, 0LL, 39999LL);
            float w_v = w[j + at * 132];
            float y_v = w_v * 2.0f;
            y[row * D + j] = y_v;
        }
    }
}
