// Ranks go by intervals: a row whose interval overlaps that of the first row of a rank shares the
// rank, since no difference was resolved. All were paired with one baseline, not with each
// other, so the intervals are a little wider than those of `hone eval P a.c b.c`. The time of a row
// is the baseline's, its median over all of them, divided by the row's speed-up: a row's own clock
// is of another moment, and a busy one would let a faster candidate stand there with a longer time.
#include "ops/op_rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "ops/op_eval.h"

// The first line of a text.
static const char *first_line(struct arena *a, const char *text) {
    return text ? arena_strndup(a, text, strcspn(text, "\n")) : "";
}

// Its first finding. How far from reach it is follows from the time in the table, which is known at
// the end only (agree_on_times); the finding's own share is of another moment's time.
static void take_finding(struct arena *a, struct rank_row *row, const struct eval_report *report) {
    const struct finding *f = &report->findings[0];
    if (report->n_findings == 0)
        return;
    bool is_reach = strcmp(f->tool, "reach") == 0 && row->is_timed;
    size_t len = is_reach ? strcspn(f->cause, ",") : strlen(f->cause);
    row->finding = arena_printf(a, "%s: %s", f->tool, arena_strndup(a, f->cause, len));
    row->reach_s = is_reach ? report->bound.reach_s : NAN;
}

void ranking_add(struct arena *a, struct ranking *r, const struct eval_report *report) {
    const struct measurement *m = &report->result.measurement;
    const struct verdict *v = &report->result.verdict;
    if (r->n_rows == RANKING_MAX) {
        r->n_left_out++;
        return;
    }
    bool is_timed = v->kind == VERDICT_OK && m->present;
    struct rank_row *row = &r->rows[r->n_rows++];
    *row =
        (struct rank_row){.name = arena_strdup(a, report->candidate.label),
                          .verdict = verdict_kind_name(v->kind),
                          .evidence = first_line(a, v->evidence),
                          .finding = "",
                          .reach_s = NAN,
                          .baseline = is_timed && m->baseline ? arena_strdup(a, m->baseline) : "",
                          .is_ok = v->kind == VERDICT_OK,
                          .is_timed = is_timed,
                          .time_s = m->median_s,
                          .baseline_s = m->baseline_median_s,
                          .speedup = m->speedup,
                          .low = m->speedup_low,
                          .high = m->speedup_high};
    take_finding(a, row, report);
}

static int by_speed(const void *x, const void *y) {
    const struct rank_row *a = x, *b = y;
    if (a->is_timed != b->is_timed)
        return a->is_timed ? -1 : 1;
    if (!a->is_timed || a->speedup == b->speedup)
        return a < b ? -1 : 1;
    return a->speedup > b->speedup ? -1 : 1;
}

