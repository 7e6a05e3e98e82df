#include "common.h"

// Lines of 128 bytes are read and written in an order of their own: one at a time, or in runs.
#ifndef RUN
#define RUN (TWIN == 0 ? 1 : 64)
#endif

__global__ void work(const float4 *in, float4 *out, unsigned lines) {
    unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    unsigned run = warp / RUN, runs = lines / RUN;
    unsigned place = (run * 2654435761u & (runs - 1)) * RUN + warp % RUN;
    float4 v = in[(size_t)place * 8 + lane];
    v.x += 1;
    out[(size_t)place * 8 + lane] = v;
}

int main() {
    unsigned lines = 1u << 23;
    float4 *in = device<float4>((size_t)lines * 8), *out = device<float4>((size_t)lines * 8);
    for (int i = 0; i < TURNS; i++)
        work<<<lines / 32, 256>>>(in, out, lines);
    done();
}
