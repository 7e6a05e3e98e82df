// types, by hone VERSION.
// plain: one straightforward loop nest per named value, no vectors, the C
// library's functions. The baseline that speed-ups are stated against.
#include <math.h>

#include "hone_types.h"

#ifndef M
#define M 64
#endif
#ifndef N
#define N 1000
#endif

_Static_assert(M == 64, "lowered for M = 64");
_Static_assert(N == 1000, "lowered for N = 1000");

#pragma hone launch s_nest grid(M / 4) args(x, s)
#pragma hone launch h_nest grid(M / 4) args(x, y, h)

void s_nest(long block, const signed char *restrict x, long long *restrict s) {
    long long s_sum;
    for (long j = block * 4; j < block * 4 + 4; j++) {
        s_sum = 0LL;
        for (long k = 0; k < 1000; k++) {
            int x_v = x[j * 1000 + k];
            long long t_1 = (long long)x_v;
            long long t_2 = hone_floordiv_i64(t_1, 3LL);
            s_sum = hone_add_i64(s_sum, t_2);
        }
        long long s_v = s_sum;
        s[j] = s_v;
    }
}

void h_nest(long block, const signed char *restrict x, const double *restrict y, unsigned char *restrict h) {
    int t_4_sum;
    for (long j = block * 4; j < block * 4 + 4; j++) {
        double y_v = y[j];
        double t_3 = pow(y_v, 2.0);
        t_4_sum = (-2147483647 - 1);
        for (long k = 0; k < 1000; k++) {
            int x_v = x[j * 1000 + k];
            t_4_sum = hone_max_i32(t_4_sum, x_v);
        }
        int t_4 = t_4_sum;
        double t_5 = (double)t_4;
        double t_6 = t_3 + t_5;
        h[j] = hone_to_f8e4m3((float)t_6);
    }
}
