#include "common.h"

#if TWIN == 0
#define NUMBER(x) x
#else
#define NUMBER(x) x##f
#endif
enum { STEPS = 256 };

__global__ void work(const float *in, float *out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[at], w = v + NUMBER(1.0);
    for (int i = 0; i < STEPS; i++) {
        v = v * NUMBER(0.9999) + NUMBER(0.125);
        w = w * NUMBER(0.9998) + NUMBER(0.25);
    }
    out[at] = v + w;
}

int main() {
    int blocks = multiprocessors() * 64;
    float *in = device<float>((size_t)blocks * 256), *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out);
    done();
}
