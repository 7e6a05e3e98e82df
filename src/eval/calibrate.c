// Ceilings of the CPU, through the runner that candidates run in and by the judge's clock:
// what is measured here is what a perfect candidate would be measured at. The kernels are
// in runtime/ceilings.c.
//
// Memory: buffers of twice the last level cache, in two slots that take turns, so that every
// call finds nothing of its own in the caches, as candidates do. Each mix is timed at three large
// sizes, whose slope is the rate, and at two small ones in a bench of many slots, which tell the
// fixed cost. Of ordinary and streaming stores the better counts. Caches: every thread reads its
// own half of the level again and again. Arithmetic: chains in every width of vectors, and exp.
// Everywhere the fast quartile counts: what a busy machine takes away is not the memory's fault,
// and a reach that is too low helps nobody. It takes a few seconds, and no more than SECONDS_MAX:
// then what is missing is measured with fewer calls. On a GPU eval/ceilings_cuda.c does the same
// with its own means.
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
    REPEATS_LATE = 3,
    SECONDS_MAX = 30,
    TRIES = 4,
    SIZES = 3,
    SMALL_SIZES = 2,
    SMALL_BLOCKS = 16,
    SMALL_SLOTS = 32,
    BLOCK = 32768,  // floats of one stream in a block
    CHAIN_ROUNDS = 20000,
    FUNCTION_ROUNDS = 32,
    FUNCTIONS = 4096,        // in a round
    CACHE_BYTES = 16 << 20,  // read by one block
    SHARE = 16,              // blocks per thread: a thread that was held up does fewer
    CHAINS = 12,
    LAUNCHES = 200,
    BUFFER_ORDER = 0,
    BUFFER_A,
    BUFFER_B,
};
static const int64_t buffer_max_bytes = (int64_t)256 << 20;
static const int64_t timeout_ns = 5000000000;

// In the order of the enum in runtime/ceilings.c.
enum mode {
    READ,
    TRIAD,
    TRIAD_STREAM,
    COPY,
    COPY_STREAM,
    WRITE,
    WRITE_STREAM,
    CACHE,
    FUNCTION,
    F32X16,
    F64X16 = F32X16 + WIDTHS
};

// What one call shall do; runtime/ceilings.c says what its numbers mean.
struct order {
    enum mode mode;
    int64_t amount, floats;
};

struct bench {
    struct arena *a;
    const struct target *t;
    const char *object;
    struct memory_file inputs, outputs;
    struct plan plan;
    struct layout layout;
    struct runner runner;
    int64_t n_blocks;
    int n_slots, slot;
    int64_t started_ns;
};

