#include "common.h"

__global__ void work(const float4 *in, float *out, size_t n) {
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x, stride = (size_t)gridDim.x * blockDim.x;
#if TWIN == 0
    for (size_t i = at; i < n; i += stride) {
        float4 v = in[i];
        atomicAdd(&out[i % 8], v.x + v.y + v.z + v.w);
    }
#else
    float sum = 0;
    for (size_t i = at; i < n; i += stride) {
        float4 v = in[i];
        sum += v.x + v.y + v.z + v.w;
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&out[blockIdx.x % 8], sum);
#endif
}

int main() {
    size_t n = (size_t)1 << (TWIN == 0 ? 22 : 26);
    float4 *in = device<float4>(n);
    float *out = device<float>(8);
    for (int i = 0; i < TURNS; i++)
        work<<<multiprocessors() * 16, 512>>>(in, out, n);
    done();
}
