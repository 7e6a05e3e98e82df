// All runs as a table, one run as a tree, one node in full.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "report/report_private.h"

// ---- all runs

static bool is_resolved(const struct run *r) {
    return r->speedup_unknown || measurement_compare(&r->confirm) != 0;
}

static void run_line(struct str *out, const struct run_view *v) {
    const struct run *r = &v->run;
    str_printf(out, "%4lld  %-11s  %-20.20s %5d  ", (long long)r->id, report_state(v),
               r->problem_name, r->n_nodes);
    if (!report_is_confirmed(r)) {
        str_printf(out, "%9s  %-17s %5s", "-", "-", "-");
    } else {
        char speedup[32], reach[16] = "-";
        snprintf(speedup, sizeof speedup, "%.2fx over %s%s", r->confirm.speedup,
                 r->confirm.baseline, is_resolved(r) ? "" : "?");
        if (r->speedup_unknown)
            snprintf(speedup, sizeof speedup, "unknown");
        double fraction = report_reach(r) / r->confirm.median_s;
        if (isfinite(fraction))
            snprintf(reach, sizeof reach, "%.0f%%", 100 * fraction);
        report_seconds(out, r->confirm.median_s, 9);
        str_printf(out, "  %-17s %5s", speedup, reach);
    }
    str_puts(out, "\n");
}

void report_runs(struct str *out, const struct run_view *views, int n_views) {
    str_printf(out, "%4s  %-11s  %-20s %5s  %9s  %-17s %5s\n", "run", "state", "problem", "nodes",
               "champion", "speed-up", "reach");
    bool has_doubt = false;
    for (int i = 0; i < n_views; i++) {
        run_line(out, &views[i]);
        has_doubt |= report_is_confirmed(&views[i].run) && !is_resolved(&views[i].run);
    }
    if (has_doubt)
        str_puts(out, "?: not resolved, the interval holds 1; hone report RUN has it\n");
}

static json_t *run_row(const struct run_view *v) {
    const struct run *r = &v->run;
    return json_pack("{s:I, s:s, s:b, s:o, s:s, s:s, s:s, s:s, s:i, s:s, s:o, s:o, s:o}", "run",
                     (json_int_t)r->id, "state", run_state_name(r->state), "is_running",
                     v->is_running, "stop_reason", json_optional_text(r->stop_reason), "problem",
                     r->problem_name, "target", r->target, "device", r->device, "started_at",
                     r->started_at, "nodes", r->n_nodes, "baseline", report_baseline(r), "champion",
                     report_champion_json(v), "speedup", report_speedup_json(r), "reach",
                     report_reach_json(r));
}

json_t *report_runs_json(const struct run_view *views, int n_views) {
    json_t *runs = json_array();
    for (int i = 0; i < n_views; i++)
        json_array_append_new(runs, run_row(&views[i]));
    return json_pack("{s:s, s:o}", "schema", "hone.runs/1", "runs", runs);
}

// ---- one run as a tree

static void node_line(struct str *out, const struct run_view *v, int number, int depth) {
    const struct search_node *n = &v->nodes[number];
    bool judged = n->state == NODE_EVALUATED;
    struct str head = {0};
    str_printf(&head, "%*s%d%s", 2 * depth, "", number, v->run.champion == number ? "*" : "");
    str_printf(out, "%-20s %-10s ", str_text(&head),
               judged ? verdict_kind_name(n->verdict.kind) : "proposed");
    str_reset(&head);
    report_seconds(out, report_time(n), 9);
    if (isfinite(report_time(n)) && number > 0)
        str_printf(out, " %7.2fx", report_ratio(v, n));
    else
        str_printf(out, " %8s", "");
    str_printf(out, "  %s\n", number ? n->move : report_start(&v->run));
}

static void subtree(struct str *out, const struct run_view *v, int number, int depth) {
    node_line(out, v, number, depth);
    for (int i = number + 1; i < v->n_nodes; i++)
        if (v->nodes[i].parent == number && v->nodes[i].state != NODE_SCREENED)
            subtree(out, v, i, depth + 1);
}

