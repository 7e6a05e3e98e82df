// What emitted CUDA reaches the hardware through: indices, barriers, shuffles, atomics, vector
// and asynchronous copies, mathematics. No other header is needed, and nothing else is used.
//
// Emitted text is C that NVRTC and nvcc read as CUDA. Compiled as C with HONE_DEV_CPU defined
// it runs on a CPU instead (dev_cpu.h), one fibre per thread, so that every kernel can be
// executed and its barriers tested without a GPU.
//
// Vectors are f32x2 and f32x4, with the arithmetic of the language's vector extensions. A
// function's name ends in its number of lanes. Comparisons give masks (i32x4) for hone_select4.
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

extern __shared__ float4 hone_dynamic_memory[];
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

HONE_FN void hone_atomic_add(float *to, float v) {
    atomicAdd(to, v);
}

typedef float2 f32x2;
typedef float4 f32x4;
typedef int2 i32x2;
typedef int4 i32x4;

#define HONE_X(v) (v).x
#define HONE_Y(v) (v).y
#define HONE_Z(v) (v).z
#define HONE_W(v) (v).w

HONE_FN f32x2 hone_pack2(float x, float y) {
    return make_float2(x, y);
}
HONE_FN f32x4 hone_pack4(float x, float y, float z, float w) {
    return make_float4(x, y, z, w);
}

// A condition in every lane.
HONE_FN i32x2 hone_all_mask2(int m) {
    return make_int2(m, m);
}
HONE_FN i32x4 hone_all_mask4(int m) {
    return make_int4(m, m, m, m);
}

#define HONE_OPERATOR(op)                                                   \
    HONE_FN f32x2 operator op(f32x2 a, f32x2 b) {                           \
        return make_float2(a.x op b.x, a.y op b.y);                         \
    }                                                                       \
    HONE_FN f32x2 operator op(f32x2 a, float b) {                           \
        return make_float2(a.x op b, a.y op b);                             \
    }                                                                       \
    HONE_FN f32x2 operator op(float a, f32x2 b) {                           \
        return make_float2(a op b.x, a op b.y);                             \
    }                                                                       \
    HONE_FN f32x4 operator op(f32x4 a, f32x4 b) {                           \
        return make_float4(a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w); \
    }                                                                       \
    HONE_FN f32x4 operator op(f32x4 a, float b) {                           \
        return make_float4(a.x op b, a.y op b, a.z op b, a.w op b);         \
    }                                                                       \
    HONE_FN f32x4 operator op(float a, f32x4 b) {                           \
        return make_float4(a op b.x, a op b.y, a op b.z, a op b.w);         \
    }
HONE_OPERATOR(+)
HONE_OPERATOR(-)
HONE_OPERATOR(*)
HONE_OPERATOR(/)
#undef HONE_OPERATOR

#define HONE_COMPARISON(op)                                                           \
    HONE_FN i32x2 operator op(f32x2 a, f32x2 b) {                                     \
        return make_int2(-(a.x op b.x), -(a.y op b.y));                               \
    }                                                                                 \
    HONE_FN i32x2 operator op(f32x2 a, float b) {                                     \
        return make_int2(-(a.x op b), -(a.y op b));                                   \
    }                                                                                 \
    HONE_FN i32x2 operator op(float a, f32x2 b) {                                     \
        return make_int2(-(a op b.x), -(a op b.y));                                   \
    }                                                                                 \
    HONE_FN i32x4 operator op(f32x4 a, f32x4 b) {                                     \
        return make_int4(-(a.x op b.x), -(a.y op b.y), -(a.z op b.z), -(a.w op b.w)); \
    }                                                                                 \
    HONE_FN i32x4 operator op(f32x4 a, float b) {                                     \
        return make_int4(-(a.x op b), -(a.y op b), -(a.z op b), -(a.w op b));         \
    }                                                                                 \
    HONE_FN i32x4 operator op(float a, f32x4 b) {                                     \
        return make_int4(-(a op b.x), -(a op b.y), -(a op b.z), -(a op b.w));         \
    }
