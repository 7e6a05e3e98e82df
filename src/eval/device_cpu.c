// The CPU as the judge's device: inputs and outputs are memory files of the judge's own, which it
// shares with a runner per candidate; it compares by looking at them.
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "build/compile.h"
#include "build/inspect.h"
#include "eval/environment.h"
#include "eval/judge.h"
#include "eval/memory_need.h"
#include "oracle/new_data.h"

static const int64_t memory_max_bytes = (int64_t)1 << 30;
static const int64_t scratch_max_bytes = (int64_t)4 << 30;
// What a thread may run beyond the call, known exactly once it sleeps.
static const double linger_s = 10e-6, linger_share = 0.01;

// Slots so that what one call touches is out of the caches when its slot comes again.
static void choose_layout(struct judge *j) {
    struct plan p = {0};
    int64_t bytes = 0;
    for (int i = 0; i < j->context.n_buffers; i++) {
        *plan_add_buffer(&j->arena, &p) = j->context.buffers[i];
        bytes += p.buffers[i].size_bytes;
    }
    layout_make(&j->arena, &j->layout, &p,
                layout_slots(bytes, p.n_buffers, j->settings.llc_bytes, memory_max_bytes));
}

// Not a number around the inputs: reading beyond them spoils results.
static void spoil_surroundings(struct judge *j) {
    for (int slot = 0; slot < j->layout.n_slots; slot++)
        for (int i = 0; i < j->problem->n_inputs; i++) {
            const struct layout_buffer *b = &j->layout.buffers[i];
            char *pages = j->files[FILE_INPUTS].bytes + layout_offset(&j->layout, i, slot);
            int64_t lead = layout_lead(&j->layout, i, slot);
            memset(pages, 0xff, (size_t)lead);
            memset(pages + lead + b->size_bytes, 0xff,
                   (size_t)(b->span_bytes - lead - b->size_bytes));
        }
}

static bool fits_memory(const struct judge *j, struct error *err) {
    int64_t data = j->layout.file_bytes[FILE_INPUTS] + j->layout.file_bytes[FILE_OUTPUTS];
    struct memory_need n = memory_need_of(j->problem, data, j->settings.n_threads);
    return memory_need_fits(j->problem, &n, memory_available(), "of memory", err);
}

static bool open(struct judge *j, struct error *err) {
    choose_layout(j);
    for (int i = 0; i < FILE_SCRATCH; i++)
        j->files[i] = (struct memory_file){.fd = -1, .read_only_fd = -1};
    if (!fits_memory(j, err))
        return false;
    for (int i = 0; i < FILE_SCRATCH; i++)
        if (!memory_file_open(&j->files[i], j->layout.file_bytes[i], err))
            return false;
    spoil_surroundings(j);
    page_maker_open(&j->page_maker, j->files, FILE_SCRATCH);
    struct error ignored = {0};  // a verdict can do without
    j->has_probe = probe_known(&j->arena, j->settings.cc, j->settings.cache, &j->probe, &ignored);
    return true;
}

static void close(struct judge *j) {
    page_maker_close(&j->page_maker);
    runner_close(&j->ended);
    memory_files_close(j->files, FILE_SCRATCH);
}

// What is loaded where is in the judge's own table.
static void forget(struct judge *j) {
    (void)j;
}

static bool compile_subject(struct judge *j, struct arena *a, struct subject *s,
                            struct eval_result *result, struct error *err) {
    struct verdict *v = &result->verdict;
    struct compile_spec spec = {.source = s->candidate.source,
                                .cc = j->settings.cc,
                                .machine = j->settings.machine,
                                .cache = j->settings.cache,
                                .dim_names = j->context.dim_names,
                                .dim_sizes = j->context.dim_sizes,
                                .n_dims = j->context.n_dims,
                                .skip_scans = j->settings.skip_scans};
    struct compile_result c;
    if (!compile(&s->arena, &spec, &c, err))
        return false;
    j->phase_s[PHASE_COMPILE] += c.seconds;
    result->compile_s = c.seconds;
    s->object = c.object;
    if (c.outcome == COMPILE_OK)
        return true;
    v->kind = compile_verdict(c.outcome);
    v->evidence = arena_strdup(a, c.message);
    return true;
}

