// `hone suite`: options, and its outcome as text, Markdown, CSV or JSON.
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/ticker.h"
#include "ops/op_suite.h"

enum { SEEDS = 100, SEEDS_MAX = 1000000, THREADS_MAX = 256, RACED_MAX = 256 };

struct suite_options {
    struct suite_request request;
    const char *start;
    int64_t jobs, race;
    bool json, csv, markdown, quiet;
};

#define ROW(row_name, kind, value_name, field, words)                          \
    {                                                                          \
        .name = row_name, .type = kind, .value = value_name, .summary = words, \
        .offset = offsetof(struct suite_options, field)                        \
    }

static const struct option_row rows[] = {
    ROW("vary", OPTION_STRING, "KEY=A,B", request.vary,
        "what is compared: policy=surrogate,mcts,random (the default), proposer=expert,blind or "
        "memory=on,off"),
    ROW("seeds", OPTION_INT, "N", request.seeds, "runs of each on each table (100)"),
    ROW("start", OPTION_STRING, "WHERE", start,
        "any: each seed draws the block that it begins with (the default); default: the table's "
        "first"),
    ROW("within", OPTION_NUMBER, "F", request.within,
        "what counts as found: within this fraction of the table's best (0.05)"),
    ROW("policy", OPTION_STRING, "NAME", request.policy,
        "where proposers are compared (surrogate)"),
    ROW("proposer", OPTION_STRING, "NAME", request.proposer,
        "where policies are compared: expert (the default) or blind"),
    ROW("memory", OPTION_STRING, "FILE", request.memory,
        "what other runs taught, read and not written (none)"),
    ROW("race", OPTION_INT, "N", race,
        "race N kernel blocks at once and judge the best; evaluations are what is judged (1: judge "
        "each)"),
    ROW("jobs", OPTION_INT, "N", jobs, "threads (one per CPU)"),
    ROW("json", OPTION_FLAG, NULL, json, "print one hone.suite/1 document"),
    ROW("csv", OPTION_FLAG, NULL, csv, "print a row for each value and table"),
    ROW("markdown", OPTION_FLAG, NULL, markdown, "print tables for a document"),
    QUIET_ROW(struct suite_options),
    {0},
};

static const struct command_options options = {
    .command = "suite",
    .arguments = "TABLE...",
    .summary = "compare policies on tables of measured blocks, over many seeds",
    .text =
        "Runs the search on each table (see hone help tabulate) by every policy named, with every\n"
        "seed, and counts evaluations until the best found is within 5% of the table's best; a "
        "run\n"
        "that never comes there counts as one more than the table has blocks. Runs of one seed\n"
        "begin at the same block, so policies are compared in pairs: the ratio of evaluations is\n"
        "to those of the last one named, with its 95% interval, and p by flipping signs of the\n"
        "logarithms at random. `found` is the table's best time over the best time found after 8,\n"
        "16 and 32 evaluations. Nothing is compiled, timed or stored; the seeds alone decide.",
    .rows = rows,
    .min_arguments = 1,
    .max_arguments = -1,
};

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void print_csv(const struct suite_outcome *o) {
    printf("table,%s,seeds,evals,evals_low,evals_high,evals_median,screened,missed", o->key);
    for (int k = 0; k < SUITE_POINTS; k++)
        printf(",found_%d", suite_points[k]);
    puts("");
    for (int t = 0; t < o->n_tables; t++)
        for (int v = 0; v < o->n_values; v++) {
            const struct suite_cell *c = &o->cells[t * o->n_values + v];
            printf("%s,%s,%lld,%.4g,%.4g,%.4g,%.4g,%.4g,%.4g", o->tables[t].path, o->values[v],
                   (long long)o->seeds, c->evals.mean, c->evals.low, c->evals.high, c->evals_median,
                   c->screened, c->missed);
            for (int k = 0; k < SUITE_POINTS; k++)
                printf(",%.4f", c->found[k].mean);
            puts("");
        }
}

static const char *p_text(struct arena *a, double p) {
    return isnan(p) ? "-" : p < 0.001 ? "<0.001" : arena_printf(a, "%.3f", p);
}

static void print_head(const struct suite_outcome *o) {
    printf("%lld seeds on %d tables, beginning at %s; evaluations to within %.3g%% of the best\n",
           (long long)o->seeds, o->n_tables,
           o->from_default ? "the table's first block" : "a block that the seed draws",
           100 * o->within);
    if (o->race > 0)
        printf("in races of %d; evaluations are of those that came through\n", o->race);
}

