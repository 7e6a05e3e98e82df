// `hone fmt`: canonical text of .hone files, in place or to compare (--check).
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "ops/op_problem.h"

struct fmt_options {
    bool check;
};

static const struct option_row rows[] = {
    {.name = "check",
     .type = OPTION_FLAG,
     .summary = "change nothing; name the files that are not in canonical form, exit 1 if any",
     .offset = offsetof(struct fmt_options, check)},
    {0},
};

static const struct command_options options = {
    .command = "fmt",
    .arguments = "FILE...",
    .summary = "rewrite files in canonical form",
    .text = "Comments are kept. A file is replaced as a whole or not at all; what is canonical\n"
            "already is left alone, and nothing is printed. A file that does not parse is not\n"
            "touched.",
    .rows = rows,
    .min_arguments = 1,
    .max_arguments = -1,
};

static bool run(int argc, char **argv, struct error *err) {
    struct fmt_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;

    bool ok = true, all_canonical = true;
    for (int i = 0; ok && i < args.count; i++) {
        struct arena a = {0};
        bool changed = false;
        ok = op_format(&a, args.values[i], o.check, &changed, err);
        if (ok && changed)
            printf("%s\n", args.values[i]);
        all_canonical &= !changed;
        arena_reset(&a);
    }
    return ok && (!o.check || all_canonical);
}

const struct command cmd_fmt = {.group = GROUP_START, .options = &options, .run = run};
