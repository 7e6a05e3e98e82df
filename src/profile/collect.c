// One run for each thing that CUPTI can do, each with a directory of its own. The second and third
// are silent: what the program prints was seen already.
#include "profile/collect.h"

#include <dirent.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/str.h"
#include "gpu/cupti.h"
#include "gpu/library.h"
#include "profile/counters.h"
#include "profile/inject_bytes.h"
#include "profile/line_table.h"
#include "profile/sass.h"

enum { RUN_TIMELINE, RUN_COUNTERS, RUN_SAMPLES, CUBIN_BYTES_MAX = 256 << 20 };
// A run under counters or samples may take so much longer than the first.
static const double SLOWER = 20, EXTRA_S = 60;
// About so many samples are wanted of a kernel; a sample costs nothing, but a buffer is full at
// some time.
static const double SAMPLES_WANTED = 20000;
enum { PERIOD_MIN = 8, PERIOD_MAX = 14 };

struct collecting {
    struct arena *a;
    const struct collect_request *q;
    struct collected *out;
    const char *library, *cupti_path, *dir;
    struct cupti cupti;
    int *order;  // kernels of the timeline that match, by their time
    int n_order, n_chosen;
    struct program_data samples;
};

static void note(struct collecting *c, const char *text) {
    if (c->out->n_notes < COLLECT_NOTES_MAX)
        c->out->notes[c->out->n_notes++] = text;
}

// ---- running

// Written once for each version of it.
bool collect_place_library(struct arena *a, const char **path, struct error *err) {
    size_t len = (size_t)(inject_end - inject_begin);
    const char *dir = file_work_dir(a, "inject", err);
    if (!dir)
        return false;
    unsigned long long id = (unsigned long long)hash_bytes(inject_begin, len, 1);
    *path = arena_printf(a, "%s/%016llx.so", dir, id);
    return file_size(*path) == (int64_t)len ||
           file_keep(*path, (const char *)inject_begin, len, err);
}

static bool run_program(struct collecting *c, int run, const struct str *ask, const char *dir,
                        struct foreground_result *end, struct error *err) {
    struct arena *a = c->a;
    const char *path = arena_printf(a, "%s/ask", dir), *preload = getenv("LD_PRELOAD");
    if (!file_make_dirs(dir, err) || !file_keep(path, str_text(ask), ask->len, err))
        return false;
    const char *const variables[] = {
        arena_printf(a, "CUDA_INJECTION64_PATH=%s", c->library),
        arena_printf(a, "HONE_INJECT_DIR=%s", dir),
        c->q->is_ours ? NULL
                      : arena_printf(a, "LD_PRELOAD=%s%s%s", c->library,
                                     preload && *preload ? ":" : "", preload ? preload : ""),
        NULL};
    bool is_first = run == RUN_TIMELINE;
    double timeout_s = is_first ? c->q->timeout_s : SLOWER * c->out->run_s[0] + EXTRA_S;
    struct foreground_spec spec = {.argv = c->q->argv,
                                   .variables = variables,
                                   .is_silent = run != RUN_TIMELINE || c->q->is_silent,
                                   .is_out_error = run == RUN_TIMELINE && c->q->is_out_error,
                                   .timeout_ns = (int64_t)(timeout_s * 1e9)};
    int64_t begin = clock_now_ns();
    if (!foreground_run(&spec, end, err))
        return false;
    c->out->run_s[run] = (double)(clock_now_ns() - begin) * 1e-9;
    return true;
}

// ---- the first run

static int compare_totals(const void *x, const void *y, void *kernels) {
    const struct program_kernel *k = kernels;
    double a = k[*(const int *)x].total_s, b = k[*(const int *)y].total_s;
    return a > b ? -1 : a < b;
}

