// A GPU as the judge's device. Runners (gpu_handle.c) own the memory that candidates work on and
// share it with the judge, whose own context (gpu_bench.c) fills it, poisons it and compares it
// with what is expected, on the device. Expected values are in the judge's own memory, which no
// other process sees. Subject and rival each have a runner, with inputs of its own.
//
// When a call of the judge's own context fails, `j->broken` keeps the reason and nothing is
// judged any more: the worker ends and another one is started.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/embedded.h"
#include "eval/compile_cuda.h"
#include "eval/gpu_handle.h"
#include "eval/judge.h"
#include "eval/stats.h"
#include "gpu/nvml.h"

enum { RUNNERS = 2, FLUSH_TIMES_L2 = 3, CLUSTER_MAX = 16, EXCESS_MAX = 256 };

// How much longer a call may take by the judge's clock than by the events, beyond what an empty
// call does.
static const double clock_slack_s = 200e-6, clock_slack_share = 0.3;
static const int64_t throttle_every_ns = 20000000;  // asking takes a while

// The data of one set in the judge's own device memory.
struct gpu_set {
    bool has_inputs, has_expected;
    cuda_pointer inputs[INPUTS_MAX];
    uint64_t digests[INPUTS_MAX];
    struct judge_expected expected[OUTPUTS_MAX];
};

struct judge_gpu {
    struct gpu_bench bench;
    struct cuda_facts facts;
    struct cuda_compiler compiler;
    struct cubin ours;
    struct plan problem;  // its buffers alone
    struct gpu_memory memory;
    struct gpu_runner runners[RUNNERS];
    struct gpu_set sets[SET_COUNT];
    float *declared[INPUTS_MAX];
    float *values;  // an output on its way into evidence
    struct nvml nvml;
    nvml_device nvml_device;
    bool has_nvml, is_throttled;
    int64_t throttle_read_ns;
};

struct gpu_subject {
    struct gpu_runner *runner;
    struct cubin cubin;
    struct profile profile;
    double excess_s[EXCESS_MAX];  // of calls, by the judge's clock
    double event_s[EXCESS_MAX];
    int n_excess;
};

static void fail(struct judge *j, const struct error *err) {
    if (j->broken.kind == ERROR_NONE)
        j->broken = *err;
}

// ---- opening

static bool build_kernels(struct judge *j, struct error *err) {
    struct judge_gpu *g = j->gpu;
    struct cuda_source source = {.text = embedded_text("judge.cu"),
                                 .arch = g->facts.arch,
                                 .cache = j->settings.cache,
                                 .is_ours = true};
    if (!cuda_compile(&j->arena, &g->compiler, &source, &g->ours, err))
        return false;
    if (g->ours.outcome != COMPILE_OK)
        return error_set(err, ERROR_IO, "the judge's kernels do not compile: %s", g->ours.message);
    return gpu_bench_load(&g->bench, g->ours.bytes, err);
}

// As on the CPU: what one call touches is out of the caches when its slot comes again.
static bool choose_slots(struct judge *j, struct error *err) {
    struct judge_gpu *g = j->gpu;
    size_t free_bytes = 0, total = 0;
    int64_t bytes = 0;
    if (!cuda_ok(&g->bench.cu, g->bench.cu.memory_info(&free_bytes, &total), "ask for memory", err))
        return false;
    g->problem = (struct plan){.n_buffers = j->context.n_buffers};
    for (int i = 0; i < g->problem.n_buffers; i++) {
        g->problem.buffers[i] = j->context.buffers[i];
        bytes += g->problem.buffers[i].size_bytes;
    }
    int n_slots = layout_slots(bytes, j->settings.llc_bytes, (int64_t)free_bytes / 8);
    if (n_slots > GPU_SLOTS_MAX)
        n_slots = GPU_SLOTS_MAX;
    layout_make(&j->layout, &g->problem, n_slots);
    g->memory.problem = &g->problem;
    g->memory.n_slots = n_slots;
    return true;
}

static bool gpu_open(struct judge *j, struct error *err) {
    struct judge_gpu *g = calloc(1, sizeof *g);
    struct error no_nvml = {0};
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
    // Without it throttling goes unseen; nothing else depends on it.
    g->has_nvml =
        nvml_open(&g->nvml, &no_nvml) && g->nvml.by_uuid(g->facts.uuid, &g->nvml_device) == 0;
    return true;
}

