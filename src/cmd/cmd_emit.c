// `hone emit`: prints the C or CUDA that ops/op_emit.h makes.
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "ops/op_emit.h"

struct emit_options {
    const char *kernel, *target, *dims;
    bool plain;
};

static const struct option_row rows[] = {
    {.name = "kernel",
     .type = OPTION_STRING,
     .value = "FILE",
     .summary = "lower the kernel block in this file",
     .offset = offsetof(struct emit_options, kernel)},
    {.name = "target",
     .type = OPTION_STRING,
     .value = "TARGET",
     .summary = "cpu, cuda, sm_80, sm_90a or sm_100a (by the block, else the first GPU, else cpu)",
     .offset = offsetof(struct emit_options, target)},
    {.name = "plain",
     .type = OPTION_FLAG,
     .summary = "print the baseline: one straightforward loop nest per named value",
     .offset = offsetof(struct emit_options, plain)},
    {.name = "dim",
     .type = OPTION_STRING,
     .value = "M=1024,...",
     .summary = "use these sizes in place of the file's",
     .offset = offsetof(struct emit_options, dims)},
    {0},
};

static const struct command_options options = {
    .command = "emit",
    .arguments = "FILE",
    .summary = "show the C or CUDA that a problem becomes",
    .text =
        "Lowers the problem by the kernel block in the file, by that of --kernel, or else by\n"
        "the default lowering, and prints the source. Its plan is in `#pragma hone` lines. C is\n"
        "compiled with cc -std=gnu17 -O3 -march=native and needs hone_math.h alone (and\n"
        "hone_types.h where something is not f32); CUDA is compiled by NVRTC and needs dev.h\n"
        "alone, which includes hone_types.h. No GPU is needed to emit for one.",
    .rows = rows,
    .min_arguments = 1,
    .max_arguments = 1,
};

static bool run(int argc, char **argv, struct error *err) {
    struct emit_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    if (o.plain && o.kernel)
        return error_set(err, ERROR_USAGE, "emit: --plain and --kernel exclude each other");

    struct arena a = {0};
    struct emit_request request = {.file = args.values[0],
                                   .kernel_file = o.kernel,
                                   .plain = o.plain,
                                   .target = o.target,
                                   .dims = o.dims};
    struct candidate c;
    bool ok = op_emit(&a, &request, &c, err);
    if (ok)
        fputs(c.source, stdout);
    arena_reset(&a);
    return ok;
}

const struct command cmd_emit = {.group = GROUP_KNOW, .options = &options, .run = run};
