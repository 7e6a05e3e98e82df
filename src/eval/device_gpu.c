// A GPU as the judge's device. Runners (gpu_handle.c) own the memory that candidates work on and
// share it with the judge, whose own context (gpu_bench.c) fills it, poisons it and compares it
// with what is expected, on the device (gpu_data.c). Expected values are in the judge's own
// memory, which no other process sees. Subject and baseline each have a runner of their own.
//
// When a call of the judge's own context fails, `j->broken` keeps the reason and nothing is
// judged any more: the worker ends and another one is started.
#include "eval/device_gpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/embedded.h"
#include "base/log.h"
#include "eval/cutlass_objects.h"
#include "eval/memory_need.h"
#include "eval/stats.h"
#include "oracle/oracle_plan.h"
#include "profile/sass.h"

enum { FLUSH_TIMES_L2 = 3, CLUSTER_MAX = 16, RESERVE_SHARE = 8 };

// How much longer a call may take by the judge's clock than by the events, beyond what an empty
// call does.
enum { AUDIT_CALLS = 100 };
static const double clock_slack_s = 200e-6, clock_slack_share = 0.3;

// ---- opening

static bool build_text(struct judge *j, const char *name, struct cubin *cubin, struct error *err) {
    struct judge_gpu *g = j->gpu;
    struct cuda_source source = {.text = embedded_text(name),
                                 .arch = g->facts.arch,
                                 .cache = j->settings.cache,
                                 .is_ours = true};
    if (!cuda_compile(&j->arena, &g->compiler, &source, cubin, err))
        return false;
    return cubin->outcome == COMPILE_OK ||
           error_set(err, ERROR_IO, "our own kernels (%s) do not compile: %s", name,
                     cubin->message);
}

// Without it the host draws inputs and computes the truth.
static bool build_oracle(struct judge *j) {
    struct judge_gpu *g = j->gpu;
    struct error err = {0};
    if (build_text(j, "oracle.cu", &g->truth, &err) &&
        gpu_oracle_load(&g->oracle, &g->bench, g->truth.bytes, &err))
        return true;
    log_info("the host computes the truth: %s", err.text);
    return false;
}

static bool build_kernels(struct judge *j, struct error *err) {
    struct judge_gpu *g = j->gpu;
    int version = g->bench.cu.version;
    if (!build_text(j, "judge.cu", &g->ours, err))
        return false;
    if (!gpu_bench_load(&g->bench, g->ours.bytes, err))
        return error_wrap(
            err,
            "code of NVRTC %s on a driver for CUDA %d.%d (a newer driver, or an older NVRTC "
            "in $CUDA_HOME, helps when that is why)",
            g->compiler.version, version / 1000, version % 1000 / 10);
    g->has_kernels = build_oracle(j);
    g->has_oracle = g->has_kernels && oracle_plan_supports(j->problem);
    return true;
}

// As on the CPU: what one call touches is out of the caches when its slot comes again.
static bool choose_slots(struct judge *j, struct error *err) {
    struct judge_gpu *g = j->gpu;
    size_t free_bytes = 0, total = 0;
    int64_t bytes = 0;
    if (!cuda_ok(&g->bench.cu, g->bench.cu.memory_info(&free_bytes, &total), "ask for memory", err))
        return false;
    g->problem = (struct plan){0};
    for (int i = 0; i < j->context.n_buffers; i++) {
        *plan_add_buffer(&j->arena, &g->problem) = j->context.buffers[i];
        bytes += g->problem.buffers[i].size_bytes;
    }
    // Two slots, the data of a set and what is expected of it.
    struct memory_need card = {.data = 2 * bytes};
    for (int i = 0; i < g->problem.n_buffers; i++) {
        const struct plan_buffer *b = &g->problem.buffers[i];
        int64_t count = 8 * b->size_bytes / dtype_infos[b->type].bits;
        int64_t typed = 2 * (int64_t)sizeof(double) * count;  // gpu_bench.h
        card.expected += b->role == BUFFER_INPUT ? b->size_bytes
                         : b->type == DTYPE_F32  ? 3 * b->size_bytes
                                                 : typed;
    }
    struct memory_need host = memory_need_of(j->problem, 0, j->settings.n_threads);
    if (!memory_need_fits(j->problem, &card, (int64_t)free_bytes, "on the card", err) ||
        (!g->has_oracle &&
         !memory_need_fits(j->problem, &host, memory_available(), "of memory", err)))
        return false;
    int n_slots =
        layout_slots(bytes, g->problem.n_buffers, j->settings.llc_bytes, (int64_t)free_bytes / 8);
    if (n_slots > GPU_SLOTS_MAX)
        n_slots = GPU_SLOTS_MAX;
    layout_make(&j->arena, &j->layout, &g->problem, n_slots);
    g->reserve_bytes = (int64_t)total / RESERVE_SHARE;
    g->memory.problem = &g->problem;
    g->memory.n_slots = n_slots;
    return true;
}

