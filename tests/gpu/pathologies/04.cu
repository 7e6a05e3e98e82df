#include "common.h"

extern __shared__ float room[];

__global__ void work(const float *in, float *out, size_t n) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    room[threadIdx.x] = 1;
    __syncthreads();
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        out[i] = in[i] * room[threadIdx.x];
}

int main() {
    size_t n = (size_t)1 << 27;
    int bytes = TWIN == 0 ? 200 << 10 : 1 << 10;
    float *in = device<float>(n), *out = device<float>(n);
    CHECK(cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    for (int i = 0; i < TURNS; i++)
        work<<<multiprocessors() * 64, 128, bytes>>>(in, out, n);
    done();
}
