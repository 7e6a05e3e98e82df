// `hone eval`: one candidate, several, two against each other, or one against itself (--aa); which
// of these it is follows from the options, and combinations that make no sense are refused here.
// The work is in ops/op_eval.h and ops/op_aa.h.
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/narrow.h"
#include "cmd/ticker.h"
#include "ops/op_aa.h"
#include "ops/op_rank.h"

enum { LENGTHS_APART = 100, AA_MOST = 1000000 };
static const double RESOLUTION_LEAST = 0.8, RESOLUTION_MOST = 100;  // percent

struct eval_options {
    const char *baseline, *target, *dims, *spool, *seconds, *resolution, *keep;
    bool screen, verify, confirm, detach, json, warm, markdown, csv, quiet;
    double wait_s, energy_s;
    int64_t aa, seed;
};

static const struct option_row rows[] = {
    {.name = "baseline",
     .type = OPTION_STRING,
     .value = "CANDIDATE",
     .summary = "what it is timed against, a candidate too (plain: one simple loop nest per value)",
     .offset = offsetof(struct eval_options, baseline)},
    {.name = "verify",
     .type = OPTION_FLAG,
     .summary = "only say whether it is correct",
     .offset = offsetof(struct eval_options, verify)},
    {.name = "screen",
     .type = OPTION_FLAG,
     .summary = "fewer inputs and few pairs: correct, and not clearly slower?",
     .offset = offsetof(struct eval_options, screen)},
    {.name = "confirm",
     .type = OPTION_FLAG,
     .summary = "as for a champion: inputs drawn anew, processes started anew",
     .offset = offsetof(struct eval_options, confirm)},
    {.name = "seconds",
     .type = OPTION_STRING,
     .value = "S",
     .summary = "time it for about S seconds at most; with --aa several, ascending: 1,5,20",
     .offset = offsetof(struct eval_options, seconds)},
    {.name = "resolution",
     .type = OPTION_STRING,
     .value = "P%",
     .summary =
         "time it until a difference of P% can be resolved (about 2%), for --seconds at most (20)",
     .offset = offsetof(struct eval_options, resolution)},
    {.name = "energy",
     .type = OPTION_NUMBER,
     .value = "S",
     .summary = "on a GPU: measure the energy of a call too, for about S seconds",
     .offset = offsetof(struct eval_options, energy_s)},
    {.name = "dim",
     .type = OPTION_STRING,
     .value = "M=1024,...",
     .summary = "use these sizes in place of the file's",
     .offset = offsetof(struct eval_options, dims)},
    {.name = "target",
     .type = OPTION_STRING,
     .value = "NAME",
     .summary = "cpu, cuda, cuda:1, or for a --spool sm_90a (what CANDIDATE is for, else a GPU)",
     .offset = offsetof(struct eval_options, target)},
    {.name = "aa",
     .type = OPTION_INT,
     .value = "N",
     .summary = "time it N times against itself: how often is a difference seen?",
     .offset = offsetof(struct eval_options, aa),
     .least = 1},
    {.name = "keep",
     .type = OPTION_STRING,
     .value = "FILE",
     .summary = "with --aa: write the times of all pairs into this file, with the word left-out "
                "behind those that did not count",
     .offset = offsetof(struct eval_options, keep)},
    {.name = "seed",
     .type = OPTION_INT,
     .value = "N",
     .summary = "draw the inputs from this seed, to repeat a verdict",
     .offset = offsetof(struct eval_options, seed),
     .least = 1},
    {.name = "spool",
     .type = OPTION_STRING,
     .value = "DIR",
     .summary = "have it judged by a worker that serves this directory (see hone help worker)",
     .offset = offsetof(struct eval_options, spool)},
    {.name = "wait",
     .type = OPTION_NUMBER,
     .value = "S",
     .summary = "with --spool: give up when no worker takes the job for S seconds (60)",
     .offset = offsetof(struct eval_options, wait_s)},
    {.name = "detach",
     .type = OPTION_FLAG,
     .summary = "with --spool: only leave the job; the same command without this takes the answer",
     .offset = offsetof(struct eval_options, detach)},
    {.name = "warm",
     .type = OPTION_FLAG,
     .summary = "leave data in the caches from call to call (a CPU; else they are cold)",
     .offset = offsetof(struct eval_options, warm)},
    {.name = "markdown",
     .type = OPTION_FLAG,
     .summary = "print only the candidates in order, as a table in Markdown",
     .offset = offsetof(struct eval_options, markdown)},
    {.name = "csv",
     .type = OPTION_FLAG,
     .summary = "the same as comma-separated values, times in seconds",
     .offset = offsetof(struct eval_options, csv)},
    {.name = "json",
     .type = OPTION_FLAG,
     .summary =
         "print one hone.eval/1 document, of several candidates one on each line; of two against "
         "each other hone.compare/1, with --aa hone.aa/1",
     .offset = offsetof(struct eval_options, json)},
    QUIET_ROW(struct eval_options),
    {0},
};

