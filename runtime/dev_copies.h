// Part of dev.h: what moves data ahead of its use: prefetches, asynchronous copies (sm_80),
// launches that overlap, barriers in shared memory and the copy engine (sm_90).
#pragma once

HONE_FN void hone_prefetch(const void *from) {
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
#ifdef HONE_ANY_ALIGNMENT
// Done at once: it is there before any wait for it.
HONE_FN void hone_async4(float *to, const float *from) {
    hone_move_any(to, from, 16);
}
#define HONE_COPY(bytes)                                                                     \
    HONE_FN void hone_async_copy##bytes(void *to, const void *from, int valid) {             \
        if (valid == bytes)                                                                  \
            hone_move_any(to, from, bytes);                                                  \
        else                                                                                 \
            for (int i = 0; i < bytes; i++)                                                  \
                ((unsigned char *)to)[i] = i < valid ? ((const unsigned char *)from)[i] : 0; \
    }
HONE_COPY(4)
HONE_COPY(8)
HONE_COPY(16)
#undef HONE_COPY
#else
HONE_FN void hone_async4(float *to, const float *from) {
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(from)
        : "memory");
}
// The first `valid` bytes from there, the others zeros; 0: the source is not touched.
#define HONE_COPY(bytes, kind)                                                   \
    HONE_FN void hone_async_copy##bytes(void *to, const void *from, int valid) { \
        asm volatile("cp.async." kind ".shared.global [%0], [%1], " #bytes       \
                     ", %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),      \
                     "l"(from), "r"(valid)                                       \
                     : "memory");                                                \
    }
HONE_COPY(4, "ca")
HONE_COPY(8, "ca")
HONE_COPY(16, "cg")
#undef HONE_COPY
#endif
#define hone_async_commit() asm volatile("cp.async.commit_group;" ::: "memory")
#define hone_async_wait(groups) asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory")

// Launches that overlap (sm_90): this one waits for the one before it, and lets the next begin.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define hone_launch_wait() asm volatile("griddepcontrol.wait;" ::: "memory")
#define hone_launch_next() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
// A pointer to what launches before this one wrote: behind the wait it is another one to the
// compiler, which would otherwise read such data before the wait, or through the read-only cache.
#define hone_renew(p)                         \
    do {                                      \
        asm volatile("" : "+l"(p)::"memory"); \
        __builtin_assume(__isGlobal(p));      \
    } while (0)
#endif

// Barriers in shared memory whose phases count arrivals and bytes, the copy engine, and products of
// a warpgroup (sm_90a); intrinsics.def says what each means.
struct __align__(64) hone_tensormap {
    unsigned long long words[16];
};
#define HONE_MAP(name) const __grid_constant__ struct hone_tensormap name

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
HONE_FN unsigned hone_address(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}
HONE_FN void hone_mbarrier_init(long long *barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(hone_address(barrier)),
                 "r"(arrivals)
                 : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
HONE_FN void hone_mbarrier_expect(long long *barrier, int bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(hone_address(barrier)),
        "r"(bytes)
        : "memory");
}
HONE_FN void hone_mbarrier_arrive(long long *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(hone_address(barrier))
                 : "memory");
}
// Tensor cores and the copy engine see what a thread wrote when it has fenced it.
#define hone_fence_writes() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
HONE_FN void hone_mbarrier_wait(long long *barrier, int parity) {
    unsigned done;
    do
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(hone_address(barrier)), "r"(parity)
                     : "memory");
    while (!done);
}
// In another block of the cluster. Without .release: what the arrival is about has been read, and a
// fence of the whole device would cost a fifth of a product's speed.
HONE_FN void hone_mbarrier_arrive_at(long long *barrier, int block) {
    asm volatile("{\n.reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(hone_address(barrier)),
                 "r"(block)
                 : "memory");
}
#define HONE_BULK_COPY(rank, parameters, list, ...)                                           \
    HONE_FN void hone_bulk_copy##rank(void *to, const struct hone_tensormap *map,             \
                                      long long *barrier, HONE_ARGUMENTS parameters) {        \
        asm volatile("cp.async.bulk.tensor." #rank                                            \
                     "d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, " list \
                     "], [%2];" ::"r"(hone_address(to)),                                      \
                     "l"(map), "r"(hone_address(barrier)), __VA_ARGS__                        \
                     : "memory");                                                             \
    }
#define HONE_ARGUMENTS(...) __VA_ARGS__
HONE_BULK_COPY(2, (int x, int y), "{%3, %4}", "r"(x), "r"(y))
HONE_BULK_COPY(3, (int x, int y, int z), "{%3, %4, %5}", "r"(x), "r"(y), "r"(z))
HONE_BULK_COPY(4, (int x, int y, int z, int u), "{%3, %4, %5, %6}", "r"(x), "r"(y), "r"(z), "r"(u))
HONE_BULK_COPY(5, (int x, int y, int z, int u, int v), "{%3, %4, %5, %6, %7}", "r"(x), "r"(y),
               "r"(z), "r"(u), "r"(v))
#undef HONE_BULK_COPY
#define HONE_BULK_SHARE(rank, parameters, list, mask, ...)                                        \
    HONE_FN void hone_bulk_share##rank(void *to, const struct hone_tensormap *map,                \
                                       long long *barrier, HONE_ARGUMENTS parameters,             \
                                       int blocks) {                                              \
        asm volatile(                                                                             \
            "cp.async.bulk.tensor." #rank "d.shared::cluster.global.mbarrier::complete_tx::bytes" \
            ".multicast::cluster [%0], [%1, " list "], [%2], " mask ";" ::"r"(hone_address(to)),  \
            "l"(map), "r"(hone_address(barrier)), __VA_ARGS__, "h"((short)blocks)                 \
            : "memory");                                                                          \
    }
HONE_BULK_SHARE(2, (int x, int y), "{%3, %4}", "%5", "r"(x), "r"(y))
HONE_BULK_SHARE(3, (int x, int y, int z), "{%3, %4, %5}", "%6", "r"(x), "r"(y), "r"(z))
#undef HONE_BULK_SHARE
// The copy engine does not see what threads wrote before each of them has fenced it.
#define HONE_BULK_STORE(rank, parameters, list, ...)                                       \
    HONE_FN void hone_bulk_store##rank(const void *from, const struct hone_tensormap *map, \
                                       HONE_ARGUMENTS parameters) {                        \
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                       \
        __syncwarp();                                                                      \
        if (threadIdx.x % 32 == 0) {                                                       \
            asm volatile("cp.async.bulk.tensor." #rank                                     \
                         "d.global.shared::cta.bulk_group [%1, " list                      \
                         "], [%0];" ::"r"(hone_address(from)),                             \
                         "l"(map), __VA_ARGS__                                             \
                         : "memory");                                                      \
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");                      \
        }                                                                                  \
    }
HONE_BULK_STORE(2, (int x, int y), "{%2, %3}", "r"(x), "r"(y))
HONE_BULK_STORE(3, (int x, int y, int z), "{%2, %3, %4}", "r"(x), "r"(y), "r"(z))
HONE_BULK_STORE(4, (int x, int y, int z, int u), "{%2, %3, %4, %5}", "r"(x), "r"(y), "r"(z), "r"(u))
#undef HONE_BULK_STORE
#undef HONE_ARGUMENTS
#define hone_bulk_stored(boxes)                                                        \
    do {                                                                               \
        if (threadIdx.x % 32 == 0)                                                     \
            asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(boxes) : "memory"); \
        __syncwarp();                                                                  \
    } while (0)
#endif
