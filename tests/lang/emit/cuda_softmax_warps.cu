// softmax, by hone VERSION.
// kernel for softmax on sm_100a
// stage y : rowwise  threads 32  rows 8  vec 4  keep register  divide reciprocal  store cached
#include "dev.h"

#ifndef M
#define M 999
#endif
#ifndef N
#define N 60
#endif

HONE_ASSERT(M == 999, "lowered for M = 999");
HONE_ASSERT(N == 60, "lowered for N = 60");

#pragma hone launch y_rowwise grid((M + 7) / 8) block(256) args(x, y)

HONE_KERNEL(256) y_rowwise(const float *__restrict__ x, float *__restrict__ y) {
    f32x4 x_row;
    f32x4 y_exp_row;
    f32x4 y_max_part;
    f32x4 y_sum_part;
    const int block = hone_block();
    const int thread = hone_thread();
    int row = block * 8 + thread / 32;
    if (row < M) {
        y_max_part = hone_all4(-HONE_INFINITY);
        int j = thread % 32 * 4;
        if (j < N) {
            f32x4 x_v = hone_load4(&x[row * N + j]);
            y_max_part = hone_max4(y_max_part, x_v);
            x_row = x_v;
        }
        float y_max_own = hone_lanes_max4(y_max_part);
        float y_max = hone_warp_max(y_max_own);
        y_sum_part = hone_all4(0.0f);
        int j_2 = thread % 32 * 4;
        if (j_2 < N) {
            f32x4 x_v = x_row;
            f32x4 y_shifted = x_v - y_max;
            f32x4 y_exp = hone_exp4(y_shifted);
            y_sum_part += y_exp;
            y_exp_row = y_exp;
        }
        float y_sum_own = hone_lanes_sum4(y_sum_part);
        float y_sum = hone_warp_sum(y_sum_own);
        float y_sum_inverse = 1.0f / y_sum;
        int j_3 = thread % 32 * 4;
        if (j_3 < N) {
            f32x4 y_exp = y_exp_row;
            f32x4 y_v = y_exp * y_sum_inverse;
            hone_store4(&y[row * N + j_3], y_v);
        }
    }
}
