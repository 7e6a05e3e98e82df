// Judge (or look up) first, then run it once more under counters, then the tools with both.
#include "ops/op_profile_candidate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "ops/op_eval.h"
#include "ops/op_machine.h"
#include "ops/op_runs.h"
#include "ops/plugins.h"
#include "play/play.h"
#include "profile/classify.h"
#include "profile/source.h"
#include "store/store.h"
#include "tools/tool.h"

enum { ACTIONS_SHOWN = 3, SPOTS_SHOWN = 3 };

// What only a profiler of the card can do.
static bool is_countable(const struct candidate_profile_request *q, const struct target *t,
                         struct error *err) {
    return t->is_gpu || (!q->by_ncu && q->repeat == 0) ||
           error_set(err, ERROR_UNSUPPORTED, "--by ncu and --repeat are for a GPU (--target cuda)");
}

static bool judge_file(struct arena *a, const struct candidate_profile_request *q,
                       struct candidate_profile *out, struct error *err) {
    struct eval_report *r = arena_new(a, struct eval_report);
    struct eval_request ask = {.problem = q->file,
                               .candidate = q->candidate ? q->candidate : "default",
                               .target = q->target                     ? q->target
                                         : q->by_ncu || q->repeat != 0 ? "cuda"
                                                                       : NULL,
                               .dims = q->dims,
                               .depth = EVAL_SCREEN};
    if ((ask.target && !op_target(a, ask.target, &out->target, err)) ||
        (ask.target && !is_countable(q, &out->target, err)) || !op_eval(a, &ask, r, err))
        return false;
    out->problem = r->problem;
    out->target = r->target;
    out->bound = r->bound;
    out->candidate = r->candidate;
    out->verdict = r->result.verdict;
    out->profile = r->result.profile;
    if (r->result.measurement.present)
        profile_set(&out->profile, METRIC_TIME, r->result.measurement.median_s);
    return true;
}

static bool look_up(struct arena *a, const struct candidate_profile_request *q,
                    struct candidate_profile *out, struct error *err) {
    struct run_view v;
    struct problem *problem;
    int node;
    if (!op_show(a, q->store, q->file, &v, &node, err))
        return false;
    if (node < 0)
        return error_set(err, ERROR_USAGE, "%s is a run; name a node of it, like %lld.0", q->file,
                         (long long)v.run.id);
    const struct search_node *n = &v.nodes[node];
    if (!op_stored_problem(a, &v.run, &problem, err) ||
        !op_target(a,
                   q->target                          ? q->target
                   : strcmp(v.run.target, "cpu") == 0 ? "cpu"
                                                      : "cuda",
                   &out->target, err))
        return false;
    bound_compute(problem, &out->target, &out->bound);
    out->problem = problem;
    out->candidate = n->candidate;
    out->verdict = n->verdict;
    out->profile = n->profile;
    return n->candidate.source ||
           error_set(err, ERROR_USAGE, "%s has no source in the store", q->file);
}

// Lines that samples lie in belong to the node from now on: its page shows them.
static void keep_lines(struct arena *a, const struct candidate_profile_request *q,
                       struct candidate_profile *out) {
    struct error err = {0};
    struct store *s = NULL;
    struct run_view v;
    int node;
    if (out->profile.n_lines == 0)
        return;
    bool ok = op_show(a, q->store, q->file, &v, &node, &err) &&
              op_open_store(a, q->store, true, &s, &err) && store_lock_run(s, v.run.id, &err);
    if (ok) {
        struct search_node n = v.nodes[node];
        n.profile.lines = out->profile.lines;
        n.profile.n_lines = out->profile.n_lines;
        ok = store_put_node(s, v.run.id, &n, &err);
    }
    if (s)
        store_close(s);
    if (!ok && out->collected.n_notes < COLLECT_NOTES_MAX)
        out->collected.notes[out->collected.n_notes++] =
            arena_printf(a, "samples are not kept with the node: %s", err.text);
}

// In a process that stays: the first time with its start, then as in a search.
static bool repeat(struct play *play, struct arena *a, int n, struct candidate_profile *out,
                   struct error *err) {
    for (int i = 0; n > 0 && i <= n; i++) {
        struct collected seen;
        int64_t start_ns = clock_now_ns();
        out->again = (struct profile){0};
        if (!play_candidate(play, a, &out->candidate, PLAY_QUICK, &out->again, &seen, err))
            return false;
        out->again_s[out->n_again++] = (double)(clock_now_ns() - start_ns) * 1e-9;
    }
    return true;
}

