#include "common.h"

enum { STEPS = 256 };
#if TWIN == 0
__constant__ float table[8192];
#else
__device__ float table[8192];
#endif

__global__ void work(const int *in, float *out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = (unsigned)in[at] + threadIdx.x * (TWIN == 0 ? 97u : 1u);
    float sum = 0;
    for (int i = 0; i < STEPS; i++) {
        sum += table[v & 8191];
        v += 1031;
    }
    out[at] = sum;
}

int main() {
    int blocks = multiprocessors() * 64;
    int *in = device<int>((size_t)blocks * 256);
    float *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out);
    done();
}
