// The place (place.h) on this machine: a `hone _worker` that is started when the evaluator is, and
// again after it died.
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/process.h"
#include "eval/judge.h"
#include "eval/worker.h"
#include "model/bound.h"
#include "place/place.h"

static const int64_t grace_ns = 300000000;

struct local {
    struct arena arena;
    struct process worker;
    const struct problem *problem;
    const struct target *target;
    struct judge_settings settings;
    struct ceilings ceilings;  // that its reach was computed from
};

// A worker that compiles must have the time to end its compiler.
static void stop_worker(struct local *l) {
    if (l->worker.pid > 0)
        kill(l->worker.pid, SIGTERM);
    process_close(&l->worker, grace_ns);
}

static bool start_worker(struct local *l, struct error *err) {
    struct arena a = {0};
    const char *self = file_self(&a, err);
    const char *argv[] = {self, "_worker", NULL};
    bool ok = self && process_start(&l->worker, &(struct process_spec){.argv = argv}, err);
    arena_reset(&a);
    if (!ok)
        return false;
    json_t *open = worker_open_message(l->problem, &l->settings);
    ok = frame_write(l->worker.socket, open, NULL, 0, err);
    json_decref(open);
    // One that is dead already is found out, and replaced, when it is asked.
    return ok || frame_was_closed(err);
}

// Those that compute the truth for a GPU.
static int usable_cpus(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static void close_local(void *ctx) {
    struct local *l = ctx;
    stop_worker(l);
    arena_reset(&l->arena);
    free(l);
}

void *place_local_open(const struct problem *p, const struct target *t, uint64_t seed,
                       struct error *err) {
    struct local *l = calloc(1, sizeof *l);
    if (!l)
        abort();
    struct bound b;
    bound_compute(p, t, &b);
    l->problem = p;
    l->target = t;
    l->ceilings = t->ceilings;
    l->worker.socket = -1;
    l->settings = (struct judge_settings){
        .n_threads = t->is_gpu ? usable_cpus() : t->n_threads,
        .cc = arena_strdup(&l->arena, t->cc ? t->cc : ""),
        .is_gpu = t->is_gpu,
        .ordinal = t->ordinal,
        .machine = arena_strdup(&l->arena, t->id),
        .llc_bytes = t->llc_bytes > 0   ? t->llc_bytes
                     : t->llc_bytes < 0 ? 0
                                        : 32 << 20,
        .limit_s = b.limit_s,
        .reach_s = b.reach_s,
        .seed = seed,
        // Tests switch the scans off to see that behaviour gives a cheat away as well.
        .skip_scans = getenv("HONE_SKIP_SCANS") != NULL,
    };
    l->settings.lease =
        lease_path(&l->arena, t->is_gpu ? arena_printf(&l->arena, "cuda-%d", t->ordinal) : "cpu");
    l->settings.cache = file_work_dir(&l->arena, "objects", err);
    if (l->settings.cache && start_worker(l, err))
        return l;
    close_local(l);
    return NULL;
}

// What the worker says; 1 an answer, 0 it refuses, -1 it is gone.
static int receive(struct local *l, json_t **answer, struct error *err) {
    if (!frame_read(l->worker.socket, -1, answer, NULL, NULL, err))
        return err->kind == ERROR_INTERRUPTED ? 0 : -1;
    int error = worker_read_error(*answer, err);
    if (!error)
        return 1;
    json_decref(*answer);
    *answer = NULL;
    return error > 0 ? 0 : -1;
}

static bool write_question(struct local *l, const json_t *question, struct error *err) {
    return (l->worker.pid != 0 || start_worker(l, err)) &&
           frame_write(l->worker.socket, question, NULL, 0, err);
}

// What came of it; one that did not answer is ended.
static int settle(struct local *l, int outcome, const struct error *err) {
    if (outcome < 0 && err->kind == ERROR_INTERRUPTED)
        outcome = 0;
    if (outcome < 0)
        process_kill(&l->worker);
    else if (outcome == 0 && err->kind == ERROR_INTERRUPTED)
        stop_worker(l);
    return outcome;
}

// The target's ceilings may have been measured again since: candidates are judged by those.
static void follow_ceilings(struct local *l) {
    struct bound b;
    if (memcmp(&l->ceilings, &l->target->ceilings, sizeof l->ceilings) == 0)
        return;
    bound_compute(l->problem, l->target, &b);
    l->settings.reach_s = b.reach_s;
    l->ceilings = l->target->ceilings;
}

bool place_local_send(void *ctx, const json_t *question, struct error *err) {
    struct local *l = ctx;
    follow_ceilings(l);
    json_t *copy = json_copy((json_t *)question);
    if (isfinite(l->settings.reach_s))
        json_object_set_new(copy, "reach_s", json_real(l->settings.reach_s));
    bool ok = write_question(l, copy, err);
    json_decref(copy);
    if (!ok)
        settle(l, -1, err);
    return ok;
}

int place_local_socket(const void *ctx) {
    return ((const struct local *)ctx)->worker.socket;
}

int place_local_receive(void *ctx, json_t **answer, struct error *err) {
    return settle(ctx, receive(ctx, answer, err), err);
}

static int ask_local(void *ctx, const json_t *question, json_t **answer, struct error *err) {
    if (!place_local_send(ctx, question, err))
        return err->kind == ERROR_INTERRUPTED ? 0 : -1;
    return place_local_receive(ctx, answer, err);
}

static const struct target *target_of(void *ctx) {
    const struct local *l = ctx;
    return l->target;
}

const struct eval_place place_local = {.ask = ask_local,
                                       .close = close_local,
                                       .target = target_of,
                                       .races = true,
                                       .retries_infra = true};