static bool gpu_open(struct judge *j, struct error *err) {
    struct judge_gpu *g = calloc(1, sizeof *g);
    if (!g)
        abort();
    j->gpu = g;
    for (int i = 0; i < RUNNERS; i++)
        g->runners[i].process.socket = -1;
    // The compiler and the runners get ready while the context is made.
    if (!cuda_compiler_start(&g->compiler, &j->arena, err))
        return false;
    for (int i = 0; i < RUNNERS; i++)
        if (!gpu_runner_start(&g->runners[i], j->settings.ordinal, err))
            return false;
    if (!gpu_bench_open(&g->bench, j->settings.ordinal, err) ||
        !cuda_read_facts(&j->arena, &g->bench.cu, g->bench.device, &g->facts, err) ||
        !build_kernels(j, err) || !choose_slots(j, err))
        return false;
    j->context.n_sms = g->facts.sms;
    j->context.shared_per_block = g->facts.shared_per_block;
    j->context.cluster_max = g->facts.has_clusters ? CLUSTER_MAX : 0;
    gpu_clocks_open(&g->clocks, g->facts.uuid);
    return true;
}

// A runner that has ended is replaced at once: the new one makes its context until it is needed.
static void renew_runner(struct judge *j, struct gpu_runner *r) {
    struct error later = {0};  // a later use of it reports the error
    gpu_runner_close(r);
    gpu_runner_start(r, j->settings.ordinal, &later);
}

static void gpu_forget(struct judge *j) {
    gpu_forget_sets(j);
    for (int i = 0; i < RUNNERS; i++)
        if (!j->gpu->runners[i].is_taken)
            renew_runner(j, &j->gpu->runners[i]);
}

static void gpu_close(struct judge *j) {
    struct judge_gpu *g = j->gpu;
    if (!g)
        return;
    for (int i = 0; i < RUNNERS; i++)
        gpu_runner_close(&g->runners[i]);
    if (g->bench.is_open) {
        gpu_forget_sets(j);
        gpu_oracle_release(&g->oracle);
    }
    gpu_memory_reset(&g->memory, &g->bench);
    gpu_bench_close(&g->bench);
    cuda_compiler_stop(&g->compiler);
    gpu_clocks_close(&g->clocks);
    free(g->values);
    free(g);
    j->gpu = NULL;
}

// ---- subjects

static bool open_runner(struct judge *j, struct gpu_runner *r, struct error *err) {
    struct judge_gpu *g = j->gpu;
    struct gpu_runner_spec spec = {.bench = &g->bench,
                                   .memory = &g->memory,
                                   .ordinal = j->settings.ordinal,
                                   .flush_bytes = FLUSH_TIMES_L2 * j->settings.llc_bytes,
                                   .cubin = g->ours.bytes,
                                   .cubin_len = g->ours.len};
    if (!gpu_runner_is_alive(r))
        gpu_runner_close(r);
    if (r->is_open)
        return true;
    struct stretch waiting = judge_begin(j);
    bool ok = gpu_runner_open(r, &spec, err);
    judge_end(j, PHASE_RUNNERS, waiting);
    if (!ok)
        gpu_runner_close(r);
    return ok;
}

static struct gpu_runner *take_runner(struct judge *j, struct error *err) {
    struct judge_gpu *g = j->gpu;
    struct gpu_runner *r = NULL;
    // One that is ready goes before one that was started a moment ago.
    for (int i = RUNNERS - 1; i >= 0; i--)
        if (!g->runners[i].is_taken && (!r || g->runners[i].is_open || !r->is_open))
            r = &g->runners[i];
    if (!open_runner(j, r, err)) {
        gpu_fail(j, err);
        return NULL;
    }
    r->is_taken = true;
    return r;
}

// While the compiler works: what the verdict will need.
static void prepare_meanwhile(void *ctx) {
    struct judge *j = ctx;
    struct error later = {0};  // the next use of the runner reports it
    struct stretch computing = judge_begin(j);
    gpu_compute_expected(j, j->sets_wanted);
    judge_end(j, PHASE_TRUTH, computing);
    for (int i = 0; i < RUNNERS; i++)
        if (!j->gpu->runners[i].is_taken && !open_runner(j, &j->gpu->runners[i], &later))
            return;
}

