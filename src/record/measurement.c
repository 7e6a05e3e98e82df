#include "record/measurement.h"

#include <math.h>

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

static json_t *looks_to_json(const struct measurement *m) {
    json_t *array = json_array();
    for (int i = 0; i < m->n_looks; i++) {
        const struct measurement_look *l = &m->looks[i];
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
        "hone.measurement/1", "rival", m->rival ? m->rival : "", "pairs", m->n_pairs, "subject_s",
        samples_to_json(m->subject_s, m->n_pairs), "rival_s",
        samples_to_json(m->rival_s, m->n_pairs), "median_s", json_optional_real(m->median_s),
        "rival_median_s", json_optional_real(m->rival_median_s), "speedup",
        json_optional_real(m->speedup), "speedup_low", json_optional_real(m->speedup_low),
        "speedup_high", json_optional_real(m->speedup_high), "confidence", m->confidence, "dropped",
        m->n_dropped, "clocks", json_optional_text(m->clocks), "method",
        m->method ? m->method : "");
    if (m->n_looks)
        json_object_set_new(json, "looks", looks_to_json(m));
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

static void looks_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                            struct measurement *m) {
    if (!json_object_get(json, "looks"))
        return;
    const json_t *array = json_read_array(r, json, "looks");
    m->n_looks = r->failed ? 0 : (int)json_array_size(array);
    m->looks = arena_array(a, struct measurement_look, m->n_looks);
    for (int i = 0; i < m->n_looks; i++) {
        const json_t *look = json_array_get(array, (size_t)i);
        m->looks[i] = (struct measurement_look){.seconds = json_read_number(r, look, "seconds"),
                                                .n_pairs = (int)json_read_int(r, look, "pairs"),
                                                .speedup = json_read_number(r, look, "speedup"),
                                                .low = json_read_number(r, look, "low"),
                                                .high = json_read_number(r, look, "high")};
    }
}

bool measurement_from_json(struct arena *a, const json_t *json, struct measurement *m,
                           struct error *err) {
    *m = (struct measurement){0};
    if (!json || json_is_null(json))
        return true;
    struct json_reader r = {.where = "measurement"};
    json_read_schema(&r, json, "hone.measurement/1");
    m->present = true;
    m->rival = json_read_string(&r, a, json, "rival");
    m->n_pairs = (int)json_read_int(&r, json, "pairs");
    m->subject_s = samples_from_json(&r, a, json, "subject_s", m->n_pairs);
    m->rival_s = samples_from_json(&r, a, json, "rival_s", m->n_pairs);
    m->median_s = json_read_optional_number(&r, json, "median_s");
    m->rival_median_s = json_read_optional_number(&r, json, "rival_median_s");
    m->speedup = json_read_optional_number(&r, json, "speedup");
    m->speedup_low = json_read_optional_number(&r, json, "speedup_low");
    m->speedup_high = json_read_optional_number(&r, json, "speedup_high");
    m->confidence = json_read_number(&r, json, "confidence");
    m->n_dropped = (int)json_read_int(&r, json, "dropped");
    m->clocks = json_read_optional_string(&r, a, json, "clocks");
    m->method = json_read_string(&r, a, json, "method");
    looks_from_json(&r, a, json, m);
    return json_reader_done(&r, err);
}
