// All runs as one page: a table that sorts, each row leading to the page of its run.
#include <math.h>

#include "base/arena.h"
#include "base/str.h"
#include "report/page.h"

// A cell with what it is sorted by.
static void cell(struct str *out, double order, const char *text) {
    if (isfinite(order))
        str_printf(out, "<td data-v=\"%.9g\">", order);
    else
        str_puts(out, "<td>");
    page_text(out, text);
    str_puts(out, "</td>");
}

static void put_row(struct str *out, const struct run_view *v) {
    const struct run *r = &v->run;
    const struct measurement *m = &r->confirm;
    struct arena a = {0};
    struct str time = {0};
    bool is_confirmed = report_is_confirmed(r), has_speedup = is_confirmed && !r->speedup_unknown;
    double seconds = is_confirmed ? m->median_s : NAN, reach = report_reach(r) / seconds;
    page_seconds(&time, seconds);
    str_printf(out, "<tr><td data-v=\"%lld\"><a href=\"run-%lld.html\">%lld</a></td>",
               (long long)r->id, (long long)r->id, (long long)r->id);
    cell(out, NAN, r->problem_name);
    cell(out, NAN, r->target);
    cell(out, NAN, report_state(v));
    cell(out, r->n_nodes, arena_printf(&a, "%d", r->n_nodes));
    cell(out, seconds, str_text(&time));
    cell(out, has_speedup ? m->speedup : NAN,
         has_speedup ? arena_printf(&a, "%.2fx over %s%s", m->speedup, report_baseline(r),
                                    measurement_compare(m) ? "" : ", not resolved")
                     : "–");
    cell(out, reach, isfinite(reach) ? arena_printf(&a, "%.0f%%", 100 * reach) : "–");
    cell(out, NAN, arena_printf(&a, "%.10s", r->started_at));
    str_puts(out, "</tr>\n");
    str_reset(&time);
    arena_reset(&a);
}

void report_index(struct str *out, const struct run_view *views, int n_views) {
    static const char *const columns[] = {"run",  "problem",  "target", "state",  "nodes",
                                          "time", "speed-up", "reach",  "started"};
    page_begin(out, "Runs of hone");
    str_printf(out, "<header><h1>Runs</h1><p class=\"sub\">%d, in ", n_views);
    page_text(out, n_views > 0 ? views[0].store : "an empty store");
    str_puts(out, "</p></header>\n<div class=\"chart\"><table class=\"sort\"><thead><tr>");
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        str_printf(out, "<th scope=\"col\"><button type=\"button\">%s</button></th>", columns[i]);
    str_puts(out, "</tr></thead><tbody>\n");
    for (int i = 0; i < n_views; i++)
        put_row(out, &views[i]);
    str_puts(out, "</tbody></table></div>\n");
    page_end(out);
}
