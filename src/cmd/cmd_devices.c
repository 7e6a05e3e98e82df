#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "cmd/cmd.h"
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

static void print_ceilings(const struct ceilings *c) {
    if (!c->present) {
        printf("  ceilings     not measured yet: run hone calibrate\n");
        return;
    }
    static const char *const mixes[TRAFFIC_MIXES] = {"read", "2 reads : 1 write", "copy", "write"};
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        printf("  %-18s %6.1f GB/s  (spread %.0f%%)\n", mixes[i], c->traffic[i].bytes_per_s / 1e9,
               c->traffic[i].spread * 100);
    printf("  %-18s %6.1f GFLOP/s  (spread %.0f%%)\n", "f32 multiply-add", c->f32_flops_per_s / 1e9,
           c->f32_spread * 100);
    printf("  %-18s %6.1f µs\n", "launch", c->launch_s * 1e6);
    printf("  measured %s: %s\n", c->measured_at, c->how);
}

static void print_target(const struct target *t) {
    printf("%-4s %s\n", t->name, t->device);
    printf("  %s, caches %lld KiB / %lld KiB / %lld MiB, top clock %.1f GHz%s\n", t->isa,
           (long long)t->l1_bytes >> 10, (long long)t->l2_bytes >> 10,
           (long long)t->llc_bytes >> 20, t->top_clock_hz / 1e9,
           t->top_clock_known ? "" : " (assumed)");
    print_ceilings(&t->ceilings);
}

static bool run(int argc, char **argv, struct error *err) {
    struct devices_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;

    struct arena a = {0};
    struct target t;
    bool ok = op_target(&a, NULL, &t, err);
    if (ok && o.json) {
        json_t *document = op_devices(&t);
        printf("%s\n", json_print_pretty(&a, document));
        json_decref(document);
    } else if (ok) {
        print_target(&t);
    }
    arena_reset(&a);
    return ok;
}

const struct command cmd_devices = {.group = GROUP_MACHINE, .options = &options, .run = run};
