#include "common.h"

enum { ROUNDS = 8 };

__global__ void work(const float4 *in, float *out, size_t n) {
    size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    size_t step = (size_t)gridDim.x * blockDim.x;
    float sum = 0;
#if TWIN == 0
    for (int r = 0; r < ROUNDS; r++)
#pragma unroll 4
        for (size_t i = first; i < n; i += step) {
            float4 v = __ldcg(&in[i]);
            sum += v.x * r + v.y + v.z + v.w;
        }
#else
#pragma unroll 4
    for (size_t i = first; i < n; i += step) {
        float4 v = __ldcg(&in[i]);
        for (int r = 0; r < ROUNDS; r++)
            sum += v.x * r + v.y + v.z + v.w;
    }
#endif
    out[first] = sum;
}

int main() {
    size_t n = (size_t)1 << 24;
    int blocks = multiprocessors() * 8;
    float4 *in = device<float4>(n);
    float *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out, n);
    done();
}
