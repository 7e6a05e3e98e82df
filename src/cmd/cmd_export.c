// `hone export`: options over ops/op_export.h.
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "ops/op_export.h"

struct export_options {
    const char *dir, *store;
    bool force;
};

static const struct option_row rows[] = {
    {.name = "o",
     .type = OPTION_STRING,
     .value = "DIR",
     .summary = "the directory to write (needed)",
     .offset = offsetof(struct export_options, dir)},
    {.name = "force",
     .type = OPTION_FLAG,
     .summary = "write into DIR though it holds something else",
     .offset = offsetof(struct export_options, force)},
    {.name = "store",
     .type = OPTION_STRING,
     .value = "PATH",
     .summary = "where runs are kept (.hone, found upward)",
     .offset = offsetof(struct export_options, store)},
    {0},
};

static const struct command_options options = {
    .command = "export",
    .arguments = "[RUN[.NODE]]",
    .summary = "write a run's champion as code that builds and checks itself",
    .text =
        "The directory holds the kernel, a plain host function with its header, a check program\n"
        "with stored samples, a Makefile, and PROOF.json with the bound, the samples, the checks\n"
        "and how to repeat them. It needs make and a C compiler, or nvcc where the run was on a\n"
        "GPU, and not hone. The code in it is yours, without conditions. Without a name, or with\n"
        "'last', the newest run. RUN.NODE is any node that passed; of a run that was interrupted\n"
        "it is the fastest so far. Neither was confirmed on fresh data, and PROOF.json says so.\n"
        "\n"
        "make builds the check, libNAME.a, libNAME.so and NAME.pc for pkg-config; make test runs\n"
        "the check and test_NAME.py; make install PREFIX=DIR installs. On a CPU, what links\n"
        "libNAME.a needs -fopenmp -lm. NAME.py calls it from Python: with NumPy arrays or torch\n"
        "tensors on a CPU; on a GPU with torch, CuPy and whatever has __cuda_array_interface__ or\n"
        "__dlpack__. Arrays are used in place wherever an element may begin; the header says\n"
        "where a kernel needs more.\n"
        "\n"
        "On a GPU the host function takes device pointers, a workspace of NAME_workspace_bytes()\n"
        "and a stream, and returns 0 or the error code of the call that failed.\n"
        "\n"
        "A directory that holds an export of another kernel, or anything else, is written only\n"
        "with --force: the other export's files are removed, whatever else is there stays.",
    .rows = rows,
    .max_arguments = 1,
};

static bool run(int argc, char **argv, struct error *err) {
    struct export_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    if (!o.dir || !*o.dir)
        return error_set(err, ERROR_USAGE, "export: -o DIR is needed");

    struct arena a = {0};
    struct export_request request = {.store = o.store,
                                     .run = args.count ? args.values[0] : NULL,
                                     .dir = o.dir,
                                     .force = o.force};
    struct export_outcome out;
    bool ok = op_export(&a, &request, &out, err) || error_wrap(err, "export");
    if (ok) {
        printf("%s: %s %lld, node %d\n", o.dir,
               out.is_confirmed ? "the champion of run" : "not confirmed: of run", out.run,
               out.node);
        printf("    %s;\n", out.prototype);
        printf("build and check it: make -C %s && %s%s/check\n", o.dir,
               o.dir[0] == '/' || o.dir[0] == '.' ? "" : "./", o.dir);
    }
    arena_reset(&a);
    return ok;
}

const struct command cmd_export = {.group = GROUP_INSPECT, .options = &options, .run = run};
