#include "common.h"

enum { STEPS = 64 };

__global__ void work(const float *in, float *out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[at], sum = 0;
    for (int i = 0; i < STEPS; i++) {
#if TWIN == 0
        sum += sinf(v * 100000.0f) + powf(v + 1.0f, 1.5f);
#else
        sum += v * v + 0.5f * v;
#endif
        v += 0.01f;
    }
    out[at] = sum;
}

int main() {
    int blocks = multiprocessors() * 64;
    float *in = device<float>((size_t)blocks * 256), *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out);
    done();
}
