// `hone runs`: a line per run of the store.
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/narrow.h"
#include "ops/op_pages.h"
#include "ops/op_runs.h"

struct runs_options {
    const char *store, *html;
    bool json;
};

static const struct option_row rows[] = {
    {.name = "store",
     .type = OPTION_STRING,
     .value = "PATH",
     .summary = "where runs are kept (.hone, found upward)",
     .offset = offsetof(struct runs_options, store)},
    {.name = "html",
     .type = OPTION_STRING,
     .value = "DIR",
     .summary = "write all runs as pages into this directory, with an index that sorts",
     .offset = offsetof(struct runs_options, html)},
    {.name = "json",
     .type = OPTION_FLAG,
     .summary = "print one hone.runs/1 document",
     .offset = offsetof(struct runs_options, json)},
    {0},
};

static const struct command_options options = {
    .command = "runs",
    .arguments = "[rm RUN...]",
    .summary = "list the runs in the store, newest first, or remove some",
    .text =
        "A run that is 'interrupted' or 'killed' goes on with hone optimize --resume RUN. A store\n"
        "that a newer hone wrote is refused with exit status 3; one that is damaged, or cannot be\n"
        "read or written, with 4; what is not a store, or not there, with 2.\n"
        "\n"
        "hone runs rm RUN... removes runs with all their nodes and recordings, for good; hone gc\n"
        "then makes the file smaller. Numbers are not given again.",
    .rows = rows,
    .max_arguments = -1,
};

static bool write_pages(const struct runs_options *o, struct error *err) {
    struct arena a = {0};
    int n;
    bool ok = op_pages(&a, o->store, o->html, &n, err) || error_wrap(err, "runs");
    if (ok)
        printf("%s/index.html: %d run%s, a page each\n", o->html, n, n == 1 ? "" : "s");
    arena_reset(&a);
    return ok;
}

static bool remove_runs(const struct runs_options *o, const struct arguments *args,
                        struct error *err) {
    struct arena a = {0};
    bool ok =
        op_remove_runs(&a, o->store, (const char *const *)args->values + 1, args->count - 1, err);
    if (ok)
        printf("removed %d run%s\n", args->count - 1, args->count == 2 ? "" : "s");
    arena_reset(&a);
    return ok;
}

static bool run(int argc, char **argv, struct error *err) {
    struct runs_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;

    if (args.count && (strcmp(args.values[0], "rm") != 0 || args.count < 2))
        return error_set(err, ERROR_USAGE, "runs: expected nothing, or rm RUN...");
    if (args.count)
        return remove_runs(&o, &args, err);
    if (o.html)
        return write_pages(&o, err);
    struct arena a = {0};
    struct run_view *views;
    int n_views;
    bool ok = op_runs(&a, o.store, &views, &n_views, err);
    if (ok && o.json) {
        json_t *json = report_runs_json(views, n_views);
        puts(json_print_pretty(&a, json));
        json_decref(json);
    } else if (ok) {
        struct str text = {0};
        report_runs(&text, views, n_views);
        narrow_print(stdout, str_text(&text));
        str_reset(&text);
    }
    arena_reset(&a);
    return ok;
}

const struct command cmd_runs = {.group = GROUP_INSPECT, .options = &options, .run = run};
