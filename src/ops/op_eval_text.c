// What came of a judgement: for a person, a line for each thing that is known, and as JSON.
#include <math.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "eval/pairs.h"
#include "ops/op_eval.h"
#include "ops/op_resolution.h"

enum { ACTIONS_SHOWN = 3 };

// What follows "faster" or "slower" when the interval says little.
static const char *width(struct arena *a, const struct measurement *m) {
    const char *text = measurement_width_text(a, m->speedup_low, m->speedup_high);
    return text ? arena_printf(
                      a, "; how much is %s, more --seconds or a quieter machine would help", text)
                : "";
}

const char *op_eval_pair_text(struct arena *a, const struct eval_report reports[2]) {
    const struct measurement *m = &reports[0].result.measurement;
    const char *first = reports[0].candidate.label, *second = reports[1].candidate.label;
    int order = measurement_compare(m);
    if (!m->present)
        return "they cannot be compared: a kernel that is not correct has no speed";
    if (order == 0)
        return arena_printf(a, "no difference between %s and %s is resolved: %s, between %s and %s",
                            first, second, measurement_ratio_text(a, m->speedup),
                            measurement_ratio_text(a, m->speedup_low),
                            measurement_ratio_text(a, m->speedup_high));
    bool is_first = order > 0;
    return arena_printf(a, "%s is faster than %s: %s, between %s and %s%s",
                        is_first ? first : second, is_first ? second : first,
                        measurement_ratio_text(a, is_first ? m->speedup : 1 / m->speedup),
                        measurement_ratio_text(a, is_first ? m->speedup_low : 1 / m->speedup_high),
                        measurement_ratio_text(a, is_first ? m->speedup_high : 1 / m->speedup_low),
                        width(a, m));
}

// Where the time went; what is left over is starting processes and talking to them.
static json_t *phases_json(const struct eval_report *r) {
    json_t *phases = json_pack("{s:f, s:f, s:f}", "prepare", r->prepare_s, "null_kernel", r->null_s,
                               "close", r->close_s);
    double other = r->seconds - r->prepare_s - r->null_s - r->close_s;
    for (int i = 0; i < PHASE_COUNT; i++) {
        json_object_set_new(phases, eval_phase_names[i], json_real(r->result.phase_s[i]));
        other -= r->result.phase_s[i];
    }
    json_object_set_new(phases, "other", json_real(other));
    return phases;
}

// Which difference this comparison could have resolved.
static double resolved_by(const struct measurement *m) {
    return pairs_resolution((m->speedup_high - m->speedup_low) / 2 / m->speedup);
}

static json_t *resolution_json(const struct eval_report *r) {
    const struct measurement *m = &r->result.measurement;
    if (r->resolution <= 0)
        return json_null();
    return json_pack("{s:f, s:o}", "asked", r->resolution, "told",
                     json_optional_real(m->present ? resolved_by(m) : NAN));
}

json_t *op_eval_json(const struct eval_report *r) {
    json_t *findings = json_array();
    for (int i = 0; i < r->n_findings; i++)
        json_array_append_new(findings, finding_to_json(&r->findings[i]));
    json_t *seed = json_null();
    if (r->seed)
        seed = json_sprintf("%llu", (unsigned long long)r->seed);
    json_t *degenerate = r->is_null_known ? json_boolean(r->null_kernel != NULL) : json_null();
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o}",
        "schema", "hone.eval/1", "problem", r->problem->name, "target", r->target.name, "device",
        r->target.device, "candidate", r->candidate.label, "hash",
        json_optional_text(r->candidate.hash), "seed", seed, "degenerate", degenerate,
        "null_kernel", json_optional_text(r->null_kernel), "verdict",
        verdict_to_json(&r->result.verdict), "measurement",
        measurement_to_json(&r->result.measurement), "resolution", resolution_json(r), "profile",
        profile_to_json(&r->result.profile), "findings", findings, "bound",
        bound_to_json(&r->bound), "seconds", r->seconds, "phases", phases_json(r));
}

json_t *op_eval_pair_json(struct arena *a, const struct eval_report reports[2]) {
    const struct measurement *m = &reports[0].result.measurement;
    int order = m->present ? measurement_compare(m) : 0;
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "hone.compare/1",
                     "first", op_eval_json(&reports[0]), "second", op_eval_json(&reports[1]),
                     "faster",
                     json_optional_text(order > 0   ? "first"
                                        : order < 0 ? "second"
                                                    : NULL),
                     "speedup", json_optional_real(m->present ? m->speedup : NAN), "low",
                     json_optional_real(m->present ? m->speedup_low : NAN), "high",
                     json_optional_real(m->present ? m->speedup_high : NAN), "words",
                     json_optional_text(op_eval_pair_text(a, reports)));
}

