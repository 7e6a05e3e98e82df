// `hone scaffold`: the launch plan of a problem with an empty kernel, to be filled in by hand.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "cmd/cmd.h"
#include "ops/op_scaffold.h"

struct scaffold_options {
    const char *output, *dims, *target, *tier;
};

static const struct option_row rows[] = {
    {.name = "output",
     .type = OPTION_STRING,
     .value = "FILE",
     .summary = "write to FILE, which must not exist, instead of standard output",
     .offset = offsetof(struct scaffold_options, output)},
    {.name = "o",
     .type = OPTION_STRING,
     .value = "FILE",
     .summary = "the same as --output",
     .offset = offsetof(struct scaffold_options, output)},
    {.name = "dim",
     .type = OPTION_STRING,
     .value = "M=1024,...",
     .summary = "use these sizes in place of the file's",
     .offset = offsetof(struct scaffold_options, dims)},
    {.name = "target",
     .type = OPTION_STRING,
     .value = "NAME",
     .summary = "cpu, cuda, or an architecture: sm_90a (by FILE, else the first GPU, else cpu)",
     .offset = offsetof(struct scaffold_options, target)},
    {.name = "tier",
     .type = OPTION_STRING,
     .value = "C|D",
     .summary = "C for the CPU, D for CUDA; the target decides otherwise",
     .offset = offsetof(struct scaffold_options, tier)},
    {0},
};

static const struct command_options options = {
    .command = "scaffold",
    .arguments = "PROBLEM",
    .summary = "write C or CUDA for a problem, correct and slow, to start from",
    .text = "Change what it computes with, not what it computes, and let `hone eval` judge.",
    .rows = rows,
    .min_arguments = 1,
    .max_arguments = 1,
};

static bool run(int argc, char **argv, struct error *err) {
    struct scaffold_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    if (args.help)
        return command_help(&options);
    if (o.output && file_exists(o.output))
        return error_set(err, ERROR_USAGE, "%s exists already", o.output);
    struct arena a = {0};
    const char *source;
    struct scaffold_request q = {.problem = args.values[0],
                                 .dims = o.dims,
                                 .target = o.target,
                                 .tier = o.tier,
                                 .output = o.output};
    bool ok = op_scaffold(&a, &q, &source, err);
    if (ok && o.output)
        ok = file_write(o.output, source, strlen(source), err);
    else if (ok)
        fputs(source, stdout);
    arena_reset(&a);
    return ok;
}

const struct command cmd_scaffold = {.group = GROUP_START, .options = &options, .run = run};