HONE_COMPARISON(<)
HONE_COMPARISON(<=)
HONE_COMPARISON(==)
#undef HONE_COMPARISON

HONE_FN f32x2 operator-(f32x2 a) {
    return make_float2(-a.x, -a.y);
}
HONE_FN f32x4 operator-(f32x4 a) {
    return make_float4(-a.x, -a.y, -a.z, -a.w);
}
#define HONE_ACCUMULATE(type, other)            \
    HONE_FN void operator+=(type &a, other b) { \
        a = a + b;                              \
    }
HONE_ACCUMULATE(f32x2, f32x2)
HONE_ACCUMULATE(f32x2, float)
HONE_ACCUMULATE(f32x4, f32x4)
HONE_ACCUMULATE(f32x4, float)
#undef HONE_ACCUMULATE

// Consecutive elements, aligned to the vector's size.
HONE_FN f32x2 hone_load2(const float *from) {
    return *(const float2 *)from;
}
HONE_FN f32x4 hone_load4(const float *from) {
    return *(const float4 *)from;
}
HONE_FN void hone_store2(float *to, f32x2 v) {
    *(float2 *)to = v;
}
HONE_FN void hone_store4(float *to, f32x4 v) {
    *(float4 *)to = v;
}

// Global memory that the kernel only reads, and reads once: not worth keeping in the caches.
HONE_FN float hone_once1(const float *from) {
    return __ldcs(from);
}
HONE_FN f32x2 hone_once2(const float *from) {
    return __ldcs((const float2 *)from);
}
HONE_FN f32x4 hone_once4(const float *from) {
    return __ldcs((const float4 *)from);
}

// Results that nobody reads soon.
HONE_FN void hone_stream1(float *to, float v) {
    __stcs(to, v);
}
HONE_FN void hone_stream2(float *to, f32x2 v) {
    __stcs((float2 *)to, v);
}
HONE_FN void hone_stream4(float *to, f32x4 v) {
    __stcs((float4 *)to, v);
}

HONE_FN void hone_prefetch(const float *from) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

// Copies from global to shared memory that go on by themselves. Copies started since the last
// commit are one group; hone_async_wait(n) waits until at most the n newest groups are under
// way. The data of other threads' copies is there after a barrier that follows their wait.
HONE_FN void hone_async1(float *to, const float *from) {
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(from)
        : "memory");
}
HONE_FN void hone_async4(float *to, const float *from) {
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(from)
        : "memory");
}
#define hone_async_commit() asm volatile("cp.async.commit_group;" ::: "memory")
#define hone_async_wait(groups) asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory")

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

#endif

// From here on both machines are the same.

HONE_FN f32x2 hone_all2(float x) {
    return hone_pack2(x, x);
}
HONE_FN f32x4 hone_all4(float x) {
    return hone_pack4(x, x, x, x);
}
HONE_FN f32x2 hone_gather2(const float *from, long stride) {
    return hone_pack2(from[0], from[stride]);
}
HONE_FN f32x4 hone_gather4(const float *from, long stride) {
    return hone_pack4(from[0], from[stride], from[2 * stride], from[3 * stride]);
}

// One lane, whose number is a constant once loops are unrolled.
HONE_FN float hone_lane2(f32x2 v, int lane) {
    return lane == 0 ? HONE_X(v) : HONE_Y(v);
}
HONE_FN float hone_lane4(f32x4 v, int lane) {
    return lane == 0 ? HONE_X(v) : lane == 1 ? HONE_Y(v) : lane == 2 ? HONE_Z(v) : HONE_W(v);
}

// Errors in units in the last place: exp 1, log 1, sqrt 0.5, rsqrt 2, tanh 2, erf 2.
HONE_FN float hone_abs1(float x) {
    return fabsf(x);
}
HONE_FN float hone_exp1(float x) {
    return expf(x);
}
HONE_FN float hone_log1(float x) {
    return logf(x);
}
HONE_FN float hone_sqrt1(float x) {
    return sqrtf(x);
}
HONE_FN float hone_tanh1(float x) {
    return tanhf(x);
}
HONE_FN float hone_erf1(float x) {
    return erff(x);
}
HONE_FN float hone_select1(int mask, float a, float b) {
    return mask ? a : b;
}