// Memory for scratch in every slot, besides everything else: sets of inputs and what is expected of
// them, which are kept while there is room, give way.
static bool fits(struct judge *j, struct arena *a, struct subject *s, struct verdict *v) {
    int64_t needed = 0;
    int first = j->gpu->problem.n_buffers;
    struct gpu_layout l;
    gpu_layout_make(&l, s->plan.buffers, first, s->plan.n_buffers - first, 0,
                    j->gpu->bench.page_bytes);
    needed = s->plan.n_buffers > first ? l.total_bytes * j->layout.n_slots : 0;
    if (gpu_make_room(j, 2 * needed))
        return true;
    v->kind = VERDICT_LIMITS;
    v->evidence = arena_printf(a, "scratch takes %lld MiB in %d slots; the card has %lld MiB left",
                               (long long)(needed >> 20), j->layout.n_slots,
                               (long long)gpu_free_bytes(j) >> 20);
    return false;
}

// Calls that nvcc compiles, where the plan has some.
static bool compile_calls(struct judge *j, struct arena *a, struct subject *s,
                          struct eval_result *result, struct error *err) {
    struct compile_result c;
    struct stretch compiling = judge_begin(j);
    bool ok = cutlass_objects_build(&s->arena, j->settings.cache, &s->plan, &c, err);
    judge_end(j, PHASE_COMPILE, compiling);
    if (!ok)
        return false;
    result->compile_s += c.seconds;
    if (c.outcome == COMPILE_OK)
        return true;
    result->verdict.kind = compile_verdict(c.outcome);
    result->verdict.evidence = arena_strdup(a, c.message);
    return true;
}

static bool compile_subject(struct judge *j, struct arena *a, struct subject *s, struct cubin *c,
                            struct eval_result *result, struct error *err) {
    struct cuda_source source = {.text = s->candidate.source,
                                 .arch = j->gpu->facts.arch,
                                 .cache = j->settings.cache,
                                 .dim_names = j->context.dim_names,
                                 .dim_sizes = j->context.dim_sizes,
                                 .n_dims = j->context.n_dims,
                                 .skip_scans = j->settings.skip_scans,
                                 .meanwhile = prepare_meanwhile,
                                 .ctx = j};
    struct stretch compiling = judge_begin(j);
    bool ok = cuda_compile(&s->arena, &j->gpu->compiler, &source, c, err);
    judge_end(j, PHASE_COMPILE, compiling);
    if (!ok)
        return false;
    result->compile_s = c->seconds;
    if (c->outcome == COMPILE_OK)
        return compile_calls(j, a, s, result, err);
    result->verdict.kind = compile_verdict(c->outcome);
    result->verdict.rule = c->rule;
    result->verdict.evidence = arena_strdup(a, c->message);
    return true;
}

static bool load_subject(struct judge *j, struct arena *a, struct subject *s, struct verdict *v,
                         struct error *err) {
    enum runner_status status;
    struct gpu_load_spec load = {.arena = &s->arena,
                                 .plan = &s->plan,
                                 .cubin = s->gpu->cubin.bytes,
                                 .cubin_len = s->gpu->cubin.len,
                                 .threads_per_sm = j->gpu->facts.threads_per_sm};
    memset(s->own_poison, 0, sizeof s->own_poison);
    struct stretch loading = judge_begin(j);
    bool ok = gpu_runner_load(s->gpu->runner, &load, &s->gpu->profile, &status, err);
    judge_end(j, PHASE_LOAD, loading);
    if (!ok) {
        gpu_fail(j, err);
        return false;
    }
    gpu_runner_explain(a, s->gpu->runner, status, v);
    return true;
}

static bool gpu_start(struct judge *j, struct arena *a, struct subject *s,
                      struct eval_result *result, struct error *err) {
    struct verdict *v = &result->verdict;
    struct cubin c;
    if (!fits(j, a, s, v))
        return true;
    if (!compile_subject(j, a, s, &c, result, err))
        return false;
    if (v->kind != VERDICT_OK)
        return true;
    // The candidate before may have written anywhere.
    for (int slot = 0; slot < j->layout.n_slots; slot++) {
        j->slot_set[slot] = -1;
        j->poison[slot] = j->outputs_poison[slot] = 0;
    }
    s->gpu = arena_new(&s->arena, struct gpu_subject);
    s->gpu->cubin = c;
    s->gpu->runner = take_runner(j, err);
    if (!s->gpu->runner)
        return false;
    s->is_open = true;
    if (!fits(j, a, s, v))  // sets were computed meanwhile
        return true;
    cuda_read_resources(c.log, NULL, &s->gpu->profile.call);
    return load_subject(j, a, s, v, err);
}