static int by_value(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void agree_on_times(struct arena *a, struct ranking *r) {
    double *times = arena_alloc(a, (size_t)(r->n_rows + 1) * sizeof *times);
    int n = 0;
    for (int i = 0; i < r->n_rows; i++)
        if (r->rows[i].is_timed)
            times[n++] = r->rows[i].baseline_s;
    qsort(times, (size_t)n, sizeof *times, by_value);
    for (int i = 0; i < r->n_rows; i++) {
        struct rank_row *row = &r->rows[i];
        if (!row->is_timed)
            continue;
        row->time_s = times[n / 2] / row->speedup;
        if (isfinite(row->reach_s))
            row->finding = arena_printf(a, "%s, at %s of reach", row->finding,
                                        str_percent(a, row->reach_s / row->time_s));
    }
}

// ranks[i] of each row, from 1; 0: not timed.
static void find_ranks(const struct ranking *r, int *ranks) {
    int leader = 0;
    for (int i = 0; i < r->n_rows; i++) {
        const struct rank_row *row = &r->rows[i];
        if (i == 0 || row->high < r->rows[leader].low)
            leader = i;
        ranks[i] = row->is_timed ? leader + 1 : 0;
    }
}

static const char *rank_text(struct arena *a, const int *ranks, int i, int n) {
    bool is_shared = (i > 0 && ranks[i] == ranks[i - 1]) || (i + 1 < n && ranks[i] == ranks[i + 1]);
    return ranks[i] ? arena_printf(a, "%s%d", is_shared ? "=" : "", ranks[i]) : "-";
}

static void put_csv_text(struct str *s, const char *text) {
    str_puts(s, "\"");
    for (; *text; text++)
        str_printf(s, *text == '"' ? "\"\"" : "%c", *text);
    str_puts(s, "\"");
}

static void put_csv(struct str *s, const struct rank_row *row, int rank) {
    if (rank)
        str_printf(s, "%d", rank);
    str_puts(s, ",");
    put_csv_text(s, row->name);
    str_printf(s, ",%s,", row->verdict);
    if (row->is_timed)
        str_printf(s, "%.6g,%.6g,%.6g,%.6g,", row->time_s, row->speedup, row->low, row->high);
    else
        str_puts(s, ",,,,");
    put_csv_text(s, row->baseline);
    str_puts(s, ",");
    put_csv_text(s, *row->finding ? row->finding : row->is_ok ? "" : row->evidence);
    str_puts(s, "\n");
}

static void put_markdown_text(struct str *s, const char *text) {
    for (; *text; text++)
        str_printf(s, *text == '|' ? "\\|" : "%c", *text);
}

static void put_markdown(struct arena *a, struct str *s, const struct rank_row *row,
                         const char *rank) {
    str_printf(s, "| %s | ", rank);
    put_markdown_text(s, row->name);
    if (row->is_timed)
        str_printf(s, " | %s | %s | %s to %s | ", clock_duration(a, row->time_s * 1e9),
                   measurement_ratio_text(a, row->speedup), measurement_ratio_text(a, row->low),
                   measurement_ratio_text(a, row->high));
    else
        str_puts(s, " | | | | ");
    str_puts(s, row->verdict);
    str_puts(s, " | ");
    put_markdown_text(s, *row->finding ? row->finding : row->is_ok ? "" : row->evidence);
    str_puts(s, " |\n");
}

static bool is_wide(struct arena *a, const struct rank_row *row) {
    return row->is_timed && measurement_width_text(a, row->low, row->high) != NULL;
}

static void put_text(struct arena *a, struct str *s, const struct rank_row *row, const char *rank,
                     int width) {
    str_printf(s, "%-5s %-*s ", rank, width, row->name);
    if (row->is_timed)
        str_printf(s, "%10s  %7s  %s to %s%s\n", clock_duration(a, row->time_s * 1e9),
                   measurement_ratio_text(a, row->speedup), measurement_ratio_text(a, row->low),
                   measurement_ratio_text(a, row->high), is_wide(a, row) ? ", wide" : "");
    else
        str_printf(s, "%10s  %s\n", "", row->verdict);
}

static void put_heading(struct str *s, enum rank_form form, const char *baseline, int width) {
    if (form == RANK_CSV)
        str_puts(s, "rank,candidate,verdict,time_s,speedup,low,high,baseline,finding\n");
    else if (form == RANK_MARKDOWN)
        str_printf(s,
                   "| rank | candidate | time | over %s | between | verdict | finding |\n"
                   "|---|---|---|---|---|---|---|\n",
                   baseline);
    else
        str_printf(s, "\n%-5s %-*s %10s  over %s\n", "rank", width, "candidate", "time", baseline);
}

const char *ranking_print(struct arena *a, struct ranking *r, enum rank_form form) {
    int *ranks = arena_alloc(a, (size_t)(r->n_rows + 1) * sizeof *ranks);
    int width = 9;
    bool any_shared = false, any_wide = false;
    struct str s = {0};
    agree_on_times(a, r);
    qsort(r->rows, (size_t)r->n_rows, sizeof r->rows[0], by_speed);
    find_ranks(r, ranks);
    for (int i = 0; i < r->n_rows; i++)
        width = (int)strlen(r->rows[i].name) > width ? (int)strlen(r->rows[i].name) : width;
    put_heading(&s, form, r->n_rows && r->rows[0].is_timed ? r->rows[0].baseline : "the baseline",
                width);
    for (int i = 0; i < r->n_rows; i++) {
        const char *rank = rank_text(a, ranks, i, r->n_rows);
        any_shared = any_shared || *rank == '=';
        any_wide = any_wide || is_wide(a, &r->rows[i]);
        if (form == RANK_CSV)
            put_csv(&s, &r->rows[i], ranks[i]);
        else if (form == RANK_MARKDOWN)
            put_markdown(a, &s, &r->rows[i], rank);
        else
            put_text(a, &s, &r->rows[i], rank, width);
    }
    if (form == RANK_TEXT && any_shared)
        str_puts(&s, "=: not resolved from the first of that rank; more --seconds may\n");
    if (form == RANK_TEXT && any_wide)
        str_printf(&s,
                   "wide: uncertain by more than a factor of %.0f; more --seconds, or a quieter "
                   "machine\n",
                   MEASUREMENT_WIDE);
    if (form == RANK_TEXT && r->n_rows && r->rows[0].is_timed)
        str_printf(&s,
                   "times here are %s's, its median over all, divided by the speed-up; those "
                   "above are each candidate's own\n",
                   r->rows[0].baseline);
    if (form != RANK_CSV && r->n_left_out)
        str_printf(&s, "%d more are not listed\n", r->n_left_out);
    return str_take(a, &s);
}
