// One question at a time to a place (place.h), with up to three tries where the answer says infra
// or the worker is gone. What cannot be helped is remembered and given to every later question.
#include "place/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/log.h"
#include "eval/worker.h"
#include "place/place.h"

enum { TRIES = 3 };

struct evaluator {
    struct arena arena;
    const struct eval_place *place;
    void *ctx;            // the place's
    struct error broken;  // kind set: nothing can be judged any more
    bool null_is_known;
    const char *null_kernel;
};

struct evaluator *evaluator_open_at(const struct eval_place *place, void *ctx) {
    struct evaluator *e = ctx ? calloc(1, sizeof *e) : NULL;
    if (ctx && !e)
        abort();
    if (e) {
        e->place = place;
        e->ctx = ctx;
    }
    return e;
}

bool evaluator_open(struct evaluator **out, const struct problem *p, const struct target *t,
                    uint64_t seed, struct error *err) {
    *out = evaluator_open_at(&place_local, place_local_open(p, t, seed, err));
    return *out || error_wrap(err, "start a worker");
}

bool evaluator_open_devices(struct evaluator **out, const struct problem *p,
                            const struct target *const *targets, int n_targets, struct error *err) {
    *out = evaluator_open_at(&place_devices, place_devices_open(p, targets, n_targets, err));
    return *out || error_wrap(err, "start a worker");
}

int evaluator_capacity(const struct evaluator *e) {
    return e->place->at_once ? e->place->at_once(e->ctx) : 1;
}

const struct target *evaluator_target(const struct evaluator *e) {
    return e->place->target(e->ctx);
}

// Which device gave the last answer, where it is not the run's own.
static const char *elsewhere(const struct evaluator *e, struct arena *a) {
    const char *name = e->place->elsewhere ? e->place->elsewhere(e->ctx) : NULL;
    return name ? arena_strdup(a, name) : NULL;
}

// As the place's ask; what cannot be helped is kept for the next question.
static int ask(struct evaluator *e, json_t *question, json_t **answer, struct error *err) {
    int outcome = 0;
    if (e->broken.kind == ERROR_NONE)
        outcome = e->place->ask(e->ctx, question, answer, err);
    else
        *err = e->broken;
    if (outcome == 0)
        e->broken = *err;
    json_decref(question);
    return outcome;
}

bool evaluator_null_kernel(struct evaluator *e, const char **what, struct error *err) {
    json_t *told = NULL;
    int outcome = -1;
    for (int i = 0; i < TRIES && outcome < 0 && !e->null_is_known; i++) {
        *err = (struct error){0};
        outcome = ask(e, worker_null_message(), &told, err);
    }
    if (outcome > 0) {
        const char *passes = json_string_value(json_object_get(told, "null_kernel"));
        e->null_kernel = passes ? arena_strdup(&e->arena, passes) : NULL;
        e->null_is_known = true;
        json_decref(told);
    }
    *what = e->null_kernel;
    return e->null_is_known ||
           (outcome < 0 ? error_wrap(err, "the worker failed %d times", TRIES) : false);
}

bool evaluator_null_is_known(const struct evaluator *e) {
    return e->null_is_known;
}

// 1 judged, 0 nothing can be judged any more, -1 the worker is gone.
static int try_job(struct evaluator *e, struct arena *a, const struct eval_job *job,
                   struct eval_result *result, struct error *err) {
    json_t *judged = NULL;
    int outcome = ask(e, worker_job_message(job), &judged, err);
    if (outcome > 0 && !worker_read_result(a, judged, result, err))
        outcome = -1;
    if (outcome > 0)
        result->verdict.device = elsewhere(e, a);
    json_decref(judged);
    return outcome;
}

static bool has_rule(const struct verdict *v, const char *rule) {
    return v->rule && strcmp(v->rule, rule) == 0;
}

// Not the candidate's fault; or perhaps not: it did not run, and nobody knows whether it would
// have. A baseline that fails is tried twice: it is a reference that worked before, most often,
// and a machine that is busy enough lets anybody's call come late.
static bool is_worth_another_try(const struct evaluator *e, const struct verdict *v, int n_before) {
    if (!e->place->retries_infra)
        return false;
    if (v->kind == VERDICT_TIMEOUT)
        return has_rule(v, "stalled");
    return v->kind == VERDICT_INFRA && (!has_rule(v, "baseline") || n_before == 0);
}

