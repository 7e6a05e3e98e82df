// The loop of a worker: claim, judge, answer; a thread keeps the claim's heartbeat going meanwhile.
#include "spool/spool_worker.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "eval/worker.h"
#include "spool/spool.h"
#include "spool/spool_message.h"

enum { LOOK_MS = 250 };
// A job that is being copied here is read in part at first.
static const double PARTIAL_S = 2;

// A thread that touches our files while the rest of us waits for the judge.
struct heartbeat {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
    const char *dir, *machine;
    char claim[4096];  // "": none
};

struct work {
    struct spool_work *w;
    struct spool *spool;
    struct spool_address serves;
    struct heartbeat heart;
    // The judge of the last job, for its problem and seed.
    struct evaluator *evaluator;
    struct arena problem;
    struct spool_job about;
    int64_t tidied_ns;
};

// ---- the heart

static void *beat(void *ctx) {
    struct heartbeat *h = ctx;
    pthread_mutex_lock(&h->lock);
    while (!h->stop) {
        spool_heartbeat(h->dir, h->machine, h->claim[0] ? h->claim : NULL);
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_sec += SPOOL_BEAT_S;
        pthread_cond_timedwait(&h->wake, &h->lock, &t);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static bool start_heart(struct heartbeat *h, const char *dir, const char *machine,
                        struct error *err) {
    pthread_condattr_t attributes;
    sigset_t all, before;
    h->dir = dir;
    h->machine = machine;
    pthread_mutex_init(&h->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&h->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    // Signals shall interrupt the thread that waits for answers.
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int why = pthread_create(&h->thread, NULL, beat, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return why == 0 || error_set(err, ERROR_IO, "start a thread: %s", strerror(why));
}

static void set_claim(struct heartbeat *h, const char *path) {
    pthread_mutex_lock(&h->lock);
    snprintf(h->claim, sizeof h->claim, "%s", path);
    pthread_mutex_unlock(&h->lock);
}

static void stop_heart(struct heartbeat *h) {
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_signal(&h->wake);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->thread, NULL);
    pthread_cond_destroy(&h->wake);
    pthread_mutex_destroy(&h->lock);
}

// ---- one job

static void close_judge(struct work *w) {
    evaluator_close(w->evaluator);
    w->evaluator = NULL;
    arena_reset(&w->problem);
    w->about = (struct spool_job){0};
}

// A judge for this job; the one that we have, if it is about the same.
static bool need_judge(struct work *w, const char *text, size_t len, const struct spool_job *j,
                       struct error *err) {
    if (w->evaluator && w->about.seed == j->seed && strcmp(w->about.text, j->text) == 0)
        return true;
    close_judge(w);
    // Once more into an arena that lives as long as the judge.
    return spool_read_job(&w->problem, text, len, &w->about, err) &&
           evaluator_open(&w->evaluator, w->about.problem, w->w->target, j->seed, err);
}

// A job that cannot be read is a failure for who asked, not a negative answer.
static json_t *refuse(struct error *err, char *words, size_t room) {
    if (err->kind == ERROR_PARSE || err->kind == ERROR_USAGE)
        err->kind = ERROR_IO;
    snprintf(words, room, "refused: %.200s", err->text);
    return spool_answer_message(NULL, NULL, NULL, worker_error_message(err, false));
}

// The whole text of a claimed job; NULL: `err` says what is wrong with it.
static char *read_whole(struct work *w, struct arena *a, const struct spool_claim *c, size_t *len,
                        struct error *err) {
    int64_t start_ns = clock_now_ns();
    for (;;) {
        bool is_whole;
        char *text = spool_read(a, c, len, &is_whole, err);
        if (is_whole)
            return text;
        double waited_s = (double)(clock_now_ns() - start_ns) * 1e-9;
        if (!text || waited_s > PARTIAL_S || interrupt_seen())
            break;
        if (!spool_wait(w->spool, LOOK_MS, err))
            return NULL;
    }
    if (interrupt_seen())
        error_set(err, ERROR_INTERRUPTED, "interrupted");
    else if (err->kind == ERROR_NONE)
        error_set(err, ERROR_PARSE, "%s is damaged, or no job: its text is not what its name says",
                  c->name);
    return NULL;
}

static json_t *given_up(struct arena *a, const struct work *w, const struct spool_job *j) {
    const char *evidence = arena_printf(a, "%d workers ended over this job", SPOOL_TRIES);
    if (!j->has_job) {
        struct error err = {0};
        error_set(&err, ERROR_IO, "%s", evidence);
        return spool_answer_message(NULL, NULL, NULL, worker_error_message(&err, false));
    }
    struct eval_result r = {.verdict = {.kind = VERDICT_INFRA,
                                        .evidence = evidence,
                                        .error = {NAN, NAN, NAN, NAN, NAN, NAN}}};
    return spool_answer_message(w->w->target, worker_result_message(&r), NULL, NULL);
}

// Judge; NULL: not here, `err` says why.
static json_t *judge(struct work *w, struct arena *a, const struct spool_job *j, char *words,
                     size_t room, struct error *err) {
    struct eval_result r = {0};
    if (j->has_job && !evaluator_judge(w->evaluator, a, &j->job, &r, err))
        return NULL;
    snprintf(words, room, "%s: %s", j->problem->name,
             j->has_job ? verdict_kind_name(r.verdict.kind) : "null kernels tried");
    const char *null_kernel = NULL;
    bool is_worth_it =
        !j->has_job || r.verdict.kind == VERDICT_OK || verdict_is_of_calls(&r.verdict);
    struct error ignored = {0};  // the next job finds out
    if (j->wants_null && is_worth_it)
        evaluator_null_kernel(w->evaluator, &null_kernel, &ignored);
    bool is_known = evaluator_null_is_known(w->evaluator);
    if (interrupt_seen() && !is_known) {
        error_set(err, ERROR_INTERRUPTED, "interrupted");
        return NULL;
    }
    if (!j->has_job && !is_known) {
        error_set(err, ERROR_IO, "the judge ended");
        return spool_answer_message(NULL, NULL, NULL, worker_error_message(err, true));
    }
    return spool_answer_message(w->w->target, j->has_job ? worker_result_message(&r) : NULL,
                                is_known ? worker_nulled_message(null_kernel) : NULL, NULL);
}

// The answer to a claimed job; NULL: none, since we cannot go on.
static json_t *answer_to(struct work *w, struct arena *a, const struct spool_claim *c, char *words,
                         size_t room, struct error *err) {
    struct spool_job j;
    size_t len;
    char *text = read_whole(w, a, c, &len, err);
    if (err->kind == ERROR_INTERRUPTED)
        return NULL;
    if (!text || !spool_read_job(a, text, len, &j, err))
        return refuse(err, words, room);
    if (c->tries >= SPOOL_TRIES) {
        snprintf(words, room, "%s: given up, %d workers ended over it", j.problem->name, c->tries);
        return given_up(a, w, &j);
    }
    json_t *answer = need_judge(w, text, len, &j, err) ? judge(w, a, &j, words, room, err) : NULL;
    if (answer)
        return answer;
    close_judge(w);
    // Without a compiler or a device every other job would fare the same here, and better
    // elsewhere.
    bool is_ours = err->kind == ERROR_INTERRUPTED || err->kind == ERROR_UNSUPPORTED;
    return is_ours ? NULL : refuse(err, words, room);
}

static bool serve(struct work *w, const struct spool_claim *c, struct error *err) {
    struct arena a = {0};
    struct error why = {0};
    char words[256] = "";
    bool kept = true, ok = true;
    int64_t start_ns = clock_now_ns();
    set_claim(&w->heart, c->path);
    json_t *answer = answer_to(w, &a, c, words, sizeof words, &why);
    // What is missing here is found out with the last question; the judge closes with the answer.
    if (answer)
        ok = spool_answer(w->spool, c, json_print(&a, answer), &kept, &why);
    set_claim(&w->heart, "");
    if (!answer || !ok) {
        spool_return(w->spool, c);
        *err = why;
        ok = false;
    } else if (kept) {
        w->w->n_jobs++;
    }
    if (ok && w->w->on_job)
        w->w->on_job(c->id, kept ? words : "nobody wants the answer any more",
                     (double)(clock_now_ns() - start_ns) * 1e-9, w->w->ctx);
    json_decref(answer);
    arena_reset(&a);
    return ok;
}

// ---- the loop

static bool tidy(struct work *w, struct error *err) {
    if ((double)(clock_now_ns() - w->tidied_ns) * 1e-9 < SPOOL_BEAT_S)
        return true;
    w->tidied_ns = clock_now_ns();
    return spool_tidy(w->spool, err);
}

static bool loop(struct work *w, struct error *err) {
    bool ok = true, more = true;
    while (ok && more) {
        struct spool_claim claim;
        bool got;
        if (interrupt_seen())
            return error_set(err, ERROR_INTERRUPTED, "interrupted");
        ok = tidy(w, err) && spool_claim(w->spool, &w->serves, &claim, &got, err);
        if (ok && got)
            ok = serve(w, &claim, err);
        else if (ok && w->w->once)
            more = false;
        else if (ok)
            ok = spool_wait(w->spool, LOOK_MS, err);
    }
    return ok;
}

bool spool_work(struct spool_work *spec, struct error *err) {
    struct work w = {.w = spec, .tidied_ns = clock_now_ns()};
    struct arena a = {0};
    w.serves = (struct spool_address){target_kernel_name(spec->target), spec->target->id};
    json_t *machine = spool_machine_message(spec->target);
    bool ok = spool_open(&w.spool, spec->dir, err) &&
              spool_describe(w.spool, spec->target->id, json_print(&a, machine), err) &&
              start_heart(&w.heart, spec->dir, spec->target->id, err);
    if (ok) {
        ok = loop(&w, err);
        stop_heart(&w.heart);
    }
    close_judge(&w);
    spool_close(w.spool);
    json_decref(machine);
    arena_reset(&a);
    return ok;
}
