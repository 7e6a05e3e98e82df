#include "common.h"

enum { SIZE = 2048 };
using namespace nvcuda;

#if TWIN == 0
__global__ void work(const half *a, const half *b, float *c) {
    __shared__ half left[64][16], right[16][64];
    int t = threadIdx.x, row = t / 16 * 4, column = t % 16 * 4;
    float sum[4][4] = {};
    for (int k = 0; k < SIZE; k += 16) {
        for (int i = t; i < 64 * 16; i += 256) {
            left[i / 16][i % 16] = a[(size_t)(blockIdx.y * 64 + i / 16) * SIZE + k + i % 16];
            right[i / 64][i % 64] = b[(size_t)(k + i / 64) * SIZE + blockIdx.x * 64 + i % 64];
        }
        __syncthreads();
        for (int j = 0; j < 16; j++)
            for (int y = 0; y < 4; y++)
                for (int x = 0; x < 4; x++)
                    sum[y][x] += __half2float(left[row + y][j]) * __half2float(right[j][column + x]);
        __syncthreads();
    }
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++)
            c[(size_t)(blockIdx.y * 64 + row + y) * SIZE + blockIdx.x * 64 + column + x] = sum[y][x];
}
#else
__global__ void work(const half *a, const half *b, float *c) {
    int warp = threadIdx.x / 32, row = blockIdx.y * 64 + warp / 2 * 16, column = blockIdx.x * 64 + warp % 2 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2];
    wmma::fill_fragment(sum[0], 0);
    wmma::fill_fragment(sum[1], 0);
    for (int k = 0; k < SIZE; k += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
        wmma::load_matrix_sync(left, a + (size_t)row * SIZE + k, SIZE);
        for (int i = 0; i < 2; i++) {
            wmma::load_matrix_sync(right, b + (size_t)k * SIZE + column + 16 * i, SIZE);
            wmma::mma_sync(sum[i], left, right, sum[i]);
        }
    }
    for (int i = 0; i < 2; i++)
        wmma::store_matrix_sync(c + (size_t)row * SIZE + column + 16 * i, sum[i], SIZE, wmma::mem_row_major);
}
#endif

int main() {
    half *a = device<half>((size_t)SIZE * SIZE), *b = device<half>((size_t)SIZE * SIZE);
    float *c = device<float>((size_t)SIZE * SIZE);
    for (int i = 0; i < TURNS; i++)
        work<<<dim3(SIZE / 64, SIZE / 64), 256>>>(a, b, c);
    done();
}
