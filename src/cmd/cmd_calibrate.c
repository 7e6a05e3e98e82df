// `hone calibrate`: options and printing over ops/op_calibrate.h.
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/narrow.h"
#include "cmd/print.h"
#include "cmd/ticker.h"
#include "ops/op_calibrate.h"

struct calibrate_options {
    const char *target;
    bool json, quiet;
};

static const struct option_row rows[] = {
    {.name = "target",
     .type = OPTION_STRING,
     .value = "NAME",
     .summary = "cpu, cuda or cuda:N (the first GPU, else cpu)",
     .offset = offsetof(struct calibrate_options, target)},
    {.name = "json",
     .type = OPTION_FLAG,
     .summary = "print one hone.ceilings/3 document",
     .offset = offsetof(struct calibrate_options, json)},
    QUIET_ROW(struct calibrate_options),
    {0},
};

static const struct command_options options = {
    .command = "calibrate",
    .arguments = "",
    .summary = "measure what a device can do at best, and keep it",
    .text =
        "Every reach is computed from these ceilings: on a CPU by the same runner and the same\n"
        "clock as candidates have, on a GPU by hone's own process and events on the device,\n"
        "from cold caches as candidates are timed. They are measured with nothing else running\n"
        "if possible, and kept in the cache until they are measured again. On a CPU it takes\n"
        "about 5 s, and at most 45 s on a machine that is busy; on a GPU about 2 s.",
    .rows = rows,
    .max_arguments = 0,
};

static void say(const char *what, void *ctx) {
    ticker_say(ctx, "measuring %s", what);
}

static bool run(int argc, char **argv, struct error *err) {
    struct calibrate_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    if (args.help)
        return command_help(&options);
    struct arena a = {0};
    struct ticker progress;
    ticker_start(&progress, o.quiet);
    struct calibration c = {.target = o.target, .progress = say, .ctx = &progress};
    const struct target *t = &c.measured;
    bool ok = op_calibrate(&a, &c, err);
    ticker_stop(&progress);
    if (ok && o.json) {
        json_t *document = ceilings_to_json(t);
        printf("%s\n", json_print_pretty(&a, document));
        json_decref(document);
    } else if (ok) {
        struct str text = {0};
        str_printf(&text, "%s (%s)\n", t->name, t->device);
        print_ceilings(&text, &t->ceilings);
        narrow_print(stdout, str_text(&text));
        str_reset(&text);
    }
    if (ok && c.not_kept)
        fprintf(stderr, "hone: not kept, so reach stays unknown: %s\n", c.not_kept);
    arena_reset(&a);
    return ok;
}

const struct command cmd_calibrate = {.group = GROUP_MACHINE, .options = &options, .run = run};
