#include "common.h"

enum { STEPS = 8192, LINES = 1024, THREADS = 1024 };

__global__ void __launch_bounds__(THREADS, 2) work(const float *table, float *out) {
    extern __shared__ float near[];
    unsigned lane = threadIdx.x % 32, line = (blockIdx.x * 32 + threadIdx.x / 32) * 977u;
    float sum[8] = {0};
    near[threadIdx.x] = 1;
    for (int i = 0; i < STEPS; i += 8)
#pragma unroll
        for (int k = 0; k < 8; k++)
            sum[k] += table[((line + (i + k) * 389u) % LINES) * 32 + lane];
    for (int k = 1; k < 8; k++)
        sum[0] += sum[k];
    out[blockIdx.x * THREADS + threadIdx.x] = sum[0] + near[threadIdx.x];
}

int main() {
    int blocks = multiprocessors() * 4, bytes = TWIN == 0 ? 100 << 10 : THREADS * 4;
    float *table = device<float>(LINES * 32), *out = device<float>((size_t)blocks * THREADS);
    CHECK(cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, THREADS, bytes>>>(table, out);
    done();
}
