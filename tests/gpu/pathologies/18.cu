#include "common.h"

__global__ void work(const float4 *in, float4 *out, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = in[i];
    v.x *= 2, v.y += 1;
    out[i] = v;
}

int main() {
    size_t n = (size_t)1 << 22;
    float4 *in, *out = device<float4>(n);
#if TWIN == 0
    CHECK(cudaMallocHost(&in, n * sizeof *in));
    for (size_t i = 0; i < n; i++)
        in[i] = make_float4(1, 2, 3, 4);
#else
    in = device<float4>(n);
#endif
    for (int i = 0; i < TURNS; i++)
        work<<<(unsigned)(n / 256), 256>>>(in, out, n);
    done();
}