#define HONE_LANES_1(name)                                                       \
    HONE_FN f32x2 hone_##name##2(f32x2 v) {                                      \
        return hone_pack2(hone_##name##1(HONE_X(v)), hone_##name##1(HONE_Y(v))); \
    }                                                                            \
    HONE_FN f32x4 hone_##name##4(f32x4 v) {                                      \
        return hone_pack4(hone_##name##1(HONE_X(v)), hone_##name##1(HONE_Y(v)),  \
                          hone_##name##1(HONE_Z(v)), hone_##name##1(HONE_W(v))); \
    }
HONE_LANES_1(abs)
HONE_LANES_1(exp)
HONE_LANES_1(log)
HONE_LANES_1(sqrt)
HONE_LANES_1(rsqrt)
HONE_LANES_1(tanh)
HONE_LANES_1(erf)
#undef HONE_LANES_1

#define HONE_LANES_2(name)                                                               \
    HONE_FN f32x2 hone_##name##2(f32x2 a, f32x2 b) {                                     \
        return hone_pack2(hone_##name##1(HONE_X(a), HONE_X(b)),                          \
                          hone_##name##1(HONE_Y(a), HONE_Y(b)));                         \
    }                                                                                    \
    HONE_FN f32x4 hone_##name##4(f32x4 a, f32x4 b) {                                     \
        return hone_pack4(                                                               \
            hone_##name##1(HONE_X(a), HONE_X(b)), hone_##name##1(HONE_Y(a), HONE_Y(b)),  \
            hone_##name##1(HONE_Z(a), HONE_Z(b)), hone_##name##1(HONE_W(a), HONE_W(b))); \
    }
HONE_LANES_2(max)
HONE_LANES_2(min)
#undef HONE_LANES_2

HONE_FN f32x2 hone_select2(i32x2 m, f32x2 a, f32x2 b) {
    return hone_pack2(HONE_X(m) ? HONE_X(a) : HONE_X(b), HONE_Y(m) ? HONE_Y(a) : HONE_Y(b));
}
HONE_FN f32x4 hone_select4(i32x4 m, f32x4 a, f32x4 b) {
    return hone_pack4(HONE_X(m) ? HONE_X(a) : HONE_X(b), HONE_Y(m) ? HONE_Y(a) : HONE_Y(b),
                      HONE_Z(m) ? HONE_Z(a) : HONE_Z(b), HONE_W(m) ? HONE_W(a) : HONE_W(b));
}

// Across the lanes of a vector, and across the threads of a warp: there all threads get the
// same result, whose order of summation does not depend on the thread.
HONE_FN float hone_add1(float a, float b) {
    return a + b;
}
HONE_FN float hone_mul1(float a, float b) {
    return a * b;
}
#define HONE_ACROSS(name, op)                                    \
    HONE_FN float hone_lanes_##name##2(f32x2 v) {                \
        return hone_##op##1(HONE_X(v), HONE_Y(v));               \
    }                                                            \
    HONE_FN float hone_lanes_##name##4(f32x4 v) {                \
        return hone_##op##1(hone_##op##1(HONE_X(v), HONE_Y(v)),  \
                            hone_##op##1(HONE_Z(v), HONE_W(v))); \
    }                                                            \
    HONE_FN float hone_warp_##name(float v) {                    \
        for (int mask = 16; mask > 0; mask /= 2)                 \
            v = hone_##op##1(v, hone_shuffle_xor(v, mask));      \
        return v;                                                \
    }
HONE_ACROSS(sum, add)
HONE_ACROSS(prod, mul)
HONE_ACROSS(max, max)
HONE_ACROSS(min, min)
#undef HONE_ACROSS
