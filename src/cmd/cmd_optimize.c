// `hone optimize`: options; the progress of a run as lines, as a view that is drawn again, or as
// events; several files one after the other. The work is in ops/op_optimize.h.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/live_view.h"
#include "cmd/narrow.h"
#include "ops/op_optimize.h"
#include "ops/op_problem.h"
#include "ops/op_topics.h"

enum { BATCH_MAX = 64, MOST_RACED = 256 };

struct optimize_options {
    struct optimize_request request;
    bool json, events, quiet;
    const char *events_to;
};

#define ROW(row_name, kind, value_name, field, words)                          \
    {                                                                          \
        .name = row_name, .type = kind, .value = value_name, .summary = words, \
        .offset = offsetof(struct optimize_options, field)                     \
    }

#define COUNT(row_name, field, words)                                         \
    {                                                                         \
        .name = row_name, .type = OPTION_INT, .value = "N", .summary = words, \
        .offset = offsetof(struct optimize_options, field), .least = 1        \
    }

static const struct option_row rows[] = {
    ROW("target", OPTION_STRING, "NAME", request.target,
        "cpu, cuda, cuda:N (the first GPU, else cpu), or table:FILE (see hone help tabulate)"),
    ROW("start", OPTION_STRING, "FILE", request.start,
        "begin with this C, CUDA or kernel block instead of the default kernel"),
    ROW("baseline", OPTION_STRING, "CANDIDATE", request.baseline,
        "what the champion is confirmed against: plain, default, library, a file or RUN.NODE"),
    COUNT("evals", request.evals, "stop after N evaluations (no limit)"),
    COUNT("batch", request.batch,
          "propose N candidates before they are judged (1); several workers share them"),
    COUNT(
        "jobs", request.jobs,
        "judge on up to N GPUs of this machine that are alike, or by N workers of the --spool (1)"),
    COUNT("race", request.race,
          "race N kernel blocks at once and judge the best (24 or more); 1: judge each"),
    ROW("seconds", OPTION_NUMBER, "S", request.seconds,
        "end after S seconds (600), with measuring the machine, where that is missing, and the "
        "confirmation. A verdict is never cut short: where two do not fit, the first kernel is "
        "confirmed at once, and that is said before; what took it longer is said at the end"),
    ROW("until", OPTION_NUMBER, "F", request.until, "stop at this fraction of reach (0.95)"),
    ROW("objective", OPTION_STRING, "NAME", request.objective,
        "what makes a champion: time (the default); on a GPU energy (the least of those not "
        "significantly slower than the fastest) or edp (least energy times time)"),
    ROW("policy", OPTION_STRING, "NAME", request.policy,
        "where candidates come from (hone help policies)"),
    ROW("proposer", OPTION_STRING, "NAME", request.proposer,
        "who proposes: expert (the default), blind, team (with --llm)"),
    ROW("llm", OPTION_STRING, "PROVIDER", request.team.llm,
        "have a model plan and write: anthropic:MODEL, ask:DIR, ...; see docs/llm.md"),
    ROW("max-usd", OPTION_NUMBER, "USD", request.team.max_usd, "what the model may cost (2)"),
    COUNT("max-calls", request.team.max_calls, "how often it may be asked (no limit)"),
    COUNT("max-tokens", request.team.max_tokens, "tokens in and out together (no limit)"),
    ROW("feedback", OPTION_STRING, "KIND", request.team.feedback,
        "what the proposer gets of a profile: tools (the default: findings), raw, none"),
    ROW("seed", OPTION_INT, "N", request.seed, "of the search's decisions (0)"),
    ROW("dim", OPTION_STRING, "M=64,...", request.dims, "sizes in place of the file's"),
    ROW("store", OPTION_STRING, "PATH", request.store, "where runs are kept (.hone, found upward)"),
    ROW("memory", OPTION_STRING, "off|PATH", request.memory,
        "what earlier runs taught ($XDG_DATA_HOME/hone/memory.db); off: do without"),
    ROW("spool", OPTION_STRING, "DIR", request.spool,
        "judged by workers that serve this directory (see hone help worker)"),
    ROW("wait", OPTION_NUMBER, "S", request.wait_s,
        "with --spool: give up when no worker takes a job for S seconds (60)"),
    ROW("resume", OPTION_FLAG, NULL, request.resume,
        "go on with RUN, or with the newest unfinished one"),
    ROW("tool", OPTION_STRING, "PATH", request.tool,
        "a tool of yours, besides those in $XDG_CONFIG_HOME/hone/tools (docs/tools.md)"),
    ROW("no-counters", OPTION_FLAG, NULL, request.no_counters,
        "on a GPU: do without hardware counters, which take about a second for a candidate (and "
        "are left out near the end)"),
    ROW("no-energy", OPTION_FLAG, NULL, request.no_energy,
        "on a GPU: do not measure the energy of the champion's calls, which takes 2 to 4 s"),
    ROW("no-calibrate", OPTION_FLAG, NULL, request.no_calibrate,
        "do not measure the machine's ceilings when they are missing"),
    ROW("json", OPTION_FLAG, NULL, json, "print one hone.optimize/1 document at the end"),
    ROW("quiet", OPTION_FLAG, NULL, quiet, "print only what came of it"),
    ROW("events", OPTION_FLAG, NULL, events, "print a hone.event/1 object per line while it goes"),
    ROW("events-to", OPTION_STRING, "FILE", events_to,
        "write those lines to FILE (or /dev/fd/N), whatever else is printed"),
    {0},
};

