#include "common.h"

// Eight rows, each summed by one block; or by sixty-four.
__global__ void work(const float4 *in, float *out, size_t row, int parts) {
    size_t each = row / parts, begin = blockIdx.y * row + blockIdx.x * each;
    float sum = 0;
    for (size_t i = begin + threadIdx.x; i < begin + each; i += blockDim.x) {
        float4 v = in[i];
        sum += v.x + v.y + v.z + v.w;
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&out[blockIdx.y], sum);
}

int main() {
    size_t row = (size_t)1 << 21;
    int parts = TWIN == 0 ? 1 : 256;
    float4 *in = device<float4>(row * 8);
    float *out = device<float>(8);
    for (int i = 0; i < TURNS; i++)
        work<<<dim3((unsigned)parts, 8), 512>>>(in, out, row, parts);
    done();
}
