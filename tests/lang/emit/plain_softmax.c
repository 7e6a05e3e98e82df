// softmax, by hone VERSION.
// plain: one straightforward loop nest per named value, no vectors, the C
// library's functions. The baseline that speed-ups are stated against.
#include <math.h>

#ifndef M
#define M 64
#endif
#ifndef N
#define N 128
#endif

_Static_assert(M == 64, "lowered for M = 64");
_Static_assert(N == 128, "lowered for N = 128");

// The larger of two, NaN when either is.
static inline float maxf(float a, float b) {
    return a != a || a > b ? a : b;
}

#pragma hone scratch t f32[M, N]
#pragma hone launch t_map grid(1) args(x, t)
#pragma hone launch y_rowwise grid(M) args(y, t)

void t_map(long block, const float *restrict x, float *restrict t) {
    for (long j = 0; j < M * N; j++) {
        float x_v = x[j];
        float t_v = maxf(x_v, 0.5f);
        t[j] = t_v;
    }
}

void y_rowwise(long block, float *restrict y, const float *restrict t) {
    _Alignas(64) float y_exp_row[N];
    float y_max_rest;
    float y_sum_rest;
    y_max_rest = -__builtin_inff();
    for (long j = 0; j < N; j++) {
        float t_v = t[block * N + j];
        y_max_rest = maxf(t_v, y_max_rest);
    }
    float y_max = y_max_rest;
    y_sum_rest = 0.0f;
    for (long j = 0; j < N; j++) {
        float t_v = t[block * N + j];
        float y_shifted = t_v - y_max;
        float y_exp = expf(y_shifted);
        y_sum_rest += y_exp;
        y_exp_row[j] = y_exp;
    }
    float y_sum = y_sum_rest;
    for (long j = 0; j < N; j++) {
        float y_exp = y_exp_row[j];
        float y_v = y_exp / y_sum;
        y[block * N + j] = y_v;
    }
}
