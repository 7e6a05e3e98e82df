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

#pragma hone launch s_reduce grid(M / 4) args(x, s)
#pragma hone launch h_reduce grid(M / 4) args(x, y, h)

void s_reduce(long block, const signed char *restrict x, long long *restrict s) {
    long long total;
    long long s_rest;
    for (long row = block * 4; row < block * 4 + 4; row++) {
        total = 0LL;
        s_rest = 0LL;
        for (long j = 0; j < N; j++) {
            int x_v = x[row * N + j];
            long long t_1 = (long long)x_v;
            long long t_2 = hone_floordiv_i64(t_1, 3LL);
            s_rest = hone_add_i64(s_rest, t_2);
        }
        long long s_v = s_rest;
        total = hone_add_i64(total, s_v);
        long long s_2 = total;
        s[row] = s_2;
    }
}

void h_reduce(long block, const signed char *restrict x, const double *restrict y, unsigned char *restrict h) {
    int total_;
    int t_4_rest;
    for (long row = block * 4; row < block * 4 + 4; row++) {
        total_ = (-2147483647 - 1);
        t_4_rest = (-2147483647 - 1);
        for (long j = 0; j < N; j++) {
            int x_v = x[row * N + j];
            t_4_rest = hone_max_i32(x_v, t_4_rest);
        }
        int t_4 = t_4_rest;
        total_ = hone_max_i32(total_, t_4);
        int t_4_2 = total_;
        double y_v = y[row];
        double t_3 = pow(y_v, 2.0);
        double t_5 = (double)t_4_2;
        double t_6 = t_3 + t_5;
        h[row] = hone_to_f8e4m3((float)t_6);
    }
}
