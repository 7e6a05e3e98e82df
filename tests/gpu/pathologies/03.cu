#include "common.h"

enum { VALUES = 64, STEPS = 64 };

#if TWIN == 0
__global__ void __launch_bounds__(256, 8) work(const float *in, float *out, int n) {
#else
__global__ void __launch_bounds__(256, 2) work(const float *in, float *out, int n) {
#endif
    float v[VALUES];
    int at = blockIdx.x * 256 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < VALUES; k++)
        v[k] = in[(at + k * 257) % n];
    for (int s = 0; s < STEPS; s++) {
        float left = v[VALUES - 1];
#pragma unroll
        for (int k = 0; k < VALUES; k++) {
            float old = v[k];
            v[k] = fmaf(left, 0.5f, old);
            left = old;
        }
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < VALUES; k++)
        sum += v[k] * (float)(k + 1);
    out[at] = sum;
}

int main() {
    int blocks = multiprocessors() * 32, n = 1 << 20;
    float *in = device<float>(n), *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out, n);
    done();
}
