// Ceilings of the CPU, through the runner that candidates run in and by the judge's clock:
// what is measured here is what a perfect candidate would be measured at. The kernels are
// in runtime/ceilings.c.
//
// Buffers are of twice the last level cache, in two slots that take turns, so that every
// call finds nothing of its own in the caches. Traffic is timed at three sizes; the slope
// through the fast quartiles is the rate: what a busy machine takes away is not the
// memory's fault, and a reach that is too low helps nobody. Of ordinary and streaming stores the
// better counts. On a GPU eval/ceilings_cuda.c does the same with its own means.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "eval/ceilings_cuda.h"
#include "eval/compile.h"
#include "eval/evaluate.h"
#include "eval/runner_handle.h"

enum {
    REPEATS = 12,
    TRIES = 4,
    SIZES = 3,
    BLOCK = 32768,  // floats of one stream in a block
    ROUNDS = 20000,
    CHAINS = 12,
    LAUNCHES = 200,
    BUFFER_ORDER = 0,
    BUFFER_A,
    BUFFER_B,
};
static const int64_t buffer_max_bytes = (int64_t)256 << 20;
static const int64_t timeout_ns = 5000000000;

// In the order of the enum in runtime/ceilings.c.
enum mode { READ, TRIAD, TRIAD_STREAM, COPY, COPY_STREAM, WRITE, WRITE_STREAM, MULTIPLY_ADD };

struct bench {
    struct arena *a;
    const struct target *t;
    const char *object;
    struct memory_file inputs, outputs;
    struct plan plan;
    struct layout layout;
    struct runner runner;
    int64_t n_blocks;
    int slot;
};

