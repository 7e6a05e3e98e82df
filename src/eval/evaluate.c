#include "eval/evaluate.h"

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/log.h"
#include "base/process.h"
#include "eval/judge.h"
#include "eval/worker.h"
#include "model/bound.h"

enum { TRIES = 3 };
static const int64_t grace_ns = 300000000;

struct evaluator {
    struct arena arena;
    struct process worker;
    const struct problem *problem;
    struct judge_settings settings;
    bool null_is_known;
    const char *null_kernel;
};

// 0: it is none; 1: nothing can be judged; -1: not by this worker.
static int read_error(const json_t *message, struct error *err) {
    const char *schema = json_string_value(json_object_get(message, "schema"));
    if (!schema || strcmp(schema, "hone.error/1") != 0)
        return 0;
    int kind = (int)json_integer_value(json_object_get(message, "kind"));
    const char *text = json_string_value(json_object_get(message, "text"));
    error_set(err, (enum error_kind)kind, "%s", text ? text : "the worker failed");
    return json_is_true(json_object_get(message, "again")) ? -1 : 1;
}

// An answer from the worker; the caller owns it. NULL: it died, or (`err` kept) refused.
static json_t *receive(struct evaluator *e, bool *refused, struct error *err) {
    json_t *message = NULL;
    *refused = false;
    if (!frame_read(e->worker.socket, -1, &message, NULL, NULL, err))
        return NULL;
    int error = read_error(message, err);
    if (!error)
        return message;
    *refused = error > 0;
    json_decref(message);
    return NULL;
}

// A worker that compiles must have the time to end its compiler.
static void stop_worker(struct evaluator *e) {
    if (e->worker.pid > 0)
        kill(e->worker.pid, SIGTERM);
    process_close(&e->worker, grace_ns);
}

static bool start_worker(struct evaluator *e, struct error *err) {
    struct arena a = {0};
    const char *self = file_self(&a, err);
    const char *argv[] = {self, "_worker", NULL};
    bool ok = self && process_start(&e->worker, &(struct process_spec){.argv = argv}, err);
    arena_reset(&a);
    if (!ok)
        return false;
    json_t *open = worker_open_message(e->problem, &e->settings);
    ok = frame_write(e->worker.socket, open, NULL, 0, err);
    json_decref(open);
    return ok;
}

// Those that compute the truth for a GPU.
static int usable_cpus(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

bool evaluator_open(struct evaluator **out, const struct problem *p, const struct target *t,
                    uint64_t seed, struct error *err) {
    struct evaluator *e = calloc(1, sizeof *e);
    if (!e)
        abort();
    struct bound b;
    bound_compute(p, t, &b);
    e->problem = p;
    e->worker.socket = -1;
    e->settings = (struct judge_settings){
        .n_threads = t->is_gpu ? usable_cpus() : t->n_threads,
        .cc = arena_strdup(&e->arena, t->cc ? t->cc : ""),
        .is_gpu = t->is_gpu,
        .ordinal = t->ordinal,
        .machine = arena_strdup(&e->arena, t->id),
        .llc_bytes = t->llc_bytes > 0 ? t->llc_bytes : 32 << 20,
        .limit_s = b.limit_s,
        .reach_s = b.reach_s,
        .seed = seed,
        // Tests switch the scans off to see that behaviour gives a cheat away as well.
        .skip_scans = getenv("HONE_SKIP_SCANS") != NULL,
    };
    e->settings.cache = file_cache_dir(&e->arena, "objects", err);
    if (e->settings.cache && start_worker(e, err)) {
        *out = e;
        return true;
    }
    evaluator_close(e);
    return error_wrap(err, "start a worker");
}

const char *evaluator_null_kernel(struct evaluator *e) {
    struct error ignored = {0};
    bool refused;
    if (e->null_is_known || e->worker.pid == 0)
        return e->null_kernel;
    json_t *ask = json_pack("{s:s}", "schema", "hone.null/1");
    bool sent = frame_write(e->worker.socket, ask, NULL, 0, &ignored);
    json_decref(ask);
    json_t *told = sent ? receive(e, &refused, &ignored) : NULL;
    if (!told) {  // the next job finds out why
        process_kill(&e->worker);
        return NULL;
    }
    const char *what = json_string_value(json_object_get(told, "null_kernel"));
    e->null_kernel = what ? arena_strdup(&e->arena, what) : NULL;
    e->null_is_known = true;
    json_decref(told);
    return e->null_kernel;
}

// Ask the worker; 1 judged, 0 nothing can be judged any more, -1 the worker is gone.
static int try_job(struct evaluator *e, struct arena *a, const struct eval_job *job,
                   struct eval_result *result, struct error *err) {
    bool refused = false;
    if (e->worker.pid == 0 && !start_worker(e, err))
        return err->kind == ERROR_INTERRUPTED ? 0 : -1;
    json_t *message = worker_job_message(job);
    bool sent = frame_write(e->worker.socket, message, NULL, 0, err);
    json_decref(message);
    json_t *judged = sent ? receive(e, &refused, err) : NULL;
    bool ok = judged && worker_read_result(a, judged, result, err);
    json_decref(judged);
    if (ok)
        return 1;
    return refused || err->kind == ERROR_INTERRUPTED ? 0 : -1;
}

bool evaluator_judge(struct evaluator *e, struct arena *a, const struct eval_job *job,
                     struct eval_result *result, struct error *err) {
    for (int i = 0; i < TRIES; i++) {
        *err = (struct error){0};
        int outcome = try_job(e, a, job, result, err);
        if (outcome > 0)
            return true;
        if (outcome == 0) {
            if (err->kind == ERROR_INTERRUPTED)
                stop_worker(e);
            return false;
        }
        log_info("worker ended (%s), starting another", err->text);
        process_kill(&e->worker);
    }
    *result = (struct eval_result){
        .verdict = {.kind = VERDICT_INFRA,
                    .evidence = arena_printf(a, "the worker failed %d times: %s", TRIES, err->text),
                    .error = {NAN, NAN, NAN, NAN, NAN, NAN}}};
    *err = (struct error){0};
    return true;
}

void evaluator_close(struct evaluator *e) {
    if (!e)
        return;
    stop_worker(e);
    arena_reset(&e->arena);
    free(e);
}
