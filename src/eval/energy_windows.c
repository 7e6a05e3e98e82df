// Steps of the counter, the slope between them, and how sure that is.
#include "eval/energy_windows.h"

#include <math.h>

#include "record/energy.h"

// Two steps of the counter: what a change of load leaves in them.
static const double settle_s = 0.3;
// Halves of a window that differ by more are not settled. Readings alone make 1% of it.
static const double halves_differ = 0.03;
// No step's moment is known better: what a reading takes at least.
static const double open_least_s = 0.001;
static const double confidence = 0.95, normal = 1.96;
// Loads of the same calls differ by this, one after the other, for reasons within none of them.
static const double systematic = 0.005;
enum { STEPS_LEAST = 6 };

double energy_settle_s(void) {
    return settle_s;
}

void energy_series_start(struct energy_series *s, double at_s) {
    s->has_reading = false;
    s->n_steps = s->n_marks = 0;
    s->started_s = at_s;
    energy_series_mark(s, at_s, 0);
}

void energy_series_step(struct energy_series *s, double at_s, double open_s, double counter_j) {
    if (s->n_steps == ENERGY_STEPS_MAX)
        return;
    s->steps[s->n_steps].at_s = at_s;
    s->steps[s->n_steps].open_s = fmax(open_s, open_least_s);
    s->steps[s->n_steps++].counter_j = counter_j;
}

// It moved somewhere between the beginning of the reading before and the end of this one.
void energy_series_read(struct energy_series *s, double from_s, double to_s, double counter_j) {
    if (s->has_reading && counter_j != s->counter_j)
        energy_series_step(s, (s->read_s + to_s) / 2, to_s - s->read_s, counter_j);
    s->has_reading = true;
    s->read_s = from_s;
    s->counter_j = counter_j;
}

void energy_series_mark(struct energy_series *s, double at_s, double n_calls) {
    if (s->n_marks == ENERGY_MARKS_MAX)
        return;
    s->marks[s->n_marks].at_s = at_s;
    s->marks[s->n_marks++].n_calls = n_calls;
}

// Calls that had ended at a moment; NAN: beyond the last mark.
static double calls_at(const struct energy_series *s, double at_s) {
    for (int i = 1; i < s->n_marks; i++) {
        double from_s = s->marks[i - 1].at_s, to_s = s->marks[i].at_s;
        double from = s->marks[i - 1].n_calls, to = s->marks[i].n_calls;
        if (at_s <= to_s)
            return to_s > from_s ? from + (to - from) * (at_s - from_s) / (to_s - from_s) : to;
    }
    return NAN;
}

static int first_settled(const struct energy_series *s) {
    int i = 0;
    while (i < s->n_steps && s->steps[i].at_s < s->started_s + settle_s)
        i++;
    return i;
}

double energy_series_power_w(const struct energy_series *s) {
    int from = first_settled(s), to = s->n_steps - 1;
    if (to <= from)
        return NAN;
    return (s->steps[to].counter_j - s->steps[from].counter_j) /
           (s->steps[to].at_s - s->steps[from].at_s);
}

struct slope {
    double value, unsure;  // and its standard error
};

// Of the counter from one step to another, over calls or over time.
static struct slope fit(const struct energy_series *s, int from, int to, bool is_by_calls) {
    double n = to - from + 1, sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    double x0 = is_by_calls ? calls_at(s, s->steps[from].at_s) : s->steps[from].at_s;
    for (int i = from; i <= to; i++) {
        double weight = 1 / (s->steps[i].open_s * s->steps[i].open_s);
        double x = (is_by_calls ? calls_at(s, s->steps[i].at_s) : s->steps[i].at_s) - x0;
        double y = s->steps[i].counter_j - s->steps[from].counter_j;
        sw += weight;
        sx += weight * x;
        sy += weight * y;
        sxx += weight * x * x;
        sxy += weight * x * y;
        syy += weight * y * y;
    }
    double xx = sxx - sx * sx / sw, xy = sxy - sx * sy / sw, yy = syy - sy * sy / sw;
    double left = fmax(0, yy - xy * xy / xx);
    return (struct slope){xy / xx, n > 2 ? sqrt(left / (n - 2) / xx) : INFINITY};
}

static bool is_settled(const struct energy_series *s, int from, int to) {
    int middle = (from + to) / 2;
    double first = fit(s, from, middle, false).value, second = fit(s, middle, to, false).value;
    return fabs(first / second - 1) <= halves_differ;
}

bool energy_series_window(const struct energy_series *s, double seconds, struct energy_window *w) {
    int from = first_settled(s), to = s->n_steps - 1;
    while (to >= 0 && isnan(calls_at(s, s->steps[to].at_s)))
        to--;
    // What is not settled is at the beginning: step by step that is left out.
    for (; to - from >= STEPS_LEAST && s->steps[to].at_s - s->steps[from].at_s >= 0.97 * seconds;
         from++) {
        if (!is_settled(s, from, to))
            continue;
        double from_s = s->steps[from].at_s, to_s = s->steps[to].at_s;
        struct slope slope = fit(s, from, to, true);
        *w = (struct energy_window){.call_j = slope.value,
                                    .unsure_j = slope.unsure,
                                    .call_s =
                                        (to_s - from_s) / (calls_at(s, to_s) - calls_at(s, from_s)),
                                    .seconds = to_s - from_s,
                                    .n_steps = to - from};
        return w->call_j > 0;
    }
    return false;
}

void energy_estimate(const struct energy_window *windows, int n, struct energy *e) {
    double mean = 0, call_s = 0, seconds = 0, within = 0, between = 0;
    for (int i = 0; i < n; i++) {
        mean += windows[i].call_j / n;
        call_s += windows[i].call_s / n;
        seconds += windows[i].seconds / n;
        within += windows[i].unsure_j * windows[i].unsure_j / n / n;
    }
    for (int i = 0; i < n && n > 1; i++)
        between += (windows[i].call_j - mean) * (windows[i].call_j - mean) / (n - 1) / n;
    double always = systematic * mean;
    double half = normal * sqrt(fmax(within, between) + always * always);
    e->call_j = mean;
    e->call_low_j = mean - half;
    e->call_high_j = mean + half;
    e->confidence = confidence;
    e->call_s = call_s;
    e->n_windows = n;
    e->window_s = seconds;
}
