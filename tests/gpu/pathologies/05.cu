#include "common.h"

__global__ void work(const float4 *in, float4 *out, size_t n) {
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        float4 v = in[i];
        v.x *= 2, v.y *= 2, v.z *= 2, v.w *= 2;
        out[i] = v;
    }
}

int main() {
    size_t n = (size_t)1 << 24;
    float4 *in = device<float4>(n), *out = device<float4>(n);
    for (int i = 0; i < TURNS; i++)
        work<<<TWIN == 0 ? 24 : multiprocessors() * 16, 512>>>(in, out, n);
    done();
}