static bool fits(struct judge *j, struct arena *a, struct subject *s, struct verdict *v) {
    struct layout l;
    int most = LAYOUT_BASES_MAX / j->layout.n_slots;
    if (s->plan.n_buffers > most) {
        v->kind = VERDICT_LIMITS;
        v->evidence = arena_printf(a, "%d buffers, at most %d in %d slots", s->plan.n_buffers, most,
                                   j->layout.n_slots);
        return false;
    }
    layout_make(&s->arena, &l, &s->plan, j->layout.n_slots);
    int64_t have = memory_available();
    int64_t most_bytes = have >= 0 && have < scratch_max_bytes ? have : scratch_max_bytes;
    if (l.file_bytes[FILE_SCRATCH] <= most_bytes)
        return true;
    v->kind = VERDICT_LIMITS;
    v->evidence = arena_printf(a, "scratch takes %lld MiB in %d slots, at most %lld",
                               (long long)(l.file_bytes[FILE_SCRATCH] >> 20), l.n_slots,
                               (long long)(most_bytes >> 20));
    return false;
}

static bool begin(struct judge *j, struct arena *a, struct subject *s, struct verdict *v,
                  struct error *err) {
    if (!fits(j, a, s, v))
        return true;
    struct runner_spec spec = {.plan = &s->plan,
                               .n_slots = j->layout.n_slots,
                               .n_threads = j->settings.n_threads,
                               .inputs = &j->files[FILE_INPUTS],
                               .outputs = &j->files[FILE_OUTPUTS],
                               .made_fd = j->page_maker.made_fd,
                               .bypasses_caches = j->settings.llc_bytes > 0};
    struct stretch starting = judge_begin(j);
    runner_close(&j->ended);
    s->is_open = true;
    bool ok = runner_begin(&s->runner, &spec, err);
    judge_end(j, PHASE_RUNNERS, starting);
    return ok;
}

static bool load_runner(struct judge *j, struct arena *a, struct subject *s, struct verdict *v,
                        struct error *err) {
    enum runner_status status;
    struct stretch waiting = judge_begin(j);
    page_maker_finish(&j->page_maker);
    bool ok = runner_load(&s->runner, s->object, &status, err);
    judge_end(j, PHASE_RUNNERS, waiting);
    if (!ok)
        return false;
    v->sandbox_level = s->runner.sandbox_level;
    if (j->has_probe && j->probe.sandbox_level == v->sandbox_level) {
        v->refused = j->probe.refused;
        v->allowed = j->probe.allowed;
    }
    runner_explain(a, &s->runner, status, v);
    return true;
}

static bool start(struct judge *j, struct arena *a, struct subject *s, struct eval_result *result,
                  struct error *err) {
    struct verdict *v = &result->verdict;
    page_maker_start(&j->page_maker);
    if (!compile_subject(j, a, s, result, err))
        return false;
    return v->kind != VERDICT_OK || load_runner(j, a, s, v, err);
}

// Taking down its mappings need not be waited for.
static void stop(struct judge *j, struct subject *s) {
    runner_close(&j->ended);
    runner_kill(&s->runner);
    j->ended = s->runner;
}

static bool is_alive(struct subject *s) {
    return runner_is_alive(&s->runner);
}

static void *input_to_patch(const struct judge *j, int input, int slot) {
    return j->files[FILE_INPUTS].bytes + layout_offset(&j->layout, input, slot) +
           layout_lead(&j->layout, input, slot);
}

static void put_input(const struct judge *j, int input, int slot, int64_t index, double value) {
    dtype_put(j->context.buffers[input].type, input_to_patch(j, input, slot), index, value);
}

static void compute_expected(struct judge *j, unsigned sets) {
    oracle_compute(&j->oracle, sets, j->settings.n_threads);
}

static int find_slot_with(const struct judge *j, enum oracle_set set) {
    for (int i = 0; i < j->layout.n_slots; i++)
        if (j->slot_set[i] == (int)set)
            return i;
    return -1;
}

// What a patched set changes in the declared data, or back.
static void put_patches(struct judge *j, int slot, enum oracle_set set, bool is_back) {
    for (int i = 0; i < j->problem->n_inputs; i++) {
        struct patch patches[PATCHES];
        int n = oracle_patches(&j->oracle, set, i, patches);
        for (int k = 0; k < n; k++)
            put_input(j, i, slot, patches[k].index, is_back ? patches[k].before : patches[k].after);
    }
}

