// From what was collected to a diagnosis, and words.
#include "ops/op_profile.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "gpu/cuda.h"
#include "ops/op_machine.h"
#include "ops/plugins.h"
#include "profile/collect_ncu.h"
#include "tools/tool.h"

enum { KERNELS_LISTED = 12, SPOTS_KEPT = 8, STATUS_SIGNAL = 128, STATUS_TIMEOUT = 124 };
// ---- the diagnosis

static void add_spots(struct arena *a, const struct collected *c, struct diagnosis *d) {
    for (int i = 0; i < d->n_kernels; i++) {
        long launch = d->kernels[i].launch - d->profile.launches;
        const struct collected_kernel *k = &c->kernels[launch];
        int n = k->n_spots < SPOTS_KEPT ? k->n_spots : SPOTS_KEPT;
        struct diagnosed_spot *spots = arena_array(a, struct diagnosed_spot, n + 1);
        for (int j = 0; j < n; j++)
            spots[j] =
                (struct diagnosed_spot){k->spots[j].pc,   k->spots[j].code,  k->spots[j].file,
                                        k->spots[j].line, k->spots[j].share, k->spots[j].reason};
        d->kernels[i].spots = spots;
        d->kernels[i].n_spots = n;
        d->kernels[i].share = k->kernel->total_s / c->all_s;
    }
}

// The card of this machine, with its measured ceilings, where it is that of the program.
static void find_target(struct arena *a, struct diagnosis *d, const struct program_data *t) {
    struct error ignored = {0};
    struct target here;
    if (d->device && op_target(a, "cuda", &here, &ignored) && strcmp(here.device, d->device) == 0)
        d->target = here;
    else
        diagnosis_find_target(d, t->capability, t->sms);
}

bool op_profile(struct arena *a, const struct profile_request *q, struct program_profile *out,
                struct error *err) {
    struct collect_request ask = {.argv = q->argv,
                                  .kernel = q->kernel,
                                  .top = q->top,
                                  .timeout_s = q->timeout_s,
                                  .is_out_error = q->is_json,
                                  .only_timeline = q->only_timeline};
    struct diagnosis *d = &out->diagnosis;
    struct plugins plugins;
    *out = (struct program_profile){.argv = q->argv};
    if (!(q->by_ncu ? collect_by_ncu : collect)(a, &ask, &out->collected, err))
        return false;
    struct program_data *t = &out->collected.timeline;
    *d = (struct diagnosis){.what = "a program",
                            .device = t->device,
                            .n_launches = (int)t->n_launches,
                            .profile = out->collected.profile};
    find_target(a, d, t);
    diagnosis_examine(a, q->top, d);
    add_spots(a, &out->collected, d);
    plugins_find(a, q->tool, &plugins);
    plugins_run(a, &plugins, d);
    for (int i = 0; i < out->collected.n_notes; i++)
        diagnosis_absent(d, out->collected.notes[i]);
    diagnosis_rank(d);
    return true;
}

int op_profile_status(const struct program_profile *p) {
    const struct foreground_result *end = &p->collected.end;
    if (end->timed_out)
        return STATUS_TIMEOUT;
    if (end->signal)
        return STATUS_SIGNAL + end->signal;
    return end->exit_status ? end->exit_status : p->collected.timeline.n_launches == 0;
}

// ---- for people

static void put_end(struct str *s, const struct foreground_result *end) {
    if (end->timed_out)
        str_puts(s, "the program did not end in time and was stopped; what it did until then:\n");
    else if (end->is_interrupted)
        str_puts(s, "the program was interrupted; what it did until then:\n");
    else if (end->signal)
        str_printf(s, "the program ended by signal %d (%s); what it did until then:\n", end->signal,
                   strsignal(end->signal));
    else if (end->exit_status)
        str_printf(s, "the program ended with status %d\n", end->exit_status);
}

static void put_nothing(struct str *s, const struct program_data *t) {
    struct error absent = {0};
    struct cuda cu;
    bool has_driver = cuda_open(&cu, &absent);
    if (has_driver)
        cuda_close(&cu);
    if (t->n_processes == 0 && !has_driver)
        str_printf(s,
                   "no kernel: %s, so no program can launch one here. What limits a kernel of a "
                   "CPU: hone eval PROBLEM CANDIDATE\n",
                   absent.text);
    else if (t->n_processes == 0)
        str_puts(s, "no kernel: the program never started CUDA's driver (or is linked statically, "
                    "or clears its environment)\n");
    else if (t->n_faults > 0)
        str_puts(s, "no kernel was seen, for the reason below\n");
    else
        str_puts(s, "no kernel: the program started CUDA's driver but launched nothing; where it "
                    "surely does, it profiles itself (torch.profiler), which shuts others out\n");
}

static const char *copy_name(const struct program_copies *c) {
    static const char *const names[] = {[1] = "host to device",
                                        [2] = "device to host",
                                        [8] = "within the device",
                                        [9] = "within the host",
                                        [10] = "between devices"};
    bool is_known = c->kind >= 0 && c->kind < (int)(sizeof names / sizeof names[0]);
    return is_known && names[c->kind] ? names[c->kind] : "copies";
}

