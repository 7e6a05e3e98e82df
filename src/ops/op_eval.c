// Candidate, baseline, target and evaluator (local or behind a spool), then one judgement, its
// findings, and the report as text and JSON; pairs and lists of candidates over the same.
#include "ops/op_eval.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/str.h"
#include "eval/pairs.h"
#include "family/lower.h"
#include "family/source_plan.h"
#include "ops/candidate_file.h"
#include "ops/library_candidate.h"
#include "ops/op_machine.h"
#include "ops/op_problem.h"
#include "ops/op_resolution.h"
#include "ops/op_spool.h"
#include "record/plan.h"
#include "spool/place_spool.h"
#include "tools/tool.h"

enum { ACTIONS_SHOWN = 3 };

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
    // Where there is no plain, a candidate without a baseline is timed beside itself.
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

// The compiler is given a copy under a name of ours; whoever reads its messages knows another.
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
    evaluator_close(e);
    return ok;
}

const char *op_eval_pair_text(struct arena *a, const struct eval_report reports[2]) {
    const struct measurement *m = &reports[0].result.measurement;
    const char *first = reports[0].candidate.label, *second = reports[1].candidate.label;
    int order = measurement_compare(m);
    if (!m->present)
        return "they cannot be compared: a kernel that is not correct has no speed";
    if (order == 0)
        return arena_printf(a,
                            "no difference between %s and %s is resolved: %.3gx, between %.3gx "
                            "and %.3gx",
                            first, second, m->speedup, m->speedup_low, m->speedup_high);
    bool is_first = order > 0;
    return arena_printf(a, "%s is faster than %s: %.3gx, between %.3gx and %.3gx",
                        is_first ? first : second, is_first ? second : first,
                        is_first ? m->speedup : 1 / m->speedup,
                        is_first ? m->speedup_low : 1 / m->speedup_high,
                        is_first ? m->speedup_high : 1 / m->speedup_low);
}

// Where the time went; what is left over is starting processes and talking to them.
static json_t *phases_json(const struct eval_report *r) {
    json_t *phases = json_pack("{s:f, s:f, s:f}", "prepare", r->prepare_s, "null_kernel", r->null_s,
                               "close", r->close_s);
    double other = r->seconds - r->prepare_s - r->null_s - r->close_s;
    for (int i = 0; i < PHASE_COUNT; i++) {
        json_object_set_new(phases, eval_phase_names[i], json_real(r->result.phase_s[i]));
        other -= r->result.phase_s[i];
    }
    json_object_set_new(phases, "other", json_real(other));
    return phases;
}

// Which difference this comparison could have resolved.
static double resolved_by(const struct measurement *m) {
    return pairs_resolution((m->speedup_high - m->speedup_low) / 2 / m->speedup);
}

static json_t *resolution_json(const struct eval_report *r) {
    const struct measurement *m = &r->result.measurement;
    if (r->resolution <= 0)
        return json_null();
    return json_pack("{s:f, s:o}", "asked", r->resolution, "told",
                     json_optional_real(m->present ? resolved_by(m) : NAN));
}

json_t *op_eval_json(const struct eval_report *r) {
    json_t *findings = json_array();
    for (int i = 0; i < r->n_findings; i++)
        json_array_append_new(findings, finding_to_json(&r->findings[i]));
    json_t *seed = json_null();
    if (r->seed)
        seed = json_sprintf("%llu", (unsigned long long)r->seed);
    json_t *degenerate = r->is_null_known ? json_boolean(r->null_kernel != NULL) : json_null();
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o}",
        "schema", "hone.eval/1", "problem", r->problem->name, "target", r->target.name, "device",
        r->target.device, "candidate", r->candidate.label, "hash",
        json_optional_text(r->candidate.hash), "seed", seed, "degenerate", degenerate,
        "null_kernel", json_optional_text(r->null_kernel), "verdict",
        verdict_to_json(&r->result.verdict), "measurement",
        measurement_to_json(&r->result.measurement), "resolution", resolution_json(r), "profile",
        profile_to_json(&r->result.profile), "findings", findings, "bound",
        bound_to_json(&r->bound), "seconds", r->seconds, "phases", phases_json(r));
}

json_t *op_eval_pair_json(struct arena *a, const struct eval_report reports[2]) {
    const struct measurement *m = &reports[0].result.measurement;
    int order = m->present ? measurement_compare(m) : 0;
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "hone.compare/1",
                     "first", op_eval_json(&reports[0]), "second", op_eval_json(&reports[1]),
                     "faster",
                     json_optional_text(order > 0   ? "first"
                                        : order < 0 ? "second"
                                                    : NULL),
                     "speedup", json_optional_real(m->present ? m->speedup : NAN), "low",
                     json_optional_real(m->present ? m->speedup_low : NAN), "high",
                     json_optional_real(m->present ? m->speedup_high : NAN), "words",
                     json_optional_text(op_eval_pair_text(a, reports)));
}

