#include <math.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "eval/ceilings_cuda.h"
#include "gpu/cuda.h"
#include "gpu/nvml.h"

// Peaks per multiprocessor and clock, from the vendor's architecture papers: f32 multiply-adds
// count two, TF32 tensor rates are dense. Newer parts than the last row are taken to be at least
// as wide as it, and twice, so that the limit stays a limit.
static const struct sm_peak {
    int major, minor;
    int f32_flops, tf32_flops;
} sm_peaks[] = {
    {8, 0, 128, 1024}, {8, 6, 256, 512},   {8, 7, 256, 1024},  {8, 9, 256, 512},
    {9, 0, 256, 2048}, {10, 0, 256, 4096}, {10, 3, 256, 4096}, {12, 0, 256, 1024},
};
static const struct sm_peak sm_peak_unknown = {0, 0, 512, 8192};

static const struct sm_peak *find_peak(int major, int minor) {
    for (size_t i = 0; i < sizeof sm_peaks / sizeof sm_peaks[0]; i++)
        if (sm_peaks[i].major == major && sm_peaks[i].minor == minor)
            return &sm_peaks[i];
    return &sm_peak_unknown;
}

int cuda_target_count(struct error *why) {
    struct cuda cu;
    int count = 0;
    if (!cuda_open(&cu, why))
        return 0;
    if (!cuda_ok(&cu, cu.device_count(&count), "count the GPUs", why))
        count = 0;
    cuda_close(&cu);
    return count;
}

// The driver's version in words, as far as it can be asked for.
static const char *driver_text(struct arena *a, const struct cuda *cu) {
    struct nvml n;
    struct error ignored = {0};
    char version[96] = "unknown";
    if (nvml_open(&n, &ignored)) {
        n.driver_version(version, sizeof version);
        nvml_close(&n);
    }
    return arena_printf(a, "%s, CUDA %d.%d", version, cu->version / 1000, cu->version % 1000 / 10);
}

static void fill_target(struct arena *a, const struct cuda_facts *f, int ordinal,
                        struct target *t) {
    const struct sm_peak *peak = find_peak(f->major, f->minor);
    double per_flop = f->sms * f->clock_hz;
    double split_tf32 = peak->tf32_flops / 3.0;
    t->name = arena_printf(a, "cuda:%d", ordinal);
    t->device = f->name;
    t->is_gpu = true;
    t->ordinal = ordinal;
    t->isa = f->arch;
    t->sms = f->sms;
    t->shared_per_block = f->shared_per_block;
    t->shared_per_sm = t->l1_bytes = f->shared_per_sm;
    t->registers_per_sm = f->registers_per_sm;
    t->threads_per_sm = f->threads_per_sm;
    t->blocks_per_sm = f->blocks_per_sm;
    t->memory_bytes = f->memory_bytes;
    t->l2_bytes = t->llc_bytes = f->l2_bytes;
    t->top_clock_hz = f->clock_hz;
    t->top_clock_known = true;
    t->peak_bytes_per_s = f->dram_bytes_per_s;
    t->peak_contract_flops_per_s =
        per_flop * (split_tf32 > peak->f32_flops ? split_tf32 : peak->f32_flops);
}

bool cuda_target_read(struct arena *a, int ordinal, struct target *t, struct error *err) {
    struct cuda cu;
    struct cuda_facts facts;
    cuda_device device;
    int count = 0;
    if (!cuda_open(&cu, err))
        return false;
    bool ok = cuda_ok(&cu, cu.device_count(&count), "count the GPUs", err);
    if (ok && ordinal >= count)
        ok = error_set(err, ERROR_UNSUPPORTED, "there is no GPU number %d: the driver sees %d",
                       ordinal, count);
    ok = ok && cuda_ok(&cu, cu.device_get(&device, ordinal), "open the GPU", err) &&
         cuda_read_facts(a, &cu, device, &facts, err);
    if (ok) {
        *t = (struct target){.driver = driver_text(a, &cu)};
        fill_target(a, &facts, ordinal, t);
        t->id = hash_text(a, arena_printf(a, "cuda|%s|%s", facts.uuid, t->driver));
    }
    cuda_close(&cu);
    return ok;
}
