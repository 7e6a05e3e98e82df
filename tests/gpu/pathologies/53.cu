#include "common.h"
#include <cuda_pipeline.h>

enum { SIZE = 4096, TILE = 128, STEP = 32, PITCH = STEP + 8, WIDE = TILE + 8 };
using namespace nvcuda;

// How many slices are on their way while one is multiplied.
#if TWIN == 0
enum { SLICES = 1 };
#else
enum { SLICES = 4 };
#endif

struct slice {
    half left[TILE * PITCH], right[STEP * WIDE];
};

__device__ static void fetch(slice *to, const half *a, const half *b, int k) {
    for (int i = threadIdx.x; i < TILE * STEP / 8; i += 256) {
        int row = i / (STEP / 8), column = i % (STEP / 8) * 8;
        __pipeline_memcpy_async(&to->left[row * PITCH + column], &a[(size_t)(blockIdx.y * TILE + row) * SIZE + k + column], 16);
        row = i / (TILE / 8), column = i % (TILE / 8) * 8;
        __pipeline_memcpy_async(&to->right[row * WIDE + column], &b[(size_t)(k + row) * SIZE + blockIdx.x * TILE + column], 16);
    }
}

__global__ void __launch_bounds__(256) work(const half *a, const half *b, float *c) {
    extern __shared__ slice slices[];
    int warp = threadIdx.x / 32, row = warp / 2 * 32, column = warp % 2 * 64;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][4];
    for (int i = 0; i < 8; i++)
        wmma::fill_fragment(sum[i / 4][i % 4], 0);
    for (int s = 0; s < SLICES - 1; s++) {
        fetch(&slices[s], a, b, s * STEP);
        __pipeline_commit();
    }
    for (int k = 0, s = 0; k < SIZE; k += STEP, s = (s + 1) % SLICES) {
        int ahead = k + (SLICES - 1) * STEP;
        __syncthreads();
        if (ahead < SIZE)
            fetch(&slices[(s + SLICES - 1) % SLICES], a, b, ahead);
        __pipeline_commit();
        __pipeline_wait_prior(SLICES - 1);
        __syncthreads();
        for (int j = 0; j < STEP; j += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right[4];
            for (int i = 0; i < 2; i++)
                wmma::load_matrix_sync(left[i], &slices[s].left[(row + 16 * i) * PITCH + j], PITCH);
            for (int i = 0; i < 4; i++)
                wmma::load_matrix_sync(right[i], &slices[s].right[j * WIDE + column + 16 * i], WIDE);
            for (int i = 0; i < 8; i++)
                wmma::mma_sync(sum[i / 4][i % 4], left[i / 4], right[i % 4], sum[i / 4][i % 4]);
        }
    }
    for (int i = 0; i < 8; i++)
        wmma::store_matrix_sync(c + (size_t)(blockIdx.y * TILE + row + i / 4 * 16) * SIZE + blockIdx.x * TILE + column + i % 4 * 16,
                                sum[i / 4][i % 4], SIZE, wmma::mem_row_major);
}

int main() {
    size_t n = (size_t)SIZE * SIZE, shared = sizeof(slice) * SLICES;
    half *a = device<half>(n), *b = device<half>(n);
    float *c = device<float>(n);
    CHECK(cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
    // One block on a multiprocessor: nothing else hides the waiting.
    for (int i = 0; i < TURNS; i++)
        work<<<dim3(SIZE / TILE, SIZE / TILE), 256, shared>>>(a, b, c);
    done();
}
