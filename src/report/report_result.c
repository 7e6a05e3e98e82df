// The end of a run: champion, speed-up, share of reach, why it stopped.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "report/report_private.h"

static void say_champion(struct str *out, const struct run_view *v, const struct search_node *n) {
    const struct measurement *m = &v->run.confirm;
    struct arena a = {0};
    struct str text = {0};
    str_printf(&text, "%lld.%d: ", (long long)v->run.id, n->number);
    report_seconds(&text, m->median_s, 0);
    if (v->run.speedup_unknown)
        str_printf(&text, ", speed-up unknown: %s", v->run.speedup_unknown);
    else
        str_printf(&text, ", %.2fx over %s (%s%.2f to %.2f, %.0f%% interval%s)", m->speedup,
                   m->baseline, measurement_compare(m) ? "" : "not resolved: ", m->speedup_low,
                   m->speedup_high, 100 * m->confidence, report_width(&a, m));
    str_puts(out, "champion  ");
    report_wrap(out, str_text(&text), 10, 10);
    str_reset(&text);
    const char *fractions = report_fractions(&a, &v->run, m->median_s);
    str_printf(out, "          %s%s", fractions, *fractions ? "; " : "");
    if (run_is_on_table(&v->run))
        str_puts(out, "by the table, not confirmed\n");
    else
        str_printf(out, "confirmed on fresh data, %d %s\n", m->n_pairs,
                   v->run.speedup_unknown ? "pairs with itself" : "pairs");
    const char *objective = report_objective(&a, &v->run);
    if (objective)
        str_printf(out, "objective %s\n", objective);
    if (m->energy.present) {
        str_puts(out, "energy    ");
        report_wrap(out, energy_text(&a, &m->energy), 10, 10);
    }
    arena_reset(&a);
    if (n->candidate.kernel)
        report_indented(out, n->candidate.kernel, 10);
    else
        str_printf(out, "%10ssource in %s; hone show %lld.%d%s --source has it\n", "",
                   tier_language(n->candidate.tier), (long long)v->run.id, n->number,
                   report_store(v));
}

static void say_stop(struct str *out, const struct run_view *v) {
    struct str text = {0};
    int n = report_n_evaluated(v), n_screened = report_n_screened(v);
    str_printf(&text, "%s (%d evaluation%s, ", report_stop_text(v->run.stop_reason), n,
               n == 1 ? "" : "s");
    if (n_screened > 0)
        str_printf(&text, "%d more screened, ", n_screened);
    if (v->run.prolonged)
        str_printf(&text, "%.1f s, prolonged beyond the %.3g s given: %s)", v->run.elapsed_s,
                   v->run.max_seconds, v->run.prolonged);
    else
        str_printf(&text, "%.0f s)", v->run.elapsed_s);
    str_puts(out, "stopped   ");
    report_wrap(out, str_text(&text), 10, 10);
    str_reset(&text);
}

void report_result(struct str *out, const struct run_view *v) {
    const struct search_node *n = report_champion(v);
    str_puts(out, "\n");
    if (n)
        say_champion(out, v, n);
    else if (v->run.state == RUN_DONE)
        str_printf(out, "champion  none: %s\n",
                   v->run.null_kernel ? "the problem is degenerate" : "no candidate passed");
    report_unresolved(out, v);
    say_stop(out, v);
    str_printf(out, "stored    run %lld in %s; see hone report %lld%s\n", (long long)v->run.id,
               v->store, (long long)v->run.id, report_store(v));
    if (n)
        str_printf(out, "next      hone export %lld%s -o %s-kernel\n", (long long)v->run.id,
                   report_store(v), v->run.problem_name);
    if (v->run.state == RUN_DONE)
        return;
    str_printf(out, "next      hone optimize --resume %lld%s\n", (long long)v->run.id,
               report_store(v));
    bool has_any = false;
    for (int i = 0; i < v->n_nodes; i++)
        has_any = has_any || isfinite(report_time(&v->nodes[i]));
    if (has_any)
        str_printf(out,
                   "          hone export %lld%s -o %s-kernel: the fastest so far, not confirmed\n",
                   (long long)v->run.id, report_store(v), v->run.problem_name);
}

