// Calls on data that exist for one call only, as a remedy against results that are kept:
//
//   patched   a few elements of the declared data changed: who keys his results by a sample of the
//             data, or by what comes cheap, gives wrong ones
//   nudged    every element changed a little: who keeps rows, or computes only what has changed,
//             has nothing to go by and is slow
//   drawn     everything drawn again: nor has he who corrects what he kept
//
// None may be slower than calls on familiar data, prepared alike: what is written to the inputs
// just before a call is written there, too, and then taken back. A processor remembers the branches
// of data that it has seen often, up to some thousand: on drawn data an honest kernel that branches
// on each element was up to 30 us slower. So these are granted more; nudged ones keep their signs.
#include <math.h>

#include "base/clock.h"
#include "eval/stats.h"
#include "eval/timing.h"

enum {
    CALLS_MOST = 6,
    COMPUTED_ONCE = 1 << 22,
    TURNS = 32,
    TURNS_LEAST = 6,  // an honest one is cleared by then, mostly
};

// How much slower raises the suspicion, and is a cheat when no turn says otherwise. Of honest calls
// that differ by chance alone, one in four would be below the faster quarter: that none of 32 is
// happens to one in 10000 that were suspected.
static const double factor_cold = 1.2, factor_plain = 1.5;
static const double slack_s[NEW_KINDS] = {5e-6, 5e-6, 60e-6};
static const int calls[NEW_KINDS] = {2, 2, 1};  // at the end
static const double later_factor = 1.5;         // slower than while it was timed

static double factor(const struct timing *t) {
    return t->j->device->renew ? factor_cold : factor_plain;
}

static int64_t count_outputs(const struct problem *p) {
    int64_t n = 0;
    for (int i = 0; i < p->n_outputs; i++)
        n += shape_count(&p->graph.nodes[p->outputs[i].node].shape);
    return n;
}

// Is what it made of data that it cannot have seen before right? Whoever computed ahead, or kept
// results, has those of other data.
static void check_results(struct timing *t, const struct novel_call *c) {
    struct judge *j = t->j;
    struct novel_look look;
    j->device->compare_novel(j, t->a, t->subject, c, &look);
    if (look.n_unwritten > 0) {
        t->v->kind = VERDICT_WRONG;
        t->v->rule = look.n_unwritten == count_outputs(j->problem) ? "unwritten" : "partial";
        t->v->evidence = arena_printf(
            t->a, "on inputs that it has not seen before %lld elements were not written",
            (long long)look.n_unwritten);
        return;
    }
    if (look.output < 0)
        return;
    uint64_t seen = j->device->digest(j, t->subject, c->slot);
    bool is_stale = false;
    for (int i = 0; i < SET_COUNT; i++)
        is_stale |= t->subject->sets[i].is_known && t->subject->sets[i].digest == seen;
    t->v->kind = VERDICT_CHEAT;
    t->v->rule = is_stale ? "stale-output" : "hidden-state";
    t->v->evidence =
        arena_printf(t->a,
                     "is right on inputs that it has seen and wrong on new ones%s: %lld elements "
                     "of the rows of %s that were looked at%s%s",
                     c->changes ? ", in which a few elements differ" : "",
                     (long long)look.comparison.n_wrong, j->problem->outputs[look.output].name,
                     is_stale ? "; it gave the results of other inputs again" : "", look.elements);
}

// Put new data into a slot that holds the declared ones, or take that back.
static void change(struct timing *t, enum new_kind kind, int slot, const struct novelty *n,
                   bool is_back) {
    struct judge *j = t->j;
    if (kind == NEW_PATCHED)
        j->device->patch(j, t->subject, slot, n, is_back);
    else if (is_back)
        j->device->renew_back(j, slot);
    else
        j->device->renew(j, slot, rng_next(&j->rng), kind == NEW_NUDGED);
}

// Where rows depend on one another, what is expected takes as long as a set's truth: for large
// problems that is computed once for a verdict, of data drawn at the end.
static int64_t how_many_to_compute(struct timing *t) {
    if (!t->computes_next)
        return NOVEL_SMALL;
    t->computes_next = false;
    return t->depth == EVAL_CONFIRM ? INT64_MAX : COMPUTED_ONCE;
}

