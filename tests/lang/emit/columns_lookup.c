// columns_lookup, by hone VERSION.
// kernel for columns_lookup on cpu
// stage y : rowwise as columns  vec 4  strip 2  keep local  ahead 8  overlap none  divide exact  store stream
#include "hone_math.h"
#include "hone_types.h"

#pragma hone launch y_rowwise grid(1) args(a, i, y)

void y_rowwise(long block, const float *restrict a, const int *restrict i, float *restrict y) {
    f32x4 y_max_part_0, y_max_part_1;
    f32x4 y_sum_part_0, y_sum_part_1;
    y_max_part_0 = hone_all4(-__builtin_inff());
    y_max_part_1 = hone_all4(-__builtin_inff());
    for (long column = 0; column < 4; column++) {
        int i_v = i[3];
        long at = hone_to_long(i_v, 0LL, 4LL);
        __builtin_prefetch(&a[at * 8], 0, 2);
        int i_2 = i[column];
        long at_2 = hone_to_long(i_2, 0LL, 4LL);
        f32x4 a_v = hone_load4(&a[at_2 * 8]);
        y_max_part_0 = hone_max4(a_v, y_max_part_0);
        int i_3 = i[3];
        long at_3 = hone_to_long(i_3, 0LL, 4LL);
        __builtin_prefetch(&a[4 + at_3 * 8], 0, 2);
        int i_4 = i[column];
        long at_4 = hone_to_long(i_4, 0LL, 4LL);
        f32x4 a_2 = hone_load4(&a[4 + at_4 * 8]);
        y_max_part_1 = hone_max4(a_2, y_max_part_1);
    }
    f32x4 y_max = y_max_part_0;
    f32x4 y_max_2 = y_max_part_1;
    y_sum_part_0 = hone_all4(0.0f);
    y_sum_part_1 = hone_all4(0.0f);
    for (long column = 0; column < 4; column++) {
        int i_v = i[column];
        long at = hone_to_long(i_v, 0LL, 4LL);
        f32x4 a_v = hone_load4(&a[at * 8]);
        f32x4 y_shifted = a_v - y_max;
        f32x4 y_exp = hone_exp4(y_shifted);
        y_sum_part_0 += y_exp;
        int i_2 = i[column];
        long at_2 = hone_to_long(i_2, 0LL, 4LL);
        f32x4 a_2 = hone_load4(&a[4 + at_2 * 8]);
        f32x4 y_shifted_2 = a_2 - y_max_2;
        f32x4 y_exp_2 = hone_exp4(y_shifted_2);
        y_sum_part_1 += y_exp_2;
    }
    f32x4 y_sum = y_sum_part_0;
    f32x4 y_sum_2 = y_sum_part_1;
    f32x4 y_log = hone_log4(y_sum);
    f32x4 y_log_2 = hone_log4(y_sum_2);
    for (long column = 0; column < 4; column++) {
        int i_v = i[column];
        long at = hone_to_long(i_v, 0LL, 4LL);
        f32x4 a_v = hone_load4(&a[at * 8]);
        f32x4 y_shifted = a_v - y_max;
        f32x4 y_v = y_shifted - y_log;
        hone_stream4(&y[column * 8], y_v);
        int i_2 = i[column];
        long at_2 = hone_to_long(i_2, 0LL, 4LL);
        f32x4 a_2 = hone_load4(&a[4 + at_2 * 8]);
        f32x4 y_shifted_2 = a_2 - y_max_2;
        f32x4 y_2 = y_shifted_2 - y_log_2;
        hone_stream4(&y[column * 8 + 4], y_2);
    }
}
