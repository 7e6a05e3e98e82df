// `hone show`: a run as a tree, one of its nodes, or the prompt that a model would get there.
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/narrow.h"
#include "ops/op_prompt.h"
#include "ops/op_runs.h"

struct show_options {
    const char *store;
    bool json, source;
    const char *prompt;
};

static const struct option_row rows[] = {
    {.name = "source",
     .type = OPTION_FLAG,
     .summary = "of one node: its C source as well",
     .offset = offsetof(struct show_options, source)},
    {.name = "prompt",
     .type = OPTION_STRING,
     .value = "ROLE",
     .summary = "of one node: what a model would be given as plan, code or debug; nothing is asked",
     .offset = offsetof(struct show_options, prompt)},
    {.name = "store",
     .type = OPTION_STRING,
     .value = "PATH",
     .summary = "where runs are kept (.hone, found upward)",
     .offset = offsetof(struct show_options, store)},
    {.name = "json",
     .type = OPTION_FLAG,
     .summary = "print one hone.show/1 document, or hone.node/1 of a node",
     .offset = offsetof(struct show_options, json)},
    {0},
};

static const struct command_options options = {
    .command = "show",
    .arguments = "[RUN | RUN.NODE]",
    .summary = "show a run's tree, or one node of it",
    .text =
        "Without a name, or with 'last', the newest run. Speed-ups are over the default\n"
        "kernel, node 0; a star marks the champion. Where a model proposed, the speed-ups that\n"
        "it expected stand next to those measured.",
    .rows = rows,
    .max_arguments = 1,
};

static void print_json(struct arena *a, const struct run_view *v, int node) {
    json_t *json = node < 0 ? report_show_json(v) : search_node_to_json(&v->nodes[node]);
    puts(json_print_pretty(a, json));
    json_decref(json);
}

static void print_text(const struct run_view *v, int node, bool source) {
    struct str text = {0};
    if (node < 0)
        report_tree(&text, v);
    else
        report_node(&text, v, node, source);
    // Source is for reading and for copying: its lines stay as they are.
    if (source)
        fputs(str_text(&text), stdout);
    else
        narrow_print(stdout, str_text(&text));
    str_reset(&text);
}

static bool print_prompt(const struct show_options *o, const char *name, struct error *err) {
    struct arena a = {0};
    struct str text = {0};
    bool ok = op_prompt(&a, o->store, name, o->prompt, &text, err);
    if (ok)
        fputs(str_text(&text), stdout);
    str_reset(&text);
    arena_reset(&a);
    return ok;
}

static bool run(int argc, char **argv, struct error *err) {
    struct show_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;

    if (o.prompt)
        return print_prompt(&o, args.count ? args.values[0] : NULL, err);
    struct arena a = {0};
    struct run_view view;
    int node;
    bool ok = op_show(&a, o.store, args.count ? args.values[0] : NULL, &view, &node, err);
    if (ok && o.source && node < 0)
        ok = error_set(err, ERROR_USAGE, "show: --source needs a node, like %lld.0",
                       (long long)view.run.id);
    if (ok && o.json)
        print_json(&a, &view, node);
    else if (ok)
        print_text(&view, node, o.source);
    arena_reset(&a);
    return ok;
}

const struct command cmd_show = {.group = GROUP_INSPECT, .options = &options, .run = run};
