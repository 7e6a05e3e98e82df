// `optimize` at the end of the file is the list of calls; above it, in the order in which they are
// needed: judging a node (screening, ranking), the batch, re-measured ceilings. Races are in
// racing.c, play-off and confirmation in confirm.c.
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
#include "search/search_loop.h"
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

double search_since(int64_t start_ns) {
    return (double)(clock_now_ns() - start_ns) / 1e9;
}

void search_update_elapsed(struct search_loop *l) {
    l->run->elapsed_s = l->elapsed_before_s + (double)(clock_now_ns() - l->started_ns) / 1e9;
}

static void tell_all(struct search_loop *l, enum event_kind kind, const struct search_node *n,
                     const char *words) {
    if (!l->job->on_event)
        return;
    int best = progress_champion(l->nodes, l->n_nodes);
    struct event e = {
        .kind = kind,
        .words = words,
        .run = l->run,
        .node = n,
        .n_evals = progress_evals(l->nodes, l->n_nodes),
        .n_screened = progress_screened(l->nodes, l->n_nodes),
        .best = best,
        .best_s = best < 0 ? NAN : l->nodes[best].measurement.median_s,
        .best_node = best < 0 ? NULL : &l->nodes[best],
        .reach_s = l->job->context.bound->reach_s,
        .elapsed_s = l->run->elapsed_s,
    };
    l->job->on_event(&e, l->job->event_ctx);
}

void search_tell(struct search_loop *l, enum event_kind kind, const struct search_node *n) {
    tell_all(l, kind, n, NULL);
}

void search_tell_text(struct search_loop *l, enum event_kind kind, const char *words) {
    tell_all(l, kind, NULL, words);
}

bool search_same_source(const struct candidate *x, const struct candidate *y) {
    return x->source && y->source && strcmp(x->hash, y->hash) == 0;
}

const char *search_first_line(struct arena *a, const char *text) {
    return arena_strndup(a, text, strcspn(text, "\n"));
}

int search_count_proposed(const struct search_loop *l) {
    int n = 0;
    for (int i = 0; i < l->n_nodes; i++)
        n += l->nodes[i].state == NODE_PROPOSED;
    return n;
}

