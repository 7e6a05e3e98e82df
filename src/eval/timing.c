// Timing: subject and baseline, each in its own live runner, called in turns.
//
// Pairs come in blocks of two, ABBA or BAAB by a fair coin, so that drift cancels. Inputs of every
// timed call are drawn for it alone, just before it (device.h, renew): no result that was kept or
// computed ahead is of any use, and elements drawn by chance show it (subject.c). They are written
// past the caches, as outputs are poisoned, and both take turns over slots: so caches are cold in
// the same way for both, and hold nothing of ours that a call would have to write to memory first.
// Now and then there is a call that does not count, on data that have been used before: equal
// inputs must give equal bits.
//
// Where subject and baseline have processes of their own (GPU), these differ a little from each
// other for as long as they live. So they change places half way, and what is left of the
// difference is added to the interval.
//
// A block in which a thread had to wait for a processor, a hypervisor took a tick from this machine
// or a processor slowed down for heat is left out, as long as more than half remain: that says
// something about the machine, not about the code. One in which a card slowed
// itself down is always left out; when half of them are, there is no verdict (infra).
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "eval/environment.h"
#include "eval/judge.h"
#include "eval/pairs.h"
#include "eval/samples.h"
#include "eval/stats.h"
#include "eval/timing.h"

enum { REPEAT_RATE = 8 };  // before one block in so many there is a call on known data

// What was the matter with the calls of a block.
struct block_faults {
    bool is_disturbed;
    int64_t clocks;  // reasons of all calls
};

static const double confidence = 0.99;
static const double clearly_slower = 0.8;  // speed-up below which screening ends at once
static const double narrow_enough = 0.01;  // half width of the interval, when nobody asks
static const double asked_s = 20;          // for a resolution that somebody asks for
// What a place adds to the time matters above this share of it.
static const double place_matters = 0.001;

// Its outputs and scratch are poisoned; what its inputs hold comes just before a call.
static void prepare(struct timing *t, int slot) {
    subject_poison(t->j, t->subject, slot);
    subject_poison(t->j, t->baseline, slot);
}

int timing_next_slot(struct judge *j) {
    int n = j->layout.n_slots, slot = 0;
    int n_older = (int)rng_below(&j->shown, (uint64_t)(n < 4 ? 1 : n / 4));
    // The oldest but so many.
    for (int64_t after = -1; n_older >= 0; n_older--) {
        int64_t oldest = INT64_MAX;
        for (int i = 0; i < n; i++)
            if (j->slot_used[i] > after && j->slot_used[i] < oldest) {
                oldest = j->slot_used[i];
                slot = i;
            }
        after = oldest;
    }
    j->slot_used[slot] = j->n_used++;
    return slot;
}

// Did a thread have to wait for a processor?
static bool is_disturbed(const struct call_result *c) {
    return (double)c->delayed_ns * 1e-9 > fmax(50e-6, 0.05 * c->time_s);
}

// Both work on the same memory. The baseline was verified alone, so what is wrong with memory when
// it is called is the subject's doing.
static bool is_about_memory(const struct verdict *v) {
    static const char *const rules[] = {"writes-ahead", "input-mutated", "out-of-bounds"};
    for (size_t i = 0; v->rule && i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(v->rule, rules[i]) == 0)
            return true;
    return false;
}

// Only the one that is called may run: whatever the other left behind cannot take its processor or
// reach for its memory meanwhile.
static void give_turn(struct timing *t, struct subject *s) {
    const struct judge_device *d = t->j->device;
    if (!d->pause)
        return;
    d->pause(s == t->subject ? t->baseline : t->subject);
    d->resume(s);
}

static void end_turns(struct timing *t) {
    const struct judge_device *d = t->j->device;
    if (!d->resume)
        return;
    d->resume(t->subject);
    d->resume(t->baseline);
}

// A call on data that exist for it alone, or on a known set, checked. False: the verdict says what
// is wrong.
static bool call_on(struct timing *t, struct subject *s, int set, double *seconds,
                    struct block_faults *trouble) {
    struct judge *j = t->j;
    int slot = timing_next_slot(j);
    struct call_result call;
    give_turn(t, s);
    if (set < 0)
        j->device->renew(j, slot, rng_next(&j->shown));
    else
        j->device->load(j, slot, (enum oracle_set)set);
    if (!subject_check(j, t->a, s, slot, &call, t->v)) {
        t->baseline_failed = s == t->baseline && !is_about_memory(t->v);
        return false;
    }
    prepare(t, slot);
    // What was done outside of calls is part of their price.
    *seconds = call.time_s + call.outside_s;
    trouble->is_disturbed |= is_disturbed(&call);
    trouble->clocks |= call.clocks > 0 ? call.clocks : 0;
    if (s == t->subject && t->n_busy < BUSY_ROOM && !isnan(call.thread_busy))
        t->busy[t->n_busy++] = call.thread_busy;
    return true;
}

