// pool_padded, by hone VERSION.
// kernel for pool_padded on cpu
// stage y : pool  vec 16  grain 32  split 1
#include "hone_math.h"
#include "hone_types.h"

#ifndef B
#define B 6
#endif
#ifndef C
#define C 4
#endif
#ifndef H
#define H 9
#endif
#ifndef W
#define W 31
#endif

_Static_assert(B == 6, "lowered for B = 6");
_Static_assert(C == 4, "lowered for C = 4");
_Static_assert(H == 9, "lowered for H = 9");
_Static_assert(W == 31, "lowered for W = 31");

#pragma hone launch y_nest grid(B * C * H) args(x, y)

void y_nest(long block, const unsigned short *restrict x, unsigned short *restrict y) {
    float y_f32_sum;
    f32x16 y_f32_sum_;
    f32x8 y_f32_sum__;
    f32x4 y_f32_sum___;
    float y_f32_sum____;
    float y_f32_sum_____;
    long i = block % H;
    long i_2 = block / H;
    y_f32_sum = -__builtin_inff();
    for (long k = 0; k < 3; k++) {
        for (long k_2 = 0; k_2 < 3; k_2++) {
            long at = (k_2 - 1 > 0 ? k_2 - 1 : 0);
            long at_2 = ((i + k - 1 > 0 ? i + k - 1 : 0) < 8 ? (i + k - 1 > 0 ? i + k - 1 : 0) : 8);
            float x_v = hone_from_f16(x[i_2 * 279 + at + at_2 * 31]);
            y_f32_sum = hone_max1(y_f32_sum, ((((0 <= i + k - 1) & (i + k - 1 <= 8)) & ((0 <= k_2 - 1) & 1)) ? x_v : -__builtin_inff()));
        }
    }
    float y_f32 = y_f32_sum;
    y[(i_2 * H + i) * W] = hone_to_f16(y_f32);
    y_f32_sum_ = hone_all16(-__builtin_inff());
    for (long k = 0; k < 3; k++) {
        for (long k_2 = 0; k_2 < 3; k_2++) {
            long at = ((i + k - 1 > 0 ? i + k - 1 : 0) < 8 ? (i + k - 1 > 0 ? i + k - 1 : 0) : 8);
            f32x16 x_v = hone_load16_f16(&x[i_2 * 279 + 1 + k_2 + at * 31 - 1]);
            y_f32_sum_ = hone_max16(y_f32_sum_, hone_select16(hone_all_mask16(((0 <= i + k - 1) & (i + k - 1 <= 8))), x_v, hone_all16(-__builtin_inff())));
        }
    }
    f32x16 y_f32_2 = y_f32_sum_;
    hone_store16_f16(&y[(i_2 * H + i) * W + 1], y_f32_2);
    y_f32_sum__ = hone_all8(-__builtin_inff());
    for (long k = 0; k < 3; k++) {
        for (long k_2 = 0; k_2 < 3; k_2++) {
            long at = ((i + k - 1 > 0 ? i + k - 1 : 0) < 8 ? (i + k - 1 > 0 ? i + k - 1 : 0) : 8);
            f32x8 x_v = hone_load8_f16(&x[i_2 * 279 + 17 + k_2 + at * 31 - 1]);
            y_f32_sum__ = hone_max8(y_f32_sum__, hone_select8(hone_all_mask8(((0 <= i + k - 1) & (i + k - 1 <= 8))), x_v, hone_all8(-__builtin_inff())));
        }
    }
    f32x8 y_f32_3 = y_f32_sum__;
    hone_store8_f16(&y[(i_2 * H + i) * W + 17], y_f32_3);
    y_f32_sum___ = hone_all4(-__builtin_inff());
    for (long k = 0; k < 3; k++) {
        for (long k_2 = 0; k_2 < 3; k_2++) {
            long at = ((i + k - 1 > 0 ? i + k - 1 : 0) < 8 ? (i + k - 1 > 0 ? i + k - 1 : 0) : 8);
            f32x4 x_v = hone_load4_f16(&x[i_2 * 279 + 25 + k_2 + at * 31 - 1]);
            y_f32_sum___ = hone_max4(y_f32_sum___, hone_select4(hone_all_mask4(((0 <= i + k - 1) & (i + k - 1 <= 8))), x_v, hone_all4(-__builtin_inff())));
        }
    }
    f32x4 y_f32_4 = y_f32_sum___;
    hone_store4_f16(&y[(i_2 * H + i) * W + 25], y_f32_4);
    y_f32_sum____ = -__builtin_inff();
    for (long k = 0; k < 3; k++) {
        for (long k_2 = 0; k_2 < 3; k_2++) {
            long at = 29 + k_2 - 1;
            long at_2 = ((i + k - 1 > 0 ? i + k - 1 : 0) < 8 ? (i + k - 1 > 0 ? i + k - 1 : 0) : 8);
            float x_v = hone_from_f16(x[i_2 * 279 + at + at_2 * 31]);
            y_f32_sum____ = hone_max1(y_f32_sum____, ((((0 <= i + k - 1) & (i + k - 1 <= 8)) & (1 & 1)) ? x_v : -__builtin_inff()));
        }
    }
    float y_f32_5 = y_f32_sum____;
    y[(i_2 * H + i) * W + 29] = hone_to_f16(y_f32_5);
    y_f32_sum_____ = -__builtin_inff();
    for (long k = 0; k < 3; k++) {
        for (long k_2 = 0; k_2 < 3; k_2++) {
            long at = (30 + k_2 - 1 < 30 ? 30 + k_2 - 1 : 30);
            long at_2 = ((i + k - 1 > 0 ? i + k - 1 : 0) < 8 ? (i + k - 1 > 0 ? i + k - 1 : 0) : 8);
            float x_v = hone_from_f16(x[i_2 * 279 + at + at_2 * 31]);
            y_f32_sum_____ = hone_max1(y_f32_sum_____, ((((0 <= i + k - 1) & (i + k - 1 <= 8)) & (1 & (30 + k_2 - 1 <= 30))) ? x_v : -__builtin_inff()));
        }
    }
    float y_f32_6 = y_f32_sum_____;
    y[(i_2 * H + i) * W + 30] = hone_to_f16(y_f32_6);
}
