// Ceilings of the CPU, through the runner that candidates run in and by the judge's clock:
// what is measured here is what a perfect candidate would be measured at. The kernels are
// in runtime/ceilings.c.
//
// Memory: buffers of twice the last level cache, in two slots that take turns, so that every
// call finds nothing of its own in the caches, as candidates do. Each mix is timed at three large
// sizes, whose slope is the rate, and at three small ones in as many slots as a small candidate
// gets, each turned over between two calls as the judge does it: too few to be cold all through.
// The line through the large sizes says too much there, so what small calls take is kept as it was
// measured. Of ordinary and streaming stores the better counts. Caches: every thread reads its own
// half of the level again and again. Arithmetic: chains in every width of vectors, and exp.
// Everywhere the fast quartile counts: what a busy machine takes away is not the memory's fault,
// and a reach that is too low helps nobody. It takes a few seconds, and no more than it is
// given: then what is missing is measured with fewer calls. On a GPU ceilings_cuda.c does the same
// with its own means.
#include "calibrate/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/uncached.h"
#include "build/compile.h"
#include "calibrate/ceilings_cuda.h"
#include "calibrate/cpu_costs.h"
#include "eval/runner_handle.h"

enum {
    REPEATS = 12,
    REPEATS_LATE = 3,
    TRIES = 4,
    SIZES = 3,
    SMALL_SIZES = 3,
    SMALL_PARTS = 2,  // per thread
    SMALL_STEP = 4,   // from one small size to the next
    BLOCK = 32768,    // floats of one stream in a block
    LINE_BYTES = 64,
    BLOCK_LEAST = 64,  // floats: four of the widest vectors
    CHAIN_ROUNDS = 20000,
    FUNCTION_ROUNDS = 32,
    FUNCTIONS = 4096,        // in a round
    CACHE_BYTES = 16 << 20,  // read by one block
    SHARE = 16,              // blocks per thread: a thread that was held up does fewer
    CHAINS = 12,
    LAUNCHES = 200,
    FAST_SMALL = 8,  // small calls: the fast eighth, since a wake-up takes either long or short
    BUFFER_ORDER = 0,
    BUFFER_A,
    BUFFER_B,
    BUFFER_C,
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
    double most_s;
    unsigned seen;  // of outputs, so that they are looked at
};