static const struct command_options options = {
    .command = "eval",
    .arguments = "PROBLEM CANDIDATE...",
    .summary = "compile, verify and time candidates, and rank them",
    .text =
        "CANDIDATE is C, or CUDA in a .cu file, with its launches in '#pragma hone' lines (see\n"
        "hone scaffold), or a .hone file with a kernel block; or 'plain' (one simple loop nest "
        "per\n"
        "value), 'default' (the kernel that a search begins with), 'library' (products and\n"
        "convolutions by OpenBLAS, cuBLASLt or cuDNN where they are installed, what is around\n"
        "them by kernels of hone's), or RUN.NODE, a kernel of a stored run ('3' and 'last' mean a\n"
        "run's champion). It runs in a process of its own, locked in, on inputs drawn after it\n"
        "was frozen; every call is checked, the timed ones too.\n"
        "\n"
        "Two candidates are timed against each other, unless there is a --baseline. More are\n"
        "judged one after the other by the same warm judge, each timed against the baseline, and\n"
        "ranked at the end; candidates whose intervals overlap share a rank, and times there are\n"
        "the baseline's divided by the speed-up, so that they agree with the order. The exit\n"
        "status is 1 when a verdict is not ok.",
    .rows = rows,
    .min_arguments = 2,
    .max_arguments = -1,
};

static void print_document(struct arena *a, json_t *document) {
    printf("%s\n", json_print_pretty(a, document));
    json_decref(document);
}

// One line that grows older, for who waits.
static void say_trial(const struct aa_report *so_far, void *ctx) {
    const struct aa_request *q = ctx;
    const struct aa_row *row = &so_far->rows[so_far->n_rows - 1];
    fprintf(stderr, "\r%d of %d trials, called different %d times%s", so_far->n, q->n,
            row->n_faster + row->n_slower, so_far->n == q->n ? "\n" : "");
}

// Trials take minutes and hours: what is there when they end early is told too.
static bool run_aa(struct arena *a, struct aa_request *q, bool json, bool is_quiet,
                   struct error *err) {
    struct aa_report r;
    if (!is_quiet && isatty(STDERR_FILENO)) {
        q->on_trial = say_trial;
        q->ctx = q;
    }
    bool ok = op_aa(a, q, &r, err);
    if (!ok && !r.n)
        return false;
    if (q->on_trial && !ok)
        fputc('\n', stderr);
    if (json) {
        print_document(a, op_aa_json(&r));
    } else {
        fputs(op_aa_text(a, &r), stdout);
    }
    return ok;
}