static const struct option_choices choices[] = {{"policy", op_policy_names}, {0}};

static const struct command_options options = {
    .command = "optimize",
    .arguments = "FILE... | --resume [RUN]",
    .summary = "search for the fastest correct kernel for a problem",
    .text =
        "Starts from the default kernel, or from --start FILE, and improves it: every candidate\n"
        "is compiled, verified against float64 and timed against the first one. Of many kernel\n"
        "blocks a race finds the few that are worth it: timed roughly, unverified, the slower "
        "half\n"
        "left out again and again; the others are only screened. Stops near reach, after 16\n"
        "evaluations without a significant gain (six screened ones count as one), or when\n"
        "--evals or --seconds are used up. The fastest is then confirmed on fresh data against\n"
        "--baseline, which is `plain`, one plain loop per value at the compiler's best flags,\n"
        "unless it is given; where that cannot be timed it is confirmed alone, and its speed-up\n"
        "is unknown. Of a problem that hone makes no kernel of itself the search begins with\n"
        "--start, which is then the baseline too, or with --llm, where there is none.\n"
        "\n"
        "Every step is stored before the next begins: after Ctrl-C, or anything worse, --resume\n"
        "goes on. A run begins once the machine is measured; one that is stopped before that has\n"
        "left nothing to resume. A resumed run keeps its problem, policy, seed, batch and race;\n"
        "limits given with --resume replace its own and count from the run's beginning.\n"
        "\n"
        "With --jobs N announced candidates are judged on several devices. Each is timed against "
        "the\n"
        "first kernel on the device that has it; whatever may become champion is timed again on\n"
        "--target itself, where play-off and confirmation are. A worker that dies costs its job "
        "only.\n"
        "\n"
        "Several files are optimised one after the other, each with the same limits; a summary\n"
        "follows, and the exit status is that of the worst. On a terminal the last lines show how\n"
        "far it is (NO_COLOR: without colours); in a pipe every evaluation is a line.",
    .rows = rows,
    .choices = choices,
    .min_arguments = 0,
    .max_arguments = -1,
};

// How progress is shown: on a terminal a few lines that are drawn again, and lines that stay for
// what got better; in a pipe a line for every evaluation. With --json standard output is for the
// document: progress is on standard error, where that is a terminal.
struct printer {
    FILE *to;  // NULL: nowhere
    bool events, is_live;
    struct live_view view;  // where it is live
    FILE *events_to;        // NULL: nowhere
};

static bool stays(const struct event *e) {
    return e->kind != EVENT_EVALUATED || e->best == e->node->number || e->node->number == 0;
}

static void write_event(FILE *to, const struct event *e) {
    struct arena a = {0};
    json_t *json = event_to_json(e);
    fprintf(to, "%s\n", json_print(&a, json));
    fflush(to);
    json_decref(json);
    arena_reset(&a);
}

static void print_event(const struct event *e, void *ctx) {
    struct printer *p = ctx;
    struct str text = {0};
    if (p->events_to)
        write_event(p->events_to, e);
    if (!p->to)
        return;
    if (p->events) {
        write_event(p->to, e);
        return;
    }
    if (!p->is_live || stays(e))
        report_event(&text, e);
    narrow_for(p->to, &text);
    if (p->is_live)
        live_view_show(&p->view, e, str_text(&text));
    else
        fputs(str_text(&text), p->to);
    str_reset(&text);
    fflush(p->to);
}

static void print_document(const struct optimize_options *o, const struct run_view *v) {
    struct arena a = {0};
    json_t *json = report_result_json(v);
    puts(o->json ? json_print_pretty(&a, json) : json_print(&a, json));
    json_decref(json);
    arena_reset(&a);
}

static void print_outcome(const struct optimize_options *o, const struct optimize_outcome *out) {
    if (o->json || o->events) {
        print_document(o, &out->view);
        return;
    }
    struct str text = {0};
    report_result(&text, &out->view);
    narrow_print(stdout, str_text(&text));
    str_reset(&text);
}

