#include "common.h"

enum { STEPS = 64 };

__global__ void work(const float *in, float *out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[at];
    for (int i = 0; i < STEPS; i++)
#if TWIN == 0
        v = sqrt(v * 1.5 + 2.0);
#else
        v = sqrtf(v * 1.5f + 2.0f);
#endif
    out[at] = v;
}

int main() {
    int blocks = multiprocessors() * 64;
    float *in = device<float>((size_t)blocks * 256), *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out);
    done();
}
