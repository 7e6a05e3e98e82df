// `hone replay`: options and printing over ops/op_replay.h.
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/narrow.h"
#include "cmd/ticker.h"
#include "ops/op_replay.h"

struct replay_options {
    struct replay_request request;
    bool json, quiet;
};

static const struct option_row rows[] = {
    {.name = "o",
     .type = OPTION_STRING,
     .value = "FILE",
     .summary = "write the run's recording to FILE instead of replaying it",
     .offset = offsetof(struct replay_options, request.out)},
    {.name = "re-evaluate",
     .type = OPTION_FLAG,
     .summary = "judge every candidate anew on this machine instead of from the record",
     .offset = offsetof(struct replay_options, request.re_evaluate)},
    {.name = "store",
     .type = OPTION_STRING,
     .value = "PATH",
     .summary = "where runs are kept (.hone, found upward)",
     .offset = offsetof(struct replay_options, request.store)},
    {.name = "json",
     .type = OPTION_FLAG,
     .summary = "print one hone.replay/1 document",
     .offset = offsetof(struct replay_options, json)},
    QUIET_ROW(struct replay_options),
    {0},
};

static const struct command_options options = {
    .command = "replay",
    .arguments = "[RUN | FILE]",
    .summary = "run an optimisation again from its record",
    .text =
        "Takes every answer of the model and every verdict and time of the judge from the record "
        "of\n"
        "a run, or from a file that `hone replay RUN -o FILE` wrote, and lets everything else "
        "happen\n"
        "again: no network, no compiler, no clock, on any machine. The status is 0 when the same\n"
        "tree comes of it, 1 when not, with the first node that differs. Prompts that are worded\n"
        "differently by now are counted; they matter only through what comes of them. With\n"
        "--re-evaluate the model's answers come from the record and the judge measures again;\n"
        "then times may differ, and with them the tree.",
    .rows = rows,
    .max_arguments = 1,
};

static void print_replayed(struct str *out, const struct replay_outcome *o) {
    str_printf(out, "%d nodes replayed from %d judgements and %d exchanges\n", o->n_replayed,
               o->n_judgements, o->n_exchanges);
    if (o->n_reworded > 0)
        str_printf(out, "%d questions are worded differently by now\n", o->n_reworded);
    if (o->difference)
        str_printf(out, "not the same tree: at node %d %s\n", o->first_difference, o->difference);
    else
        str_printf(out, "the same tree, champion node %d\n", o->champion_replayed);
}

static void print_text(const struct replay_outcome *o, const char *file) {
    struct str out = {0};
    str_printf(&out, "run %lld: %s by %s%s%s, recorded by hone %s\n", (long long)o->run, o->problem,
               o->proposer, o->llm ? " with " : "", o->llm ? o->llm : "", o->version);
    if (file)
        str_printf(&out, "%d nodes, %d judgements and %d exchanges written to %s\n", o->n_nodes,
                   o->n_judgements, o->n_exchanges, file);
    else
        print_replayed(&out, o);
    narrow_print(stdout, str_text(&out));
    str_reset(&out);
}

static void show(int node, int n_nodes, void *ctx) {
    ticker_say(ctx, "node %d of %d", node, n_nodes);
}

static bool run(int argc, char **argv, struct error *err) {
    struct replay_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    o.request.name = args.count ? args.values[0] : NULL;

    struct arena a = {0};
    struct replay_outcome out;
    struct ticker progress;
    ticker_start(&progress, o.quiet);
    ticker_say(&progress, o.request.re_evaluate ? "judging anew" : "replaying the record");
    o.request.on_node = show;
    o.request.ctx = &progress;
    bool ok = op_replay(&a, &o.request, &out, err);
    ticker_stop(&progress);
    bool same = ok && !out.difference;
    if (ok && o.json) {
        json_t *json = replay_to_json(&out);
        puts(json_print_pretty(&a, json));
        json_decref(json);
    } else if (ok) {
        print_text(&out, o.request.out);
    }
    arena_reset(&a);
    return same;
}

const struct command cmd_replay = {.group = GROUP_INSPECT, .options = &options, .run = run};
