// The whole story of a run, for a person: what was asked, what came of it, how it was
// found, what was checked, what still limits it.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "report/report_private.h"

static void heading(struct str *out, const char *text) {
    str_printf(out, "\n%s\n", text);
    for (size_t i = 0; i < strlen(text); i++)
        str_puts(out, "-");
    str_puts(out, "\n");
}

static void say_problem(struct str *out, const struct run *r) {
    struct arena a = {0};
    heading(out, "Problem and bound");
    report_indented(out, r->problem_text, 2);
    str_puts(out, "\n");
    const char *bound = report_bound_line(&a, r);
    if (bound) {
        str_puts(out, "It is");
        report_wrap(out, bound, 5, 0);
        str_puts(out, "The speed of light is by the data sheet's peaks, reach by ceilings that "
                      "were\nmeasured here, and nothing honest is faster than the limit.\n");
    }
    arena_reset(&a);
}

// Goes on behind the time.
static void put_speedup(struct str *out, const struct run *r) {
    const struct measurement *m = &r->confirm;
    if (r->speedup_unknown) {
        str_printf(out, ". Its speed-up is unknown: %s.", r->speedup_unknown);
    } else {
        struct arena a = {0};
        bool is_resolved = measurement_compare(m) != 0;
        if (is_resolved)
            str_printf(out, ", %.2f times faster than %s (", m->speedup, m->baseline);
        else
            str_printf(out, ". Whether that is faster than %s (", m->baseline);
        report_seconds(out, m->baseline_median_s, 0);
        if (is_resolved)
            str_puts(out, "), ");
        else
            str_printf(out, ") is not resolved: %.2f times by the median, ", m->speedup);
        str_printf(out, "interval %.2f to %.2f at %.0f%% confidence, from ", m->speedup_low,
                   m->speedup_high, 100 * m->confidence);
        if (run_is_on_table(r))
            str_puts(out, "the table");
        else
            str_printf(out, "%d pairs", m->n_pairs);
        str_printf(out, "%s.", report_width(&a, m));
        arena_reset(&a);
    }
}

static void say_result(struct str *out, const struct run_view *v, const struct search_node *n) {
    const struct measurement *m = &v->run.confirm;
    heading(out, "Result");
    if (!n) {
        struct arena a = {0};
        const char *degenerate = report_degenerate(&a, &v->run);
        str_puts(out, degenerate ? "The problem is" : "No champion has been confirmed.\n");
        if (degenerate)
            report_wrap(out, degenerate, 14, 0);
        arena_reset(&a);
        return;
    }
    struct str text = {0};
    str_printf(&text, "Node %lld.%d takes ", (long long)v->run.id, n->number);
    report_seconds(&text, m->median_s, 0);
    put_speedup(&text, &v->run);
    struct arena a = {0};
    const char *fractions = report_fractions(&a, &v->run, m->median_s);
    if (*fractions)
        str_printf(&text, " That is %s.", fractions);
    arena_reset(&a);
    report_wrap(out, str_text(&text), 0, 0);
    str_reset(&text);
    str_puts(out, "\n");
    if (n->candidate.kernel)
        report_indented(out, n->candidate.kernel, 2);
    else
        str_printf(out, "  source in %s; hone show %lld.%d%s --source has it\n",
                   tier_language(n->candidate.tier), (long long)v->run.id, n->number,
                   report_store(v));
    str_puts(out, "\nMeasured:");
    report_wrap(out, m->method ? m->method : "", 9, 2);
    if (m->clocks) {
        str_puts(out, "Clocks:");
        report_wrap(out, m->clocks, 7, 2);
    }
    if (m->energy.present) {
        struct arena scratch = {0};
        str_puts(out, "Energy:");
        report_wrap(out, energy_text(&scratch, &m->energy), 7, 2);
        arena_reset(&scratch);
    }
}

static void say_checks(struct str *out, const struct run *r) {
    const struct verdict *v = &r->confirm_verdict;
    const struct error_stats *e = &v->error;
    if (run_is_on_table(r)) {
        heading(out, "Checks of the champion");
        str_puts(out, "  It was verified when the table was made, and not again.\n");
        return;
    }
    heading(out, "Checks of the champion, on inputs drawn after it was chosen");
    str_printf(out, "  verdict            %s\n", verdict_kind_name(v->kind));
    str_printf(out, "  input sets         %d, over %d calls%s\n", v->n_sets, v->n_calls,
               v->timed_calls_checked ? ", the timed ones among them" : "");
    if (isfinite(e->rms)) {
        str_printf(out, "  error, rms         %.3g (allowed %.3g, honest f32 %.3g)\n", e->rms,
                   e->limit_rms, e->honest_rms);
        str_printf(out, "  error, largest     %.3g (allowed %.3g, honest f32 %.3g)\n", e->max,
                   e->limit_max, e->honest_max);
        str_puts(out, "  Errors are in units of the spread that honest f32 arithmetic has.\n");
    }
}

