// argmax_rows, by hone VERSION.
// kernel for argmax_rows on cpu
// stage y : nest  vec 1  grain 4  split 1
#include "hone_math.h"
#include "hone_types.h"

#ifndef M
#define M 12
#endif
#ifndef N
#define N 300
#endif

_Static_assert(M == 12, "lowered for M = 12");
_Static_assert(N == 300, "lowered for N = 300");

#pragma hone launch y_nest grid(M / 4) args(x, y)

void y_nest(long block, const float *restrict x, long long *restrict y) {
    f32x16 best_0, best_1, best_2, best_3;
    float best_;
    int chunk;
    int piece;
    int position;
    for (long j = block * 4; j < block * 4 + 4; j++) {
        best_ = -__builtin_inff();
        chunk = 0;
        best_0 = hone_all16(-__builtin_inff());
        best_1 = hone_all16(-__builtin_inff());
        best_2 = hone_all16(-__builtin_inff());
        best_3 = hone_all16(-__builtin_inff());
        for (long k = 0; k < 256; k += 64) {
            __builtin_prefetch(&x[j * 300 + k + 300], 0, 2);
            f32x16 x_0 = hone_load16(&x[j * 300 + k]);
            best_0 = hone_max16(x_0, best_0);
            __builtin_prefetch(&x[j * 300 + k + 16 + 300], 0, 2);
            f32x16 x_1 = hone_load16(&x[j * 300 + k + 16]);
            best_1 = hone_max16(x_1, best_1);
            __builtin_prefetch(&x[j * 300 + k + 32 + 300], 0, 2);
            f32x16 x_2 = hone_load16(&x[j * 300 + k + 32]);
            best_2 = hone_max16(x_2, best_2);
            __builtin_prefetch(&x[j * 300 + k + 48 + 300], 0, 2);
            f32x16 x_3 = hone_load16(&x[j * 300 + k + 48]);
            best_3 = hone_max16(x_3, best_3);
        }
        float here = hone_lanes_max16(hone_max16(hone_max16(hone_max16(best_0, best_1), best_2), best_3));
        int takes = ((best_ < here) | ((here != here) & (best_ == best_)));
        best_ = (takes ? here : best_);
        chunk = (takes ? 0 : chunk);
        for (long k = 256; k < 300; k++) {
            float x_v = x[j * 300 + k];
            int takes_2 = ((best_ < x_v) | ((x_v != x_v) & (best_ == best_)));
            best_ = (takes_2 ? x_v : best_);
            chunk = (takes_2 ? 256 : chunk);
        }
        float best_v = best_;
        piece = -1;
        long begin = hone_to_long(chunk, 0LL, 256LL);
        for (long k = begin; k < 256; k += 64) {
            f32x16 x_v = hone_load16(&x[j * 300 + k]);
            f32x16 x_2 = hone_load16(&x[j * 300 + k + 16]);
            f32x16 x_3 = hone_load16(&x[j * 300 + k + 32]);
            f32x16 x_4 = hone_load16(&x[j * 300 + k + 48]);
            piece = ((hone_lanes_any16((((((x_v == best_v) | (x_v != x_v)) | ((x_2 == best_v) | (x_2 != x_2))) | ((x_3 == best_v) | (x_3 != x_3))) | ((x_4 == best_v) | (x_4 != x_4)))) & (piece < 0)) ? (int)k : piece);
        }
        long from = hone_to_long((piece < 0 ? 256 : piece), 0LL, 300LL);
        position = -1;
        for (long k = from; k < (300 < from + 64 ? 300 : from + 64); k++) {
            float x_v = x[j * 300 + k];
            position = ((((x_v == best_v) | (x_v != x_v)) & (position < 0)) ? (int)k : position);
        }
        long long y_v = (long long)position;
        y[j] = y_v;
    }
}