static void add_call(struct collecting *c) {
    struct program_data *d = &c->out->timeline;
    struct profile *p = &c->out->profile;
    double span_s = d->last_s - d->first_s, copied_s = 0, bytes = 0, pageable = 0;
    for (int i = 0; i < d->n_copies; i++) {
        const struct program_copies *k = &d->copies[i];
        bool is_host = k->kind != COPY_WITHIN;
        copied_s += is_host ? k->total_s : 0;
        bytes += is_host ? k->bytes : 0;
        pageable += program_is_pageable(k) ? k->bytes : 0;
    }
    if (!(span_s > 0))
        return;
    profile_set(p, METRIC_SPAN, span_s);
    profile_set(p, METRIC_DEVICE_BUSY, d->busy_s / span_s);
    profile_set(p, METRIC_LONGEST_GAP, d->longest_gap_s);
    profile_set(p, METRIC_LAUNCHES, (double)d->n_launches);
    profile_set(p, METRIC_COPY_SHARE, fmin(1, copied_s / span_s));
    profile_set(p, METRIC_COPY_BYTES, bytes);
    profile_set(p, METRIC_COPY_PAGEABLE, pageable / bytes);
}

static bool choose(struct collecting *c, struct error *err) {
    struct program_data *d = &c->out->timeline;
    regex_t regex;
    const char *pattern = c->q->kernel ? c->q->kernel : "";
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return error_set(err, ERROR_USAGE, "'%s' is no regular expression", pattern);
    c->order = arena_array(c->a, int, d->n_kernels + 1);
    for (int i = 0; i < d->n_kernels; i++) {
        const struct program_kernel *k = &d->kernels[i];
        c->out->all_s += k->total_s;
        if (k->n > 0 && (!*pattern || regexec(&regex, k->words, 0, NULL, 0) == 0 ||
                         regexec(&regex, k->name, 0, NULL, 0) == 0))
            c->order[c->n_order++] = i;
    }
    regfree(&regex);
    qsort_r(c->order, (size_t)c->n_order, sizeof *c->order, compare_totals, d->kernels);
    c->n_chosen = c->q->top > 0 && c->q->top < c->n_order ? c->q->top : c->n_order;
    if (c->n_chosen > 256)
        c->n_chosen = 256;
    c->out->kernels = arena_array(c->a, struct collected_kernel, c->n_order + 1);
    profile_reserve(c->a, &c->out->profile, c->n_order);
    for (int i = 0; i < c->n_order; i++) {
        const struct program_kernel *k = &d->kernels[c->order[i]];
        program_metrics(k, &profile_add_launch(c->a, &c->out->profile, k->words)->metrics);
        c->out->kernels[i].kernel = k;
    }
    return true;
}

// What went wrong in the library, in words that help.
const char *collect_fault_text(struct arena *a, const struct program_fault *f) {
    return f->code == 35 || f->code == 40
               ? "the driver gives counters to administrators only: run as root, or load the "
                 "module nvidia with NVreg_RestrictProfilingToAdminUsers=0 (ERR_NVGPUCTRPERM)"
           : f->code == 26 ? "another process is reading this card's counters"
           : f->code == 39 ? "the program uses CUPTI itself (a profiler of its own is on)"
           : f->code == 14 ? "CUPTI and the driver do not go together: use a newer toolkit"
           : strcmp(f->call, "memory") == 0
               ? arena_printf(a,
                              "%s, and all of it would be saved for every pass: profile a smaller "
                              "run",
                              f->text)
               : arena_printf(a, "%s (%s: %d)", f->text, f->call, f->code);
}

static void note_faults(struct collecting *c, const struct program_data *d, const char *what) {
    for (int i = 0; i < d->n_faults; i++)
        note(c, arena_printf(c->a, "%s: %s", what, collect_fault_text(c->a, &d->faults[i])));
}

static bool run_timeline(struct collecting *c, struct error *err) {
    struct str ask = {0};
    const char *dir = arena_printf(c->a, "%s/timeline", c->dir);
    str_printf(&ask, "mode trace\ncupti %s\n", c->cupti_path);
    bool ok = run_program(c, RUN_TIMELINE, &ask, dir, &c->out->end, err) &&
              program_read(c->a, dir, NULL, &c->out->timeline, err);
    str_reset(&ask);
    if (!ok)
        return false;
    program_finish(c->a, &c->out->timeline);
    note_faults(c, &c->out->timeline, "the timeline");
    if (c->out->timeline.n_left_out > 0)
        note(c, arena_printf(c->a, "%.0f launches or copies: too many to record",
                             c->out->timeline.n_left_out));
    add_call(c);
    return choose(c, err);
}