static bool play(struct arena *a, const struct candidate_profile_request *q,
                 struct candidate_profile *out, struct error *err) {
    struct play *play;
    if (!is_countable(q, &out->target, err) || !play_open(&play, out->problem, &out->target, err))
        return false;
    bool ok = play_candidate(play, a, &out->candidate, q->by_ncu ? PLAY_NCU : PLAY_FULL,
                             &out->profile, &out->collected, err) &&
              repeat(play, a, q->repeat, out, err);
    play_close(play);
    return ok;
}

static void note_wrong(void *ctx, const char *words) {
    struct collected *c = ctx;
    if (c->n_notes < COLLECT_NOTES_MAX)
        c->notes[c->n_notes++] = words;
}

// On a CPU the judge's own runner was counted and its code read: what of that could not be had.
static void note_absent(struct arena *a, struct candidate_profile *out) {
    for (int i = 0; i < n_sources; i++) {
        const struct source *from = &sources[i];
        const char *why = "";
        bool is_silent = from->silent && !isfinite(profile_get(&out->profile, from->metric));
        bool is_there = from->is_cpu && from->find(a, &why);
        if (from->is_cpu && (!is_there || is_silent))
            note_wrong(&out->collected,
                       arena_printf(a, "%s: %s", from->gives, is_there ? from->silent : why));
    }
}

bool op_profile_candidate(struct arena *a, const struct candidate_profile_request *q,
                          struct candidate_profile *out, struct error *err) {
    *out = (struct candidate_profile){0};
    if (!(file_exists(q->file) ? judge_file(a, q, out, err) : look_up(a, q, out, err)))
        return false;
    if (out->verdict.kind != VERDICT_OK)
        return true;  // the answer is negative
    if (!out->target.is_gpu)
        note_absent(a, out);
    else if (!play(a, q, out, err))
        return false;
    if (!file_exists(q->file))
        keep_lines(a, q, out);
    struct plugins plugins;
    plugins_find(a, q->tool, &plugins);
    plugins_report(a, &plugins, &out->target, &out->bound, &out->profile, note_wrong,
                   &out->collected);
    struct tool_input in = {.problem = out->problem,
                            .target = &out->target,
                            .bound = &out->bound,
                            .candidate = &out->candidate,
                            .profile = &out->profile};
    out->n_findings = tools_examine(a, &in, out->findings, NODE_FINDINGS_MAX);
    return true;
}

// ---- for people

static int compare_seconds(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static void put_runs(struct str *s, const struct candidate_profile *p) {
    const double *run_s = p->collected.run_s;
    double sorted[REPEAT_MAX];
    int n = p->n_again - 1;
    if (run_s[0] > 0)
        str_printf(s, "runs: %.2f s with a timeline, %.2f s with counters, %.2f s with samples\n",
                   run_s[0], run_s[1], run_s[2]);
    else if (run_s[1] > 0)
        str_printf(s, "runs: %.2f s by ncu\n", run_s[1]);
    if (n < 1)
        return;
    memcpy(sorted, p->again_s + 1, sizeof *sorted * (size_t)n);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_seconds);
    str_printf(s,
               "counted again: %.2f s with the start of the process, then %.3f s (median of %d)\n",
               p->again_s[0], sorted[n / 2], n);
}

static void put_launches(struct arena *a, struct str *s, const struct candidate_profile *p) {
    for (int i = 0; i < p->collected.profile.n_launches; i++) {
        const struct collected_kernel *k = &p->collected.kernels[i];
        const struct metrics *m = &p->collected.profile.launches[i].metrics;
        struct class_of class = classify_launch(m, &p->target);
        str_printf(s, "%s\n", k->kernel->words);
        str_printf(s, "  time      %s; %.0f%% of the time of all kernels\n",
                   clock_duration(a, metrics_get(m, METRIC_TIME) * 1e9),
                   100 * k->kernel->total_s / p->collected.all_s);
        if (class.kind != CLASS_UNKNOWN)
            str_printf(s, "  class     %s\n", class_text(a, &class));
        for (int j = 0; j < k->n_spots && j < SPOTS_SHOWN; j++)
            str_printf(s, "  %-9s %.0f%% of the waiting at %s at 0x%llx: %s\n", j ? "" : "where",
                       100 * k->spots[j].share, k->spots[j].code ? k->spots[j].code : "?",
                       (unsigned long long)k->spots[j].pc, k->spots[j].reason);
    }
}

