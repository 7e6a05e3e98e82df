#include "common.h"

enum { STEPS = 2000 };

__global__ void work(const float *in, float *out, int blocks) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[at], w = v + 1, x = v + 2, y = v + 3;
#if TWIN == 0
    int steps = blockIdx.x % 64 == 63 ? 60 * STEPS : STEPS;
#else
    int steps = 2 * STEPS;
#endif
    for (int i = 0; i < steps; i++) {
        v = fmaf(v, 0.99f, 0.25f);
        w = fmaf(w, 0.98f, 0.25f);
        x = fmaf(x, 0.97f, 0.25f);
        y = fmaf(y, 0.96f, 0.25f);
    }
    out[at] = v + w + x + y;
}

int main() {
    int blocks = multiprocessors() * 32;
    float *in = device<float>((size_t)blocks * 256), *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out, blocks);
    done();
}