static void put_copies(struct arena *a, struct str *s, const struct program_data *t) {
    for (int i = 0; i < t->n_copies; i++) {
        const struct program_copies *c = &t->copies[i];
        str_printf(s, "  %-9s %s: %d of together %.4g MB in %s%s", i == 0 ? "copies" : "",
                   copy_name(c), c->n, c->bytes * 1e-6, clock_duration(a, c->total_s * 1e9),
                   program_is_pageable(c) ? ", from or to pageable memory" : "");
        str_printf(s, " (%.3g GB/s)\n", c->bytes / c->total_s * 1e-9);
    }
}

static void put_timeline(struct arena *a, struct str *s, const struct program_profile *p) {
    const struct program_data *t = &p->collected.timeline;
    const struct collected *c = &p->collected;
    double busy = profile_get(&c->profile, METRIC_DEVICE_BUSY);
    str_printf(s, "%ld launch%s of %d kernel%s on %s", t->n_launches,
               t->n_launches == 1 ? "" : "es", t->n_kernels, t->n_kernels == 1 ? "" : "s",
               t->device ? t->device : "a GPU");
    if (t->n_processes > 1)
        str_printf(s, ", by %d processes", t->n_processes);
    str_puts(s, "\n");
    if (isfinite(busy))
        str_printf(
            s, "  timeline  %s from the first kernel to the last, some kernel runs %.0f%% of it\n",
            clock_duration(a, (t->last_s - t->first_s) * 1e9), 100 * busy);
    put_copies(a, s, t);
    for (int i = 0; i < c->profile.n_launches && i < KERNELS_LISTED; i++) {
        const struct program_kernel *k = c->kernels[i].kernel;
        str_printf(s, "  %-9s %4.1f%%  %s", i == 0 ? "kernels" : "", 100 * k->total_s / c->all_s,
                   clock_duration(a, k->total_s / k->n * 1e9));
        str_printf(s, " x %d  %.*s\n", k->n, 100, k->words);
    }
    if (c->profile.n_launches > KERNELS_LISTED)
        str_printf(s, "  %-9s and %d more\n", "", c->profile.n_launches - KERNELS_LISTED);
}

const char *op_profile_text(struct arena *a, const struct program_profile *p) {
    struct str s = {0};
    const struct collected *c = &p->collected;
    put_end(&s, &c->end);
    if (c->timeline.n_launches == 0) {
        put_nothing(&s, &c->timeline);
        for (int i = 0; i < c->n_notes; i++)
            str_printf(&s, "absent: %s\n", c->notes[i]);
        return str_take(a, &s);
    }
    put_timeline(a, &s, p);
    diagnosis_put(a, &s, &p->diagnosis);
    if (c->run_s[0] > 0)
        str_printf(&s, "runs: %.2f s with a timeline", c->run_s[0]);
    else
        str_printf(&s, "runs: %.2f s by ncu", c->run_s[1]);
    if (c->run_s[0] > 0 && c->run_s[1] > 0)
        str_printf(&s, ", %.2f s with counters (%d passes)", c->run_s[1], c->passes);
    if (c->run_s[2] > 0)
        str_printf(&s, ", %.2f s with samples", c->run_s[2]);
    str_puts(&s, "\n");
    return str_take(a, &s);
}

// ---- for programs

static json_t *timeline_to_json(const struct program_profile *p) {
    const struct program_data *t = &p->collected.timeline;
    json_t *copies = json_array();
    for (int i = 0; i < t->n_copies; i++)
        json_array_append_new(copies,
                              json_pack("{s:s, s:i, s:f, s:f}", "what", copy_name(&t->copies[i]),
                                        "count", t->copies[i].n, "bytes", t->copies[i].bytes,
                                        "time_s", t->copies[i].total_s));
    return json_pack("{s:I, s:i, s:f, s:f, s:o}", "launches", (json_int_t)t->n_launches,
                     "processes", t->n_processes, "span_s", t->last_s - t->first_s, "busy_s",
                     t->busy_s, "copies", copies);
}

json_t *op_profile_json(const struct program_profile *p) {
    const struct collected *c = &p->collected;
    json_t *argv = json_array(), *runs = json_array();
    for (int i = 0; p->argv[i]; i++)
        json_array_append_new(argv, json_optional_text(p->argv[i]));
    for (int i = 0; i < 3; i++)
        json_array_append_new(runs, json_real(c->run_s[i]));
    return json_pack("{s:s, s:o, s:i, s:i, s:b, s:o, s:i, s:o, s:o, s:o}", "schema",
                     "hone.program/1", "argv", argv, "exit_status", c->end.exit_status, "signal",
                     c->end.signal, "timed_out", c->end.timed_out, "runs_s", runs, "passes",
                     c->passes, "timeline", timeline_to_json(p), "first",
                     diagnosis_first_to_json(&p->diagnosis), "diagnosis",
                     diagnosis_to_json(&p->diagnosis));
}