json_t *report_champion_json(const struct run_view *v) {
    const struct search_node *n = report_champion(v);
    if (!n)
        return !report_is_confirmed(&v->run) ? json_null()
                                             : json_pack("{s:i, s:f}", "node", v->run.champion,
                                                         "time_s", v->run.confirm.median_s);
    const struct error_stats *e = &v->run.confirm_verdict.error;
    json_t *error =
        json_pack("{s:o, s:o, s:o, s:o}", "rms", json_optional_real(e->rms), "max",
                  json_optional_real(e->max), "limit_rms", json_optional_real(e->limit_rms),
                  "limit_max", json_optional_real(e->limit_max));
    json_t *json = json_pack("{s:i, s:o, s:f, s:o}", "node", n->number, "kernel",
                             json_optional_text(n->candidate.kernel), "time_s",
                             v->run.confirm.median_s, "error", error);
    if (v->run.confirm.energy.present)
        json_object_set_new(json, "energy", energy_to_json(&v->run.confirm.energy));
    return json;
}

bool report_has_baseline(const struct run *r) {
    return r->baseline.source || !r->start.source;
}

const char *report_baseline(const struct run *r) {
    return !report_has_baseline(r) ? "none" : r->baseline.label ? r->baseline.label : "plain";
}

json_t *report_speedup_json(const struct run *r) {
    const struct measurement *m = &r->confirm;
    if (!report_is_confirmed(r) || r->speedup_unknown)
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:f}", "value", m->speedup, "low", m->speedup_low, "high",
                     m->speedup_high, "confidence", m->confidence);
}

json_t *report_reach_json(const struct run *r) {
    double reach = report_reach(r);
    if (!isfinite(reach))
        return json_null();
    return json_pack("{s:f, s:o}", "seconds", reach, "fraction",
                     report_is_confirmed(r) ? json_real(reach / r->confirm.median_s) : json_null());
}

static json_t *llm_json(const struct run_view *v) {
    const struct spend *s = &v->spend;
    if (!v->run.llm.spec)
        return json_null();
    return json_pack("{s:s, s:i, s:i, s:I, s:I, s:I, s:i, s:o}", "spec", v->run.llm.spec, "calls",
                     s->n_calls, "failed", s->n_failed, "tokens_in", (json_int_t)s->in,
                     "tokens_cached", (json_int_t)s->in_cached, "tokens_out", (json_int_t)s->out,
                     "uncounted", s->n_uncounted, "usd",
                     s->n_unpriced > 0 ? json_null() : json_real(s->usd));
}

json_t *report_result_json(const struct run_view *v) {
    const struct run *r = &v->run;
    json_t *json = json_pack(
        "{s:s, s:I, s:s, s:s, s:o, s:o, s:{s:s, s:s}, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:i, s:f, "
        "s:o}",
        "schema", "hone.optimize/1", "run", (json_int_t)r->id, "store", v->store, "state",
        run_state_name(r->state), "stop_reason", json_optional_text(r->stop_reason), "null_kernel",
        json_optional_text(r->null_kernel), "problem", "name", r->problem_name, "hash",
        r->problem_hash, "target", r->target, "device", r->device, "baseline", report_baseline(r),
        "speedup", report_speedup_json(r), "reach", report_reach_json(r), "bound",
        report_bound_json(r), "champion", report_champion_json(v), "evals", report_n_evaluated(v),
        "elapsed_s", r->elapsed_s, "llm", llm_json(v));
    json_object_set_new(json, "objective", json_string(run_objective_names[r->objective]));
    json_object_set_new(json, "screened", json_integer(report_n_screened(v)));
    json_object_set_new(json, "speedup_unknown", json_optional_text(r->speedup_unknown));
    return json;
}
