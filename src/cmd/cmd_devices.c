// `hone devices`: the targets of this machine with their facts.
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/narrow.h"
#include "cmd/print.h"
#include "ops/op_machine.h"

struct devices_options {
    bool json;
};

static const struct option_row rows[] = {
    {.name = "json",
     .type = OPTION_FLAG,
     .summary = "print one hone.devices/1 document",
     .offset = offsetof(struct devices_options, json)},
    {0},
};

static const struct command_options options = {
    .command = "devices",
    .arguments = "",
    .summary = "list the targets of this machine",
    .text = "Facts are read off the machine; ceilings are what `hone calibrate` measured on it.",
    .rows = rows,
};

static void print_target(struct str *out, const struct target *t) {
    str_printf(out, "%-6s %s\n", t->name, t->device);
    if (t->is_gpu)
        str_printf(
            out, "  %s, %d multiprocessors, %.0f GiB, L2 %lld MiB, top clock %.2f GHz, driver %s\n",
            t->isa, t->sms, (double)t->memory_bytes / (1 << 30), (long long)t->l2_bytes >> 20,
            t->top_clock_hz / 1e9, t->driver);
    else
        str_printf(out, "  %s, caches %lld KiB / %lld KiB / %lld MiB, top clock %.1f GHz%s\n",
                   t->isa, (long long)t->l1_bytes >> 10, (long long)t->l2_bytes >> 10,
                   (long long)t->llc_bytes >> 20, t->top_clock_hz / 1e9,
                   t->top_clock_known ? "" : " (assumed)");
    print_ceilings(out, &t->ceilings);
}

static bool run(int argc, char **argv, struct error *err) {
    struct devices_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    if (args.help)
        return command_help(&options);

    struct arena a = {0};
    struct target *targets;
    int n_targets;
    bool ok = op_all_targets(&a, &targets, &n_targets, err);
    if (ok && o.json) {
        json_t *document = op_devices(targets, n_targets);
        printf("%s\n", json_print_pretty(&a, document));
        json_decref(document);
    } else if (ok) {
        struct str text = {0};
        for (int i = 0; i < n_targets; i++)
            print_target(&text, &targets[i]);
        narrow_print(stdout, str_text(&text));
        str_reset(&text);
    }
    arena_reset(&a);
    return ok;
}

const struct command cmd_devices = {.group = GROUP_MACHINE, .options = &options, .run = run};
