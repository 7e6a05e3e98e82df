// names, by hone VERSION.
// kernel for names on cpu
// stage begin : map  vec 4  unroll 1  grain 1024  store cached
#include "hone_math.h"

#ifndef M
#define M 8
#endif
#ifndef N
#define N 12
#endif

_Static_assert(M == 8, "lowered for M = 8");
_Static_assert(N == 12, "lowered for N = 12");

#pragma hone launch begin_map grid(M / 8) args(row, j, begin)

void begin_map(long block, const float *restrict row, const float *restrict j, float *restrict begin) {
    for (long row_v = 0; row_v < M; row_v++) {
        for (long j_v = 0; j_v < N; j_v += 4) {
            f32x4 row_2 = hone_load4(&row[row_v * N + j_v]);
            f32x4 j_2 = hone_load4(&j[j_v]);
            f32x4 x_1 = row_2 + j_2;
            f32x4 t_1 = hone_exp4(x_1);
            f32x4 begin_v = t_1 * x_1;
            hone_store4(&begin[row_v * N + j_v], begin_v);
        }
    }
}