// Lines after the first are set in by two.
static void put_evidence(struct str *s, const char *evidence) {
    for (const char *c = evidence; *c; c++) {
        str_append(s, c, 1);
        if (*c == '\n' && c[1])
            str_puts(s, "  ");
    }
    str_puts(s, "\n");
}

// With the difference that was asked for.
static void put_resolved(struct str *s, const struct measurement *m, double asked) {
    double resolved = resolved_by(m);
    str_printf(s, "  resolves  differences of %.2g%% and more, ", 100 * resolved);
    str_printf(s,
               resolved <= asked
                   ? "%.3g%% was asked for\n"
                   : "not the %.3g%% asked for: more --seconds, or a quieter machine\n",
               100 * asked);
}

static void put_time(struct arena *a, struct str *s, const struct eval_report *r) {
    const struct measurement *m = &r->result.measurement;
    str_printf(s, "  time      %s", clock_duration(a, m->median_s * 1e9));
    if (isfinite(r->bound.reach_s))
        str_printf(s, ", %s of reach (%s%s)", str_percent(a, r->bound.reach_s / m->median_s),
                   clock_duration(a, r->bound.reach_s * 1e9),
                   !ceilings_are_unsure(&r->target.ceilings)
                       ? ""
                       : arena_printf(a, ", uncertain: hone calibrate had a spread of %.0f%%",
                                      100 * ceilings_spread(&r->target.ceilings)));
    if (isfinite(r->bound.light_s))
        str_printf(s, ", %s of the speed of light (%s)",
                   str_percent(a, r->bound.light_s / m->median_s),
                   clock_duration(a, r->bound.light_s * 1e9));
    str_printf(s, "\n  bound     %s\n", bound_line(a, &r->bound));
    int order = measurement_compare(m);
    str_printf(s, "  speed-up  %s over %s (%s), between %s and %s: %s%s\n",
               measurement_ratio_text(a, m->speedup), m->baseline,
               clock_duration(a, m->baseline_median_s * 1e9),
               measurement_ratio_text(a, m->speedup_low),
               measurement_ratio_text(a, m->speedup_high),
               order > 0   ? "faster"
               : order < 0 ? "slower"
                           : "no difference is resolved",
               width(a, m));
    str_printf(s, "  measured  %d pairs", m->n_pairs);
    if (m->n_dropped)
        str_printf(s, ", %d disturbed ones left out", m->n_dropped);
    str_printf(s, ", %.3g%% confidence; %s\n", 100 * m->confidence, m->method);
    if (m->clocks)
        str_printf(s, "  clocks    %s\n", m->clocks);
    if (m->energy.present)
        str_printf(s, "  energy    %s\n", energy_text(a, &m->energy));
    if (r->resolution > 0)
        put_resolved(s, m, r->resolution);
    struct resolution resolution;
    op_resolution_load(a, &r->target, &resolution);
    if (resolution.present)
        str_printf(s, "  resolves  %s here, of a call of %s\n", op_resolution_text(a, &resolution),
                   clock_duration(a, resolution.call_s * 1e9));
}

// What the driver and the assembler say about the largest launch of a GPU's candidate.
static void put_resources(struct str *s, const struct profile *p) {
    static const struct {
        enum metric_id metric;
        const char *words;
    } rows[] = {{METRIC_BLOCKS, "blocks"},           {METRIC_BLOCK_THREADS, "threads each"},
                {METRIC_REGISTERS, "registers"},     {METRIC_SHARED_BYTES, "bytes shared"},
                {METRIC_LOCAL_BYTES, "bytes local"}, {METRIC_SPILL_BYTES, "bytes spilled"}};
    double occupancy = profile_get(p, METRIC_OCCUPANCY);
    const char *between = "  launch    ";
    if (isnan(profile_get(p, METRIC_BLOCK_THREADS)))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double value = profile_get(p, rows[i].metric);
        if (isnan(value))
            continue;
        str_printf(s, "%s%.0f %s", between, value, rows[i].words);
        between = ", ";
    }
    if (isfinite(occupancy))
        str_printf(s, "; occupancy %.0f%%", 100 * occupancy);
    str_puts(s, "\n");
}

