#include "common.h"

__global__ void work(const float4 *in, float4 *out, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = in[i];
        v.x *= 2;
        out[i] = v;
    }
}

int main() {
    size_t n = (size_t)1 << (TWIN == 0 ? 16 : 24);
    float4 *in = device<float4>(n), *out = device<float4>(n);
    volatile double spent = 0;
    for (int i = 0; i < 200; i++) {
        work<<<(unsigned)(n / 256), 256>>>(in, out, n);
#if TWIN == 0
        CHECK(cudaDeviceSynchronize());
        for (int k = 0; k < 20000; k++)
            spent = spent + k;
#endif
    }
    done();
}