static int ascending(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static bool build_kernels(struct arena *a, const struct target *t, const char **object,
                          struct error *err) {
    static const char *const names[] = {"LANES", "BLOCK"};
    int64_t sizes[] = {t->vector_bytes >= 16 ? t->vector_bytes / 4 : 4, BLOCK};
    struct compile_spec spec = {.source = embedded_text("ceilings.c"),
                                .cc = t->cc,
                                .machine = t->id,
                                .cache = file_work_dir(a, "objects", err),
                                .dim_names = names,
                                .dim_sizes = sizes,
                                .n_dims = 2};
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

static void make_plan(struct bench *b, const char *function, int64_t stream_blocks) {
    int64_t stream_bytes = stream_blocks * BLOCK * 4;
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
    if (strcmp(function, "nothing") == 0) {
        b->plan.steps[0].args[0] = 4;
        b->plan.steps[0].n_args = 1;
    }
}

static bool start(struct bench *b, struct error *err) {
    enum runner_status status;
    struct runner_spec spec = {.plan = &b->plan,
                               .n_slots = b->n_slots,
                               .n_threads = b->t->n_threads,
                               .inputs = &b->inputs,
                               .outputs = &b->outputs,
                               .made_fd = -1};
    layout_make(&b->layout, &b->plan, b->n_slots);
    if (!memory_file_open(&b->inputs, b->layout.file_bytes[FILE_INPUTS], err) ||
        !memory_file_open(&b->outputs, b->layout.file_bytes[FILE_OUTPUTS], err) ||
        !runner_begin(&b->runner, &spec, err) || !runner_load(&b->runner, b->object, &status, err))
        return false;
    struct verdict v = {.evidence = ""};
    runner_explain(b->a, &b->runner, status, &v);
    if (v.kind != VERDICT_OK)
        return error_set(err, ERROR_IO, "%s", v.evidence);
    for (int slot = 0; slot < b->n_slots; slot++) {
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

static bool timed(struct bench *b, const struct order *o, double *seconds, bool *disturbed,
                  struct error *err) {
    b->slot = (b->slot + 1) % b->n_slots;
    float *order = (float *)(b->inputs.bytes + layout_offset(&b->layout, BUFFER_ORDER, b->slot) +
                             layout_lead(&b->layout, BUFFER_ORDER, b->slot));
    order[0] = (float)o->mode;
    order[1] = (float)o->amount;
    order[2] = (float)o->floats;
    order[3] = (float)b->t->n_threads;
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

static bool is_late(const struct bench *b) {
    return (double)(clock_now_ns() - b->started_ns) * 1e-9 > SECONDS_MAX;
}

// A call during which no thread had to wait for a processor, if there is one to be had.
static bool timed_quietly(struct bench *b, const struct order *o, double *seconds,
                          struct error *err) {
    for (int i = 0; i < TRIES; i++) {
        bool disturbed;
        if (!timed(b, o, seconds, &disturbed, err))
            return false;
        if (!disturbed || is_late(b))
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
    bool is_streaming;
} rows[] = {
    {READ, 0, 2, 1, false},
    {TRIAD, 1, 3, 2. / 3, false},
    {TRIAD_STREAM, 1, 3, 2. / 3, true},
    {COPY, 2, 2, 0.5, false},
    {COPY_STREAM, 2, 2, 0.5, true},
    {WRITE, 3, 1, 0, false},
    {WRITE_STREAM, 3, 1, 0, true},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static int64_t blocks_of(const struct bench *b, int size) {
    return b->n_blocks * (size + 2) / (SIZES + 1);
}

static double bytes_of(const struct row *row, int64_t blocks) {
    return (double)(blocks * BLOCK * 4 * row->streams);
}

// Round after round over everything, so that a busy moment hits all alike.
static bool measure_traffic(struct bench *b, struct ceilings *c, struct error *err) {
    double samples[ROWS][SIZES][REPEATS];
    int n = 0;
    for (; n < REPEATS && (n < REPEATS_LATE || !is_late(b)); n++)
        for (int row = 0; row < ROWS; row++)
            for (int size = 0; size < SIZES; size++) {
                struct order o = {.mode = rows[row].mode, .amount = blocks_of(b, size)};
                if (!timed_quietly(b, &o, &samples[row][size][n], err))
                    return false;
            }
    for (int row = 0; row < ROWS; row++) {
        struct ceiling_traffic *t = &c->traffic[rows[row].mix];
        double bytes[SIZES], seconds[SIZES], spread;
        for (int size = 0; size < SIZES; size++) {
            bytes[size] = bytes_of(&rows[row], blocks_of(b, size));
            seconds[size] = fast(samples[row][size], n, &spread);
        }
        double rate = fit_rate(bytes, seconds, c->launch_s);
        t->read_fraction = rows[row].read_fraction;
        if (rate > t->bytes_per_s) {
            t->bytes_per_s = rate;
            t->spread = spread;
            t->streams = rows[row].is_streaming;
        }
    }
    return true;
}

// What a small call takes beyond its bytes at the rate of large ones; the least of the ways and
// sizes that were tried, and never less than a launch.
static bool measure_fixed(struct bench *b, struct ceilings *c, struct error *err) {
    double samples[ROWS][SMALL_SIZES][REPEATS], ignored;
    for (int r = 0; r < REPEATS; r++)
        for (int row = 0; row < ROWS; row++)
            for (int size = 0; size < SMALL_SIZES; size++) {
                struct order o = {.mode = rows[row].mode, .amount = SMALL_BLOCKS >> (2 * size)};
                if (!timed_quietly(b, &o, &samples[row][size][r], err))
                    return false;
            }
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        c->traffic[i].fixed_s = INFINITY;
    for (int row = 0; row < ROWS; row++)
        for (int size = 0; size < SMALL_SIZES; size++) {
            struct ceiling_traffic *t = &c->traffic[rows[row].mix];
            double bytes = bytes_of(&rows[row], SMALL_BLOCKS >> (2 * size));
            double seconds = fast(samples[row][size], REPEATS, &ignored);
            t->fixed_s = fmin(t->fixed_s, fmax(c->launch_s, seconds - bytes / t->bytes_per_s));
        }
    return true;
}

// ---- caches and arithmetic

static bool repeat(struct bench *b, const struct order *o, double *seconds, double *spread,
                   struct error *err) {
    double samples[REPEATS];
    int n = 0;
    for (; n < REPEATS && (n < REPEATS_LATE || !is_late(b)); n++)
        if (!timed_quietly(b, o, &samples[n], err))
            return false;
    *seconds = fast(samples, n, spread);
    return true;
}

static bool measure_caches(struct bench *b, struct ceilings *c, struct error *err) {
    const struct target *t = b->t;
    // Half of each level, so that what else lies there need not leave; both slots share the last.
    int64_t each[CACHE_LEVELS] = {t->l1_bytes / 2, t->l2_bytes / 2,
                                  t->llc_bytes / 4 / t->n_threads};
    for (int i = 0; i < CACHE_LEVELS; i++) {
        double seconds, spread;
        int64_t floats = each[i] / 4 / 256 * 256;
        if (floats < 256 || (i > 0 && each[i] <= each[i - 1]))
            continue;
        int64_t rounds = CACHE_BYTES / (floats * 4) + 1;
        struct order o = {.mode = CACHE, .amount = rounds, .floats = floats};
        if (!repeat(b, &o, &seconds, &spread, err))
            return false;
        c->cache[i].bytes = floats * 4 * t->n_threads;
        c->cache[i].bytes_per_s =
            (double)(rounds * SHARE * c->cache[i].bytes) / (seconds - c->launch_s);
    }
    return true;
}

// Chains of one width and type; gives operations per second.
static bool measure_chains(struct bench *b, const struct order *o, double *flops_per_s,
                           double *spread, struct error *err) {
    bool is_f64 = o->mode >= F64X16;
    int bytes = 16 << (o->mode - (is_f64 ? F64X16 : F32X16));
    double seconds;
    if (!repeat(b, o, &seconds, spread, err))
        return false;
    double lanes = (double)bytes / (is_f64 ? 8 : 4);
    *flops_per_s = 2. * CHAINS * CHAIN_ROUNDS * lanes * (double)b->n_blocks / seconds;
    return true;
}

static bool measure_arithmetic(struct bench *b, struct ceilings *c, struct error *err) {
    for (int i = 0; i < WIDTHS && 16 << i <= b->t->vector_bytes; i++) {
        struct ceiling_width *w = &c->width[i];
        double spread, ignored;
        struct order f32 = {.mode = (enum mode)(F32X16 + i), .amount = CHAIN_ROUNDS};
        struct order f64 = {.mode = (enum mode)(F64X16 + i), .amount = CHAIN_ROUNDS};
        if (!measure_chains(b, &f32, &w->f32_flops_per_s, &spread, err) ||
            !measure_chains(b, &f64, &w->f64_flops_per_s, &ignored, err))
            return false;
        w->vector_bytes = 16 << i;
        if (w->f32_flops_per_s > c->f32_flops_per_s) {
            c->f32_flops_per_s = w->f32_flops_per_s;
            c->f32_spread = spread;
        }
        c->f64_flops_per_s = fmax(c->f64_flops_per_s, w->f64_flops_per_s);
    }
    double seconds, ignored;
    struct order o = {.mode = FUNCTION, .amount = FUNCTION_ROUNDS};
    if (!repeat(b, &o, &seconds, &ignored, err))
        return false;
    c->functions_per_s =
        (double)FUNCTION_ROUNDS * FUNCTIONS * (double)b->n_blocks / (seconds - c->launch_s);
    return true;
}

static bool measure_launch(struct bench *b, struct ceilings *c, struct error *err) {
    double samples[LAUNCHES];
    struct order o = {.mode = READ};
    bool ignored;
    for (int i = 0; i < LAUNCHES; i++)
        if (!timed(b, &o, &samples[i], &ignored, err))
            return false;
    qsort(samples, LAUNCHES, sizeof *samples, ascending);
    c->launch_s = samples[LAUNCHES / 2];
    return true;
}

// ---- the parts, each in a runner with buffers of its own

struct part {
    const char *words, *function;
    int64_t n_blocks;
    int64_t stream_blocks;  // of every stream; more than are run where a block reads far
    int n_slots;
    bool (*measure)(struct bench *b, struct ceilings *c, struct error *err);
};

static bool run_part(struct bench *b, const struct part *part, struct ceilings *c,
                     struct error *err) {
    b->n_blocks = part->n_blocks;
    b->n_slots = part->n_slots;
    b->slot = 0;
    make_plan(b, part->function, part->stream_blocks);
    bool ok = start(b, err) && part->measure(b, c, err);
    stop(b);
    return ok;
}

static bool measure_all(struct bench *b, struct ceilings *c,
                        void (*progress)(const char *what, void *ctx), void *ctx,
                        struct error *err) {
    int64_t llc = b->t->llc_bytes > 0 ? b->t->llc_bytes : 32 << 20, threads = b->t->n_threads;
    int64_t bytes = 2 * llc < buffer_max_bytes ? 2 * llc : buffer_max_bytes;
    int64_t large = bytes / (BLOCK * 4), in_cache = llc / 2 / (BLOCK * 4) + threads + 1;
    const struct part parts[] = {
        {"the cost of a launch", "nothing", threads, threads, SLOTS_MIN, measure_launch},
        {"memory traffic", "ceiling", large, large, SLOTS_MIN, measure_traffic},
        {"small calls", "ceiling", SMALL_BLOCKS, SMALL_BLOCKS, SMALL_SLOTS, measure_fixed},
        {"caches", "ceiling", SHARE * threads, in_cache, SLOTS_MIN, measure_caches},
        {"arithmetic", "ceiling", SHARE * threads, 1, SLOTS_MIN, measure_arithmetic},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (progress)
            progress(parts[i].words, ctx);
        if (!run_part(b, &parts[i], c, err))
            return false;
    }
    return true;
}

bool calibrate(struct arena *a, struct target *t, void (*progress)(const char *what, void *ctx),
               void *ctx, struct error *err) {
    if (t->is_gpu)
        return cuda_calibrate(a, t, progress, ctx, err);
    struct bench b = {.a = a, .t = t, .started_ns = clock_now_ns()};
    struct ceilings c = {.bf16_flops_per_s = NAN,
                         .tf32_flops_per_s = NAN,
                         .f8_flops_per_s = NAN,
                         .i8_flops_per_s = NAN};
    if (!build_kernels(a, t, &b.object, err) || !measure_all(&b, &c, progress, ctx, err))
        return error_wrap(err, "calibrate %s", t->name);
    c.present = true;
    c.seconds = (double)(clock_now_ns() - b.started_ns) * 1e-9;
    c.measured_at = clock_timestamp(a);
    c.how = arena_printf(a,
                         "%d sizes x %d calls, fast quartile, cold, %d threads, ordinary and "
                         "streaming stores",
                         SIZES, REPEATS, t->n_threads);
    t->ceilings = c;
    return true;
}
