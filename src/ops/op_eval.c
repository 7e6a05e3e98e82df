#include "ops/op_eval.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "family/lower.h"
#include "ops/op_machine.h"
#include "ops/op_problem.h"
#include "ops/op_spool.h"

enum { SOURCE_MAX = 4 << 20 };

static bool ends_with(const char *text, const char *end) {
    size_t len = strlen(text), n = strlen(end);
    return len >= n && strcmp(text + len - n, end) == 0;
}

// A file with a kernel block for the problem; the problem itself may stand in it as well.
static bool read_kernel(struct arena *a, const char *path, const struct eval_report *r,
                        struct candidate *c, struct error *err) {
    size_t len;
    const char *text = file_read(a, path, SOURCE_MAX, &len, err), *diagnostics;
    struct lang_file file;
    struct lang_source source = {.file = path, .text = text, .len = len};
    if (!text)
        return false;
    if (!lang_parse(a, &source, &file, &diagnostics, err))
        return error_set(err, ERROR_PARSE, "%s", diagnostics);
    struct kernel *found = NULL;
    for (int i = 0; i < file.n_kernels; i++) {
        if (strcmp(file.kernels[i]->problem, r->problem->name) != 0)
            continue;
        if (found)
            return error_set(err, ERROR_USAGE, "%s: more than one kernel for '%s'", path,
                             r->problem->name);
        found = file.kernels[i];
    }
    if (!found)
        return error_set(err, ERROR_USAGE, "%s: no kernel for '%s'", path, r->problem->name);
    return lower_kernel(a, r->problem, &r->target, found, c, err);
}

static bool read_source(struct arena *a, const char *path, struct candidate *c, struct error *err) {
    size_t len;
    const char *text = file_read(a, path, SOURCE_MAX, &len, err);
    if (!text)
        return false;
    if (strlen(text) != len)
        return error_set(err, ERROR_PARSE, "%s: holds a NUL byte", path);
    json_t *string = json_string(text);
    if (!string)
        return error_set(err, ERROR_PARSE, "%s: is not valid UTF-8", path);
    json_decref(string);
    *c = (struct candidate){.tier = tier_of_file(path), .source = text};
    candidate_seal(a, c);
    return true;
}

static bool read_candidate(struct arena *a, const char *name, const struct eval_report *r,
                           struct candidate *c, struct error *err) {
    if (strcmp(name, "plain") == 0) {
        lower_plain(a, r->problem, &r->target, c);
    } else if (strcmp(name, "default") == 0) {
        struct kernel *k = arena_new(a, struct kernel);
        lower_default(a, r->problem, &r->target, k);
        if (!lower_kernel(a, r->problem, &r->target, k, c, err))
            return false;
    } else if (ends_with(name, ".hone") ? !read_kernel(a, name, r, c, err)
                                        : !read_source(a, name, c, err)) {
        return false;
    }
    c->label = name;
    return true;
}

// What the candidates are lowered for. Through a spool a CPU is taken to be like ours and an
// architecture to be like its first card, so that a question is the same before and after an
// answer came; only `cuda` asks what the workers have.
static bool find_target(struct arena *a, const struct eval_request *q, struct target *t,
                        struct error *err) {
    const char *name = q->target ? q->target : "cpu";
    if (!q->spool || strcmp(name, "cpu") == 0)
        return op_target(a, name, t, err);
    return target_of_arch(name, t) ||
           op_spool_target(a, &(struct spool_want){q->spool, name, q->wait_s}, t, err);
}

static bool prepare(struct arena *a, const struct eval_request *q, struct eval_report *r,
                    struct error *err) {
    struct loaded loaded;
    *r = (struct eval_report){.depth = q->depth};
    if (!op_load(a, q->problem, q->dims, &loaded, err) || !find_target(a, q, &r->target, err))
        return false;
    r->problem = loaded.problem;
    bound_compute(r->problem, &r->target, &r->bound);
    return read_candidate(a, q->candidate, r, &r->candidate, err) &&
           (q->depth == EVAL_VERIFY ||
            read_candidate(a, q->rival ? q->rival : "plain", r, &r->rival, err));
}

static struct spool_spec spool_of(const struct eval_request *q, const struct eval_report *r) {
    return (struct spool_spec){.dir = q->spool,
                               .problem = r->problem,
                               .target = &r->target,
                               .wait_s = q->wait_s,
                               .seed = q->seed};
}

static bool open_evaluator(const struct eval_request *q, const struct eval_report *r,
                           struct evaluator **e, struct error *err) {
    struct spool_spec spec = spool_of(q, r);
    return q->spool ? evaluator_open_spool(e, &spec, err)
                    : evaluator_open(e, r->problem, &r->target, q->seed, err);
}

