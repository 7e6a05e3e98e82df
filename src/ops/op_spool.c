// Runs a spool's worker on a target, and finds the machine behind a spool that a command's --target
// means.
#include "ops/op_spool.h"

#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/str.h"
#include "calibrate/calibrate.h"
#include "ops/op_machine.h"
#include "spool/spool.h"
#include "spool/spool_message.h"
#include "spool/spool_worker.h"

static const double DEFAULT_WAIT_S = 60;
enum { LOOK_MS = 200 };

bool op_worker(struct arena *a, const struct worker_request *q, int *n_jobs, struct error *err) {
    struct target t;
    struct spool *s;
    *n_jobs = 0;
    if (!op_target(a, q->target, &t, err) || !op_target_usable(a, &t, err) ||
        !spool_open(&s, q->spool, err))
        return false;
    spool_close(s);  // it can be served; before anything is measured
    t.compiler = op_compiler_and_headers(a, &t);
    if (!t.ceilings.present && !q->no_calibrate &&
        !calibrate(a, &t, CALIBRATION_MOST_S, NULL, NULL, err))
        return false;
    struct error unkept = {0};  // then the next worker measures again
    if (t.ceilings.present)
        target_save_ceilings(a, &t, &unkept);
    if (q->on_start)
        q->on_start(&t, q->ctx);
    struct spool_work w = {
        .dir = q->spool, .target = &t, .once = q->once, .on_job = q->on_job, .ctx = q->ctx};
    bool ok = spool_work(&w, err);
    *n_jobs = w.n_jobs;
    return ok;
}

static bool matches(const char *name, const struct target *t) {
    if (!name)
        return true;
    if (strcmp(name, "cuda") == 0)
        return t->is_gpu;
    return strcmp(name, t->name) == 0 || strcmp(name, target_kernel_name(t)) == 0;
}

// The first that matches, in the order of spool_machines; without a name a GPU before a CPU.
static bool find(struct arena *a, struct spool *s, const char *name, struct target *t, bool *found,
                 struct error *err) {
    struct spool_machine *list;
    int n;
    *found = false;
    if (!spool_machines(s, a, &list, &n, err))
        return false;
    for (int i = 0; i < n; i++) {
        struct target here;
        struct error why = {0};
        if (!spool_read_machine(a, list[i].text, list[i].len, &here, &why)) {
            log_info("spool %s: a machine: %s", spool_dir(s), why.text);
            continue;
        }
        if (!matches(name, &here) || (*found && (name || !here.is_gpu || t->is_gpu)))
            continue;
        *t = here;
        *found = true;
    }
    return true;
}

static bool is_known_name(const char *name) {
    for (int i = 0; target_names[i]; i++)
        if (strcmp(name, target_names[i]) == 0)
            return true;
    return strncmp(name, "cuda:", 5) == 0;
}

bool op_spool_target(struct arena *a, const struct spool_want *want, struct target *t,
                     struct error *err) {
    struct spool *s;
    bool found = false, ok = true;
    double wait_s = want->wait_s > 0 ? want->wait_s : DEFAULT_WAIT_S;
    int64_t start_ns = clock_now_ns();
    if (want->name && !is_known_name(want->name)) {
        const char *near = str_nearest(want->name, target_names);
        return error_set(err, ERROR_USAGE, "unknown target '%s'%s%s%s", want->name,
                         near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    if (!spool_open(&s, want->dir, err))
        return false;
    while (ok && (ok = find(a, s, want->name, t, &found, err)) && !found) {
        if (interrupt_seen())
            ok = error_set(err, ERROR_INTERRUPTED, "interrupted");
        else if ((double)(clock_now_ns() - start_ns) * 1e-9 > wait_s)
            ok = error_set(err, ERROR_TIMEOUT,
                           "no worker has described its device%s%s; start one with: hone worker "
                           "--spool %s",
                           want->name ? " for " : "", want->name ? want->name : "", want->dir);
        else
            ok = spool_wait(s, LOOK_MS, err);
    }
    spool_close(s);
    return ok;
}
