// products, by hone VERSION.
// plain: one straightforward loop nest per named value, no vectors, the C
// library's functions. The baseline that speed-ups are stated against.
#include <math.h>

#ifndef M
#define M 64
#endif
#ifndef N
#define N 32
#endif
#ifndef K
#define K 128
#endif

_Static_assert(M == 64, "lowered for M = 64");
_Static_assert(N == 32, "lowered for N = 32");
_Static_assert(K == 128, "lowered for K = 128");

#pragma hone launch y_product grid(M) args(x, w, y)
#pragma hone launch z_product grid(M) args(x, u, z)

void y_product(long block, const float *restrict x, const float *restrict w, float *restrict y) {
    _Alignas(64) float sum[N];
    for (long j = 0; j < N; j++) {
        sum[j] = 0.0f;
    }
    for (long k = 0; k < K; k++) {
        float x_v = x[block * K + k];
        for (long j = 0; j < N; j++) {
            float w_v = w[k * N + j];
            sum[j] += x_v * w_v;
        }
    }
    for (long j = 0; j < N; j++) {
        float y_v = sum[j];
        y[block * N + j] = y_v;
    }
}

void z_product(long block, const float *restrict x, const float *restrict u, float *restrict z) {
    float sum_;
    for (long j = 0; j < N; j++) {
        sum_ = 0.0f;
        for (long k = 0; k < K; k++) {
            float x_v = x[block * K + k];
            float u_v = u[j * K + k];
            sum_ += x_v * u_v;
        }
        float t_1 = sum_;
        float z_half = t_1 * 0.5f;
        float z_scaled = t_1 * 0.707106769f;
        float z_erf = erff(z_scaled);
        float z_gate = z_erf + 1.0f;
        float z_v = z_half * z_gate;
        z[block * N + j] = z_v;
    }
}