// ---- counters

static void ask_code(struct collecting *c, struct str *ask) {
    for (int i = 0; i < c->n_chosen; i++)
        str_printf(ask, "code %s\n", c->out->kernels[i].kernel->name);
}

// By instruction, how many samples of a kernel issued.
static double *issued_of(struct arena *a, const struct program_data *d, const char *kernel, int n) {
    double *issued = arena_array(a, double, n + 1);
    for (int i = 0; i < d->n_spots; i++) {
        const struct program_spot *s = &d->spots[i];
        if (s->pc / SASS_BYTES < (uint64_t)n && strcmp(s->kernel, kernel) == 0)
            issued[s->pc / SASS_BYTES] += s->reasons[METRIC_STALL_SELECTED - METRIC_STALL_BARRIER];
    }
    return issued;
}

static void add_line(struct collecting *c, const char *launch, int line,
                     const struct program_spot *s) {
    struct profile *p = &c->out->profile;
    struct profile_line *at = p->lines;
    while (at < p->lines + p->n_lines && (at->line != line || strcmp(at->launch, launch) != 0))
        at++;
    if (at == p->lines + p->n_lines)
        p->lines[p->n_lines++] = (struct profile_line){.launch = launch, .line = line};
    // The reason of the instruction that most of the line's samples are at.
    if (s->waiting > 0 && s->samples > at->samples)
        at->reason = s->reason;
    at->samples += s->samples;
}

// The line of the source that was asked for which a sample lies in; 0: in none of it. Without a
// table what CUPTI says, which is the innermost place.
static int line_of(const struct collecting *c, const struct line_table *t,
                   const struct program_spot *s) {
    if (t)
        return line_table_find(t, s->kernel, s->pc, c->q->source);
    const char *slash = s->file ? strrchr(s->file, '/') : NULL, *file = slash ? slash + 1 : s->file;
    return file && strcmp(file, c->q->source) == 0 ? s->line : 0;
}

static bool is_chosen(const struct collecting *c, const char *kernel) {
    for (int i = 0; i < c->n_chosen; i++)
        if (strcmp(c->out->kernels[i].kernel->name, kernel) == 0)
            return true;
    return false;
}

// The samples of the chosen kernels, by lines of the source that was asked for.
static void take_lines(struct collecting *c, const struct line_table *t) {
    struct program_data *d = &c->samples;
    struct profile *p = &c->out->profile;
    if (!c->q->source || d->n_spots == 0 || p->n_lines > 0)
        return;
    p->lines = arena_array(c->a, struct profile_line, d->n_spots);
    for (int i = 0; i < d->n_spots; i++) {
        int line = is_chosen(c, d->spots[i].kernel) ? line_of(c, t, &d->spots[i]) : 0;
        if (line > 0)
            add_line(c, d->spots[i].kernel, line, &d->spots[i]);
    }
}

// Machine code that a run left: its metrics, and what stands at each sample.
static void take_cubin(struct collecting *c, const char *path) {
    struct arena scratch = {0};
    struct error ignored = {0};
    struct sass code;
    struct line_table table;
    size_t len;
    const char *bytes = file_read(&scratch, path, CUBIN_BYTES_MAX, &len, &ignored);
    if (bytes && line_table_read(&scratch, bytes, len, &table))
        take_lines(c, &table);
    if (bytes && sass_read(&scratch, bytes, len, &code, &ignored)) {
        for (int i = 0; i < c->n_chosen; i++) {
            struct collected_kernel *k = &c->out->kernels[i];
            struct sass_kernel *s = sass_find(&code, k->kernel->name);
            if (!s)
                continue;
            sass_set_hot(s, issued_of(&scratch, &c->samples, k->kernel->name, s->n));
            sass_metrics(s, &c->out->profile.launches[i].metrics);
            for (int j = 0; j < k->n_spots; j++)
                if (k->spots[j].pc / SASS_BYTES < (uint64_t)s->n)
                    k->spots[j].code = sass_name(s->code[k->spots[j].pc / SASS_BYTES].code);
        }
    }
    arena_reset(&scratch);
}