// Neither is ever in a process that holds the other.
static bool gpu_swap(struct judge *j, struct arena *a, struct subject *s, struct subject *baseline,
                     struct verdict *v) {
    struct error err = {0};
    struct gpu_runner *r = s->gpu->runner;
    gpu_runner_unload(r);
    gpu_runner_unload(baseline->gpu->runner);
    s->gpu->runner = baseline->gpu->runner;
    baseline->gpu->runner = r;
    if (load_subject(j, a, s, v, &err) && v->kind == VERDICT_OK &&
        load_subject(j, a, baseline, v, &err) && v->kind == VERDICT_OK)
        return true;
    if (v->kind == VERDICT_OK || v->kind == VERDICT_INFRA) {
        v->kind = VERDICT_INFRA;
        v->evidence = arena_printf(a, "subject and baseline could not change places: %s", err.text);
    }
    return false;
}

static void gpu_stop(struct judge *j, struct subject *s) {
    struct gpu_runner *r = s->gpu->runner;
    gpu_runner_unload(r);
    r->is_taken = false;
    if (!gpu_runner_is_alive(r))
        renew_runner(j, r);
}

static bool gpu_is_alive(struct subject *s) {
    return s->gpu && gpu_runner_is_alive(s->gpu->runner);
}

// ---- calls

static void gpu_call(struct judge *j, struct subject *s, int slot, int64_t timeout_ns,
                     struct call_result *result) {
    struct gpu_subject *g = s->gpu;
    struct gpu_call c;
    // The runner's context does not wait for this one's work.
    gpu_check(j, j->gpu->bench.cu.context_synchronize(), "prepare device memory");
    int64_t start_ns = clock_now_ns();
    gpu_runner_call(g->runner, slot, timeout_ns, &c);
    if (j->lost_ns)
        j->restart_s = (double)(start_ns - j->lost_ns) * 1e-9;
    j->lost_ns = c.status == RUNNER_OK ? 0 : clock_now_ns();
    *result = (struct call_result){
        .status = c.status, .time_s = c.event_s, .thread_busy = NAN, .clocks = -1};
    if (c.status != RUNNER_OK)
        return;
    result->clocks = gpu_clocks_bits(&j->gpu->clocks);
    int i = g->n_excess++ % EXCESS_MAX;
    g->excess_s[i] = c.host_s - c.event_s - g->runner->overhead_s;
    g->event_s[i] = c.event_s;
}

static void gpu_explain(struct arena *a, struct subject *s, enum runner_status status,
                        struct verdict *v) {
    gpu_runner_explain(a, s->gpu->runner, status, v);
}

// How much more the judge's clock sees than the events, at least, of the calls that make the kernel
// look fast: those with an event time up to the median. One that lies lies in all of these; a busy
// host disturbs many calls, but hardly every one.
static double least_excess(const struct gpu_subject *g, int n, double median_s) {
    double least = INFINITY;
    for (int i = 0; i < n; i++)
        if (g->event_s[i] <= median_s)
            least = fmin(least, g->excess_s[i]);
    return least;
}

// Where every call was disturbed, more of them: of an honest kernel one will not be.
static double least_excess_of_more(struct judge *j, struct subject *s, double median_s,
                                   double limit_s) {
    const struct gpu_subject *g = s->gpu;
    double least = INFINITY;
    for (int i = 0; i < AUDIT_CALLS && least > limit_s; i++) {
        struct call_result call;
        gpu_call(j, s, i % j->layout.n_slots, judge_timeout_ns(j), &call);
        if (call.status != RUNNER_OK)
            break;
        int last = (g->n_excess - 1) % EXCESS_MAX;
        if (g->event_s[last] <= median_s)
            least = fmin(least, g->excess_s[last]);
    }
    return least;
}

// The runner reads the events, and device code may reach into its memory: the judge's own clock
// must agree. What goes around a call is measured again before anybody is suspected.
static void gpu_audit(struct judge *j, struct arena *a, struct subject *s, struct verdict *v) {
    const struct gpu_subject *g = s->gpu;
    int n = g->n_excess < EXCESS_MAX ? g->n_excess : EXCESS_MAX;
    double event = stats_median(g->event_s, n), excess = least_excess(g, n, event);
    double before_s = g->runner->overhead_s, limit = clock_slack_s + clock_slack_share * event;
    struct error err = {0};
    if (excess > limit && !gpu_runner_measure_overhead(g->runner, &err))
        gpu_fail(j, &err);
    excess -= fmax(0, g->runner->overhead_s - before_s);
    if (excess > limit)
        excess = fmin(excess, least_excess_of_more(j, s, event, limit));
    if (excess <= limit && event >= 0)
        return;
    v->kind = VERDICT_SUSPECT;
    v->rule = "clock-disagrees";
    v->evidence =
        arena_printf(a, "a call takes %s by its events, and %s more than that by the judge's clock",
                     clock_duration(a, event * 1e9), clock_duration(a, excess * 1e9));
}

