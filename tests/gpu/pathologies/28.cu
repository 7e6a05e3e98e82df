#include "common.h"

enum { STEPS = 128 };

__global__ void work(float *data, float *out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float v = data[at];
    for (int i = 0; i < STEPS; i++) {
        v = fmaf(v, 0.99f, 0.25f);
#if TWIN == 0
        data[at] = v;
        __threadfence();
#endif
    }
    out[at] = v;
}

int main() {
    int blocks = multiprocessors() * 64;
    float *in = device<float>((size_t)blocks * 256), *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out);
    done();
}
