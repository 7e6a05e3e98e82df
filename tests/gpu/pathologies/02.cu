#include "common.h"

enum { TURNS_INSIDE = 512, PITCH = TWIN == 0 ? 32 : 33 };

__global__ void work(const float *in, float *out) {
    __shared__ float tile[32 * PITCH];
    int x = threadIdx.x, y = threadIdx.y;
    for (int r = y; r < 32; r += 8)
        tile[r * PITCH + x] = in[r * 32 + x];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < TURNS_INSIDE; i++)
        sum += tile[x * PITCH + ((y + i) & 31)];
    out[(blockIdx.x * 8 + y) * 32 + x] = sum;
}

int main() {
    int blocks = multiprocessors() * 32;
    float *in = device<float>(32 * 32), *out = device<float>((size_t)blocks * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, dim3(32, 8)>>>(in, out);
    done();
}