static void say_resumable(const struct run_view *v, struct error *err) {
    if (err->kind == ERROR_INTERRUPTED)
        error_set(err, ERROR_INTERRUPTED, "interrupted; hone optimize --resume %lld%s goes on",
                  (long long)v->run.id, v->store_option ? v->store_option : "");
    else
        error_wrap(err, "run %lld", (long long)v->run.id);
}

static bool check_counts(const struct optimize_request *q, struct error *err) {
    if (q->race > MOST_RACED)
        return error_set(err, ERROR_USAGE, "optimize: a --race has at most %d candidates",
                         MOST_RACED);
    if (q->jobs > BATCH_MAX)
        return error_set(err, ERROR_USAGE, "optimize: at most %d --jobs", BATCH_MAX);
    return q->batch <= BATCH_MAX ||
           error_set(err, ERROR_USAGE, "optimize: a --batch has at most %d candidates", BATCH_MAX);
}

static bool check_several(const struct optimize_options *o, struct error *err) {
    if (!o->request.resume && !o->request.start && !o->json)
        return true;
    return error_set(err, ERROR_USAGE, "optimize: --resume, --start and --json are for one %s",
                     o->request.resume ? "run" : "file");
}

static bool check_ends(const struct optimize_options *o, struct error *err) {
    if (o->request.wait_s > 0 && !o->request.spool)
        return error_set(err, ERROR_USAGE, "optimize: --wait is for workers of a --spool");
    if (o->request.until > 1)
        return error_set(err, ERROR_USAGE, "optimize: --until is a fraction of reach, at most 1");
    return true;
}

static bool check_resumed(const struct optimize_request *q, struct error *err) {
    if (!q->dims && !q->start && !q->baseline && !q->policy && !q->proposer && !q->target &&
        !q->seed && !q->batch && !q->race && !q->objective && !q->no_energy)
        return true;
    return error_set(
        err, ERROR_USAGE,
        "optimize: a resumed run keeps its start, baseline, sizes, target, policy, "
        "proposer, seed, batch, race and objective; only --evals, --seconds, --until and the "
        "model and its caps "
        "can be given anew");
}

static bool read_arguments(struct optimize_options *o, const struct arguments *args,
                           struct error *err) {
    const char *word = args->count > 0 ? args->values[0] : NULL;
    if (args->count > 1 && !check_several(o, err))
        return false;
    if (o->request.resume)
        o->request.run = word;
    else
        o->request.file = word;
    if (!o->request.resume && !word)
        return error_set(err, ERROR_USAGE,
                         "optimize: expected FILE or --resume [RUN]; see 'hone "
                         "optimize --help'");
    const struct optimize_request *q = &o->request;
    if (q->resume && !check_resumed(q, err))
        return false;
    if (!check_counts(q, err) || !check_ends(o, err))
        return false;
    if (o->json && o->events)
        return error_set(err, ERROR_USAGE,
                         "optimize: --json and --events exclude each other; "
                         "--events ends with the same document on one line");
    return true;
}

// What became of one file of several.
struct result {
    const char *file;
    bool was_tried, found;
    double time_s, speedup, of_reach;  // NAN: not known
};

static void note_result(struct result *r, const struct optimize_outcome *out, bool found) {
    const struct run *run = &out->view.run;
    r->found = found;
    if (!found || !run->confirm.present)
        return;
    r->time_s = run->confirm.median_s;
    r->speedup = run->speedup_unknown ? NAN : run->confirm.speedup;
    r->of_reach = report_reach(run) / r->time_s;
}

static void print_number(double value, const char *format, int width) {
    char text[32] = "-";
    if (isfinite(value))
        snprintf(text, sizeof text, format, value);
    printf(" %*s", width, text);
}

static void print_summary(const struct result *results, int n) {
    struct arena a = {0};
    printf("\n%9s %9s %9s  %s\n", "time", "speed-up", "of reach", "file");
    for (int i = 0; i < n; i++) {
        const struct result *r = &results[i];
        if (!r->was_tried)  // interrupted before its turn came
            continue;
        const char *time = isfinite(r->time_s) ? clock_duration(&a, 1e9 * r->time_s) : "-";
        printf("%*s", 9 + (strstr(time, "µ") != NULL), time);  // which is two bytes
        print_number(r->speedup, "%.2fx", 9);
        print_number(100 * r->of_reach, "%.0f%%", 9);
        printf("  %s%s\n", r->file, r->found ? "" : " (failed)");
    }
    arena_reset(&a);
}

