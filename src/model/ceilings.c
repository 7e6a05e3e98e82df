// Their JSON form, the cached file of each machine, and interpolation: between mixes of reads and
// writes, between sizes.
#include "model/ceilings.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "model/target.h"

static const char *const SCHEMA = "hone.ceilings/3";
static const char *const SCHEMA_BEFORE = "hone.ceilings/2";  // without points

enum { FILE_MAX = 64 << 10 };

// Single rates by their key in the JSON form; what a device has not is null.
static const struct rate {
    const char *key;
    size_t offset;
} rates[] = {
    {"f64_flops_per_s", offsetof(struct ceilings, f64_flops_per_s)},
    {"bf16_flops_per_s", offsetof(struct ceilings, bf16_flops_per_s)},
    {"tf32_flops_per_s", offsetof(struct ceilings, tf32_flops_per_s)},
    {"f8_flops_per_s", offsetof(struct ceilings, f8_flops_per_s)},
    {"i8_flops_per_s", offsetof(struct ceilings, i8_flops_per_s)},
    {"functions_per_s", offsetof(struct ceilings, functions_per_s)},
};
enum { RATES = sizeof rates / sizeof rates[0] };

static double *rate_of(struct ceilings *c, int i) {
    return (double *)((char *)c + rates[i].offset);
}

// Costs, less of which is better; absent in files of before.
static const struct rate costs[] = {
    {"fault_s", offsetof(struct ceilings, fault_s)},
    {"line_s", offsetof(struct ceilings, line_s)},
};
enum { COSTS = sizeof costs / sizeof costs[0] };

static double *cost_of(struct ceilings *c, int i) {
    return (double *)((char *)c + costs[i].offset);
}

static json_t *points_to_json(const struct ceiling_traffic *t) {
    json_t *points = json_array();
    for (int i = 0; i < POINTS_MAX; i++)
        if (t->point[i].bytes > 0)
            json_array_append_new(points, json_pack("{s:f, s:f}", "bytes", t->point[i].bytes,
                                                    "seconds", t->point[i].seconds));
    return points;
}

static json_t *traffic_to_json(const struct ceilings *c) {
    json_t *traffic = json_array();
    for (int i = 0; i < TRAFFIC_MIXES; i++) {
        const struct ceiling_traffic *t = &c->traffic[i];
        json_array_append_new(traffic,
                              json_pack("{s:f, s:f, s:f, s:f, s:b, s:o}", "read_fraction",
                                        t->read_fraction, "bytes_per_s", t->bytes_per_s, "spread",
                                        t->spread, "fixed_s", t->fixed_s, "streaming_stores",
                                        t->streams, "points", points_to_json(t)));
    }
    return traffic;
}

static json_t *caches_to_json(const struct ceilings *c) {
    json_t *caches = json_array();
    for (int i = 0; i < CACHE_LEVELS; i++)
        if (c->cache[i].bytes > 0)
            json_array_append_new(caches, json_pack("{s:i, s:I, s:f}", "level", i + 1, "bytes",
                                                    (json_int_t)c->cache[i].bytes, "bytes_per_s",
                                                    c->cache[i].bytes_per_s));
    return caches;
}

static json_t *widths_to_json(const struct ceilings *c) {
    json_t *widths = json_array();
    for (int i = 0; i < WIDTHS; i++)
        if (c->width[i].vector_bytes > 0)
            json_array_append_new(widths, json_pack("{s:i, s:f, s:f}", "vector_bytes",
                                                    c->width[i].vector_bytes, "f32_flops_per_s",
                                                    c->width[i].f32_flops_per_s, "f64_flops_per_s",
                                                    c->width[i].f64_flops_per_s));
    return widths;
}

json_t *ceilings_to_json(const struct target *t) {
    struct ceilings c = t->ceilings;
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:s, s:f, s:o, s:f, s:f, s:o, s:o, s:f, s:s}", "schema", SCHEMA,
                  "id", t->id, "device", t->device, "measured_at", c.measured_at, "launch_s",
                  c.launch_s, "traffic", traffic_to_json(&c), "f32_flops_per_s", c.f32_flops_per_s,
                  "f32_spread", c.f32_spread, "caches", caches_to_json(&c), "vectors",
                  widths_to_json(&c), "seconds", c.seconds, "how", c.how);
    for (int i = 0; i < RATES; i++)
        json_object_set_new(json, rates[i].key, json_optional_real(*rate_of(&c, i)));
    for (int i = 0; i < COSTS; i++)
        if (*cost_of(&c, i) > 0)
            json_object_set_new(json, costs[i].key, json_real(*cost_of(&c, i)));
    json_object_set_new(json, "steady", json_boolean(c.is_steady));
    return json;
}

