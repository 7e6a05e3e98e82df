#include "common.h"

enum { VALUES = 96 };

// A bound on registers that is far too low for what a thread holds.
#if TWIN == 0
__global__ void __launch_bounds__(1024, 2) work(const float *in, float *out, int n) {
#else
__global__ void __launch_bounds__(128, 4) work(const float *in, float *out, int n) {
#endif
    float v[VALUES];
    int at = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < VALUES; k++)
        v[k] = in[(at + k * 131) % n];
    for (int s = 0; s < 32; s++)
#pragma unroll
        for (int k = 0; k < VALUES; k++)
            v[k] = fmaf(v[k], 0.75f, v[(k + 7) % VALUES]);
    float sum = 0;
#pragma unroll
    for (int k = 0; k < VALUES; k++)
        sum += v[k];
    out[at] = sum;
}

int main() {
    int threads = TWIN == 0 ? 1024 : 128, blocks = multiprocessors() * 16 * 1024 / threads, n = 1 << 20;
    float *in = device<float>(n), *out = device<float>((size_t)blocks * threads);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, threads>>>(in, out, n);
    done();
}