static bool is_nearly_declared(int set) {
    return set == SET_DECLARED || set == SET_PATCHED || set == SET_PATCHED_AGAIN;
}

static void load(struct judge *j, int slot, enum oracle_set set) {
    int before = j->slot_set[slot];
    int source = find_slot_with(j, set);
    j->slot_set[slot] = (int)set;
    if (before == (int)set)
        return;
    if (is_nearly_declared(before) && is_nearly_declared((int)set)) {
        put_patches(j, slot, (enum oracle_set)before, true);
        put_patches(j, slot, set, false);
        return;
    }
    for (int i = 0; i < j->problem->n_inputs; i++) {
        void *values = input_to_patch(j, i, slot);
        if (source >= 0)
            memcpy(values, input_to_patch(j, i, source), (size_t)j->layout.buffers[i].size_bytes);
        else
            oracle_fill(&j->oracle, set, i, values);
    }
}

static void renew(struct judge *j, int slot, uint64_t seed) {
    for (int i = 0; i < j->problem->n_inputs; i++)
        new_data_fill(&(struct new_data){.problem = j->problem,
                                         .input = i,
                                         .seed = seed,
                                         .n_threads = j->settings.n_threads,
                                         .bypasses_caches = j->settings.llc_bytes > 0},
                      input_to_patch(j, i, slot));
    j->slot_set[slot] = -1;
}

static void poison(struct judge *j, struct subject *s, int slot) {
    uint32_t word = j->poison[slot];
    if (j->outputs_poison[slot] != word)
        runner_poison(&s->runner, FILE_OUTPUTS, slot, word);
    if (s->own_poison[slot] != word)
        runner_poison(&s->runner, FILE_SCRATCH, slot, word);
    j->outputs_poison[slot] = s->own_poison[slot] = word;
}

// A few words show whether the candidate wrote to this slot before it was asked to.
static bool is_untouched(struct judge *j, struct subject *s, int slot) {
    for (int b = 0; b < s->plan.n_buffers; b++) {
        const struct plan_buffer *p = &s->plan.buffers[b];
        if (p->role == BUFFER_INPUT)
            continue;
        const char *bytes = runner_bytes(&s->runner, b, slot);
        for (int i = 0; i < 16; i++) {
            int64_t at = 4 * (int64_t)rng_below(&j->hidden, ((uint64_t)p->size_bytes + 3) / 4);
            size_t n = p->size_bytes - at < 4 ? (size_t)(p->size_bytes - at) : 4;
            int64_t place = layout_lead(&s->runner.layout, b, slot) + at;
            uint32_t word = layout_poison(&s->runner.layout, b, place, j->poison[slot]);
            if (memcmp(bytes + at, &word, n) != 0)
                return false;
        }
    }
    return true;
}

static void call(struct judge *j, struct subject *s, int slot, int64_t timeout_ns,
                 struct call_result *result) {
    (void)j;
    runner_call(&s->runner, slot, timeout_ns, result);
}

static void explain(struct arena *a, struct subject *s, enum runner_status status,
                    struct verdict *v) {
    runner_explain(a, &s->runner, status, v);
}

static int find_overrun(struct judge *j, struct subject *s, int slot, uint32_t word) {
    (void)j;
    return runner_find_overrun(&s->runner, slot, word);
}

// Of packed elements the half of the last byte that holds none is whatever it is.
static uint64_t digest(struct judge *j, struct subject *s, int slot) {
    uint64_t h = j->digest_seed;
    for (int i = 0; i < j->problem->n_outputs; i++) {
        const struct node *n = &j->problem->graph.nodes[j->problem->outputs[i].node];
        int b = j->problem->n_inputs + i;
        const char *bytes = runner_bytes(&s->runner, b, slot);
        size_t size = (size_t)s->plan.buffers[b].size_bytes;
        bool is_half = n->dtype == DTYPE_I4 && shape_count(&n->shape) % 2 != 0;
        h = hash_bytes(bytes, is_half ? size - 1 : size, h);
        char last = (char)(bytes[size - 1] & 15);
        if (is_half)
            h = hash_bytes(&last, 1, h);
    }
    return h;
}

static const void *values(struct judge *j, struct subject *s, int slot, int output) {
    return runner_bytes(&s->runner, j->problem->n_inputs + output, slot);
}

