// columns_inverse, by hone VERSION.
// kernel for columns_inverse on cpu
// stage y : rowwise as columns  vec 1  strip 8  keep local  ahead 8  overlap none  divide reciprocal  store cached
#include "hone_math.h"
#include "hone_types.h"

#pragma hone launch y_rowwise grid(1) args(x, y)

void y_rowwise(long block, const unsigned short *restrict x, double *restrict y) {
    _Alignas(64) float x_strip[3 * 8];
    float t_2_part_0, t_2_part_1, t_2_part_2, t_2_part_3, t_2_part_4, t_2_part_5, t_2_part_6, t_2_part_7;
    t_2_part_0 = -__builtin_inff();
    t_2_part_1 = -__builtin_inff();
    t_2_part_2 = -__builtin_inff();
    t_2_part_3 = -__builtin_inff();
    t_2_part_4 = -__builtin_inff();
    t_2_part_5 = -__builtin_inff();
    t_2_part_6 = -__builtin_inff();
    t_2_part_7 = -__builtin_inff();
    for (long column = 0; column < 3; column++) {
        float x_v = hone_from_bf16(x[column * 8]);
        t_2_part_0 = hone_max1(x_v, t_2_part_0);
        x_strip[column * 8] = x_v;
        float x_2 = hone_from_bf16(x[column * 8 + 1]);
        t_2_part_1 = hone_max1(x_2, t_2_part_1);
        x_strip[column * 8 + 1] = x_2;
        float x_3 = hone_from_bf16(x[column * 8 + 2]);
        t_2_part_2 = hone_max1(x_3, t_2_part_2);
        x_strip[column * 8 + 2] = x_3;
        float x_4 = hone_from_bf16(x[column * 8 + 3]);
        t_2_part_3 = hone_max1(x_4, t_2_part_3);
        x_strip[column * 8 + 3] = x_4;
        float x_5 = hone_from_bf16(x[column * 8 + 4]);
        t_2_part_4 = hone_max1(x_5, t_2_part_4);
        x_strip[column * 8 + 4] = x_5;
        float x_6 = hone_from_bf16(x[column * 8 + 5]);
        t_2_part_5 = hone_max1(x_6, t_2_part_5);
        x_strip[column * 8 + 5] = x_6;
        float x_7 = hone_from_bf16(x[column * 8 + 6]);
        t_2_part_6 = hone_max1(x_7, t_2_part_6);
        x_strip[column * 8 + 6] = x_7;
        float x_8 = hone_from_bf16(x[column * 8 + 7]);
        t_2_part_7 = hone_max1(x_8, t_2_part_7);
        x_strip[column * 8 + 7] = x_8;
    }
    float t_2 = t_2_part_0;
    float t_2_2 = t_2_part_1;
    float t_2_3 = t_2_part_2;
    float t_2_4 = t_2_part_3;
    float t_2_5 = t_2_part_4;
    float t_2_6 = t_2_part_5;
    float t_2_7 = t_2_part_6;
    float t_2_8 = t_2_part_7;
    double t_3 = (double)t_2;
    double t_3_2 = (double)t_2_2;
    double t_3_3 = (double)t_2_3;
    double t_3_4 = (double)t_2_4;
    double t_3_5 = (double)t_2_5;
    double t_3_6 = (double)t_2_6;
    double t_3_7 = (double)t_2_7;
    double t_3_8 = (double)t_2_8;
    for (long column = 0; column < 3; column++) {
        float x_v = x_strip[column * 8];
        double t_1 = (double)x_v;
        double y_v = t_1 / t_3;
        y[column * 8] = y_v;
        float x_2 = x_strip[column * 8 + 1];
        double t_1_2 = (double)x_2;
        double y_2 = t_1_2 / t_3_2;
        y[column * 8 + 1] = y_2;
        float x_3 = x_strip[column * 8 + 2];
        double t_1_3 = (double)x_3;
        double y_3 = t_1_3 / t_3_3;
        y[column * 8 + 2] = y_3;
        float x_4 = x_strip[column * 8 + 3];
        double t_1_4 = (double)x_4;
        double y_4 = t_1_4 / t_3_4;
        y[column * 8 + 3] = y_4;
        float x_5 = x_strip[column * 8 + 4];
        double t_1_5 = (double)x_5;
        double y_5 = t_1_5 / t_3_5;
        y[column * 8 + 4] = y_5;
        float x_6 = x_strip[column * 8 + 5];
        double t_1_6 = (double)x_6;
        double y_6 = t_1_6 / t_3_6;
        y[column * 8 + 5] = y_6;
        float x_7 = x_strip[column * 8 + 6];
        double t_1_7 = (double)x_7;
        double y_7 = t_1_7 / t_3_7;
        y[column * 8 + 6] = y_7;
        float x_8 = x_strip[column * 8 + 7];
        double t_1_8 = (double)x_8;
        double y_8 = t_1_8 / t_3_8;
        y[column * 8 + 7] = y_8;
    }
}
