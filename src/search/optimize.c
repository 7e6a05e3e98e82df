// `optimize` at the end of the file is the list of calls; above it, in the order in which they are
// needed: judging a node (screening, ranking), the batch, re-measured ceilings, play-off and
// confirmation.
#include "search/optimize.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "family/lower.h"
#include "mind/proposer.h"
#include "record/run.h"
#include "search/decide.h"
#include "search/finale.h"
#include "search/progress.h"
#include "store/store.h"
#include "tools/tool.h"

// So many verdicts of infra one after the other, each after three attempts of the
// evaluator's own, mean that the machine cannot judge at present.
enum { INFRA_MAX = 3 };

// Faster than this fraction of reach nothing should be; then the ceilings are measured again, but
// only so often.
static const double BEYOND = 1.02;
// Where between an estimate and the end of its interval a candidate is taken to lie at best.
static const double LIKELY = 0.25;
enum { REMEASURE_MAX = 3 };
// Evaluations that a run makes, whatever its time, while nothing passes.
enum { PROLONGED_EVALS = 4 };

struct loop {
    const struct optimize_job *job;
    struct run *run;
    struct arena *a;       // the run: nodes and their records
    struct arena scratch;  // one decision
    struct search_node *nodes;
    int n_nodes, room;
    int64_t started_ns;
    double elapsed_before_s;     // by earlier processes
    int n_remeasured;            // by this process
    double first_eval_s;         // how long the first evaluation of this process took
    const char *baseline_fault;  // what is wrong with the baseline; NULL: nothing that is known
    bool was_prolonged;          // beyond its time, and that was said
};

static void update_elapsed(struct loop *l) {
    l->run->elapsed_s = l->elapsed_before_s + (double)(clock_now_ns() - l->started_ns) / 1e9;
}

static void tell(struct loop *l, enum event_kind kind, const struct search_node *n) {
    if (!l->job->on_event)
        return;
    int best = progress_champion(l->nodes, l->n_nodes);
    struct event e = {
        .kind = kind,
        .run = l->run,
        .node = n,
        .n_evals = progress_evals(l->nodes, l->n_nodes),
        .best = best,
        .best_s = best < 0 ? NAN : l->nodes[best].measurement.median_s,
        .reach_s = l->job->bound->reach_s,
        .elapsed_s = l->run->elapsed_s,
    };
    l->job->on_event(&e, l->job->event_ctx);
}

static struct search_node *add_node(struct loop *l) {
    if (l->n_nodes == l->room) {
        int room = l->room ? 2 * l->room : 64;
        struct search_node *nodes = arena_array(l->a, struct search_node, room);
        if (l->n_nodes > 0)
            memcpy(nodes, l->nodes, sizeof *nodes * (size_t)l->n_nodes);
        l->nodes = nodes;
        l->room = room;
    }
    struct search_node *n = &l->nodes[l->n_nodes];
    *n = (struct search_node){
        .number = l->n_nodes, .parent = -1, .expected = NAN, .gain = NAN, .time_s = NAN};
    l->n_nodes++;
    l->run->n_nodes = l->n_nodes;
    return n;
}

static bool load_nodes(struct loop *l, struct error *err) {
    if (!store_get_nodes(l->job->store, l->a, l->run->id, &l->nodes, &l->n_nodes, err))
        return false;
    l->room = l->n_nodes;
    l->run->n_nodes = l->n_nodes;
    l->run->state = RUN_ACTIVE;
    l->run->ended_at = NULL;
    l->run->stop_reason = NULL;
    if (!store_update_run(l->job->store, l->run, err))
        return false;
    tell(l, EVENT_STARTED, NULL);
    return true;
}

static bool add_root(struct loop *l, struct error *err) {
    if (l->n_nodes > 0)
        return true;
    struct kernel k = {0};
    struct candidate c = l->run->start;
    bool is_given = c.source != NULL;
    if (!is_given) {
        lower_default(l->a, l->job->problem, l->job->target, &k);
        if (!lower_kernel(l->a, l->job->problem, l->job->target, &k, &c, err))
            return error_wrap(err, "default kernel");
        c.label = "default";
    }
    struct search_node *root = add_node(l);
    root->candidate = c;
    root->move = "";
    root->reason = is_given ? "where the search was told to begin" : "the default lowering";
    return store_put_node(l->job->store, l->run->id, root, err);
}

