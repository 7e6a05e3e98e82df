// Energy of a call on a GPU, by the card's own counter: part of a measurement. It is asked for
// after a verdict; where a card has no counter, or nobody may read it, `why_not` says so.
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct arena;
struct json_reader;

struct energy {
    bool present;                    // it was asked for
    const char *why_not;             // not measured, and why; NULL: it was
    double call_j;                   // of one call, idle power included
    double call_low_j, call_high_j;  // its interval, of the stated confidence
    double confidence;
    double idle_w;    // of the card with nothing to do, just before; NAN: not known
    double call_s;    // how long a call took meanwhile, back to back
    int n_windows;    // measured so often
    double window_s;  // for so long each, from one step of the counter to another
    const char *method;
};

// Above idle power: what the call itself added. NAN: not known.
double energy_above_idle(const struct energy *e);
double energy_power_w(const struct energy *e);
// Half of the interval's width against the value.
double energy_unsure(const struct energy *e);

// Energy of x's calls over y's, with the interval of that.
struct energy_ratio {
    double value, low, high;
};
struct energy_ratio energy_compare(const struct energy *x, const struct energy *y);

// "41.2 mJ a call (40.9 to 41.5, 99% interval), ...", or "not measured (why)".
const char *energy_text(struct arena *a, const struct energy *e);
// "41.2 mJ".
const char *energy_joules(struct arena *a, double joules);

json_t *energy_to_json(const struct energy *e);  // null when not present
void energy_from_json(struct json_reader *r, struct arena *a, const json_t *json, struct energy *e);