static void print_markdown(const struct suite_outcome *o) {
    struct arena a = {0};
    print_head(o);
    printf("\n| table | blocks (within) |");
    for (int v = 0; v < o->n_values; v++)
        printf(" %s |", o->values[v]);
    printf("\n|---|---|");
    for (int v = 0; v < o->n_values; v++)
        printf("---|");
    puts("");
    for (int t = 0; t < o->n_tables; t++) {
        printf("| %s | %d (%d) |", base_name(o->tables[t].path), o->tables[t].n_ok,
               o->tables[t].n_within);
        for (int v = 0; v < o->n_values; v++) {
            const struct suite_cell *c = &o->cells[t * o->n_values + v];
            printf(" %.3g ± %.2g |", c->evals.mean, c->evals.high - c->evals.mean);
        }
        puts("");
    }
    printf("\n| %s | evaluations | ratio to %s | p |", o->key, o->values[o->n_values - 1]);
    for (int k = 0; k < SUITE_POINTS; k++)
        printf(" found after %d |", suite_points[k]);
    printf("\n|---|---|---|---|");
    for (int k = 0; k < SUITE_POINTS; k++)
        printf("---|");
    puts("");
    for (int v = 0; v < o->n_values; v++) {
        const struct suite_total *x = &o->totals[v];
        printf("| %s | %.3g | %.3f (%.3f to %.3f) | %s |", o->values[v], x->evals, x->ratio.mean,
               x->ratio.low, x->ratio.high, p_text(&a, x->p));
        for (int k = 0; k < SUITE_POINTS; k++)
            printf(" %.1f%% |", 100 * x->found[k]);
        puts("");
    }
    arena_reset(&a);
}

static void print_text(const struct suite_outcome *o) {
    struct arena a = {0};
    print_head(o);
    printf("\n%-28s %6s", "table", "blocks");
    for (int v = 0; v < o->n_values; v++)
        printf(" %14s", o->values[v]);
    puts("");
    for (int t = 0; t < o->n_tables; t++) {
        printf("%-28s %6d", base_name(o->tables[t].path), o->tables[t].n_ok);
        for (int v = 0; v < o->n_values; v++) {
            const struct suite_cell *c = &o->cells[t * o->n_values + v];
            printf(" %7.1f ± %-4.2g", c->evals.mean, c->evals.high - c->evals.mean);
        }
        puts("");
    }
    printf("\n%-12s %11s %10s %18s %7s", o->key, "evaluations", "ratio", "interval", "p");
    for (int k = 0; k < SUITE_POINTS; k++)
        printf(" %4s %2d", "at", suite_points[k]);
    puts("");
    for (int v = 0; v < o->n_values; v++) {
        const struct suite_total *x = &o->totals[v];
        printf("%-12s %11.1f %10.3f %18s %7s", o->values[v], x->evals, x->ratio.mean,
               arena_printf(&a, "%.3f to %.3f", x->ratio.low, x->ratio.high), p_text(&a, x->p));
        for (int k = 0; k < SUITE_POINTS; k++)
            printf(" %6.1f%%", 100 * x->found[k]);
        puts("");
    }
    printf("\n%lld runs, %lld evaluations in %.1f s (%.0f runs a minute)\n", (long long)o->n_runs,
           (long long)o->n_evals, o->elapsed_s, 60 * (double)o->n_runs / o->elapsed_s);
    arena_reset(&a);
}

static bool check(struct suite_options *o, struct error *err) {
    if (o->json + o->csv + o->markdown > 1)
        return error_set(err, ERROR_USAGE, "suite: one of --json, --csv and --markdown");
    if (o->request.seeds < 1 || o->request.seeds > SEEDS_MAX)
        return error_set(err, ERROR_USAGE, "suite: 1 to %d seeds", SEEDS_MAX);
    if (o->jobs < 0 || o->jobs > THREADS_MAX)
        return error_set(err, ERROR_USAGE, "suite: at most %d threads", THREADS_MAX);
    o->request.n_threads = (int)o->jobs;
    if (o->race < 0 || o->race > RACED_MAX)
        return error_set(err, ERROR_USAGE, "suite: a --race has at most %d candidates", RACED_MAX);
    o->request.race = o->race > 1 ? (int)o->race : 0;
    o->request.from_default = o->start && strcmp(o->start, "default") == 0;
    return !o->start || o->request.from_default || strcmp(o->start, "any") == 0 ||
           error_set(err, ERROR_USAGE, "suite: --start is any or default");
}

static void show(int64_t n_done, int64_t n_all, void *ctx) {
    ticker_say(ctx, "%lld of %lld runs", (long long)n_done, (long long)n_all);
}

static bool run(int argc, char **argv, struct error *err) {
    struct suite_options o = {.request = {.seeds = SEEDS, .within = 0.05}};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err) || !check(&o, err))
        return false;
    struct arena a = {0};
    struct suite_outcome out;
    o.request.tables = (const char *const *)args.values;
    o.request.n_tables = args.count;
    o.request.is_stopped = interrupt_seen;
    struct ticker progress;
    ticker_start(&progress, o.quiet);
    o.request.on_run = show;
    o.request.ctx = &progress;
    bool ok = op_suite(&a, &o.request, &out, err);
    ticker_stop(&progress);
    if (ok && o.json) {
        json_t *json = suite_to_json(&out);
        puts(json_print_pretty(&a, json));
        json_decref(json);
    } else if (ok && o.csv) {
        print_csv(&out);
    } else if (ok && o.markdown) {
        print_markdown(&out);
    } else if (ok) {
        print_text(&out);
    }
    arena_reset(&a);
    return ok;
}

const struct command cmd_suite = {.group = GROUP_OPTIMISE, .options = &options, .run = run};