// "1,5,20"
static bool read_seconds(const char *text, struct aa_request *q, struct error *err) {
    char number[32];
    for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t len = strcspn(at, ",");
        double value = 0;
        snprintf(number, sizeof number, "%.*s", (int)(len < 31 ? len : 31), at);
        if (len > 31 || !str_to_double(number, &value) || !isfinite(value) || value <= 0)
            return error_set(err, ERROR_USAGE, "eval: --seconds %s: expected a number above zero",
                             text);
        if (q->n_lengths == AA_LENGTHS_MAX)
            return error_set(err, ERROR_USAGE, "eval: --seconds %s: more than %d", text,
                             AA_LENGTHS_MAX);
        if (q->n_lengths && value <= q->seconds[q->n_lengths - 1])
            return error_set(err, ERROR_USAGE, "eval: --seconds %s: expected ascending numbers",
                             text);
        q->seconds[q->n_lengths++] = value;
    }
    if (q->n_lengths > 1 && q->seconds[q->n_lengths - 1] > LENGTHS_APART * q->seconds[0])
        return error_set(err, ERROR_USAGE,
                         "eval: --seconds %s: the longest is more than %d times the shortest", text,
                         LENGTHS_APART);
    return true;
}

// "1%" or "1": percent.
static bool read_resolution(const char *text, double *resolution, struct error *err) {
    char number[32];
    size_t len = strlen(text);
    double percent = 0;
    if (len && text[len - 1] == '%')
        len--;
    snprintf(number, sizeof number, "%.*s", (int)(len < 31 ? len : 31), text);
    if (len > 31 || !str_to_double(number, &percent) || !isfinite(percent))
        return error_set(err, ERROR_USAGE, "eval: --resolution %s: expected percent, such as 1%%",
                         text);
    if (percent < RESOLUTION_LEAST || percent > RESOLUTION_MOST)
        return error_set(err, ERROR_USAGE,
                         "eval: --resolution %s: expected %.2g%% to %.0f%%; identical kernels may "
                         "differ by %.2g%%",
                         text, RESOLUTION_LEAST, RESOLUTION_MOST, 100 * MEASUREMENT_MARGIN);
    *resolution = percent / 100;
    return true;
}

static bool is_ok(const struct eval_report *r) {
    return r->result.verdict.kind == VERDICT_OK;
}

static bool run_one(struct arena *a, const struct eval_request *q, const struct eval_options *o,
                    struct error *err) {
    struct eval_report r;
    struct ticker progress;
    bool json = o->json;
    ticker_start(&progress, o->quiet);
    ticker_say(&progress, "judging %s", q->candidate);
    bool ok = op_eval(a, q, &r, err);
    ticker_stop(&progress);
    if (!ok)
        return false;
    if (json) {
        print_document(a, op_eval_json(&r));
    } else {
        narrow_print(stdout, op_eval_text(a, &r));
    }
    return is_ok(&r);
}

// One job for each candidate.
static bool post(struct arena *a, struct eval_request q, const struct arguments *args,
                 struct error *err) {
    char id[33];
    bool is_answered;
    for (int i = 1; i < args->count; i++) {
        q.candidate = args->values[i];
        if (!op_eval_post(a, &q, id, &is_answered, err))
            return false;
        printf("job %s %s %s\n", id,
               is_answered ? "is answered (without --detach it is taken) in" : "waits in", q.spool);
    }
    return true;
}

// Timed against each other, and not each against something else?
static bool is_pair(const struct eval_options *o, int n_candidates) {
    return n_candidates == 2 && !o->baseline && !o->verify && !o->spool && !o->markdown && !o->csv;
}

static bool check_options(const struct eval_options *o, struct error *err) {
    if (o->verify + o->screen + o->confirm > 1)
        return error_set(err, ERROR_USAGE, "--verify, --screen and --confirm exclude each other");
    if (!o->spool && (o->detach || o->wait_s > 0))
        return error_set(err, ERROR_USAGE, "--%s is for a job of a --spool",
                         o->detach ? "detach" : "wait");
    if (o->warm && o->spool)
        return error_set(err, ERROR_USAGE, "--warm is not for a job of a --spool");
    if (o->resolution && (o->verify || o->screen))
        return error_set(err, ERROR_USAGE, "--%s measures no difference, --resolution asks for one",
                         o->verify ? "verify" : "screen");
    return true;
}

