// The worker: a process that holds one judge and answers jobs until its socket closes.
#include "eval/worker.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/error.h"
#include "base/frame.h"
#include "base/json.h"
#include "eval/control.h"
#include "eval/judge.h"
#include "eval/race.h"
#include "lang/lang.h"

enum { COORDINATOR = 3 };

static const char *const depth_names[] = {[EVAL_VERIFY] = "verify",
                                          [EVAL_SCREEN] = "screen",
                                          [EVAL_RANK] = "rank",
                                          [EVAL_ENERGY] = "energy",
                                          [EVAL_CONFIRM] = "confirm"};

json_t *worker_open_message(const struct problem *p, const struct judge_settings *s) {
    char seed[24];
    snprintf(seed, sizeof seed, "0x%016" PRIx64, s->seed);
    json_t *dims = json_object();
    for (int i = 0; i < p->graph.n_dims; i++)
        json_object_set_new(dims, p->graph.dims[i].name, json_integer(p->graph.dims[i].size));
    return json_pack("{s:s, s:s, s:o, s:i, s:s, s:s, s:s, s:s, s:I, s:o, s:o, s:s, s:b, s:b, s:i}",
                     "schema", "hone.open/1", "problem", p->text, "dims", dims, "threads",
                     s->n_threads, "cc", s->cc, "machine", s->machine, "cache", s->cache, "lease",
                     s->lease ? s->lease : "", "llc_bytes", (json_int_t)s->llc_bytes, "limit_s",
                     json_optional_real(s->limit_s), "reach_s", json_optional_real(s->reach_s),
                     "seed", seed, "skip_scans", (int)s->skip_scans, "gpu", (int)s->is_gpu,
                     "ordinal", s->ordinal);
}

json_t *worker_job_message(const struct eval_job *job) {
    json_t *json = json_pack("{s:s, s:o, s:o, s:s, s:f, s:b}", "schema", "hone.job/1", "candidate",
                             candidate_to_json(job->candidate), "baseline",
                             job->baseline ? candidate_to_json(job->baseline) : json_null(),
                             "depth", depth_names[job->depth], "seconds", job->seconds,
                             "uses_all_time", (int)job->uses_all_time);
    if (job->resolution > 0)
        json_object_set_new(json, "resolution", json_real(job->resolution));
    if (job->least_s > 0)
        json_object_set_new(json, "least_s", json_real(job->least_s));
    if (job->energy_s > 0)
        json_object_set_new(json, "energy_s", json_real(job->energy_s));
    if (job->keeps_all)
        json_object_set_new(json, "keeps_all", json_true());
    if (!job->n_trials)
        return json;
    json_t *trials = json_array();
    for (int i = 0; i < job->n_trials; i++)
        json_array_append_new(trials, json_real(job->trials_s[i]));
    json_object_set_new(json, "trials_s", trials);
    return json;
}

bool worker_read_result(struct arena *a, const json_t *message, struct eval_result *result,
                        struct error *err) {
    struct json_reader r = {.where = "judged"};
    *result = (struct eval_result){0};
    json_read_schema(&r, message, "hone.judged/1");
    json_t *verdict = json_read_object(&r, message, "verdict");
    json_t *profile = json_read_object(&r, message, "profile");
    result->compile_s = json_read_number(&r, message, "compile_s");
    result->verify_s = json_read_number(&r, message, "verify_s");
    result->timing_s = json_read_number(&r, message, "timing_s");
    json_t *phases = json_read_object(&r, message, "phases");
    // What a worker of another version does not know takes no time there.
    for (int i = 0; i < PHASE_COUNT; i++)
        result->phase_s[i] = fmax(0, json_read_optional_number(&r, phases, eval_phase_names[i]));
    return json_reader_done(&r, err) && verdict_from_json(a, verdict, &result->verdict, err) &&
           profile_from_json(a, profile, &result->profile, err) &&
           measurement_from_json(a, json_object_get(message, "measurement"), &result->measurement,
                                 err);
}

static json_t *phases_to_json(const struct eval_result *r) {
    json_t *phases = json_object();
    for (int i = 0; i < PHASE_COUNT; i++)
        json_object_set_new(phases, eval_phase_names[i], json_real(r->phase_s[i]));
    return phases;
}

json_t *worker_result_message(const struct eval_result *r) {
    return json_pack("{s:s, s:o, s:o, s:o, s:f, s:f, s:f, s:o}", "schema", "hone.judged/1",
                     "verdict", verdict_to_json(&r->verdict), "measurement",
                     measurement_to_json(&r->measurement), "profile", profile_to_json(&r->profile),
                     "compile_s", r->compile_s, "verify_s", r->verify_s, "timing_s", r->timing_s,
                     "phases", phases_to_json(r));
}