static void forget_sets(struct judge *j) {
    struct judge_gpu *g = j->gpu;
    for (int s = 0; s < SET_COUNT; s++) {
        struct gpu_set *set = &g->sets[s];
        for (int i = 0; i < INPUTS_MAX; i++)
            if (set->inputs[i])
                g->bench.cu.release(set->inputs[i]);
        for (int i = 0; i < OUTPUTS_MAX; i++) {
            const cuda_pointer parts[] = {set->expected[i].high, set->expected[i].low,
                                          set->expected[i].spread};
            for (int k = 0; k < 3; k++)
                if (parts[k])
                    g->bench.cu.release(parts[k]);
        }
        *set = (struct gpu_set){0};
    }
    for (int i = 0; i < INPUTS_MAX; i++) {
        free(g->declared[i]);
        g->declared[i] = NULL;
    }
}

static void gpu_forget(struct judge *j) {
    forget_sets(j);
    for (int i = 0; i < RUNNERS; i++)
        if (!j->gpu->runners[i].is_taken)
            gpu_runner_close(&j->gpu->runners[i]);
}

static void gpu_close(struct judge *j) {
    struct judge_gpu *g = j->gpu;
    if (!g)
        return;
    for (int i = 0; i < RUNNERS; i++)
        gpu_runner_close(&g->runners[i]);
    if (g->bench.is_open)
        forget_sets(j);
    gpu_memory_reset(&g->memory, &g->bench);
    gpu_bench_close(&g->bench);
    cuda_compiler_stop(&g->compiler);
    nvml_close(&g->nvml);
    free(g->values);
    free(g);
    j->gpu = NULL;
}

// ---- subjects

static struct gpu_runner *take_runner(struct judge *j, struct error *err) {
    struct judge_gpu *g = j->gpu;
    struct gpu_runner *r = NULL;
    for (int i = RUNNERS - 1; i >= 0; i--)
        if (!g->runners[i].is_taken)
            r = &g->runners[i];
    struct gpu_runner_spec spec = {.bench = &g->bench,
                                   .memory = &g->memory,
                                   .ordinal = j->settings.ordinal,
                                   .flush_bytes = FLUSH_TIMES_L2 * j->settings.llc_bytes,
                                   .cubin = g->ours.bytes,
                                   .cubin_len = g->ours.len};
    if (!gpu_runner_is_alive(r))
        gpu_runner_close(r);
    if (!r->is_open && !gpu_runner_open(r, &spec, err)) {
        gpu_runner_close(r);
        fail(j, err);
        return NULL;
    }
    r->is_taken = true;
    return r;
}

// Memory for scratch in every slot, beside everything else.
static bool fits(struct judge *j, struct arena *a, struct subject *s, struct verdict *v) {
    size_t free_bytes = 0, total = 0;
    int64_t needed = 0;
    int first = j->gpu->problem.n_buffers;
    struct gpu_layout l;
    gpu_layout_make(&l, s->plan.buffers, first, s->plan.n_buffers - first, 0,
                    j->gpu->bench.page_bytes);
    needed = s->plan.n_buffers > first ? l.total_bytes * j->layout.n_slots : 0;
    j->gpu->bench.cu.memory_info(&free_bytes, &total);
    if (needed <= (int64_t)free_bytes / 2)
        return true;
    v->kind = VERDICT_LIMITS;
    v->evidence =
        arena_printf(a, "scratch takes %lld MiB in %d slots; the card has %lld MiB left",
                     (long long)(needed >> 20), j->layout.n_slots, (long long)free_bytes >> 20);
    return false;
}

static bool compile_subject(struct judge *j, struct arena *a, struct subject *s, struct cubin *c,
                            struct eval_result *result, struct error *err) {
    struct cuda_source source = {.text = s->candidate.source,
                                 .arch = j->gpu->facts.arch,
                                 .cache = j->settings.cache,
                                 .dim_names = j->context.dim_names,
                                 .dim_sizes = j->context.dim_sizes,
                                 .n_dims = j->context.n_dims,
                                 .skip_scans = j->settings.skip_scans};
    if (!cuda_compile(&s->arena, &j->gpu->compiler, &source, c, err))
        return false;
    result->compile_s = c->seconds;
    if (c->outcome == COMPILE_OK)
        return true;
    result->verdict.kind = c->outcome == COMPILE_ILLEGAL ? VERDICT_ILLEGAL : VERDICT_NO_COMPILE;
    result->verdict.rule = c->rule;
    result->verdict.evidence = arena_strdup(a, c->message);
    return true;
}

