// Rows of GPU architectures: limits of a block and of an SM, by compute capability.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "model/cutlass_path.h"
#include "model/target.h"

// Limits from the vendor's programming guide, table of compute capabilities; sizes and rates of
// the first card of each: A100, H100 SXM, B200.
static const struct arch {
    const char *name, *device;
    int major;
    int sms;
    int64_t shared_per_block, shared_per_sm;
    int64_t l2_bytes, memory_bytes;
    double clock_hz, bytes_per_s;
} archs[] = {
    {"sm_80", "any sm_80", 8, 108, 163 << 10, 164 << 10, 40 << 20, 40LL << 30, 1.41e9, 1.555e12},
    {"sm_90a", "any sm_90a", 9, 132, 227 << 10, 228 << 10, 50 << 20, 80LL << 30, 1.98e9, 3.35e12},
    {"sm_100a", "any sm_100a", 10, 148, 227 << 10, 228 << 10, 126 << 20, 180LL << 30, 1.965e9,
     8e12},
};

bool target_of_arch(const char *arch, struct target *t) {
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        const struct arch *a = &archs[i];
        if (strcmp(a->name, arch) != 0)
            continue;
        *t = (struct target){.name = a->name, .device = a->device, .isa = a->name, .is_gpu = true};
        t->id = a->name;
        t->sms = a->sms;
        t->shared_per_block = a->shared_per_block;
        t->shared_per_sm = t->l1_bytes = a->shared_per_sm;
        t->registers_per_sm = 65536;
        t->threads_per_sm = 2048;
        t->blocks_per_sm = 32;
        t->l2_bytes = t->llc_bytes = a->l2_bytes;
        t->memory_bytes = a->memory_bytes;
        t->top_clock_hz = a->clock_hz;
        t->top_clock_known = true;
        t->peak_bytes_per_s = a->bytes_per_s;
        target_set_peaks(t, a->major, 0);
        target_find_cutlass(t);
        return true;
    }
    return false;
}

const char *target_kernel_name(const struct target *t) {
    return t->is_gpu ? t->isa : t->name;
}

// "sm_90a" is 90.
static int capability(const struct target *t) {
    const char *digits = t->is_gpu && t->isa ? strchr(t->isa, '_') : NULL;
    return digits ? (int)strtol(digits + 1, NULL, 10) : 0;
}

bool target_has_clusters(const struct target *t) {
    return capability(t) >= 90;
}

void target_find_cutlass(struct target *t) {
    struct cutlass_path c;
    t->cutlass[0] = '\0';
    if (strcmp(t->isa, "sm_90a") == 0 && cutlass_path_find(&c))
        memcpy(t->cutlass, c.version, sizeof t->cutlass);
}

// 1024 threads per block, 255 registers per thread and clusters of 8 are the same on all of them.
const char *target_limits(struct arena *a, const struct target *t) {
    if (!t->is_gpu)
        return arena_printf(a, "vectors of %d bytes, L1 of %lld KiB, L2 of %lld KiB",
                            t->vector_bytes, (long long)t->l1_bytes >> 10,
                            (long long)t->l2_bytes >> 10);
    return arena_printf(a,
                        "1024 threads and %lld KiB of shared memory per block, 255 registers per "
                        "thread, %d registers and %d threads per SM, %s",
                        (long long)t->shared_per_block >> 10, t->registers_per_sm,
                        t->threads_per_sm,
                        target_has_clusters(t) ? "clusters of 8" : "no clusters");
}
