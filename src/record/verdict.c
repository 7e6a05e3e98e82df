// JSON form and names of kinds; infinite errors are kept as a number that JSON has.
#include "record/verdict.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

static const char *const kind_names[VERDICT_COUNT] = {
    [VERDICT_OK] = "ok",           [VERDICT_ILLEGAL] = "illegal",
    [VERDICT_CRASH] = "crash",     [VERDICT_NO_COMPILE] = "no-compile",
    [VERDICT_TIMEOUT] = "timeout", [VERDICT_LIMITS] = "limits",
    [VERDICT_WRONG] = "wrong",     [VERDICT_UNSTABLE] = "unstable",
    [VERDICT_CHEAT] = "cheat",     [VERDICT_SUSPECT] = "suspect",
    [VERDICT_INFRA] = "infra",
};

const char *verdict_kind_name(enum verdict_kind k) {
    return kind_names[k];
}

bool verdict_kind_parse(const char *name, enum verdict_kind *k) {
    for (int i = 0; i < VERDICT_COUNT; i++) {
        if (strcmp(name, kind_names[i]) != 0)
            continue;
        *k = (enum verdict_kind)i;
        return true;
    }
    return false;
}

bool verdict_is_failure(enum verdict_kind k) {
    return k != VERDICT_OK && k != VERDICT_SUSPECT && k != VERDICT_INFRA;
}

bool verdict_is_of_calls(const struct verdict *v) {
    return v->kind != VERDICT_INFRA && v->n_calls > 0;
}

// An infinite error is a fact worth keeping, and JSON has no word for it.
static json_t *bounded(double value) {
    return json_optional_real(isinf(value) ? DBL_MAX : value);
}

static json_t *stats_to_json(const struct error_stats *e) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "rms", bounded(e->rms), "max",
                     bounded(e->max), "honest_rms", bounded(e->honest_rms), "honest_max",
                     bounded(e->honest_max), "limit_rms", bounded(e->limit_rms), "limit_max",
                     bounded(e->limit_max));
}

static void set_strings(json_t *json, const char *key, const char *const *words) {
    if (!words)
        return;
    json_t *list = json_array();
    for (; *words; words++)
        json_array_append_new(list, json_string(*words));
    json_object_set_new(json, key, list);
}

// May be absent: verdicts of earlier versions have none.
static const char *const *get_strings(struct arena *a, const json_t *json, const char *key) {
    const json_t *list = json_object_get(json, key);
    if (!json_is_array(list))
        return NULL;
    size_t n = json_array_size(list);
    const char **words = arena_array(a, const char *, (int)n + 1);
    for (size_t i = 0; i < n; i++) {
        const char *word = json_string_value(json_array_get(list, i));
        words[i] = arena_strdup(a, word ? word : "");
    }
    return words;
}

json_t *verdict_to_json(const struct verdict *v) {
    json_t *json =
        json_pack("{s:s, s:s, s:o, s:s, s:o, s:i, s:i, s:b, s:i}", "schema", "hone.verdict/1",
                  "kind", verdict_kind_name(v->kind), "rule", json_optional_text(v->rule),
                  "evidence", v->evidence ? v->evidence : "", "error", stats_to_json(&v->error),
                  "sets", v->n_sets, "calls", v->n_calls, "timed_calls_checked",
                  (int)v->timed_calls_checked, "sandbox_level", v->sandbox_level);
    set_strings(json, "refused", v->refused);
    set_strings(json, "allowed", v->allowed);
    if (v->null_kernel)
        json_object_set_new(json, "null_kernel", json_string(v->null_kernel));
    if (v->device)
        json_object_set_new(json, "device", json_string(v->device));
    return json;
}

static void stats_from_json(struct json_reader *r, const json_t *json, struct error_stats *e) {
    e->rms = json_read_optional_number(r, json, "rms");
    e->max = json_read_optional_number(r, json, "max");
    e->honest_rms = json_read_optional_number(r, json, "honest_rms");
    e->honest_max = json_read_optional_number(r, json, "honest_max");
    e->limit_rms = json_read_optional_number(r, json, "limit_rms");
    e->limit_max = json_read_optional_number(r, json, "limit_max");
}

bool verdict_from_json(struct arena *a, const json_t *json, struct verdict *v, struct error *err) {
    struct json_reader r = {.where = "verdict"};
    json_read_schema(&r, json, "hone.verdict/1");
    *v = (struct verdict){0};
    const char *kind = json_read_string(&r, a, json, "kind");
    if (!verdict_kind_parse(kind, &v->kind))
        json_reader_fail(&r, "unknown kind '%s'", kind);
    v->rule = json_read_optional_string(&r, a, json, "rule");
    v->evidence = json_read_string(&r, a, json, "evidence");
    stats_from_json(&r, json_read_object(&r, json, "error"), &v->error);
    v->n_sets = (int)json_read_int(&r, json, "sets");
    v->n_calls = (int)json_read_int(&r, json, "calls");
    v->timed_calls_checked = json_read_bool(&r, json, "timed_calls_checked");
    v->sandbox_level = (int)json_read_int(&r, json, "sandbox_level");
    v->refused = get_strings(a, json, "refused");
    v->allowed = get_strings(a, json, "allowed");
    if (json_object_get(json, "null_kernel"))
        v->null_kernel = json_read_string(&r, a, json, "null_kernel");
    if (json_object_get(json, "device"))
        v->device = json_read_string(&r, a, json, "device");
    return json_reader_done(&r, err);
}