static struct eval_job job_of(const struct eval_request *q, const struct eval_report *r) {
    return (struct eval_job){.candidate = &r->candidate,
                             .rival = r->rival.source ? &r->rival : NULL,
                             .depth = q->depth,
                             .seconds = q->seconds};
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

bool op_eval_post(struct arena *a, const struct eval_request *q, char *id, struct error *err) {
    struct eval_report r;
    if (!prepare(a, q, &r, err))
        return false;
    struct spool_spec spec = spool_of(q, &r);
    struct eval_job job = job_of(q, &r);
    return evaluator_post(&spec, &job, id, err);
}

bool op_eval(struct arena *a, const struct eval_request *q, struct eval_report *r,
             struct error *err) {
    int64_t start_ns = clock_now_ns();
    struct evaluator *e;
    if (!prepare(a, q, r, err) || !open_evaluator(q, r, &e, err))
        return false;
    struct eval_job job = job_of(q, r);
    bool ok = evaluator_judge(e, a, &job, &r->result, err) &&
              (!q->spool || r->result.verdict.kind == VERDICT_INFRA || take_target(a, e, r, err));
    enum verdict_kind kind = r->result.verdict.kind;
    bool is_correct = ok && (kind == VERDICT_OK || kind == VERDICT_SUSPECT);
    const char *null_kernel = is_correct ? evaluator_null_kernel(e) : NULL;
    r->null_kernel = null_kernel ? arena_strdup(a, null_kernel) : NULL;
    evaluator_close(e);
    r->seconds = (double)(clock_now_ns() - start_ns) * 1e-9;
    return ok;
}

json_t *op_eval_json(const struct eval_report *r) {
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:f}", "schema",
                     "hone.eval/1", "problem", r->problem->name, "target", r->target.name, "device",
                     r->target.device, "candidate", r->candidate.label, "hash", r->candidate.hash,
                     "null_kernel", json_optional_text(r->null_kernel), "verdict",
                     verdict_to_json(&r->result.verdict), "measurement",
                     measurement_to_json(&r->result.measurement), "profile",
                     profile_to_json(&r->result.profile), "bound", bound_to_json(&r->bound),
                     "seconds", r->seconds);
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

static void put_time(struct arena *a, struct str *s, const struct eval_report *r) {
    const struct measurement *m = &r->result.measurement;
    str_printf(s, "  time      %s", clock_duration(a, m->median_s * 1e9));
    if (isfinite(r->bound.reach_s))
        str_printf(s, ", %.0f%% of reach (%s)", 100 * r->bound.reach_s / m->median_s,
                   clock_duration(a, r->bound.reach_s * 1e9));
    str_puts(s, "\n");
    int order = measurement_compare(m);
    str_printf(s, "  speed-up  %.3gx over %s (%s), between %.3gx and %.3gx: %s\n", m->speedup,
               m->rival, clock_duration(a, m->rival_median_s * 1e9), m->speedup_low,
               m->speedup_high,
               order > 0   ? "faster"
               : order < 0 ? "slower"
                           : "no difference can be told");
    str_printf(s, "  measured  %d pairs", m->n_pairs);
    if (m->n_dropped)
        str_printf(s, ", %d disturbed ones left out", m->n_dropped);
    str_printf(s, ", %.3g%% confidence; %s\n", 100 * m->confidence, m->method);
}

const char *op_eval_text(struct arena *a, const struct eval_report *r) {
    const struct verdict *v = &r->result.verdict;
    struct str s = {0};
    str_printf(&s, "%s on %s (%s)\n", r->problem->name, r->target.name, r->target.device);
    if (r->null_kernel)
        str_printf(&s, "  beware    %s passes for this problem: a verdict on it says nothing\n",
                   r->null_kernel);
    str_printf(&s, "%s: %s%s%s%s\n", r->candidate.label, verdict_kind_name(v->kind),
               v->rule ? " (" : "", v->rule ? v->rule : "", v->rule ? ")" : "");
    if (*v->evidence) {
        str_puts(&s, "  ");
        put_evidence(&s, v->evidence);
    }
    if (v->kind == VERDICT_OK || v->kind == VERDICT_SUSPECT)
        str_printf(&s,
                   "  correct   %d calls on %d input sets; error %.2g of the %.2g allowed "
                   "(honest f32: %.2g)\n",
                   v->n_calls, v->n_sets, v->error.max, v->error.limit_max, v->error.honest_max);
    if (r->result.measurement.present)
        put_time(a, &s, r);
    str_printf(&s, "  took      %s (compile %s, verify %s, time %s)\n",
               clock_duration(a, r->seconds * 1e9), clock_duration(a, r->result.compile_s * 1e9),
               clock_duration(a, r->result.verify_s * 1e9),
               clock_duration(a, r->result.timing_s * 1e9));
    return str_take(a, &s);
}

bool op_eval_aa(struct arena *a, const struct eval_request *q, int n, struct aa_report *report,
                struct error *err) {
    struct eval_report r;
    struct evaluator *e;
    *report = (struct aa_report){0};
    struct eval_request verify_only = *q;
    verify_only.depth = EVAL_VERIFY;
    if (!prepare(a, &verify_only, &r, err) || !open_evaluator(q, &r, &e, err))
        return false;
    struct eval_job job = {.candidate = &r.candidate, .depth = q->depth, .seconds = q->seconds};
    bool ok = true;
    for (int i = 0; i < n && ok; i++) {
        ok = evaluator_judge(e, a, &job, &r.result, err);
        const struct measurement *m = &r.result.measurement;
        if (ok && !m->present)
            ok = error_set(err, ERROR_PARSE, "%s: %s", verdict_kind_name(r.result.verdict.kind),
                           r.result.verdict.evidence);
        if (!ok)
            break;
        int order = measurement_compare(m);
        report->n++;
        report->n_faster += order > 0;
        report->n_slower += order < 0;
        report->median_s = m->median_s;
        report->widest = fmax(report->widest, fabs(m->speedup - 1));
        report->half_width += (m->speedup_high - m->speedup_low) / 2 / n;
    }
    evaluator_close(e);
    return ok;
}

// The target that a scaffold is written for; tier D needs no GPU to be written.
static bool scaffold_target(struct arena *a, const struct scaffold_request *q, struct target *t,
                            struct error *err) {
    bool wants_c = q->tier && strcmp(q->tier, "C") == 0;
    bool wants_d = q->tier && strcmp(q->tier, "D") == 0;
    if (q->tier && !wants_c && !wants_d)
        return error_set(err, ERROR_USAGE,
                         "unknown tier '%s'; a scaffold is C for the CPU or D, CUDA", q->tier);
    if (!op_code_target(a, q->target ? q->target : wants_d ? "sm_90a" : "cpu", t, err))
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
