#include <string.h>

#include "model/target.h"

// Limits from the vendor's programming guide, table of compute capabilities; sizes and rates of
// the first card of each: A100, H100 SXM, B200.
static const struct arch {
    const char *name, *device;
    int sms;
    int64_t shared_per_block, shared_per_sm;
    int64_t l2_bytes, memory_bytes;
    double clock_hz, bytes_per_s;
} archs[] = {
    {"sm_80", "any sm_80", 108, 163 << 10, 164 << 10, 40 << 20, 40LL << 30, 1.41e9, 1.555e12},
    {"sm_90a", "any sm_90a", 132, 227 << 10, 228 << 10, 50 << 20, 80LL << 30, 1.98e9, 3.35e12},
    {"sm_100a", "any sm_100a", 148, 227 << 10, 228 << 10, 126 << 20, 180LL << 30, 1.965e9, 8e12},
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
        t->peak_contract_flops_per_s = 256.0 * a->sms * a->clock_hz;
        return true;
    }
    return false;
}

const char *target_kernel_name(const struct target *t) {
    return t->is_gpu ? t->isa : t->name;
}
