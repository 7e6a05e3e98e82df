// `hone sass`: the machine code of a cubin, annotated, over ops/op_sass.h.
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "ops/op_sass.h"

struct sass_options {
    const char *kernel, *store;
    bool json, stalls;
};

static const struct option_row rows[] = {
    {.name = "kernel",
     .type = OPTION_STRING,
     .value = "NAME",
     .summary = "only this one",
     .offset = offsetof(struct sass_options, kernel)},
    {.name = "store",
     .type = OPTION_STRING,
     .value = "PATH",
     .summary = "of a node: the store that its run is in",
     .offset = offsetof(struct sass_options, store)},
    {.name = "stalls",
     .type = OPTION_FLAG,
     .summary = "of a node: run it on this machine's card, and say where warps wait and for what",
     .offset = offsetof(struct sass_options, stalls)},
    {.name = "json",
     .type = OPTION_FLAG,
     .summary = "print one hone.sass/1 document: the metrics, without the listing",
     .offset = offsetof(struct sass_options, json)},
    {0},
};

static const struct command_options options = {
    .command = "sass",
    .arguments = "CUBIN | RUN.NODE",
    .summary = "list the machine code of a GPU's kernels, annotated",
    .text =
        "Each instruction with its offset, the bytes that a thread accesses and how far apart\n"
        "threads are where they are not side by side, and which load or other slow instruction\n"
        "it waits for, as the compiler wrote it into the code. A bar marks the hot loop: the\n"
        "innermost one with most work in it. Source lines stand between the instructions where\n"
        "the cubin has a line table (nvcc -lineinfo), with their text where the file lies next\n"
        "to it. Operands are there where nvdisasm is installed. hone diagnose says what it\n"
        "means. A node of a run on a GPU is compiled again, for which no card is needed.",
    .rows = rows,
    .min_arguments = 1,
    .max_arguments = 1,
};

static bool run(int argc, char **argv, struct error *err) {
    struct sass_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;

    struct arena a = {0};
    struct sass_listing list;
    struct sass_request q = {
        .file = args.values[0], .kernel = o.kernel, .store = o.store, .stalls = o.stalls};
    bool ok = op_sass(&a, &q, &list, err);
    if (ok && o.json) {
        json_t *document = op_sass_json(&list);
        printf("%s\n", json_print_pretty(&a, document));
        json_decref(document);
    } else if (ok) {
        printf("%s", op_sass_text(&a, &list, o.kernel));
    }
    arena_reset(&a);
    return ok;
}

const struct command cmd_sass = {.group = GROUP_KNOW, .options = &options, .run = run};
