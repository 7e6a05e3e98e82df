// Ceilings of a GPU. Traffic: each mix at several sizes, cold, and a straight line through the
// medians of the larger ones: fixed cost + bytes / rate. All medians are kept next to it, and what
// a kernel takes that does nothing. Cold means that a buffer of several times the L2 was *read*
// before each sample, which leaves no dirty lines for the sample to write back. Arithmetic: long
// chains on every multiprocessor, the best of a few launch shapes.
#include "calibrate/ceilings_cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/embedded.h"
#include "base/error.h"
#include "gpu/cuda.h"
#include "gpu/nvrtc.h"

enum {
    REPEATS = 11,
    SIZES = POINTS_MAX,
    SMALL_SIZES = 4,
    FLUSH_TIMES_L2 = 3,
    THREADS = 512,
    TILE = 4,  // elements of a thread; also in runtime/ceilings.cu
    WGMMA_THREADS = 256,
    WGMMA_SHARED = 2 * (64 + 128) * 128,
};

// Bytes that one sample moves in all; the line goes through those after the small ones.
static const int64_t sizes[SIZES] = {4 << 10,  256 << 10, 2 << 20,   16 << 20, 32 << 20,
                                     64 << 20, 128 << 20, 256 << 20, 512 << 20};

struct bench {
    struct cuda cu;
    cuda_device device;
    cuda_context context;
    cuda_module module;
    cuda_event start, end;
    cuda_pointer a, b, c, flush;
    int sms;
    int64_t flush_bytes;
    bool has_wgmma, has_f8;
};

struct launch {
    const char *kernel;
    unsigned grid, block, shared;
    cuda_pointer a, b, c;  // traffic kernels
    uint64_t n;
    bool is_traffic;
};

static int compare(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, compare);
    return values[n / 2];
}

static bool start_launch(struct bench *b, const struct launch *l, struct error *err) {
    cuda_function f;
    if (!cuda_ok(&b->cu, b->cu.module_function(&f, b->module, l->kernel), l->kernel, err))
        return false;
    if (l->shared > 48 << 10 &&
        !cuda_ok(&b->cu, b->cu.function_set(f, CUDA_FUNCTION_MAX_DYNAMIC_SHARED, (int)l->shared),
                 "ask for shared memory", err))
        return false;
    cuda_pointer pa = l->a, pb = l->b, pc = l->c;
    uint64_t n = l->n;
    void *traffic[] = {&pa, &pb, &pc, &n}, *chains[] = {&pc, &n};
    return cuda_ok(&b->cu,
                   b->cu.launch(f, l->grid, 1, 1, l->block, 1, 1, l->shared, NULL,
                                l->is_traffic ? traffic : chains, NULL),
                   l->kernel, err);
}

// Seconds between two events around one launch, after reading the flush buffer if asked.
static bool time_launch(struct bench *b, const struct launch *l, bool is_cold, double *seconds,
                        struct error *err) {
    float ms = 0;
    struct launch flush = {.kernel = "traffic_read",
                           .grid = (unsigned)b->sms * 4,
                           .block = THREADS,
                           .a = b->flush,
                           .b = b->flush,
                           .c = b->flush,
                           .n = (uint64_t)b->flush_bytes / 16,
                           .is_traffic = true};
    if ((is_cold && !start_launch(b, &flush, err)) ||
        !cuda_ok(&b->cu, b->cu.event_record(b->start, NULL), "record an event", err) ||
        !start_launch(b, l, err) ||
        !cuda_ok(&b->cu, b->cu.event_record(b->end, NULL), "record an event", err) ||
        !cuda_ok(&b->cu, b->cu.event_synchronize(b->end), l->kernel, err) ||
        !cuda_ok(&b->cu, b->cu.event_elapsed(&ms, b->start, b->end), "read an event", err))
        return false;
    *seconds = ms * 1e-3;
    return true;
}

static bool time_median(struct bench *b, const struct launch *l, bool is_cold, double *seconds,
                        double *spread, struct error *err) {
    double samples[REPEATS], ignored;
    for (int i = 0; i < 2; i++)  // warm-up: module load, clocks
        if (!time_launch(b, l, is_cold, &ignored, err))
            return false;
    for (int i = 0; i < REPEATS; i++)
        if (!time_launch(b, l, is_cold, &samples[i], err))
            return false;
    *seconds = median(samples, REPEATS);
    *spread = (samples[REPEATS * 3 / 4] - samples[REPEATS / 4]) / *seconds;
    return true;
}

