// Candidate, baseline, target and evaluator (local or behind a spool), then one judgement and its
// findings; pairs and lists of candidates over the same. op_eval_text.c says what came of it.
#include "ops/op_eval.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/str.h"
#include "family/source_plan.h"
#include "ops/candidate_file.h"
#include "ops/library_candidate.h"
#include "ops/op_machine.h"
#include "ops/op_problem.h"
#include "ops/op_spool.h"
#include "record/plan.h"
#include "spool/place_spool.h"
#include "tools/tool.h"

static bool read_candidate(struct arena *a, const char *name, struct eval_report *r,
                           struct error *err) {
    struct candidate_name n = {.name = name, .problem = r->problem, .target = &r->target};
    struct candidate_file f;
    if (!candidate_file_read(a, &n, &f, err))
        return false;
    r->candidate = f.candidate;
    r->refusal = f.refusal;
    r->refused_as = f.refused_as;
    return true;
}

static bool read_baseline(struct arena *a, const char *name, struct eval_report *r,
                          struct error *err) {
    struct candidate_name n = {.name = name, .problem = r->problem, .target = &r->target};
    struct candidate_file f;
    if (!candidate_file_read(a, &n, &f, err))
        return false;
    if (f.refusal)
        return error_set(err, ERROR_USAGE, "baseline %s: %s", name, f.refusal);
    r->baseline = f.candidate;
    return true;
}

// What the candidates are lowered for. Through a spool a CPU is taken to be like ours and an
// architecture to be like its first card, so that a question is the same before and after an
// answer came; only `cuda` asks what the workers have.
static bool find_target(struct arena *a, const struct eval_request *q, const struct problem *p,
                        struct target *t, struct error *err) {
    const char *name = q->target;
    if (!name && !candidate_file_target(a, q->candidate, p, &name, err))
        return false;
    if (!q->spool || (name && strcmp(name, "cpu") == 0))
        return op_target(a, name, t, err);
    return (name && target_of_arch(name, t)) ||
           op_spool_target(a, &(struct spool_want){q->spool, name, q->wait_s}, t, err);
}

static bool prepare(struct arena *a, const struct eval_request *q, struct eval_report *r,
                    struct error *err) {
    struct loaded loaded;
    *r = (struct eval_report){.depth = q->depth, .resolution = q->resolution};
    if (!op_load(a, q->problem, q->dims, &loaded, err) ||
        !find_target(a, q, loaded.problem, &r->target, err))
        return false;
    r->problem = loaded.problem;
    if (q->is_warm && r->target.is_gpu)
        return error_set(err, ERROR_USAGE, "--warm is for a CPU; a GPU is timed cold");
    bound_compute(r->problem, &r->target, &r->bound);
    // Where there is no plain, a candidate without a baseline is timed against itself.
    const char *baseline = q->baseline ? q->baseline : op_has_default(r->problem) ? "plain" : NULL;
    return read_candidate(a, q->candidate, r, err) &&
           (q->depth == EVAL_VERIFY || !baseline || read_baseline(a, baseline, r, err));
}

static struct spool_spec spool_of(const struct eval_request *q, const struct eval_report *r) {
    return (struct spool_spec){.dir = q->spool,
                               .problem = r->problem,
                               .target = &r->target,
                               .wait_s = q->wait_s,
                               .seed = q->seed};
}

static bool open_evaluator(const struct eval_request *q, struct eval_report *r,
                           struct evaluator **e, struct error *err) {
    struct spool_spec spec = spool_of(q, r);
    if (q->spool)
        return evaluator_open_spool(e, &spec, err);
    // The judge lets data go out of a last level cache of this size between two calls.
    int64_t llc_bytes = r->target.llc_bytes;
    r->target.llc_bytes = q->is_warm ? -1 : llc_bytes;
    // Drawn here, after the candidate was read, so that the verdict can say how to repeat it.
    r->seed = q->seed ? q->seed : rng_entropy() >> 1 | 1;
    bool ok = evaluator_open(e, r->problem, &r->target, r->seed, err);
    r->target.llc_bytes = llc_bytes;
    return ok;
}

bool op_eval_open(struct arena *a, const struct eval_request *q, struct eval_report *r,
                  struct evaluator **e, struct error *err) {
    if (!prepare(a, q, r, err))
        return false;
    if (r->refusal)
        return error_set(err, ERROR_PARSE, "%s: %s", verdict_kind_name(r->refused_as), r->refusal);
    return open_evaluator(q, r, e, err);
}

static struct eval_job job_of(const struct eval_request *q, const struct eval_report *r) {
    return (struct eval_job){.candidate = &r->candidate,
                             .baseline = r->baseline.source ? &r->baseline : NULL,
                             .depth = q->depth,
                             .seconds = q->seconds,
                             .resolution = q->resolution,
                             .energy_s = q->energy_s};
}

