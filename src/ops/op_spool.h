// The spool from both ends: `hone worker`, and which device a command finds behind one.
#pragma once

#include <stdbool.h>

#include "model/target.h"

struct arena;
struct error;

struct worker_request {
    const char *spool;
    const char *target;  // NULL: the default
    bool once;           // end when the queue is empty
    bool no_calibrate;   // serve without ceilings where they were not measured
    // Called with the device when work begins, and after each job; may be NULL.
    void (*on_start)(const struct target *t, void *ctx);
    void (*on_job)(const char *id, const char *words, double seconds, void *ctx);
    void *ctx;
};

// *n_jobs is filled in whatever happens.
bool op_worker(struct arena *a, const struct worker_request *q, int *n_jobs, struct error *err);

struct spool_want {
    const char *dir;
    const char *name;  // as `--target`: "cpu", "cuda", "cuda:1", "sm_90a"; NULL: a GPU, else a CPU
    double wait_s;     // for a worker to describe such a device; 0: 60 s
};

// A device that a worker of the spool has described, the one that was seen last.
bool op_spool_target(struct arena *a, const struct spool_want *want, struct target *t,
                     struct error *err);
