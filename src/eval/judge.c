// The life of a judge and the steps of one judgement, the same on every device; device.h has what
// differs. Candidate and baseline begin to compile, the candidate is loaded and verified
// (verify_subject.c), then timed (timing.c), then held against the physical limit.
#include "eval/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "eval/race.h"
#include "eval/stats.h"
#include "eval/timing.h"

const char *const eval_phase_names[PHASE_COUNT] = {"open", "inputs", "truth", "compile", "runners",
                                                   "load", "verify", "time",  "energy"};

const double judge_lease_wait_s = 300;

static double since(int64_t start_ns) {
    return (double)(clock_now_ns() - start_ns) * 1e-9;
}

static double noted(const struct judge *j) {
    double sum = 0;
    for (int i = 0; i < PHASE_COUNT; i++)
        sum += j->phase_s[i];
    return sum;
}

struct stretch judge_begin(const struct judge *j) {
    return (struct stretch){clock_now_ns(), noted(j)};
}

void judge_end(struct judge *j, enum eval_phase phase, struct stretch s) {
    double meanwhile_s = noted(j) - s.noted_s;
    j->phase_s[phase] += since(s.start_ns) - meanwhile_s;
}

static int64_t node_bytes(const struct node *n) {
    return dtype_size(n->dtype, shape_count(&n->shape));
}

static void fill_context(struct judge *j) {
    const struct problem *p = j->problem;
    struct plan_buffer *buffers =
        arena_array(&j->arena, struct plan_buffer, p->n_inputs + p->n_outputs + 1);
    const char **names = arena_array(&j->arena, const char *, p->graph.n_dims + 1);
    int64_t *sizes = arena_array(&j->arena, int64_t, p->graph.n_dims + 1);
    int n = 0;
    for (int i = 0; i < p->n_inputs; i++) {
        const struct node *node = &p->graph.nodes[p->inputs[i].node];
        buffers[n++] = (struct plan_buffer){.name = node->name,
                                            .role = BUFFER_INPUT,
                                            .size_bytes = node_bytes(node),
                                            .type = node->dtype};
    }
    for (int i = 0; i < p->n_outputs; i++) {
        const struct node *node = &p->graph.nodes[p->outputs[i].node];
        buffers[n++] = (struct plan_buffer){.name = p->outputs[i].name,
                                            .role = BUFFER_OUTPUT,
                                            .size_bytes = node_bytes(node),
                                            .type = node->dtype};
    }
    for (int i = 0; i < p->graph.n_dims; i++) {
        names[i] = p->graph.dims[i].name;
        sizes[i] = p->graph.dims[i].size;
    }
    j->context = (struct plan_context){.dim_names = names,
                                       .dim_sizes = sizes,
                                       .n_dims = p->graph.n_dims,
                                       .n_threads = j->settings.n_threads,
                                       .buffers = buffers,
                                       .n_buffers = n,
                                       .is_gpu = j->settings.is_gpu};
}

static void draw(struct judge *j, uint64_t seed) {
    rng_init_secret(&j->shown, seed, 0);
    rng_init_secret(&j->hidden, seed, 1);
    oracle_reset(&j->oracle);
    oracle_init(&j->oracle, j->problem, rng_next(&j->shown));
    j->oracle.n_threads = j->settings.n_threads;
    j->digest_seed = rng_next(&j->hidden);
    j->ranking_sets = 0;
    verify_draw(j);
    for (int i = 0; i < SLOTS_MAX; i++) {
        j->slot_set[i] = -1;
        j->slot_used[i] = i;
    }
    j->n_used = SLOTS_MAX;
}

bool judge_open(struct judge *j, const struct problem *p, const struct judge_settings *settings,
                struct error *err) {
    *j = (struct judge){.problem = p, .settings = *settings};
    j->device = settings->is_gpu ? &judge_device_gpu : &judge_device_cpu;
    fill_context(j);
    lease_open(&j->lease, settings->lease);
    draw(j, settings->seed ? settings->seed : rng_entropy());
    struct stretch opening = judge_begin(j);
    bool ok = j->device->open(j, err);
    judge_end(j, PHASE_OPEN, opening);
    if (!ok)
        judge_close(j);
    return ok;
}

static void close_baseline(struct judge *j) {
    if (j->baseline)
        subject_close(j, j->baseline);
    free(j->baseline);
    j->baseline = NULL;
}

void judge_close(struct judge *j) {
    judge_close_races(j);
    close_baseline(j);
    oracle_reset(&j->oracle);
    j->device->close(j);
    lease_close(&j->lease);
    arena_reset(&j->arena);
}

void judge_try_null(struct judge *j, enum oracle_set set, struct null_kernels *t) {
    void *inputs[INPUTS_MAX];
    for (int i = 0; i < j->problem->n_inputs; i++) {
        inputs[i] = malloc((size_t)j->context.buffers[i].size_bytes);
        if (!inputs[i])
            abort();
        oracle_fill(&j->oracle, set, i, inputs[i]);
    }
    null_kernels_try(&j->oracle, set, (const void *const *)inputs, t);
    for (int i = 0; i < j->problem->n_inputs; i++)
        free(inputs[i]);
}

