#include "common.h"

__global__ void work(const float4 *in, float4 *out, float *total, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = in[i];
    v.x *= 0.5f;
    out[i] = v;
    if (i == 0)
        *total = v.x;
}

int main() {
    size_t n = (size_t)1 << 20;
    float4 *in = device<float4>(n), *out = device<float4>(n);
    float *total = device<float>(1), got = 0;
    for (int i = 0; i < 400; i++) {
        work<<<(unsigned)(n / 256), 256>>>(in, out, total, n);
#if TWIN == 0
        CHECK(cudaMemcpy(&got, total, sizeof got, cudaMemcpyDeviceToHost));
        if (got < 0)
            break;
#endif
    }
    done();
}
