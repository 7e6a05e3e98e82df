#include "common.h"

enum { STEPS = 100 };

// One warp prepares, all use.
__global__ void work(const float *in, float *out) {
    __shared__ float ready[256];
    int t = threadIdx.x, at = blockIdx.x * 256 + t;
    float v = in[at];
    for (int i = 0; i < STEPS; i++) {
#if TWIN == 0
        if (t < 32)
            for (int k = t; k < 256; k += 32) {
                float w = in[(at + k) & 1023];
                for (int j = 0; j < 24; j++)
                    w = fmaf(w, 0.9f, 0.5f);
                ready[k] = w;
            }
        __syncthreads();
        v += ready[t];
        __syncthreads();
#else
        float w = in[(at + i) & 1023];
        for (int j = 0; j < 24; j++)
            w = fmaf(w, 0.9f, 0.5f);
        v += w;
#endif
    }
    out[at] = v;
}

int main() {
    int blocks = multiprocessors() * 32;
    float *in = device<float>((size_t)blocks * 256), *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out);
    done();
}
