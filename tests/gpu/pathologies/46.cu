#include "common.h"

#include <cooperative_groups.h>
#include <stdint.h>

enum { GROUP = TWIN == 0 ? 1 : 2, TILE = 32 << 10, STAGES = 4, THREADS = 512 };

static __device__ uint32_t shared_address(const void *p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}

static __device__ void wait(uint32_t barrier, uint32_t parity) {
    uint32_t is_done = 0;
    while (!is_done)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                     "selp.u32 %0, 1, 0, p;}"
                     : "=r"(is_done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}

static __device__ void meet(void) {
#if TWIN == 0
    __syncthreads();
#else
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

// One thread of each block: its part of the tile at `in`, the t-th, for all blocks of the group.
static __device__ void fetch(const char *in, char *tiles, uint64_t *full, int t, unsigned rank) {
    uint32_t barrier = shared_address(&full[t % STAGES]);
    uint32_t to = shared_address(tiles + (size_t)(t % STAGES) * TILE) + rank * (TILE / GROUP);
    const char *from = in + rank * (TILE / GROUP);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(TILE)
                 : "memory");
#if TWIN == 0
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(TILE / GROUP), "r"(barrier)
                 : "memory");
#else
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(to),
                 "l"(from), "r"(TILE / GROUP), "r"(barrier), "h"((uint16_t)((1 << GROUP) - 1))
                 : "memory");
#endif
}

__global__ void __cluster_dims__(GROUP, 1, 1) work(const char *in, float *out, int n_tiles) {
    extern __shared__ __align__(128) char tiles[];
    __shared__ uint64_t full[STAGES];
    auto group = cooperative_groups::this_cluster();
    unsigned rank = group.block_rank();
    float sum = 0, other = 0;
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[s])));
    int begin = blockIdx.x / 2 * 7;  // two neighbours have the same order
    asm volatile("fence.mbarrier_init.release.cluster;");
    group.sync();
    for (int t = 0; t < STAGES - 1 && threadIdx.x == 0; t++)
        fetch(in + (size_t)((begin + t) % n_tiles) * TILE, tiles, full, t, rank);
    for (int t = 0; t < n_tiles; t++) {
        meet();  // nobody reads the tile before any more
        int next = t + STAGES - 1;
        if (threadIdx.x == 0 && next < n_tiles)
            fetch(in + (size_t)((begin + next) % n_tiles) * TILE, tiles, full, next, rank);
        wait(shared_address(&full[t % STAGES]), (unsigned)(t / STAGES) & 1);
        const float4 *tile = (const float4 *)(tiles + (size_t)(t % STAGES) * TILE);
        for (int i = (int)threadIdx.x; i < TILE / 16; i += THREADS) {
            float4 v = tile[i];
            for (int k = 0; k < 4; k++) {
                sum = sum * v.x + v.y;
                other = other * v.z + v.w;
            }
        }
    }
    group.sync();
    out[blockIdx.x * THREADS + threadIdx.x] = sum + other;
}

int main() {
    int blocks = multiprocessors() / 2 * 2, n_tiles = 512, bytes = STAGES * TILE;
    char *in = device<char>((size_t)n_tiles * TILE);
    float *out = device<float>((size_t)blocks * THREADS);
    CHECK(cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    for (int i = 0; i < TURNS; i++)
        work<<<blocks, THREADS, bytes>>>(in, out, n_tiles);
    done();
}
