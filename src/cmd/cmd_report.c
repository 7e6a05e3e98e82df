// `hone report`: the story of one run, as report/report.h tells it.
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/narrow.h"
#include "ops/op_runs.h"

struct report_options {
    const char *store, *html;
    bool json;
};

static const struct option_row rows[] = {
    {.name = "html",
     .type = OPTION_STRING,
     .value = "FILE",
     .summary = "write it as a page, with charts and every candidate: one file, no network",
     .offset = offsetof(struct report_options, html)},
    {.name = "store",
     .type = OPTION_STRING,
     .value = "PATH",
     .summary = "where runs are kept (.hone, found upward)",
     .offset = offsetof(struct report_options, store)},
    {.name = "json",
     .type = OPTION_FLAG,
     .summary = "print the result as one hone.optimize/1 document",
     .offset = offsetof(struct report_options, json)},
    {0},
};

static const struct command_options options = {
    .command = "report",
    .arguments = "[RUN]",
    .summary = "tell the story of a run: result, bound, path, checks, effort",
    .text = "Made from the store alone, so that it can be made again at any time. Without a name,\n"
            "or with 'last', the newest run.",
    .rows = rows,
    .max_arguments = 1,
};

static bool write_page(struct arena *a, const char *path, const struct run_view *v,
                       struct error *err) {
    struct str page = {0};
    report_page(&page, v, op_run_graph(a, &v->run));
    bool ok = file_write(path, str_text(&page), page.len, err) || error_wrap(err, "report");
    if (ok)
        printf("%s: run %lld as a page, %zu KB\n", path, (long long)v->run.id, page.len / 1000);
    str_reset(&page);
    return ok;
}

static bool run(int argc, char **argv, struct error *err) {
    struct report_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;

    struct arena a = {0};
    struct run_view view;
    int node;
    bool ok = op_show(&a, o.store, args.count ? args.values[0] : NULL, &view, &node, err);
    if (ok && node >= 0)
        ok = error_set(err, ERROR_USAGE, "report: is about a whole run; for a node: hone show %s",
                       args.values[0]);
    if (ok && o.json && o.html)
        ok = error_set(err, ERROR_USAGE, "report: --json and --html exclude each other");
    if (ok && o.json) {
        json_t *json = report_result_json(&view);
        puts(json_print_pretty(&a, json));
        json_decref(json);
    } else if (ok && o.html) {
        ok = write_page(&a, o.html, &view, err);
    } else if (ok) {
        struct str text = {0};
        report_run(&text, &view);
        narrow_print(stdout, str_text(&text));
        str_reset(&text);
    }
    arena_reset(&a);
    return ok;
}

const struct command cmd_report = {.group = GROUP_INSPECT, .options = &options, .run = run};
