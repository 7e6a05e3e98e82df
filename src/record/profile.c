// JSON form, the list of launches, and one phrase on them.
#include "record/profile.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "record/finding.h"

void profile_set(struct profile *p, enum metric_id id, double value) {
    metrics_set(&p->call, id, value);
}

double profile_get(const struct profile *p, enum metric_id id) {
    return metrics_get(&p->call, id);
}

double launch_get(const struct profile_launch *l, enum metric_id id) {
    return metrics_get(&l->metrics, id);
}

void profile_reserve(struct arena *a, struct profile *p, int n_launches) {
    if (n_launches <= p->room)
        return;
    struct profile_launch *more = arena_array(a, struct profile_launch, n_launches);
    if (p->n_launches > 0)
        memcpy(more, p->launches, sizeof *more * (size_t)p->n_launches);
    p->launches = more;
    p->room = n_launches;
}

struct profile_launch *profile_add_launch(struct arena *a, struct profile *p, const char *name) {
    if (p->n_launches == p->room)
        profile_reserve(a, p, p->room * 2 + 4);
    p->launches[p->n_launches] = (struct profile_launch){.name = name};
    return &p->launches[p->n_launches++];
}

// Of all launches that this one stands for; NAN: not timed.
static double launch_total_s(const struct profile_launch *l) {
    double calls = launch_get(l, METRIC_CALLS);
    return launch_get(l, METRIC_TIME) * (isfinite(calls) ? calls : 1);
}

// NAN where some launch was not timed.
static double total_s(const struct profile *p) {
    double sum = 0;
    for (int i = 0; i < p->n_launches; i++)
        sum += launch_total_s(&p->launches[i]);
    return sum;
}

double profile_share(const struct profile *p, int launch) {
    double sum = total_s(p);
    return sum > 0 ? launch_total_s(&p->launches[launch]) / sum : NAN;
}

void profile_shares(const struct profile *p, double *shares) {
    double sum = total_s(p);
    for (int i = 0; i < p->n_launches; i++)
        shares[i] = sum > 0 ? launch_total_s(&p->launches[i]) / sum : NAN;
}

const char *profile_launch_text(struct arena *a, const struct profile *p) {
    struct str out = {0};
    double sum = total_s(p);
    for (int i = 0; sum > 0 && p->n_launches > 1 && i < p->n_launches; i++) {
        double time_s = launch_get(&p->launches[i], METRIC_TIME);
        str_printf(&out, "%s%s %s (%.0f%%)", i > 0 ? ", " : "", p->launches[i].name,
                   clock_duration(a, time_s * 1e9), 100 * time_s / sum);
    }
    return str_take(a, &out);
}

static void metrics_to_json(const struct metrics *m, json_t *object) {
    for (int i = 0; i < METRIC_COUNT; i++)
        if (metrics_has(m, (enum metric_id)i))
            json_object_set_new(object, metric_table[i].name, json_real(m->value[i]));
}

static json_t *lines_to_json(const struct profile *p) {
    json_t *lines = json_array();
    for (int i = 0; i < p->n_lines; i++) {
        const struct profile_line *l = &p->lines[i];
        json_array_append_new(lines, json_pack("{s:s, s:i, s:f, s:o}", "launch", l->launch, "line",
                                               l->line, "samples", l->samples, "reason",
                                               json_optional_text(l->reason)));
    }
    return lines;
}

json_t *profile_to_json(const struct profile *p) {
    json_t *metrics = json_object();
    metrics_to_json(&p->call, metrics);
    json_t *json = json_pack("{s:s, s:o}", "schema", "hone.profile/1", "metrics", metrics);
    if (p->n_lines > 0)
        json_object_set_new(json, "lines", lines_to_json(p));
    json_t *said = json_array();
    for (int i = 0; i < p->n_said; i++)
        json_array_append_new(said, finding_to_json(&p->said[i]));
    if (p->n_said > 0)
        json_object_set(json, "said", said);
    json_decref(said);
    if (p->n_launches == 0)
        return json;
    json_t *launches = json_array();
    for (int i = 0; i < p->n_launches; i++) {
        json_t *launch = json_pack("{s:o}", "name", json_optional_text(p->launches[i].name));
        metrics_to_json(&p->launches[i].metrics, launch);
        json_array_append_new(launches, launch);
    }
    json_object_set_new(json, "launches", launches);
    return json;
}

static void metrics_from_json(struct json_reader *r, const json_t *object, struct metrics *m) {
    const char *name;
    json_t *value;
    enum metric_id id;
    json_object_foreach((json_t *)object, name, value) {
        if (strcmp(name, "name") == 0)
            continue;  // a launch's
        if (!json_is_number(value)) {
            json_reader_fail(r, "metric '%s' is no number", name);
            return;
        }
        if (metric_find(name, &id))
            metrics_set(m, id, json_number_value(value));
    }
}

static void launches_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                               struct profile *p) {
    if (r->failed || !json_object_get(json, "launches"))
        return;
    const json_t *array = json_read_array(r, json, "launches");
    profile_reserve(a, p, (int)json_array_size(array));
    for (size_t i = 0; !r->failed && i < json_array_size(array); i++) {
        const json_t *launch = json_array_get(array, i);
        const char *name = json_read_string(r, a, launch, "name");
        struct profile_launch *l = profile_add_launch(a, p, name);
        metrics_from_json(r, launch, &l->metrics);
        // Records of earlier versions call a block's threads `threads`, which are a pool's now.
        metrics_set(&l->metrics, METRIC_BLOCK_THREADS, launch_get(l, METRIC_THREADS));
        metrics_clear(&l->metrics, METRIC_THREADS);
    }
}

static bool said_from_json(struct arena *a, const json_t *json, struct profile *p,
                           struct error *err) {
    const json_t *said = json_object_get(json, "said");
    int n = (int)json_array_size(said);
    struct finding *all = n > 0 ? arena_array(a, struct finding, n) : NULL;
    for (int i = 0; i < n; i++)
        if (!finding_from_json(a, json_array_get(said, (size_t)i), &all[i], err))
            return false;
    p->said = all;
    p->n_said = n;
    return true;
}

static void lines_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                            struct profile *p) {
    if (r->failed || !json_object_get(json, "lines"))
        return;
    const json_t *array = json_read_array(r, json, "lines");
    p->lines = arena_array(a, struct profile_line, (int)json_array_size(array) + 1);
    for (size_t i = 0; !r->failed && i < json_array_size(array); i++) {
        const json_t *line = json_array_get(array, i);
        p->lines[p->n_lines++] = (struct profile_line){
            .launch = json_read_string(r, a, line, "launch"),
            .line = (int)json_read_int(r, line, "line"),
            .samples = json_read_number(r, line, "samples"),
            .reason = json_read_optional_string(r, a, line, "reason"),
        };
    }
}

bool profile_from_json(struct arena *a, const json_t *json, struct profile *p, struct error *err) {
    struct json_reader r = {.where = "profile"};
    json_read_schema(&r, json, "hone.profile/1");
    *p = (struct profile){0};
    metrics_from_json(&r, json_read_object(&r, json, "metrics"), &p->call);
    launches_from_json(&r, a, json, p);
    lines_from_json(&r, a, json, p);
    return json_reader_done(&r, err) && said_from_json(a, json, p, err);
}
