#include "common.h"
#include <stdint.h>

enum { STEPS = 2000 };
using namespace nvcuda;

#if TWIN == 0
__global__ void __launch_bounds__(256) work(const half *in, float *out) {
    int warp = threadIdx.x / 32;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left[2];
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right[4];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[8];
    for (int i = 0; i < 2; i++)
        wmma::load_matrix_sync(left[i], in + (warp * 2 + i) * 256, 16);
    for (int i = 0; i < 4; i++)
        wmma::load_matrix_sync(right[i], in + (16 + i) * 256, 16);
    for (int i = 0; i < 8; i++)
        wmma::fill_fragment(sum[i], 0);
    for (int k = 0; k < STEPS; k++)
        for (int i = 0; i < 8; i++)
            wmma::mma_sync(sum[i], left[i / 4], right[i % 4], sum[i]);
    for (int i = 0; i < 8; i++)
        wmma::store_matrix_sync(out + ((size_t)blockIdx.x * 64 + warp * 8 + i) * 256, sum[i], 16,
                                wmma::mem_row_major);
}
#else
// 64 x 128 x 16 by four warps: of a thread 64 sums, as many products as 64 of the other kind.
__device__ static inline void multiply(float *d, uint64_t a, uint64_t b) {
#define D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                 "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
                 "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
                 "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %64, %65, 1, 1, 1, 0, 0;"
                 : D16(0), D16(16), D16(32), D16(48)
                 : "l"(a), "l"(b));
}

__global__ void __launch_bounds__(256) work(const half *in, float *out) {
    __shared__ __align__(1024) half tiles[2][64 * 16 + 128 * 16];
    int group = threadIdx.x / 128;
    for (int i = threadIdx.x; i < 2 * (64 * 16 + 128 * 16); i += 256)
        tiles[0][i] = in[i % 5120];
    __syncthreads();
    asm volatile("fence.proxy.async;");
    uint32_t at = (uint32_t)__cvta_generic_to_shared(tiles[group]);
    // No swizzle: parts of 8 rows of 16 bytes; 128 bytes along k, 256 along rows.
    uint64_t strides = (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
    uint64_t left = (at & 0x3ffff) >> 4 | strides, right = ((at + 2048) & 0x3ffff) >> 4 | strides;
    float sum[64] = {};
    for (int k = 0; k < STEPS / 8; k++) {
        asm volatile("wgmma.fence.sync.aligned;");
        for (int i = 0; i < 8; i++)
            multiply(sum, left, right);
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
    }
    for (int i = 0; i < 64; i++)
        out[((size_t)blockIdx.x * 64 + i) * 256 + threadIdx.x] = sum[i];
}
#endif

int main() {
    int blocks = 4 * multiprocessors();
    half *in = device<half>(8192);
    float *out = device<float>((size_t)blocks * 64 * 256);
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, 256>>>(in, out);
    done();
}
