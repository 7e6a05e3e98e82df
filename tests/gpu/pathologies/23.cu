#include "common.h"

enum { STEPS = 4096, SUMS = TWIN == 0 ? 1 : 8 };

__global__ void work(const float *in, float *out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float sum[SUMS];
    for (int k = 0; k < SUMS; k++)
        sum[k] = in[at] + (float)k;
    for (int i = 0; i < STEPS / SUMS; i++)
#pragma unroll
        for (int k = 0; k < SUMS; k++)
            sum[k] = fmaf(sum[k], 0.999f, 0.5f);
    float all = 0;
    for (int k = 0; k < SUMS; k++)
        all += sum[k];
    out[at] = all;
}

int main() {
    int blocks = multiprocessors();
    float *in = device<float>((size_t)blocks * 256), *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out);
    done();
}
