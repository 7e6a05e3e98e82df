// What emitted CUDA reaches the hardware through: indices, barriers, shuffles, atomics, vector
// and asynchronous copies, mathematics. No other header is needed, and nothing else is used.
//
// Emitted text is C that NVRTC and nvcc read as CUDA. Compiled as C with HONE_DEV_CPU defined
// it runs on a CPU instead (dev_cpu.h), one fibre per thread, so that every kernel can be
// executed and its barriers tested without a GPU.
//
// Vectors are f32x2, f32x4 and f32x8, with the arithmetic of the language's vector extensions. A
// function's name ends in its number of lanes. Comparisons give masks (i32x4) for hone_select4,
// all ones where true. Memory of f16 and bf16 is loaded to floats and stored from them
// (hone_load8_f16); other types and the arithmetic of integers and doubles are in hone_types.h.
#pragma once

#ifdef HONE_DEV_CPU

#include "dev_cpu.h"

#else

// An entry for blocks of exactly `threads` threads.
#define HONE_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads)
// The same, of which a multiprocessor shall hold at least `blocks` at once.
#define HONE_KERNEL_OF(threads, blocks) \
    extern "C" __global__ void __launch_bounds__(threads, blocks)
#define HONE_FN static __device__ __forceinline__
#define HONE_ASSERT(condition, text) static_assert(condition, text)
#define HONE_INFINITY __int_as_float(0x7f800000)
#define HONE_NAN __int_as_float(0x7fc00000)

// Shared memory of one block: an array of a size known here, or (beyond 48 KB in all) the
// memory that the launch asks for.
#define HONE_SHARED(name, count) __shared__ __align__(16) float name[count]
#define HONE_DYNAMIC(name, offset, count) float *const name = hone_dynamic() + (offset)

// The same of another type; the offset is in bytes.
#define HONE_SHARED_OF(type, name, count) __shared__ __align__(16) type name[count]
#define HONE_DYNAMIC_OF(type, name, offset, count) \
    type *const name = (type *)((char *)hone_dynamic_memory + (offset))

// What bulk copies and products on tensor cores exchange begins at multiples of 1024.
extern __shared__ __align__(1024) float4 hone_dynamic_memory[];
HONE_FN float *hone_dynamic(void) {
    return (float *)hone_dynamic_memory;
}

HONE_FN int hone_thread(void) {
    return (int)threadIdx.x;
}
HONE_FN int hone_block(void) {
    return (int)blockIdx.x;
}

// All threads of the block, or none, come by here; what they wrote before it can be read after.
#define hone_barrier() __syncthreads()
// The same of the 32 threads of a warp.
#define hone_warp_sync() __syncwarp()

// The same of all blocks of a cluster, and for what they wrote to global memory.
#define hone_cluster_barrier()                               \
    asm volatile("barrier.cluster.arrive.release.aligned;\n" \
                 "barrier.cluster.wait.acquire.aligned;" ::  \
                     : "memory")

// The same of `blocks` blocks that run at the same time. *count is how many came to any of their
// barriers so far: 0 at first, and theirs alone.
// Sources of before 2026-11-19 call it so.
#define hone_gang_barrier hone_group_barrier
HONE_FN void hone_group_barrier(int *count, int blocks) {
    __syncthreads();
    if (threadIdx.x == 0) {
        int ticket, now;
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        asm volatile("atom.relaxed.gpu.global.add.s32 %0, [%1], 1;"
                     : "=r"(ticket)
                     : "l"(count)
                     : "memory");
        int all = ticket - ticket % blocks + blocks;
        do
            asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(now) : "l"(count) : "memory");
        while (now < all);
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
    }
    __syncthreads();
}

// All 32 threads of a warp take part.
HONE_FN float hone_shuffle_xor(float v, int mask) {
    return __shfl_xor_sync(0xffffffffu, v, mask);
}
HONE_FN float hone_shuffle_down(float v, int distance) {
    return __shfl_down_sync(0xffffffffu, v, distance);
}
HONE_FN float hone_shuffle(float v, int lane) {
    return __shfl_sync(0xffffffffu, v, lane);
}

HONE_FN float hone_shuffle_up(float v, int distance) {
    return __shfl_up_sync(0xffffffffu, v, distance);
}

HONE_FN double hone_shuffle_xor_f64(double v, int mask) {
    return __shfl_xor_sync(0xffffffffu, v, mask);
}
HONE_FN int hone_shuffle_xor_i32(int v, int mask) {
    return __shfl_xor_sync(0xffffffffu, v, mask);
}
HONE_FN long long hone_shuffle_xor_i64(long long v, int mask) {
    return __shfl_xor_sync(0xffffffffu, v, mask);
}
#define HONE_SHUFFLES(type, t)                               \
    HONE_FN type hone_shuffle_up_##t(type v, int distance) { \
        return __shfl_up_sync(0xffffffffu, v, distance);     \
    }                                                        \
    HONE_FN type hone_shuffle_##t(type v, int lane) {        \
        return __shfl_sync(0xffffffffu, v, lane);            \
    }
HONE_SHUFFLES(double, f64)
HONE_SHUFFLES(int, i32)
HONE_SHUFFLES(long long, i64)
#undef HONE_SHUFFLES
HONE_FN int hone_warp_any(int m) {
    return __any_sync(0xffffffffu, m);
}
HONE_FN int hone_warp_all(int m) {
    return __all_sync(0xffffffffu, m);
}

HONE_FN void hone_atomic_add(float *to, float v) {
    atomicAdd(to, v);
}

// Additions to shared memory: in any order, and those of a warp's threads that take part in theirs.
HONE_FN void hone_shared_add(float *to, const float *v) {
    atomicAdd(to, *v);
}
HONE_FN void hone_warp_add(float *to, const float *v, int takes_part) {
    unsigned lane = threadIdx.x % 32;
    for (unsigned rest = __ballot_sync(0xffffffffu, takes_part); rest; rest &= rest - 1) {
        if (__ffs((int)rest) - 1 == (int)lane)
            *to += *v;
        __syncwarp();
    }
}

#include "dev_vectors.h"

#include "dev_copies.h"
#include "dev_mma.h"
#include "dev_wgmma.h"

// NaN when either argument is.
HONE_FN float hone_max1(float a, float b) {
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
HONE_FN float hone_min1(float a, float b) {
    float r;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
HONE_FN float hone_rsqrt1(float x) {
    return rsqrtf(x);
}

// Two floats in one word, the first in its low half.
HONE_FN unsigned hone_word_f16(float x, float y) {
    unsigned w;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(y), "f"(x));
    return w;
}
HONE_FN unsigned hone_word_bf16(float x, float y) {
    unsigned w;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(y), "f"(x));
    return w;
}

#endif

#include "hone_types.h"

// Behind the types, whose conversions it makes vectors of.
#include "dev_lanes.h"