static void put_launches(struct arena *a, struct str *s, const struct profile *p) {
    const char *words = profile_launch_text(a, p);
    if (*words)
        str_printf(s, "  launches  %s\n", words);
}

static void put_findings(struct arena *a, struct str *s, const struct eval_report *r) {
    for (int i = 0; i < r->n_findings; i++) {
        const struct finding *f = &r->findings[i];
        bool has_name = f->launch && r->result.profile.n_launches > 1;
        str_printf(s, "  %-9s %s%s%s (%s): %s; %s", i == 0 ? "findings" : "", f->tool,
                   has_name ? " in " : "", has_name ? f->launch : "", finding_weight(a, f),
                   f->cause, f->evidence);
        if (f->expected_gain > 1.005)
            str_printf(s, "; worth up to %.2fx", f->expected_gain);
        str_puts(s, "\n");
        for (int k = 0; k < f->n_actions && k < ACTIONS_SHOWN; k++)
            str_printf(s, "%*s- %s\n", 14, "", action_text(a, &f->actions[k]));
    }
}

// How to see it again: of a verdict on calls that went wrong.
static void put_repeat(struct str *s, const struct eval_report *r) {
    const struct verdict *v = &r->result.verdict;
    bool is_about_calls = v->kind == VERDICT_CRASH || v->kind == VERDICT_TIMEOUT ||
                          (verdict_is_of_calls(v) && v->kind != VERDICT_OK);
    if (r->seed && is_about_calls)
        str_printf(s, "  repeat    --seed %llu draws these inputs again\n",
                   (unsigned long long)r->seed);
}

// How long a part took; a part that did not happen, or came out of the cache, has no time.
static const char *part(struct arena *a, double seconds) {
    return seconds > 0 ? clock_duration(a, seconds * 1e9) : "not timed";
}

static int count_words(const char *const *words) {
    int n = 0;
    while (words[n])
        n++;
    return n;
}

// What a probe was refused in the sandbox that the candidate ran in; by name only what was not.
static void put_sandbox(struct str *s, const struct verdict *v) {
    if (!v->refused || !v->allowed)
        return;
    int n_refused = count_words(v->refused), n_allowed = count_words(v->allowed);
    str_printf(s, "  sandbox   level %d; a probe was refused %d of %d forbidden things",
               v->sandbox_level, n_refused, n_refused + n_allowed);
    for (int i = 0; i < n_allowed; i++)
        str_printf(s, "%s%s", i ? ", " : ", but not: ", v->allowed[i]);
    str_puts(s, "\n");
}

const char *op_eval_text(struct arena *a, const struct eval_report *r) {
    const struct verdict *v = &r->result.verdict;
    struct str s = {0};
    str_printf(&s, "%s on %s (%s)\n", r->problem->name, r->target.name, r->target.device);
    if (r->null_kernel)
        str_printf(
            &s,
            "  degenerate: a kernel that does no more than %s would pass on every input set, "
            "so a\n  verdict on this problem says nothing\n",
            r->null_kernel);
    str_printf(&s, "%s: %s%s%s%s%s\n", r->candidate.label, verdict_kind_name(v->kind),
               v->rule ? " (" : "", v->rule ? v->rule : "", v->rule ? ")" : "",
               r->null_kernel ? ", on a degenerate problem" : "");
    if (*v->evidence) {
        str_puts(&s, "  ");
        put_evidence(&s, v->evidence);
    }
    if (v->kind == VERDICT_OK || v->kind == VERDICT_SUSPECT)
        str_printf(&s,
                   "  correct   %d calls on %d input sets; error %.3g of the %.3g allowed "
                   "(honest f32: %.3g)\n",
                   v->n_calls, v->n_sets, v->error.max, v->error.limit_max, v->error.honest_max);
    if (r->result.measurement.present)
        put_time(a, &s, r);
    put_resources(&s, &r->result.profile);
    put_launches(a, &s, &r->result.profile);
    put_findings(a, &s, r);
    double restart_s = profile_get(&r->result.profile, METRIC_RESTART);
    if (isfinite(restart_s))
        str_printf(&s, "  restart   %s from the loss of a runner to the first call after it\n",
                   clock_duration(a, restart_s * 1e9));
    put_repeat(&s, r);
    put_sandbox(&s, v);
    str_printf(&s, "  took      %s (compile %s, verify %s, time %s)\n",
               clock_duration(a, r->seconds * 1e9), part(a, r->result.compile_s),
               part(a, r->result.verify_s), part(a, r->result.timing_s));
    return str_take(a, &s);
}
