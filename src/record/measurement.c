// JSON form, spreads, and which of two measurements is faster, if that is resolved.
#include "record/measurement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

int measurement_order(double low, double high) {
    if (low > 1 + MEASUREMENT_MARGIN)
        return 1;
    if (high < 1 / (1 + MEASUREMENT_MARGIN))
        return -1;
    return 0;
}

int measurement_compare(const struct measurement *m) {
    return m->present ? measurement_order(m->speedup_low, m->speedup_high) : 0;
}

const char *measurement_ratio_text(struct arena *a, double ratio) {
    return arena_printf(a, ratio < 1000 ? "%.3gx" : "%.0fx", ratio);
}

const char *measurement_width_text(struct arena *a, double low, double high) {
    double factor = high / low;
    if (measurement_order(low, high) == 0 || factor <= MEASUREMENT_WIDE)
        return NULL;
    // The lower end of what is slower may be zero.
    return isfinite(factor)
               ? arena_printf(a, "uncertain by a factor of %.*f", factor < 10 ? 1 : 0, factor)
               : "uncertain by any factor";
}

bool measurement_counts(char mark) {
    return mark == MEASUREMENT_COUNTED || mark == MEASUREMENT_DISTURBED;
}

static int by_value(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

void measurement_set_spread(struct arena *a, struct measurement *m) {
    m->spread = (struct measurement_spread){.n = m->n_pairs};
    if (m->n_pairs < 1)
        return;
    double *sorted = arena_array(a, double, m->n_pairs);
    memcpy(sorted, m->subject_s, sizeof *sorted * (size_t)m->n_pairs);
    qsort(sorted, (size_t)m->n_pairs, sizeof *sorted, by_value);
    m->spread.low_s = sorted[m->n_pairs / 4];
    m->spread.high_s = sorted[m->n_pairs - 1 - m->n_pairs / 4];
}

static json_t *trials_to_json(const struct measurement *m) {
    json_t *array = json_array();
    for (int i = 0; i < m->n_trials; i++) {
        const struct measurement_trial *l = &m->trials[i];
        json_array_append_new(array, json_pack("{s:f, s:i, s:f, s:f, s:f}", "seconds", l->seconds,
                                               "pairs", l->n_pairs, "speedup", l->speedup, "low",
                                               l->low, "high", l->high));
    }
    return array;
}

static json_t *samples_to_json(const double *samples, int n) {
    json_t *array = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(array, json_real(samples[i]));
    return array;
}

json_t *measurement_to_json(const struct measurement *m) {
    if (!m->present)
        return json_null();
    json_t *json = json_pack(
        "{s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:i, s:o, s:s}", "schema",
        "hone.measurement/1", "baseline", m->baseline ? m->baseline : "", "pairs", m->n_pairs,
        "subject_s", samples_to_json(m->subject_s, m->n_pairs), "baseline_s",
        samples_to_json(m->baseline_s, m->n_pairs), "median_s", json_optional_real(m->median_s),
        "baseline_median_s", json_optional_real(m->baseline_median_s), "speedup",
        json_optional_real(m->speedup), "speedup_low", json_optional_real(m->speedup_low),
        "speedup_high", json_optional_real(m->speedup_high), "confidence", m->confidence, "dropped",
        m->n_dropped, "clocks", json_optional_text(m->clocks), "method",
        m->method ? m->method : "");
    if (m->spread.n > 0)
        json_object_set_new(json, "spread",
                            json_pack("{s:i, s:f, s:f}", "samples", m->spread.n, "low_s",
                                      m->spread.low_s, "high_s", m->spread.high_s));
    if (m->n_trials)
        json_object_set_new(json, "trials", trials_to_json(m));
    if (m->energy.present)
        json_object_set_new(json, "energy", energy_to_json(&m->energy));
    if (m->baseline_energy.present)
        json_object_set_new(json, "baseline_energy", energy_to_json(&m->baseline_energy));
    if (m->raw.marks)
        json_object_set_new(json, "raw",
                            json_pack("{s:s, s:o, s:o}", "marks", m->raw.marks, "subject_s",
                                      samples_to_json(m->raw.subject_s, m->n_dropped), "baseline_s",
                                      samples_to_json(m->raw.baseline_s, m->n_dropped)));
    return json;
}

static double *samples_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                                 const char *key, int n) {
    const json_t *array = json_read_array(r, json, key);
    if (r->failed)
        return NULL;
    if (json_array_size(array) != (size_t)n) {
        json_reader_fail(r, "%s has %zu samples, expected %d", key, json_array_size(array), n);
        return NULL;
    }
    double *samples = arena_array(a, double, n);
    for (int i = 0; i < n; i++) {
        const json_t *value = json_array_get(array, (size_t)i);
        if (!json_is_number(value))
            json_reader_fail(r, "%s[%d] is no number", key, i);
        samples[i] = json_number_value(value);
    }
    return samples;
}