// Lines after the first are set in by two.
static void put_evidence(struct str *s, const char *evidence) {
    for (const char *c = evidence; *c; c++) {
        str_append(s, c, 1);
        if (*c == '\n' && c[1])
            str_puts(s, "  ");
    }
    str_puts(s, "\n");
}

// With the difference that was asked for.
static void put_resolved(struct str *s, const struct measurement *m, double asked) {
    double resolved = resolved_by(m);
    str_printf(s, "  resolves  differences of %.2g%% and more, ", 100 * resolved);
    str_printf(s,
               resolved <= asked
                   ? "%.3g%% was asked for\n"
                   : "not the %.3g%% asked for: more --seconds, or a quieter machine\n",
               100 * asked);
}

static void put_time(struct arena *a, struct str *s, const struct eval_report *r) {
    const struct measurement *m = &r->result.measurement;
    str_printf(s, "  time      %s", clock_duration(a, m->median_s * 1e9));
    if (isfinite(r->bound.reach_s))
        str_printf(s, ", %s of reach (%s%s)", str_percent(a, r->bound.reach_s / m->median_s),
                   clock_duration(a, r->bound.reach_s * 1e9),
                   !ceilings_are_unsure(&r->target.ceilings)
                       ? ""
                       : arena_printf(a, ", uncertain: hone calibrate had a spread of %.0f%%",
                                      100 * ceilings_spread(&r->target.ceilings)));
    if (isfinite(r->bound.light_s))
        str_printf(s, ", %s of the speed of light (%s)",
                   str_percent(a, r->bound.light_s / m->median_s),
                   clock_duration(a, r->bound.light_s * 1e9));
    str_printf(s, "\n  bound     %s\n", bound_line(a, &r->bound));
    int order = measurement_compare(m);
    str_printf(s, "  speed-up  %.3gx over %s (%s), between %.3gx and %.3gx: %s\n", m->speedup,
               m->baseline, clock_duration(a, m->baseline_median_s * 1e9), m->speedup_low,
               m->speedup_high,
               order > 0   ? "faster"
               : order < 0 ? "slower"
                           : "no difference is resolved");
    str_printf(s, "  measured  %d pairs", m->n_pairs);
    if (m->n_dropped)
        str_printf(s, ", %d disturbed ones left out", m->n_dropped);
    str_printf(s, ", %.3g%% confidence; %s\n", 100 * m->confidence, m->method);
    if (m->clocks)
        str_printf(s, "  clocks    %s\n", m->clocks);
    if (m->energy.present)
        str_printf(s, "  energy    %s\n", energy_text(a, &m->energy));
    if (r->resolution > 0)
        put_resolved(s, m, r->resolution);
    struct resolution resolution;
    op_resolution_load(a, &r->target, &resolution);
    if (resolution.present)
        str_printf(s, "  resolves  %s here, of a call of %s\n", op_resolution_text(a, &resolution),
                   clock_duration(a, resolution.call_s * 1e9));
}

// What the driver and the assembler say about the largest launch of a GPU's candidate.
static void put_resources(struct str *s, const struct profile *p) {
    static const struct {
        enum metric_id metric;
        const char *words;
    } rows[] = {{METRIC_BLOCKS, "blocks"},           {METRIC_BLOCK_THREADS, "threads each"},
                {METRIC_REGISTERS, "registers"},     {METRIC_SHARED_BYTES, "bytes shared"},
                {METRIC_LOCAL_BYTES, "bytes local"}, {METRIC_SPILL_BYTES, "bytes spilled"}};
    double occupancy = profile_get(p, METRIC_OCCUPANCY);
    const char *between = "  launch    ";
    if (isnan(profile_get(p, METRIC_BLOCK_THREADS)))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double value = profile_get(p, rows[i].metric);
        if (isnan(value))
            continue;
        str_printf(s, "%s%.0f %s", between, value, rows[i].words);
        between = ", ";
    }
    if (isfinite(occupancy))
        str_printf(s, "; occupancy %.0f%%", 100 * occupancy);
    str_puts(s, "\n");
}

static void put_launches(struct arena *a, struct str *s, const struct profile *p) {
    const char *words = profile_launch_text(a, p);
    if (*words)
        str_printf(s, "  launches  %s\n", words);
}

static void put_findings(struct arena *a, struct str *s, const struct eval_report *r) {
    for (int i = 0; i < r->n_findings; i++) {
        const struct finding *f = &r->findings[i];
        bool has_name = f->launch && r->result.profile.n_launches > 1;
        str_printf(s, "  %-9s %s%s%s (%s): %s; %s", i == 0 ? "findings" : "", f->tool,
                   has_name ? " in " : "", has_name ? f->launch : "", finding_weight(a, f),
                   f->cause, f->evidence);
        if (f->expected_gain > 1.005)
            str_printf(s, "; worth up to %.2fx", f->expected_gain);
        str_puts(s, "\n");
        for (int k = 0; k < f->n_actions && k < ACTIONS_SHOWN; k++)
            str_printf(s, "%*s- %s\n", 14, "", action_text(a, &f->actions[k]));
    }
}

