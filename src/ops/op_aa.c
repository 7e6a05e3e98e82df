// Rows for each length of a comparison grow trial by trial; processes are started anew after some
// trials, so that no one of them decides all.
#include "ops/op_aa.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "eval/stats.h"

// After so many trials everything is started anew, so that no one process decides them all.
enum { TRIALS_TOGETHER = 50 };

// A row while it grows. A slow-down by x moves the interval by x: so each comparison says which
// slow-down it would have detected, and 95% of them detected the largest but 5%.
struct row_samples {
    double *needed, *took_s;
    int room;
};

struct series {
    struct arena *a;
    const struct aa_request *q;
    struct evaluator *e;
    struct eval_report report;
    struct row_samples rows[AA_LENGTHS_MAX];
    FILE *keep;
};

static double *grown(struct arena *a, const double *values, int n, int room) {
    double *more = arena_array(a, double, room);
    if (n)
        memcpy(more, values, sizeof *more * (size_t)n);
    return more;
}

static void note(struct series *c, struct aa_report *report, int length,
                 const struct measurement_trial *l) {
    struct aa_row *row = &report->rows[length];
    struct row_samples *s = &c->rows[length];
    int order = measurement_order(l->low, l->high);
    if (row->n == s->room) {
        int room = 2 * s->room + 64;
        s->needed = grown(c->a, s->needed, s->room, room);
        s->took_s = grown(c->a, s->took_s, s->room, room);
        s->room = room;
    }
    // One that called it slower as it was would have detected any slow-down.
    double needed = fmax(0, l->high * (1 + MEASUREMENT_MARGIN) - 1);
    s->took_s[row->n] = l->seconds;
    s->needed[row->n++] = needed;
    row->n_detected += needed <= report->resolution;
    row->n_faster += order > 0;
    row->n_slower += order < 0;
    row->n_pairs += l->n_pairs;
    row->widest = fmax(row->widest, fabs(l->speedup - 1));
    row->half_width += (l->high - l->low) / 2;
}

void op_aa_put_pairs(struct str *s, int trial, const struct measurement *m) {
    // An older worker behind a spool says nothing of those that did not count.
    int n = m->n_pairs + (m->raw.marks ? m->n_dropped : 0), n_counted = 0, n_others = 0;
    str_printf(s, "# trial %d: %d pairs, %d left out; seconds of subject and baseline\n", trial,
               m->n_pairs, m->n_dropped);
    for (int i = 0; i < n; i++) {
        char mark = m->raw.marks ? m->raw.marks[i] : MEASUREMENT_COUNTED;
        if (measurement_counts(mark)) {
            str_printf(s, "%.9g %.9g%s\n", m->subject_s[n_counted], m->baseline_s[n_counted],
                       mark == MEASUREMENT_DISTURBED ? " disturbed" : "");
            n_counted++;
        } else {
            str_printf(s, "%.9g %.9g %s\n", m->raw.subject_s[n_others], m->raw.baseline_s[n_others],
                       mark == MEASUREMENT_SLOWED ? "slowed" : "left-out");
            n_others++;
        }
    }
}

static bool keep_pairs(FILE *f, const char *path, int trial, const struct measurement *m,
                       struct error *err) {
    struct str s = {0};
    op_aa_put_pairs(&s, trial, m);
    fputs(str_text(&s), f);
    str_reset(&s);
    // A buffer that could not be written while it was filled may be gone: then nothing is left to
    // flush, and only the stream remembers.
    return (fflush(f) == 0 && !ferror(f)) ||
           error_set(err, ERROR_IO, "write %s: %s", path, strerror(errno));
}

