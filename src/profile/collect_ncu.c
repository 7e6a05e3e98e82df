// `--by ncu`: where the library of inject/ cannot be used, NVIDIA's own profiler runs the program
// and its table is read, as `hone diagnose` reads one. There is no timeline then, so that the first
// LAUNCHES_MAX launches are counted whatever they are worth, and ncu's own way of ending has to be
// translated back to the program's.
#include "profile/collect_ncu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "profile/import.h"
#include "profile/source.h"

enum { LAUNCHES_MAX = 64, ARGUMENTS_MAX = 32, LOG_MAX = 1 << 30 };

static bool run_ncu(struct arena *a, const struct collect_request *q, const char *ncu,
                    const char *log, struct collected *out, struct error *err) {
    int n = 0, n_words = 0;
    while (q->argv[n_words])
        n_words++;
    const char **argv = arena_array(a, const char *, n_words + ARGUMENTS_MAX);
    const char *const fixed[] = {
        ncu,          "--csv", "--page",          "raw",
        "--set",      "full",  "--clock-control", "none",
        "--log-file", log,     "--launch-count",  arena_printf(a, "%d", LAUNCHES_MAX)};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        argv[n++] = fixed[i];
    if (q->kernel) {
        argv[n++] = "--kernel-name-base";
        argv[n++] = "demangled";
        argv[n++] = "--kernel-name";
        argv[n++] = arena_printf(a, "regex:%s", q->kernel);
    }
    memcpy(argv + n, q->argv, sizeof *argv * (size_t)n_words);
    struct foreground_spec spec = {.argv = argv,
                                   .variables = (const char *const[]){NULL},
                                   .is_silent = q->is_silent,
                                   .is_out_error = q->is_out_error,
                                   .timeout_ns = (int64_t)(q->timeout_s * 1e9)};
    int64_t begin = clock_now_ns();
    if (!foreground_run(&spec, &out->end, err))
        return false;
    out->run_s[1] = (double)(clock_now_ns() - begin) * 1e-9;
    return true;
}

static void note(struct collected *out, const char *text) {
    if (out->n_notes < COLLECT_NOTES_MAX)
        out->notes[out->n_notes++] = text;
}

// "==ERROR== The application returned an error code (3).": ncu itself ends otherwise then.
static void take_end(const char *text, struct collected *out) {
    static const char words[] = "application returned an error code (";
    const char *at = strstr(text, words);
    int status = at ? (int)strtol(at + strlen(words), NULL, 10) : 0;
    if (at && status > 0 && status < 256)
        out->end.exit_status = status;
}

static double total_of(const struct profile_launch *l) {
    return launch_get(l, METRIC_CALLS) * launch_get(l, METRIC_TIME);
}

static int compare_totals(const void *x, const void *y) {
    double a = total_of(x), b = total_of(y);
    return a > b ? -1 : a < b;
}

// The kernels by their time, as a timeline would list them.
static void take_kernels(struct arena *a, struct imported *in, struct collected *out) {
    struct program_data *d = &out->timeline;
    int n = in->profile.n_launches;
    qsort(in->profile.launches, (size_t)n, sizeof *in->profile.launches, compare_totals);
    out->profile = in->profile;
    out->kernels = arena_array(a, struct collected_kernel, n + 1);
    d->device = in->device;
    d->capability = in->capability;
    d->sms = in->sms;
    d->n_processes = 1;
    d->n_launches = in->n_launches;
    d->n_kernels = n;
    d->kernels = arena_array(a, struct program_kernel, n + 1);
    for (int i = 0; i < n; i++) {
        const struct profile_launch *l = &in->profile.launches[i];
        d->kernels[i] =
            (struct program_kernel){.name = l->name,
                                    .words = l->name,
                                    .n = (int)launch_get(l, METRIC_CALLS),
                                    .total_s = total_of(l),
                                    .grid = {(int)launch_get(l, METRIC_BLOCKS), 1, 1},
                                    .block = {(int)launch_get(l, METRIC_BLOCK_THREADS), 1, 1}};
        out->kernels[i].kernel = &d->kernels[i];
        out->all_s += d->kernels[i].total_s;
    }
}

bool collect_by_ncu(struct arena *a, const struct collect_request *q, struct collected *out,
                    struct error *err) {
    struct imported in;
    struct error why = {0}, ignored = {0};
    size_t len;
    *out = (struct collected){0};
    const char *ncu = source_find_program(a, "ncu"), *dir = file_scratch_dir(a, err);
    if (!dir)
        return false;
    const char *log = arena_printf(a, "%s/log", dir);
    bool ok = ncu ? run_ncu(a, q, ncu, log, out, err)
                  : error_set(err, ERROR_UNSUPPORTED,
                              "--by ncu needs ncu, which is neither along PATH nor in the toolkit");
    const char *text = ok ? file_read(a, log, LOG_MAX, &len, &why) : NULL;
    if (text) {
        take_end(text, out);
        if (import_ncu(a, text, len, &in, &why))
            take_kernels(a, &in, out);
    }
    if (ok && out->timeline.n_launches == 0) {
        out->timeline.n_processes = 1;
        out->timeline.n_faults = 1;
        note(out, arena_printf(a, "counters: %s", why.text));
    }
    if (ok && out->timeline.n_launches >= LAUNCHES_MAX)
        note(out,
             arena_printf(a, "launches after the first %d: ncu counts each of them", LAUNCHES_MAX));
    if (ok)
        note(out, "timeline (gaps, copies) and samples: ncu does not print them; --by cupti does");
    file_remove_tree(dir, &ignored);
    return ok;
}
