// `hone tabulate`: options and progress over ops/op_tabulate.h.
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/narrow.h"
#include "cmd/ticker.h"
#include "ops/op_count_table.h"
#include "ops/op_tabulate.h"

enum { BLOCKS = 400, BLOCKS_MAX = 10000 };

struct tabulate_options {
    struct tabulate_request request;
    bool counters, quiet;
};

#define ROW(row_name, kind, value_name, field, words)                          \
    {                                                                          \
        .name = row_name, .type = kind, .value = value_name, .summary = words, \
        .offset = offsetof(struct tabulate_options, field)                     \
    }

static const struct option_row rows[] = {
    ROW("o", OPTION_STRING, "FILE", request.out,
        "the table; one that is not finished is gone on with"),
    ROW("target", OPTION_STRING, "NAME", request.target,
        "cpu, cuda or cuda:N (the first GPU, else cpu)"),
    ROW("limit", OPTION_INT, "N", request.limit,
        "at most N blocks (400); of a larger space a sample"),
    ROW("seed", OPTION_INT, "N", request.seed, "of the sample (0)"),
    ROW("seconds", OPTION_NUMBER, "S", request.seconds, "of timing for each block (0.25)"),
    ROW("for", OPTION_NUMBER, "S", request.for_s,
        "stop after S seconds; the same command goes on from there"),
    ROW("dim", OPTION_STRING, "M=64,...", request.dims, "sizes in place of the file's"),
    ROW("count", OPTION_FLAG, NULL, request.only_count, "say how many blocks there are, no more"),
    ROW("no-calibrate", OPTION_FLAG, NULL, request.no_calibrate,
        "do not measure the machine's ceilings when they are missing"),
    ROW("counters", OPTION_FLAG, NULL, counters,
        "FILE is a table: count its blocks on its card, into FILE's name with .counters"),
    QUIET_ROW(struct tabulate_options),
    {0},
};

static const struct command_options options = {
    .command = "tabulate",
    .arguments = "FILE",
    .summary = "time every kernel block of a bounded space, for searches without a device",
    .text =
        "Every block that moves lead to from the default kernel is verified and timed once, in\n"
        "pairs with the default kernel, and kept as a line of a table. Where there are more than\n"
        "--limit, a connected sample of them. `hone optimize --target table:FILE` and `hone "
        "suite`\n"
        "then search the table in place of the device: no compiler runs, nothing is timed, and\n"
        "the seed alone decides. Killed anywhere, the same command goes on where it was.\n"
        "With --counters a table that is there already gets hardware counters of its blocks, so\n"
        "that tools speak in a search on it as they do on the card.\n"
        "docs/tables.md has the format.",
    .rows = rows,
    .min_arguments = 1,
    .max_arguments = 1,
};

static void show(void *ctx, const struct tabulate_outcome *o) {
    struct arena a = {0};
    double per_s = o->n_done > o->n_before ? (o->n_done - o->n_before) / o->elapsed_s : NAN;
    ticker_say(ctx, "%d of %d blocks, %d ok%s%s%s", o->n_done, o->n_blocks, o->n_ok,
               isfinite(o->best_s) ? ", best " : "",
               isfinite(o->best_s) ? clock_duration(&a, 1e9 * o->best_s) : "",
               isfinite(per_s) ? arena_printf(&a, ", %.2f a second", per_s) : "");
    arena_reset(&a);
}

static void print_outcome(const struct tabulate_options *o, const struct tabulate_outcome *out) {
    struct arena a = {0};
    narrow_print(stdout, arena_printf(&a, "%s on %s: %s\n", out->problem, out->device, out->space));
    if (!o->request.only_count)
        printf("%s: %d of %d blocks, %d ok%s\n", o->request.out ? o->request.out : o->request.file,
               out->n_done, out->n_blocks, out->n_ok,
               out->is_whole ? "" : "; not finished: the same command goes on");
    if (isfinite(out->best_s))
        printf("best %s, %.2fx of the default kernel:\n%s", clock_duration(&a, 1e9 * out->best_s),
               out->first_s / out->best_s, out->best);
    arena_reset(&a);
}

static bool run(int argc, char **argv, struct error *err) {
    struct tabulate_options o = {.request = {.limit = BLOCKS}};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    if (o.request.out && o.counters)
        return error_set(err, ERROR_USAGE, "tabulate: --counters writes next to its table, not -o");
    if (!o.request.out && !o.request.only_count && !o.counters)
        return error_set(err, ERROR_USAGE, "tabulate: -o FILE names the table");
    if (o.request.limit < 1 || o.request.limit > BLOCKS_MAX)
        return error_set(err, ERROR_USAGE, "tabulate: a table has 1 to %d blocks", BLOCKS_MAX);
    struct arena a = {0};
    struct tabulate_outcome out;
    struct ticker progress;
    ticker_start(&progress, o.quiet);
    o.request.file = args.values[0];
    o.request.progress = show;
    o.request.ctx = &progress;
    bool ok = o.counters ? op_count_table(&a, &o.request, &out, err)
                         : op_tabulate(&a, &o.request, &out, err);
    ticker_stop(&progress);
    if (ok)
        print_outcome(&o, &out);
    arena_reset(&a);
    return ok;
}

const struct command cmd_tabulate = {.group = GROUP_OPTIMISE, .options = &options, .run = run};
