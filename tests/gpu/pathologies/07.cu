#include "common.h"

enum { STEPS = 400 };

__global__ void work(const float *in, float *out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[at];
#if TWIN == 0
    int way = threadIdx.x % 4;
#else
    int way = threadIdx.x / 32 % 4;
#endif
    if (way == 0)
        for (int i = 0; i < STEPS; i++)
            v = fmaf(v, 0.99f, 0.25f);
    else if (way == 1)
        for (int i = 0; i < STEPS; i++)
            v = v * v - 0.5f * v;
    else if (way == 2)
        for (int i = 0; i < STEPS; i++)
            v = fmaxf(v, 0.5f) + 0.125f * v;
    else
        for (int i = 0; i < STEPS; i++)
            v = v * 0.75f + fminf(v, 2.0f);
    out[at] = v;
}

int main() {
    int blocks = multiprocessors() * 64;
    float *in = device<float>((size_t)blocks * 256), *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out);
    done();
}
