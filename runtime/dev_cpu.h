// The interface of dev.h on a CPU: emitted CUDA compiled as C, run slowly, to find mistakes.
//
// A block is one fibre per thread. A fibre runs until it stops at a barrier, a shuffle or its
// end. Which warp goes on, and in which order its threads do, is drawn from the seed, and so is
// the order of the blocks, so that whatever lacks a barrier computes something else for some
// seeds. Shared memory is NaN when a block begins, and every array of it ends (or, for odd seeds,
// begins) at a page that cannot be touched. Asynchronous copies land as late as they may, when
// their thread waits, or for every fourth seed at once, so that both a missing wait and a
// slot that is filled while it is read show. Operations of a warp (fragments, products) happen when
// all its threads have come. A barrier or shuffle that some threads do not come to, a misaligned
// vector, an access outside shared memory: the process says so and exits with HONE_DEV_FAULT.
// Blocks that can meet (a cluster, or the grid of a cooperative launch) run at the same time;
// others one by one. Of a launch that may begin before those before it have ended, one block (or
// those that meet) goes as far as it can before they begin, and on when they have ended.
//
// For one source that is a program of its own. Needs glibc and gcc 12 or clang; run on x86-64 so
// far.
#pragma once

#include "dev_cpu_fibres.h"

static void *hone_dev_shared(const char *name, size_t bytes) {
    // Which of the blocks that run at the same time it belongs to.
    long block = hone_dev.now->block % (hone_dev.launch->together ? hone_dev.launch->together : 1);
    for (int i = 0; i < hone_dev.n_arrays; i++)
        if (hone_dev.arrays[i].name == name && hone_dev.arrays[i].block == block)
            return hone_dev.arrays[i].data;
    if (hone_dev.n_arrays == HONE_DEV_ARRAYS_MAX)
        hone_dev_fault("has too many arrays in shared memory");
    struct hone_dev_array *a = &hone_dev.arrays[hone_dev.n_arrays++];
    *a = (struct hone_dev_array){name, block, hone_dev_guarded(bytes, 1), bytes};
    hone_dev_poison_shared(a->data, bytes);
    return a->data;
}