static bool timed_call(struct timing *t, struct subject *s, double *seconds,
                       struct block_faults *trouble) {
    return call_on(t, s, -1, seconds, trouble);
}

// A call of the subject on the declared data; then one of each that does not count, so that chance
// again decides whose call came last.
static bool repeat_between(struct timing *t) {
    double ignored_s;
    struct block_faults ignored = {0};
    bool subject_first = rng_below(&t->j->shown, 2) == 0;
    return call_on(t, t->subject, SET_DECLARED, &ignored_s, &ignored) &&
           timed_call(t, subject_first ? t->subject : t->baseline, &ignored_s, &ignored) &&
           timed_call(t, subject_first ? t->baseline : t->subject, &ignored_s, &ignored);
}

static bool timed_block(struct timing *t) {
    bool subject_first = rng_below(&t->j->shown, 2) == 0;
    struct block_faults trouble = {0};
    int64_t steal = environment_steal(&t->environment);
    int64_t throttles = environment_throttles(&t->environment);
    int base = t->samples.n_pairs;
    for (int i = 0; i < PAIRS_BLOCK; i++, subject_first = !subject_first)
        for (int half = 0; half < 2; half++) {
            bool is_subject = (half == 0) == subject_first;
            double *into =
                is_subject ? &t->samples.subject_s[base + i] : &t->samples.baseline_s[base + i];
            if (!timed_call(t, is_subject ? t->subject : t->baseline, into, &trouble))
                return false;
        }
    bool is_stolen = environment_steal(&t->environment) > steal;
    bool is_hot = environment_throttles(&t->environment) > throttles;
    trouble.is_disturbed |= is_stolen || is_hot;
    t->n_stolen += is_stolen ? PAIRS_BLOCK : 0;
    t->n_hot += is_hot ? PAIRS_BLOCK : 0;
    bool slowed = trouble.clocks & NVML_SLOWDOWN;
    struct clock_counts *n = &t->subject->clocks;
    for (int i = 0; i < PAIRS_BLOCK; i++) {
        t->samples.is_disturbed[base + i] = trouble.is_disturbed;
        t->samples.is_slowed[base + i] = slowed;
    }
    t->samples.n_pairs += PAIRS_BLOCK;
    n->n_pairs = t->samples.n_pairs;
    n->n_slowed += slowed ? PAIRS_BLOCK : 0;
    n->n_capped += trouble.clocks & NVML_POWER_CAP ? PAIRS_BLOCK : 0;
    n->slowed_bits |= trouble.clocks & NVML_SLOWDOWN;
    return true;
}

// Seconds by which places differ matter less the longer a call takes.
static double unsure_by_place(const struct timing *t) {
    const struct judge_device *d = t->j->device;
    double place_s = t->samples.n_before_swap ? d->place_swapped_s : d->place_s;
    return place_s / stats_median(t->samples.subject_s, t->samples.n_pairs);
}

static struct samples_question between(const struct timing *t, int from, int to) {
    return (struct samples_question){.from = from,
                                     .to = to,
                                     .confidence = confidence,
                                     .seed = t->j->digest_seed,
                                     .uses_low = t->j->device->has_low_quantiles};
}

static struct estimate estimate_between(struct timing *t, int from, int to) {
    struct samples_question q = between(t, from, to);
    struct estimate e = samples_estimate(&t->samples, &q);
    double unsure = unsure_by_place(t);
    e.low -= unsure;
    e.high += unsure;
    return e;
}

static bool is_clearly_slower(const struct timing *t) {
    for (int i = 0; i < t->samples.n_pairs; i++)
        if (t->samples.baseline_s[i] / t->samples.subject_s[i] >= clearly_slower)
            return false;
    return t->samples.n_pairs >= PAIRS_LEAST;
}

// Do they change places? Not for a first impression, nor where it makes no difference.
static bool will_swap(const struct timing *t) {
    int n = t->samples.n_pairs;
    const struct judge_device *d = t->j->device;
    return d->swap && t->depth != EVAL_SCREEN &&
           d->place_s >
               place_matters * stats_median(t->samples.subject_s, n < PAIRS_MAX ? n : PAIRS_MAX);
}

