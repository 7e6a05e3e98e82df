// The spool as a place for questions: put the job there, wait for the answer, and give up with
// words when nobody comes.
#include "spool/place_spool.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "eval/worker.h"
#include "place/place.h"
#include "spool/spool.h"
#include "spool/spool_message.h"

static const double DEFAULT_WAIT_S = 60;
// Between two looks: changes on this machine wake us up, those of others do not.
enum { LOOK_MS = 100, TIDY_S = SPOOL_BEAT_S };
// An answer that is being copied here is read in part at first.
static const double PARTIAL_S = 2;

struct asking {
    struct arena arena;  // the target of the last answer
    struct spool *spool;
    struct spool_spec spec;
    struct spool_address to;
    struct target target;
    char elsewhere[96];  // its name where it is not the machine that was asked for; "": it is
    json_t *nulled;      // an hone.nulled/1, once known
    // Announced, and perhaps never asked: withdrawn at the end.
    struct announced {
        char id[SPOOL_ID];
        char *text;
    } * announced;
    int n_announced;
};

// One question on its way.
struct wait {
    struct asking *q;
    struct spool_address to;
    const char *text;
    char id[SPOOL_ID];
    bool is_shared;      // announced to any machine: what goes wrong there may go well at home
    int64_t seen_ns;     // when a worker that may take it was last known to live
    int64_t tidied_ns;   // the same for spool_tidy
    int64_t partial_ns;  // since when the answer makes no sense; 0: it does not
    int n_absent;        // looks in a row at which the job was nowhere
};

static double seconds_since(int64_t ns) {
    return (double)(clock_now_ns() - ns) * 1e-9;
}

// ---- answers

static bool check_target(struct wait *w, const json_t *answer, struct error *err) {
    struct asking *q = w->q;
    struct arena a = {0};
    struct target t;
    const struct spool_spec *spec = &q->spec;
    bool ok = target_from_json(&a, json_object_get(answer, "target"), &t, err);
    if (ok && strcmp(target_kernel_name(&t), q->to.kind) != 0)
        ok = error_set(err, ERROR_IO, "the answer is of %s (%s), and %s was asked for", t.device,
                       target_kernel_name(&t), q->to.kind);
    if (ok && w->to.machine && strcmp(t.id, w->to.machine) != 0)
        ok = error_set(err, ERROR_IO, "the answer is of another %s than was asked for", t.device);
    bool is_elsewhere = ok && spec->machine && strcmp(t.id, spec->machine) != 0;
    if (is_elsewhere && strcmp(t.device, spec->target->device) != 0)
        ok = error_set(err, ERROR_IO, "the answer is of %s, which is not like %s", t.device,
                       spec->target->device);
    q->elsewhere[0] = '\0';
    if (ok) {
        arena_reset(&q->arena);
        ok = target_from_json(&q->arena, json_object_get(answer, "target"), &q->target, err);
    }
    if (ok && is_elsewhere)
        snprintf(q->elsewhere, sizeof q->elsewhere, "%s (%.8s)", q->target.name, q->target.id);
    arena_reset(&a);
    return ok;
}

// The part of an answer that belongs to the question.
static int read_answer(struct wait *w, bool wants_job, const json_t *answer, json_t **out,
                       struct error *err) {
    struct asking *q = w->q;
    struct json_reader r = {.where = "answer"};
    json_read_schema(&r, answer, "hone.spool-answer/1");
    if (!json_reader_done(&r, err))
        return 0;
    int error = worker_read_error(json_object_get(answer, "error"), err);
    if (error)
        return error > 0 && !w->is_shared ? 0 : -1;
    if (!check_target(w, answer, err))
        return w->is_shared ? -1 : 0;
    json_t *nulled = json_object_get(answer, "nulled");
    if (json_is_object(nulled)) {
        json_decref(q->nulled);
        q->nulled = json_incref(nulled);
    }
    json_t *part = wants_job ? json_object_get(answer, "judged") : nulled;
    if (!json_is_object(part)) {
        error_set(err, ERROR_IO, "the answer says nothing to the question");
        return 0;
    }
    *out = json_incref(part);
    return 1;
}

