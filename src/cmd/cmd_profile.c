// `hone profile -- ./program`: over ops/op_profile.h.
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "ops/op_profile.h"

struct profile_options {
    const char *kernel;
    int64_t top;
    double timeout;
    bool timeline, json;
};

static const struct option_row rows[] = {
    {.name = "kernel",
     .type = OPTION_STRING,
     .value = "REGEX",
     .summary = "only kernels whose name matches (extended regular expression)",
     .offset = offsetof(struct profile_options, kernel)},
    {.name = "top",
     .type = OPTION_INT,
     .value = "N",
     .summary = "counters and findings for the N kernels with most of the time (default 5)",
     .offset = offsetof(struct profile_options, top),
     .least = 1},
    {.name = "timeout",
     .type = OPTION_NUMBER,
     .value = "SECONDS",
     .summary = "stop the program after that time and report what it did (default: never)",
     .offset = offsetof(struct profile_options, timeout)},
    {.name = "timeline",
     .type = OPTION_FLAG,
     .summary = "one run only, for a timeline: no counters, no samples",
     .offset = offsetof(struct profile_options, timeline)},
    {.name = "json",
     .type = OPTION_FLAG,
     .summary = "print one hone.program/1 document; the program's output goes to standard error",
     .offset = offsetof(struct profile_options, json)},
    {0},
};

static const struct command_options options = {
    .command = "profile",
    .arguments = "-- PROGRAM [ARGUMENT...]",
    .summary = "run a CUDA program and explain what limits its kernels",
    .text =
        "Any program that uses CUDA, PyTorch scripts too; nothing has to be compiled in. It is "
        "run\n"
        "three times: for a timeline (where the time goes: kernels, gaps, copies), then, of the\n"
        "kernels with most of the time, for hardware counters and for samples of the program\n"
        "counter. The first run has your input and output, and its exit status is that of hone;\n"
        "the others read and write /dev/null, and should do the same work again.\n"
        "\n"
        "Then findings, ranked, each with its evidence, what to do, and what that is worth at\n"
        "most. What could not be had is named with the reason. It needs CUPTI, which is part of\n"
        "CUDA's toolkit; counters need the rights that the driver asks for (hone doctor).",
    .rows = rows,
    .min_arguments = 1,
    .max_arguments = -1,
};

static bool run(int argc, char **argv, struct error *err) {
    struct profile_options o = {.top = 5};
    struct arguments args;
    bool has_program = false;
    for (int i = 1; i < argc; i++)
        has_program |= strcmp(argv[i], "--") == 0;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    if (args.help)
        return command_help(&options);
    if (!has_program)
        return error_set(err, ERROR_USAGE,
                         "hone profile: put -- before the program: hone profile "
                         "-- %s",
                         args.values[0]);

    struct arena a = {0};
    struct program_profile p;
    const char **words = arena_array(&a, const char *, args.count + 1);
    for (int i = 0; i < args.count; i++)
        words[i] = args.values[i];
    struct profile_request q = {.argv = words,
                                .kernel = o.kernel,
                                .top = o.top < 256 ? (int)o.top : 256,
                                .timeout_s = o.timeout,
                                .is_json = o.json,
                                .only_timeline = o.timeline};
    bool ok = op_profile(&a, &q, &p, err);
    if (ok && o.json) {
        json_t *document = op_profile_json(&p);
        printf("%s\n", json_print_pretty(&a, document));
        json_decref(document);
    } else if (ok) {
        printf("%s", op_profile_text(&a, &p));
    }
    if (ok)
        err->status = op_profile_status(&p);
    arena_reset(&a);
    return ok && err->status == 0;
}

const struct command cmd_profile = {.group = GROUP_KNOW, .options = &options, .run = run};