// One literal for each declaration, so that its address identifies it.
#define HONE_SHARED_OF(type, name, count)    \
    static const char name##_name[] = #name; \
    type *const name = hone_dev_shared(name##_name, sizeof(type) * (size_t)(count))
#define HONE_DYNAMIC_OF(type, name, offset, count) \
    static const char name##_name[] = #name;       \
    type *const name = hone_dev_dynamic(name##_name, offset, (long)sizeof(type) * (count))
#define HONE_SHARED(name, count) HONE_SHARED_OF(float, name, count)
#define HONE_DYNAMIC(name, offset, count) HONE_DYNAMIC_OF(float, name, 4 * (offset), count)

static __attribute__((unused)) void *hone_dev_dynamic(const char *name, long offset, long bytes) {
    if (offset % 16 != 0 || offset + bytes > hone_dev.launch->shared_bytes)
        hone_dev_fault("%s needs %ld bytes of shared memory, the launch gives %ld", name,
                       offset + bytes, hone_dev.launch->shared_bytes);
    return hone_dev_shared(name, (size_t)bytes);
}

HONE_FN int hone_thread(void) {
    return hone_dev.now->thread;
}
HONE_FN int hone_block(void) {
    return (int)hone_dev.now->block;
}

#define hone_barrier() hone_dev_stop(HONE_DEV_AT_BARRIER, __LINE__)

#define hone_launch_wait()                               \
    do {                                                 \
        if (hone_dev.is_early)                           \
            hone_dev_stop(HONE_DEV_AT_LAUNCH, __LINE__); \
    } while (0)
// When the next launch begins is never said: fibres begin it as early as can be.
#define hone_launch_next() ((void)0)
#define hone_renew(p) ((void)0)

static __attribute__((unused)) void hone_dev_gather(const void *meeting, int blocks, int line) {
    hone_dev.now->meeting = meeting;
    hone_dev.now->n_meet = blocks;
    hone_dev_stop(HONE_DEV_AT_MEETING, line);
}
#define hone_cluster_barrier() hone_dev_gather(NULL, (int)hone_dev.launch->together, __LINE__)
// The scheduler counts by itself; what a device counts in must be zeroed all the same.
#define hone_group_barrier(count, blocks)                            \
    do {                                                             \
        if (*(count) != 0)                                           \
            hone_dev_fault("meets others by a count that is not 0"); \
        hone_dev_gather(count, blocks, __LINE__);                    \
    } while (0)

// Let others go on, now and then: for tests, between statements that no barrier keeps apart.
static __attribute__((unused)) void hone_dev_yield(int line) {
    if (hone_dev_random(4) == 0)
        hone_dev_stop(HONE_DEV_READY, line);
}

static __attribute__((unused)) void hone_dev_exchanged(int source, int line) {
    hone_dev.now->source = source;
    hone_dev.now->together = NULL;
    hone_dev.now->is_group = 0;
    hone_dev_stop(HONE_DEV_AT_SHUFFLE, line);
}
#define HONE_DEV_SHUFFLE(type, t)                                                            \
    static __attribute__((unused)) type hone_dev_shuffle_##t(type v, int source, int line) { \
        hone_dev.now->offered.t = v;                                                         \
        hone_dev_exchanged(source, line);                                                    \
        return hone_dev.now->offered.t;                                                      \
    }
HONE_DEV_SHUFFLE(float, f32)
HONE_DEV_SHUFFLE(double, f64)
HONE_DEV_SHUFFLE(int, i32)
HONE_DEV_SHUFFLE(long long, i64)
#undef HONE_DEV_SHUFFLE
#define HONE_DEV_LANE (hone_dev.now->thread % HONE_DEV_WARP)
#define hone_shuffle_xor(v, mask) hone_dev_shuffle_f32(v, HONE_DEV_LANE ^ (mask), __LINE__)
#define hone_shuffle_xor_f64(v, mask) hone_dev_shuffle_f64(v, HONE_DEV_LANE ^ (mask), __LINE__)
#define hone_shuffle_xor_i32(v, mask) hone_dev_shuffle_i32(v, HONE_DEV_LANE ^ (mask), __LINE__)
#define hone_shuffle_xor_i64(v, mask) hone_dev_shuffle_i64(v, HONE_DEV_LANE ^ (mask), __LINE__)
#define hone_shuffle_down(v, distance)                                                           \
    hone_dev_shuffle_f32(v,                                                                      \
                         HONE_DEV_LANE + (distance) < HONE_DEV_WARP ? HONE_DEV_LANE + (distance) \
                                                                    : HONE_DEV_LANE,             \
                         __LINE__)
#define HONE_DEV_UP(distance) \
    (HONE_DEV_LANE < (distance) ? HONE_DEV_LANE : HONE_DEV_LANE - (distance))
#define hone_shuffle_up(v, distance) hone_dev_shuffle_f32(v, HONE_DEV_UP(distance), __LINE__)
#define hone_shuffle_up_f64(v, distance) hone_dev_shuffle_f64(v, HONE_DEV_UP(distance), __LINE__)
#define hone_shuffle_up_i32(v, distance) hone_dev_shuffle_i32(v, HONE_DEV_UP(distance), __LINE__)
#define hone_shuffle_up_i64(v, distance) hone_dev_shuffle_i64(v, HONE_DEV_UP(distance), __LINE__)
#define hone_shuffle(v, lane) hone_dev_shuffle_f32(v, lane, __LINE__)
#define hone_shuffle_f64(v, lane) hone_dev_shuffle_f64(v, lane, __LINE__)
#define hone_shuffle_i32(v, lane) hone_dev_shuffle_i32(v, lane, __LINE__)
#define hone_shuffle_i64(v, lane) hone_dev_shuffle_i64(v, lane, __LINE__)
HONE_FN int hone_warp_any(int m) {
    for (int mask = 16; mask > 0; mask /= 2)
        m |= hone_shuffle_xor_i32(m, mask);
    return m != 0;
}
HONE_FN int hone_warp_all(int m) {
    return !hone_warp_any(!m);
}

HONE_FN void hone_atomic_add(float *to, float v) {
    *to += v;
}
HONE_FN void hone_shared_add(float *to, const float *v) {
    *to += *v;
}
// Threads wait for those before them: a shuffle is a meeting of the warp.
#define hone_warp_add(to, v, takes_part)                         \
    do {                                                         \
        for (int hone_i = 0; hone_i < HONE_DEV_WARP; hone_i++) { \
            if (hone_i == HONE_DEV_LANE && (takes_part))         \
                *(to) += *(v);                                   \
            (void)hone_shuffle_xor_i32(0, 1);                    \
        }                                                        \
    } while (0)

typedef float f32x2 __attribute__((vector_size(8)));
typedef float f32x4 __attribute__((vector_size(16)));
typedef int i32x2 __attribute__((vector_size(8)));
typedef int i32x4 __attribute__((vector_size(16)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef int i32x8 __attribute__((vector_size(32)));

#define HONE_X(v) (v)[0]
#define HONE_Y(v) (v)[1]
#define HONE_Z(v) (v)[2]
#define HONE_W(v) (v)[3]
#define HONE_LOW(v) __builtin_shufflevector(v, v, 0, 1, 2, 3)
#define HONE_HIGH(v) __builtin_shufflevector(v, v, 4, 5, 6, 7)

HONE_FN f32x2 hone_pack2(float x, float y) {
    return (f32x2){x, y};
}
HONE_FN f32x4 hone_pack4(float x, float y, float z, float w) {
    return (f32x4){x, y, z, w};
}

HONE_FN i32x2 hone_pack_mask2(int x, int y) {
    return (i32x2){x, y};
}
HONE_FN i32x4 hone_pack_mask4(int x, int y, int z, int w) {
    return (i32x4){x, y, z, w};
}
HONE_FN f32x8 hone_pair8(f32x4 low, f32x4 high) {
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}
HONE_FN i32x8 hone_pair_mask8(i32x4 low, i32x4 high) {
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}

HONE_FN i32x2 hone_all_mask2(int m) {
    return (i32x2){0} - (m != 0);
}
HONE_FN i32x4 hone_all_mask4(int m) {
    return (i32x4){0} - (m != 0);
}

static __attribute__((unused)) void hone_dev_aligned(const void *p, size_t bytes) {
    if ((uintptr_t)p % bytes != 0 && !hone_dev.any_alignment)
        hone_dev_fault("reads or writes %zu bytes where only %zu are aligned", bytes,
                       (size_t)((uintptr_t)p & -(uintptr_t)p));
}
#define HONE_DEV_ACCESS(n)                              \
    HONE_FN f32x##n hone_load##n(const float *from) {   \
        f32x##n v;                                      \
        hone_dev_aligned(from, sizeof v);               \
        memcpy(&v, from, sizeof v);                     \
        return v;                                       \
    }                                                   \
    HONE_FN f32x##n hone_once##n(const float *from) {   \
        return hone_load##n(from);                      \
    }                                                   \
    HONE_FN void hone_store##n(float *to, f32x##n v) {  \
        hone_dev_aligned(to, sizeof v);                 \
        memcpy(to, &v, sizeof v);                       \
    }                                                   \
    HONE_FN void hone_stream##n(float *to, f32x##n v) { \
        hone_store##n(to, v);                           \
    }