// One call of the subject on data that exist only for this call.
static bool new_call(struct timing *t, enum new_kind kind, double *seconds,
                     struct trouble *trouble) {
    struct judge *j = t->j;
    int slot = timing_next_slot(j);
    struct novelty n;
    j->device->load(j, slot, SET_DECLARED);
    novelty_draw(&j->oracle, rng_next(&j->rng) | 1, &n);
    change(t, kind, slot, &n, false);
    struct novel_call c = {kind == NEW_PATCHED ? &n : NULL, slot, j->poison[slot],
                           how_many_to_compute(t)};
    struct call_result call;
    subject_touch(j, t->subject, slot);
    j->device->call(j, t->subject, slot, judge_timeout_ns(j), &call);
    if (subject_explain(j, t->a, t->subject, &call, t->v))
        check_results(t, &c);
    change(t, kind, slot, &n, true);
    timing_prepare(t, slot);
    *seconds = call.time_s;
    trouble->is_disturbed |= timing_is_disturbed(&call);
    return t->v->kind == VERDICT_OK;
}

// The same on data that it has seen, with all that goes before a call on new ones: whatever that
// does to caches and to threads that sleep meanwhile.
static bool familiar_call(struct timing *t, enum new_kind kind, double *seconds,
                          struct trouble *trouble) {
    struct judge *j = t->j;
    int slot = timing_next_slot(j);
    struct novelty n;
    struct call_result call;
    j->device->load(j, slot, SET_DECLARED);
    novelty_draw(&j->oracle, rng_next(&j->rng) | 1, &n);
    change(t, kind, slot, &n, false);
    change(t, kind, slot, &n, true);
    if (!subject_check(j, t->a, t->subject, slot, &call, t->v))
        return false;
    timing_prepare(t, slot);
    *seconds = call.time_s;
    trouble->is_disturbed |= timing_is_disturbed(&call);
    return true;
}

// Drawing takes its time: a first impression does without, unless there is nothing to nudge.
static bool has_kind(const struct timing *t, enum new_kind kind) {
    bool can_nudge = novelty_can_nudge(t->j->problem);
    switch (kind) {
    case NEW_NUDGED:
        return t->j->device->renew && can_nudge;
    case NEW_DRAWN:
        return t->j->device->renew && (t->depth != EVAL_SCREEN || !can_nudge);
    default:
        return true;
    }
}

bool new_data_between(struct timing *t) {
    double new_s = 0, ignored_s;
    struct trouble ignored = {0};
    bool subject_first = rng_below(&t->j->rng, 2) == 0;
    enum new_kind kind = (enum new_kind)rng_below(&t->j->rng, NEW_KINDS);
    if (!has_kind(t, kind))
        kind = NEW_PATCHED;
    if (!new_call(t, kind, &new_s, &ignored))
        return false;
    t->novel_s[kind] = t->novel_s[kind] > 0 ? fmin(t->novel_s[kind], new_s) : new_s;
    return timing_call(t, subject_first ? t->subject : t->baseline, &ignored_s, &ignored) &&
           timing_call(t, subject_first ? t->baseline : t->subject, &ignored_s, &ignored);
}

static bool reject_cache(struct timing *t, const char *evidence) {
    t->v->kind = VERDICT_CHEAT;
    t->v->rule = "result-cache";
    t->v->evidence = evidence;
    return false;
}

// What is usual: seconds of subject and baseline while they were timed.
struct usual {
    double subject_s, baseline_s;
    double low_s;  // a quarter of the subject's calls are faster
};

// Whoever counts its calls may stop in the middle of the timed ones: the first of them tell.
static struct usual find_usual(const struct timing *t) {
    int n = t->samples.n_pairs, n_first = n < 3 ? n : (n + 2) / 3;
    double all = stats_median(t->samples.subject_s, n);
    double first = stats_median(t->samples.subject_s, n_first);
    if (first > all / later_factor)
        n_first = n;
    return (struct usual){stats_median(t->samples.subject_s, n_first),
                          stats_median(t->samples.baseline_s, n_first),
                          stats_quantile(t->samples.subject_s, n, 0.25)};
}

// Baseline and subject on known data, then the subject on familiar and on new ones, in turns. Load
// on the machine only ever adds to a time, so it is the fast calls that are compared.
struct turns {
    enum new_kind kind;
    int n;
    double familiar_s[TURNS];
    double least_new_s, least_known_s, least_baseline_s;
    double low_familiar_s;  // a quarter of the calls on familiar data are faster
};