json_t *worker_null_message(void) {
    return json_pack("{s:s}", "schema", "hone.null/1");
}

json_t *worker_nulled_message(const char *null_kernel) {
    return json_pack("{s:s, s:o}", "schema", "hone.nulled/1", "null_kernel",
                     json_optional_text(null_kernel));
}

json_t *worker_error_message(const struct error *err, bool again) {
    return json_pack("{s:s, s:i, s:s, s:b}", "schema", "hone.error/1", "kind", (int)err->kind,
                     "text", err->text, "again", (int)again);
}

int worker_read_error(const json_t *message, struct error *err) {
    const char *schema = json_string_value(json_object_get(message, "schema"));
    if (!schema || strcmp(schema, "hone.error/1") != 0)
        return 0;
    int kind = (int)json_integer_value(json_object_get(message, "kind"));
    const char *text = json_string_value(json_object_get(message, "text"));
    bool known = kind > ERROR_NONE && kind <= ERROR_INTERRUPTED;
    error_set(err, known ? (enum error_kind)kind : ERROR_IO, "%s",
              text ? text : "the worker failed");
    return json_is_true(json_object_get(message, "again")) ? -1 : 1;
}

const struct problem *worker_read_problem(struct arena *a, const json_t *message,
                                          struct error *err) {
    struct json_reader r = {.where = "problem"};
    const char *text = json_read_string(&r, a, message, "problem");
    json_t *dims = json_read_object(&r, message, "dims");
    struct dim_override overrides[DIMS_MAX];
    int n = 0;
    const char *name;
    json_t *size;
    json_object_foreach(dims, name, size) if (n < DIMS_MAX) {
        overrides[n].name = arena_strdup(a, name);
        overrides[n++].size = json_integer_value(size);
    }
    if (!json_reader_done(&r, err))
        return NULL;
    struct lang_source source = {.file = "problem",
                                 .text = text,
                                 .len = strlen(text),
                                 .overrides = overrides,
                                 .n_overrides = n};
    struct lang_file *file = arena_new(a, struct lang_file);
    const char *diagnostics;
    if (!lang_parse(a, &source, file, &diagnostics, err))
        return NULL;
    if (file->n_problems == 1)
        return file->problems[0];
    error_set(err, ERROR_IO, "the worker got %d problems", file->n_problems);
    return NULL;
}

static bool open_judge(struct arena *a, const json_t *message, struct judge *j, struct error *err) {
    struct json_reader r = {.where = "open"};
    json_read_schema(&r, message, "hone.open/1");
    int64_t n_threads = json_read_int(&r, message, "threads");
    struct judge_settings s = {
        .n_threads = (int)n_threads,
        .cc = json_read_string(&r, a, message, "cc"),
        .machine = json_read_string(&r, a, message, "machine"),
        .cache = json_read_string(&r, a, message, "cache"),
        .lease = json_read_string(&r, a, message, "lease"),
        .llc_bytes = json_read_int(&r, message, "llc_bytes"),
        .limit_s = json_read_optional_number(&r, message, "limit_s"),
        .reach_s = json_read_optional_number(&r, message, "reach_s"),
        .seed = strtoull(json_read_string(&r, a, message, "seed"), NULL, 16),
        .skip_scans = json_read_bool(&r, message, "skip_scans"),
        .is_gpu = json_read_bool(&r, message, "gpu"),
        .ordinal = (int)json_read_int(&r, message, "ordinal"),
    };
    if (n_threads < 1 || n_threads > THREADS_MAX)
        json_reader_fail(&r, "%lld threads, expected 1 to %d", (long long)n_threads, THREADS_MAX);
    if (s.llc_bytes < 0)
        json_reader_fail(&r, "a cache of %lld bytes", (long long)s.llc_bytes);
    const struct problem *p =
        json_reader_done(&r, err) ? worker_read_problem(a, message, err) : NULL;
    return p && judge_open(j, p, &s, err);
}

static void check_seconds(struct json_reader *r, double s) {
    const double day = 86400;
    if (!(s >= 0 && s <= day))
        json_reader_fail(r, "%g seconds, expected 0 to %g", s, day);
}

static void read_trials(struct json_reader *r, const json_t *trials, struct eval_job *job) {
    job->n_trials = (int)json_array_size(trials);
    if (job->n_trials > EVAL_TRIALS_MAX)
        json_reader_fail(r, "%d trials, expected at most %d", job->n_trials, EVAL_TRIALS_MAX);
    for (int i = 0; i < job->n_trials && !r->failed; i++) {
        job->trials_s[i] = json_number_value(json_array_get(trials, (size_t)i));
        check_seconds(r, job->trials_s[i]);
    }
}

