#include "common.h"

// Each address comes from memory: from the element before, or from a counter.
__global__ void work(const int *next, int *out, int n, int turns) {
    int at = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
#if TWIN == 0
    for (int i = 0; i < turns; i++) {
        at = (next[at] + at + 4096) & (n - 1);
        sum += at;
    }
#else
    for (int i = 0; i < turns; i += 8) {
        int got[8];
#pragma unroll
        for (int k = 0; k < 8; k++)
            got[k] = next[(at + (i + k) * 4096) & (n - 1)];
#pragma unroll
        for (int k = 0; k < 8; k++)
            sum += got[k];
    }
#endif
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int main() {
    int blocks = multiprocessors() * 4, n = 1 << 28;
    int *next = device<int>((size_t)n), *out = device<int>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(next, out, n, 256);
    done();
}
