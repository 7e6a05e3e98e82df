#include "common.h"

enum { SIDE = 8192 };

__global__ void work(const float *in, float *out) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
#if TWIN == 0
    out[(size_t)y * SIDE + x] = in[(size_t)x * SIDE + y] * 2;
#else
    out[(size_t)y * SIDE + x] = in[(size_t)y * SIDE + x] * 2;
#endif
}

int main() {
    float *in = device<float>((size_t)SIDE * SIDE), *out = device<float>((size_t)SIDE * SIDE);
    for (int i = 0; i < TURNS; i++)
        work<<<dim3(SIDE / 32, SIDE / 8), dim3(32, 8)>>>(in, out);
    done();
}