// Is this half enough, or all of it where they do not change places?
static bool is_enough(struct timing *t) {
    struct pairs_state s = {.n_pairs = t->samples.n_pairs,
                            .n_slowed = t->subject->clocks.n_slowed,
                            .halves = will_swap(t) ? 2 : 1,
                            .uses_all_time = t->uses_all_time,
                            .is_asked = t->is_asked,
                            .spent_s = (double)(clock_now_ns() - t->start_ns) * 1e-9,
                            .seconds = t->seconds};
    enum pairs_answer answer = pairs_ask(&s);
    if (t->depth == EVAL_SCREEN && is_clearly_slower(t))
        return true;
    if (answer != PAIRS_BY_WIDTH || t->depth == EVAL_SCREEN)
        return answer != PAIRS_MORE;
    if (s.spent_s < t->least_s)
        return false;
    // An interval takes as long as some pairs: it is looked at when there are a fifth more.
    int n = t->samples.n_pairs;
    if (n < t->next_width)
        return false;
    t->next_width = n + (n / 5 > PAIRS_USUAL ? n / 5 : PAIRS_USUAL);
    struct samples_question q = between(t, 0, n);
    if (!samples_may_be_narrow(&t->samples, &q, t->narrow))
        return false;
    struct estimate e = samples_estimate(&t->samples, &q);
    return estimate_is_narrow(&e, t->narrow);
}

// A card that slowed itself down most of the time has said nothing about the code.
static bool check_clocks(struct timing *t) {
    const struct clock_counts *n = &t->subject->clocks;
    int n_half = 0, n_slowed = 0;
    for (int i = t->samples.n_before_swap; i < t->samples.n_pairs; i++, n_half++)
        n_slowed += t->samples.is_slowed[i];
    if (2 * n->n_slowed < n->n_pairs && 2 * n_slowed < n_half)
        return true;
    t->v->kind = VERDICT_INFRA;
    t->v->rule = "throttled";
    t->v->evidence =
        arena_printf(t->a,
                     "the card slowed itself down (%s) in %d of %d pairs, so that times "
                     "say nothing about the code: let it cool, or give it more power",
                     nvml_throttle_text(n->slowed_bits), n->n_slowed, n->n_pairs);
    return false;
}

static void report_trials(struct timing *t, struct measurement *m) {
    m->n_trials = t->samples.n_before_swap ? 0 : t->trials.n_ended;
    m->trials = arena_array(t->a, struct measurement_trial, m->n_trials);
    for (int i = 0; i < m->n_trials; i++) {
        const struct trial *l = &t->trials.ended[i];
        struct estimate e = estimate_between(t, l->from, l->to);
        m->trials[i] = (struct measurement_trial){.seconds = l->seconds,
                                                  .n_pairs = l->to - l->from,
                                                  .speedup = e.value,
                                                  .low = e.low,
                                                  .high = e.high};
    }
}

// All pairs: which of them counted, and the times of the others.
static void report_raw(struct timing *t, const int *picked, struct measurement *m) {
    const struct samples *s = &t->samples;
    char *marks = arena_array(t->a, char, s->n_pairs + 1);
    int n = 0;
    samples_mark(s, picked, m->n_pairs, marks);
    m->raw = (struct measurement_raw){marks, arena_array(t->a, double, m->n_dropped),
                                      arena_array(t->a, double, m->n_dropped)};
    for (int i = 0; i < s->n_pairs; i++)
        if (!measurement_counts(marks[i])) {
            m->raw.subject_s[n] = s->subject_s[i];
            m->raw.baseline_s[n++] = s->baseline_s[i];
        }
}

static void report_times(struct timing *t, struct measurement *m) {
    const struct samples *s = &t->samples;
    int *picked = arena_array(t->a, int, s->n_pairs);
    m->present = true;
    m->baseline = arena_strdup(t->a, t->baseline->candidate.label);
    m->subject_s = arena_array(t->a, double, s->n_pairs);
    m->baseline_s = arena_array(t->a, double, s->n_pairs);
    m->n_pairs = samples_pick(s, 0, s->n_pairs, picked);
    for (int i = 0; i < m->n_pairs; i++) {
        m->subject_s[i] = s->subject_s[picked[i]];
        m->baseline_s[i] = s->baseline_s[picked[i]];
    }
    m->n_dropped = s->n_pairs - m->n_pairs;
    if (t->keeps_all)
        report_raw(t, picked, m);
    m->median_s = stats_median(m->subject_s, m->n_pairs);
    measurement_set_spread(t->a, m);
    m->baseline_median_s = stats_median(m->baseline_s, m->n_pairs);
    struct estimate e = estimate_between(t, 0, s->n_pairs);
    m->speedup = e.value;
    m->speedup_low = e.low;
    m->speedup_high = e.high;
    m->confidence = e.confidence;
}