// What is done with the verdicts, and with how many.
static bool check_output(const struct eval_options *o, int n_candidates, struct error *err) {
    if (o->markdown + o->csv + o->json > 1)
        return error_set(err, ERROR_USAGE, "--markdown, --csv and --json exclude each other");
    if ((o->markdown || o->csv) && (o->aa || o->detach))
        return error_set(err, ERROR_USAGE, "--%s is for verdicts",
                         o->markdown ? "markdown" : "csv");
    if (!o->aa && o->keep)
        return error_set(err, ERROR_USAGE, "--keep is for the pairs of --aa");
    if (o->aa > AA_MOST)
        return error_set(err, ERROR_USAGE, "eval: --aa %lld: at most %d", (long long)o->aa,
                         AA_MOST);
    if (o->aa && o->verify)
        return error_set(err, ERROR_USAGE, "--verify times nothing, --aa does");
    if (n_candidates > 1 && o->aa)
        return error_set(err, ERROR_USAGE, "--aa is for one candidate");
    if (o->detach && (o->aa || o->json))
        return error_set(err, ERROR_USAGE, "--detach leaves a job and prints no verdict");
    return true;
}

struct printing {
    struct arena *a;
    struct ticker *progress;
    int n_started, n_candidates;
    bool json;   // a line each
    bool is_ok;  // all of them so far
    bool only_table;
    struct ranking *ranking;  // NULL: not wanted
};

static void say_candidate(const char *candidate, void *ctx) {
    struct printing *p = ctx;
    ticker_say(p->progress, "judging %s (%d of %d)", candidate, ++p->n_started, p->n_candidates);
}

static void say_illegal(const char *candidate, const char *why, void *ctx) {
    struct printing *p = ctx;
    ticker_clear(p->progress);
    fprintf(stderr, "hone: %s is illegal, its verdict comes in its turn: %s\n", candidate, why);
}

static void print_report(const struct eval_report *r, void *ctx) {
    struct printing *p = ctx;
    ticker_clear(p->progress);
    if (p->ranking)
        ranking_add(p->a, p->ranking, r);
    if (p->only_table) {
        // after all of them
    } else if (p->json) {
        json_t *document = op_eval_json(r);
        printf("%s\n", json_print(p->a, document));
        json_decref(document);
    } else {
        narrow_print(stdout, op_eval_text(p->a, r));
    }
    fflush(stdout);
    p->is_ok = p->is_ok && is_ok(r);
}

static bool run_each(struct arena *a, const struct eval_request *q, const struct arguments *args,
                     const struct eval_options *o, struct error *err) {
    enum rank_form form = o->csv ? RANK_CSV : o->markdown ? RANK_MARKDOWN : RANK_TEXT;
    bool is_ranked = form != RANK_TEXT || (!o->json && !o->verify && args->count > 3);
    struct ticker progress;
    struct printing p = {.a = a,
                         .progress = &progress,
                         .n_candidates = args->count - 1,
                         .json = o->json,
                         .is_ok = true,
                         .only_table = form != RANK_TEXT,
                         .ranking = is_ranked ? arena_new(a, struct ranking) : NULL};
    struct eval_list list = {.candidates = (const char *const *)args->values + 1,
                             .n_candidates = args->count - 1,
                             .on_illegal = args->count > 2 ? say_illegal : NULL,
                             .on_start = say_candidate,
                             .on_report = print_report,
                             .ctx = &p};
    ticker_start(&progress, o->quiet);
    bool ok = op_eval_each(a, q, &list, err);
    ticker_stop(&progress);
    if (!ok)
        return false;
    if (p.ranking && form == RANK_TEXT)
        narrow_print(stdout, ranking_print(a, p.ranking, form));
    else if (p.ranking)
        fputs(ranking_print(a, p.ranking, form), stdout);
    return p.is_ok;
}

