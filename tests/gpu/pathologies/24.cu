#include "common.h"

__global__ void work(const float *in, float *out, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
#if TWIN == 0
    size_t at = (i % 1024) * (n / 1024) + i / 1024;
    out[at] = in[i] * 2;
#else
    out[i] = in[i] * 2;
#endif
}

int main() {
    size_t n = (size_t)1 << 26;
    float *in = device<float>(n), *out = device<float>(n);
    for (int i = 0; i < TURNS; i++)
        work<<<(unsigned)(n / 256), 256>>>(in, out, n);
    done();
}