static void report(struct timing *t, struct eval_result *result) {
    struct profile *p = &result->profile;
    int n_pairs = t->samples.n_pairs;
    report_times(t, &result->measurement);
    report_trials(t, &result->measurement);
    profile_set(p, METRIC_TIME, result->measurement.median_s);
    if (t->n_busy)
        profile_set(p, METRIC_THREAD_BUSY, fmin(1, stats_median(t->busy, t->n_busy)));
    profile_set(p, METRIC_STOLEN_SHARE, (double)t->n_stolen / n_pairs);
    profile_set(p, METRIC_HOT_SHARE, (double)t->n_hot / n_pairs);
    profile_set(p, METRIC_DISTURBED_SHARE, samples_disturbed(&t->samples, 0, n_pairs));
    environment_describe(p);
    int64_t blocks = 0;
    for (int s = 0; s < t->subject->plan.n_steps; s++)
        if (t->subject->plan.steps[s].grid > blocks)
            blocks = t->subject->plan.steps[s].grid;
    if (blocks > 0)  // what a library does on a GPU is its own affair
        profile_set(p, METRIC_BLOCKS, (double)blocks);
}

static void prepare_slots(struct timing *t) {
    for (int slot = 0; slot < t->j->layout.n_slots; slot++)
        prepare(t, slot);
}

// As many pairs again, with subject and baseline in each other's place.
static bool time_swapped(struct timing *t) {
    if (!will_swap(t))
        return true;
    if (!t->j->device->swap(t->j, t->a, t->subject, t->baseline, t->v))
        return false;
    prepare_slots(t);
    t->samples.n_before_swap = t->samples.n_pairs;
    while (t->samples.n_pairs < 2 * t->samples.n_before_swap)
        if (!timed_block(t))
            return false;
    return true;
}

// The last call that must be checked lies somewhere in the second half. When all is over there is
// one more of each, which nobody can distinguish from the others, and which does not count.
static bool check_last(struct timing *t, struct subject *s) {
    double ignored_s;
    struct block_faults ignored = {0};
    s->look_at = s->n_new + 1;
    return timed_call(t, s, &ignored_s, &ignored);
}

static bool time_all(struct timing *t) {
    prepare_slots(t);
    t->start_ns = clock_now_ns();
    trials_begin(&t->trials, t->start_ns);
    do {
        bool is_repeated = t->depth != EVAL_SCREEN && rng_below(&t->j->shown, REPEAT_RATE) == 0;
        if ((is_repeated && !repeat_between(t)) || !timed_block(t))
            return false;
        trials_note(&t->trials, &t->samples, clock_now_ns());
    } while (!is_enough(t));
    return check_clocks(t) && time_swapped(t) && check_clocks(t) && check_last(t, t->subject) &&
           check_last(t, t->baseline);
}

// It was verified before. Wrong results are its own fault: the other one is stopped while it is
// called. What else failed may be the machine's: does it still work alone? If not it is to blame,
// and else nobody is, as that may come right when it is tried again.
static void explain_baseline(struct timing *t) {
    struct verdict alone = {.evidence = ""}, seen = *t->v;
    const struct judge_device *d = t->j->device;
    if (d->pause)
        d->pause(t->subject);
    bool is_alive = d->is_alive(t->baseline);
    bool is_own_fault = seen.kind == VERDICT_WRONG || seen.kind == VERDICT_CHEAT;
    if (is_alive && !is_own_fault && verify(t->j, t->a, t->baseline, EVAL_SCREEN, &alone)) {
        t->v->kind = VERDICT_INFRA;
        t->v->rule = NULL;
        t->v->evidence = arena_printf(t->a, "the baseline failed while timed, and works alone: %s",
                                      seen.evidence);
        return;
    }
    judge_blame_baseline(t->a, "the baseline failed while timed", &seen, t->v);
}

bool time_against(struct judge *j, struct arena *a, struct subject *s, struct subject *baseline,
                  const struct eval_job *job, struct eval_result *result) {
    struct timing *t = arena_new(a, struct timing);  // too large for a copy on the stack
    t->j = j;
    t->a = a;
    t->subject = s;
    t->baseline = baseline;
    // It is checked as often as the subject, in each comparison: its times decide as much.
    baseline->n_new = baseline->look_at = 0;
    t->depth = job->depth;
    t->uses_all_time = job->uses_all_time;
    t->is_asked = job->resolution > 0;
    t->keeps_all = job->keeps_all;
    t->least_s = job->least_s;
    t->narrow = t->is_asked ? pairs_narrow(job->resolution) : narrow_enough;
    t->seconds = job->seconds > 0            ? job->seconds
                 : job->depth == EVAL_SCREEN ? 0.5
                 : t->is_asked               ? asked_s
                                             : 2;
    t->v = &result->verdict;
    for (int i = 0; i < job->n_trials; i++)
        trials_add(&t->trials, job->trials_s[i]);
    environment_open(&t->environment);
    bool ok = time_all(t);
    end_turns(t);
    if (t->baseline_failed)
        explain_baseline(t);
    if (ok)
        report(t, result);
    environment_close(&t->environment);
    return ok;
}