static bool had_no_turn(const struct search_node *n) {
    return n->state == NODE_SCREENED && n->screening.is_untimed && !n->screening.fault &&
           !n->screening.same_as;
}

// Those of a race that was over before their turn, in one line: nothing is known of them.
static void say_no_turn(struct str *out, const struct run_view *v) {
    struct str numbers = {0};
    int n = 0;
    for (int i = 0; i < v->n_nodes; i++) {
        int last = i;
        while (last + 1 < v->n_nodes && had_no_turn(&v->nodes[i]) &&
               had_no_turn(&v->nodes[last + 1]))
            last++;
        if (!had_no_turn(&v->nodes[i]))
            continue;
        str_printf(&numbers, last > i ? "%s%d to %d" : "%s%d", n ? ", " : "", i, last);
        n += last - i + 1;
        i = last;
    }
    if (n > 0) {
        str_puts(out, "\nnot timed: ");
        struct arena a = {0};
        report_wrap(
            out,
            arena_printf(&a, "the race was over before the turn of %d: %s", n, str_text(&numbers)),
            11, 11);
        arena_reset(&a);
    }
    str_reset(&numbers);
}

// Apart from those that were judged: what is said of them was not verified.
static void say_screened(struct str *out, const struct run_view *v) {
    struct arena a = {0};
    bool is_first = true;
    for (int i = 0; i < v->n_nodes; i++) {
        const struct search_node *n = &v->nodes[i];
        if (n->state != NODE_SCREENED || had_no_turn(n))
            continue;
        if (is_first)
            str_printf(
                out,
                "\nscreened: lost a race, timed roughly, not verified; the fastest call of a "
                "few\n%6s  %-10s %9s  %s\n",
                "node", "from", "fastest", "move");
        is_first = false;
        str_printf(out, "%6d  %-10d ", i, n->parent);
        report_seconds(out, n->screening.time_s, 9);
        str_printf(out, "  %s\n", n->move);
        str_printf(out, "%30s", "");
        report_wrap(out, screening_text(&a, &n->screening), 30, 30);
    }
    arena_reset(&a);
    say_no_turn(out, v);
}

// Does a model know what its ideas are worth? What it expected of each over the node that it
// started from, and what came of it.
static void say_expectations(struct str *out, const struct run_view *v) {
    bool is_first = true;
    for (int i = 1; i < v->n_nodes; i++) {
        const struct search_node *n = &v->nodes[i];
        double expected = n->expected;
        bool is_model = n->by && strcmp(n->by, "team") == 0;
        if (!is_model || !(expected > 0) || n->state != NODE_EVALUATED)
            continue;
        if (is_first)
            str_puts(out, "\nexpected  measured  over the node that it was proposed for\n");
        is_first = false;
        double measured = n->parent >= 0 ? v->nodes[n->parent].time_s / n->time_s : NAN;
        str_printf(out, "%7.2fx  ", expected);
        if (isfinite(measured))
            str_printf(out, "%7.2fx", measured);
        else
            str_printf(out, "%8s", "-");
        str_printf(out, "  %d over %d%s%s\n", i, n->parent, isfinite(measured) ? "" : ": ",
                   isfinite(measured) ? "" : verdict_kind_name(n->verdict.kind));
    }
}

void report_tree(struct str *out, const struct run_view *v) {
    const struct run *r = &v->run;
    str_printf(out, "run %lld: %s on %s (%s), %s\n", (long long)r->id, r->problem_name, r->target,
               r->device, report_state(v));
    struct arena a = {0};
    const char *degenerate = report_degenerate(&a, r);
    str_puts(out, "stopped: ");
    report_wrap(out, degenerate ? degenerate : report_stop_text(r->stop_reason), 9, 9);
    const char *bound = report_bound_line(&a, r);
    if (bound) {
        str_puts(out, "bound: ");
        report_wrap(out, bound, 7, 7);
    }
    arena_reset(&a);
    str_printf(out, "policy %s, proposer %s, seed %llu; speed-ups over %s\n\n", r->policy,
               r->proposer, (unsigned long long)r->seed, report_start(r));
    if (v->n_nodes > 0) {
        str_printf(out, "%-20s %-10s %9s %8s  %s\n", "node", "verdict", "time", "speed-up", "move");
        subtree(out, v, 0, 0);
    }
    say_screened(out, v);
    say_expectations(out, v);
}

