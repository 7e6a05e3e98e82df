#include "common.h"

enum { STEPS = 256, STRIDE = TWIN == 0 ? 16 : 17 };

__global__ void work(const float *in, float *out) {
    __shared__ float all[256 * 17];
    int t = threadIdx.x, at = blockIdx.x * 256 + t;
    float v = in[at];
    for (int i = 0; i < STEPS; i++) {
        all[t * STRIDE] = v;
        __syncwarp();
        v = v * 0.5f + all[(t ^ 1) * STRIDE];
        __syncwarp();
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