// How the time divides between launches. Asked last, since it may cost the runner: nothing depends
// on the answer.
static void time_launches(struct judge *j, struct subject *s, double time_s, struct profile *p) {
    enum { CALLS = 5 };
    int n = s->plan.n_steps;
    double *steps_s[CALLS], column[CALLS];
    if (n == 1 && p->n_launches == 1)
        metrics_set(&p->launches[0].metrics, METRIC_TIME, time_s);
    if (n < 2 || p->n_launches != n)
        return;
    struct arena scratch = {0};
    bool ok = true;
    for (int i = 0; ok && i < CALLS; i++) {
        steps_s[i] = arena_array(&scratch, double, n);
        ok = gpu_runner_steps(s->gpu->runner, i % j->layout.n_slots, judge_timeout_ns(j),
                              steps_s[i], n);
    }
    for (int k = 0; ok && k < n; k++) {
        for (int i = 0; i < CALLS; i++)
            column[i] = steps_s[i][k];
        metrics_set(&p->launches[k].metrics, METRIC_TIME, stats_median(column, CALLS));
    }
    arena_reset(&scratch);
}

static void gpu_describe(struct judge *j, struct arena *a, struct subject *s,
                         struct eval_result *result) {
    result->measurement.method = arena_printf(
        a,
        "ABBA, cold by rotation over %d slots and a flush that reads %lld MiB, graph launches, "
        "device events; interval: bootstrap and order statistics",
        j->layout.n_slots, (long long)FLUSH_TIMES_L2 * j->settings.llc_bytes >> 20);
    result->measurement.clocks = gpu_clocks_text(a, &j->gpu->clocks, &s->clocks);
    const struct profile *p = &s->gpu->profile;
    struct sass sass;
    struct error ignored = {0};  // of an architecture that is not known: nothing is said of it
    sass_read(a, s->gpu->cubin.bytes, s->gpu->cubin.len, &sass, &ignored);
    metrics_merge(&result->profile.call, &p->call);
    profile_reserve(a, &result->profile, p->n_launches);
    for (int i = 0; i < p->n_launches; i++) {
        struct profile_launch *l = profile_add_launch(a, &result->profile, NULL);
        bool is_fill = s->plan.steps[i].kind == STEP_FILL;
        l->metrics = p->launches[i].metrics;
        l->name = arena_printf(a, "%s%s", is_fill ? "fill " : "", p->launches[i].name);
        if (is_fill)
            continue;
        const struct sass_kernel *code = sass_find(&sass, p->launches[i].name);
        cuda_read_resources(s->gpu->cubin.log, p->launches[i].name, &l->metrics);
        if (code)
            sass_metrics(code, &l->metrics);
    }
    if (result->verdict.kind == VERDICT_OK)
        time_launches(j, s, result->measurement.median_s, &result->profile);
}

const struct judge_device judge_device_gpu = {
    .open = gpu_open,
    .close = gpu_close,
    .forget = gpu_forget,
    .start = gpu_start,
    .stop = gpu_stop,
    .is_alive = gpu_is_alive,
    .load = gpu_load,
    .end_derived = SET_SUMMED,
    .compute_expected = gpu_compute_expected,
    .try_null = gpu_try_null,
    .renew = gpu_renew,
    .poison = gpu_poison,
    .is_untouched = gpu_is_untouched,
    .call = gpu_call,
    .explain = gpu_explain,
    .find_overrun = gpu_find_overrun,
    .find_changed_input = gpu_find_changed_input,
    .digest = gpu_digest,
    .compare = gpu_compare,
    .count_unwritten = gpu_count_unwritten,
    .spot_check = gpu_spot_check,
    .values = gpu_values,
    .swap = gpu_swap,
    // Seen on an H200: processes differ by up to 0.26 us on equal kernels.
    .place_s = 0.4e-6,
    .place_swapped_s = 0.06e-6,
    .audit = gpu_audit,
    .describe = gpu_describe,
    .measure_energy = gpu_measure_energy,
};
