#include "common.h"

// Turns until a bound is met; neighbours need very different numbers of them.
__global__ void work(const unsigned *in, float *out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned key = TWIN == 0 ? threadIdx.x * 37u : threadIdx.x / 32 * 37u;
    int turns = (int)(key % 31 == 0 ? 2000 : 60) + (int)(in[at] & 1);
    float v = 1;
    for (int i = 0; i < turns; i++)
        v = fmaf(v, 0.99f, 0.01f);
    out[at] = v;
}

int main() {
    int blocks = multiprocessors() * 64;
    unsigned *in = device<unsigned>((size_t)blocks * 256);
    float *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out);
    done();
}
