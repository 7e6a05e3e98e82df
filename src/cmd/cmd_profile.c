// `hone profile`: any program, over ops/op_profile.h, or a candidate, over
// ops/op_profile_candidate.h.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "ops/op_profile.h"
#include "ops/op_profile_candidate.h"

struct profile_options {
    const char *kernel, *target, *dims, *store, *tool, *by;
    int64_t top, repeat;
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
    {.name = "target",
     .type = OPTION_STRING,
     .value = "NAME",
     .summary = "of a candidate: cuda, cuda:1, cpu (what it is written for, or what is here)",
     .offset = offsetof(struct profile_options, target)},
    {.name = "dim",
     .type = OPTION_STRING,
     .value = "M=1024,...",
     .summary = "of a candidate: use these sizes in place of the file's",
     .offset = offsetof(struct profile_options, dims)},
    {.name = "repeat",
     .type = OPTION_INT,
     .value = "N",
     .summary = "of a candidate: count it N times more in a process that stays, and say how long "
                "that takes",
     .offset = offsetof(struct profile_options, repeat),
     .least = 1},
    {.name = "store",
     .type = OPTION_STRING,
     .value = "PATH",
     .summary = "of a node: the store that its run is in",
     .offset = offsetof(struct profile_options, store)},
    {.name = "by",
     .type = OPTION_STRING,
     .value = "NAME",
     .summary = "cupti: our library, loaded by the driver (the default); ncu: NVIDIA's profiler "
                "runs it once, without timeline and samples",
     .offset = offsetof(struct profile_options, by)},
    {.name = "tool",
     .type = OPTION_STRING,
     .value = "PATH",
     .summary = "a tool of yours, besides those in $XDG_CONFIG_HOME/hone/tools (docs/tools.md)",
     .offset = offsetof(struct profile_options, tool)},
    {.name = "json",
     .type = OPTION_FLAG,
     .summary = "print one hone.program/1 document (of a candidate hone.candidate_profile/1); the "
                "program's output goes to standard error",
     .offset = offsetof(struct profile_options, json)},
    {0},
};

static const struct command_options options = {
    .command = "profile",
    .arguments = "-- PROGRAM [ARGUMENT...] | FILE [CANDIDATE] | RUN.NODE",
    .summary = "explain what limits the kernels of a CUDA program, or of a candidate",
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
        "CUDA's toolkit; counters need the rights that the driver asks for (hone doctor).\n"
        "\n"
        "With FILE, a problem, and CANDIDATE (a file of CUDA or with a kernel block, plain,\n"
        "default): it is judged as by hone eval, and if it is correct run again under counters,\n"
        "in a process of its own; on a CPU (--target cpu) its processes were counted meanwhile.\n"
        "With RUN.NODE, a node of a stored run; its samples are kept with it, and hone report\n"
        "--html marks the lines of its source by them.",
    .rows = rows,
    .min_arguments = 1,
    .max_arguments = -1,
};

static bool run_candidate(const struct profile_options *o, const struct arguments *args,
                          struct error *err) {
    struct arena a = {0};
    struct candidate_profile p;
    struct candidate_profile_request q = {.file = args->values[0],
                                          .candidate = args->count > 1 ? args->values[1] : NULL,
                                          .target = o->target,
                                          .dims = o->dims,
                                          .store = o->store,
                                          .tool = o->tool,
                                          .repeat =
                                              o->repeat < REPEAT_MAX ? (int)o->repeat : REPEAT_MAX,
                                          .by_ncu = o->by && strcmp(o->by, "ncu") == 0};
    if (args->count > 2 || access(q.file, X_OK) == 0)
        return error_set(err, ERROR_USAGE,
                         "to profile a program put -- before it: hone profile -- %s", q.file);
    bool ok = op_profile_candidate(&a, &q, &p, err);
    if (ok && o->json) {
        json_t *document = op_profile_candidate_json(&p);
        printf("%s\n", json_print_pretty(&a, document));
        json_decref(document);
    } else if (ok) {
        printf("%s", op_profile_candidate_text(&a, &p));
    }
    ok = ok && p.verdict.kind == VERDICT_OK;
    arena_reset(&a);
    return ok;
}

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
    if (o.by && strcmp(o.by, "cupti") != 0 && strcmp(o.by, "ncu") != 0)
        return error_set(err, ERROR_USAGE, "profile: --by is cupti or ncu, not '%s'", o.by);
    if (!has_program)
        return run_candidate(&o, &args, err);

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
                                .only_timeline = o.timeline,
                                .by_ncu = o.by && strcmp(o.by, "ncu") == 0,
                                .tool = o.tool};
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