HONE_DEV_ACCESS(2)
HONE_DEV_ACCESS(4)
#undef HONE_DEV_ACCESS
HONE_FN void hone_store2_i32(int *to, i32x2 v) {
    hone_dev_aligned(to, sizeof v);
    memcpy(to, &v, sizeof v);
}
#define HONE_DEV_WORDS(n)                                            \
    HONE_FN void hone_get_words##n(const void *from, unsigned *w) {  \
        hone_dev_aligned(from, 4 * n);                               \
        memcpy(w, from, 4 * n);                                      \
    }                                                                \
    HONE_FN void hone_put_words##n(void *to, const unsigned *w) {    \
        hone_dev_aligned(to, 4 * n);                                 \
        memcpy(to, w, 4 * n);                                        \
    }                                                                \
    HONE_FN void hone_stream_words##n(void *to, const unsigned *w) { \
        hone_put_words##n(to, w);                                    \
    }
HONE_DEV_WORDS(1)
HONE_DEV_WORDS(2)
HONE_DEV_WORDS(4)
#undef HONE_DEV_WORDS
HONE_FN float hone_once1(const float *from) {
    return *from;
}
HONE_FN void hone_stream1(float *to, float v) {
    *to = v;
}
HONE_FN void hone_prefetch(const void *from) {
    (void)from;
}

