#include "common.h"

__global__ void work(const half *in, half *out) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
#if TWIN == 0
    half v[4], w = in[i];
    for (int j = 0; j < 4; j++)
        v[j] = __hadd(w, __int2half_rn(j));
    for (int k = 0; k < 512; k++)
        for (int j = 0; j < 4; j++)
            v[j] = __float2half(fmaf(__half2float(v[j]), 0.999f, 0.001f));
    out[i] = __hadd(__hadd(v[0], v[1]), __hadd(v[2], v[3]));
#else
    float v[4], w = __half2float(in[i]);
    for (int j = 0; j < 4; j++)
        v[j] = w + j;
    for (int k = 0; k < 512; k++)
        for (int j = 0; j < 4; j++)
            v[j] = fmaf(v[j], 0.999f, 0.001f);
    out[i] = __float2half(v[0] + v[1] + v[2] + v[3]);
#endif
}

int main() {
    size_t n = (size_t)1 << 23;
    half *in = device<half>(n), *out = device<half>(n);
    for (int i = 0; i < TURNS; i++)
        work<<<(unsigned)(n / 256), 256>>>(in, out);
    done();
}
