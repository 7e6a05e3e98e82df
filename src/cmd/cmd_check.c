// `hone check`: options and printing over op_check (ops/op_problem.h).
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "ops/op_problem.h"

struct check_options {
    const char *dims;
    bool verbose, json;
};

static const struct option_row rows[] = {
    {.name = "dim",
     .type = OPTION_STRING,
     .value = "M=1024,...",
     .summary = "use these sizes in place of the file's",
     .offset = offsetof(struct check_options, dims)},
    {.name = "verbose",
     .type = OPTION_FLAG,
     .summary = "print the graph, one line per node, and the stages of kernels",
     .offset = offsetof(struct check_options, verbose)},
    {.name = "v",
     .type = OPTION_FLAG,
     .summary = "the same as --verbose",
     .offset = offsetof(struct check_options, verbose)},
    {.name = "json",
     .type = OPTION_FLAG,
     .summary = "print one hone.check/1 document",
     .offset = offsetof(struct check_options, json)},
    {0},
};

static const struct command_options options = {
    .command = "check",
    .arguments = "FILE...",
    .summary = "parse and check files of the language",
    .text =
        "Mistakes go to standard error, each with its line and a caret; the exit status is\n"
        "then 1. A file of kernel blocks alone is checked against the problems of the files\n"
        "before it. With --verbose the names of inner values (y.max, t.1) can be read off: any of\n"
        "them can be a stage of a kernel. For each stage of a kernel block it shows what is read\n"
        "and written, the form (prologue, anchor, epilogue), what is computed again, the\n"
        "emitter and the knobs with their defaults.",
    .rows = rows,
    .min_arguments = 1,
    .max_arguments = -1,
};

static void print_text(struct arena *a, const struct checked *c, bool verbose) {
    if (!c->ok) {
        fputs(c->diagnostics, stderr);
        return;
    }
    printf("%s\n%s", op_check_summary(a, c), op_check_notes(a, c));
    if (verbose)
        fputs(op_check_graphs(a, c), stdout);
}

static bool run(int argc, char **argv, struct error *err) {
    struct check_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;

    struct arena a = {0};
    struct checked *files = arena_array(&a, struct checked, args.count);
    bool read = true, ok = true;
    int n_files = 0;
    while (read && n_files < args.count) {
        struct checked *c = &files[n_files];
        *c = (struct checked){.before = files, .n_before = n_files};
        read = op_check(&a, args.values[n_files], o.dims, c, err);
        if (!read)
            break;
        n_files++;
        ok &= c->ok;
        if (!o.json)
            print_text(&a, c, o.verbose);
    }
    if (read && o.json) {
        json_t *document = op_check_json(&a, files, n_files);
        printf("%s\n", json_print_pretty(&a, document));
        json_decref(document);
    }
    arena_reset(&a);
    return read && ok;
}

const struct command cmd_check = {.group = GROUP_START, .options = &options, .run = run};