static void hone_dev_land(const struct hone_dev_copy *c) {
    memcpy(c->to, c->from, (size_t)c->valid);
    memset((char *)c->to + c->valid, 0, (size_t)(c->bytes - c->valid));
}
static __attribute__((unused)) void hone_dev_copy(void *to, const void *from, int bytes,
                                                  int valid) {
    struct hone_dev_fibre *f = hone_dev.now;
    struct hone_dev_copy c = {to, from, bytes, valid, f->group};
    hone_dev_aligned(to, (size_t)bytes);
    hone_dev_aligned(from, (size_t)bytes);
    if (valid < 0 || valid > bytes)
        hone_dev_fault("copies %d of %d bytes", valid, bytes);
    if (f->n_copies == HONE_DEV_COPIES_MAX)
        hone_dev_fault("has more than %d asynchronous copies under way", HONE_DEV_COPIES_MAX);
    if (hone_dev.copies_at_once)
        hone_dev_land(&c);
    else
        f->copies[f->n_copies++] = c;
}
HONE_FN void hone_async1(float *to, const float *from) {
    hone_dev_copy(to, from, 4, 4);
}
HONE_FN void hone_async4(float *to, const float *from) {
    hone_dev_copy(to, from, 16, 16);
}
HONE_FN void hone_async_copy4(void *to, const void *from, int valid) {
    hone_dev_copy(to, from, 4, valid);
}
HONE_FN void hone_async_copy8(void *to, const void *from, int valid) {
    hone_dev_copy(to, from, 8, valid);
}
HONE_FN void hone_async_copy16(void *to, const void *from, int valid) {
    hone_dev_copy(to, from, 16, valid);
}
HONE_FN void hone_async_commit(void) {
    hone_dev.now->group++;
}
// Copies of groups older than the newest `groups` land now; copies not committed never do.
HONE_FN void hone_async_wait(int groups) {
    struct hone_dev_fibre *f = hone_dev.now;
    int kept = 0;
    for (int i = 0; i < f->n_copies; i++) {
        struct hone_dev_copy *c = &f->copies[i];
        if (c->group < f->group - groups)
            hone_dev_land(c);
        else
            f->copies[kept++] = *c;
    }
    f->n_copies = kept;
}

#include "dev_cpu_mma.h"

#include "dev_cpu_bulk.h"
#include "dev_cpu_wgmma.h"

HONE_FN float hone_max1(float a, float b) {
    return a != a || a > b ? a : b;
}
HONE_FN float hone_min1(float a, float b) {
    return a != a || a < b ? a : b;
}
HONE_FN float hone_rsqrt1(float x) {
    return 1 / sqrtf(x);
}
#define hone_word_f16(x, y) (hone_to_f16(x) | (unsigned)hone_to_f16(y) << 16)
#define hone_word_bf16(x, y) (hone_to_bf16(x) | (unsigned)hone_to_bf16(y) << 16)
