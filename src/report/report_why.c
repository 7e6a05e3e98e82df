// Two explanations that people ask for: why a row of the table that looks faster is not the
// champion, and what the champion does otherwise than the baseline.
//
// The second reads both sources: what is launched, what is kept in memory between launches, how
// wide the vectors are. That is how they differ, as far as text can tell; what each difference is
// worth was not measured one by one, and the report says so.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "report/report_private.h"

// ---- what was not resolved

// The node that looks fastest though it is not the champion, or NULL.
static const struct search_node *looks_faster(const struct run_view *v,
                                              const struct search_node *champion) {
    static const double NOTABLE = 0.99;  // a smaller gain nobody would look for
    const struct search_node *best = NULL;
    for (int i = 0; i < v->n_nodes; i++) {
        const struct search_node *n = &v->nodes[i];
        bool is_faster = n != champion && isfinite(report_time(n)) &&
                         n->verdict.kind == VERDICT_OK && n->time_s < NOTABLE * champion->time_s &&
                         n->measurement.speedup > 1;
        bool is_known = v->run.objective != OBJECTIVE_TIME && i == v->run.fastest;
        if (is_faster && !is_known && (!best || n->time_s < best->time_s))
            best = n;
    }
    return best;
}

// Of the pairs of all nodes: how many were disturbed by something else on this machine.
static double disturbed_fraction(const struct run_view *v) {
    double counted = 0, dropped = 0;
    for (int i = 0; i < v->n_nodes; i++)
        if (v->nodes[i].state == NODE_EVALUATED && v->nodes[i].measurement.present) {
            counted += v->nodes[i].measurement.n_pairs;
            dropped += v->nodes[i].measurement.n_dropped;
        }
    return counted + dropped > 0 ? dropped / (counted + dropped) : 0;
}

static void put_note(struct str *out, const char *text) {
    str_puts(out, "note      ");
    report_wrap(out, text, 10, 10);
}

// The same kernel, timed when it was judged and when it was confirmed: where the two differ by
// much, other work had the machine at one of the times, and one of them is shown in the table, the
// other in the result.
static void note_two_times(struct str *out, const struct run_view *v,
                           const struct search_node *champion) {
    static const double FAR = 1.5;
    double before = report_time(champion), after = v->run.confirm.median_s;
    if (!(after > FAR * before || before > FAR * after))
        return;
    struct str text = {0};
    str_puts(&text, "the champion took ");
    report_seconds(&text, before, 0);
    str_puts(&text, " when it was judged, and ");
    report_seconds(&text, after, 0);
    str_puts(
        &text,
        " when it was confirmed: other work had the machine in between. Speed-ups compare what was "
        "measured in turns.");
    put_note(out, str_text(&text));
    str_reset(&text);
}

// By how much more time is recommended where there was too little.
enum { LONGER = 3 };

// The command that gives the run more of what it ended for.
static void put_longer(struct str *out, const struct run_view *v) {
    const struct run *r = &v->run;
    bool is_by_evals = r->stop_reason && strcmp(r->stop_reason, "evals") == 0;
    str_printf(out, "hone optimize --resume %lld%s", (long long)r->id, report_store(v));
    if (is_by_evals)
        str_printf(out, " --evals %lld", LONGER * (long long)r->max_evals);
    else
        str_printf(out, " --seconds %.0f", LONGER * r->max_seconds);
}

// Those that came through a race when the time was over.
static void note_unjudged(struct str *out, const struct run_view *v) {
    int n = 0;
    for (int i = 0; i < v->n_nodes; i++)
        n += v->nodes[i].state == NODE_PROPOSED;
    const char *reason = v->run.stop_reason;
    if (n == 0 || v->run.state != RUN_DONE || !reason || strcmp(reason, "seconds") != 0)
        return;
    struct str text = {0};
    str_printf(&text, "%d that %s proposed %s not judged, as the time was over; ", n,
               n == 1 ? "was" : "were", n == 1 ? "was" : "were");
    put_longer(&text, v);
    str_printf(&text, " goes on with %s.", n == 1 ? "it" : "them");
    put_note(out, str_text(&text));
    str_reset(&text);
}

static void say_unresolved(struct str *out, const struct run_view *v,
                           const struct search_node *champion) {
    static const double BUSY = 0.1;
    const struct search_node *n = looks_faster(v, champion);
    int n_others = report_n_evaluated(v) - 1;
    if (!n && (champion->number != 0 || n_others < 1))
        return;
    struct str text = {0};
    if (n)
        str_printf(&text,
                   "%lld.%d looks faster than the champion (%.2fx over %s), but that was not "
                   "resolved: its interval is %.2fx to %.2fx.",
                   (long long)v->run.id, n->number, n->measurement.speedup, report_start(&v->run),
                   n->measurement.speedup_low, n->measurement.speedup_high);
    else
        str_printf(&text,
                   "no other kernel that was judged (%d) is known to be faster than the one "
                   "it began with.",
                   n_others);
    double disturbed = disturbed_fraction(v);
    if (n && disturbed > BUSY)
        str_printf(&text,
                   " The machine is busy, %.0f%% of the pairs were disturbed: a quieter one "
                   "would help, or a longer run:",
                   100 * disturbed);
    else if (n)
        str_puts(&text, " A longer run would help:");
    if (n) {
        str_puts(&text, " ");
        put_longer(&text, v);
        str_puts(&text, ".");
    }
    put_note(out, str_text(&text));
    str_reset(&text);
}