static bool load_subject(struct judge *j, struct arena *a, struct subject *s, struct verdict *v,
                         struct error *err) {
    enum runner_status status;
    struct gpu_load load = {.plan = &s->plan,
                            .cubin = s->gpu->cubin.bytes,
                            .cubin_len = s->gpu->cubin.len,
                            .threads_per_sm = j->gpu->facts.threads_per_sm};
    memset(s->own_poison, 0, sizeof s->own_poison);
    if (!gpu_runner_load(s->gpu->runner, &load, &s->gpu->profile, &status, err)) {
        fail(j, err);
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
    // Whoever was here before may have written anywhere.
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
    cuda_read_resources(c.log, &s->gpu->profile);
    return load_subject(j, a, s, v, err);
}

// Neither is ever in a process that holds the other.
static bool gpu_swap(struct judge *j, struct arena *a, struct subject *s, struct subject *rival,
                     struct verdict *v) {
    struct error err = {0};
    struct gpu_runner *r = s->gpu->runner;
    gpu_runner_unload(r);
    gpu_runner_unload(rival->gpu->runner);
    s->gpu->runner = rival->gpu->runner;
    rival->gpu->runner = r;
    if (load_subject(j, a, s, v, &err) && v->kind == VERDICT_OK &&
        load_subject(j, a, rival, v, &err) && v->kind == VERDICT_OK)
        return true;
    if (v->kind == VERDICT_OK || v->kind == VERDICT_INFRA) {
        v->kind = VERDICT_INFRA;
        v->evidence = arena_printf(a, "subject and rival could not change places: %s", err.text);
    }
    return false;
}

static void gpu_stop(struct judge *j, struct subject *s) {
    (void)j;
    struct gpu_runner *r = s->gpu->runner;
    gpu_runner_unload(r);
    r->is_taken = false;
    if (!gpu_runner_is_alive(r))
        gpu_runner_close(r);
}

static bool gpu_is_alive(struct subject *s) {
    return s->gpu && gpu_runner_is_alive(s->gpu->runner);
}

// ---- data

static uint64_t input_seed(const struct judge *j, int input) {
    return j->digest_seed + 1000 + (uint64_t)input;
}

static bool upload_inputs(struct judge *j, enum oracle_set set, struct error *err) {
    struct judge_gpu *g = j->gpu;
    struct gpu_set *s = &g->sets[set];
    for (int i = 0; i < j->problem->n_inputs; i++) {
        int64_t bytes = j->context.buffers[i].size_bytes;
        float *values = malloc((size_t)bytes);
        struct judge_part sum;
        if (!values)
            abort();
        oracle_fill(&j->oracle, set, i, values);
        bool ok = gpu_bench_upload(&g->bench, values, bytes, &s->inputs[i], err);
        struct judge_regions r = {0};
        gpu_regions_add(&r, s->inputs[i], bytes, input_seed(j, i));
        ok = ok && gpu_bench_scan(&g->bench, &r, &sum, err);
        s->digests[i] = sum.digest;
        if (set == SET_DECLARED)
            g->declared[i] = values;
        else
            free(values);
        if (!ok)
            return false;
    }
    s->has_inputs = true;
    return true;
}

static bool upload_expected(struct judge *j, enum oracle_set set, struct error *err) {
    struct judge_gpu *g = j->gpu;
    for (int i = 0; i < j->problem->n_outputs; i++) {
        const struct oracle_output *o = &j->oracle.sets[set].outputs[i];
        struct judge_expected *e = &g->sets[set].expected[i];
        int64_t bytes = o->count * (int64_t)sizeof(float);
        e->limit = o->stats.limit_max;
        if (!gpu_bench_upload(&g->bench, o->high, bytes, &e->high, err) ||
            !gpu_bench_upload(&g->bench, o->low, bytes, &e->low, err) ||
            !gpu_bench_upload(&g->bench, o->spread, bytes, &e->spread, err))
            return false;
    }
    g->sets[set].has_expected = true;
    return true;
}

static bool prepare_inputs(struct judge *j, enum oracle_set set) {
    struct error err = {0};
    if (j->gpu->sets[set].has_inputs || upload_inputs(j, set, &err))
        return true;
    fail(j, &err);
    return false;
}

static bool check(struct judge *j, cuda_result code, const char *what) {
    struct error err = {0};
    if (cuda_ok(&j->gpu->bench.cu, code, what, &err))
        return true;
    fail(j, &err);
    return false;
}

// Where a buffer lies, in the judge's addresses. Scratch is the subject's own.
static cuda_pointer buffer_at(const struct judge *j, const struct subject *s, int buffer,
                              int slot) {
    struct gpu_layout l;
    int n = j->gpu->problem.n_buffers;
    bool is_scratch = buffer >= n;
    gpu_layout_make(&l, is_scratch ? s->plan.buffers : j->gpu->problem.buffers, is_scratch ? n : 0,
                    is_scratch ? s->plan.n_buffers - n : n, slot, j->gpu->bench.page_bytes);
    const struct cuda_mapping *m =
        is_scratch ? &s->gpu->runner->scratch[slot] : &j->gpu->memory.slots[slot];
    return m->at + (cuda_pointer)l.offset[buffer];
}

static void gpu_load(struct judge *j, int slot, enum oracle_set set) {
    if (j->slot_set[slot] == (int)set || !prepare_inputs(j, set))
        return;
    for (int i = 0; i < j->problem->n_inputs; i++)
        check(j,
              j->gpu->bench.cu.copy(buffer_at(j, NULL, i, slot), j->gpu->sets[set].inputs[i],
                                    (size_t)j->context.buffers[i].size_bytes),
              "copy inputs");
    j->slot_set[slot] = (int)set;
}

static const float *gpu_declared(struct judge *j, int input, int slot) {
    (void)slot;
    prepare_inputs(j, SET_DECLARED);
    return j->gpu->declared[input];
}

static void gpu_patch(struct judge *j, struct subject *s, int slot, const struct novelty *n,
                      bool is_back) {
    (void)s;
    for (int i = 0; i < j->problem->n_inputs; i++)
        for (int k = 0; k < n->n[i]; k++) {
            const struct patch *p = &n->patches[i][k];
            cuda_pointer at = buffer_at(j, NULL, i, slot) + 4 * (cuda_pointer)p->index;
            check(j, j->gpu->bench.cu.copy_to(at, is_back ? &p->before : &p->after, 4),
                  "change inputs");
        }
}

// One piece of a slot's memory: the problem's buffers, or scratch.
struct piece {
    struct gpu_layout layout;
    cuda_pointer at;
};

static int find_pieces(struct judge *j, struct subject *s, int slot, struct piece pieces[2]) {
    int n = j->gpu->problem.n_buffers;
    int64_t page = j->gpu->bench.page_bytes;
    gpu_layout_make(&pieces[0].layout, s->plan.buffers, 0, n, slot, page);
    pieces[0].at = j->gpu->memory.slots[slot].at;
    if (s->plan.n_buffers == n)
        return 1;
    gpu_layout_make(&pieces[1].layout, s->plan.buffers, n, s->plan.n_buffers - n, slot, page);
    pieces[1].at = s->gpu->runner->scratch[slot].at;
    return 2;
}

static void fill_words(struct judge *j, cuda_pointer at, int64_t bytes, uint32_t word) {
    if (bytes >= 4)
        check(j, j->gpu->bench.cu.fill32(at, word, (size_t)bytes / 4), "poison device memory");
}

// All of a piece but inputs.
static void poison_piece(struct judge *j, const struct subject *s, const struct piece *p,
                         uint32_t word) {
    const struct gpu_layout *l = &p->layout;
    for (int i = 0; i <= l->n; i++) {
        int64_t offset, bytes;
        gpu_layout_guard(l, i, &offset, &bytes);
        fill_words(j, p->at + (cuda_pointer)offset, bytes, word);
    }
    for (int b = l->first; b < l->first + l->n; b++)
        if (s->plan.buffers[b].role != BUFFER_INPUT)
            fill_words(j, p->at + (cuda_pointer)l->offset[b], l->size[b], word);
}

static void gpu_poison(struct judge *j, struct subject *s, int slot) {
    struct piece pieces[2];
    uint32_t word = j->poison[slot];
    int n = find_pieces(j, s, slot, pieces);
    if (j->outputs_poison[slot] != word)
        poison_piece(j, s, &pieces[0], word);
    if (s->own_poison[slot] != word && n == 2)
        poison_piece(j, s, &pieces[1], word);
    j->outputs_poison[slot] = s->own_poison[slot] = word;
}

static struct judge_part scan(struct judge *j, const struct judge_regions *r) {
    struct error err = {0};
    struct judge_part sum = {0};
    if (!gpu_bench_scan(&j->gpu->bench, r, &sum, &err))
        fail(j, &err);
    return sum;
}

// ---- checks

static bool gpu_is_untouched(struct judge *j, struct subject *s, int slot) {
    struct judge_regions r = {.poison = j->poison[slot]};
    for (int b = 0; b < s->plan.n_buffers; b++)
        if (s->plan.buffers[b].role != BUFFER_INPUT)
            gpu_regions_add(&r, buffer_at(j, s, b, slot), s->plan.buffers[b].size_bytes, 0);
    return scan(j, &r).n_other == 0;
}

static bool is_throttled(struct judge_gpu *g) {
    int64_t now = clock_now_ns();
    if (!g->has_nvml || now - g->throttle_read_ns < throttle_every_ns)
        return g->is_throttled;
    g->throttle_read_ns = now;
    int64_t bits = nvml_throttle_bits(&g->nvml, g->nvml_device);
    g->is_throttled = bits > 0 && (bits & NVML_THROTTLE_DISTURBING);
    return g->is_throttled;
}

static void gpu_call(struct judge *j, struct subject *s, int slot, int64_t timeout_ns,
                     struct call_result *result) {
    struct gpu_subject *g = s->gpu;
    struct gpu_call c;
    // The runner's context does not wait for this one's work.
    check(j, j->gpu->bench.cu.context_synchronize(), "prepare device memory");
    gpu_runner_call(g->runner, slot, timeout_ns, &c);
    *result = (struct call_result){.status = c.status, .time_s = c.event_s, .thread_busy = NAN};
    if (c.status != RUNNER_OK)
        return;
    result->is_throttled = is_throttled(j->gpu);
    int i = g->n_excess++ % EXCESS_MAX;
    g->excess_s[i] = c.host_s - c.event_s - g->runner->overhead_s;
    g->event_s[i] = c.event_s;
}

static void gpu_explain(struct arena *a, struct subject *s, enum runner_status status,
                        struct verdict *v) {
    gpu_runner_explain(a, s->gpu->runner, status, v);
}

// The guard zones of a slot: all of them, or (i >= 0) the i-th, and the buffer before it.
static int guard_regions(struct judge *j, struct subject *s, int slot, int i,
                         struct judge_regions *r) {
    struct piece pieces[2];
    int n = find_pieces(j, s, slot, pieces), number = 0, buffer = -1;
    for (int p = 0; p < n; p++) {
        const struct gpu_layout *l = &pieces[p].layout;
        for (int k = 0; k <= l->n; k++, number++) {
            int64_t offset, bytes;
            if (i >= 0 && i != number)
                continue;
            gpu_layout_guard(l, k, &offset, &bytes);
            gpu_regions_add(r, pieces[p].at + (cuda_pointer)offset, bytes, 0);
            buffer = l->first + (k ? k - 1 : 0);
        }
    }
    return buffer;
}

static int gpu_find_overrun(struct judge *j, struct subject *s, int slot, uint32_t word) {
    struct judge_regions all = {.poison = word};
    guard_regions(j, s, slot, -1, &all);
    if (scan(j, &all).n_other == 0)
        return -1;
    for (int i = 0; i < all.count; i++) {
        struct judge_regions one = {.poison = word};
        int buffer = guard_regions(j, s, slot, i, &one);
        if (scan(j, &one).n_other)
            return buffer;
    }
    return 0;
}

static int gpu_find_changed_input(struct judge *j, struct subject *s, int slot) {
    const struct gpu_set *set = &j->gpu->sets[j->slot_set[slot]];
    struct judge_regions all = {0};
    uint64_t expected = 0;
    for (int i = 0; i < j->problem->n_inputs; i++) {
        gpu_regions_add(&all, buffer_at(j, s, i, slot), j->context.buffers[i].size_bytes,
                        input_seed(j, i));
        expected += set->digests[i];
    }
    if (scan(j, &all).digest == expected)
        return -1;
    j->slot_set[slot] = -1;
    for (int i = 0; i < all.count; i++) {
        struct judge_regions one = {.count = 1};
        one.at[0] = all.at[i];
        one.n[0] = all.n[i];
        one.seed[0] = all.seed[i];
        if (scan(j, &one).digest != set->digests[i])
            return i;
    }
    return 0;
}

static cuda_pointer output_at(const struct judge *j, const struct subject *s, int slot,
                              int output) {
    return buffer_at(j, s, j->problem->n_inputs + output, slot);
}

static int64_t output_bytes(const struct judge *j, int output) {
    return j->context.buffers[j->problem->n_inputs + output].size_bytes;
}

static uint64_t gpu_digest(struct judge *j, struct subject *s, int slot) {
    struct judge_regions r = {0};
    for (int i = 0; i < j->problem->n_outputs; i++)
        gpu_regions_add(&r, output_at(j, s, slot, i), output_bytes(j, i),
                        j->digest_seed + (uint64_t)i);
    return scan(j, &r).digest;
}

static bool gpu_compare(struct judge *j, struct subject *s, int slot, int output, uint32_t word,
                        struct comparison *c) {
    struct error err = {0};
    enum oracle_set set = (enum oracle_set)j->slot_set[slot];
    const struct oracle_output *o = &j->oracle.sets[set].outputs[output];
    struct judge_part sum = {0};
    struct gpu_results r = {.at = output_at(j, s, slot, output), .n = o->count, .poison = word};
    *c = (struct comparison){.stats = o->stats};
    if ((!j->gpu->sets[set].has_expected && !upload_expected(j, set, &err)) ||
        !gpu_bench_compare(&j->gpu->bench, &r, &j->gpu->sets[set].expected[output], &sum, &err)) {
        fail(j, &err);
        return false;
    }
    c->n_wrong = (int64_t)sum.n_wrong;
    c->n_unwritten = (int64_t)sum.n_same;
    c->stats.rms = o->count ? sqrt(sum.sum / (double)o->count) : 0;
    c->stats.max = sum.max;
    c->is_ok =
        c->stats.rms <= o->stats.limit_rms && c->stats.max <= o->stats.limit_max && !c->n_unwritten;
    return c->is_ok;
}

static const float *gpu_values(struct judge *j, struct subject *s, int slot, int output) {
    int64_t bytes = output_bytes(j, output);
    free(j->gpu->values);
    j->gpu->values = calloc(1, (size_t)bytes);
    if (!j->gpu->values)
        abort();
    check(j,
          j->gpu->bench.cu.copy_from(j->gpu->values, output_at(j, s, slot, output), (size_t)bytes),
          "copy results");
    return j->gpu->values;
}

// The runner reads the events, and device code may reach into its memory: the judge's own clock
// must agree.
static void gpu_audit(struct judge *j, struct arena *a, struct subject *s, struct verdict *v) {
    (void)j;
    const struct gpu_subject *g = s->gpu;
    int n = g->n_excess < EXCESS_MAX ? g->n_excess : EXCESS_MAX;
    double excess = stats_median(g->excess_s, n), event = stats_median(g->event_s, n);
    if (excess <= clock_slack_s + clock_slack_share * event && event >= 0)
        return;
    v->kind = VERDICT_SUSPECT;
    v->rule = "clock-disagrees";
    v->evidence =
        arena_printf(a, "a call takes %s by its events, and %s more than that by the judge's clock",
                     clock_duration(a, event * 1e9), clock_duration(a, excess * 1e9));
}

static void gpu_describe(struct judge *j, struct arena *a, struct subject *s,
                         struct eval_result *result) {
    result->measurement.method = arena_printf(
        a,
        "ABBA, cold by rotation over %d slots and a flush that reads %lld MiB, graph launches, "
        "device events; interval: bootstrap and order statistics",
        j->layout.n_slots, (long long)FLUSH_TIMES_L2 * j->settings.llc_bytes >> 20);
    const struct profile *p = &s->gpu->profile;
    for (int i = 0; i < p->n_metrics; i++)
        profile_set(&result->profile, p->metrics[i].name, p->metrics[i].value);
}

const struct judge_device judge_device_gpu = {
    .open = gpu_open,
    .close = gpu_close,
    .forget = gpu_forget,
    .start = gpu_start,
    .stop = gpu_stop,
    .is_alive = gpu_is_alive,
    .load = gpu_load,
    .declared = gpu_declared,
    .patch = gpu_patch,
    .poison = gpu_poison,
    .is_untouched = gpu_is_untouched,
    .call = gpu_call,
    .explain = gpu_explain,
    .find_overrun = gpu_find_overrun,
    .find_changed_input = gpu_find_changed_input,
    .digest = gpu_digest,
    .compare = gpu_compare,
    .values = gpu_values,
    .swap = gpu_swap,
    // Seen on an H200: processes differ by up to 0.26 us on equal kernels.
    .place_s = 0.4e-6,
    .place_swapped_s = 0.06e-6,
    .audit = gpu_audit,
    .describe = gpu_describe,
};
