#include "common.h"

enum { SIZE = 2048, STEP = 16 };

#if TWIN == 0
enum { TILE = 16, EACH = 1 };
#else
enum { TILE = 128, EACH = 8 };
#endif

__global__ void __launch_bounds__(256) work(const float *a, const float *b, float *c) {
    __shared__ float left[STEP][TILE + 4], right[STEP][TILE];
    int t = threadIdx.x, row = t / 16, column = t % 16;
    float sum[EACH][EACH] = {};
    for (int k = 0; k < SIZE; k += STEP) {
        for (int i = t; i < TILE * STEP; i += 256) {
            left[i % STEP][i / STEP] = a[(size_t)(blockIdx.y * TILE + i / STEP) * SIZE + k + i % STEP];
            right[i / TILE][i % TILE] = b[(size_t)(k + i / TILE) * SIZE + blockIdx.x * TILE + i % TILE];
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < STEP; j++) {
            float x[EACH], y[EACH];
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                x[i] = left[j][row * EACH + i];
                y[i] = right[j][(i / 4 * 16 + column) * (EACH < 4 ? 1 : 4) + i % 4];
            }
#pragma unroll
            for (int m = 0; m < EACH; m++)
#pragma unroll
                for (int i = 0; i < EACH; i++)
                    sum[m][i] = fmaf(x[m], y[i], sum[m][i]);
        }
        __syncthreads();
    }
    for (int m = 0; m < EACH; m++)
        for (int i = 0; i < EACH; i++)
            c[(size_t)(blockIdx.y * TILE + row * EACH + m) * SIZE + blockIdx.x * TILE +
              (i / 4 * 16 + column) * (EACH < 4 ? 1 : 4) + i % 4] = sum[m][i];
}

int main() {
    size_t n = (size_t)SIZE * SIZE;
    float *a = device<float>(n), *b = device<float>(n), *c = device<float>(n);
    for (int i = 0; i < TURNS; i++)
        work<<<dim3(SIZE / TILE, SIZE / TILE), 256>>>(a, b, c);
    done();
}