static void read_points(struct json_reader *r, const json_t *array, struct ceiling_traffic *t) {
    if (json_array_size(array) > POINTS_MAX) {
        json_reader_fail(r, "%zu points, more than %d", json_array_size(array), POINTS_MAX);
        return;
    }
    double bytes = 0, seconds = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct ceiling_point *s = &t->point[i];
        s->bytes = json_read_number(r, json_array_get(array, i), "bytes");
        s->seconds = json_read_number(r, json_array_get(array, i), "seconds");
        if (!r->failed && !(s->bytes > bytes && s->seconds >= seconds))
            json_reader_fail(r, "points do not grow");
        bytes = s->bytes;
        seconds = s->seconds;
    }
}

static void read_traffic(struct json_reader *r, const json_t *array, struct ceilings *c) {
    if (json_array_size(array) != TRAFFIC_MIXES) {
        json_reader_fail(r, "traffic has %zu mixes, not %d", json_array_size(array), TRAFFIC_MIXES);
        return;
    }
    for (int i = 0; i < TRAFFIC_MIXES; i++) {
        const json_t *mix = json_array_get(array, (size_t)i);
        c->traffic[i].read_fraction = json_read_number(r, mix, "read_fraction");
        c->traffic[i].bytes_per_s = json_read_number(r, mix, "bytes_per_s");
        c->traffic[i].spread = json_read_number(r, mix, "spread");
        c->traffic[i].fixed_s = json_read_number(r, mix, "fixed_s");
        c->traffic[i].streams = json_read_bool(r, mix, "streaming_stores");
        if (json_object_get(mix, "points"))
            read_points(r, json_read_array(r, mix, "points"), &c->traffic[i]);
        if (!r->failed && !(c->traffic[i].bytes_per_s > 0))
            json_reader_fail(r, "bytes_per_s is not above zero");
        if (!r->failed && i > 0 && !(c->traffic[i].read_fraction < c->traffic[i - 1].read_fraction))
            json_reader_fail(r, "traffic is not ordered by falling read_fraction");
    }
}

static void read_caches(struct json_reader *r, const json_t *array, struct ceilings *c) {
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *cache = json_array_get(array, i);
        int64_t level = json_read_int(r, cache, "level");
        if (!r->failed && (level < 1 || level > CACHE_LEVELS))
            json_reader_fail(r, "there is no cache level %lld", (long long)level);
        if (r->failed)
            return;
        c->cache[level - 1].bytes = json_read_int(r, cache, "bytes");
        c->cache[level - 1].bytes_per_s = json_read_number(r, cache, "bytes_per_s");
    }
}

static void read_widths(struct json_reader *r, const json_t *array, struct ceilings *c) {
    for (size_t i = 0; i < json_array_size(array) && i < WIDTHS; i++) {
        const json_t *width = json_array_get(array, i);
        c->width[i].vector_bytes = (int)json_read_int(r, width, "vector_bytes");
        c->width[i].f32_flops_per_s = json_read_number(r, width, "f32_flops_per_s");
        c->width[i].f64_flops_per_s = json_read_number(r, width, "f64_flops_per_s");
    }
}

static bool has_schema(const json_t *json, const char *schema) {
    const char *found = json_string_value(json_object_get(json, "schema"));
    return found && strcmp(found, schema) == 0;
}

