// JSON form, metrics by name, and one phrase on the launches.
#include "record/profile.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

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

struct profile_launch *profile_add_launch(struct profile *p, const char *name) {
    if (p->n_launches == LAUNCHES_MAX)
        return NULL;
    p->launches[p->n_launches] = (struct profile_launch){name, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    return &p->launches[p->n_launches++];
}

const char *profile_launch_text(struct arena *a, const struct profile *p) {
    struct str out = {0};
    double total_s = 0;
    for (int i = 0; i < p->n_launches; i++)
        total_s += p->launches[i].time_s;
    for (int i = 0; total_s > 0 && p->n_launches > 1 && i < p->n_launches; i++) {
        const struct profile_launch *l = &p->launches[i];
        str_printf(&out, "%s%s %s (%.0f%%)", i > 0 ? ", " : "", l->name,
                   clock_duration(a, l->time_s * 1e9), 100 * l->time_s / total_s);
    }
    return str_take(a, &out);
}

// What is told of a launch, and under which name.
static const struct {
    const char *name;
    size_t offset;
} launch_fields[] = {
    {"time_s", offsetof(struct profile_launch, time_s)},
    {"blocks", offsetof(struct profile_launch, blocks)},
    {"threads", offsetof(struct profile_launch, threads)},
    {"registers", offsetof(struct profile_launch, registers)},
    {"local_bytes", offsetof(struct profile_launch, local_bytes)},
    {"shared_bytes", offsetof(struct profile_launch, shared_bytes)},
    {"occupancy", offsetof(struct profile_launch, occupancy)},
};
enum { LAUNCH_FIELDS = sizeof launch_fields / sizeof launch_fields[0] };

static json_t *launches_to_json(const struct profile *p) {
    json_t *array = json_array();
    for (int i = 0; i < p->n_launches; i++) {
        const struct profile_launch *l = &p->launches[i];
        json_t *json = json_pack("{s:o}", "name", json_optional_text(l->name));
        for (int k = 0; k < LAUNCH_FIELDS; k++) {
            double value = *(const double *)((const char *)l + launch_fields[k].offset);
            if (isfinite(value))
                json_object_set_new(json, launch_fields[k].name, json_real(value));
        }
        json_array_append_new(array, json);
    }
    return array;
}

static void launches_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                               struct profile *p) {
    if (r->failed || !json_object_get(json, "launches"))
        return;
    const json_t *array = json_read_array(r, json, "launches");
    for (size_t i = 0; !r->failed && i < json_array_size(array); i++) {
        const json_t *launch = json_array_get(array, i);
        struct profile_launch *l = profile_add_launch(p, json_read_string(r, a, launch, "name"));
        for (int k = 0; l && k < LAUNCH_FIELDS; k++)
            *(double *)((char *)l + launch_fields[k].offset) =
                json_read_optional_number(r, launch, launch_fields[k].name);
    }
}

json_t *profile_to_json(const struct profile *p) {
    json_t *metrics = json_object();
    for (int i = 0; i < p->n_metrics; i++)
        if (isfinite(p->metrics[i].value))
            json_object_set_new(metrics, p->metrics[i].name, json_real(p->metrics[i].value));
    json_t *json = json_pack("{s:s, s:o}", "schema", "hone.profile/1", "metrics", metrics);
    if (p->n_launches > 0)
        json_object_set_new(json, "launches", launches_to_json(p));
    return json;
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
    launches_from_json(&r, a, json, p);
    return json_reader_done(&r, err);
}