static void trials_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                             struct measurement *m) {
    if (!json_object_get(json, "trials"))
        return;
    const json_t *array = json_read_array(r, json, "trials");
    m->n_trials = r->failed ? 0 : (int)json_array_size(array);
    m->trials = arena_array(a, struct measurement_trial, m->n_trials);
    for (int i = 0; i < m->n_trials; i++) {
        const json_t *trial = json_array_get(array, (size_t)i);
        m->trials[i] = (struct measurement_trial){.seconds = json_read_number(r, trial, "seconds"),
                                                  .n_pairs = (int)json_read_int(r, trial, "pairs"),
                                                  .speedup = json_read_number(r, trial, "speedup"),
                                                  .low = json_read_number(r, trial, "low"),
                                                  .high = json_read_number(r, trial, "high")};
    }
}

// As many marks as pairs, and as many of those that count as samples: who goes through them finds
// a time for each.
static void check_marks(struct json_reader *r, const struct measurement *m) {
    int n_counted = 0, n = 0;
    for (const char *mark = m->raw.marks; *mark; mark++, n++) {
        n_counted += measurement_counts(*mark);
        if (!measurement_counts(*mark) && *mark != MEASUREMENT_LEFT_OUT &&
            *mark != MEASUREMENT_SLOWED)
            json_reader_fail(r, "raw.marks[%d] is '%c', expected one of . d x s", n, *mark);
    }
    if (n_counted != m->n_pairs || n - n_counted != m->n_dropped)
        json_reader_fail(r, "raw.marks has %d pairs, %d of them left out; expected %d and %d", n,
                         n - n_counted, m->n_pairs + m->n_dropped, m->n_dropped);
}

static void raw_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                          struct measurement *m) {
    const json_t *raw = json_object_get(json, "raw");
    if (!raw || r->failed)
        return;
    m->raw.marks = json_read_string(r, a, raw, "marks");
    m->raw.subject_s = samples_from_json(r, a, raw, "subject_s", m->n_dropped);
    m->raw.baseline_s =
        samples_from_json(r, a, raw, json_key(raw, "baseline_s", "rival_s"), m->n_dropped);
    if (!r->failed)
        check_marks(r, m);
}

// What was kept before spreads were is still there while its samples are.
static void spread_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                             struct measurement *m) {
    const json_t *spread = json_object_get(json, "spread");
    if (r->failed)
        return;
    if (!spread) {
        measurement_set_spread(a, m);
        return;
    }
    m->spread = (struct measurement_spread){.n = (int)json_read_int(r, spread, "samples"),
                                            .low_s = json_read_number(r, spread, "low_s"),
                                            .high_s = json_read_number(r, spread, "high_s")};
}

bool measurement_from_json(struct arena *a, const json_t *json, struct measurement *m,
                           struct error *err) {
    *m = (struct measurement){0};
    if (!json || json_is_null(json))
        return true;
    struct json_reader r = {.where = "measurement"};
    json_read_schema(&r, json, "hone.measurement/1");
    m->present = true;
    m->baseline = json_read_string(&r, a, json, json_key(json, "baseline", "rival"));
    m->n_pairs = (int)json_read_int(&r, json, "pairs");
    m->subject_s = samples_from_json(&r, a, json, "subject_s", m->n_pairs);
    m->baseline_s =
        samples_from_json(&r, a, json, json_key(json, "baseline_s", "rival_s"), m->n_pairs);
    m->median_s = json_read_optional_number(&r, json, "median_s");
    m->baseline_median_s =
        json_read_optional_number(&r, json, json_key(json, "baseline_median_s", "rival_median_s"));
    m->speedup = json_read_optional_number(&r, json, "speedup");
    m->speedup_low = json_read_optional_number(&r, json, "speedup_low");
    m->speedup_high = json_read_optional_number(&r, json, "speedup_high");
    m->confidence = json_read_number(&r, json, "confidence");
    m->n_dropped = (int)json_read_int(&r, json, "dropped");
    m->clocks = json_read_optional_string(&r, a, json, "clocks");
    m->method = json_read_string(&r, a, json, "method");
    spread_from_json(&r, a, json, m);
    trials_from_json(&r, a, json, m);
    raw_from_json(&r, a, json, m);
    energy_from_json(&r, a, json_object_get(json, "energy"), &m->energy);
    energy_from_json(&r, a,
                     json_object_get(json, json_key(json, "baseline_energy", "rival_energy")),
                     &m->baseline_energy);
    return json_reader_done(&r, err);
}
