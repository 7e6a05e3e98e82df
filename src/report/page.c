// The page itself, from top to bottom.
#include "report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/str.h"
#include "model/bound.h"

static void heading(struct str *out, const char *id, const char *text) {
    str_printf(out, "<h2 id=\"%s\">%s</h2>\n", id, text);
}

void page_begin(struct str *out, const char *title) {
    str_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'; script-src 'unsafe-inline'\"/>\n<title>");
    page_text(out, title);
    str_printf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n",
               embedded_text("page.css"));
}

void page_end(struct str *out) {
    str_printf(out, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", embedded_text("page.js"));
}

static void card(struct str *out, const char *value, const char *words) {
    str_puts(out, "<div><b>");
    page_text(out, value);
    str_puts(out, "</b><span>");
    page_text(out, words);
    str_puts(out, "</span></div>\n");
}

static void put_cards(struct str *out, const struct run_view *v) {
    const struct measurement *m = &v->run.confirm;
    struct arena a = {0};
    struct str time = {0};
    double reach = report_reach(&v->run) / m->median_s, light = report_light(&v->run) / m->median_s;
    page_seconds(&time, m->median_s);
    bool is_resolved = measurement_compare(m) != 0;
    str_printf(out, "<div class=\"cards%s\">\n", is_resolved ? "" : " unresolved");
    if (!v->run.speedup_unknown)
        card(out, arena_printf(&a, "%.2fx", m->speedup),
             arena_printf(&a, "%s %s%s; %.2f to %.2f at %.0f%%%s",
                          is_resolved ? "faster than" : "over", m->baseline,
                          is_resolved ? "" : ": not resolved", m->speedup_low, m->speedup_high,
                          100 * m->confidence, report_width(&a, m)));
    // A time from a table has no pairs.
    card(out, str_text(&time),
         m->n_pairs > 0 ? arena_printf(&a, "a call, median of %d pairs", m->n_pairs) : "a call");
    if (isfinite(reach))
        card(out, arena_printf(&a, "%.0f%%", 100 * reach), "of reach: what this machine can do");
    if (isfinite(light))
        card(out, arena_printf(&a, "%.0f%%", 100 * light), "of the speed of light: the data sheet");
    str_puts(out, "</div>\n");
    if (v->run.speedup_unknown) {
        str_puts(out, "<p class=\"note\">Its speed-up is unknown: ");
        page_text(out, v->run.speedup_unknown);
        str_puts(out, "</p>\n");
    }
    str_reset(&time);
    arena_reset(&a);
}

static void put_top(struct str *out, const struct run_view *v) {
    const struct run *r = &v->run;
    struct arena a = {0};
    str_puts(out, "<header><h1>");
    page_text(out, r->problem_name);
    str_puts(out, "</h1>\n<p class=\"sub\">on ");
    page_text(out, r->device);
    str_printf(out, " (");
    page_text(out, r->target);
    str_printf(out, "), run %lld, %s, ", (long long)r->id, report_state(v));
    page_text(out, r->started_at);
    str_puts(out, "</p></header>\n");
    const char *degenerate = report_degenerate(&a, r);
    if (report_champion(v)) {
        put_cards(out, v);
    } else {
        str_puts(out, "<p>");
        page_text(out, degenerate ? degenerate : "No champion has been confirmed.");
        str_puts(out, "</p>\n");
    }
    arena_reset(&a);
}

static void put_problem(struct str *out, const struct run_view *v, const char *graph) {
    struct arena a = {0};
    const char *bound = report_bound_line(&a, &v->run);
    heading(out, "problem", "What has to be computed");
    str_puts(out, "<pre>");
    page_text(out, v->run.problem_text);
    str_puts(out, "</pre>\n");
    if (graph && *graph) {
        str_puts(out,
                 "<details class=\"more\"><summary>its graph, a line per operation</summary><pre>");
        page_text(out, graph);
        str_puts(out, "</pre></details>\n");
    }
    if (bound) {
        str_puts(out, "<p>It is ");
        page_text(out, bound);
        str_puts(out,
                 ".</p>\n<p class=\"note\">The speed of light is by the data sheet's peaks, reach "
                 "by ceilings that were measured on this machine, and nothing honest is faster "
                 "than the limit.</p>\n");
    }
    arena_reset(&a);
}

static void put_charts(struct str *out, const struct run_view *v) {
    size_t before = out->len;
    heading(out, "bound", "How fast, and how fast it could be");
    size_t empty = out->len;
    page_bars(out, v);
    page_roofline(out, v);
    if (out->len == empty) {
        out->len = before;
        out->ptr[before] = '\0';
    } else if (strstr(out->ptr + empty, "<svg")) {
        str_puts(out, isfinite(report_light(&v->run))
                          ? "<p class=\"note\">Solid: what was measured here. Dashed: the data "
                            "sheet. Each dot is a candidate; higher is faster.</p>\n"
                          : "<p class=\"note\">The roof is what was measured here. Each dot is a "
                            "candidate; higher is faster.</p>\n");
    }
    before = out->len;
    heading(out, "search", "The search");
    empty = out->len;
    page_progress(out, v);
    if (out->len == empty) {
        out->len = before;
        out->ptr[before] = '\0';
    }
}

static void put_step(struct str *out, const struct run_view *v, int number) {
    const struct search_node *n = &v->nodes[number];
    str_puts(out, "<li><p><b>");
    page_seconds(out, report_time(n));
    str_puts(out, "</b> ");
    if (number > 0 && isfinite(report_time(n)))
        str_printf(out, "%.2fx, ", n->measurement.speedup);
    str_printf(out, "<a href=\"#n%d\">node %d</a></p>", number, number);
    if (number > 0) {
        str_puts(out, "<p><code>");
        page_text(out, n->move);
        str_puts(out, "</code></p><p class=\"note\">");
        if (n->tool) {
            str_puts(out, "finding of <b>");
            page_text(out, n->tool);
            str_puts(out, "</b>: ");
        }
        page_text(out, n->reason);
        str_puts(out, "</p>");
    } else {
        str_puts(out, "<p class=\"note\">where the search began</p>");
    }
    str_puts(out, "</li>\n");
}

static void put_path(struct str *out, const struct run_view *v, int champion) {
    int way[256], n = 0;
    for (int i = champion; i >= 0 && i < v->n_nodes && n < 256; i = v->nodes[i].parent)
        way[n++] = i;
    heading(out, "path", "The way to the champion");
    str_puts(out, "<ol class=\"path\">\n");
    while (n > 0)
        put_step(out, v, way[--n]);
    str_puts(out, "</ol>\n");
}

static void fact(struct str *out, const char *name, const char *value) {
    str_puts(out, "<tr><th scope=\"row\">");
    page_text(out, name);
    str_puts(out, "</th><td>");
    page_text(out, value);
    str_puts(out, "</td></tr>\n");
}

static void put_checks(struct str *out, const struct run *r) {
    const struct verdict *v = &r->confirm_verdict;
    const struct error_stats *e = &v->error;
    struct arena a = {0};
    heading(out, "checks", "How it was verified");
    if (run_is_on_table(r)) {
        str_puts(out, "<p class=\"note\">When the table was made, and not again.</p>\n");
        return;
    }
    str_puts(out,
             "<p class=\"note\">On inputs drawn after it was chosen, by a process that never runs "
             "the candidate. Errors are in units of the spread that honest arithmetic has.</p>\n"
             "<table class=\"facts\"><tbody>\n");
    fact(out, "verdict", verdict_kind_name(v->kind));
    fact(out, "input sets",
         arena_printf(&a, "%d, over %d calls%s", v->n_sets, v->n_calls,
                      v->timed_calls_checked ? ", the timed ones among them" : ""));
    if (isfinite(e->rms)) {
        fact(out, "error, rms",
             arena_printf(&a, "%.3g (allowed %.3g, honest %.3g)", e->rms, e->limit_rms,
                          e->honest_rms));
        fact(out, "error, largest",
             arena_printf(&a, "%.3g (allowed %.3g, honest %.3g)", e->max, e->limit_max,
                          e->honest_max));
    }
    if (r->confirm.method)
        fact(out, "measured", r->confirm.method);
    if (r->confirm.clocks)
        fact(out, "clocks", r->confirm.clocks);
    if (r->confirm.energy.present)
        fact(out, "energy", energy_text(&a, &r->confirm.energy));
    str_puts(out, "</tbody></table>\n");
    arena_reset(&a);
}

// What the samples of a line wait for; of several launches what the one with most of them does.
static void put_reason(struct str *out, const struct profile *p, int line) {
    const struct profile_line *most = NULL;
    for (int i = 0; i < p->n_lines; i++)
        if (p->lines[i].line == line && (!most || p->lines[i].samples > most->samples))
            most = &p->lines[i];
    if (!most || !most->reason)
        return;
    str_puts(out, ", ");
    page_text(out, most->reason);
}

// How the shares of the lines are known.
static void put_hot_note(struct str *out, const struct search_node *n, bool is_gpu) {
    const struct profile *p = &n->profile;
    double samples = 0;
    for (int i = 0; i < p->n_lines; i++)
        samples += p->lines[i].samples;
    if (p->n_lines > 0) {
        str_printf(out,
                   "<p class=\"note\">Hot lines: by %.0f samples of the program counter, which "
                   "hone profile took%s.</p>\n",
                   samples,
                   p->n_launches > 1 ? ", within the time that each launch was measured to take"
                                     : "");
        return;
    }
    str_printf(out,
               "<p class=\"note\">Hot lines: a static estimate, by the turns of the loops around "
               "a line and what stands in it%s; nothing was sampled",
               p->n_launches > 1 ? ", within the time that its launch was measured to take" : "");
    if (is_gpu)
        str_puts(out, " (<code>hone profile RUN.NODE</code> on the card takes samples, and this "
                      "page made anew shows them)");
    str_puts(out, ".</p>\n");
}

// The few lines that have most of the time, in words, for who sees no colours.
static void put_hot_lines(struct str *out, const struct search_node *node, const double *shares,
                          int n) {
    const char *source = node->candidate.source;
    enum { SHOWN = 5 };
    bool is_told[SHOWN] = {false};
    int best[SHOWN], n_best = 0;
    for (; n_best < SHOWN; n_best++) {
        int most = -1;
        for (int i = 0; i < n; i++) {
            bool is_new = shares[i] >= 0.05 && (most < 0 || shares[i] > shares[most]);
            for (int k = 0; k < n_best && is_new; k++)
                is_new = best[k] != i;
            most = is_new ? i : most;
        }
        if (most < 0)
            break;
        best[n_best] = most;
    }
    str_puts(out, "<ol class=\"hot\">");
    for (int i = 0; i < n && source && *source; i++) {
        size_t len = strcspn(source, "\n"), blank = strspn(source, " ");
        struct arena a = {0};
        for (int k = 0; k < n_best; k++)
            if (best[k] == i && !is_told[k]) {
                is_told[k] = true;
                str_printf(out, "<li>line %d, about %.0f%%: <code>", i + 1, 100 * shares[i]);
                page_text(out, arena_strndup(&a, source + blank, len > blank ? len - blank : 0));
                str_puts(out, "</code>");
                put_reason(out, &node->profile, i + 1);
                str_puts(out, "</li>");
            }
        arena_reset(&a);
        source += len + (source[len] == '\n');
    }
    str_puts(out, "</ol>\n");
}

static void put_source(struct str *out, const struct search_node *n, bool is_gpu) {
    int n_lines;
    double *shares = page_hot_lines(n->candidate.source, &n->profile, &n_lines), all = 0;
    for (int i = 0; i < n_lines; i++)
        all += shares[i];
    if (all > 0) {
        put_hot_note(out, n, is_gpu);
        put_hot_lines(out, n, shares, n_lines);
    }
    page_code(out, n->candidate.source, all > 0 ? shares : NULL, n_lines);
    free(shares);
}

static void put_champion(struct str *out, const struct run_view *v, const struct search_node *n) {
    struct arena a = {0};
    put_path(out, v, n->number);
    heading(out, "limits", "What still limits it");
    if (n->n_findings == 0)
        str_puts(out, "<p>Nothing that the tools can see.</p>\n");
    page_findings(out, n);
    put_checks(out, &v->run);
    heading(out, "source", "The champion");
    if (n->candidate.kernel) {
        str_puts(out, "<pre class=\"diff\">");
        page_text(out, n->candidate.kernel);
        str_puts(out, "</pre>\n");
    }
    const char *launches = profile_launch_text(&a, &n->profile);
    if (*launches) {
        str_puts(out, "<p>Its launches: ");
        page_text(out, launches);
        str_puts(out, "</p>\n");
    }
    put_source(out, n, v->run.target && strncmp(v->run.target, "cpu", 3) != 0);
    arena_reset(&a);
}

static void put_spend(struct str *out, const char *who, const struct spend *s) {
    struct arena a = {0};
    const char *more =
        s->n_unpriced ? arena_printf(&a, " and %d calls of unknown cost", s->n_unpriced) : "";
    fact(out, who,
         arena_printf(
             &a, "%d calls, %d failed, %lld tokens in (%lld from a cache), %lld out, %.4g USD%s",
             s->n_calls, s->n_failed, (long long)s->in, (long long)s->in_cached, (long long)s->out,
             s->usd, more));
    arena_reset(&a);
}

static void put_effort(struct str *out, const struct run_view *v) {
    const struct run *r = &v->run;
    struct arena a = {0};
    heading(out, "effort", "Effort");
    str_puts(out, "<table class=\"facts\"><tbody>\n");
    fact(out, "judged",
         arena_printf(&a, "%d candidates; %d more lost a race", report_n_evaluated(v),
                      report_n_screened(v)));
    fact(out, "time", arena_printf(&a, "%.0f s of %.0f", r->elapsed_s, r->max_seconds));
    if (r->prolonged)
        fact(out, "prolonged by", r->prolonged);
    fact(out, "stopped", report_stop_text(r->stop_reason));
    const char *objective = report_objective(&a, r);
    if (objective)
        fact(out, "objective", objective);
    fact(
        out, "policy, proposer",
        arena_printf(&a, "%s, %s, seed %llu", r->policy, r->proposer, (unsigned long long)r->seed));
    if (r->llm.spec)
        put_spend(out, r->llm.spec, &v->spend);
    for (int i = 0; i < v->n_roles; i++)
        put_spend(out, arena_printf(&a, "as %s", v->roles[i].role), &v->roles[i].spend);
    str_puts(out, "</tbody></table>\n");
    arena_reset(&a);
}

void report_page(struct str *out, const struct run_view *v, const char *graph) {
    const struct search_node *n = report_champion(v);
    struct arena a = {0};
    page_begin(
        out, arena_printf(&a, "%s – run %lld of hone", v->run.problem_name, (long long)v->run.id));
    put_top(out, v);
    put_problem(out, v, graph);
    put_charts(out, v);
    if (n)
        put_champion(out, v, n);
    heading(out, "tree", "Every candidate");
    page_tree(out, v);
    put_effort(out, v);
    str_puts(out, "<footer>made by hone ");
    page_text(out, v->run.version);
    str_printf(out, "; again with: hone report %lld --html FILE --store ", (long long)v->run.id);
    struct str path = {0};
    str_put_quoted(&path, v->store);
    page_text(out, str_text(&path));
    str_reset(&path);
    str_puts(out, "</footer>\n");
    page_end(out);
    arena_reset(&a);
}
