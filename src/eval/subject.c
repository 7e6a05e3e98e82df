// A candidate in its runner: plan read, compiled, loaded, called, checked after each call (poison,
// guard zones, inputs untouched, work after the end). What is wrong is explained only then, since
// finding out costs more than finding that.
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "eval/judge.h"

// Waking the judge too early: honest code does so only where a thread loses its processor in the
// moment between an answer and the word of it. So many calls, and more than one in so many.
enum { NUDGED_LEAST = 4, NUDGED_SHARE = 16 };

// An error in the mean beyond what declared data say: so many of the calls that were
// looked at, and more than one in so many.
enum { ROUGH_LEAST = 3, ROUGH_SHARE = 4 };

// Among so many calls on new data is the first one that is looked at, however long that takes. The
// next follows within as many and those so far: a candidate that is right for a while at first, or
// in the end, is met in between.
enum { LOOK_EARLY = 6 };

static const char *illegal_tier(const struct judge *j, enum tier tier) {
    if (tier == TIER_C && j->settings.is_gpu)
        return "this is C for the CPU; a GPU takes CUDA (tier D)";
    if (tier == TIER_D && !j->settings.is_gpu)
        return "this is CUDA (tier D); the CPU takes C";
    return NULL;
}

// A call that has ended: what its outputs held before, and how long it took.
struct checked_call {
    uint32_t poison;
    double call_s;
};

static void read_plan(struct judge *j, struct arena *a, struct subject *s, struct verdict *v) {
    struct error mistake = {0};
    const char *why = illegal_tier(j, s->candidate.tier);
    struct plan_context context = j->context;
    context.takes_calls = s->candidate.tier == TIER_K;
    if (!why && !plan_parse(&s->arena, s->candidate.source, &context, &s->plan, &mistake))
        why = mistake.text;
    if (why) {
        v->kind = VERDICT_ILLEGAL;
        v->evidence = arena_strdup(a, why);
    }
}

bool subject_begin(struct judge *j, struct arena *a, const struct candidate *c, struct subject *s,
                   struct verdict *v, struct error *err) {
    *s = (struct subject){.worst = {.rms = NAN, .max = NAN}};
    s->candidate = (struct candidate){.tier = c->tier,
                                      .source = arena_strdup(&s->arena, c->source),
                                      .label = arena_strdup(&s->arena, c->label),
                                      .hash = arena_strdup(&s->arena, c->hash)};
    read_plan(j, a, s, v);
    return v->kind != VERDICT_OK || !j->device->begin || j->device->begin(j, a, s, v, err);
}

bool subject_load(struct judge *j, struct arena *a, struct subject *s, struct eval_result *result,
                  struct error *err) {
    bool ok = j->device->start(j, a, s, result, err);
    s->is_loaded = ok && result->verdict.kind == VERDICT_OK;
    return ok;
}

void subject_close(struct judge *j, struct subject *s) {
    if (s->is_open)
        j->device->stop(j, s);
    arena_reset(&s->arena);
    *s = (struct subject){0};
}

void subject_poison(struct judge *j, struct subject *s, int slot) {
    // A quiet NaN whose payload nobody can guess.
    if (!j->poison[slot])
        j->poison[slot] = 0x7fc00000 | (uint32_t)(rng_next(&j->shown) & 0x3fffff);
    j->device->poison(j, s, slot);
}

void subject_touch(struct judge *j, struct subject *s, int slot) {
    j->poison[slot] = j->outputs_poison[slot] = s->own_poison[slot] = 0;
}

static bool reject(struct verdict *v, enum verdict_kind kind, const char *rule,
                   const char *evidence) {
    v->kind = kind;
    v->rule = rule;
    v->evidence = evidence;
    return false;
}

static bool reject_late(struct verdict *v) {
    return reject(v, VERDICT_CHEAT, "work-after-return",
                  "went on working after the call had ended: its outputs still changed, or it "
                  "used processor time");
}

static void keep_worst(struct error_stats *worst, const struct error_stats *s) {
    // A set on which everything is exact says little about how near the limit is.
    bool is_worse = isnan(worst->max) || worst->limit_max == 0 ||
                    (s->limit_max > 0 && s->max * worst->limit_max >= worst->max * s->limit_max);
    if (is_worse)
        *worst = *s;
}

// The first output that is not as expected, or -1.
static int compare_outputs(struct judge *j, struct subject *s, int slot, uint32_t poison,
                           struct comparison *c) {
    for (int i = 0; i < j->problem->n_outputs; i++) {
        bool ok = j->device->compare(j, s, slot, i, poison, c);
        keep_worst(&s->worst, &c->stats);
        if (j->slot_set[slot] == SET_DECLARED)
            s->own_rms[i] = c->stats.rms;
        if (!ok) {
            s->worst = c->stats;
            return i;
        }
    }
    return -1;
}