static bool same_source(const struct candidate *x, const struct candidate *y) {
    return x->source && y->source && strcmp(x->hash, y->hash) == 0;
}

// What candidates are timed against: the root, so that all times compare; when the root does not
// work, the baseline, and without one the first that does.
static const struct candidate *baseline_of(const struct loop *l, const struct search_node *n) {
    if (n->number == 0)
        return NULL;
    const struct search_node *root = &l->nodes[0];
    if (root->verdict.kind == VERDICT_OK && root->measurement.present)
        return &root->candidate;
    bool is_same = same_source(&l->run->baseline, &root->candidate);
    if (l->run->baseline.source && !is_same && !l->baseline_fault)
        return &l->run->baseline;
    for (int i = 1; i < l->n_nodes && i != n->number; i++)
        if (l->nodes[i].verdict.kind == VERDICT_OK && l->nodes[i].measurement.present)
            return &l->nodes[i].candidate;
    return NULL;
}

// Is the verdict about the baseline and says nothing of the candidate?
static bool is_fault_of_baseline(const struct verdict *v) {
    return v->kind == VERDICT_INFRA && v->rule && strcmp(v->rule, "baseline") == 0;
}

static const char *first_line(struct arena *a, const char *text) {
    return arena_strndup(a, text, strcspn(text, "\n"));
}

static double time_of(const struct loop *l, const struct search_node *n) {
    const struct measurement *m = &n->measurement;
    if (n->verdict.kind != VERDICT_OK || !m->present)
        return NAN;
    if (n->number == 0)
        return m->median_s;
    const struct search_node *root = &l->nodes[0];
    return (isfinite(root->time_s) ? root->time_s : m->baseline_median_s) / m->speedup;
}

static void explain(struct loop *l, struct search_node *n) {
    if (!isfinite(n->time_s))
        return;
    profile_set(&n->profile, METRIC_TIME, n->measurement.median_s);
    struct tool_input in = {.problem = l->job->problem,
                            .target = l->job->target,
                            .bound = l->job->bound,
                            .candidate = &n->candidate,
                            .profile = &n->profile};
    n->n_findings = tools_examine(l->a, &in, n->findings, NODE_FINDINGS_MAX);
}

static bool judge(struct loop *l, const struct eval_job *job, struct eval_result *result,
                  struct error *err) {
    if (interrupt_seen())
        return error_set(err, ERROR_INTERRUPTED, "interrupted");
    int64_t start_ns = clock_now_ns();
    bool ok = l->job->judge.judge(l->job->judge.ctx, l->a, job, result, err);
    log_info("%s: %.2f s (compile %.2f, verify %.2f, timing %.2f), %d pairs", job->candidate->label,
             (double)(clock_now_ns() - start_ns) / 1e9, result->compile_s, result->verify_s,
             result->timing_s, result->measurement.n_pairs);
    return ok;
}

// Is a better number worth its time? The interval is made to be wrong once in a hundred and is wide
// after a few pairs; nearly everything would be ranked by its end. A quarter of the way there is
// about where one in five would be that is as fast as the champion.
static bool is_worth_ranking(const struct loop *l, const struct eval_result *r) {
    const struct measurement *m = &r->measurement;
    int best = progress_champion(l->nodes, l->n_nodes);
    double to_beat = best > 0 ? l->nodes[best].measurement.speedup : 1;
    return r->verdict.kind == VERDICT_OK && m->present &&
           m->speedup * pow(m->speedup_high / m->speedup, LIKELY) > to_beat;
}

static struct eval_job screening(const struct loop *l, const struct search_node *n) {
    return (struct eval_job){
        .candidate = &n->candidate, .baseline = baseline_of(l, n), .depth = EVAL_SCREEN};
}

// A few pairs first: most candidates are certainly not the best, and need no better number.
static bool screen_and_rank(struct loop *l, struct search_node *n, struct eval_result *result,
                            struct error *err) {
    struct eval_job job = screening(l, n);
    bool is_alone = job.baseline == NULL;  // the root, or the first that works
    if (!is_alone && !judge(l, &job, result, err))
        return false;
    // The root does not work, and the baseline neither: there may be another baseline.
    if (job.baseline == &l->run->baseline && is_fault_of_baseline(&result->verdict)) {
        l->baseline_fault = first_line(l->a, result->verdict.evidence);
        return screen_and_rank(l, n, result, err);
    }
    if (!is_alone && (result->is_final || !is_worth_ranking(l, result)))
        return true;
    job.depth = EVAL_RANK;
    job.seconds = finale_ranking_s(l->run->max_seconds);
    return judge(l, &job, result, err);
}

