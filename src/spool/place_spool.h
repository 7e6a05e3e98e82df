// An evaluator whose questions go through a spool (spool.h) to workers elsewhere.
#pragma once

#include "place/evaluate.h"

// Jobs to workers that share a directory with us. Nothing is started; a job waits for a worker.
struct spool_spec {
    const char *dir;
    const struct problem *problem;
    const struct target *target;  // what the candidates are for; its facts need not be exact
    const char *machine;          // id of the one device that may judge; NULL: any of its kind
    // Announced jobs may go to any device that is like the target; `machine` judges all others.
    bool is_shared;
    double wait_s;  // give up when no worker takes a job; 0: 60 s
    uint64_t seed;  // 0: drawn by the worker, and known to nobody else
};
bool evaluator_open_spool(struct evaluator **out, const struct spool_spec *spec, struct error *err);

// Leave a job in a spool for any worker, and for an evaluator that later asks the same. `id`
// has room for 33 bytes; `is_answered`: somebody has done it already.
bool evaluator_post(const struct spool_spec *spec, const struct eval_job *job, char *id,
                    bool *is_answered, struct error *err);