bool ceilings_from_json(struct arena *a, const json_t *json, struct target *t, struct error *err) {
    struct ceilings c = {.present = true};
    struct json_reader r = {.where = "ceilings"};
    json_read_schema(&r, json, has_schema(json, SCHEMA_BEFORE) ? SCHEMA_BEFORE : SCHEMA);
    c.launch_s = json_read_number(&r, json, "launch_s");
    read_traffic(&r, json_read_array(&r, json, "traffic"), &c);
    c.f32_flops_per_s = json_read_number(&r, json, "f32_flops_per_s");
    c.f32_spread = json_read_number(&r, json, "f32_spread");
    c.is_steady = json_object_get(json, "steady") && json_read_bool(&r, json, "steady");
    for (int i = 0; i < RATES; i++)
        *rate_of(&c, i) = json_read_optional_number(&r, json, rates[i].key);
    for (int i = 0; i < COSTS; i++)
        *cost_of(&c, i) =
            json_object_get(json, costs[i].key) ? json_read_number(&r, json, costs[i].key) : NAN;
    read_caches(&r, json_read_array(&r, json, "caches"), &c);
    read_widths(&r, json_read_array(&r, json, "vectors"), &c);
    c.seconds = json_read_number(&r, json, "seconds");
    c.measured_at = json_read_string(&r, a, json, "measured_at");
    c.how = json_read_string(&r, a, json, "how");
    if (!r.failed && !(c.f32_flops_per_s > 0 && c.launch_s >= 0))
        json_reader_fail(&r, "a rate is not above zero");
    if (!json_reader_done(&r, err))
        return false;
    t->ceilings = c;
    return true;
}

static const char *cache_path(struct arena *a, const struct target *t, struct error *err) {
    const char *dir = file_cache_dir(a, "ceilings", err);
    return dir ? arena_printf(a, "%s/%.16s.json", dir, t->id) : NULL;
}

// Ceilings are a cache: whatever does not read as ours, or at all, is absent, and will be measured
// again.
void target_load_ceilings(struct arena *a, struct target *t) {
    struct error ignored = {0};
    const char *path = cache_path(a, t, &ignored);
    size_t len;
    t->ceilings = (struct ceilings){0};
    char *text = path ? file_read_plain(a, path, FILE_MAX, &len, &ignored) : NULL;
    json_t *json = text ? json_parse(text, len, &ignored) : NULL;
    const char *id = json_string_value(json_object_get(json, "id"));
    if (id && strcmp(id, t->id) == 0 && has_schema(json, SCHEMA))
        ceilings_from_json(a, json, t, &ignored);
    json_decref(json);
}

bool target_save_ceilings(struct arena *a, const struct target *t, struct error *err) {
    assert(t->ceilings.present);
    const char *path = cache_path(a, t, err);
    if (!path)
        return false;
    json_t *json = ceilings_to_json(t);
    const char *text = json_print_pretty(a, json);
    json_decref(json);
    return file_write(path, text, strlen(text), err) || error_wrap(err, "keep the ceilings");
}

void ceilings_settle(struct ceilings *c, double cold_bytes) {
    for (int mix = 0; mix < TRAFFIC_MIXES; mix++) {
        struct ceiling_traffic *t = &c->traffic[mix];
        for (int i = POINTS_MAX - 2; i >= 0; i--)
            if (t->point[i + 1].bytes > 0)
                t->point[i].seconds = fmin(t->point[i].seconds, t->point[i + 1].seconds);
        for (int i = 0; i < POINTS_MAX; i++)
            if (t->point[i].bytes >= cold_bytes && t->point[i].seconds > 0)
                t->bytes_per_s = fmax(t->bytes_per_s, t->point[i].bytes / t->point[i].seconds);
    }
}

static double better(double old, double fresh) {
    return isnan(old) || fresh > old ? fresh : old;
}

static void raise_traffic(struct ceiling_traffic *t, const struct ceiling_traffic *fresh) {
    if (fresh->bytes_per_s > t->bytes_per_s) {
        t->bytes_per_s = fresh->bytes_per_s;
        t->spread = fresh->spread;
        t->streams = fresh->streams;
    }
    t->fixed_s = fmin(t->fixed_s, fresh->fixed_s);
    for (int i = 0; i < POINTS_MAX; i++) {
        struct ceiling_point *s = &t->point[i];
        if (s->bytes == 0)
            *s = fresh->point[i];
        else if (s->bytes == fresh->point[i].bytes)
            s->seconds = fmin(s->seconds, fresh->point[i].seconds);
    }
}