bool judge_is_fit(struct judge *j) {
    const char *fault = j->oracle.sets[SET_DECLARED].fault;
    if (fault[0] && j->unfit.kind == ERROR_NONE)
        error_set(&j->unfit, ERROR_PARSE,
                  "problem %s: on inputs as it declares them, %s: no kernel can be judged by that",
                  j->problem->name, fault);
    return !fault[0];
}

const char *judge_find_null_kernel(struct judge *j) {
    struct null_kernels t;
    null_kernels_start(&t);
    for (int set = 0; set < SET_DRAWN && t.passing; set++) {
        j->device->compute_expected(j, 1U << set);
        if (!judge_is_fit(j))
            return NULL;
        if (!(oracle_faulty(&j->oracle) >> set & 1))
            j->device->try_null(j, (enum oracle_set)set, &t);
    }
    return null_kernels_text(&t);
}

// A candidate that is a few times as slow as the interpreter still comes to an end.
int64_t judge_timeout_ns(const struct judge *j) {
    double s = fmax(1000 * j->settings.limit_s, 4 * j->truth_s);
    return (int64_t)(1e9 * (s > 2 ? fmin(s, 60) : 2));  // also when it is not known
}

void judge_blame_baseline(struct arena *a, const char *what, const struct verdict *why,
                          struct verdict *v) {
    // Killed from outside, say: that is nobody's fault, and worth another try.
    bool is_accident = why->kind == VERDICT_INFRA && !why->rule;
    v->evidence = arena_printf(a, "%s: %s: %s", what, verdict_kind_name(why->kind), why->evidence);
    v->kind = VERDICT_INFRA;
    v->rule = is_accident ? NULL : "baseline";
}

static bool is_baseline(const struct judge *j, const struct candidate *c) {
    return j->baseline && strcmp(j->baseline->candidate.hash, c->hash) == 0 &&
           j->device->is_alive(j->baseline);
}

static bool begin_baseline(struct judge *j, struct arena *a, const struct candidate *c,
                           struct verdict *v, struct error *err) {
    if (is_baseline(j, c))
        return true;
    close_baseline(j);
    j->baseline = calloc(1, sizeof *j->baseline);
    if (!j->baseline)
        abort();
    return subject_begin(j, a, c, j->baseline, v, err);
}

// Begin with the baseline while the candidate is compiled. What goes wrong is said when it is
// opened.
static void expect_baseline(struct judge *j, struct arena *a, const struct candidate *c) {
    struct verdict v = {.evidence = ""};
    struct error ignored = {0};
    if (j->device->begin && (!begin_baseline(j, a, c, &v, &ignored) || v.kind != VERDICT_OK))
        close_baseline(j);
}

static bool open_baseline(struct judge *j, struct arena *a, const struct candidate *c,
                          struct verdict *v, struct error *err) {
    struct eval_result result = {.verdict = {.evidence = ""}};
    bool ok = begin_baseline(j, a, c, &result.verdict, err);
    if (ok && j->baseline->is_verified)
        return true;
    if (ok && result.verdict.kind == VERDICT_OK && !j->baseline->is_loaded)
        ok = subject_load(j, a, j->baseline, &result, err);
    if (!ok) {
        close_baseline(j);
        return false;
    }
    // It is a reference, not a suspect: that it works on the timed data is enough.
    if (result.verdict.kind == VERDICT_OK)
        verify(j, a, j->baseline, EVAL_SCREEN, &result.verdict);
    j->baseline->is_verified = result.verdict.kind == VERDICT_OK;
    if (j->baseline->is_verified)
        return true;
    close_baseline(j);
    judge_blame_baseline(a, arena_printf(a, "the baseline '%s' cannot be timed", c->label),
                         &result.verdict, v);
    return true;
}

bool judge_open_incumbent(struct judge *j, struct arena *a, const struct candidate *c,
                          struct verdict *v, struct error *err) {
    struct eval_result result = {.verdict = {.evidence = ""}};
    bool ok = begin_baseline(j, a, c, &result.verdict, err);
    if (ok && result.verdict.kind == VERDICT_OK && !j->baseline->is_loaded)
        ok = subject_load(j, a, j->baseline, &result, err);
    *v = result.verdict;
    if (!ok || v->kind != VERDICT_OK)
        close_baseline(j);
    return ok;
}

