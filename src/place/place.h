// Where an evaluator's questions go: a worker of our own, or a spool. One row each; the evaluator
// knows no difference.
#pragma once

#include <jansson.h>

#include "place/evaluate.h"

struct eval_place {
    // Called with a question (hone.job/1, hone.null/1, hone.race/1); 1: answered, and the caller
    // owns *answer; 0: nothing can be judged any more; -1: the worker is lost, and the same
    // question may be asked again. With 0 and -1 `err` is set.
    int (*ask)(void *ctx, const json_t *question, json_t **answer, struct error *err);
    // Called with a question that will be asked soon, so that work on it can begin. May be NULL.
    bool (*announce)(void *ctx, const json_t *question, struct error *err);
    // Called once at the end; releases `ctx`.
    void (*close)(void *ctx);
    // Called for the device of the last answer.
    const struct target *(*target)(void *ctx);
    // Called for the name of that device where it is another than the run's own; NULL: it is not.
    // May be NULL: it never is.
    const char *(*elsewhere)(void *ctx);
    // Called for how many questions it works on at once. May be NULL: one.
    int (*at_once)(void *ctx);
    bool races;  // it takes hone.race/1
    // A verdict of infra without a rule is worth another try; elsewhere it has been tried.
    bool retries_infra;
};

// place_local.c: `hone _worker`, which is started now and again after it died.
extern const struct eval_place place_local;
void *place_local_open(const struct problem *p, const struct target *t, uint64_t seed,
                       struct error *err);
// Its `ask` in two halves, for who asks several of them: between these the socket says when the
// answer is there. False, or -1: the worker is gone.
bool place_local_send(void *ctx, const json_t *question, struct error *err);
int place_local_socket(const void *ctx);
int place_local_receive(void *ctx, json_t **answer, struct error *err);

// place_devices.c: such a worker on each of several devices that are alike. `targets` must outlive
// it; the first is the run's.
extern const struct eval_place place_devices;
void *place_devices_open(const struct problem *p, const struct target *const *targets,
                         int n_targets, struct error *err);

// An evaluator of that place, which it owns; NULL where `ctx` is.
struct evaluator *evaluator_open_at(const struct eval_place *place, void *ctx);
