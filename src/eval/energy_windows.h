// From readings of a card's energy counter to the energy of a call. Pure: readings and calls come
// from gpu_energy.c, or from a recorded trace (tests/fixtures/energy).
//
// What such counters are like, and what is done about it:
// - It moves in steps, about ten a second, and not at even distances. So what counts is the counter
//   at its steps, never in between: energy of a call is the slope of the counter over the calls
//   that had ended at each step, by least squares. A step counts for less the longer the readings
//   around it took, which leave its moment open.
// - A step after a change of load holds some of what was before, and where the card averages power
//   over a while (a second, say) so do many. So the first steps are left out, and more of them for
//   as long as the two halves of what remains disagree about power.
// - Some cards watch only a part of each period. So calls follow each other without a pause, which
//   leaves nothing to miss.
// docs/results/h200-energy.md has what one card does.
#pragma once

#include <stdbool.h>

struct energy;

enum { ENERGY_STEPS_MAX = 512, ENERGY_MARKS_MAX = 4096 };

// Of one load, from its beginning on.
struct energy_series {
    double started_s;
    bool has_reading;
    double read_s, counter_j;  // when the last reading began, and what it said
    int n_steps, n_marks;
    struct {
        double at_s, counter_j, open_s;
    } steps[ENERGY_STEPS_MAX];
    struct {
        double at_s, n_calls;
    } marks[ENERGY_MARKS_MAX];
};

void energy_series_start(struct energy_series *s, double at_s);
// A reading of the counter, which took from one moment to another.
void energy_series_read(struct energy_series *s, double from_s, double to_s, double counter_j);
// A step, whose moment is open by so many seconds.
void energy_series_step(struct energy_series *s, double at_s, double open_s, double counter_j);
// So many calls had ended by then, since the start; in between they follow each other evenly.
void energy_series_mark(struct energy_series *s, double at_s, double n_calls);

// Power over all steps but the first ones; NAN: there are too few.
double energy_series_power_w(const struct energy_series *s);

struct energy_window {
    double call_j, unsure_j;  // of one call, and the standard error of that
    double call_s, seconds;
    int n_steps;
};

// The last steps that are settled; false: they do not yet cover so many seconds.
bool energy_series_window(const struct energy_series *s, double seconds, struct energy_window *w);
// Seconds that a load runs, at least, before a window begins.
double energy_settle_s(void);

// What so many windows of the same calls say.
void energy_estimate(const struct energy_window *windows, int n, struct energy *e);