static int ascending(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static bool build_kernels(struct arena *a, const struct target *t, const char **object,
                          struct error *err) {
    static const char *const names[] = {"LANES", "BLOCK", "ROUNDS"};
    int64_t sizes[] = {t->vector_bytes >= 16 ? t->vector_bytes / 4 : 4, BLOCK, ROUNDS};
    struct compile_spec spec = {.source = embedded_text("ceilings.c"),
                                .cc = t->cc,
                                .machine = t->id,
                                .cache = file_cache_dir(a, "objects", err),
                                .dim_names = names,
                                .dim_sizes = sizes,
                                .n_dims = 3};
    struct compile_result c;
    if (!spec.cache || !compile(a, &spec, &c, err))
        return false;
    *object = c.object;
    return c.outcome == COMPILE_OK ||
           error_set(err, ERROR_IO, "our own kernels do not compile: %s", c.message);
}

static struct plan_buffer buffer(const char *name, enum buffer_role role, int64_t bytes) {
    return (struct plan_buffer){.name = name, .role = role, .size_bytes = bytes};
}

static void make_plan(struct bench *b, const char *function) {
    int64_t stream_bytes = b->n_blocks * BLOCK * 4;
    b->plan = (struct plan){.buffers = {buffer("order", BUFFER_INPUT, 64),
                                        buffer("a", BUFFER_INPUT, stream_bytes),
                                        buffer("b", BUFFER_INPUT, stream_bytes),
                                        buffer("c", BUFFER_OUTPUT, stream_bytes),
                                        buffer("sums", BUFFER_OUTPUT, b->n_blocks * 64)},
                            .n_buffers = 5,
                            .steps = {{.kind = STEP_LAUNCH,
                                       .function = function,
                                       .grid = b->n_blocks,
                                       .args = {0, 1, 2, 3, 4},
                                       .n_args = 5}},
                            .n_steps = 1};
}

static bool start(struct bench *b, struct error *err) {
    enum runner_status status;
    struct runner_spec spec = {.plan = &b->plan,
                               .n_slots = SLOTS_MIN,
                               .n_threads = b->t->n_threads,
                               .inputs = &b->inputs,
                               .outputs = &b->outputs,
                               .object = b->object};
    layout_make(&b->layout, &b->plan, SLOTS_MIN);
    if (!memory_file_open(&b->inputs, b->layout.file_bytes[FILE_INPUTS], err) ||
        !memory_file_open(&b->outputs, b->layout.file_bytes[FILE_OUTPUTS], err) ||
        !runner_open(&b->runner, &spec, &status, err))
        return false;
    struct verdict v = {.evidence = ""};
    runner_explain(b->a, &b->runner, status, &v);
    if (v.kind != VERDICT_OK)
        return error_set(err, ERROR_IO, "%s", v.evidence);
    for (int slot = 0; slot < SLOTS_MIN; slot++) {
        runner_poison(&b->runner, FILE_OUTPUTS, slot, 0);
        for (int i = BUFFER_A; i <= BUFFER_B; i++) {
            float *values = (float *)(b->inputs.bytes + layout_offset(&b->layout, i, slot));
            for (int64_t k = 0; k < b->layout.buffers[i].span_bytes / 4; k++)
                values[k] = (float)(k % 251) * 1e-3f;
        }
    }
    return true;
}

static void stop(struct bench *b) {
    runner_close(&b->runner);
    memory_file_close(&b->inputs);
    memory_file_close(&b->outputs);
}

static bool timed(struct bench *b, enum mode mode, int64_t n_blocks, double *seconds,
                  bool *disturbed, struct error *err) {
    b->slot = (b->slot + 1) % SLOTS_MIN;
    float *order = (float *)(b->inputs.bytes + layout_offset(&b->layout, BUFFER_ORDER, b->slot) +
                             layout_lead(&b->layout, BUFFER_ORDER, b->slot));
    order[0] = (float)mode;
    order[1] = (float)n_blocks;
    struct call_result call;
    runner_call(&b->runner, b->slot, timeout_ns, &call);
    *seconds = call.time_s;
    *disturbed = (double)call.delayed_ns * 1e-9 > 0.05 * call.time_s;
    if (call.status == RUNNER_OK)
        return true;
    if (interrupt_seen())
        return error_set(err, ERROR_INTERRUPTED, "interrupted");
    struct verdict v = {.evidence = ""};
    runner_explain(b->a, &b->runner, call.status, &v);
    return error_set(err, ERROR_IO, "%s", v.evidence);
}

// A call during which no thread had to wait for a processor, if there is one to be had.
static bool timed_quietly(struct bench *b, enum mode mode, int64_t n_blocks, double *seconds,
                          struct error *err) {
    for (int i = 0; i < TRIES; i++) {
        bool disturbed;
        if (!timed(b, mode, n_blocks, seconds, &disturbed, err))
            return false;
        if (!disturbed)
            break;
    }
    return true;
}

// The fast quartile of samples, and their relative spread.
static double fast(double *samples, int n, double *spread) {
    qsort(samples, (size_t)n, sizeof *samples, ascending);
    *spread = (samples[n / 2] - samples[n / 8]) / samples[n / 4];
    return samples[n / 4];
}

// seconds = fixed + bytes / rate by least squares. Noise on a busy machine can tilt the line
// into nonsense: then the largest size alone decides.
static double fit_rate(const double *bytes, const double *seconds, double launch_s) {
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < SIZES; i++) {
        sx += bytes[i];
        sy += seconds[i];
        sxx += bytes[i] * bytes[i];
        sxy += bytes[i] * seconds[i];
    }
    double slope = (SIZES * sxy - sx * sy) / (SIZES * sxx - sx * sx);
    double plain = bytes[SIZES - 1] / (seconds[SIZES - 1] - launch_s);
    return slope > 0 && fabs(1 / slope / plain - 1) < 0.25 ? 1 / slope : plain;
}