// Least squares of seconds = fixed + bytes / rate, each point weighted so that relative errors
// count.
static void fit_line(const double *bytes, const double *seconds, int n, double *fixed,
                     double *rate) {
    double sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < n; i++) {
        double w = 1 / (seconds[i] * seconds[i]);
        sw += w;
        sx += w * bytes[i];
        sy += w * seconds[i];
        sxx += w * bytes[i] * bytes[i];
        sxy += w * bytes[i] * seconds[i];
    }
    double slope = (sw * sxy - sx * sy) / (sw * sxx - sx * sx);
    *fixed = (sy - slope * sx) / sw;
    *rate = 1 / slope;
}

struct mix {
    const char *kernel;
    double read_fraction;
    int streams;        // buffers that it moves
    const char *tiles;  // the same, a block at a stretch
};

static const struct mix mixes[TRAFFIC_MIXES] = {
    {"traffic_read", 1, 1, "tiles_read"},
    {"traffic_triad", 2. / 3, 3, "tiles_triad"},
    {"traffic_copy", 0.5, 2, "tiles_copy"},
    {"traffic_write", 0, 1, "tiles_write"},
};

// The best of three launch shapes: as many blocks as fit; one per few elements, all of them side
// by side; or each with a stretch of its own, as kernels that take a row have it.
static bool time_traffic(struct bench *b, const struct mix *m, int64_t total, double *seconds,
                         double *spread, struct error *err) {
    uint64_t n = (uint64_t)(total / m->streams / 16), tile = THREADS * TILE;
    const struct {
        const char *kernel;
        uint64_t grid;
    } shapes[] = {{m->kernel, (uint64_t)b->sms * 4},
                  {m->kernel, n / tile + 1},
                  {m->tiles, (n + tile - 1) / tile}};
    *seconds = INFINITY;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct launch l = {.kernel = shapes[i].kernel,
                           .grid = (unsigned)shapes[i].grid,
                           .block = THREADS,
                           .a = b->a,
                           .b = b->b,
                           .c = b->c,
                           .n = n,
                           .is_traffic = true};
        double s, r;
        if (!time_median(b, &l, true, &s, &r, err))
            return false;
        if (s < *seconds) {
            *seconds = s;
            *spread = r;
        }
    }
    return true;
}

static double moved_bytes(const struct mix *m, int64_t total) {
    return (double)(total / m->streams / 16 * 16 * m->streams);
}

static bool measure_mix(struct bench *b, const struct mix *m, struct ceiling_traffic *t,
                        struct error *err) {
    double bytes[SIZES], seconds[SIZES];
    *t = (struct ceiling_traffic){.read_fraction = m->read_fraction};
    for (int i = 0; i < SIZES; i++) {
        bytes[i] = moved_bytes(m, sizes[i]);
        if (!time_traffic(b, m, sizes[i], &seconds[i], &t->spread, err))
            return false;
    }
    fit_line(bytes + SMALL_SIZES, seconds + SMALL_SIZES, SIZES - SMALL_SIZES, &t->fixed_s,
             &t->bytes_per_s);
    t->fixed_s = fmax(t->fixed_s, 0);
    // More bytes never take less time.
    for (int i = SIZES - 2; i >= 0; i--)
        seconds[i] = fmin(seconds[i], seconds[i + 1]);
    for (int i = 0; i < SIZES; i++)
        t->point[i] = (struct ceiling_point){bytes[i], seconds[i]};
    return true;
}

static bool measure_traffic(struct bench *b, struct ceilings *c, struct error *err) {
    bool ok = true;
    for (int i = 0; ok && i < TRAFFIC_MIXES; i++)
        ok = measure_mix(b, &mixes[i], &c->traffic[i], err);
    return ok;
}

// The least that a call can take: a kernel that does nothing, cold as the others.
static bool measure_launch(struct bench *b, struct ceilings *c, struct error *err) {
    struct launch l = {.kernel = "empty", .grid = 1, .block = 32};
    double spread;
    if (!time_median(b, &l, true, &c->launch_s, &spread, err))
        return false;
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        c->launch_s = fmin(c->launch_s, c->traffic[i].point[0].seconds);
    return true;
}

