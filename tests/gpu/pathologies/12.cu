#include "common.h"

enum { STEPS = 200 };

__global__ void work(const float *in, float *out) {
    __shared__ float all[256];
    int at = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    float v = in[at];
    for (int i = 0; i < STEPS; i++) {
#if TWIN == 0
        int turns = t / 32 == i % 8 ? 64 : 1;
#else
        int turns = 9;
#endif
        for (int k = 0; k < turns; k++)
            v = fmaf(v, 0.99f, 0.5f);
#if TWIN == 0
        all[t] = v;
        __syncthreads();
        v += all[(t + 33) % 256];
        __syncthreads();
#endif
    }
    all[t] = v;
    __syncthreads();
    out[at] = v + all[(t + 1) % 256];
}

int main() {
    int blocks = multiprocessors() * 64;
    float *in = device<float>((size_t)blocks * 256), *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out);
    done();
}
