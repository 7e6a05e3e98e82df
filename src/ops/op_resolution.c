// Repeated comparisons of one kernel with itself; shorter lengths are stretches of the longest.
#include "ops/op_resolution.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "eval/stats.h"
#include "family/lower.h"
#include "lang/lang.h"
#include "place/evaluate.h"

const double resolution_seconds[RESOLUTIONS] = {1, 5, 20};

static const char *const SCHEMA = "hone.resolution/1";
enum { REPEATS = 3, FILE_MAX = 4096 };

// Some 30 us on a large GPU, some ms on a few processors: small, and not all fixed cost.
static const char problem_text[] = "problem resolution\ndim M = 512, N = 1024\n"
                                   "in x : f32[M, N] ~ normal\nout y : f32[M, N]\ny = softmax(x)\n";
enum { GPU_ROWS = 16384 };

static const char *cache_path(struct arena *a, const struct target *t, struct error *err) {
    const char *dir = file_cache_dir(a, "ceilings", err);
    return dir ? arena_printf(a, "%s/%s.resolution.json", dir, t->id) : NULL;
}

static struct problem *make_problem(struct arena *a, const struct target *t, struct error *err) {
    static const struct dim_override rows = {"M", GPU_ROWS};
    struct lang_file file;
    const char *diagnostics;
    struct lang_source source = {.file = "resolution",
                                 .text = problem_text,
                                 .len = strlen(problem_text),
                                 .overrides = &rows,
                                 .n_overrides = t->is_gpu ? 1 : 0};
    return lang_parse(a, &source, &file, &diagnostics, err) ? file.problems[0] : NULL;
}

static void note_one(struct resolution_trials *t, double high) {
    if (t->n < RESOLUTION_TOLD_MAX)
        t->needed[t->n++] = high * (1 + MEASUREMENT_MARGIN) - 1;
}

void op_resolution_note(struct resolution_trials trials[RESOLUTIONS], const struct measurement *m,
                        int last) {
    for (int i = 0; i < m->n_trials; i++)
        for (int k = 0; k < last; k++)
            if (m->trials[i].seconds == resolution_seconds[k])
                note_one(&trials[k], m->trials[i].high);
    note_one(&trials[last], m->speedup_high);
}

void op_resolution_conclude(const struct resolution_trials trials[RESOLUTIONS],
                            struct resolution *r) {
    for (int i = 0; i < RESOLUTIONS; i++)
        r->smallest[i] = stats_quantile(trials[i].needed, trials[i].n, 0.95);
}

struct measuring {
    struct arena *a;
    struct evaluator *evaluator;
    const struct candidate *candidate;
    struct resolution_trials trials[RESOLUTIONS];
    double call_s;
};

// One comparison of a kernel with itself, as long as the last of these lengths. The others are
// stretches of it, every one that fits, as in `hone eval --aa`.
static bool compare(struct measuring *m, int first, int last, struct error *err) {
    struct eval_job job = {.candidate = m->candidate,
                           .depth = EVAL_RANK,
                           .seconds = resolution_seconds[last],
                           .uses_all_time = true};
    struct eval_result result;
    for (int i = first; i < last; i++)
        job.trials_s[job.n_trials++] = resolution_seconds[i];
    if (!evaluator_judge(m->evaluator, m->a, &job, &result, err))
        return false;
    if (!result.measurement.present)
        return error_set(err, ERROR_IO, "%s: %s", verdict_kind_name(result.verdict.kind),
                         result.verdict.evidence);
    op_resolution_note(m->trials, &result.measurement, last);
    m->call_s = result.measurement.median_s;
    return true;
}

static bool measure_all(struct measuring *m, bool is_gpu, double most_s, struct error *err) {
    int n_lengths = 0;
    while (n_lengths < RESOLUTIONS && resolution_seconds[n_lengths] <= most_s)
        n_lengths++;
    // Where they change places half way a stretch is no comparison; and one of a second says little
    // about others.
    bool has_stretches = !is_gpu && n_lengths > 1;
    for (int i = has_stretches ? n_lengths - 1 : 0; i < n_lengths; i++)
        for (int k = 0; k < (i == 0 ? REPEATS : 1); k++)
            if (!compare(m, has_stretches ? 0 : i, i, err))
                return false;
    return true;
}

static bool save(struct arena *a, const struct target *t, const struct resolution *r,
                 struct error *err) {
    const char *path = cache_path(a, t, err);
    json_t *smallest = json_array();
    for (int i = 0; i < RESOLUTIONS; i++)
        json_array_append_new(smallest, json_optional_real(r->smallest[i]));
    json_t *json = json_pack("{s:s, s:o, s:f, s:s}", "schema", SCHEMA, "smallest", smallest,
                             "call_s", r->call_s, "measured_at", r->measured_at);
    const char *text = json_print(a, json);
    json_decref(json);
    return path && file_write(path, text, strlen(text), err);
}

bool op_resolution_measure(struct arena *a, const struct target *t, double most_s,
                           struct resolution *r, struct error *err) {
    struct problem *p = make_problem(a, t, err);
    struct kernel k = {0};
    struct candidate c = {0};
    struct evaluator *e;
    *r = (struct resolution){0};
    if (!p)
        return false;
    lower_default(a, p, t, &k);
    if (!lower_kernel(a, p, t, &k, &c, err) || !evaluator_open(&e, p, t, 0, err))
        return error_wrap(err, "resolution");
    c.label = "default";
    struct measuring m = {.a = a, .evaluator = e, .candidate = &c};
    bool ok = measure_all(&m, t->is_gpu, most_s, err);
    evaluator_close(e);
    op_resolution_conclude(m.trials, r);
    r->call_s = m.call_s;
    r->present = ok;
    r->measured_at = clock_timestamp(a);
    return (ok && save(a, t, r, err)) || error_wrap(err, "resolution");
}

void op_resolution_load(struct arena *a, const struct target *t, struct resolution *r) {
    struct error ignored = {0};
    size_t len;
    *r = (struct resolution){0};
    const char *path = cache_path(a, t, &ignored);
    const char *text = path ? file_read_plain(a, path, FILE_MAX, &len, &ignored) : NULL;
    json_t *json = text ? json_parse(text, len, &ignored) : NULL;
    struct json_reader reader = {.where = "resolution"};
    json_read_schema(&reader, json, SCHEMA);
    const json_t *smallest = json_read_array(&reader, json, "smallest");
    r->call_s = json_read_number(&reader, json, "call_s");
    r->measured_at = json_read_string(&reader, a, json, "measured_at");
    r->present = !reader.failed && json_array_size(smallest) == RESOLUTIONS;
    for (int i = 0; r->present && i < RESOLUTIONS; i++) {
        const json_t *value = json_array_get(smallest, (size_t)i);
        r->smallest[i] = json_is_number(value) ? json_number_value(value) : NAN;
    }
    json_decref(json);
}

// Two digits; more where the machine is so busy that it takes them, but never 1.2e+02.
static const char *percent(struct arena *a, double share) {
    return arena_printf(a, 100 * share < 99.5 ? "%.2g%%" : "%.0f%%", 100 * share);
}

const char *op_resolution_text(struct arena *a, const struct resolution *r) {
    const char *words = "";
    for (int i = 0; i < RESOLUTIONS; i++)
        if (isfinite(r->smallest[i]))
            words = arena_printf(a, "%s%s%s in %.0f s", words, *words ? ", " : "",
                                 percent(a, r->smallest[i]), resolution_seconds[i]);
    return words;
}