void ceilings_raise(struct ceilings *c, const struct ceilings *fresh) {
    assert(c->present && fresh->present);
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        raise_traffic(&c->traffic[i], &fresh->traffic[i]);
    if (fresh->launch_s < c->launch_s)
        c->launch_s = fresh->launch_s;
    c->is_steady = c->is_steady && fresh->is_steady;
    c->f32_flops_per_s = better(c->f32_flops_per_s, fresh->f32_flops_per_s);
    struct ceilings copy = *fresh;
    for (int i = 0; i < RATES; i++)
        *rate_of(c, i) = better(*rate_of(c, i), *rate_of(&copy, i));
    for (int i = 0; i < COSTS; i++)
        *cost_of(c, i) = fmin(*cost_of(c, i), *cost_of(&copy, i));
    for (int i = 0; i < CACHE_LEVELS; i++)
        if (fresh->cache[i].bytes_per_s > c->cache[i].bytes_per_s)
            c->cache[i] = fresh->cache[i];
    for (int i = 0; i < WIDTHS; i++)
        if (fresh->width[i].f32_flops_per_s > c->width[i].f32_flops_per_s)
            c->width[i] = fresh->width[i];
    c->measured_at = fresh->measured_at;
}

// Where a mix lies between the measured ones: the later of the two, and the share of the earlier.
static int find_mix(const struct ceilings *c, double read_fraction, double *share) {
    assert(c->present);
    const struct ceiling_traffic *mix = c->traffic;
    *share = 1;
    if (read_fraction >= mix[0].read_fraction)
        return 1;
    for (int i = 1; i < TRAFFIC_MIXES; i++) {
        if (read_fraction < mix[i].read_fraction)
            continue;
        double span = mix[i - 1].read_fraction - mix[i].read_fraction;
        *share = (read_fraction - mix[i].read_fraction) / span;
        return i;
    }
    *share = 0;
    return TRAFFIC_MIXES - 1;
}

double ceilings_spread(const struct ceilings *c) {
    double spread = c->f32_spread;
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        spread = c->traffic[i].spread > spread ? c->traffic[i].spread : spread;
    return spread;
}

bool ceilings_are_unsure(const struct ceilings *c) {
    const double most = 0.25;
    return c->present && ceilings_spread(c) > most;
}

double ceilings_bandwidth(const struct ceilings *c, double read_fraction) {
    double share;
    int i = find_mix(c, read_fraction, &share);
    return 1 / (share / c->traffic[i - 1].bytes_per_s + (1 - share) / c->traffic[i].bytes_per_s);
}

// The lower of the line and of what lies between two points, or that alone where they hold; beyond
// the last, the line less what that one saved.
static double mix_seconds(const struct ceilings *c, const struct ceiling_traffic *t, double bytes) {
    double line = fmax(t->fixed_s, c->launch_s) + bytes / t->bytes_per_s;
    struct ceiling_point from = {0, c->launch_s};
    for (int i = 0; i < POINTS_MAX && t->point[i].bytes > from.bytes; i++) {
        struct ceiling_point to = {t->point[i].bytes, fmax(t->point[i].seconds, c->launch_s)};
        double share = (bytes - from.bytes) / (to.bytes - from.bytes);
        double between = from.seconds + share * (to.seconds - from.seconds);
        if (share <= 1)
            return c->is_steady ? between : fmin(line, between);
        from = to;
    }
    bool has_points = from.bytes > 0;
    return has_points ? fmin(line, from.seconds + (bytes - from.bytes) / t->bytes_per_s) : line;
}

double ceilings_seconds(const struct ceilings *c, double read_fraction, double bytes) {
    double share;
    int i = find_mix(c, read_fraction, &share);
    return share * mix_seconds(c, &c->traffic[i - 1], bytes) +
           (1 - share) * mix_seconds(c, &c->traffic[i], bytes);
}

void ceilings_rates(const struct ceilings *c, double out[PIPE_COUNT]) {
    out[PIPE_F32] = c->f32_flops_per_s;
    out[PIPE_F64] = c->f64_flops_per_s;
    out[PIPE_TF32] = c->tf32_flops_per_s;
    out[PIPE_F16] = c->bf16_flops_per_s;
    out[PIPE_F8] = c->f8_flops_per_s;
    out[PIPE_I8] = c->i8_flops_per_s;
    out[PIPE_FUNCTION] = c->functions_per_s;
}