// The set whose results these are bit for bit, but for one; NULL: none that is known.
static const char *known_as(const struct subject *s, uint64_t d, enum oracle_set not ) {
    for (int i = 0; i < SET_COUNT; i++)
        if (i != (int)not &&s->sets[i].is_known && s->sets[i].digest == d)
            return oracle_set_name((enum oracle_set)i);
    return NULL;
}

// Something is wrong with an output: find out what.
static bool explain_wrong(struct judge *j, struct arena *a, struct subject *s, int slot,
                          uint64_t seen, struct verdict *v, const struct comparison *c,
                          int output) {
    enum oracle_set set = (enum oracle_set)j->slot_set[slot];
    const char *evidence =
        oracle_evidence(a, &j->oracle, set, output, j->device->values(j, s, slot, output), c);
    struct timespec moment = {.tv_nsec = 20000000};
    nanosleep(&moment, NULL);
    if (j->device->is_alive(s) && j->device->digest(j, s, slot) != seen)
        return reject_late(v);
    const char *other = known_as(s, seen, set);
    if (c->n_unwritten)
        return reject(v, VERDICT_WRONG,
                      c->n_unwritten == j->oracle.sets[set].outputs[output].count ? "unwritten"
                                                                                  : "partial",
                      evidence);
    if (other)
        return reject(
            v, VERDICT_CHEAT, "stale-output",
            arena_printf(a, "gave the results of other inputs (%s) again: %s", other, evidence));
    if (s->sets[set].is_known)
        return reject(
            v, VERDICT_CHEAT, "hidden-state",
            arena_printf(a, "was right on these inputs before and is wrong now: %s", evidence));
    return reject(v, VERDICT_WRONG, NULL, evidence);
}

static int64_t count_outputs(const struct problem *p) {
    int64_t n = 0;
    for (int i = 0; i < p->n_outputs; i++)
        n += shape_count(&p->graph.nodes[p->outputs[i].node].shape);
    return n;
}

// The inputs existed for this call alone: a candidate that computed ahead, or kept results, has
// those of other data.
static bool check_new_outputs(struct judge *j, struct arena *a, struct subject *s, int slot,
                              const struct checked_call *c, struct verdict *v) {
    struct spot_result r;
    int64_t n_unwritten = j->device->count_unwritten(j, s, slot, c->poison);
    if (n_unwritten > 0)
        return reject(v, VERDICT_WRONG,
                      n_unwritten == count_outputs(j->problem) ? "unwritten" : "partial",
                      arena_printf(a,
                                   "on inputs that were drawn for one call %lld elements were not "
                                   "written",
                                   (long long)n_unwritten));
    if (!s->look_at)
        s->look_at = 1 + (int)rng_below(&j->hidden, LOOK_EARLY);
    struct spot_call call = {c->call_s, ++s->n_new == s->look_at, s->own_rms};
    if (call.must_look)
        s->look_at += 1 + (int)rng_below(&j->hidden, (uint64_t)(LOOK_EARLY + s->n_new));
    j->device->spot_check(j, a, s, slot, &call, &r);
    s->n_spots += r.n_checked;
    s->n_looked += r.n_checked > 0;
    s->n_rough += r.is_rough;
    if (s->n_rough >= ROUGH_LEAST && ROUGH_SHARE * s->n_rough > s->n_looked)
        return reject(v, VERDICT_CHEAT, "hidden-state",
                      arena_printf(a,
                                   "is less precise on inputs that were drawn for one timed call "
                                   "than it may be on those that verify it, in %d of %d calls",
                                   s->n_rough, s->n_looked));
    if (r.output < 0)
        return true;
    bool stale = known_as(s, j->device->digest(j, s, slot), SET_COUNT) != NULL;
    return reject(v, VERDICT_CHEAT, stale ? "stale-output" : "hidden-state",
                  arena_printf(a,
                               "is right on the inputs that verify it and wrong on those that were "
                               "drawn for one timed call: %lld of the elements of %s that were "
                               "looked at%s%s",
                               (long long)r.comparison.n_wrong, j->problem->outputs[r.output].name,
                               stale ? "; it gave the results of other inputs again" : "",
                               r.elements));
}