// One comparison as long as the last of these rows; the others are stretches of it.
static bool compare(struct series *c, int first, int last, struct aa_report *report,
                    struct error *err) {
    const struct aa_request *q = c->q;
    struct arena scratch = {0};
    struct eval_result result;
    struct eval_job job = {.candidate = &c->report.candidate,
                           .depth = q->eval.depth,
                           .seconds = q->n_lengths ? q->seconds[last] : 0,
                           .resolution = q->eval.resolution,
                           .keeps_all = q->keep != NULL,
                           .least_s =
                               q->eval.resolution > 0 && last > first ? q->seconds[last - 1] : 0,
                           .uses_all_time = q->n_lengths > 0 && q->eval.depth != EVAL_SCREEN &&
                                            q->eval.resolution == 0};
    for (int i = first; i < last; i++)
        job.trials_s[job.n_trials++] = q->seconds[i];
    bool ok = evaluator_judge(c->e, &scratch, &job, &result, err);
    const struct measurement *m = &result.measurement;
    // Cut short is no comparison.
    if (interrupt_seen())
        ok =
            error_set(err, ERROR_INTERRUPTED, "interrupted after %d of %d trials", report->n, q->n);
    else if (ok && !m->present)
        ok = error_set(err, ERROR_PARSE, "%s: %s", verdict_kind_name(result.verdict.kind),
                       result.verdict.evidence);
    for (int i = 0; ok && i < m->n_trials; i++)
        for (int k = first; k < last; k++)
            if (m->trials[i].seconds == q->seconds[k])
                note(c, report, k, &m->trials[i]);
    if (ok) {
        struct measurement_trial whole = {.seconds = result.timing_s,
                                          .n_pairs = m->n_pairs,
                                          .speedup = m->speedup,
                                          .low = m->speedup_low,
                                          .high = m->speedup_high};
        note(c, report, last, &whole);
        report->call_s = m->median_s;
        report->method = report->method ? report->method : arena_strdup(c->a, m->method);
        ok = !c->keep || keep_pairs(c->keep, q->keep, report->n + 1, m, err);
    }
    arena_reset(&scratch);
    return ok;
}

static bool open_anew(struct series *c, struct error *err) {
    struct eval_request alone = c->q->eval;
    alone.depth = EVAL_VERIFY;  // without a baseline
    if (c->e)
        evaluator_close(c->e);
    c->e = NULL;
    return op_eval_open(c->a, &alone, &c->report, &c->e, err);
}

static bool run_trials(struct series *c, struct aa_report *report, struct error *err) {
    const struct aa_request *q = c->q;
    while (report->n < q->n) {
        if (report->n % TRIALS_TOGETHER == 0 && !open_anew(c, err))
            return false;
        // Where they change places half way a stretch is no comparison.
        int first = c->report.target.is_gpu ? report->n_rows - 1 : 0;
        for (int i = 0; i < first; i++)
            if (!compare(c, i, i, report, err))
                return false;
        if (!compare(c, first, report->n_rows - 1, report, err))
            return false;
        report->n++;
        if (q->on_trial)
            q->on_trial(report, q->ctx);
    }
    return true;
}

static void conclude(struct series *c, struct aa_report *report) {
    for (int i = 0; i < report->n_rows; i++) {
        struct aa_row *row = &report->rows[i];
        row->half_width = row->n ? row->half_width / row->n : NAN;
        row->smallest = stats_quantile(c->rows[i].needed, row->n, 0.95);
        row->took_half_s = stats_quantile(c->rows[i].took_s, row->n, 0.5);
        row->took_95_s = stats_quantile(c->rows[i].took_s, row->n, 0.95);
        row->bound = stats_share_bound(row->n_faster + row->n_slower, row->n, 0.95);
    }
}

