#include "record/profile.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

void profile_set(struct profile *p, const char *name, double value) {
    for (int i = 0; i < p->n_metrics; i++) {
        if (strcmp(p->metrics[i].name, name) != 0)
            continue;
        p->metrics[i].value = value;
        return;
    }
    assert(p->n_metrics < METRICS_MAX);
    p->metrics[p->n_metrics++] = (struct metric){name, value};
}

double profile_get(const struct profile *p, const char *name) {
    for (int i = 0; i < p->n_metrics; i++)
        if (strcmp(p->metrics[i].name, name) == 0)
            return p->metrics[i].value;
    return NAN;
}

json_t *profile_to_json(const struct profile *p) {
    json_t *metrics = json_object();
    for (int i = 0; i < p->n_metrics; i++)
        if (isfinite(p->metrics[i].value))
            json_object_set_new(metrics, p->metrics[i].name, json_real(p->metrics[i].value));
    return json_pack("{s:s, s:o}", "schema", "hone.profile/1", "metrics", metrics);
}

bool profile_from_json(struct arena *a, const json_t *json, struct profile *p, struct error *err) {
    struct json_reader r = {.where = "profile"};
    json_read_schema(&r, json, "hone.profile/1");
    *p = (struct profile){0};
    json_t *metrics = json_read_object(&r, json, "metrics");
    const char *name;
    json_t *value;
    json_object_foreach(metrics, name, value) {
        if (!json_is_number(value)) {
            json_reader_fail(&r, "metric '%s' is no number", name);
            break;
        }
        if (p->n_metrics == METRICS_MAX) {
            json_reader_fail(&r, "more than %d metrics", METRICS_MAX);
            break;
        }
        profile_set(p, arena_strdup(a, name), json_number_value(value));
    }
    return json_reader_done(&r, err);
}
