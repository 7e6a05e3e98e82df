// JSON form and words of an energy.
#include "record/energy.h"

#include <math.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"

double energy_above_idle(const struct energy *e) {
    return e->call_j - e->idle_w * e->call_s;
}

double energy_power_w(const struct energy *e) {
    return e->call_j / e->call_s;
}

double energy_unsure(const struct energy *e) {
    return (e->call_high_j - e->call_low_j) / 2 / e->call_j;
}

struct energy_ratio energy_compare(const struct energy *x, const struct energy *y) {
    double value = x->call_j / y->call_j, ux = energy_unsure(x), uy = energy_unsure(y);
    double unsure = sqrt(ux * ux + uy * uy);
    return (struct energy_ratio){value, value * (1 - unsure), value * (1 + unsure)};
}

static const char *joules(struct arena *a, double value, double like) {
    static const struct {
        double least, unit;
        const char *name;
    } units[] = {{1, 1, "J"}, {1e-3, 1e-3, "mJ"}, {0, 1e-6, "µJ"}};
    int i = 0;
    while (like < units[i].least)
        i++;
    return arena_printf(a, "%.*f %s", like / units[i].unit < 100 ? 2 : 0, value / units[i].unit,
                        units[i].name);
}

const char *energy_joules(struct arena *a, double value) {
    return joules(a, value, fabs(value));
}

const char *energy_text(struct arena *a, const struct energy *e) {
    if (e->why_not)
        return arena_printf(a, "not measured (%s)", e->why_not);
    const char *above = isfinite(e->idle_w)
                            ? arena_printf(a, "%s of it above the idle power of %.0f W, ",
                                           joules(a, energy_above_idle(e), e->call_j), e->idle_w)
                            : "idle power not known, ";
    return arena_printf(
        a,
        "%s a call (%s to %s, %.0f%% interval), %s%.0f W while it runs; %d window%s "
        "of %.2f s, %s a call back to back; %s",
        energy_joules(a, e->call_j), joules(a, e->call_low_j, e->call_j),
        joules(a, e->call_high_j, e->call_j), 100 * e->confidence, above, energy_power_w(e),
        e->n_windows, e->n_windows == 1 ? "" : "s", e->window_s, clock_duration(a, e->call_s * 1e9),
        e->method);
}

json_t *energy_to_json(const struct energy *e) {
    if (!e->present)
        return json_null();
    if (e->why_not)
        return json_pack("{s:o}", "not_measured", json_optional_text(e->why_not));
    return json_pack("{s:f, s:f, s:f, s:f, s:o, s:o, s:f, s:i, s:f, s:s}", "call_j", e->call_j,
                     "low_j", e->call_low_j, "high_j", e->call_high_j, "confidence", e->confidence,
                     "idle_w", json_optional_real(e->idle_w), "above_idle_j",
                     json_optional_real(energy_above_idle(e)), "call_s", e->call_s, "windows",
                     e->n_windows, "window_s", e->window_s, "method", e->method ? e->method : "");
}

void energy_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                      struct energy *e) {
    *e = (struct energy){0};
    if (!json || json_is_null(json) || r->failed)
        return;
    e->present = true;
    e->why_not = json_read_optional_string(r, a, json, "not_measured");
    if (e->why_not)
        return;
    e->call_j = json_read_number(r, json, "call_j");
    e->call_low_j = json_read_number(r, json, "low_j");
    e->call_high_j = json_read_number(r, json, "high_j");
    e->confidence = json_read_number(r, json, "confidence");
    e->idle_w = json_read_optional_number(r, json, "idle_w");
    e->call_s = json_read_number(r, json, "call_s");
    e->n_windows = (int)json_read_int(r, json, "windows");
    e->window_s = json_read_number(r, json, "window_s");
    e->method = json_read_string(r, a, json, "method");
}