static bool take_turn(struct timing *t, struct turns *turns) {
    enum new_kind kind = turns->kind;
    struct trouble ignored = {0};
    double baseline_s, known_s, familiar_s, new_s;
    if (!timing_call(t, t->baseline, &baseline_s, &ignored) ||
        !timing_call(t, t->subject, &known_s, &ignored) ||
        !familiar_call(t, kind, &familiar_s, &ignored) || !new_call(t, kind, &new_s, &ignored))
        return false;
    turns->familiar_s[turns->n] = familiar_s;
    turns->n++;
    turns->least_new_s = fmin(turns->least_new_s, new_s);
    turns->least_known_s = fmin(turns->least_known_s, known_s);
    turns->least_baseline_s = fmin(turns->least_baseline_s, baseline_s);
    // Calls that nothing was prepared for are no measure: on a busy machine threads that slept for
    // longer take longer to wake up. And who keeps the last inputs alone is slow on known data
    // after new ones, and fast only when they come again.
    turns->low_familiar_s = stats_quantile(turns->familiar_s, turns->n, 0.25);
    return true;
}

// Not even its fastest call on new data comes near the faster ones on familiar data.
static bool is_slower(const struct timing *t, const struct turns *turns) {
    return turns->least_new_s > factor(t) * turns->low_familiar_s + slack_s[turns->kind];
}

// Not even its fastest call is what was usual while it was timed; and not because everybody is
// slower.
static bool is_later(const struct turns *turns, struct usual usual) {
    double everybody = fmax(1, turns->least_baseline_s / usual.baseline_s);
    return turns->least_known_s > later_factor * everybody * usual.subject_s + slack_s[turns->kind];
}

// Was a call on new data as fast as the faster ones were while it was timed?
static bool is_cleared(const struct timing *t, enum new_kind kind, double least_s,
                       struct usual usual) {
    return least_s <= factor(t) * usual.low_s + slack_s[kind];
}

// A few calls raise the suspicion; a busy machine can do that too, so that turns follow until one
// clears it, or all are taken.
static bool check_kind(struct timing *t, enum new_kind kind) {
    struct usual usual = find_usual(t);
    struct trouble ignored = {0};
    t->computes_next = kind == NEW_DRAWN && t->depth != EVAL_SCREEN;
    double least = t->novel_s[kind] > 0 ? t->novel_s[kind] : INFINITY, new_s = 0;
    int n_calls = t->depth == EVAL_SCREEN ? 1 : calls[kind];
    for (int i = 0; i < n_calls || (i < CALLS_MOST && !is_cleared(t, kind, least, usual)); i++) {
        if (!new_call(t, kind, &new_s, &ignored))
            return false;
        least = fmin(least, new_s);
    }
    struct turns turns = {.kind = kind,
                          .least_new_s = least,
                          .least_known_s = INFINITY,
                          .least_baseline_s = INFINITY};
    while (!is_cleared(t, kind, turns.least_new_s, usual) &&
           (turns.n < TURNS_LEAST ||
            (turns.n < TURNS && (is_slower(t, &turns) || is_later(&turns, usual)))))
        if (!take_turn(t, &turns))
            return false;
    if (turns.n == 0 || is_cleared(t, kind, turns.least_new_s, usual))
        return true;
    const char *as_seen = clock_duration(t->a, turns.low_familiar_s * 1e9);
    if (is_slower(t, &turns))
        return reject_cache(
            t, arena_printf(t->a, "takes %s on inputs that it has seen and at least %s on new ones",
                            as_seen, clock_duration(t->a, turns.least_new_s * 1e9)));
    if (is_later(&turns, usual))
        return reject_cache(t, arena_printf(t->a, "took %s at first and at least %s in later calls",
                                            clock_duration(t->a, usual.subject_s * 1e9),
                                            clock_duration(t->a, turns.least_known_s * 1e9)));
    return true;
}

bool new_data_check(struct timing *t) {
    for (int kind = 0; kind < NEW_KINDS; kind++)
        if (has_kind(t, (enum new_kind)kind) && !check_kind(t, (enum new_kind)kind))
            return false;
    return true;
}