static const struct row {
    enum mode mode;
    int mix, streams;
    double read_fraction;
} rows[] = {
    {READ, 0, 2, 1},         {TRIAD, 1, 3, 2. / 3},    {TRIAD_STREAM, 1, 3, 2. / 3},
    {COPY, 2, 2, 0.5},       {COPY_STREAM, 2, 2, 0.5}, {WRITE, 3, 1, 0},
    {WRITE_STREAM, 3, 1, 0},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static int64_t blocks_of(const struct bench *b, int size) {
    return b->n_blocks * (size + 2) / (SIZES + 1);
}

// Round after round over everything, so that a busy moment hits all alike.
static bool measure_traffic(struct bench *b, struct ceilings *c, struct error *err) {
    double samples[ROWS][SIZES][REPEATS];
    for (int r = 0; r < REPEATS; r++)
        for (int row = 0; row < ROWS; row++)
            for (int size = 0; size < SIZES; size++)
                if (!timed_quietly(b, rows[row].mode, blocks_of(b, size), &samples[row][size][r],
                                   err))
                    return false;
    for (int row = 0; row < ROWS; row++) {
        struct ceiling_traffic *t = &c->traffic[rows[row].mix];
        double bytes[SIZES], seconds[SIZES], spread;
        for (int size = 0; size < SIZES; size++) {
            bytes[size] = (double)(blocks_of(b, size) * BLOCK * 4 * rows[row].streams);
            seconds[size] = fast(samples[row][size], REPEATS, &spread);
        }
        double rate = fit_rate(bytes, seconds, c->launch_s);
        t->read_fraction = rows[row].read_fraction;
        if (rate > t->bytes_per_s) {
            t->bytes_per_s = rate;
            t->spread = spread;
        }
    }
    return true;
}

static bool measure_arithmetic(struct bench *b, struct ceilings *c, struct error *err) {
    double samples[REPEATS];
    int64_t blocks = 16 * b->t->n_threads;
    if (blocks > b->n_blocks)
        blocks = b->n_blocks;
    int lanes = b->t->vector_bytes >= 16 ? b->t->vector_bytes / 4 : 4;
    for (int i = 0; i < REPEATS; i++)
        if (!timed_quietly(b, MULTIPLY_ADD, blocks, &samples[i], err))
            return false;
    double flops = (double)blocks * ROUNDS * CHAINS * lanes * 2;
    c->f32_flops_per_s = flops / (fast(samples, REPEATS, &c->f32_spread) - c->launch_s);
    return true;
}

static bool measure_launch(struct bench *b, struct ceilings *c, struct error *err) {
    double samples[LAUNCHES];
    b->n_blocks = b->t->n_threads;
    make_plan(b, "nothing");
    b->plan.steps[0].args[0] = 4;
    b->plan.steps[0].n_args = 1;
    bool ok = start(b, err);
    bool ignored;
    for (int i = 0; ok && i < LAUNCHES; i++)
        ok = timed(b, READ, 0, &samples[i], &ignored, err);
    stop(b);
    if (!ok)
        return false;
    qsort(samples, LAUNCHES, sizeof *samples, ascending);
    c->launch_s = samples[LAUNCHES / 2];
    return true;
}

static bool measure_all(struct bench *b, struct ceilings *c,
                        void (*progress)(const char *what, void *ctx), void *ctx,
                        struct error *err) {
    int64_t llc = b->t->llc_bytes > 0 ? b->t->llc_bytes : 32 << 20;
    int64_t bytes = 2 * llc < buffer_max_bytes ? 2 * llc : buffer_max_bytes;
    if (progress)
        progress("the cost of a launch", ctx);
    if (!measure_launch(b, c, err))
        return false;
    b->n_blocks = bytes / (BLOCK * 4);
    make_plan(b, "ceiling");
    if (progress)
        progress("memory traffic", ctx);
    bool ok = start(b, err) && measure_traffic(b, c, err);
    if (ok && progress)
        progress("multiply-adds", ctx);
    ok = ok && measure_arithmetic(b, c, err);
    stop(b);
    return ok;
}

bool calibrate(struct arena *a, struct target *t, void (*progress)(const char *what, void *ctx),
               void *ctx, struct error *err) {
    if (t->is_gpu)
        return cuda_calibrate(a, t, progress, ctx, err);
    struct bench b = {.a = a, .t = t};
    struct ceilings c = {.f64_flops_per_s = NAN, .bf16_flops_per_s = NAN, .tf32_flops_per_s = NAN};
    if (!build_kernels(a, t, &b.object, err) || !measure_all(&b, &c, progress, ctx, err))
        return error_wrap(err, "calibrate %s", t->name);
    c.present = true;
    c.measured_at = clock_timestamp(a);
    c.how = arena_printf(a,
                         "%d sizes x %d calls, fast quartile, cold, %d threads, ordinary and "
                         "streaming stores",
                         SIZES, REPEATS, t->n_threads);
    t->ceilings = c;
    return true;
}