static void take_cubins(struct collecting *c, const char *below) {
    const char *dir = arena_printf(c->a, "%s/%s", c->dir, below);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (str_ends_with(e->d_name, ".cubin"))
            take_cubin(c, arena_printf(c->a, "%s/%s", dir, e->d_name));
    if (d)
        closedir(d);
}

static void note_end(struct collecting *c, const struct foreground_result *end, const char *what) {
    const struct foreground_result *first = &c->out->end;
    if (end->timed_out)
        note(c, arena_printf(c->a, "%s: the program did not end in time", what));
    else if (end->exit_status != first->exit_status || end->signal != first->signal)
        note(c, arena_printf(c->a, "%s: the program ended otherwise than without (%s %d)", what,
                             end->signal ? "signal" : "status",
                             end->signal ? end->signal : end->exit_status));
}

void collect_ask_counters(struct str *ask, const char *cupti_path, int64_t memory_bytes,
                          const struct counter_plan *plan) {
    str_printf(ask, "mode counters\ncupti %s\n", cupti_path);
    if (memory_bytes > 0)
        str_printf(ask, "memory %lld\n", (long long)memory_bytes);
    for (int i = 0; plan && i < plan->n; i++)
        str_printf(ask, "counter %s\n", plan->counters[i]);
}

static void run_counters(struct collecting *c) {
    struct counter_plan plan;
    struct error why = {0};
    struct str ask = {0};
    struct program_data d;
    struct foreground_result end;
    const char *dir = arena_printf(c->a, "%s/counters", c->dir), *chip = c->out->timeline.chip;
    if (!chip || !counter_plan(c->a, &c->cupti, chip, counter_set_find("all"), &plan, &why)) {
        note(c, arena_printf(c->a, "counters: %s", chip ? why.text : "the chip is not known"));
        return;
    }
    collect_ask_counters(&ask, c->cupti_path, c->q->memory_bytes, &plan);
    int n_graphs = 0;
    for (int i = 0; i < c->n_chosen; i++) {
        const struct program_kernel *k = c->out->kernels[i].kernel;
        n_graphs += program_typical(k) < 0;
        str_printf(&ask, "launch %d %d %d %d %d %d %d %s\n", program_typical(k), k->grid[0],
                   k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2], k->name);
    }
    ask_code(c, &ask);
    struct program_asked asked = {plan.metrics, plan.n, c->n_chosen};
    bool ok = run_program(c, RUN_COUNTERS, &ask, dir, &end, &why) &&
              program_read(c->a, dir, &asked, &d, &why);
    str_reset(&ask);
    if (!ok) {
        note(c, arena_printf(c->a, "counters: %s", why.text));
        return;
    }
    int n_missing = 0;
    for (int i = 0; i < c->n_chosen; i++) {
        metrics_clear(&d.counted[i], METRIC_TIME);  // the timeline's is undisturbed
        metrics_merge(&c->out->profile.launches[i].metrics, &d.counted[i]);
        n_missing += !d.is_counted[i];
    }
    c->out->passes = d.passes;
    note_faults(c, &d, "counters");
    note_end(c, &end, "counters");
    if (n_graphs > 0)
        note(c, arena_printf(c->a,
                             "counters of %d kernels, which run only in CUDA graphs: "
                             "profile a run without graphs",
                             n_graphs));
    else if (n_missing > 0 && d.n_faults == 0)
        note(c, arena_printf(c->a,
                             "counters of %d kernels: the launch that was seen in the first "
                             "run did not come again",
                             n_missing));
}

// ---- samples