// The processor's own counters and the model of its hot loop, where there are any.
static void put_cpu(struct str *s, const struct profile *p) {
    double cycles = profile_get(p, METRIC_CPU_CYCLES), turn = profile_get(p, METRIC_HOT_CYCLES);
    if (isfinite(cycles))
        str_printf(
            s, "counters    %.3g cycles, %.2f instructions a cycle, %.3g misses of the caches\n",
            cycles, profile_get(p, METRIC_CPU_INSTRUCTIONS) / cycles,
            profile_get(p, METRIC_CPU_CACHE_MISSES));
    if (isfinite(turn))
        str_printf(s, "hot loop    %.1f cycles a turn by llvm-mca, %.1f by its units\n", turn,
                   profile_get(p, METRIC_HOT_UNIT_CYCLES));
}

const char *op_profile_candidate_text(struct arena *a, const struct candidate_profile *p) {
    struct str s = {0};
    double time_s = profile_get(&p->profile, METRIC_TIME);
    str_printf(&s, "%s, %s, on %s: %s", p->problem->name, p->candidate.label, p->target.device,
               verdict_kind_name(p->verdict.kind));
    if (p->verdict.kind != VERDICT_OK) {
        str_printf(&s, "\n  %s\nonly what is correct is profiled\n", p->verdict.evidence);
        return str_take(a, &s);
    }
    if (isfinite(time_s))
        str_printf(&s, ", %s", clock_duration(a, time_s * 1e9));
    if (isfinite(p->bound.reach_s / time_s))
        str_printf(&s, ", %.0f%% of reach", 100 * p->bound.reach_s / time_s);
    str_puts(&s, "\n");
    put_launches(a, &s, p);
    if (!p->target.is_gpu)
        put_cpu(&s, &p->profile);
    for (int i = 0; i < p->n_findings; i++) {
        const struct finding *f = &p->findings[i];
        str_printf(&s, "%-11s %s (%s): %s", i == 0 ? "findings" : "", f->tool, finding_weight(a, f),
                   f->cause);
        if (f->expected_gain > 1.005)
            str_printf(&s, "; worth up to %.2fx", f->expected_gain);
        str_printf(&s, "\n%*s%s\n", 12, "", f->evidence);
        for (int k = 0; k < f->n_actions && k < ACTIONS_SHOWN; k++)
            str_printf(&s, "%*s- %s\n", 12, "", action_text(a, &f->actions[k]));
    }
    if (p->n_findings == 0)
        str_puts(&s, "findings    none\n");
    for (int i = 0; i < p->collected.n_notes; i++)
        str_printf(&s, "absent: %s\n", p->collected.notes[i]);
    put_runs(&s, p);
    return str_take(a, &s);
}

// ---- for programs

json_t *op_profile_candidate_json(const struct candidate_profile *p) {
    json_t *findings = json_array(), *absent = json_array(), *runs = json_array(),
           *again = json_array();
    for (int i = 0; i < 3; i++)
        json_array_append_new(runs, json_real(p->collected.run_s[i]));
    for (int i = 0; i < p->n_again; i++)
        json_array_append_new(again, json_real(p->again_s[i]));
    for (int i = 0; i < p->n_findings; i++)
        json_array_append_new(findings, finding_to_json(&p->findings[i]));
    for (int i = 0; i < p->collected.n_notes; i++)
        json_array_append_new(absent, json_optional_text(p->collected.notes[i]));
    return json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
                     "hone.candidate_profile/1", "problem", p->problem->name, "device",
                     p->target.device, "candidate", json_optional_text(p->candidate.label),
                     "verdict", verdict_kind_name(p->verdict.kind), "reach_s",
                     json_optional_real(p->bound.reach_s), "profile", profile_to_json(&p->profile),
                     "findings", findings, "absent", absent, "runs_s", runs, "again_s", again,
                     "again", p->n_again > 0 ? profile_to_json(&p->again) : json_null());
}
