// `hone sol`: the bound of a problem, explained, over ops/op_sol.h.
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/narrow.h"
#include "ops/op_sol.h"

struct sol_options {
    const char *target, *dims;
    bool json;
};

static const struct option_row rows[] = {
    {.name = "target",
     .type = OPTION_STRING,
     .value = "NAME",
     .summary = "cpu, cuda, cuda:N, or a card that is not here: h200, a100, ...",
     .offset = offsetof(struct sol_options, target)},
    {.name = "dim",
     .type = OPTION_STRING,
     .value = "M=1024,...",
     .summary = "use these sizes in place of the file's",
     .offset = offsetof(struct sol_options, dims)},
    {.name = "json",
     .type = OPTION_FLAG,
     .summary = "print one hone.sol/1 document",
     .offset = offsetof(struct sol_options, json)},
    {0},
};

static const struct command_options options = {
    .command = "sol",
    .arguments = "FILE",
    .summary = "say how fast a problem could be on a device, and why",
    .text =
        "Three times, each with the bytes, operations and rates that it is made of. The speed\n"
        "of light: least bytes and the textbook count of operations at the data sheet's peaks;\n"
        "the figure that people compare by. The reach: a fixed cost plus the larger of traffic\n"
        "and arithmetic divided by ceilings measured on this very device (hone calibrate);\n"
        "what a good kernel attains here, and what every result is stated against. The limit:\n"
        "what nothing honest beats, cleverer algorithms included; a faster time is an alarm.\n"
        "Where it is below the speed of light, a line says why.\n"
        "\n"
        "A card that is not in this machine has no reach: v100, t4, a100-40gb, a100,\n"
        "a100-pcie, a10, rtx3090, l4, l40s, rtx4090, h100, h100-pcie, h200, b200. A CPU has a\n"
        "speed of light where the machine reports its clock. Where the file has a kernel block\n"
        "for the target, each of its stages is bounded too.",
    .rows = rows,
    .min_arguments = 1,
    .max_arguments = 1,
};

static bool run(int argc, char **argv, struct error *err) {
    struct sol_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    if (args.help)
        return command_help(&options);

    struct arena a = {0};
    struct sol s;
    bool ok = op_sol(&a, args.values[0], o.target, o.dims, &s, err);
    if (ok && o.json) {
        json_t *document = op_sol_json(&s);
        printf("%s\n", json_print_pretty(&a, document));
        json_decref(document);
    } else if (ok) {
        narrow_print(stdout, arena_printf(&a, "%s on %s (%s)\n%s%s", s.problem->name, s.target.name,
                                          s.target.device, s.words, op_sol_stages(&a, &s)));
        narrow_print(stdout, op_sol_roofline(&a, &s, narrow_columns(stdout)));
    }
    arena_reset(&a);
    return ok;
}

const struct command cmd_sol = {.group = GROUP_KNOW, .options = &options, .run = run};