static bool evaluate(struct loop *l, struct search_node *n, struct error *err) {
    tell(l, EVENT_PROPOSED, n);
    struct eval_result result = {0};
    int64_t start_ns = clock_now_ns();
    if (!screen_and_rank(l, n, &result, err))
        return false;
    if (l->first_eval_s == 0)
        l->first_eval_s = (double)(clock_now_ns() - start_ns) / 1e9;
    n->verdict = result.verdict;
    n->measurement = result.measurement;
    n->profile = result.profile;
    n->time_s = time_of(l, n);
    n->gain = n->parent >= 0 ? l->nodes[n->parent].time_s / n->time_s : NAN;
    explain(l, n);
    n->state = NODE_EVALUATED;
    update_elapsed(l);
    if (!store_put_node(l->job->store, l->run->id, n, err) ||
        !store_update_run(l->job->store, l->run, err))
        return false;
    tell(l, EVENT_EVALUATED, n);
    int n_infra = progress_infra_at_end(l->nodes, l->n_nodes);
    if (n_infra >= INFRA_MAX || (n->number == 0 && n_infra > 0))
        return error_set(err, ERROR_IO, "nothing can be judged on this machine now: %s",
                         n->verdict.evidence);
    return true;
}

// What an earlier process could not judge through our fault; and the root.
static bool evaluate_again(struct loop *l, struct error *err) {
    for (int i = 0; i < l->n_nodes; i++) {
        struct search_node *n = &l->nodes[i];
        bool again = n->state == NODE_PROPOSED ? i == 0 : n->verdict.kind == VERDICT_INFRA;
        if (again && !evaluate(l, n, err))
            return false;
    }
    return true;
}

static bool announce(struct loop *l, struct error *err) {
    const struct judging *j = &l->job->judge;
    bool ok = true;
    for (int i = 0; ok && j->announce && l->run->batch > 1 && i < l->n_nodes; i++)
        if (l->nodes[i].state == NODE_PROPOSED) {
            struct eval_job job = screening(l, &l->nodes[i]);
            ok = j->announce(j->ctx, &job, err);
        }
    return ok;
}

static bool evaluate_batch(struct loop *l, struct error *err) {
    if (!announce(l, err))
        return false;
    for (int i = 0; i < l->n_nodes; i++)
        if (l->nodes[i].state == NODE_PROPOSED && !evaluate(l, &l->nodes[i], err))
            return false;
    return true;
}

// What was measured counts here; time_s is relative to a root that was measured long ago.
static bool is_at_reach(const struct loop *l) {
    int best = progress_champion(l->nodes, l->n_nodes);
    return best >= 0 &&
           l->job->bound->reach_s / l->nodes[best].measurement.median_s >= l->run->until;
}

static void say(struct loop *l, const char *words) {
    struct event e = {.kind = EVENT_NOTE, .words = words, .run = l->run, .best = -1};
    if (l->job->on_event)
        l->job->on_event(&e, l->job->event_ctx);
}

// A run whose time is over before anything passed would have nothing to show for it: it goes on
// to the first candidate that does, for a few evaluations.
static bool is_prolonged(const struct loop *l) {
    return progress_champion(l->nodes, l->n_nodes) < 0 &&
           progress_evals(l->nodes, l->n_nodes) < PROLONGED_EVALS;
}

static void say_prolonged(struct loop *l) {
    bool is_first = progress_evals(l->nodes, l->n_nodes) <= 1;
    if (l->run->elapsed_s <= l->run->max_seconds || l->was_prolonged || !is_first)
        return;
    l->was_prolonged = true;
    say(l, arena_printf(l->a, "the first verdict took %.3g s of the %.3g s given: prolonged to %s",
                        l->run->elapsed_s, l->run->max_seconds,
                        is_prolonged(l) ? "the first candidate that passes" : "its confirmation"));
}

// Why to stop now, or NULL.
static const char *stop_reason(struct loop *l) {
    const struct run *run = l->run;
    update_elapsed(l);
    if (l->job->end_nodes > 0 && l->n_nodes >= l->job->end_nodes)
        return l->job->end_reason;
    if (is_at_reach(l))
        return "reach";
    if (run->max_evals > 0 && progress_evals(l->nodes, l->n_nodes) >= run->max_evals)
        return "evals";
    if (finale_is_near(run->elapsed_s, run->max_seconds, l->first_eval_s)) {
        say_prolonged(l);
        if (!is_prolonged(l))
            return "seconds";
    }
    if (progress_since_gain(l->nodes, l->n_nodes) >= PLATEAU_EVALS)
        return "plateau";
    return NULL;
}

