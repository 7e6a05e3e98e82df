#include "common.h"

enum { STEPS = 512 };

__global__ void work(const float *in, float *out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[at];
#if TWIN == 0
    if (threadIdx.x % 32 == 0)
        for (int k = 0; k < 32; k++) {
            float w = in[at + k];
            for (int i = 0; i < STEPS / 8; i++)
                w = fmaf(w, 0.99f, 0.25f);
            out[at + k] = w;
        }
#else
    for (int i = 0; i < STEPS; i++)
        v = fmaf(v, 0.99f, 0.25f);
    out[at] = v;
#endif
}

int main() {
    int blocks = multiprocessors() * 64;
    float *in = device<float>((size_t)blocks * 256), *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out);
    done();
}