// Such that the kernels that were chosen get enough samples and buffers do not overflow.
static int period(const struct collecting *c) {
    double least_s = INFINITY, cycles_per_s = 1.5e9 * fmax(1, c->out->timeline.sms);
    for (int i = 0; i < c->n_chosen; i++)
        least_s = fmin(least_s, c->out->kernels[i].kernel->total_s);
    double p = floor(log2(least_s * cycles_per_s / SAMPLES_WANTED));
    return p < PERIOD_MIN ? PERIOD_MIN : p > PERIOD_MAX ? PERIOD_MAX : (int)p;
}

static int compare_waiting(const void *x, const void *y) {
    const struct program_spot *a = x, *b = y;
    return a->waiting > b->waiting ? -1 : a->waiting < b->waiting;
}

static void take_spots(struct collecting *c, struct program_data *d, int kernel) {
    struct collected_kernel *k = &c->out->kernels[kernel];
    double all = 0;
    k->spots = arena_array(c->a, struct collected_spot, COLLECT_SPOTS_MAX);
    for (int i = 0; i < d->n_spots; i++)
        if (strcmp(d->spots[i].kernel, k->kernel->name) == 0)
            all += d->spots[i].waiting;
    for (int i = 0; i < d->n_spots && k->n_spots < COLLECT_SPOTS_MAX; i++) {
        const struct program_spot *s = &d->spots[i];
        if (strcmp(s->kernel, k->kernel->name) != 0 || !(s->waiting > 0))
            continue;
        k->spots[k->n_spots++] = (struct collected_spot){.pc = s->pc,
                                                         .file = s->line > 0 ? s->file : NULL,
                                                         .line = s->line,
                                                         .share = s->waiting / all,
                                                         .reason = s->reason};
    }
}

static void run_samples(struct collecting *c) {
    struct error why = {0};
    struct str ask = {0};
    struct program_data *d = &c->samples;
    struct foreground_result end;
    const char *dir = arena_printf(c->a, "%s/samples", c->dir);
    str_printf(&ask, "mode samples\ncupti %s\nperiod %d\n", c->cupti_path, period(c));
    ask_code(c, &ask);
    bool ok = run_program(c, RUN_SAMPLES, &ask, dir, &end, &why) &&
              program_read(c->a, dir, NULL, d, &why);
    str_reset(&ask);
    if (!ok) {
        note(c, arena_printf(c->a, "samples: %s", why.text));
        return;
    }
    if (d->n_spots > 0)
        qsort(d->spots, (size_t)d->n_spots, sizeof *d->spots, compare_waiting);
    for (int i = 0; i < c->n_chosen; i++) {
        take_spots(c, d, i);
        program_stalls(d, c->out->kernels[i].kernel->name, &c->out->profile.launches[i].metrics);
    }
    note_faults(c, d, "samples");
    note_end(c, &end, "samples");
    if (d->n_spots == 0 && d->n_faults == 0)
        note(c, "samples: none came");
}

bool collect(struct arena *a, const struct collect_request *q, struct collected *out,
             struct error *err) {
    struct collecting c = {.a = a, .q = q, .out = out};
    struct error ignored = {0};
    *out = (struct collected){0};
    if (!cupti_open(&c.cupti, err))
        return error_wrap(err, "a program cannot be profiled without CUPTI, which is in CUDA's "
                               "toolkit and in the Python package nvidia-cuda-cupti");
    const char *path = library_path(c.cupti.handle);
    c.cupti_path = arena_strdup(a, path ? path : "libcupti.so.13");
    c.dir = file_scratch_dir(a, err);
    bool ok = c.dir && collect_place_library(a, &c.library, err) && run_timeline(&c, err);
    bool goes_on = ok && c.n_chosen > 0 && !q->only_timeline && !out->end.is_interrupted &&
                   !out->end.timed_out;
    if (goes_on)
        run_counters(&c);
    if (goes_on && !interrupt_seen())
        run_samples(&c);
    take_cubins(&c, "counters");
    take_cubins(&c, "samples");
    take_lines(&c, NULL);  // where no cubin has a table
    if (c.dir)
        file_remove_tree(c.dir, &ignored);
    cupti_close(&c.cupti);
    return ok;
}
