// `hone diagnose`: what other programs measured, explained, over ops/op_diagnose.h.
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "ops/op_diagnose.h"

struct diagnose_options {
    const char *target, *tool;
    int64_t top;
    bool json;
};

static const struct option_row rows[] = {
    {.name = "target",
     .type = OPTION_STRING,
     .value = "NAME",
     .summary = "the card, where the files do not say: h200, a100, sm_90a, ...",
     .offset = offsetof(struct diagnose_options, target)},
    {.name = "top",
     .type = OPTION_INT,
     .value = "N",
     .summary = "only the N kernels with most of the time (default 10; 0: all)",
     .offset = offsetof(struct diagnose_options, top)},
    {.name = "tool",
     .type = OPTION_STRING,
     .value = "PATH",
     .summary = "a tool of yours, besides those in $XDG_CONFIG_HOME/hone/tools (docs/tools.md)",
     .offset = offsetof(struct diagnose_options, tool)},
    {.name = "json",
     .type = OPTION_FLAG,
     .summary = "print one hone.diagnosis/1 document",
     .offset = offsetof(struct diagnose_options, json)},
    {0},
};

static const struct command_options options = {
    .command = "diagnose",
    .arguments = "FILE...",
    .summary = "explain what limits the kernels of a profile or a cubin",
    .text =
        "FILE is what another program left: CSV that ncu printed (ncu --csv --page raw, or the\n"
        "details page), a .ncu-rep report where ncu is installed, an SQLite export of nsys, a\n"
        "cubin, or what hone profile --json printed. No GPU is needed. A cubin next to a profile\n"
        "adds machine code to the kernels of the same name.\n"
        "\n"
        "For each kernel: its share of the time, what limits it (memory, arithmetic, or nothing,\n"
        "so that it waits), and findings, ranked, each with its evidence, what to do, and what\n"
        "that is worth at most. What the files do not say is named as absent, and tools that\n"
        "need it are silent.",
    .rows = rows,
    .min_arguments = 1,
    .max_arguments = 16,
};

static bool run(int argc, char **argv, struct error *err) {
    struct diagnose_options o = {.top = 10};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    if (args.help)
        return command_help(&options);

    struct arena a = {0};
    struct diagnosis d;
    struct diagnose_request q = {.files = (const char *const *)args.values,
                                 .n_files = args.count,
                                 .target = o.target,
                                 .tool = o.tool,
                                 .top = o.top > 0 && o.top < 1000000 ? (int)o.top : 0};
    bool ok = op_diagnose(&a, &q, &d, err);
    if (ok && o.json) {
        json_t *document = diagnosis_to_json(&d);
        printf("%s\n", json_print_pretty(&a, document));
        json_decref(document);
    } else if (ok) {
        printf("%s", op_diagnose_text(&a, &d));
    }
    arena_reset(&a);
    return ok;
}

const struct command cmd_diagnose = {.group = GROUP_KNOW, .options = &options, .run = run};