static void say_path(struct str *out, const struct run_view *v, int number) {
    const struct search_node *n = &v->nodes[number];
    if (n->parent >= 0)
        say_path(out, v, n->parent);
    str_printf(out, "%6d  ", number);
    report_seconds(out, report_time(n), 9);
    if (number > 0 && isfinite(report_time(n)))
        str_printf(out, " %6.2fx  ", report_ratio(v, n));
    else
        str_printf(out, " %7s  ", "");
    report_wrap(out, number ? n->move : report_start(&v->run), 28, 28);
    if (number > 0) {
        str_printf(out, "%27s", "");
        report_wrap(out, n->reason, 27, 27);
    }
}

static void say_limits(struct str *out, const struct search_node *n) {
    heading(out, "What still limits it");
    if (n->n_findings == 0)
        str_puts(out, "Nothing that the tools can see.\n");
    if (n->n_findings > 0 && n->measurement.present) {
        str_puts(out, "By its profile when it was judged, with ");
        report_seconds(out, report_time(n), 0);
        str_puts(out, " a call:\n");
    }
    for (int i = 0; i < n->n_findings; i++) {
        const struct finding *f = &n->findings[i];
        struct str text = {0};
        str_printf(&text, "%s (%s): %s. %s.", f->tool, severity_name(f->severity), f->cause,
                   f->evidence);
        str_puts(out, "- ");
        report_wrap(out, str_text(&text), 2, 2);
        str_reset(&text);
    }
}

static void say_model(struct str *out, const struct run_view *v) {
    const struct spend *s = &v->spend;
    struct str text = {0};
    str_printf(&text, "%s: %d calls, %d failed, %s%lld tokens in (%lld from a cache), %lld out, ",
               v->run.llm.spec, s->n_calls, s->n_failed, s->n_uncounted > 0 ? "about " : "",
               (long long)s->in, (long long)s->in_cached, (long long)s->out);
    if (s->n_unpriced == 0)
        str_printf(&text, "%.4g USD", s->usd);
    else
        str_printf(&text, "%.4g USD and %d calls of unknown cost", s->usd, s->n_unpriced);
    str_puts(out, "  model              ");
    report_wrap(out, str_text(&text), 21, 21);
    str_reset(&text);
}

static void say_effort(struct str *out, const struct run_view *v) {
    const struct run *r = &v->run;
    int counts[VERDICT_COUNT] = {0};
    for (int i = 0; i < v->n_nodes; i++)
        if (v->nodes[i].state == NODE_EVALUATED)
            counts[v->nodes[i].verdict.kind]++;
    heading(out, "Effort");
    str_printf(out, "  evaluations        %d:", report_n_evaluated(v));
    for (int k = 0; k < VERDICT_COUNT; k++)
        if (counts[k] > 0)
            str_printf(out, " %d %s", counts[k], verdict_kind_name((enum verdict_kind)k));
    if (report_n_screened(v) > 0)
        str_printf(out, "\n  screened           %d more: lost a race, timed roughly, not verified",
                   report_n_screened(v));
    str_printf(out, "\n  time               %.0f s", r->elapsed_s);
    if (!run_is_on_table(r))
        str_printf(out, " of %.0f", r->max_seconds);
    str_puts(out, "\n");
    if (r->prolonged) {
        str_puts(out, "  prolonged by       ");
        report_wrap(out, r->prolonged, 21, 21);
    }
    str_puts(out, "  stopped            ");
    report_wrap(out, report_stop_text(r->stop_reason), 21, 21);
    struct arena a = {0};
    const char *objective = report_objective(&a, r);
    if (objective)
        str_printf(out, "  objective          %s\n", objective);
    arena_reset(&a);
    str_printf(out, "  policy, proposer   %s, %s, seed %llu\n", r->policy, r->proposer,
               (unsigned long long)r->seed);
    if (r->llm.spec)
        say_model(out, v);
    str_printf(out, "  hone               %s, started %s\n", r->version, r->started_at);
}

void report_run(struct str *out, const struct run_view *v) {
    const struct search_node *n = report_champion(v);
    str_printf(out, "Run %lld: %s on %s, %s\n", (long long)v->run.id, v->run.problem_name,
               v->run.target, report_state(v));
    str_printf(out, "%s\n", v->run.device);
    say_result(out, v, n);
    say_problem(out, &v->run);
    if (n) {
        struct str why = {0};
        report_why(&why, v, n);
        if (*str_text(&why)) {
            heading(out, measurement_compare(&v->run.confirm) > 0 ? "Why it is faster"
                                                                  : "What it does otherwise");
            str_puts(out, str_text(&why));
        }
        str_reset(&why);
        heading(out, "How it was found");
        say_path(out, v, n->number);
        say_checks(out, &v->run);
        say_limits(out, n);
    }
    say_effort(out, v);
}