static struct search_node *add_node(struct search_loop *l) {
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

static bool load_nodes(struct search_loop *l, struct error *err) {
    if (!store_get_nodes(l->job->store, l->a, l->run->id, &l->nodes, &l->n_nodes, err))
        return false;
    l->room = l->n_nodes;
    l->run->n_nodes = l->n_nodes;
    l->run->state = RUN_ACTIVE;
    l->run->ended_at = NULL;
    l->run->stop_reason = NULL;
    if (!store_update_run(l->job->store, l->run, err))
        return false;
    search_tell(l, EVENT_STARTED, NULL);
    return true;
}

static bool add_root(struct search_loop *l, struct error *err) {
    if (l->n_nodes > 0)
        return true;
    struct kernel k = {0};
    struct candidate c = l->run->start;
    bool is_given = c.source != NULL;
    if (!is_given && l->job->first) {
        c = *l->job->first;
    } else if (!is_given) {
        lower_default(l->a, l->job->context.problem, l->job->context.target, &k);
        if (!lower_kernel(l->a, l->job->context.problem, l->job->context.target, &k, &c, err))
            return error_wrap(err, "default kernel");
        c.label = "default";
    }
    struct search_node *root = add_node(l);
    root->candidate = c;
    root->move = "";
    root->reason = is_given ? "where the search was told to begin" : "the default lowering";
    return store_put_node(l->job->store, l->run->id, root, err);
}

// What candidates are timed against: the root, so that all times compare; when the root does not
// work, the baseline, and without one the first that does.
static const struct candidate *baseline_of(const struct search_loop *l,
                                           const struct search_node *n) {
    if (n->number == 0)
        return NULL;
    const struct search_node *root = &l->nodes[0];
    bool is_waiting = root->state == NODE_PROPOSED;
    if (is_waiting || (root->verdict.kind == VERDICT_OK && root->measurement.present))
        return &root->candidate;
    bool is_same = search_same_source(&l->run->baseline, &root->candidate);
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

static double time_of(const struct search_loop *l, const struct search_node *n) {
    const struct measurement *m = &n->measurement;
    if (n->verdict.kind != VERDICT_OK || !m->present)
        return NAN;
    if (n->number == 0)
        return m->median_s;
    const struct search_node *root = &l->nodes[0];
    return (isfinite(root->time_s) ? root->time_s : m->baseline_median_s) / m->speedup;
}

static void explain(struct search_loop *l, struct search_node *n) {
    if (!isfinite(n->time_s))
        return;
    profile_set(&n->profile, METRIC_TIME, n->measurement.median_s);
    struct tool_input in = {.problem = l->job->context.problem,
                            .target = l->job->context.target,
                            .bound = l->job->context.bound,
                            .candidate = &n->candidate,
                            .profile = &n->profile};
    n->n_findings = tools_examine(l->a, &in, n->findings, NODE_FINDINGS_MAX);
}

bool search_judge(struct search_loop *l, const struct eval_job *job, struct eval_result *result,
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
static bool is_worth_ranking(const struct search_loop *l, const struct eval_result *r) {
    const struct measurement *m = &r->measurement;
    int best = progress_champion(l->nodes, l->n_nodes);
    double to_beat = best > 0 ? l->nodes[best].measurement.speedup : 1;
    return r->verdict.kind == VERDICT_OK && m->present &&
           m->speedup * pow(m->speedup_high / m->speedup, LIKELY) > to_beat;
}

static struct eval_job screening(const struct search_loop *l, const struct search_node *n) {
    return (struct eval_job){
        .candidate = &n->candidate, .baseline = baseline_of(l, n), .depth = EVAL_SCREEN};
}

// A few pairs first: most candidates are certainly not the best, and need no better number. These
// may be taken on another device than the run's, since both of a pair are; the ranking of one that
// may be the best is not announced, and so judged on the run's own, like all that it competes with.
static bool screen_and_rank(struct search_loop *l, struct search_node *n,
                            struct eval_result *result, struct error *err) {
    struct eval_job job = screening(l, n);
    if (l->confirms_first && n->number == 0) {
        if (!search_confirm_root(l, n, result, err) || result->verdict.kind != VERDICT_INFRA)
            return err->kind == ERROR_NONE;
        *result = (struct eval_result){0};  // its baseline cannot be timed: it is judged alone
    }
    bool is_alone = job.baseline == NULL;  // the root, or the first that works
    if (!is_alone && !search_judge(l, &job, result, err))
        return false;
    // The root does not work, and the baseline neither: there may be another baseline.
    if (job.baseline == &l->run->baseline && is_fault_of_baseline(&result->verdict)) {
        l->baseline_fault = search_first_line(l->a, result->verdict.evidence);
        return screen_and_rank(l, n, result, err);
    }
    if (!is_alone && (result->is_final || l->is_hurried || !is_worth_ranking(l, result)))
        return true;
    job.depth = EVAL_RANK;
    job.seconds = finale_ranking_s(l->run->max_seconds);
    return search_judge(l, &job, result, err);
}

static bool evaluate(struct search_loop *l, struct search_node *n, struct error *err) {
    search_tell(l, EVENT_PROPOSED, n);
    struct eval_result result = {0};
    int64_t start_ns = clock_now_ns();
    if (n->state == NODE_EVALUATED)
        state_reset(&l->state);  // judged before, and perhaps otherwise
    if (!screen_and_rank(l, n, &result, err))
        return false;
    if (l->first_eval_s == 0 || n->number == 0)  // what comes before the root may be screened alone
        l->first_eval_s = (double)(clock_now_ns() - start_ns) / 1e9;
    n->verdict = result.verdict;
    n->measurement = result.measurement;
    n->profile = result.profile;
    n->time_s = time_of(l, n);
    n->gain = n->parent >= 0 ? l->nodes[n->parent].time_s / n->time_s : NAN;
    explain(l, n);
    n->state = NODE_EVALUATED;
    search_update_elapsed(l);
    if (!store_put_node(l->job->store, l->run->id, n, err) ||
        !store_update_run(l->job->store, l->run, err))
        return false;
    search_tell(l, EVENT_EVALUATED, n);
    int n_infra = progress_infra_at_end(l->nodes, l->n_nodes);
    if (n_infra >= INFRA_MAX || (n->number == 0 && n->verdict.kind == VERDICT_INFRA))
        return error_set(err, ERROR_IO, "nothing can be judged on this machine now: %s",
                         n->verdict.evidence);
    return true;
}

// What an earlier process could not judge through our fault; and the root.
static bool evaluate_again(struct search_loop *l, struct error *err) {
    for (int i = 0; i < l->n_nodes; i++) {
        struct search_node *n = &l->nodes[i];
        bool again = n->state == NODE_PROPOSED ? i == 0 : n->verdict.kind == VERDICT_INFRA;
        if (again && !evaluate(l, n, err))
            return false;
    }
    return true;
}

static bool evaluate_before_root(struct search_loop *l, struct error *err) {
    struct search_node *n = l->confirms_first ? NULL : search_before_root(l);
    bool waits = n && l->nodes[0].state == NODE_PROPOSED && n->state == NODE_PROPOSED;
    return !waits || evaluate(l, n, err);
}

// What was judged before the root is stated in the root's time, as all others are.
static bool settle_before_root(struct search_loop *l, struct error *err) {
    struct search_node *n = search_before_root(l);
    double time_s = n && n->state == NODE_EVALUATED ? time_of(l, n) : NAN;
    double gain = l->nodes[0].time_s / time_s;
    if (!isfinite(time_s) || (time_s == n->time_s && (gain == n->gain || isnan(gain))))
        return true;
    n->time_s = time_s;
    n->gain = gain;
    return store_put_node(l->job->store, l->run->id, n, err);
}

static bool announce(struct search_loop *l, struct error *err) {
    const struct judging *j = &l->job->judge;
    bool ok = true;
    bool is_shared = j->announce && (l->run->batch > 1 || j->at_once > 1);
    for (int i = 0; ok && is_shared && i < l->n_nodes; i++)
        if (l->nodes[i].state == NODE_PROPOSED) {
            struct eval_job job = screening(l, &l->nodes[i]);
            ok = j->announce(j->ctx, &job, err);
        }
    return ok;
}

static bool add_decided(struct search_loop *l, const struct decision *d, struct error *err) {
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

// Where the default kernel does not pass, the first emitters of the families are tried, once: what
// is newest shall not end a run with nothing. A replay has it in its record.
static bool add_simple(struct search_loop *l, struct error *err) {
    const struct search_node *root = &l->nodes[0];
    struct kernel k = {0};
    struct candidate c;
    enum verdict_kind kind = root->verdict.kind;
    bool fails = root->state == NODE_EVALUATED && kind != VERDICT_OK && kind != VERDICT_INFRA &&
                 kind != VERDICT_SUSPECT;
    if (!fails || l->run->start.source || l->job->first)
        return true;
    lower_simple(l->a, l->job->context.problem, l->job->context.target, &k);
    if (!lower_kernel(l->a, l->job->context.problem, l->job->context.target, &k, &c, err))
        return error_wrap(err, "simple kernel");
    for (int i = 0; i < l->n_nodes; i++)
        if (strcmp(l->nodes[i].candidate.hash, c.hash) == 0)
            return true;
    return add_decided(l,
                       &(struct decision){.parent = 0,
                                          .move = "the first emitters of all stages",
                                          .reason = "the default kernel does not pass",
                                          .candidate = c},
                       err);
}

static bool evaluate_batch(struct search_loop *l, struct error *err) {
    if ((search_races(l) && !search_race(l, err)) || !announce(l, err))
        return false;
    for (struct search_node *n; !search_is_late(l) && (n = search_next_proposed(l));)
        if (!evaluate(l, n, err))
            return false;
    return true;
}

// So much faster than reach the judge would call a suspect. Where a race saw it, reach is measured
// again before a verdict is spent on it.
static bool is_raced_beyond(const struct search_loop *l) {
    static const double far = 0.5;
    if (l->nodes[0].state != NODE_PROPOSED)
        return false;
    for (int i = 1; i < l->n_nodes; i++) {
        const struct screening *s = &l->nodes[i].screening;
        if (s->present && s->time_s < far * l->job->context.bound->reach_s)
            return true;
    }
    return false;
}

// What was measured counts here; time_s is relative to a root that was measured long ago.
static bool is_at_reach(const struct search_loop *l) {
    int best = progress_champion(l->nodes, l->n_nodes);
    return best >= 0 &&
           l->job->context.bound->reach_s / l->nodes[best].measurement.median_s >= l->run->until;
}

void search_say(struct search_loop *l, const char *words) {
    struct event e = {.kind = EVENT_NOTE, .words = words, .run = l->run, .best = -1};
    if (l->job->on_event)
        l->job->on_event(&e, l->job->event_ctx);
}

// Why to stop now, or NULL. What was proposed is judged first, where there is time.
static const char *stop_reason(struct search_loop *l) {
    const struct run *run = l->run;
    if (search_is_late(l)) {
        search_say_prolonged(l);
        return "seconds";
    }
    if (search_count_proposed(l) > 0)
        return NULL;
    search_update_elapsed(l);
    if (l->job->end_nodes > 0 && l->n_nodes >= l->job->end_nodes)
        return l->job->end_reason;
    if (l->job->is_enough)
        return l->job->is_enough(l->job->enough_ctx, l->nodes, l->n_nodes) ? "enough" : NULL;
    if (is_at_reach(l))
        return "reach";
    if (run->max_evals > 0 && progress_evals(l->nodes, l->n_nodes) >= run->max_evals)
        return "evals";
    if (finale_is_near(run->elapsed_s, run->max_seconds, l->first_eval_s,
                       search_energy_kept_s(l))) {
        search_say_prolonged(l);
        if (!search_is_prolonged(l))
            return "seconds";
    }
    if (progress_since_gain(l->nodes, l->n_nodes) >= PLATEAU_EVALS)
        return "plateau";
    return NULL;
}

bool search_add_all(struct search_loop *l, const struct decision *decisions, int n,
                    struct error *err) {
    bool ok = store_begin(l->job->store, err);
    for (int i = 0; ok && i < n; i++)
        ok = add_decided(l, &decisions[i], err);
    return store_end(l->job->store, ok, err);
}

bool search_add_next(struct search_loop *l, int room, int *n, struct error *err) {
    struct search_context c = l->job->context;
    c.nodes = l->nodes;
    c.n_nodes = l->n_nodes;
    c.seed = l->run->seed;
    c.seconds_left = l->run->max_seconds - l->run->elapsed_s;
    c.batch = l->run->batch;
    c.evals_left = progress_evals_left(l->nodes, l->n_nodes, l->run->max_evals);
    c.mind_since = l->run->llm.since;
    c.is_race = l->run->race > 0;
    c.feedback = l->run->feedback;
    c.scratch = &l->scratch;
    struct decision *decisions = arena_array(&l->scratch, struct decision, room);
    *n = decide(&c, &l->state, decisions, room);
    bool ok = search_add_all(l, decisions, *n, err);
    arena_reset(&l->scratch);
    return ok;
}

// Write down how it ended. An error of the loop's is kept; this must not hide it.
static bool finish(struct search_loop *l, bool ok, struct error *err) {
    struct run *run = l->run;
    search_update_elapsed(l);
    run->state = ok ? RUN_DONE : RUN_INTERRUPTED;
    run->prolonged =
        ok ? finale_overrun_text(l->a, run->elapsed_s, run->max_seconds, &l->took) : NULL;
    run->ended_at = clock_timestamp(l->a);
    if (!ok)
        run->stop_reason =
            err->kind == ERROR_INTERRUPTED ? "interrupted" : arena_strdup(l->a, err->text);
    struct error update = {0};
    if (!store_update_run(l->job->store, run, &update) && ok) {
        *err = update;
        ok = false;
    }
    search_tell(l, EVENT_FINISHED, NULL);
    state_reset(&l->state);
    arena_reset(&l->scratch);
    return ok;
}

// What limited a node was told by a bound that has changed.
static bool explain_again(struct search_loop *l, struct error *err) {
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
static const char *doubt_of_reach(struct search_loop *l) {
    const struct optimize_job *job = l->job;
    int best = progress_champion(l->nodes, l->n_nodes);
    if (job->is_measured_next)
        return job->is_measured_next(job->remeasure_ctx) ? "" : NULL;
    if (l->n_remeasured == 0 &&
        (is_raced_beyond(l) || progress_beyond_reach(l->nodes, l->n_nodes, 0) >= 0))
        return "far beyond reach";
    if (best < 0 || l->n_remeasured == REMEASURE_MAX)
        return NULL;
    search_update_elapsed(l);
    if (job->context.bound->reach_s / l->nodes[best].time_s > BEYOND)
        return l->run->elapsed_s < l->run->max_seconds ? "faster than reach" : NULL;
    bool is_early = l->run->elapsed_s < l->run->max_seconds / 2;
    return l->n_remeasured == 0 && is_early && is_at_reach(l) ? "at reach" : NULL;
}

// Those that were suspect by ceilings that have changed.
static bool judge_suspects_again(struct search_loop *l, struct error *err) {
    for (int i = -1; (i = progress_beyond_reach(l->nodes, l->n_nodes, i + 1)) >= 0;)
        if (!evaluate(l, &l->nodes[i], err))
            return false;
    return true;
}

static bool settle_reach(struct search_loop *l, struct error *err) {
    for (const char *why; l->job->remeasure && (why = doubt_of_reach(l));) {
        l->n_remeasured++;
        state_reset(&l->state);
        if (!l->job->remeasure(l->job->remeasure_ctx, l->run, why, err) ||
            !store_update_run(l->job->store, l->run, err) || !explain_again(l, err) ||
            !judge_suspects_again(l, err))
            return false;
    }
    return true;
}

// May the batch of which so many nodes wait to be judged have one more?
static bool has_room(const struct search_loop *l, int n_proposed) {
    const struct run *run = l->run;
    int n_evals = progress_evals(l->nodes, l->n_nodes) + n_proposed;
    bool is_over = (run->max_evals > 0 && n_evals >= run->max_evals) ||
                   (l->job->end_nodes > 0 && l->n_nodes >= l->job->end_nodes);
    return n_proposed == 0 || (run->batch > 1 && (l->n_nodes - 1) % run->batch != 0 && !is_over);
}

// Propose until the batch is full; *why is set when not even one could be.
static bool gather_batch(struct search_loop *l, const char **why, struct error *err) {
    int n_proposed = search_count_proposed(l), room = search_races(l) ? l->run->race : 1;
    for (int n; has_room(l, n_proposed); n_proposed += n) {
        if (!search_add_next(l, room, &n, err))
            return false;
        if (n == 0 && interrupt_seen())
            return error_set(err, ERROR_INTERRUPTED, "interrupted");
        if (n == 0) {
            const struct proposer *p = l->job->context.proposer;
            const char *stopped = p->stopped ? p->stopped(l->job->context.mind) : NULL;
            *why = n_proposed > 0 ? NULL : stopped ? stopped : "exhausted";
            return true;
        }
        search_update_elapsed(l);
    }
    return true;
}

// Improve until there is a reason to stop.
static bool search(struct search_loop *l, struct error *err) {
    const char *why = NULL;
    while (settle_reach(l, err)) {
        if ((why = stop_reason(l)))
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
    struct search_loop l = {.job = job,
                            .run = run,
                            .a = a,
                            .started_ns = clock_now_ns(),
                            .elapsed_before_s = run->elapsed_s};
    bool ok = load_nodes(&l, err) && add_root(&l, err) && search_add_warm(&l, err);
    l.confirms_first = ok && search_must_confirm_first(&l);
    ok = ok && (l.confirms_first || search_race_opening(&l, err)) && settle_reach(&l, err) &&
         evaluate_before_root(&l, err) && evaluate_again(&l, err) && settle_before_root(&l, err) &&
         add_simple(&l, err);
    bool settled = false;
    while (ok && !settled)
        ok = search(&l, err) && search_confirm(&l, &settled, err);
    return finish(&l, ok, err);
}