// flops per thread (chains) or per warp or warp group and step, for a kernel's rate.
struct chain {
    const char *kernel;
    double flops_per_block_step;
    unsigned block, shared;
    uint64_t steps;
    bool needs_wgmma;
};

static bool measure_chain(struct bench *b, const struct chain *ch, double *flops_per_s,
                          double *spread, struct error *err) {
    static const unsigned blocks_per_sm[] = {1, 2, 4};
    *flops_per_s = 0;
    for (int i = 0; i < 3; i++) {
        struct launch l = {.kernel = ch->kernel,
                           .grid = (unsigned)b->sms * blocks_per_sm[i],
                           .block = ch->block,
                           .shared = ch->shared,
                           .c = b->c,
                           .n = ch->steps};
        double s, r;
        if (!time_median(b, &l, false, &s, &r, err))
            return false;
        double rate = ch->flops_per_block_step * (double)ch->steps * l.grid / s;
        if (rate > *flops_per_s) {
            *flops_per_s = rate;
            *spread = r;
        }
    }
    return true;
}

static const struct chain chain_f32 = {"fma_f32", 2. * 8 * THREADS, THREADS, 0, 8192, false};
static const struct chain chain_f64 = {"fma_f64", 2. * 8 * THREADS, THREADS, 0, 4096, false};
static const struct chain chains_bf16[] = {
    {"mma_bf16", 4096. * 8 * THREADS / 32, THREADS, 0, 2048, false},
    {"wgmma_bf16", 2. * 64 * 128 * 16 * 4 * WGMMA_THREADS / 128, WGMMA_THREADS, WGMMA_SHARED, 2048,
     true},
};
static const struct chain chains_f8[] = {
    {"mma_f8", 8192. * 8 * THREADS / 32, THREADS, 0, 2048, false},
    {"wgmma_f8", 2. * 64 * 128 * 32 * 4 * WGMMA_THREADS / 128, WGMMA_THREADS, WGMMA_SHARED, 2048,
     true},
};
static const struct chain chains_i8[] = {
    {"mma_i8", 8192. * 8 * THREADS / 32, THREADS, 0, 2048, false},
    {"wgmma_i8", 2. * 64 * 128 * 32 * 4 * WGMMA_THREADS / 128, WGMMA_THREADS, WGMMA_SHARED, 2048,
     true},
};
// One function per chain and step.
static const struct chain chain_function = {"function_f32", 8. * THREADS, THREADS, 0, 2048, false};
static const struct chain chains_tf32[] = {
    {"mma_tf32", 2048. * 8 * THREADS / 32, THREADS, 0, 2048, false},
    {"wgmma_tf32", 2. * 64 * 128 * 8 * 4 * WGMMA_THREADS / 128, WGMMA_THREADS, WGMMA_SHARED, 2048,
     true},
};

static bool measure_tensor(struct bench *b, const struct chain chains[2], double *best,
                           struct error *err) {
    *best = 0;
    for (int i = 0; i < 2; i++) {
        double rate, spread;
        if (chains[i].needs_wgmma && !b->has_wgmma)
            continue;
        if (!measure_chain(b, &chains[i], &rate, &spread, err))
            return false;
        *best = rate > *best ? rate : *best;
    }
    return true;
}

static bool build(struct arena *a, struct bench *b, const char *arch, struct error *err) {
    struct nvrtc n;
    struct nvrtc_result r;
    static const char *const options[] = {"-DHONE_WGMMA"};
    b->has_wgmma = strcmp(arch, "sm_90a") == 0;
    b->has_f8 = strtol(arch + strlen("sm_"), NULL, 10) >= 89;
    struct nvrtc_job job = {.source = embedded_text("ceilings.cu"),
                            .name = "ceilings.cu",
                            .arch = arch,
                            .options = options,
                            .n_options = b->has_wgmma};
    if (!nvrtc_open(&n, err))
        return false;
    bool ok = nvrtc_compile(a, &n, &job, &r, err);
    nvrtc_close(&n);
    if (ok && !r.compiled)
        return error_set(err, ERROR_IO, "the micro-kernels do not compile for %s: %s", arch, r.log);
    return ok &&
           cuda_ok(&b->cu, b->cu.module_load(&b->module, r.cubin), "load the micro-kernels", err);
}

