// Cards as their vendor describes them, and what a multiprocessor of each architecture does per
// clock. Rates are dense ones: where a data sheet counts sparsity, half of what it says. Matrix
// units are taken with sums in f32. What the source does not say is 0, which reads as absent.
#include <string.h>

#include "model/sheet.h"
#include "model/target.h"

// clang-format off
static const struct card {
    const char *name, *device, *driver_name, *arch;  // driver_name: as the driver calls it
    int sms;
    double clock_ghz, memory_gb, gb_per_s, l2_mib;
    double f64_vector, f64, f32, tf32, f16, f8, i8;  // tera-operations per second
    const char *source;
} cards[] = {
    {"v100", "NVIDIA V100 SXM2 32 GB", "Tesla V100-SXM2-32GB", "sm_70", 80, 1.53, 32, 900, 6,
     7.8, 7.8, 15.7, 0, 125, 0, 0, "NVIDIA V100 data sheet and Volta architecture white paper"},
    {"t4", "NVIDIA T4", "Tesla T4", "sm_75", 40, 1.59, 16, 320, 4,
     0, 0, 8.1, 0, 65, 0, 130, "NVIDIA T4 data sheet and Turing architecture white paper"},
    {"a100-40gb", "NVIDIA A100 SXM4 40 GB", "NVIDIA A100-SXM4-40GB", "sm_80", 108, 1.41, 40, 1555, 40,
     9.7, 19.5, 19.5, 156, 312, 0, 624, "NVIDIA A100 architecture white paper"},
    {"a100", "NVIDIA A100 SXM4 80 GB", "NVIDIA A100-SXM4-80GB", "sm_80", 108, 1.41, 80, 2039, 40,
     9.7, 19.5, 19.5, 156, 312, 0, 624, "NVIDIA A100 data sheet"},
    {"a100-pcie", "NVIDIA A100 PCIe 80 GB", "NVIDIA A100 80GB PCIe", "sm_80", 108, 1.41, 80, 1935, 40,
     9.7, 19.5, 19.5, 156, 312, 0, 624, "NVIDIA A100 data sheet"},
    {"a10", "NVIDIA A10", "NVIDIA A10", "sm_86", 72, 1.695, 24, 600, 6,
     0, 0, 31.2, 62.5, 125, 0, 250, "NVIDIA A10 data sheet and GA102 architecture white paper"},
    {"rtx3090", "NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 3090", "sm_86", 82, 1.695, 24, 936, 6,
     0.56, 0.56, 35.6, 35.6, 71, 0, 284, "NVIDIA GA102 architecture white paper"},
    {"l4", "NVIDIA L4", "NVIDIA L4", "sm_89", 0, 0, 24, 300, 48,
     0, 0, 30.3, 60, 121, 242.5, 242.5, "NVIDIA L4 data sheet, halved: it counts sparsity; L2 of a whole AD104"},
    {"l40s", "NVIDIA L40S", "NVIDIA L40S", "sm_89", 142, 2.52, 48, 864, 96,
     0, 0, 91.6, 183, 362.05, 733, 733, "NVIDIA L40S data sheet; L2 of a whole AD102"},
    {"rtx4090", "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090", "sm_89", 128, 2.52, 24, 1008, 72,
     1.29, 1.29, 82.6, 82.6, 165.2, 330.3, 660.6, "NVIDIA Ada architecture white paper"},
    {"h100", "NVIDIA H100 SXM5 80 GB", "NVIDIA H100 80GB HBM3", "sm_90a", 132, 1.98, 80, 3350, 50,
     33.5, 66.9, 66.9, 494.7, 989.4, 1978.9, 1978.9, "NVIDIA H100 architecture white paper and data sheet"},
    {"h100-pcie", "NVIDIA H100 PCIe 80 GB", "NVIDIA H100 PCIe", "sm_90a", 114, 1.755, 80, 2000, 50,
     25.6, 51.2, 51.2, 378, 756, 1513, 1513, "NVIDIA H100 architecture white paper"},
    {"h200", "NVIDIA H200 SXM 141 GB", "NVIDIA H200", "sm_90a", 132, 1.98, 141, 4800, 60,
     34, 67, 67, 494.5, 989.5, 1979, 1979, "NVIDIA H200 data sheet, halved where it counts sparsity; L2 by its driver"},
    {"b200", "NVIDIA B200 (HGX)", "NVIDIA B200", "sm_100a", 148, 0, 192, 8000, 126,
     40, 40, 80, 1100, 2250, 4500, 4500, "NVIDIA Blackwell architecture brief; L2 by the Blackwell tuning guide"},
};
// clang-format on
enum { CARDS = sizeof cards / sizeof cards[0] };

