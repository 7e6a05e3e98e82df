// `hone worker`: judges jobs from a spool until it is stopped, over ops/op_spool.h.
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "ops/op_spool.h"

struct worker_options {
    const char *spool, *target;
    bool once, no_calibrate;
};

static const struct option_row rows[] = {
    {.name = "spool",
     .type = OPTION_STRING,
     .value = "DIR",
     .summary = "the directory to take jobs from; made if it is not there",
     .offset = offsetof(struct worker_options, spool)},
    {.name = "once",
     .type = OPTION_FLAG,
     .summary = "end when the queue is empty",
     .offset = offsetof(struct worker_options, once)},
    {.name = "target",
     .type = OPTION_STRING,
     .value = "NAME",
     .summary = "the device to serve: cpu, cuda or cuda:1 (the first GPU, else cpu)",
     .offset = offsetof(struct worker_options, target)},
    {.name = "no-calibrate",
     .type = OPTION_FLAG,
     .summary = "do not measure the machine's ceilings when they are missing",
     .offset = offsetof(struct worker_options, no_calibrate)},
    {0},
};

static const struct command_options options = {
    .command = "worker",
    .arguments = "",
    .summary = "judge candidates for commands on other machines, through a directory",
    .text =
        "Takes jobs that hone eval --spool DIR and hone optimize --spool DIR leave in DIR, judges\n"
        "them on this machine's device and leaves the answers there. DIR is on a file system that\n"
        "both see, or is carried: leave jobs with hone eval --detach, copy DIR to where the "
        "device\n"
        "is (cp -r, scp, tar), run hone worker --once there, copy it back and ask again. Several\n"
        "workers may serve one DIR, one for each device; a job goes to a worker for its kind of\n"
        "device. A worker that dies gives its job back, after a minute when it ran on another\n"
        "machine. Ctrl-C gives the job back at once. Anybody who may write in DIR can have code "
        "run\n"
        "here, in the judge's sandbox.",
    .rows = rows,
    .max_arguments = 0,
};

static void say_start(const struct target *t, void *ctx) {
    const struct worker_options *o = ctx;
    printf("serving %s with %s (%s)\n", o->spool, target_kernel_name(t), t->device);
    fflush(stdout);
}

static void say_job(const char *id, const char *words, double seconds, void *ctx) {
    (void)ctx;
    printf("%.8s  %s  (%.2f s)\n", id, words, seconds);
    fflush(stdout);
}

static bool run(int argc, char **argv, struct error *err) {
    struct worker_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    if (!o.spool)
        return error_set(err, ERROR_USAGE,
                         "worker: expected --spool DIR; see 'hone worker --help'");
    struct arena a = {0};
    struct worker_request q = {.spool = o.spool,
                               .target = o.target,
                               .once = o.once,
                               .no_calibrate = o.no_calibrate,
                               .on_start = say_start,
                               .on_job = say_job,
                               .ctx = &o};
    int n_jobs;
    bool ok = op_worker(&a, &q, &n_jobs, err);
    if (ok)
        printf("%d job%s done\n", n_jobs, n_jobs == 1 ? "" : "s");
    else if (err->kind == ERROR_INTERRUPTED)
        error_set(err, ERROR_INTERRUPTED, "interrupted after %d job%s", n_jobs,
                  n_jobs == 1 ? "" : "s");
    arena_reset(&a);
    return ok;
}

const struct command cmd_worker = {.group = GROUP_MACHINE, .options = &options, .run = run};
