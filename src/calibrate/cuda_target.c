// Facts of a GPU from the driver (NVML adds the driver's version) as a struct target;
// ceilings_cuda.h declares it.
#include <math.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "calibrate/ceilings_cuda.h"
#include "gpu/cuda.h"
#include "gpu/nvml.h"

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
    target_set_peaks(t, f->major, f->minor);
    target_find_cutlass(t);
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
