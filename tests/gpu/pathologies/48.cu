#include "common.h"

enum { ROWS = 8192, COLS = 8192, TILE = 64, LINES = 16 };

template <int PART> __global__ void work(const float *x, float *out) {
    __shared__ float tile[TILE][TILE + 1];
    int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE;
#if TWIN == 0
    if (PART == 1) {
        for (int r = threadIdx.y; r < TILE; r += LINES) {
            size_t i = (size_t)(row + r) * COLS + col;
            float v = x[i];
            out[i] = v * v + v * 0.5f;
        }
        return;
    }
#endif
    for (int r = threadIdx.y; r < TILE; r += LINES) {
        float v = x[(size_t)(row + r) * COLS + col];
        tile[r][threadIdx.x] = PART == 2 ? v * v + v * 0.5f : v;
    }
    __syncthreads();
    col = blockIdx.y * TILE + threadIdx.x, row = blockIdx.x * TILE;
    for (int r = threadIdx.y; r < TILE; r += LINES)
        out[(size_t)(row + r) * ROWS + col] = tile[threadIdx.x][r];
}

int main() {
    size_t n = (size_t)ROWS * COLS;
    float *x = device<float>(n), *y = device<float>(n), *out = device<float>(n);
    dim3 grid(COLS / TILE, ROWS / TILE), block(TILE, LINES);
    for (int i = 0; i < TURNS; i++) {
#if TWIN == 0
        work<0><<<grid, block>>>(x, y);
        work<1><<<grid, block>>>(y, out);
#else
        work<2><<<grid, block>>>(x, out);
#endif
    }
    done();
}
