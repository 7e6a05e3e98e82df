#include "common.h"

enum { VALUES = 32 };

__global__ void work(const int *in, float *out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x, index = in[at] & (VALUES - 1);
    float v[VALUES], sum = 0;
#pragma unroll
    for (int k = 0; k < VALUES; k++)
        v[k] = (float)(k + at);
    for (int i = 0; i < 64; i++) {
#if TWIN == 0
        v[index] += 1.5f;
        index = (index * 5 + 3) & (VALUES - 1);
        sum += v[index];
#else
#pragma unroll
        for (int k = 0; k < VALUES; k++)
            v[k] = fmaf(v[k], 0.5f, (float)index);
        index = (index * 5 + 3) & (VALUES - 1);
#endif
    }
#pragma unroll
    for (int k = 0; k < VALUES; k++)
        sum += v[k];
    out[at] = sum;
}

int main() {
    int blocks = multiprocessors() * 64;
    int *in = device<int>((size_t)blocks * 256);
    float *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out);
    done();
}