static bool add_decided(struct loop *l, const struct decision *d, struct error *err) {
    struct search_node *n = add_node(l);
    n->parent = d->parent;
    n->move = arena_strdup(l->a, d->move);
    n->change = d->change ? arena_strdup(l->a, d->change) : NULL;
    n->reason = arena_strdup(l->a, d->reason);
    n->by = d->by ? arena_strdup(l->a, d->by) : NULL;
    n->tool = d->tool ? arena_strdup(l->a, d->tool) : NULL;
    n->expected = d->expected > 0 ? d->expected : NAN;
    n->candidate = (struct candidate){
        .tier = d->candidate.tier,
        .source = arena_strdup(l->a, d->candidate.source),
        .kernel = d->candidate.kernel ? arena_strdup(l->a, d->candidate.kernel) : NULL,
        .hash = arena_strdup(l->a, d->candidate.hash),
    };
    n->candidate.label = arena_printf(l->a, "node %d", n->number);
    return store_put_node(l->job->store, l->run->id, n, err);
}

static int count_proposed(const struct loop *l) {
    int n = 0;
    for (int i = 0; i < l->n_nodes; i++)
        n += l->nodes[i].state == NODE_PROPOSED;
    return n;
}

// Decide what to try next and put it in the store; *more is false when nothing is left.
static bool add_next(struct loop *l, bool *more, struct error *err) {
    struct decide_input in = {.problem = l->job->problem,
                              .target = l->job->target,
                              .bound = l->job->bound,
                              .policy = l->job->policy,
                              .proposer = l->job->proposer,
                              .mind = l->job->mind,
                              .nodes = l->nodes,
                              .n_nodes = l->n_nodes,
                              .seed = l->run->seed,
                              .seconds_left = l->run->max_seconds - l->run->elapsed_s,
                              .batch = l->run->batch,
                              .evals_left =
                                  progress_evals_left(l->nodes, l->n_nodes, l->run->max_evals),
                              .mind_since = l->run->llm.since,
                              .scratch = &l->scratch};
    struct decision decision;
    *more = decide(&in, &decision, 1) > 0;
    bool ok = !*more || add_decided(l, &decision, err);
    arena_reset(&l->scratch);
    return ok;
}

static bool disqualify(struct loop *l, struct search_node *n, const struct verdict *v,
                       struct error *err) {
    n->verdict = *v;
    n->verdict.evidence = arena_printf(l->a, "on confirmation: %s", v->evidence);
    n->time_s = NAN;
    if (!store_put_node(l->job->store, l->run->id, n, err))
        return false;
    tell(l, EVENT_DISQUALIFIED, n);
    return true;
}

// One game of the play-off. A winner's time is restated by it, so that the champion follows from
// the stored nodes as ever.
static bool play(struct loop *l, struct search_node *champion, struct search_node *n,
                 struct error *err) {
    struct eval_job job = {.candidate = &n->candidate,
                           .baseline = &champion->candidate,
                           .depth = EVAL_RANK,
                           .seconds = finale_timing_s(l->run->max_seconds)};
    struct eval_result r = {0};
    if (!judge(l, &job, &r, err))
        return false;
    if (r.verdict.kind != VERDICT_OK || !r.measurement.present)
        return true;
    say(l, arena_printf(l->a, "play-off: node %d takes %.3f of the time of node %d", n->number,
                        1 / r.measurement.speedup, champion->number));
    if (r.measurement.speedup <= 1)
        return true;
    n->time_s = champion->time_s / r.measurement.speedup;
    return store_put_node(l->job->store, l->run->id, n, err);
}

// Those that cannot be distinguished from the champion, against it, while there is time.
static bool play_off(struct loop *l, struct error *err) {
    int contenders[CONTENDERS_MAX], best = progress_champion(l->nodes, l->n_nodes);
    int n = best > 0 ? finale_contenders(l->nodes, l->n_nodes, best, contenders) : 0;
    for (int i = 0; i < n; i++) {
        update_elapsed(l);
        if (i > 0 && l->run->elapsed_s + l->first_eval_s > l->run->max_seconds)
            break;
        if (!play(l, &l->nodes[best], &l->nodes[contenders[i]], err))
            return error_wrap(err, "play-off");
        best = progress_champion(l->nodes, l->n_nodes);
    }
    return true;
}

