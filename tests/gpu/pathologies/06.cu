#include "common.h"

enum { STEPS = 20000 };

__global__ void __launch_bounds__(1024, 1) work(const float *in, float *out) {
    float a = in[threadIdx.x], b = a + 1, c = a + 2, d = a + 3;
    for (int i = 0; i < STEPS; i++) {
        a = fmaf(a, 0.999f, 0.5f);
        b = fmaf(b, 0.999f, 0.5f);
        c = fmaf(c, 0.999f, 0.5f);
        d = fmaf(d, 0.999f, 0.5f);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

int main() {
    int blocks = multiprocessors() * 2 + (TWIN == 0 ? 20 : 0);
    float *in = device<float>(1024), *out = device<float>((size_t)blocks * 1024);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 1024>>>(in, out);
    done();
}
