#include "common.h"

#if TWIN == 0
enum { AT_ONCE = 1, THREADS = 128, BLOCKS_EACH = 2 };
#else
enum { AT_ONCE = 8, THREADS = 512, BLOCKS_EACH = 4 };
#endif

__global__ void work(const float *in, float *out, size_t n) {
    size_t stride = (size_t)gridDim.x * blockDim.x * AT_ONCE;
    float sum = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x * AT_ONCE + threadIdx.x; i < n; i += stride) {
        float v[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            v[k] = __ldcs(in + i + k * THREADS);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            sum += v[k];
        if (sum == -1)
            break;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int main() {
    size_t n = (size_t)1 << 28;
    int blocks = multiprocessors() * BLOCKS_EACH;
    float *in = device<float>(n), *out = device<float>((size_t)blocks * THREADS);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, THREADS>>>(in, out, n);
    done();
}
