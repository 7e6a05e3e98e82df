#include "common.h"

__global__ void work(const float4 *in, float4 *out, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = in[i];
    v.x *= 2, v.y += 1;
    out[i] = v;
}

int main() {
    size_t n = (size_t)1 << 23;
    float4 *in = device<float4>(n), *out = device<float4>(n);
    float4 *host = (float4 *)malloc(n * sizeof *host);
    for (size_t i = 0; i < n; i++)
        host[i] = make_float4(1, 2, 3, 4);
    CHECK(cudaMemcpy(in, host, n * sizeof *host, cudaMemcpyHostToDevice));
    for (int i = 0; i < TURNS; i++) {
#if TWIN == 0
        CHECK(cudaMemcpy(in, host, n * sizeof *host, cudaMemcpyHostToDevice));
#endif
        work<<<(unsigned)(n / 256), 256>>>(in, out, n);
#if TWIN == 0
        CHECK(cudaMemcpy(host, out, n * sizeof *host, cudaMemcpyDeviceToHost));
#endif
    }
    done();
    CHECK(cudaMemcpy(host, out, n * sizeof *host, cudaMemcpyDeviceToHost));
}