static bool compare(struct judge *j, struct subject *s, int slot, int output, uint32_t word,
                    struct comparison *c) {
    return oracle_compare(&j->oracle.sets[j->slot_set[slot]].outputs[output],
                          values(j, s, slot, output), word, c);
}

// Words of an output that still hold the poison.
struct poisoned {
    const uint32_t *words;
    uint32_t poison;
    _Atomic int64_t n;
};

static void count_words(void *ctx, int64_t begin, int64_t end) {
    enum { LANES = 8 };
    typedef uint32_t words8 __attribute__((vector_size(4 * LANES)));
    struct poisoned *p = ctx;
    words8 found = {0}, word;
    int64_t at = begin, n = 0;
    for (; at + LANES <= end; at += LANES) {
        memcpy(&word, p->words + at, sizeof word);
        found -= (words8)(word == p->poison);
    }
    for (; at < end; at++)
        n += p->words[at] == p->poison;
    for (int i = 0; i < LANES; i++)
        n += found[i];
    p->n += n;
}

// Elements that do. Of other types than f32 one or other may hold its bits by right: there it takes
// a run of words that no chance makes.
static int64_t count_in(const struct node *n, const void *values, uint32_t word, int n_threads) {
    enum { RUN = 4, GRAIN = 1 << 18 };
    const uint32_t *words = values;
    int64_t n_words = dtype_size(n->dtype, shape_count(&n->shape)) / 4, found = 0, run = 0;
    if (n->dtype == DTYPE_F32) {
        struct poisoned p = {words, word, 0};
        parallel_for(n_threads, n_words, GRAIN, count_words, &p);
        return p.n;
    }
    for (int64_t i = 0; i < n_words; i++) {
        run = words[i] == word ? run + 1 : 0;
        found += run < RUN ? 0 : run == RUN ? RUN : 1;
    }
    return found * 32 / dtype_infos[n->dtype].bits;
}

static int64_t count_unwritten(struct judge *j, struct subject *s, int slot, uint32_t word) {
    const struct problem *p = j->problem;
    int64_t n = 0;
    for (int i = 0; i < p->n_outputs; i++)
        n += count_in(&p->graph.nodes[p->outputs[i].node], values(j, s, slot, i), word,
                      j->settings.n_threads);
    return n;
}

// What a look at a call needs to find its data.
struct called {
    struct judge *j;
    struct subject *s;
    int slot;
};

static void fetch(void *ctx, bool is_output, int number, const struct box *b, void *out) {
    const struct called *c = ctx;
    const struct problem *p = c->j->problem;
    node_id id = is_output ? p->outputs[number].node : p->inputs[number].node;
    const struct node *n = &p->graph.nodes[id];
    const void *all =
        is_output ? values(c->j, c->s, c->slot, number) : input_to_patch(c->j, number, c->slot);
    box_gather(b, &n->shape, n->dtype, all, out);
}

static void check_spots(struct judge *j, struct arena *a, struct subject *s, int slot,
                        const struct spot_call *call, struct spot_result *r) {
    struct called c = {j, s, slot};
    spot_check(a, &j->oracle, &(struct spot_source){fetch, &c}, call, &j->hidden, r);
}

static void pause_runner(struct subject *s) {
    runner_pause(&s->runner);
}

static void resume_runner(struct subject *s) {
    runner_resume(&s->runner);
}

static bool settle(struct subject *s, struct call_result *c) {
    int64_t lingered_ns;
    if (!runner_settle(&s->runner, c, &lingered_ns))
        return false;
    double beyond_s = 1e-9 * (double)lingered_ns - linger_s - linger_share * c->time_s;
    c->outside_s = fmax(0, beyond_s);
    return true;
}

// Clearings come first in a call, and in the shares.
static void describe_launches(struct arena *a, const struct subject *s, double time_s,
                              struct profile *p) {
    const struct plan *plan = &s->plan;
    const double *share = s->runner.step_share;
    int n = 0;
    for (int i = 0; i < plan->n_buffers; i++)
        if (plan->buffers[i].is_zeroed) {
            const char *name = arena_printf(a, "clear %s", plan->buffers[i].name);
            struct profile_launch *l = profile_add_launch(a, p, name);
            metrics_set(&l->metrics, METRIC_TIME, share[n] * time_s);
            n++;
        }
    for (int i = 0; i < plan->n_steps; i++, n++) {
        const struct plan_step *step = &plan->steps[i];
        bool is_fill = step->kind == STEP_FILL;
        struct profile_launch *l = profile_add_launch(
            a, p,
            is_fill ? arena_printf(a, "fill %s", plan->buffers[step->fill_buffer].name)
                    : arena_strdup(a, step->function));
        metrics_set(&l->metrics, METRIC_TIME, share[n] * time_s);
        metrics_set(&l->metrics, METRIC_BLOCKS,
                    step->kind == STEP_LAUNCH ? (double)step->grid : NAN);
    }
}