// Both verdicts, then who is faster.
static bool run_pair(struct arena *a, const struct eval_request *q, const char *const names[2],
                     const struct eval_options *o, struct error *err) {
    struct eval_report reports[2];
    struct ticker progress;
    struct printing p = {.a = a, .progress = &progress, .is_ok = true};
    struct eval_list pair = {
        .candidates = names, .n_candidates = 2, .on_illegal = say_illegal, .ctx = &p};
    ticker_start(&progress, o->quiet);
    ticker_say(&progress, "judging %s and %s", names[0], names[1]);
    bool ok = op_eval_pair(a, q, &pair, reports, err);
    ticker_stop(&progress);
    if (!ok)
        return false;
    if (o->json) {
        print_document(a, op_eval_pair_json(a, reports));
    } else {
        print_report(&reports[0], &p);
        print_report(&reports[1], &p);
        narrow_print(stdout, arena_printf(a, "%s\n", op_eval_pair_text(a, reports)));
    }
    return is_ok(&reports[0]) && is_ok(&reports[1]);
}

// Of several candidates, `library` is left out, with the reason, where there is none for the
// problem: the others can be judged all the same.
static bool leave_out_library(struct arena *a, struct eval_request *q, struct arguments *args,
                              bool *is_left_out, struct error *err) {
    const char *why = NULL;
    int n = 1;
    bool is_asked = false;
    *is_left_out = false;
    for (int i = 1; i < args->count; i++)
        if (strcmp(args->values[i], "library") == 0)
            is_asked = true;
        else
            q->candidate = q->candidate ? q->candidate : args->values[i];
    if (!is_asked || !q->candidate)
        return true;
    if (!op_eval_library_absent(a, q, &why, err))
        return false;
    for (int i = 1; why && i < args->count; i++)
        if (strcmp(args->values[i], "library") != 0)
            args->values[n++] = args->values[i];
    if (!why)
        return true;
    args->count = n;
    *is_left_out = true;
    fprintf(stderr, "hone: 'library' is left out, the others are judged: %s\n", why);
    return true;
}

static bool run_request(struct arena *a, struct eval_request *q, const struct arguments *args,
                        const struct eval_options *o, struct aa_request *aa, struct error *err) {
    const char *const *names = (const char *const *)args->values + 1;
    q->candidate = names[0];
    aa->eval = *q;
    return o->detach                                  ? post(a, *q, args, err)
           : is_pair(o, args->count - 1)              ? run_pair(a, q, names, o, err)
           : args->count > 2 || o->markdown || o->csv ? run_each(a, q, args, o, err)
           : o->aa                                    ? run_aa(a, aa, o->json, o->quiet, err)
                                                      : run_one(a, q, o, err);
}

static bool run(int argc, char **argv, struct error *err) {
    struct eval_options o = {0};
    struct arguments args;
    if (!options_parse(&options, argc, argv, &o, &args, err))
        return false;
    if (args.help)
        return command_help(&options);
    struct aa_request aa = {.n = (int)o.aa, .keep = o.keep};
    double resolution = 0;
    if (!check_options(&o, err) || !check_output(&o, args.count - 1, err) ||
        (o.seconds && !read_seconds(o.seconds, &aa, err)) ||
        (o.resolution && !read_resolution(o.resolution, &resolution, err)))
        return false;
    if (!o.aa && aa.n_lengths > 1)
        return error_set(err, ERROR_USAGE, "several --seconds are for --aa");

    struct arena a = {0};
    struct eval_request q = {.problem = args.values[0],
                             .baseline = o.baseline,
                             .target = o.target,
                             .dims = o.dims,
                             .depth = o.verify    ? EVAL_VERIFY
                                      : o.screen  ? EVAL_SCREEN
                                      : o.confirm ? EVAL_CONFIRM
                                                  : EVAL_RANK,
                             .seconds = aa.seconds[0],
                             .resolution = resolution,
                             .energy_s = o.energy_s,
                             .seed = (uint64_t)o.seed,
                             .spool = o.spool,
                             .wait_s = o.wait_s,
                             .is_warm = o.warm};
    bool is_left_out, ok = leave_out_library(&a, &q, &args, &is_left_out, err) &&
                           run_request(&a, &q, &args, &o, &aa, err);
    if (ok && is_left_out) {
        *err = (struct error){.kind = ERROR_UNSUPPORTED};  // said already
        ok = false;
    }
    arena_reset(&a);
    return ok;
}

const struct command cmd_eval = {.group = GROUP_KNOW, .options = &options, .run = run};