static bool allocate(struct bench *b, int64_t l2_bytes, struct error *err) {
    size_t bytes = (size_t)sizes[SIZES - 1];
    b->flush_bytes = FLUSH_TIMES_L2 * l2_bytes / 16 * 16;
    if (!cuda_ok(&b->cu, b->cu.allocate(&b->a, bytes), "allocate on the GPU", err) ||
        !cuda_ok(&b->cu, b->cu.allocate(&b->b, bytes), "allocate on the GPU", err) ||
        !cuda_ok(&b->cu, b->cu.allocate(&b->c, bytes), "allocate on the GPU", err) ||
        !cuda_ok(&b->cu, b->cu.allocate(&b->flush, (size_t)b->flush_bytes), "allocate on the GPU",
                 err))
        return false;
    cuda_pointer all[] = {b->a, b->b, b->c, b->flush};
    for (int i = 0; i < 4; i++) {
        struct launch fill = {.kernel = "traffic_fill",
                              .grid = (unsigned)b->sms * 4,
                              .block = THREADS,
                              .c = all[i],
                              .n = (i < 3 ? bytes : (size_t)b->flush_bytes) / 16,
                              .is_traffic = true};
        if (!start_launch(b, &fill, err))
            return false;
    }
    return cuda_ok(&b->cu, b->cu.context_synchronize(), "fill the buffers", err);
}

static bool open_bench(struct arena *a, struct bench *b, const struct target *t,
                       struct error *err) {
    *b = (struct bench){.sms = t->sms, .device = -1};
    return cuda_open(&b->cu, err) &&
           cuda_ok(&b->cu, b->cu.device_get(&b->device, t->ordinal), "open the GPU", err) &&
           cuda_ok(&b->cu, b->cu.context_retain(&b->context, b->device), "make a context", err) &&
           cuda_ok(&b->cu, b->cu.context_set(b->context), "use the context", err) &&
           cuda_ok(&b->cu, b->cu.event_create(&b->start, 0), "make an event", err) &&
           cuda_ok(&b->cu, b->cu.event_create(&b->end, 0), "make an event", err) &&
           build(a, b, t->isa, err) && allocate(b, t->l2_bytes, err);
}

// Releasing the context frees everything that was made in it.
static void close_bench(struct bench *b) {
    if (b->context)
        b->cu.context_release(b->device);
    if (b->cu.handle)
        cuda_close(&b->cu);
}

static void tell(void (*progress)(const char *, void *), void *ctx, const char *what) {
    if (progress)
        progress(what, ctx);
}

bool cuda_calibrate(struct arena *a, struct target *t,
                    void (*progress)(const char *what, void *ctx), void *ctx, struct error *err) {
    struct bench b;
    struct ceilings c = {.present = true, .is_steady = true, .f8_flops_per_s = NAN};
    double ignored;
    int64_t start_ns = clock_now_ns();
    tell(progress, ctx, "building the micro-kernels");
    bool ok = open_bench(a, &b, t, err);
    if (ok)
        tell(progress, ctx, "memory traffic");
    ok = ok && measure_traffic(&b, &c, err) && measure_launch(&b, &c, err);
    if (ok)
        tell(progress, ctx, "arithmetic");
    ok = ok && measure_chain(&b, &chain_f32, &c.f32_flops_per_s, &c.f32_spread, err) &&
         measure_chain(&b, &chain_f64, &c.f64_flops_per_s, &ignored, err) &&
         measure_tensor(&b, chains_bf16, &c.bf16_flops_per_s, err) &&
         measure_tensor(&b, chains_tf32, &c.tf32_flops_per_s, err) &&
         measure_tensor(&b, chains_i8, &c.i8_flops_per_s, err) &&
         (!b.has_f8 || measure_tensor(&b, chains_f8, &c.f8_flops_per_s, err)) &&
         measure_chain(&b, &chain_function, &c.functions_per_s, &ignored, err);
    close_bench(&b);
    if (!ok)
        return error_wrap(err, "calibrate %s", t->device);
    c.seconds = (double)(clock_now_ns() - start_ns) * 1e-9;
    c.measured_at = clock_timestamp(a);
    c.how = arena_printf(a, "%d sizes x %d repeats by events, cold by a reading flush of %lld MiB",
                         SIZES, REPEATS, (long long)FLUSH_TIMES_L2 * t->l2_bytes >> 20);
    t->ceilings = c;
    return true;
}
