// Arrays of paired times with a mark each (counted, disturbed, left out), and trials: shorter
// comparisons that are stretches of a longer one.
#include "eval/samples.h"

#include <assert.h>
#include <math.h>

#include "record/measurement.h"

int samples_pick(const struct samples *s, int from, int to, int *picked) {
    int n = pairs_pick(s->is_slowed + from, s->is_disturbed + from, to - from, picked);
    for (int i = 0; i < n; i++)
        picked[i] += from;
    return n;
}

void samples_mark(const struct samples *s, const int *picked, int n_picked, char *marks) {
    int next = 0;
    for (int i = 0; i < s->n_pairs; i++) {
        bool counts = next < n_picked && picked[next] == i;
        next += counts;
        marks[i] = s->is_slowed[i]                ? MEASUREMENT_SLOWED
                   : counts && s->is_disturbed[i] ? MEASUREMENT_DISTURBED
                   : counts                       ? MEASUREMENT_COUNTED
                                                  : MEASUREMENT_LEFT_OUT;
    }
    marks[s->n_pairs] = '\0';
}

// A pair before the change of places and one after it count as one: what the places add is in
// both, the other way round.
static int pick_across(struct samples *s, const struct samples_question *q) {
    int n = samples_pick(s, q->from, s->n_before_swap, s->before);
    int n_after = samples_pick(s, s->n_before_swap, q->to, s->after);
    if (n_after < n)
        n = n_after;
    for (int i = 0; i < n; i++) {
        int x = s->before[i], y = s->after[i];
        s->subject_picked_s[i] = sqrt(s->subject_s[x] * s->subject_s[y]);
        s->baseline_picked_s[i] = sqrt(s->baseline_s[x] * s->baseline_s[y]);
    }
    return n;
}

double samples_disturbed(const struct samples *s, int from, int to) {
    int n_disturbed = 0;
    for (int i = from; i < to; i++)
        n_disturbed += s->is_disturbed[i];
    return to > from ? (double)n_disturbed / (to - from) : 0;
}

bool samples_is_crowded(const struct samples *s, int from, int to) {
    return samples_disturbed(s, from, to) > 0.25;
}

static bool is_across(const struct samples *s, const struct samples_question *q) {
    return q->from < s->n_before_swap && s->n_before_swap < q->to;
}

static struct pair_times those_that_count(struct samples *s, const struct samples_question *q) {
    int n = is_across(s, q) ? pick_across(s, q) : samples_pick(s, q->from, q->to, s->before);
    for (int i = 0; i < n && !is_across(s, q); i++) {
        s->subject_picked_s[i] = s->subject_s[s->before[i]];
        s->baseline_picked_s[i] = s->baseline_s[s->before[i]];
    }
    return (struct pair_times){s->subject_picked_s, s->baseline_picked_s, n};
}

struct estimate samples_estimate(struct samples *s, const struct samples_question *q) {
    struct pair_times p = those_that_count(s, q);
    if (!q->uses_low || is_across(s, q))
        return estimate_interval(estimator_median, &p, q->confidence, q->seed);
    struct estimate e = estimate_speedup(&p, q->confidence, q->seed);
    // So few have been widened already.
    bool is_wide = p.n < ESTIMATE_ENOUGH || !samples_is_crowded(s, q->from, q->to);
    return is_wide ? e : estimate_widen(e, 0.25);
}

bool samples_may_be_narrow(struct samples *s, const struct samples_question *q, double share) {
    struct pair_times p = those_that_count(s, q);
    struct estimate m = estimate_by_order(estimator_median, &p, q->confidence);
    if (estimate_is_narrow(&m, share) || !q->uses_low || is_across(s, q))
        return estimate_is_narrow(&m, share);
    struct estimate l = estimate_by_order(estimator_low, &p, q->confidence);
    return estimate_is_narrow(&l, share);
}

void trials_add(struct trials *l, double seconds) {
    assert(l->n_open < EVAL_TRIALS_MAX);
    l->open[l->n_open++] = (struct trial){.seconds = seconds};
}

void trials_begin(struct trials *l, int64_t now_ns) {
    for (int i = 0; i < l->n_open; i++)
        l->open[i].start_ns = now_ns;
}

void trials_note(struct trials *l, const struct samples *s, int64_t now_ns) {
    for (int i = 0; i < l->n_open && l->n_ended < TRIALS_ROOM; i++) {
        struct trial *open = &l->open[i];
        struct pairs_state state = {.n_pairs = s->n_pairs - open->from,
                                    .halves = 1,
                                    .uses_all_time = true,
                                    .spent_s = (double)(now_ns - open->start_ns) * 1e-9,
                                    .seconds = open->seconds};
        for (int k = open->from; k < s->n_pairs; k++)
            state.n_slowed += s->is_slowed[k];
        if (pairs_ask(&state) != PAIRS_ENOUGH)
            continue;
        open->to = s->n_pairs;
        l->ended[l->n_ended++] = *open;
        open->from = s->n_pairs;
        open->start_ns = now_ns;
    }
}
