#include "common.h"

__global__ void work(const unsigned *in, unsigned *bins, size_t n) {
    __shared__ unsigned own[256];
    size_t stride = (size_t)gridDim.x * blockDim.x;
    own[threadIdx.x] = 0;
    __syncthreads();
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        unsigned v = in[i] * 2654435761u + (unsigned)i;
#if TWIN == 0
        atomicAdd(&bins[v >> 24], 1);
#else
        atomicAdd(&own[v >> 24], 1);
#endif
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

int main() {
    size_t n = (size_t)1 << 24;
    unsigned *in = device<unsigned>(n), *bins = device<unsigned>(256);
    for (int i = 0; i < TURNS; i++)
        work<<<multiprocessors() * 8, 256>>>(in, bins, n);
    done();
}