// The answer as a document, if it is there and whole. False: it cannot be read.
static bool fetch(struct wait *w, json_t **answer, struct error *err) {
    struct arena a = {0};
    struct error parse = {0};
    size_t len;
    *answer = NULL;
    char *text = spool_peek(w->q->spool, &a, w->id, &len, err);
    bool ok = err->kind == ERROR_NONE;
    if (text && !(*answer = json_parse(text, len, &parse))) {
        w->partial_ns = w->partial_ns ? w->partial_ns : clock_now_ns();
        ok = seconds_since(w->partial_ns) < PARTIAL_S ||
             error_set(err, ERROR_IO, "answer %s: %s", w->id, parse.text);
    }
    arena_reset(&a);
    return ok;
}

// ---- waiting

// Is there a worker somewhere that could take it, as far as anybody can tell?
static bool has_worker(struct wait *w, bool *found, struct error *err) {
    struct arena a = {0};
    struct spool_machine *list;
    int n;
    *found = false;
    bool ok = spool_machines(w->q->spool, &a, &list, &n, err);
    for (int i = 0; ok && i < n && !*found; i++) {
        struct target t;
        struct error ignored = {0};
        *found = list[i].is_live &&
                 spool_read_machine(&a, list[i].text, list[i].len, &t, &ignored) &&
                 strcmp(target_kernel_name(&t), w->q->to.kind) == 0 &&
                 (!w->to.machine || strcmp(t.id, w->to.machine) == 0);
    }
    arena_reset(&a);
    return ok;
}

// Once in a while: order in the spool, and a look for workers.
static bool look_after(struct wait *w, struct error *err) {
    if (seconds_since(w->tidied_ns) < TIDY_S)
        return true;
    bool found;
    w->tidied_ns = clock_now_ns();
    if (!spool_tidy(w->q->spool, err) || !has_worker(w, &found, err))
        return false;
    if (found)
        w->seen_ns = clock_now_ns();
    return true;
}

// A job that is nowhere was answered to somebody else who asked the same, or removed.
static bool look_for_job(struct wait *w, struct error *err) {
    enum spool_state state;
    if (!spool_state_of(w->q->spool, w->id, &state, err))
        return false;
    if (state == SPOOL_CLAIMED)
        w->seen_ns = clock_now_ns();
    w->n_absent = state == SPOOL_ABSENT ? w->n_absent + 1 : 0;
    if (w->n_absent < 2)
        return true;
    w->n_absent = 0;
    return spool_put(w->q->spool, &w->to, w->text, false, w->id, err);
}

static bool wait_on(struct wait *w, struct error *err) {
    double wait_s = w->q->spec.wait_s;
    if (interrupt_seen())
        return error_set(err, ERROR_INTERRUPTED, "interrupted");
    if (!look_for_job(w, err) || !look_after(w, err))
        return false;
    if (seconds_since(w->seen_ns) > wait_s)
        return error_set(
            err, ERROR_TIMEOUT,
            "no worker has taken the job for %.0f s; start one for %s with: hone worker "
            "--spool %s",
            wait_s, w->q->to.kind, spool_dir(w->q->spool));
    return spool_wait(w->q->spool, LOOK_MS, err);
}

static bool exchange(struct wait *w, json_t **answer, struct error *err) {
    struct asking *q = w->q;
    w->seen_ns = w->tidied_ns = clock_now_ns();
    bool ok = spool_put(q->spool, &w->to, w->text, false, w->id, err);
    while (ok && (ok = fetch(w, answer, err)) && !*answer)
        ok = wait_on(w, err);
    // One that makes no sense is gone for good as well: asked again, the job is done again.
    if (w->id[0])
        spool_drop(q->spool, w->id, ok || (w->partial_ns && err->kind == ERROR_IO));
    return ok;
}

// The job as the workers read it. Shared ones name no machine.
static const char *job_text(const struct asking *q, struct arena *a, const json_t *question,
                            bool is_shared) {
    struct spool_spec spec = q->spec;
    if (is_shared)
        spec.machine = NULL;
    // The worker knows about null kernels after the first job; asking always keeps a question the
    // same, whatever was asked before it.
    json_t *job = spool_job_message(&spec, question, true);
    const char *text = json_print(a, job);
    json_decref(job);
    return text;
}

// Was it announced? Then it is asked once: what comes of it, asked again it is a question of its
// own, for the one machine.
static bool take_announced(struct asking *q, const char *text) {
    for (int i = 0; i < q->n_announced; i++)
        if (strcmp(q->announced[i].text, text) == 0) {
            free(q->announced[i].text);
            q->announced[i] = q->announced[--q->n_announced];
            return true;
        }
    return false;
}

