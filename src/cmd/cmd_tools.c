// `hone tools`: the micro-profiling tools and how right they were, over ops/op_tools.h.
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/narrow.h"
#include "ops/op_tools.h"

struct tools_options {
    const char *store;
    bool json;
};

static const struct option_row rows[] = {
    {.name = "store",
     .type = OPTION_STRING,
     .value = "PATH",
     .summary = "where runs are kept (.hone, found upward)",
     .offset = offsetof(struct tools_options, store)},
    {.name = "json",
     .type = OPTION_FLAG,
     .summary = "print one hone.tools/1 document",
     .offset = offsetof(struct tools_options, json)},
    {0},
};

static const struct command_options options = {
    .command = "tools",
    .arguments = "",
    .summary = "list the tools that explain kernels, and how right they were",
    .text =
        "A tool looks at a profile and says what limits a kernel: the findings of hone eval,\n"
        "hone optimize and hone diagnose. Where there is a store, each comes with how often it\n"
        "fired, how often a candidate was proposed for it and judged, how often that one was\n"
        "faster than its parent, the medians of the gain that it expected and of the gain that\n"
        "came, and how far off it was (the median).",
    .rows = rows,
};

static bool run(int argc, char **argv, struct error *err) {
    struct tools_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;

    struct arena a = {0};
    struct tool_list list;
    bool ok = op_tools(&a, o.store, &list, err);
    if (ok && o.json) {
        json_t *document = op_tools_json(&list);
        printf("%s\n", json_print_pretty(&a, document));
        json_decref(document);
    } else if (ok) {
        narrow_print(stdout, op_tools_text(&a, &list));
    }
    arena_reset(&a);
    return ok;
}

const struct command cmd_tools = {.group = GROUP_INSPECT, .options = &options, .run = run};