// The device that judged, and its bound, in place of what we took it to be.
static bool take_target(struct arena *a, const struct evaluator *e, struct eval_report *r,
                        struct error *err) {
    json_t *json = target_to_json(evaluator_target(e));
    bool ok = target_from_json(a, json, &r->target, err);
    json_decref(json);
    if (ok)
        bound_compute(r->problem, &r->target, &r->bound);
    return ok;
}

bool op_eval_post(struct arena *a, const struct eval_request *q, char *id, bool *is_answered,
                  struct error *err) {
    struct eval_report r;
    if (!prepare(a, q, &r, err))
        return false;
    if (r.refusal)
        return error_set(err, ERROR_USAGE, "%s: %s", q->candidate, r.refusal);
    struct spool_spec spec = spool_of(q, &r);
    struct eval_job job = job_of(q, &r);
    return evaluator_post(&spec, &job, id, is_answered, err);
}

static void explain(struct arena *a, struct eval_report *r) {
    struct tool_input in = {.problem = r->problem,
                            .target = &r->target,
                            .bound = &r->bound,
                            .candidate = &r->candidate,
                            .profile = &r->result.profile};
    if (r->result.measurement.present)
        r->n_findings = tools_examine(a, &in, r->findings, NODE_FINDINGS_MAX);
}

static double since(int64_t start_ns) {
    return (double)(clock_now_ns() - start_ns) * 1e-9;
}

// Is the problem degenerate? One whose candidate was never called is not asked about: what is
// expected would have to be computed for that alone.
static void label(struct arena *a, struct evaluator *e, struct eval_report *r) {
    struct verdict *v = &r->result.verdict;
    if (!verdict_is_of_calls(v) && v->kind != VERDICT_OK)
        return;
    struct error ignored = {0};  // then it has no label
    const char *null_kernel;
    r->is_null_known = evaluator_null_kernel(e, &null_kernel, &ignored);
    r->null_kernel = null_kernel ? arena_strdup(a, null_kernel) : NULL;
    v->null_kernel = r->null_kernel;
}

// The compiler is given a copy under a name of ours; readers of its messages know another.
static void name_file(struct arena *a, struct eval_report *r) {
    const char *ours = r->candidate.tier == TIER_D ? "candidate.cu" : "candidate.c";
    struct verdict *v = &r->result.verdict;
    struct str s = {0};
    if (r->candidate.tier == TIER_K || v->kind != VERDICT_NO_COMPILE || !strstr(v->evidence, ours))
        return;
    for (const char *at = v->evidence; *at;) {
        const char *next = strstr(at, ours);
        str_append(&s, at, next ? (size_t)(next - at) : strlen(at));
        if (!next)
            break;
        str_puts(&s, r->candidate.label);
        at = next + strlen(ours);
    }
    v->evidence = str_take(a, &s);
}

static bool judge(struct arena *a, const struct eval_request *q, struct evaluator *e,
                  struct eval_report *r, struct error *err) {
    if (r->refusal) {
        r->result = (struct eval_result){.verdict = {.kind = r->refused_as,
                                                     .evidence = r->refusal,
                                                     .error = {NAN, NAN, NAN, NAN, NAN, NAN}}};
        return true;
    }
    struct eval_job job = job_of(q, r);
    bool ok = evaluator_judge(e, a, &job, &r->result, err);
    if (ok && q->spool && r->result.verdict.kind != VERDICT_INFRA)
        ok = take_target(a, e, r, err);
    int64_t start_ns = clock_now_ns();
    if (ok)
        label(a, e, r);
    r->null_s = since(start_ns);
    if (ok) {
        name_file(a, r);
        explain(a, r);
    }
    return ok;
}

static void log_phases(const struct eval_report *r) {
    struct str s = {0};
    for (int i = 0; i < PHASE_COUNT; i++)
        str_printf(&s, ", %s %.3f", eval_phase_names[i], r->result.phase_s[i]);
    log_debug("phases in seconds: all %.3f, prepare %.3f%s, null_kernel %.3f, close %.3f",
              r->seconds, r->prepare_s, str_text(&s), r->null_s, r->close_s);
    str_reset(&s);
}

bool op_eval(struct arena *a, const struct eval_request *q, struct eval_report *r,
             struct error *err) {
    int64_t start_ns = clock_now_ns();
    struct evaluator *e;
    if (!prepare(a, q, r, err))
        return false;
    r->prepare_s = since(start_ns);
    if (!open_evaluator(q, r, &e, err))
        return false;
    bool ok = judge(a, q, e, r, err);
    int64_t closing_ns = clock_now_ns();
    evaluator_close(e);
    r->close_s = since(closing_ns);
    r->seconds = since(start_ns);
    log_phases(r);
    return ok;
}

bool op_eval_library_absent(struct arena *a, const struct eval_request *q, const char **why,
                            struct error *err) {
    struct eval_request ask = *q;
    struct eval_report r;
    struct candidate c;
    struct error absent = {0};
    ask.depth = EVAL_VERIFY;  // no baseline is needed
    *why = NULL;
    if (!prepare(a, &ask, &r, err))
        return false;
    if (!library_candidate(a, r.problem, &r.target, &c, &absent))
        *why = arena_strdup(a, absent.text);
    return true;
}