json_t *report_show_json(const struct run_view *v) {
    json_t *nodes = json_array();
    for (int i = 0; i < v->n_nodes; i++)
        json_array_append_new(nodes, search_node_to_json(&v->nodes[i]));
    return json_pack("{s:s, s:I, s:o, s:b, s:o, s:o, s:o, s:o}", "schema", "hone.show/1", "run",
                     (json_int_t)v->run.id, "record", run_to_json(&v->run), "is_running",
                     v->is_running, "champion", report_champion_json(v), "speedup",
                     report_speedup_json(&v->run), "reach", report_reach_json(&v->run), "nodes",
                     nodes);
}

// ---- one node

// A node has up to three times: the one to compare with other nodes, as tables have it; what the
// clock said when it was judged; and the champion's, of the confirmation.
static void say_times(struct str *out, const struct run_view *v, const struct search_node *n) {
    const struct measurement *c = &v->run.confirm;
    if (isfinite(report_time(n))) {
        str_puts(out, "time      ");
        report_seconds(out, report_time(n), 0);
        str_puts(out, n->number
                          ? ", to compare with other nodes: the root's by their paired ratio\n"
                          : ", the root's: what other nodes are compared with\n");
    }
    if (report_champion(v) == n) {
        str_puts(out, run_is_on_table(&v->run) ? "champion  " : "confirmed ");
        report_seconds(out, c->median_s, 0);
        str_puts(out, run_is_on_table(&v->run) ? ", by the table, not confirmed\n"
                                               : " on fresh data: the time to state\n");
    }
}

static void say_measurement(struct str *out, const struct measurement *m) {
    if (!m->present)
        return;
    struct arena a = {0};
    str_puts(out, "measured  ");
    report_seconds(out, m->median_s, 0);
    str_puts(out, " when it was judged");
    if (m->n_pairs > 0)  // a time from a table has no pairs
        str_printf(out, ", median of %d pairs", m->n_pairs);
    str_printf(out, "; against %s ", m->baseline ? m->baseline : "itself");
    report_seconds(out, m->baseline_median_s, 0);
    str_printf(out, "\nspeed-up  %.3fx (%.3f to %.3f, %.0f%% interval%s)\nmethod    ", m->speedup,
               m->speedup_low, m->speedup_high, 100 * m->confidence, report_width(&a, m));
    report_wrap(out, m->method ? m->method : "", 10, 10);
    if (m->clocks) {
        str_puts(out, "clocks    ");
        report_wrap(out, m->clocks, 10, 10);
    }
    if (m->energy.present) {
        str_puts(out, "energy    ");
        report_wrap(out, energy_text(&a, &m->energy), 10, 10);
    }
    arena_reset(&a);
}

static void say_error(struct str *out, const struct error_stats *e) {
    if (isfinite(e->rms))
        str_printf(out,
                   "error     rms %.3g of %.3g allowed, largest %.3g of %.3g (honest: %.3g, "
                   "%.3g)\n",
                   e->rms, e->limit_rms, e->max, e->limit_max, e->honest_rms, e->honest_max);
}

static void say_findings(struct str *out, const struct search_node *n) {
    for (int i = 0; i < n->n_findings; i++) {
        const struct finding *f = &n->findings[i];
        struct str line = {0};
        str_printf(&line, "%s: %s. %s.", severity_name(f->severity), f->cause, f->evidence);
        if (isfinite(f->expected_gain))
            str_printf(&line, " Worth up to %.2fx.", f->expected_gain);
        if (isfinite(f->confidence))
            str_printf(&line, " Confidence %.1f.", f->confidence);
        str_printf(out, "%-10s", i == 0 ? "findings" : "");
        report_wrap(out, str_text(&line), 10, 10);
        str_reset(&line);
        for (int j = 0; j < f->n_actions; j++) {
            const struct action *act = &f->actions[j];
            str_printf(out, "%10s- ", "");
            report_wrap(out, act->words, 12, 12);
            if (act->move) {
                str_printf(out, "%12s", "");
                report_wrap(out, act->move, 12, 12);
            }
        }
    }
}

