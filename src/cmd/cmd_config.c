#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/config.h"
#include "base/error.h"
#include "base/str.h"
#include "cmd/cmd.h"

struct config_options {
    bool origin;
};

static const struct option_row rows[] = {
    {"origin", OPTION_FLAG, NULL, "also say where each value comes from",
     offsetof(struct config_options, origin), 0},
    {0},
};

static const struct command_options options = {
    .command = "config",
    .arguments = "",
    .summary = "print the settings in force",
    .text =
        "Settings come from the environment (HONE_BUILD_CC for build.cc, HONE_RUN_THREADS,\n"
        "HONE_STORE_PATH), then the project's .hone/config (of this directory or the nearest\n"
        "above), then $XDG_CONFIG_HOME/hone/config, then the default; the first that has a\n"
        "value wins. An option on the command line stands above all of them. The files are INI:\n"
        "\n"
        "    [build]\n"
        "    cc = clang\n"
        "\n"
        "build.cc is the compiler for kernels; run.threads how many threads they use, 0 for one\n"
        "per CPU; store.path the directory that holds the runs, empty for .hone of the project.",
    .rows = rows,
    .max_arguments = 0,
};

static bool run(int argc, char **argv, struct error *err) {
    struct config_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    if (args.help)
        return command_help(&options);

    struct arena a = {0};
    struct config c;
    bool ok = config_load(&a, &c, err);
    for (int i = 0; ok && i < c.n_values; i++) {
        printf("%s = %s", c.values[i].key, c.values[i].value);
        if (o.origin)
            printf("  # %s", c.values[i].origin);
        printf("\n");
    }
    arena_reset(&a);
    return ok;
}

const struct command cmd_config = {GROUP_MACHINE, &options, run};