// What the launches name, and the least that a block of one writes of the results.
static void describe_traffic(const struct plan *plan, struct profile *p) {
    double all = 0, least = NAN;
    for (int i = 0; i < plan->n_steps; i++) {
        const struct plan_step *step = &plan->steps[i];
        double written = 0;
        for (int k = 0; step->kind != STEP_FILL && k < step->n_args; k++) {
            const struct plan_buffer *b = &plan->buffers[step->args[k]];
            all += (double)b->size_bytes;
            written += b->role == BUFFER_OUTPUT ? (double)b->size_bytes : 0;
        }
        if (written > 0 && step->grid > 0)
            least = fmin(isnan(least) ? INFINITY : least, written / (double)step->grid);
    }
    profile_set(p, METRIC_PLAN_BYTES, all);
    profile_set(p, METRIC_BLOCK_WRITES, least);
}

// Where a call finds its data. Slots that were left warm may still be larger than a cache: that is
// for the reader to see.
static const char *rotation_text(const struct judge *j, struct arena *a, const struct plan *p) {
    int64_t given = 0, touched = 0;  // without scratch, and with
    for (int b = 0; b < j->context.n_buffers; b++)
        given += j->context.buffers[b].size_bytes;
    for (int b = 0; b < p->n_buffers; b++)
        touched += p->buffers[b].size_bytes;
    if (j->settings.llc_bytes == 0)
        return arena_printf(a, "warm: %d slots of %.3g MB each in turns", j->layout.n_slots,
                            (double)touched / 1e6);
    bool is_cold = given * j->layout.n_slots >= 2 * j->settings.llc_bytes;
    return arena_printf(a, "%s by rotation over %d slots", is_cold ? "cold" : "partly warm",
                        j->layout.n_slots);
}

static bool calls_library(const struct plan *p) {
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].kind == STEP_CALL)
            return true;
    return false;
}

static void describe(struct judge *j, struct arena *a, struct subject *s,
                     struct eval_result *result) {
    result->measurement.method =
        arena_printf(a,
                     "ABBA, %s, %d of %d threads pinned, pages of %s first touched by the judge, "
                     "judge's clock; interval: bootstrap and order statistics",
                     rotation_text(j, a, &s->plan), s->runner.n_pinned, s->runner.n_threads,
                     environment_pages(a));
    profile_set(&result->profile, METRIC_THREADS, j->settings.n_threads);
    profile_set(&result->profile, METRIC_FAULTS, s->runner.faults_a_call);
    for (int i = 0; i < PERF_EVENTS_MAX; i++)
        profile_set(&result->profile, perf_events[i].id, s->runner.counts_a_call[i]);
    describe_traffic(&s->plan, &result->profile);
    if (s->runner.has_shares)
        describe_launches(a, s, result->measurement.median_s, &result->profile);
    // What a library does cannot be read off the few loops around its calls.
    if (!calls_library(&s->plan))
        inspect(a, s->object, &result->profile);
}

const struct judge_device judge_device_cpu = {
    .has_low_quantiles = true,
    .open = open,
    .close = close,
    .forget = forget,
    .begin = begin,
    .start = start,
    .stop = stop,
    .is_alive = is_alive,
    .end_derived = SET_COUNT,
    .compute_expected = compute_expected,
    .try_null = judge_try_null,
    .load = load,
    .renew = renew,
    .poison = poison,
    .is_untouched = is_untouched,
    .call = call,
    .explain = explain,
    .find_overrun = find_overrun,
    .digest = digest,
    .compare = compare,
    .count_unwritten = count_unwritten,
    .spot_check = check_spots,
    .values = values,
    .settle = settle,
    .pause = pause_runner,
    .resume = resume_runner,
    .describe = describe,
};