static void say_launches(struct str *out, const struct profile *p) {
    struct arena a = {0};
    const char *words = profile_launch_text(&a, p);
    if (*words) {
        str_puts(out, "launches  ");
        report_wrap(out, words, 10, 10);
    }
    arena_reset(&a);
}

static void say_profile(struct str *out, const struct profile *p) {
    struct str line = {0};
    for (int i = 0; i < METRIC_COUNT; i++)
        if (metrics_has(&p->call, (enum metric_id)i))
            str_printf(&line, "%s%s=%.4g", line.len ? " " : "", metric_table[i].name,
                       p->call.value[i]);
    if (line.len > 0) {
        str_puts(out, "profile   ");
        report_wrap(out, str_text(&line), 10, 10);
    }
    str_reset(&line);
}

// What came of the finding behind it, next to what its tool expected.
static void say_gain(struct str *out, const struct run_view *v, const struct search_node *n) {
    if (!(n->gain > 0))
        return;
    str_printf(out, "gain      %.2fx over %lld.%d", n->gain, (long long)v->run.id, n->parent);
    if (n->expected > 0)
        str_printf(out, "; %.2fx was expected%s%s", n->expected, n->tool ? " of the tool " : "",
                   n->tool ? n->tool : "");
    str_puts(out, "\n");
}

static void say_screening(struct str *out, const struct search_node *n) {
    struct arena a = {0};
    if (!n->screening.present)
        return;
    str_puts(out, "race      ");
    report_wrap(out, screening_text(&a, &n->screening), 10, 10);
    if (n->screening.device)
        str_printf(out, "          raced on %s, not on the run's own device\n",
                   n->screening.device);
    arena_reset(&a);
}

void report_node(struct str *out, const struct run_view *v, int number, bool with_source) {
    const struct search_node *n = &v->nodes[number];
    str_printf(out, "node      %lld.%d", (long long)v->run.id, number);
    if (number > 0)
        str_printf(out, ", from %lld.%d by %s", (long long)v->run.id, n->parent, n->move);
    if (n->by)
        str_printf(out, ", proposed by the %s",
                   strcmp(n->by, "debug") == 0 ? "team (debug)" : n->by);
    str_puts(out, v->run.champion == number ? " (champion)\nreason    " : "\nreason    ");
    report_wrap(out, n->reason, 10, 10);
    if (n->change) {
        str_puts(out, "change    ");
        report_wrap(out, n->change, 10, 10);
    }
    say_gain(out, v, n);
    if (n->state == NODE_EVALUATED) {
        str_printf(out, "verdict   %s%s%s\n", verdict_kind_name(n->verdict.kind),
                   n->verdict.rule ? ", rule " : "", n->verdict.rule ? n->verdict.rule : "");
        if (n->verdict.device)
            str_printf(out, "          judged on %s, not on the run's own device\n",
                       n->verdict.device);
        if (n->verdict.evidence[0])
            report_indented(out, n->verdict.evidence, 10);
        say_error(out, &n->verdict.error);
        say_times(out, v, n);
        say_measurement(out, &n->measurement);
        say_launches(out, &n->profile);
        say_profile(out, &n->profile);
        say_findings(out, n);
    } else if (n->state == NODE_SCREENED) {
        str_puts(out, "verdict   none: it lost a race and was not verified\n");
    } else {
        str_puts(out, "verdict   not evaluated yet\n");
    }
    say_screening(out, n);
    if (n->candidate.kernel) {
        str_puts(out, "\n");
        str_puts(out, n->candidate.kernel);
    }
    if (with_source) {
        str_puts(out, "\n");
        str_puts(out, n->candidate.source ? n->candidate.source : "");
    }
}