// One file, or one run to go on with.
static bool optimize_one(struct optimize_options *o, struct printer *p, struct result *r,
                         struct error *err) {
    struct arena a = {0};
    struct optimize_outcome out;
    bool ok = op_optimize(&a, &o->request, &out, err);
    if (p->is_live)
        live_view_clear(&p->view);
    if (out.has_run)
        print_outcome(o, &out);
    bool found = ok && out.view.run.champion >= 0;
    if (!ok && out.has_run)
        say_resumable(&out.view, err);
    if (out.has_run)
        note_result(r, &out, found);
    arena_reset(&a);
    return found;
}

// How bad, as exit statuses go: ours or the machine's failure, something absent, usage, negative.
static int badness(enum error_kind kind) {
    static const enum error_kind order[] = {ERROR_NONE, ERROR_PARSE, ERROR_USAGE,
                                            ERROR_UNSUPPORTED};
    for (int i = 0; i < 4; i++)
        if (kind == order[i])
            return i;
    return 4;
}

// What became of several files.
struct batch {
    struct result *results;
    enum error_kind worst;
    bool ok, goes_on;
};

static void note_failure(struct batch *b, const struct error *one) {
    b->ok = false;
    b->goes_on = one->kind != ERROR_INTERRUPTED;
    if (!b->goes_on || badness(one->kind) > badness(b->worst))
        b->worst = one->kind;
    fflush(stdout);
    if (one->text[0])
        fprintf(stderr, strchr(one->text, '\n') ? "%s" : "hone: %s\n", one->text);
}

// A file that is missing or has mistakes is told before the first one begins, not hours later.
static void read_all(const struct optimize_options *o, const struct arguments *args,
                     struct batch *b) {
    for (int i = 0; i < args->count; i++) {
        struct arena a = {0};
        struct error one = {0};
        struct loaded loaded;
        b->results[i] = (struct result){
            .file = args->values[i], .time_s = NAN, .speedup = NAN, .of_reach = NAN};
        if (!op_load(&a, args->values[i], o->request.dims, &loaded, &one)) {
            b->results[i].was_tried = true;
            note_failure(b, &one);
        }
        arena_reset(&a);
    }
}

// One after the other; what fails is said and does not keep the others from being tried.
static bool optimize_all(struct optimize_options *o, struct printer *p,
                         const struct arguments *args, struct error *err) {
    struct arena a = {0};
    struct batch b = {
        .results = arena_array(&a, struct result, args->count + 1), .ok = true, .goes_on = true};
    read_all(o, args, &b);
    for (int i = 0, n = 0; b.goes_on && i < args->count; i++) {
        struct error one = {0};
        if (b.results[i].was_tried)
            continue;
        b.results[i].was_tried = true;
        o->request.file = args->values[i];
        if (!o->events)
            printf("%s%s\n", n++ ? "\n" : "", args->values[i]);
        if (!optimize_one(o, p, &b.results[i], &one))
            note_failure(&b, &one);
    }
    if (!o->events)
        print_summary(b.results, args->count);
    arena_reset(&a);
    if (!b.ok)
        *err = (struct error){.kind = b.worst};
    return b.ok;
}

static struct printer printer_for(const struct optimize_options *o) {
    bool is_quiet = o->quiet && !o->events;
    bool on_error = o->json && live_is_terminal(STDERR_FILENO);
    bool on_output = !o->events && !o->json && live_is_terminal(STDOUT_FILENO);
    FILE *to = is_quiet ? NULL : !o->json ? stdout : on_error ? stderr : NULL;
    return (struct printer){
        .to = to,
        .events = o->events,
        .is_live = !is_quiet && (on_error || on_output),
        .view = {.live = {.to = to}, .style = {.is_plain = !live_has_colours()}},
        .events_to = o->events_to ? fopen(o->events_to, "we") : NULL};
}

static bool run(int argc, char **argv, struct error *err) {
    struct optimize_options o = {0};
    struct arguments args;
    struct result only;
    if (!options_parse(&options, argc, argv, &o, &args, err) || !read_arguments(&o, &args, err))
        return false;

    struct printer printer = printer_for(&o);
    if (o.events_to && !printer.events_to)
        return error_set(err, ERROR_USAGE, "optimize: --events-to %s: %s", o.events_to,
                         strerror(errno));
    if (printer.is_live)
        live_view_start(&printer.view);
    o.request.on_event = print_event;
    o.request.event_ctx = &printer;
    bool ok = args.count > 1 ? optimize_all(&o, &printer, &args, err)
                             : optimize_one(&o, &printer, &only, err);
    if (printer.is_live)
        live_view_stop(&printer.view);
    if (printer.events_to && fclose(printer.events_to) != 0 && ok)
        return error_set(err, ERROR_IO, "write events to %s: %s", o.events_to, strerror(errno));
    return ok;
}

const struct command cmd_optimize = {.group = GROUP_OPTIMISE, .options = &options, .run = run};
