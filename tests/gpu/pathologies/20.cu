#include "common.h"

enum { STEPS = 256 };

__global__ void work(const unsigned *in, unsigned *out) {
    __shared__ unsigned bins[256];
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    bins[threadIdx.x] = 0;
    __syncthreads();
    unsigned v = in[at] + (unsigned)threadIdx.x, own = 0;
    for (int i = 0; i < STEPS; i++) {
        v = v * 1664525u + 1013904223u;
#if TWIN == 0
        atomicAdd(&bins[v >> 30], 1);
#else
        own += v >> 30;
#endif
    }
    atomicAdd(&bins[threadIdx.x], own);
    __syncthreads();
    out[at] = bins[threadIdx.x];
}

int main() {
    int blocks = multiprocessors() * 64;
    unsigned *in = device<unsigned>((size_t)blocks * 256), *out = device<unsigned>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out);
    done();
}
