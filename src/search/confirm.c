// The end of a run: who cannot be distinguished from the champion plays against it, then the
// champion is judged on fresh data against the baseline. One that does not pass is disqualified.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "record/run.h"
#include "search/finale.h"
#include "search/progress.h"
#include "search/search_loop.h"
#include "store/store.h"

static bool disqualify(struct search_loop *l, struct search_node *n, const struct verdict *v,
                       struct error *err) {
    state_reset(&l->state);
    n->verdict = *v;
    n->verdict.evidence = arena_printf(l->a, "on confirmation: %s", v->evidence);
    n->time_s = NAN;
    if (!store_put_node(l->job->store, l->run->id, n, err))
        return false;
    search_tell(l, EVENT_DISQUALIFIED, n);
    return true;
}

// One game of the play-off. A winner's time is restated by it, so that the champion follows from
// the stored nodes as ever.
static bool play(struct search_loop *l, struct search_node *champion, struct search_node *n,
                 struct error *err) {
    struct eval_job job = {.candidate = &n->candidate,
                           .baseline = &champion->candidate,
                           .depth = EVAL_RANK,
                           .seconds = finale_timing_s(l->run->max_seconds)};
    struct eval_result r = {0};
    if (!search_judge(l, &job, &r, err))
        return false;
    if (r.verdict.kind != VERDICT_OK || !r.measurement.present)
        return true;
    search_say(l, arena_printf(l->a, "play-off: node %d takes %.3f of the time of node %d",
                               n->number, 1 / r.measurement.speedup, champion->number));
    if (r.measurement.speedup <= 1)
        return true;
    state_reset(&l->state);
    n->time_s = champion->time_s / r.measurement.speedup;
    return store_put_node(l->job->store, l->run->id, n, err);
}

// Those that cannot be distinguished from the champion, against it, while there is time: the first
// where the run's is not over yet, as that much was kept for it.
static bool play_off(struct search_loop *l, struct error *err) {
    int contenders[CONTENDERS_MAX], best = progress_champion(l->nodes, l->n_nodes);
    int n = best > 0 ? finale_contenders(l->nodes, l->n_nodes, best, contenders) : 0;
    for (int i = 0; i < n; i++) {
        search_update_elapsed(l);
        if (l->run->elapsed_s + (i > 0 ? l->first_eval_s : 0) > l->run->max_seconds)
            break;
        if (!play(l, &l->nodes[best], &l->nodes[contenders[i]], err))
            return error_wrap(err, "play-off");
        best = progress_champion(l->nodes, l->n_nodes);
    }
    return true;
}

// On fresh data, against the baseline or (baseline NULL) alone.
static bool judge_champion(struct search_loop *l, const struct search_node *n,
                           const struct candidate *baseline, struct eval_result *result,
                           struct error *err) {
    struct eval_job job = {.candidate = &n->candidate,
                           .baseline = baseline,
                           .depth = EVAL_CONFIRM,
                           .seconds = finale_timing_s(l->run->max_seconds),
                           .energy_s = search_energy_s(l)};
    return search_judge(l, &job, result, err) || error_wrap(err, "confirm node %d", n->number);
}

// A start that did not work is no baseline.
static void give_up_baseline(struct search_loop *l) {
    struct run *run = l->run;
    const struct search_node *root = &l->nodes[0];
    if (run->start.source && search_same_source(&run->baseline, &root->candidate) &&
        root->verdict.kind != VERDICT_OK)
        run->baseline = (struct candidate){0};
}

// Where the baseline cannot be timed the champion is confirmed alone: its time is known then, and
// its speed-up is not.
static bool judge_alone(struct search_loop *l, const struct search_node *n,
                        struct eval_result *result, struct error *err) {
    const char *why = !l->run->baseline.source ? "there is no baseline that works"
                      : l->baseline_fault      ? l->baseline_fault
                                               : search_first_line(l->a, result->verdict.evidence);
    search_say(
        l,
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

bool search_confirm_root(struct search_loop *l, struct search_node *n, struct eval_result *result,
                         struct error *err) {
    struct run *run = l->run;
    int64_t start_ns = clock_now_ns();
    search_tell(l, EVENT_CONFIRMING, n);
    if (!judge_champion(l, n, &run->baseline, result, err))
        return false;
    l->took.confirm_s = search_since(start_ns);
    l->took.energy_s = result->phase_s[PHASE_ENERGY];
    struct measurement *m = &result->measurement;
    if (result->verdict.kind != VERDICT_OK || !m->present)
        return true;
    run->champion = run->fastest = n->number;
    run->confirm = *m;
    run->confirm_verdict = result->verdict;
    // As a node it is what the others are timed against.
    m->speedup = m->speedup_low = m->speedup_high = 1;
    m->baseline_median_s = m->median_s;
    m->n_pairs = 0;
    return true;
}

// The champion against the baseline on fresh data. One that does not pass is disqualified, for good
// and in the store; the search then goes on, or the next best has its turn.
bool search_confirm(struct search_loop *l, bool *settled, struct error *err) {
    struct run *run = l->run;
    int best = progress_champion(l->nodes, l->n_nodes);
    *settled = best < 0 || (run->champion >= 0 && run->fastest == best && run->confirm.present);
    if (*settled && best >= 0)
        return true;  // resumed after the confirmation
    run->champion = -1;
    run->confirm = (struct measurement){0};
    run->speedup_unknown = NULL;
    if (best < 0)
        return true;
    int64_t start_ns = clock_now_ns();
    if (!play_off(l, err))
        return false;
    l->took.play_off_s = search_since(start_ns);
    best = progress_champion(l->nodes, l->n_nodes);
    if (!search_choose_by_energy(l, &best, err))
        return false;
    l->took.choice_s = search_since(start_ns) - l->took.play_off_s;
    start_ns = clock_now_ns();
    struct search_node *n = &l->nodes[best];
    search_tell(l, EVENT_CONFIRMING, n);
    give_up_baseline(l);
    struct eval_result result = {0};
    bool is_alone = l->baseline_fault || !run->baseline.source;
    if (!is_alone && !judge_champion(l, n, &run->baseline, &result, err))
        return false;
    is_alone |= result.verdict.kind == VERDICT_INFRA;
    if (is_alone && !judge_alone(l, n, &result, err))
        return false;
    l->took.confirm_s = search_since(start_ns);
    l->took.energy_s = result.phase_s[PHASE_ENERGY];
    *settled = result.verdict.kind == VERDICT_OK && result.measurement.present;
    if (!*settled)
        return disqualify(l, n, &result.verdict, err);
    run->champion = best;
    run->confirm = result.measurement;
    run->confirm_verdict = result.verdict;
    return true;
}
