#include "common.h"

__global__ void work(const float *in, float4 *out) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
#if TWIN == 0
    out[i].x = v;
    out[i].y = v * v;
    out[i].z = v + 1;
#else
    out[i] = make_float4(v, v * v, v + 1, 0);
#endif
}

int main() {
    size_t n = (size_t)1 << 25;
    float *in = device<float>(n);
    float4 *out = device<float4>(n);
    for (int i = 0; i < TURNS; i++)
        work<<<(unsigned)(n / 256), 256>>>(in, out);
    done();
}