bool op_aa(struct arena *a, const struct aa_request *q, struct aa_report *report,
           struct error *err) {
    struct series c = {.a = a, .q = q};
    *report = (struct aa_report){.resolution = q->eval.resolution};
    c.keep = q->keep ? fopen(q->keep, "w") : NULL;
    if (q->keep && !c.keep)
        return error_set(err, ERROR_USAGE, "%s: cannot be written: %s", q->keep, strerror(errno));
    report->n_rows = q->n_lengths ? q->n_lengths : 1;
    for (int i = 0; i < q->n_lengths; i++)
        report->rows[i].seconds = q->seconds[i];
    bool ok = run_trials(&c, report, err);
    if (c.e)
        evaluator_close(c.e);
    if (ok || report->n) {
        conclude(&c, report);
        report->problem = c.report.problem->name;
        report->target = c.report.target.name;
        report->device = c.report.target.device;
        report->candidate = c.report.candidate.label;
    }
    if (c.keep)
        fclose(c.keep);
    return ok;
}

static json_t *row_json(const struct aa_report *r, const struct aa_row *row) {
    json_t *asked = json_null();
    if (r->resolution > 0)
        asked =
            json_pack("{s:f, s:i, s:f, s:f}", "resolution", r->resolution, "told", row->n_detected,
                      "half_took_s", row->took_half_s, "most_took_s", row->took_95_s);
    return json_pack("{s:o, s:i, s:i, s:i, s:i, s:f, s:o, s:o, s:o, s:o}", "seconds",
                     row->seconds > 0 ? json_real(row->seconds) : json_null(), "comparisons",
                     row->n, "faster", row->n_faster, "slower", row->n_slower, "pairs",
                     row->n_pairs, "different_at_most", row->bound, "largest_difference",
                     json_optional_real(row->widest), "half_width",
                     json_optional_real(row->half_width), "slowdown_told",
                     json_optional_real(row->smallest), "asked", asked);
}

json_t *op_aa_json(const struct aa_report *r) {
    json_t *rows = json_array();
    for (int i = 0; i < r->n_rows; i++)
        json_array_append_new(rows, row_json(r, &r->rows[i]));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:o, s:o}", "schema", "hone.aa/1",
                     "problem", r->problem, "target", r->target, "device", r->device, "candidate",
                     r->candidate, "method", r->method ? r->method : "", "trials", r->n, "call_s",
                     json_optional_real(r->call_s), "lengths", rows);
}

static void put_row(struct str *s, const struct aa_row *row) {
    str_printf(s,
               "%d comparisons of a kernel with itself: called faster %d times, slower %d times\n",
               row->n, row->n_faster, row->n_slower);
    // Two digits, but never 1e+02.
    str_printf(s,
               row->bound < 0.995 ? "called different in at most %.2g%%"
                                  : "called different in at most %.0f%%",
               100 * row->bound);
    str_printf(s,
               " of trials, with 95%% confidence\n"
               "largest difference seen %.2f%%, mean half width of the interval %.2f%%\n"
               "a slow-down of %.2f%% would have been detected in 95%% of them",
               100 * row->widest, 100 * row->half_width, 100 * row->smallest);
}

const char *op_aa_text(struct arena *a, const struct aa_report *r) {
    struct str s = {0};
    for (int i = 0; i < r->n_rows; i++) {
        if (r->n_rows > 1)
            str_printf(&s, "%sin %.3g s, %.0f pairs each:\n", i ? "\n" : "", r->rows[i].seconds,
                       (double)r->rows[i].n_pairs / (r->rows[i].n ? r->rows[i].n : 1));
        put_row(&s, &r->rows[i]);
        str_printf(&s, "; a call takes %s\n", clock_duration(a, r->call_s * 1e9));
        if (r->resolution > 0)
            str_printf(
                &s,
                "the %.3g%% asked for would have been detected in %d of %d; half of them took "
                "%.2g s or less, 95%% %.2g s\n",
                100 * r->resolution, r->rows[i].n_detected, r->rows[i].n, r->rows[i].took_half_s,
                r->rows[i].took_95_s);
    }
    if (r->n_rows > 1)
        str_printf(&s, "\n%d trials, each in a process of its own\n", r->n);
    return str_take(a, &s);
}