static bool check_outputs(struct judge *j, struct arena *a, struct subject *s, int slot,
                          uint32_t poison, struct verdict *v) {
    enum oracle_set set = (enum oracle_set)j->slot_set[slot];
    uint64_t seen = j->device->digest(j, s, slot);
    // Bit for bit what was found right before needs no second look.
    bool is_repeat = s->sets[set].is_known && s->sets[set].digest == seen;
    struct comparison c;
    int wrong = is_repeat ? -1 : compare_outputs(j, s, slot, poison, &c);
    if (wrong >= 0)
        return explain_wrong(j, a, s, slot, seen, v, &c, wrong);
    if (!is_repeat && j->device->digest(j, s, slot) != seen)
        return reject_late(v);
    s->n_varied += s->sets[set].is_known && !is_repeat;
    if (s->sets[set].is_known && !is_repeat && !j->problem->order_any)
        return reject(v, VERDICT_UNSTABLE, NULL,
                      arena_printf(a,
                                   "equal inputs (%s) gave other bits than before; the "
                                   "results are within limits, but they depend on chance",
                                   oracle_set_name(set)));
    s->sets[set].is_known = true;
    s->sets[set].digest = seen;
    return true;
}

static bool reject_broken(struct judge *j, struct arena *a, struct verdict *v) {
    return reject(v, VERDICT_INFRA, NULL, arena_strdup(a, j->broken.text));
}

// The call has ended: is everything as it should be?
static bool check_call(struct judge *j, struct arena *a, struct subject *s, int slot,
                       const struct checked_call *c, struct verdict *v) {
    const struct judge_device *d = j->device;
    int overrun = d->find_overrun(j, s, slot, c->poison);
    if (overrun >= 0)
        return reject(
            v, VERDICT_WRONG, "out-of-bounds",
            arena_printf(a, "wrote beyond the ends of '%s'", s->plan.buffers[overrun].name));
    int changed = d->find_changed_input ? d->find_changed_input(j, s, slot) : -1;
    if (changed >= 0)
        return reject(v, VERDICT_CHEAT, "input-mutated",
                      arena_printf(a, "wrote to the input '%s'; inputs are read-only",
                                   s->plan.buffers[changed].name));
    if (j->slot_set[slot] < 0)
        return check_new_outputs(j, a, s, slot, c, v);
    return check_outputs(j, a, s, slot, c->poison, v);
}

bool subject_explain(struct judge *j, struct arena *a, struct subject *s,
                     const struct call_result *call, struct verdict *v) {
    v->kind = VERDICT_OK;
    j->device->explain(a, s, call->status, v);
    if (call->status == RUNNER_TIMEOUT) {
        // The evaluator tries once more what was stalled.
        v->rule = call->was_idle ? "stalled" : NULL;
        v->evidence = arena_printf(a, "a call took more than %s%s",
                                   clock_duration(a, (double)judge_timeout_ns(j)),
                                   call->was_idle ? ", most of which its threads did not run" : "");
    }
    return v->kind == VERDICT_OK;
}

bool subject_check(struct judge *j, struct arena *a, struct subject *s, int slot,
                   struct call_result *call, struct verdict *v) {
    const struct judge_device *d = j->device;
    bool is_untouched = d->is_untouched(j, s, slot);
    if (j->broken.kind != ERROR_NONE)
        return reject_broken(j, a, v);
    if (!is_untouched)
        return reject(v, VERDICT_CHEAT, "writes-ahead",
                      "wrote to outputs or scratch of a call that had not been made yet");
    uint32_t poison = j->poison[slot];
    subject_touch(j, s, slot);
    d->call(j, s, slot, judge_timeout_ns(j), call);
    if (!subject_explain(j, a, s, call, v))
        return false;
    s->n_calls++;
    if (call->fp_changed)
        return reject(v, VERDICT_CHEAT, "fp-environment",
                      "a block left the rounding mode or flush-to-zero changed");
    struct checked_call c = {poison, call->time_s};
    bool ok = check_call(j, a, s, slot, &c, v);
    if (j->broken.kind != ERROR_NONE)
        return reject_broken(j, a, v);
    if (!ok)
        return false;
    if (d->settle && !d->settle(s, call))
        return reject(v, VERDICT_CHEAT, "work-after-return",
                      "a thread did not come back from a block to wait for the next call");
    s->n_nudged += call->was_nudged;
    if (s->n_nudged < NUDGED_LEAST || NUDGED_SHARE * s->n_nudged <= s->n_calls)
        return true;
    return reject(v, VERDICT_CHEAT, "early-wake",
                  arena_printf(a,
                               "woke the judge before it had an answer, in %d of %d calls: the "
                               "clock would stop sooner",
                               s->n_nudged, s->n_calls));
}