static int ask_spool(void *ctx, const json_t *question, json_t **answer, struct error *err) {
    struct asking *q = ctx;
    struct arena a = {0};
    const char *schema = json_string_value(json_object_get(question, "schema"));
    bool wants_job = schema && strcmp(schema, "hone.job/1") == 0;
    if (!wants_job && q->nulled) {
        *answer = json_incref(q->nulled);
        return 1;
    }
    json_t *told = NULL;
    struct wait w = {.q = q, .to = q->to};
    if (q->spec.is_shared && wants_job) {
        w.text = job_text(q, &a, question, true);
        w.is_shared = take_announced(q, w.text);
    }
    if (w.is_shared)
        w.to.machine = NULL;
    else
        w.text = job_text(q, &a, wants_job ? question : NULL, false);
    int outcome = 0;
    if (exchange(&w, &told, err))
        outcome = read_answer(&w, wants_job, told, answer, err);
    if (outcome <= 0 && err->kind != ERROR_INTERRUPTED && err->kind != ERROR_TIMEOUT) {
        // What cannot be read is a failure, not a negative answer.
        err->kind = err->kind == ERROR_PARSE ? ERROR_IO : err->kind;
        error_wrap(err, "job %.8s", w.id);
    }
    json_decref(told);
    arena_reset(&a);
    return outcome;
}

static bool announce_spool(void *ctx, const json_t *question, struct error *err) {
    struct asking *q = ctx;
    struct arena a = {0};
    struct spool_address to = {q->to.kind, q->spec.is_shared ? NULL : q->to.machine};
    q->announced = realloc(q->announced, sizeof *q->announced * (size_t)(q->n_announced + 1));
    if (!q->announced)
        abort();
    struct announced *n = &q->announced[q->n_announced];
    n->text = strdup(job_text(q, &a, question, q->spec.is_shared));
    if (!n->text)
        abort();
    bool ok = spool_put(q->spool, &to, n->text, false, n->id, err);
    q->n_announced += ok;
    if (!ok)
        free(n->text);
    arena_reset(&a);
    return ok;
}

static void close_spool(void *ctx) {
    struct asking *q = ctx;
    for (int i = 0; i < q->n_announced; i++) {
        spool_drop(q->spool, q->announced[i].id, false);
        free(q->announced[i].text);
    }
    free(q->announced);
    spool_close(q->spool);
    json_decref(q->nulled);
    arena_reset(&q->arena);
    free(q);
}

static const struct target *target_of(void *ctx) {
    struct asking *q = ctx;
    return q->target.id ? &q->target : q->spec.target;
}

static const char *elsewhere(void *ctx) {
    const struct asking *q = ctx;
    return q->elsewhere[0] ? q->elsewhere : NULL;
}

static const struct eval_place place_spool = {.ask = ask_spool,
                                              .announce = announce_spool,
                                              .close = close_spool,
                                              .target = target_of,
                                              .elsewhere = elsewhere};

static void *place_spool_open(const struct spool_spec *spec, struct error *err) {
    struct asking *q = calloc(1, sizeof *q);
    if (!q)
        abort();
    q->spec = *spec;
    q->to = (struct spool_address){target_kernel_name(spec->target), spec->machine};
    if (!(q->spec.wait_s > 0))
        q->spec.wait_s = DEFAULT_WAIT_S;
    if (spool_open(&q->spool, spec->dir, err))
        return q;
    close_spool(q);
    return NULL;
}

bool evaluator_open_spool(struct evaluator **out, const struct spool_spec *spec,
                          struct error *err) {
    *out = evaluator_open_at(&place_spool, place_spool_open(spec, err));
    return *out != NULL;
}

bool evaluator_post(const struct spool_spec *spec, const struct eval_job *job, char *id,
                    bool *is_answered, struct error *err) {
    struct asking *q = place_spool_open(spec, err);
    if (!q)
        return false;
    struct arena a = {0};
    json_t *question = worker_job_message(job);
    json_t *message = spool_job_message(spec, question, true);
    enum spool_state state = SPOOL_ABSENT;
    bool ok = spool_put(q->spool, &q->to, json_print(&a, message), true, id, err) &&
              spool_state_of(q->spool, id, &state, err);
    *is_answered = state == SPOOL_DONE;
    json_decref(message);
    json_decref(question);
    arena_reset(&a);
    close_spool(q);
    return ok;
}