// Every file is read before the first candidate is judged, and a plan that breaks a rule is told
// then: the others may take minutes. Its verdict comes in its turn.
static bool read_all(struct arena *a, const struct eval_list *list, struct eval_report *reports,
                     struct error *err) {
    for (int i = 0; i < list->n_candidates; i++)
        if (!read_candidate(a, list->candidates[i], &reports[i], err))
            return false;
    for (int i = 0; i < list->n_candidates && list->on_illegal; i++) {
        struct eval_report *r = &reports[i];
        struct plan plan;
        struct error why = {0};
        if (!r->refusal && !candidate_plan(a, r->problem, &r->target, &r->candidate, &plan, &why))
            list->on_illegal(list->candidates[i], why.text, list->ctx);
    }
    return true;
}

bool op_eval_each(struct arena *a, const struct eval_request *q, const struct eval_list *list,
                  struct error *err) {
    struct eval_report r, *reports = arena_array(a, struct eval_report, list->n_candidates);
    struct evaluator *e;
    for (int i = 0; i < list->n_candidates; i++)
        if (!candidate_file_is_there(list->candidates[i], err))
            return false;
    if (!prepare(a, q, &r, err))
        return false;
    // One baseline for all, so that they can be ranked.
    if (q->depth != EVAL_VERIFY && !r.baseline.source && !r.refusal)
        r.baseline = r.candidate;
    for (int i = 0; i < list->n_candidates; i++)
        reports[i] = (struct eval_report){.problem = r.problem,
                                          .target = r.target,
                                          .bound = r.bound,
                                          .baseline = r.baseline,
                                          .depth = r.depth,
                                          .resolution = r.resolution};
    if (!read_all(a, list, reports, err) || !open_evaluator(q, &r, &e, err))
        return false;
    bool ok = true;
    for (int i = 0; i < list->n_candidates && ok; i++) {
        int64_t start_ns = clock_now_ns();
        if (list->on_start)
            list->on_start(list->candidates[i], list->ctx);
        reports[i].seed = r.seed;
        ok = judge(a, q, e, &reports[i], err);
        reports[i].seconds = since(start_ns);
        if (ok)
            list->on_report(&reports[i], list->ctx);
    }
    evaluator_close(e);
    return ok;
}

static bool is_correct(const struct eval_report *r) {
    enum verdict_kind kind = r->result.verdict.kind;
    return kind == VERDICT_OK || kind == VERDICT_SUSPECT;
}

// Where the second one failed when it was timed as the baseline, it is timed itself, for a verdict
// of its own; that is nothing against the first.
static bool settle_blame(struct arena *a, const struct eval_request *q, struct evaluator *e,
                         struct eval_report reports[2], struct error *err) {
    struct eval_request verifying = *q;
    const struct verdict *v = &reports[0].result.verdict;
    verifying.depth = EVAL_VERIFY;
    if (v->kind != VERDICT_INFRA || !v->rule || strcmp(v->rule, "baseline") != 0)
        return true;
    struct eval_report second = reports[1];
    second.baseline = reports[0].candidate;
    second.depth = q->depth;
    if (!judge(a, q, e, &second, err))
        return false;
    if (is_correct(&second))
        return true;
    reports[1] = second;
    reports[0].baseline = (struct candidate){0};
    reports[0].depth = EVAL_VERIFY;
    return judge(a, &verifying, e, &reports[0], err);
}

bool op_eval_pair(struct arena *a, const struct eval_request *q, const struct eval_list *pair,
                  struct eval_report reports[2], struct error *err) {
    struct eval_request verifying = *q, timing = *q;
    struct eval_report r;
    struct evaluator *e;
    verifying.depth = EVAL_VERIFY;
    if (!candidate_file_is_there(pair->candidates[1], err) || !prepare(a, &verifying, &r, err))
        return false;
    for (int i = 0; i < 2; i++)
        reports[i] =
            (struct eval_report){.problem = r.problem, .target = r.target, .bound = r.bound};
    if (!read_all(a, pair, reports, err) || !open_evaluator(q, &r, &e, err))
        return false;
    bool ok = true;
    for (int i = 1; i >= 0 && ok; i--) {
        int64_t start_ns = clock_now_ns();
        bool is_timed = i == 0 && is_correct(&reports[1]);
        const struct eval_request *how = is_timed ? &timing : &verifying;
        reports[i].depth = how->depth;
        reports[i].resolution = how->resolution;
        reports[i].seed = r.seed;
        if (is_timed)
            reports[i].baseline = reports[1].candidate;
        ok = judge(a, how, e, &reports[i], err);
        reports[i].seconds = since(start_ns);
    }
    ok = ok && settle_blame(a, q, e, reports, err);
    evaluator_close(e);
    return ok;
}