const char *const card_names[] = {"v100", "t4",        "a100-40gb", "a100", "a100-pcie",
                                  "a10",  "rtx3090",   "l4",        "l40s", "rtx4090",
                                  "h100", "h100-pcie", "h200",      "b200", NULL};

// Full names of cards that are best known without.
static const char *const aliases[][2] = {
    {"a100-80gb", "a100"}, {"a100-sxm", "a100"}, {"h100-sxm", "h100"}, {"h200-sxm", "h200"}};

static void set_rates(const struct card *c, double per_s[PIPE_COUNT]) {
    const double tera[PIPE_COUNT] = {
        [PIPE_F32] = c->f32, [PIPE_F64] = c->f64, [PIPE_TF32] = c->tf32,
        [PIPE_F16] = c->f16, [PIPE_F8] = c->f8,   [PIPE_I8] = c->i8};
    for (enum pipe p = 0; p < PIPE_COUNT; p++)
        per_s[p] = tera[p] * 1e12;
}

bool target_of_card(const char *name, struct target *t) {
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(aliases[i][0], name) == 0)
            name = aliases[i][1];
    for (int i = 0; i < CARDS; i++) {
        const struct card *c = &cards[i];
        if (strcmp(c->name, name) != 0)
            continue;
        // Blocks, shared memory and registers are the architecture's, where we know it.
        if (!target_of_arch(c->arch, t))
            *t = (struct target){.isa = c->arch, .is_gpu = true};
        t->name = c->name;
        t->device = c->device;
        t->id = c->name;
        t->source = c->source;
        t->sms = c->sms;
        t->memory_bytes = (int64_t)(c->memory_gb * 1e9);
        t->l2_bytes = t->llc_bytes = (int64_t)(c->l2_mib * (1 << 20));
        t->top_clock_hz = c->clock_ghz * 1e9;
        t->top_clock_known = c->clock_ghz > 0;
        t->peak_bytes_per_s = c->gb_per_s * 1e9;
        set_rates(c, t->peak_per_s);
        return true;
    }
    return false;
}

bool target_of_device(const char *device, struct target *t) {
    for (int i = 0; i < CARDS; i++)
        if (strcmp(cards[i].driver_name, device) == 0)
            return target_of_card(cards[i].name, t);
    return false;
}

bool sheet_of_card(const struct target *t, struct sheet *s, const char **source) {
    for (int i = 0; i < CARDS; i++) {
        const struct card *c = &cards[i];
        if (strcmp(c->name, t->name) != 0 && (!t->device || strcmp(c->driver_name, t->device) != 0))
            continue;
        s->bytes_per_s = c->gb_per_s * 1e9;
        s->vector_f64_per_s = c->f64_vector * 1e12;
        set_rates(c, s->per_s);
        *source = c->source;
        return true;
    }
    return false;
}

// Operations per multiprocessor and clock, from the vendor's architecture papers; multiply-adds
// count two, f64 by matrix units where they do it. Newer parts than the last row are taken to be
// twice as wide as it, so that the limit stays a limit.
// clang-format off
static const struct sm_peak {
    int major, minor;
    int f64, f32, tf32, f16, f8, i8;
} sm_peaks[] = {
    {7, 0,  64, 128,    0, 1024,     0,     0},
    {7, 5,   4, 128,    0, 1024,     0,  2048},
    {8, 0, 128, 128, 1024, 2048,     0,  4096},
    {8, 6,   4, 256,  512, 1024,     0,  2048},
    {8, 7,   4, 256, 1024, 2048,     0,  4096},
    {8, 9,   4, 256,  512, 1024,  2048,  2048},
    {9, 0, 256, 256, 2048, 4096,  8192,  8192},
    {10, 0, 256, 256, 4096, 8192, 16384, 16384},
    {10, 3, 256, 256, 4096, 8192, 16384, 16384},
    {12, 0,   4, 256, 1024, 2048,  4096,  4096},
};
// clang-format on
static const struct sm_peak sm_peak_unknown = {0, 0, 512, 512, 8192, 16384, 32768, 32768};

void target_set_peaks(struct target *t, int major, int minor) {
    const struct sm_peak *peak = &sm_peak_unknown;
    for (size_t i = 0; i < sizeof sm_peaks / sizeof sm_peaks[0]; i++)
        if (sm_peaks[i].major == major && sm_peaks[i].minor == minor)
            peak = &sm_peaks[i];
    double per_clock = t->sms * t->top_clock_hz;
    t->peak_per_s[PIPE_F32] = per_clock * peak->f32;
    t->peak_per_s[PIPE_F64] = per_clock * peak->f64;
    t->peak_per_s[PIPE_TF32] = per_clock * peak->tf32;
    t->peak_per_s[PIPE_F16] = per_clock * peak->f16;
    t->peak_per_s[PIPE_F8] = per_clock * peak->f8;
    t->peak_per_s[PIPE_I8] = per_clock * peak->i8;
}
