// A worker behind a spool: claims jobs, has each judged by a judge of its own (evaluate.h), and
// answers. Jobs in a row about the same problem share a judge, as they would at home. A job that
// makes no sense is answered with what is wrong with it; one over which SPOOL_TRIES workers ended
// is answered with infra; a worker that cannot judge at all gives its claim back and ends.
#pragma once

#include <stdbool.h>

struct error;
struct target;

struct spool_work {
    const char *dir;
    const struct target *target;  // what we serve, ceilings and all
    bool once;                    // end when nothing is left to claim
    // Called after each job with its id and what became of it; may be NULL.
    void (*on_job)(const char *id, const char *words, double seconds, void *ctx);
    void *ctx;
    int n_jobs;  // answered; filled in
};

// Until the queue is empty (`once`), a signal comes (ERROR_INTERRUPTED; the claim is returned) or
// the spool fails.
bool spool_work(struct spool_work *w, struct error *err);