void report_unresolved(struct str *out, const struct run_view *v) {
    const struct search_node *champion = report_champion(v);
    if (!champion)
        return;
    note_two_times(out, v, champion);
    note_unjudged(out, v);
    if (!v->run.speedup_unknown && measurement_compare(&v->run.confirm) == 0)
        put_note(out, "that the champion is faster than the baseline is not resolved: its interval "
                      "holds 1. A "
                      "quieter machine helps most; hone doctor reports its load.");
    say_unresolved(out, v, champion);
}

// ---- what the champion does otherwise

struct traits {
    int n_launches, n_scratch, lanes;
    bool streams, prefetches, copies, tensor;
};

static int count_of(const char *text, const char *word) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        n++;
    return n;
}

static struct traits traits_of(const char *source) {
    struct traits t = {.n_launches = count_of(source, "#pragma hone launch "),
                       .n_scratch = count_of(source, "#pragma hone scratch "),
                       .lanes = 1,
                       .streams = strstr(source, "hone_stream"),
                       .prefetches = strstr(source, "prefetch(") || strstr(source, "hone_async"),
                       .copies =
                           strstr(source, "hone_bulk_copy") || strstr(source, "hone_bulk_share"),
                       .tensor = strstr(source, "hone_mma_") || strstr(source, "hone_wgmma")};
    for (const char *at = source; (at = strstr(at, "f32x")); at += 4) {
        int lanes = (int)strtol(at + 4, NULL, 10);
        t.lanes = lanes > t.lanes && lanes <= 64 ? lanes : t.lanes;
    }
    return t;
}

static void row(struct str *out, const char *what, const char *before, const char *after) {
    if (strcmp(before, after) != 0)
        str_printf(out, "  %-36s %-12s %s\n", what, before, after);
}

static void number_row(struct str *out, const char *what, int before, int after) {
    char a[16], b[16];
    snprintf(a, sizeof a, "%d", before);
    snprintf(b, sizeof b, "%d", after);
    row(out, what, a, b);
}

static void flag_row(struct str *out, const char *what, bool before, bool after) {
    row(out, what, before ? "yes" : "no", after ? "yes" : "no");
}

static void rate_row(struct str *out, const char *what, double before, double after) {
    struct arena a = {0};
    if (isfinite(before) && isfinite(after))
        str_printf(out, "  %-36s %-12s %s\n", what, arena_printf(&a, "%.3g", before),
                   arena_printf(&a, "%.3g", after));
    arena_reset(&a);
}

// What came of it, by the clock.
static void put_rates(struct str *out, const struct run_view *v, const struct search_node *n) {
    const struct measurement *m = &v->run.confirm;
    double bytes = report_least_bytes(&v->run) * 1e-9, reach = 100 * report_reach(&v->run);
    rate_row(out, "the least traffic, at GB/s", bytes / m->baseline_median_s, bytes / m->median_s);
    rate_row(out, "percent of reach", reach / m->baseline_median_s, reach / m->median_s);
    if (metrics_has(&n->profile.call, METRIC_THREAD_BUSY))
        str_printf(out, "  %-36s %-12s %.0f%%\n", "threads busy", "-",
                   100 * n->profile.call.value[METRIC_THREAD_BUSY]);
}

void report_why(struct str *out, const struct run_view *v, const struct search_node *n) {
    const struct run *r = &v->run;
    if (!r->baseline.source || !n->candidate.source || r->speedup_unknown)
        return;
    struct traits a = traits_of(r->baseline.source), b = traits_of(n->candidate.source);
    struct str table = {0};
    number_row(&table, "launches, passes over the data", a.n_launches, b.n_launches);
    number_row(&table, "arrays between launches, in memory", a.n_scratch, b.n_scratch);
    number_row(&table, "lanes of vectors (1: the compiler's)", a.lanes, b.lanes);
    flag_row(&table, "writes results past the caches", a.streams, b.streams);
    flag_row(&table, "asks for data ahead", a.prefetches, b.prefetches);
    flag_row(&table, "copies by the copy engine", a.copies, b.copies);
    flag_row(&table, "products on tensor cores", a.tensor, b.tensor);
    str_printf(out, "  %-36s %-12s %s\n", "", report_baseline(r), "champion");
    if (!*str_text(&table))
        str_puts(out, "  By their texts they do not differ in launches, arrays or vectors.\n");
    str_puts(out, str_text(&table));
    str_reset(&table);
    put_rates(out, v, n);
    str_puts(out, "  As their sources say; what each is worth alone was not measured.\n");
}