bool worker_read_job(struct arena *a, const json_t *message, struct eval_job *job,
                     struct error *err) {
    struct json_reader r = {.where = "job"};
    struct candidate *candidate = arena_new(a, struct candidate);
    struct candidate *baseline = arena_new(a, struct candidate);
    json_read_schema(&r, message, "hone.job/1");
    const char *depth = json_read_string(&r, a, message, "depth");
    job->depth = EVAL_VERIFY;
    while (job->depth < EVAL_CONFIRM && strcmp(depth, depth_names[job->depth]) != 0)
        job->depth++;
    if (strcmp(depth, depth_names[job->depth]) != 0)
        json_reader_fail(&r, "unknown depth '%s'", depth);
    job->seconds = json_read_number(&r, message, "seconds");
    check_seconds(&r, job->seconds);
    job->uses_all_time = json_is_true(json_object_get(message, "uses_all_time"));
    job->resolution = json_number_value(json_object_get(message, "resolution"));
    job->least_s = json_number_value(json_object_get(message, "least_s"));
    check_seconds(&r, job->least_s);
    job->energy_s = json_number_value(json_object_get(message, "energy_s"));
    check_seconds(&r, job->energy_s);
    job->keeps_all = json_is_true(json_object_get(message, "keeps_all"));
    read_trials(&r, json_object_get(message, "trials_s"), job);
    json_t *other = json_object_get(message, "baseline");
    bool has_baseline = other && !json_is_null(other);
    job->candidate = candidate;
    job->baseline = has_baseline ? baseline : NULL;
    return json_reader_done(&r, err) &&
           candidate_from_json(a, json_object_get(message, "candidate"), candidate, err) &&
           (!has_baseline || candidate_from_json(a, other, baseline, err));
}

static bool answer(json_t *message, struct error *err) {
    bool ok = frame_write(COORDINATOR, message, NULL, 0, err);
    json_decref(message);
    return ok;
}

static json_t *judge_job(struct judge *j, struct arena *a, const json_t *message) {
    struct error err = {0};
    struct eval_job job;
    struct eval_result result;
    // As it is by now: the device may have been measured again.
    json_t *reach = json_object_get(message, "reach_s");
    if (json_is_number(reach))
        j->settings.reach_s = json_number_value(reach);
    if (worker_read_job(a, message, &job, &err) && judge_candidate(j, a, &job, &result, &err))
        return worker_result_message(&result);
    // With a new process, and a new context on the device, it may go better.
    return worker_error_message(&err, j->broken.kind != ERROR_NONE);
}

static json_t *race(struct judge *j, struct arena *a, const json_t *message) {
    struct error err = {0};
    struct race_job job;
    if (!worker_read_race(a, message, &job, &err))
        return worker_error_message(&err, false);
    struct screening *screenings = arena_array(a, struct screening, job.n_candidates + 1);
    if (judge_race(j, a, &job, screenings, &err))
        return worker_raced_message(screenings, job.n_candidates);
    return worker_error_message(&err, j->broken.kind != ERROR_NONE);
}

static json_t *find_null_kernel(struct judge *j) {
    const char *null_kernel = judge_find_null_kernel(j);
    return j->unfit.kind != ERROR_NONE ? worker_error_message(&j->unfit, false)
                                       : worker_nulled_message(null_kernel);
}

// One message from the socket, one answer; false when the conversation is over.
static bool serve(struct judge *j, struct error *err) {
    struct arena a = {0};
    json_t *message = NULL;
    if (!frame_read(COORDINATOR, -1, &message, NULL, NULL, err))
        return false;
    const char *schema = json_string_value(json_object_get(message, "schema"));
    bool asks_null = schema && strcmp(schema, "hone.null/1") == 0;
    bool asks_race = schema && strcmp(schema, "hone.race/1") == 0;
    bool ok = answer(asks_null   ? find_null_kernel(j)
                     : asks_race ? race(j, &a, message)
                                 : judge_job(j, &a, message),
                     err);
    json_decref(message);
    arena_reset(&a);
    return ok;
}

int worker_main(void) {
    struct arena a = {0};
    struct error err = {0};
    struct judge *j = arena_new(&a, struct judge);
    json_t *message = NULL;
    // Expected values are in our memory: nobody without privileges may look.
    prctl(PR_SET_DUMPABLE, 0);
    if (!frame_read(COORDINATOR, -1, &message, NULL, NULL, &err))
        return 4;
    bool ok = open_judge(&a, message, j, &err);
    json_decref(message);
    if (!ok) {
        answer(worker_error_message(&err, false), &err);
        arena_reset(&a);
        return 4;
    }
    while (ok)
        ok = serve(j, &err);
    judge_close(j);
    arena_reset(&a);
    return 0;
}
