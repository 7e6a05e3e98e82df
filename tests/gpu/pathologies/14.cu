#include "common.h"

__global__ void work(float *data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = data[i] * 0.5f + 1;
}

int main() {
    int n = TWIN == 0 ? 1 << 12 : 1 << 27;
    float *data = device<float>((size_t)n);
    for (int i = 0; i < (TWIN == 0 ? 3000 : TURNS); i++)
        work<<<(n + 255) / 256, 256>>>(data, n);
    done();
}