// On fresh data, against the baseline or (baseline NULL) alone.
static bool judge_champion(struct loop *l, const struct search_node *n,
                           const struct candidate *baseline, struct eval_result *result,
                           struct error *err) {
    struct eval_job job = {.candidate = &n->candidate,
                           .baseline = baseline,
                           .depth = EVAL_CONFIRM,
                           .seconds = finale_timing_s(l->run->max_seconds)};
    return judge(l, &job, result, err) || error_wrap(err, "confirm node %d", n->number);
}

// A start that did not work is no baseline.
static void give_up_baseline(struct loop *l) {
    struct run *run = l->run;
    const struct search_node *root = &l->nodes[0];
    if (run->start.source && same_source(&run->baseline, &root->candidate) &&
        root->verdict.kind != VERDICT_OK)
        run->baseline = (struct candidate){0};
}

// Where the baseline cannot be timed the champion is confirmed alone: its time is known then, and
// its speed-up is not.
static bool judge_alone(struct loop *l, const struct search_node *n, struct eval_result *result,
                        struct error *err) {
    const char *why = !l->run->baseline.source ? "there is no baseline that works"
                      : l->baseline_fault      ? l->baseline_fault
                                               : first_line(l->a, result->verdict.evidence);
    say(l,
        arena_printf(l->a, "%s: the speed-up stays unknown, the champion is confirmed alone", why));
    if (!judge_champion(l, n, NULL, result, err))
        return false;
    if (result->verdict.kind == VERDICT_INFRA)
        return error_set(err, ERROR_IO, "confirm node %d: %s", n->number, result->verdict.evidence);
    struct measurement *m = &result->measurement;
    m->speedup = m->speedup_low = m->speedup_high = NAN;
    l->run->speedup_unknown = why;
    return true;
}

// The champion against the baseline on fresh data. One that does not pass is disqualified, for good
// and in the store; the search then goes on, or the next best has its turn.
static bool confirm(struct loop *l, bool *settled, struct error *err) {
    struct run *run = l->run;
    int best = progress_champion(l->nodes, l->n_nodes);
    *settled = best < 0 || (run->champion == best && run->confirm.present);
    if (*settled && best >= 0)
        return true;  // resumed after the confirmation
    run->champion = -1;
    run->confirm = (struct measurement){0};
    run->speedup_unknown = NULL;
    if (best < 0)
        return true;
    if (!play_off(l, err))
        return false;
    best = progress_champion(l->nodes, l->n_nodes);
    struct search_node *n = &l->nodes[best];
    tell(l, EVENT_CONFIRMING, n);
    give_up_baseline(l);
    struct eval_result result = {0};
    bool is_alone = l->baseline_fault || !run->baseline.source;
    if (!is_alone && !judge_champion(l, n, &run->baseline, &result, err))
        return false;
    is_alone |= result.verdict.kind == VERDICT_INFRA;
    if (is_alone && !judge_alone(l, n, &result, err))
        return false;
    *settled = result.verdict.kind == VERDICT_OK && result.measurement.present;
    if (!*settled)
        return disqualify(l, n, &result.verdict, err);
    run->champion = best;
    run->confirm = result.measurement;
    run->confirm_verdict = result.verdict;
    return true;
}

// Write down how it ended. An error of the loop's is kept; this must not hide it.
static bool finish(struct loop *l, bool ok, struct error *err) {
    struct run *run = l->run;
    update_elapsed(l);
    run->state = ok ? RUN_DONE : RUN_INTERRUPTED;
    run->ended_at = clock_timestamp(l->a);
    if (!ok)
        run->stop_reason =
            err->kind == ERROR_INTERRUPTED ? "interrupted" : arena_strdup(l->a, err->text);
    struct error update = {0};
    if (!store_update_run(l->job->store, run, &update) && ok) {
        *err = update;
        ok = false;
    }
    tell(l, EVENT_FINISHED, NULL);
    arena_reset(&l->scratch);
    return ok;
}

