#include "common.h"

// Steps of the loop that are written out.
#if TWIN == 0
enum { WRITTEN = 8192 };
#else
enum { WRITTEN = 32 };
#endif

__global__ void __launch_bounds__(256) work(const float *in, float *out) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    float a = in[i], b = a + 1, c = a + 2, d = a + 3;
    // Warps begin at places of their own, so that they do not share what one of them fetches.
    for (int k = threadIdx.x / 32; k < 6 + (int)threadIdx.x / 32; k++) {
        float x = 0.5f + k;
        for (int outer = 0; outer < 8192 / WRITTEN; outer++) {
#pragma unroll
            for (int j = 0; j < WRITTEN; j++) {
                a = fmaf(a, x, 0.25f);
                b = fmaf(b, x, 0.5f);
                c = fmaf(c, x, 0.75f);
                d = fmaf(d, x, 1.25f);
            }
        }
    }
    out[i] = a + b + c + d;
}

int main() {
    size_t n = (size_t)multiprocessors() * 8 * 256;
    float *in = device<float>(n), *out = device<float>(n);
    for (int i = 0; i < TURNS; i++)
        work<<<(unsigned)(n / 256), 256>>>(in, out);
    done();
}