// Load on the machine only ever adds to a time: one call in ten below the limit is enough.
static void check_physics(const struct judge *j, struct arena *a, const struct measurement *m,
                          struct verdict *v) {
    double limit_s = j->settings.limit_s, reach_s = j->settings.reach_s, time_s = m->median_s;
    double low_s = stats_quantile(m->subject_s, m->n_pairs, 0.1);
    if (low_s < 0.98 * limit_s) {
        v->kind = VERDICT_SUSPECT;
        v->rule = "faster-than-light";
        v->evidence =
            arena_printf(a, "%s is below the physical limit of %s", clock_duration(a, low_s * 1e9),
                         clock_duration(a, limit_s * 1e9));
    } else if (time_s < 0.5 * reach_s) {
        v->kind = VERDICT_SUSPECT;
        v->rule = "far-beyond-reach";
        v->evidence =
            arena_printf(a, "%s is less than half of the %s within reach here",
                         clock_duration(a, time_s * 1e9), clock_duration(a, reach_s * 1e9));
    }
}

static void note_varied(struct arena *a, const struct subject *s, struct verdict *v) {
    if (s->n_varied)
        v->evidence = arena_printf(a,
                                   "not deterministic: %d of %d calls gave other bits than before "
                                   "on equal inputs, within limits; the problem says order any",
                                   s->n_varied, s->n_calls);
}

// Once the verdict stands and everything else about the subject is known. It may cost the runner.
static void measure_energy(struct judge *j, struct arena *a, const struct eval_job *job,
                           struct subject *s, struct eval_result *result) {
    if (!j->device->measure_energy || result->verdict.kind != VERDICT_OK || !(job->energy_s > 0))
        return;
    lease_take(&j->lease, judge_lease_wait_s);
    struct stretch measuring = judge_begin(j);
    j->device->measure_energy(j, a, s, job->depth == EVAL_ENERGY ? j->baseline : NULL,
                              job->energy_s, &result->measurement);
    judge_end(j, PHASE_ENERGY, measuring);
    lease_release(&j->lease);
}

static bool judge_subject(struct judge *j, struct arena *a, const struct eval_job *job,
                          struct subject *s, struct eval_result *result, struct error *err) {
    struct verdict *v = &result->verdict;
    const struct candidate *baseline = job->baseline ? job->baseline : job->candidate;
    j->sets_wanted = verify_sets(j, job->depth);
    if (!subject_begin(j, a, job->candidate, s, v, err))
        return false;
    if (v->kind != VERDICT_OK)
        return true;
    if (job->depth != EVAL_VERIFY)
        expect_baseline(j, a, baseline);
    if (!subject_load(j, a, s, result, err))
        return false;
    if (v->kind != VERDICT_OK)
        return true;
    int64_t start_ns = clock_now_ns();
    bool ok = verify(j, a, s, job->depth, v);
    result->verify_s = since(start_ns);
    if (ok)
        note_varied(a, s, v);
    if (!ok || job->depth == EVAL_VERIFY)
        return true;
    if (!open_baseline(j, a, baseline, v, err))
        return false;
    if (v->kind != VERDICT_OK)
        return true;
    double waited_s = lease_take(&j->lease, judge_lease_wait_s);
    bool is_alone = j->lease.is_held;
    struct stretch timing = judge_begin(j);
    ok = time_against(j, a, s, j->baseline, job, result);
    lease_release(&j->lease);
    result->timing_s = since(timing.start_ns);
    judge_end(j, PHASE_TIME, timing);
    v->n_calls = s->n_calls;
    if (!ok)
        return true;
    note_varied(a, s, v);
    v->timed_calls_checked = true;
    check_physics(j, a, &result->measurement, v);
    if (v->kind == VERDICT_OK && j->device->audit)
        j->device->audit(j, a, s, v);
    j->device->describe(j, a, s, result);
    result->measurement.method =
        arena_printf(a, "%s; inputs drawn for each call, %lld elements of these verified",
                     result->measurement.method, (long long)s->n_spots);
    if (waited_s > 0.001)
        profile_set(&result->profile, METRIC_LEASE_WAIT, waited_s);
    if (!is_alone)
        result->measurement.method =
            arena_printf(a, "%s; no lease on the device: others may have timed meanwhile",
                         result->measurement.method);
    measure_energy(j, a, job, s, result);
    return true;
}

bool judge_candidate(struct judge *j, struct arena *a, const struct eval_job *job,
                     struct eval_result *result, struct error *err) {
    *result =
        (struct eval_result){.verdict = {.evidence = "", .error = {NAN, NAN, NAN, NAN, NAN, NAN}}};
    if (job->depth == EVAL_CONFIRM) {
        close_baseline(j);
        draw(j, rng_next(&j->hidden));
        j->device->forget(j);
    } else {
        verify_draw(j);
    }
    struct subject *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    bool ok = judge_subject(j, a, job, s, result, err);
    subject_close(j, s);
    free(s);
    if (j->restart_s > 0)
        profile_set(&result->profile, METRIC_RESTART, j->restart_s);
    j->restart_s = 0;
    memcpy(result->phase_s, j->phase_s, sizeof result->phase_s);
    memset(j->phase_s, 0, sizeof j->phase_s);
    const struct error *own = j->broken.kind != ERROR_NONE ? &j->broken : &j->unfit;
    if (ok && own->kind != ERROR_NONE) {
        *err = *own;
        return false;
    }
    return ok;
}
