#include "common.h"

enum { STEPS = 128 };

__global__ void work(const float *in, float *out, float scale) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[at], sum = 1;
    for (int i = 0; i < STEPS; i++) {
#if TWIN == 0
        sum += v / (sum + scale);
#else
        sum += v * (sum + scale);
#endif
        v += 0.5f;
    }
    out[at] = sum;
}

int main() {
    int blocks = multiprocessors() * 64;
    float *in = device<float>((size_t)blocks * 256), *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out, 3);
    done();
}