static int ascending(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static bool build_kernels(struct arena *a, const struct target *t, const char **object,
                          struct error *err) {
    static const char *const names[] = {"LANES"};
    int64_t sizes[] = {t->vector_bytes >= 16 ? t->vector_bytes / 4 : 4};
    struct compile_spec spec = {.source = embedded_text("ceilings.c"),
                                .cc = t->cc,
                                .machine = t->id,
                                .cache = file_work_dir(a, "objects", err),
                                .dim_names = names,
                                .dim_sizes = sizes,
                                .n_dims = 1};
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
    const struct plan_buffer buffers[] = {
        buffer("order", BUFFER_INPUT, 64), buffer("a", BUFFER_INPUT, stream_bytes),
        buffer("b", BUFFER_INPUT, stream_bytes), buffer("c", BUFFER_OUTPUT, stream_bytes),
        buffer("sums", BUFFER_OUTPUT, b->n_blocks * 64)};
    bool is_nothing = strcmp(function, "nothing") == 0;
    b->plan = (struct plan){0};
    struct plan_step *step = plan_add_step(b->a, &b->plan);
    *step = (struct plan_step){.kind = STEP_LAUNCH, .function = function, .grid = b->n_blocks};
    for (int i = 0; i < 5; i++) {
        *plan_add_buffer(b->a, &b->plan) = buffers[i];
        if (!is_nothing || i == 4)
            plan_add_arg(b->a, step, i);
    }
}

static bool start(struct bench *b, struct error *err) {
    enum runner_status status;
    struct runner_spec spec = {.plan = &b->plan,
                               .n_slots = b->n_slots,
                               .n_threads = b->t->n_threads,
                               .inputs = &b->inputs,
                               .outputs = &b->outputs,
                               .made_fd = -1,
                               .bypasses_caches = true};
    layout_make(b->a, &b->layout, &b->plan, b->n_slots);
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
    return (double)(clock_now_ns() - b->started_ns) * 1e-9 > b->most_s;
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
    int mix, reads, writes;  // streams
    bool is_streaming;
} rows[] = {
    {READ, 0, 2, 0, false},        {TRIAD, 1, 2, 1, false},      {TRIAD_STREAM, 1, 2, 1, true},
    {COPY, 2, 1, 1, false},        {COPY_STREAM, 2, 1, 1, true}, {WRITE, 3, 0, 1, false},
    {WRITE_STREAM, 3, 0, 1, true},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static int64_t blocks_of(const struct bench *b, int size) {
    return b->n_blocks * (size + 2) / (SIZES + 1);
}

static double bytes_of(const struct row *row, const struct order *o) {
    return (double)(o->amount * o->floats * 4 * (row->reads + row->writes));
}

static struct order large_order(const struct bench *b, const struct row *row, int size) {
    return (struct order){.mode = row->mode, .amount = blocks_of(b, size), .floats = BLOCK};
}

// What a call takes beyond its bytes at the rate; the least of all that were tried, and never less
// than a launch: so the line lies above none of them.
static void lower_fixed(struct ceiling_traffic *t, double bytes, double seconds, double launch_s) {
    t->fixed_s = fmin(t->fixed_s, fmax(launch_s, seconds - bytes / t->bytes_per_s));
}

// Round after round over everything, so that a busy moment hits all alike.
static bool measure_traffic(struct bench *b, struct ceilings *c, struct error *err) {
    double samples[ROWS][SIZES][REPEATS];
    int n = 0;
    for (; n < REPEATS && (n < REPEATS_LATE || !is_late(b)); n++)
        for (int row = 0; row < ROWS; row++)
            for (int size = 0; size < SIZES; size++) {
                struct order o = large_order(b, &rows[row], size);
                if (!timed_quietly(b, &o, &samples[row][size][n], err))
                    return false;
            }
    double bytes[ROWS][SIZES], seconds[ROWS][SIZES], spread = 0;
    for (int row = 0; row < ROWS; row++) {
        struct ceiling_traffic *t = &c->traffic[rows[row].mix];
        for (int size = 0; size < SIZES; size++) {
            struct order o = large_order(b, &rows[row], size);
            bytes[row][size] = bytes_of(&rows[row], &o);
            seconds[row][size] = fast(samples[row][size], n, &spread);
        }
        double rate = fit_rate(bytes[row], seconds[row], c->launch_s);
        t->read_fraction = (double)rows[row].reads / (rows[row].reads + rows[row].writes);
        t->fixed_s = INFINITY;
        if (rate > t->bytes_per_s) {
            t->bytes_per_s = rate;
            t->spread = spread;
            t->streams = rows[row].is_streaming;
        }
    }
    for (int row = 0; row < ROWS; row++)
        for (int size = 0; size < SIZES; size++)
            lower_fixed(&c->traffic[rows[row].mix], bytes[row][size], seconds[row][size],
                        c->launch_s);
    return true;
}

// What the judge does with a slot between two calls: new inputs, a look at the outputs, poison;
// what it writes goes past the caches.
static void turn_over(struct bench *b, const struct row *row, int64_t bytes) {
    char *at[BUFFER_C + 1];
    for (int i = BUFFER_A; i <= BUFFER_C; i++)
        at[i] = (i == BUFFER_C ? b->outputs.bytes : b->inputs.bytes) +
                layout_offset(&b->layout, i, b->slot) + layout_lead(&b->layout, i, b->slot);
    for (int i = BUFFER_A; i < BUFFER_A + row->reads; i++)
        for (int64_t k = 0; k < bytes / LINE_BYTES; k++) {
            float line[LINE_BYTES / 4];
            for (int64_t e = 0; e < LINE_BYTES / 4; e++)
                line[e] = (float)((k * (LINE_BYTES / 4) + e) % 251) * 1e-3f;
            copy_past_caches(at[i] + k * LINE_BYTES, line, sizeof line);
        }
    if (!row->writes)
        return;
    static const char nothing[LINE_BYTES];
    for (int64_t k = 0; k < bytes; k += LINE_BYTES) {
        b->seen += at[BUFFER_C][k];
        copy_past_caches(at[BUFFER_C] + k, nothing, sizeof nothing);
    }
}

// One size of one row: a rotation over all slots that nobody looks at, then one that counts.
static bool time_small(struct bench *b, const struct row *row, const struct order *o,
                       double *seconds, struct error *err) {
    double samples[SLOTS_MAX];
    int n = 0;
    for (; n < 2 * SLOTS_MAX && (n < REPEATS_LATE || !is_late(b)); n++) {
        if (!timed_quietly(b, o, &samples[n % SLOTS_MAX], err))
            return false;
        turn_over(b, row, o->amount * o->floats * 4);
    }
    n = n < SLOTS_MAX ? n : SLOTS_MAX;
    qsort(samples, (size_t)n, sizeof *samples, ascending);
    *seconds = samples[n / FAST_SMALL];
    return true;
}

static bool measure_small(struct bench *b, struct ceilings *c, struct error *err) {
    int64_t most = b->layout.buffers[BUFFER_A].size_bytes;
    for (int i = 0; i < SMALL_SIZES; i++, most /= SMALL_STEP)
        for (int row = 0; row < ROWS; row++) {
            struct ceiling_traffic *t = &c->traffic[rows[row].mix];
            struct ceiling_point *small = &t->point[SMALL_SIZES - 1 - i];
            int64_t streams = rows[row].reads + rows[row].writes;
            int64_t floats = most / 4 / streams / b->n_blocks / BLOCK_LEAST * BLOCK_LEAST;
            struct order o = {.mode = rows[row].mode,
                              .amount = b->n_blocks,
                              .floats = floats > 0 ? floats : BLOCK_LEAST};
            double seconds;
            if (!time_small(b, &rows[row], &o, &seconds, err))
                return false;
            bool is_first = small->bytes == 0;
            small->bytes = bytes_of(&rows[row], &o);
            small->seconds = is_first ? seconds : fmin(small->seconds, seconds);
            lower_fixed(t, small->bytes, seconds, c->launch_s);
        }
    ceilings_settle(c, 2. * (double)b->t->llc_bytes / SLOTS_MAX);
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
    c->launch_s = samples[LAUNCHES / FAST_SMALL];
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
    // So large that as many slots as there are go beyond the last level cache.
    int64_t small = bytes / SLOTS_MAX / (BLOCK * 4) + 1;
    const struct part parts[] = {
        {"the cost of a launch", "nothing", threads, threads, SLOTS_MIN, measure_launch},
        {"memory traffic", "ceiling", large, large, SLOTS_MIN, measure_traffic},
        {"small calls", "ceiling", SMALL_PARTS * threads, small, SLOTS_MAX, measure_small},
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

bool calibration_is_cut(const struct target *t, double most_s) {
    return !t->is_gpu && most_s < CALIBRATION_MOST_S && t->ceilings.seconds > most_s;
}

bool calibrate(struct arena *a, struct target *t, double most_s,
               void (*progress)(const char *what, void *ctx), void *ctx, struct error *err) {
    if (t->is_gpu)
        return cuda_calibrate(a, t, progress, ctx, err);
    struct bench b = {
        .a = a, .t = t, .started_ns = clock_now_ns(), .most_s = fmin(most_s, CALIBRATION_MOST_S)};
    struct ceilings c = {.bf16_flops_per_s = NAN,
                         .tf32_flops_per_s = NAN,
                         .f8_flops_per_s = NAN,
                         .i8_flops_per_s = NAN,
                         .fault_s = cpu_fault_s(),
                         .line_s = cpu_line_s(),
                         .fuse_gain = cpu_fuse_gain()};
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
