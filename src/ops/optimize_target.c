// What an optimisation runs on: a device of this machine, several that are alike, a worker behind a
// spool, or a table in place of one; its ceilings, and the evaluator that judges there.
#include <math.h>

#include "base/arena.h"
#include "base/error.h"
#include "calibrate/calibrate.h"
#include "ops/op_machine.h"
#include "ops/op_spool.h"
#include "ops/optimize_session.h"
#include "spool/place_spool.h"

static void calibrate_progress(const char *what, void *ctx) {
    struct session *s = ctx;
    session_note(s, arena_printf(s->a, "  %s", what));
}

// A cache that cannot be written costs the next run some seconds, and this one nothing.
static void keep_ceilings(struct session *s) {
    struct error why = {0};
    if (!target_save_ceilings(s->a, &s->target, &why))
        session_note(s, arena_printf(s->a, "  not kept: %s", why.text));
}

// Of a run's time, or of what is left of it, a quarter; with less than this not much is measured.
static double calibration_share(double seconds) {
    static const double least_s = 2;
    return fmax(least_s, seconds / 4);
}

bool session_measure_ceilings(struct session *s, struct error *err) {
    if (s->target.ceilings.present || s->q->no_calibrate || s->q->spool || s->table)
        return true;
    double most_s = calibration_share(session_seconds(s->q));
    session_note(s, arena_printf(s->a, "measuring what %s (%s) can do, once, about 5 s",
                                 s->target.name, s->target.device));
    if (!calibrate(s->a, &s->target, most_s, calibrate_progress, s, err))
        return false;
    if (calibration_is_cut(&s->target, most_s))
        session_note(s, arena_printf(s->a,
                                     "  cut short after %.0f s, and not kept: hone calibrate "
                                     "measures it in full",
                                     s->target.ceilings.seconds));
    else
        keep_ceilings(s);
    return true;
}

bool session_remeasure(void *ctx, struct run *run, const char *why, struct error *err) {
    struct session *s = ctx;
    struct target fresh = s->target;
    session_note(s, arena_printf(s->a, "%s: measuring again what this machine can do", why));
    double left_s = run->max_seconds - run->elapsed_s;
    double most_s = calibration_share(left_s);
    if (!calibrate(s->a, &fresh, most_s, NULL, NULL, err))
        return false;
    if (s->target.ceilings.present)
        ceilings_raise(&s->target.ceilings, &fresh.ceilings);
    else  // resumed from a record that did not keep them
        s->target.ceilings = fresh.ceilings;
    bound_compute(s->problem, &s->target, &s->bound);
    run->bound = session_bound_text(s->a, &s->bound);
    if (!calibration_is_cut(&fresh, most_s))
        keep_ceilings(s);
    return judging_record_bound(s->store, run->id, run->bound, session_facts_text(s), err);
}

// A table in place of a device.
static bool open_table(struct session *s, const char *path, struct error *err) {
    const struct optimize_request *q = s->q;
    if (q->spool || q->seconds > 0)
        return error_set(err, ERROR_USAGE,
                         "%s does not go with a table: it is searched here, and "
                         "nothing takes time; --evals limits it",
                         q->spool ? "--spool" : "--seconds");
    s->table = arena_new(s->a, struct op_table);
    if (!op_table_open(s->a, path, s->table, err) ||
        !op_table_check_problem(s->table, s->problem, err))
        return false;
    s->target = s->table->target;
    if (!q->memory)
        s->memory = NULL;  // the seed alone decides, unless somebody names a memory
    session_note(s,
                 arena_printf(s->a, "searching a table of %d blocks, %d of them ok, in place of %s",
                              s->table->table.n_rows, s->table->judge.n_ok, s->target.device));
    if (s->table->n_unknown > 0)
        session_note(s,
                     arena_printf(s->a, "left out: %d blocks that this hone does not know any more",
                                  s->table->n_unknown));
    return true;
}

// The device that judges: of this machine, or the one of a worker behind the spool.
bool session_find_target(struct session *s, const char *name, struct error *err) {
    const struct optimize_request *q = s->q;
    const char *table = op_table_path(name);
    if (table)
        return open_table(s, table, err);
    if (q->spool)
        return op_spool_target(s->a, &(struct spool_want){q->spool, name, q->wait_s}, &s->target,
                               err);
    // Before anything is stored or measured: can something come of it at all?
    if (!op_target(s->a, name, &s->target, err) || !op_target_usable(s->a, &s->target, err))
        return false;
    if (s->team.llm)  // a model wants to know who reads what it writes
        s->target.compiler = op_compiler_and_headers(s->a, &s->target);
    return true;
}

// The target and the other GPUs of this machine that are like it, `jobs` in all at most.
static bool find_devices(struct session *s, struct error *err) {
    int most = (int)s->q->jobs;
    if (most <= 1 || s->q->spool)
        return true;
    if (s->table || !s->target.is_gpu)
        return error_set(err, ERROR_USAGE,
                         "--jobs: %s judges one candidate at a time; several are for GPUs, or for "
                         "workers of a --spool",
                         s->table ? s->table->name : s->target.name);
    if (!op_alike_targets(s->a, &s->target, most, &s->devices, &s->n_devices, err))
        return false;
    if (s->n_devices < most)
        session_note(s, arena_printf(s->a,
                                     "%d of the %d jobs asked for: so many GPUs like %s are here",
                                     s->n_devices, most, s->target.name));
    return true;
}

// What became of a device is said once.
void session_follow_devices(struct session *s) {
    int n = evaluator_capacity(s->evaluator);
    if (s->n_devices > 1 && n < s->n_devices)
        session_note(s, arena_printf(s->a, "a device is out: %d of %d go on", n, s->n_devices));
    s->n_devices = s->n_devices > 1 ? n : s->n_devices;
}

bool session_open_evaluator(struct session *s, struct error *err) {
    if (s->table && s->q->jobs <= 1)
        return true;
    if (!find_devices(s, err))
        return false;
    if (s->n_devices > 1)
        return evaluator_open_devices(&s->evaluator, s->problem, s->devices, s->n_devices, err);
    struct spool_spec spec = {.dir = s->q->spool,
                              .problem = s->problem,
                              .target = &s->target,
                              .machine = s->target.id,
                              .is_shared = s->q->jobs > 1,
                              .wait_s = s->q->wait_s};
    return s->q->spool ? evaluator_open_spool(&s->evaluator, &spec, err)
                       : evaluator_open(&s->evaluator, s->problem, &s->target, 0, err);
}