bool evaluator_judge(struct evaluator *e, struct arena *a, const struct eval_job *job,
                     struct eval_result *result, struct error *err) {
    for (int i = 0; i < TRIES; i++) {
        *err = (struct error){0};
        int outcome = try_job(e, a, job, result, err);
        bool is_last = i + 1 == TRIES;
        if (outcome > 0 && is_last && result->verdict.rule &&
            is_worth_another_try(e, &result->verdict, i))
            result->verdict.evidence =
                arena_printf(a, "%s (tried %d times)", result->verdict.evidence, TRIES);
        if (outcome == 0 ||
            (outcome > 0 && (is_last || !is_worth_another_try(e, &result->verdict, i))))
            return outcome > 0;
        log_info("trying again: %s", outcome > 0 ? result->verdict.evidence : err->text);
    }
    *result = (struct eval_result){
        .verdict = {.kind = VERDICT_INFRA,
                    .evidence = arena_printf(a, "the worker failed %d times: %s", TRIES, err->text),
                    .error = {NAN, NAN, NAN, NAN, NAN, NAN}}};
    *err = (struct error){0};
    return true;
}

bool evaluator_announce(struct evaluator *e, const struct eval_job *job, struct error *err) {
    if (!e->place->announce)
        return true;
    json_t *question = worker_job_message(job);
    bool ok = e->place->announce(e->ctx, question, err);
    json_decref(question);
    return ok;
}

bool evaluator_can_race(const struct evaluator *e) {
    return e->place->races;
}

static bool ask_race(struct evaluator *e, struct arena *a, const struct race_job *job,
                     struct screening *screenings, struct error *err) {
    int outcome = -1;
    for (int i = 0; i < TRIES && outcome < 0; i++) {
        json_t *raced = NULL;
        *err = (struct error){0};
        outcome = ask(e, worker_race_message(job), &raced, err);
        if (outcome > 0 && !worker_read_raced(a, raced, screenings, job->n_candidates, err))
            outcome = -1;
        json_decref(raced);
        if (outcome < 0)
            log_info("racing again: %s", err->text);
    }
    return outcome > 0 || error_wrap(err, "race");
}

// Of those that came through in their parts only as many as the whole race may have.
static void keep_best(const struct race_job *job, struct screening *screenings) {
    int n = 0;
    for (int i = 0; i < job->n_candidates; i++)
        n += screenings[i].survived;
    for (; n > job->n_survivors; n--) {
        struct screening *worst = NULL;
        for (int i = 0; i < job->n_candidates; i++)
            if (screenings[i].survived && (!worst || !(screenings[i].speedup >= worst->speedup)))
                worst = &screenings[i];
        worst->survived = false;
    }
}

// Every n-th candidate, since the best are proposed first.
static void take_part(struct arena *a, const struct race_job *job, int part, int n_parts,
                      struct race_job *out) {
    struct candidate *candidates = arena_array(a, struct candidate, job->n_candidates);
    *out = *job;
    out->candidates = candidates;
    out->n_candidates = 0;
    for (int i = part; i < job->n_candidates; i += n_parts)
        candidates[out->n_candidates++] = job->candidates[i];
}

bool evaluator_race(struct evaluator *e, struct arena *a, const struct race_job *job,
                    struct screening *screenings, struct error *err) {
    int n_parts = evaluator_capacity(e);
    if (n_parts > job->n_candidates)
        n_parts = job->n_candidates;
    if (n_parts <= 1)
        return ask_race(e, a, job, screenings, err);
    struct race_job *parts = arena_array(a, struct race_job, n_parts);
    struct screening *told = arena_array(a, struct screening, job->n_candidates);
    bool ok = true;
    for (int p = 0; ok && p < n_parts; p++) {
        take_part(a, job, p, n_parts, &parts[p]);
        json_t *question = worker_race_message(&parts[p]);
        ok = e->place->announce(e->ctx, question, err);
        json_decref(question);
    }
    for (int p = 0; ok && p < n_parts; p++) {
        ok = ask_race(e, a, &parts[p], told, err);
        for (int i = 0; ok && i < parts[p].n_candidates; i++) {
            screenings[p + i * n_parts] = told[i];
            screenings[p + i * n_parts].device = elsewhere(e, a);
        }
    }
    if (ok)
        keep_best(job, screenings);
    return ok;
}

void evaluator_close(struct evaluator *e) {
    if (!e)
        return;
    e->place->close(e->ctx);
    arena_reset(&e->arena);
    free(e);
}