// What limited a node was told by a bound that has changed.
static bool explain_again(struct loop *l, struct error *err) {
    for (int i = 0; i < l->n_nodes; i++) {
        struct search_node *n = &l->nodes[i];
        if (n->state != NODE_EVALUATED || !isfinite(n->time_s))
            continue;
        explain(l, n);
        if (!store_put_node(l->job->store, l->run->id, n, err))
            return false;
    }
    return true;
}

// Why to measure again what the machine can do, or NULL. A champion beyond reach means that reach
// is wrong, not that physics is; so may one so far beyond it that it is suspect. One at reach ends
// the run, so the ceilings must not be those of a slow moment; with half of the time spent they
// are left at that.
static const char *doubt_of_reach(struct loop *l) {
    const struct optimize_job *job = l->job;
    int best = progress_champion(l->nodes, l->n_nodes);
    if (job->is_measured_next)
        return job->is_measured_next(job->remeasure_ctx) ? "" : NULL;
    if (l->n_remeasured == 0 && progress_beyond_reach(l->nodes, l->n_nodes, 0) >= 0)
        return "far beyond reach";
    if (best < 0 || l->n_remeasured == REMEASURE_MAX)
        return NULL;
    if (job->bound->reach_s / l->nodes[best].time_s > BEYOND)
        return "faster than reach";
    update_elapsed(l);
    bool is_early = l->run->elapsed_s < l->run->max_seconds / 2;
    return l->n_remeasured == 0 && is_early && is_at_reach(l) ? "at reach" : NULL;
}

// Those that were suspect by ceilings that have changed.
static bool judge_suspects_again(struct loop *l, struct error *err) {
    for (int i = -1; (i = progress_beyond_reach(l->nodes, l->n_nodes, i + 1)) >= 0;)
        if (!evaluate(l, &l->nodes[i], err))
            return false;
    return true;
}

static bool settle_reach(struct loop *l, struct error *err) {
    for (const char *why; l->job->remeasure && (why = doubt_of_reach(l));) {
        l->n_remeasured++;
        if (!l->job->remeasure(l->job->remeasure_ctx, l->run, why, err) ||
            !store_update_run(l->job->store, l->run, err) || !explain_again(l, err) ||
            !judge_suspects_again(l, err))
            return false;
    }
    return true;
}

// May the batch of which so many nodes wait to be judged have one more?
static bool has_room(const struct loop *l, int n_proposed) {
    const struct run *run = l->run;
    int n_evals = progress_evals(l->nodes, l->n_nodes) + n_proposed;
    bool is_over = (run->max_evals > 0 && n_evals >= run->max_evals) ||
                   (l->job->end_nodes > 0 && l->n_nodes >= l->job->end_nodes);
    return n_proposed == 0 || (run->batch > 1 && (l->n_nodes - 1) % run->batch != 0 && !is_over);
}

// Propose until the batch is full; *why is set when not even one could be.
static bool gather_batch(struct loop *l, const char **why, struct error *err) {
    int n_proposed = count_proposed(l);
    for (bool more; has_room(l, n_proposed); n_proposed++) {
        if (!add_next(l, &more, err))
            return false;
        if (!more && interrupt_seen())
            return error_set(err, ERROR_INTERRUPTED, "interrupted");
        if (!more) {
            const struct proposer *p = l->job->proposer;
            const char *stopped = p->stopped ? p->stopped(l->job->mind) : NULL;
            *why = n_proposed > 0 ? NULL : stopped ? stopped : "exhausted";
            return true;
        }
        update_elapsed(l);
    }
    return true;
}

// Improve until there is a reason to stop.
static bool search(struct loop *l, struct error *err) {
    const char *why = NULL;
    while (settle_reach(l, err)) {
        // What was proposed is judged: that was paid for, and a replay has it.
        if (count_proposed(l) == 0 && (why = stop_reason(l)))
            break;
        if (!gather_batch(l, &why, err))
            return false;
        if (why)
            break;
        if (!evaluate_batch(l, err))
            return false;
    }
    l->run->stop_reason = why;
    return why != NULL;
}

bool optimize(struct arena *a, const struct optimize_job *job, struct run *run, struct error *err) {
    struct loop l = {.job = job,
                     .run = run,
                     .a = a,
                     .started_ns = clock_now_ns(),
                     .elapsed_before_s = run->elapsed_s};
    bool ok = load_nodes(&l, err) && add_root(&l, err) && evaluate_again(&l, err);
    bool settled = false;
    while (ok && !settled)
        ok = search(&l, err) && confirm(&l, &settled, err);
    return finish(&l, ok, err);
}