// How to see it again: of a verdict on calls that went wrong.
static void put_repeat(struct str *s, const struct eval_report *r) {
    const struct verdict *v = &r->result.verdict;
    bool is_about_calls = v->kind == VERDICT_CRASH || v->kind == VERDICT_TIMEOUT ||
                          (verdict_is_of_calls(v) && v->kind != VERDICT_OK);
    if (r->seed && is_about_calls)
        str_printf(s, "  repeat    --seed %llu draws these inputs again\n",
                   (unsigned long long)r->seed);
}

// How long a part took; a part that did not happen, or came out of the cache, has no time.
static const char *part(struct arena *a, double seconds) {
    return seconds > 0 ? clock_duration(a, seconds * 1e9) : "not timed";
}

static int count_words(const char *const *words) {
    int n = 0;
    while (words[n])
        n++;
    return n;
}

// What a probe was refused in the sandbox that the candidate ran in; by name only what was not.
static void put_sandbox(struct str *s, const struct verdict *v) {
    if (!v->refused || !v->allowed)
        return;
    int n_refused = count_words(v->refused), n_allowed = count_words(v->allowed);
    str_printf(s, "  sandbox   level %d; a probe was refused %d of %d forbidden things",
               v->sandbox_level, n_refused, n_refused + n_allowed);
    for (int i = 0; i < n_allowed; i++)
        str_printf(s, "%s%s", i ? ", " : ", but not: ", v->allowed[i]);
    str_puts(s, "\n");
}

const char *op_eval_text(struct arena *a, const struct eval_report *r) {
    const struct verdict *v = &r->result.verdict;
    struct str s = {0};
    str_printf(&s, "%s on %s (%s)\n", r->problem->name, r->target.name, r->target.device);
    if (r->null_kernel)
        str_printf(
            &s,
            "  degenerate: a kernel that does no more than %s would pass on every input set, "
            "so a\n  verdict on this problem says nothing\n",
            r->null_kernel);
    str_printf(&s, "%s: %s%s%s%s%s\n", r->candidate.label, verdict_kind_name(v->kind),
               v->rule ? " (" : "", v->rule ? v->rule : "", v->rule ? ")" : "",
               r->null_kernel ? ", on a degenerate problem" : "");
    if (*v->evidence) {
        str_puts(&s, "  ");
        put_evidence(&s, v->evidence);
    }
    if (v->kind == VERDICT_OK || v->kind == VERDICT_SUSPECT)
        str_printf(&s,
                   "  correct   %d calls on %d input sets; error %.3g of the %.3g allowed "
                   "(honest f32: %.3g)\n",
                   v->n_calls, v->n_sets, v->error.max, v->error.limit_max, v->error.honest_max);
    if (r->result.measurement.present)
        put_time(a, &s, r);
    put_resources(&s, &r->result.profile);
    put_launches(a, &s, &r->result.profile);
    put_findings(a, &s, r);
    double restart_s = profile_get(&r->result.profile, METRIC_RESTART);
    if (isfinite(restart_s))
        str_printf(&s, "  restart   %s from the loss of a runner to the first call after it\n",
                   clock_duration(a, restart_s * 1e9));
    put_repeat(&s, r);
    put_sandbox(&s, v);
    str_printf(&s, "  took      %s (compile %s, verify %s, time %s)\n",
               clock_duration(a, r->seconds * 1e9), part(a, r->result.compile_s),
               part(a, r->result.verify_s), part(a, r->result.timing_s));
    return str_take(a, &s);
}

// The target that a scaffold is written for; tier D needs no GPU to be written.
static bool scaffold_target(struct arena *a, const struct scaffold_request *q, struct target *t,
                            struct error *err) {
    // Without a tier or a target the file that it is written to decides, and then the default.
    bool asks = !q->tier && !q->target && q->output;
    bool wants_c = q->tier ? strcmp(q->tier, "C") == 0 : asks && str_ends_with(q->output, ".c");
    bool wants_d = q->tier ? strcmp(q->tier, "D") == 0 : asks && str_ends_with(q->output, ".cu");
    if (q->tier && !wants_c && !wants_d)
        return error_set(err, ERROR_USAGE,
                         "unknown tier '%s'; a scaffold is C for the CPU or D, CUDA", q->tier);
    const char *by_tier = wants_d ? "sm_90a" : wants_c ? "cpu" : NULL;
    if (!op_code_target(a, q->target ? q->target : by_tier, t, err))
        return false;
    if ((wants_c && t->is_gpu) || (wants_d && !t->is_gpu))
        return error_set(err, ERROR_USAGE, "tier %s is not for target %s", q->tier, q->target);
    return true;
}

bool op_scaffold(struct arena *a, const struct scaffold_request *q, const char **source,
                 struct error *err) {
    struct loaded loaded;
    struct target t;
    if (!op_load(a, q->problem, q->dims, &loaded, err) || !scaffold_target(a, q, &t, err))
        return false;
    *source = lower_scaffold(a, loaded.problem, &t);
    return true;
}
