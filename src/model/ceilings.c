// Ceilings as they are cached: one JSON file per device, read here, measured in eval/.
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "model/target.h"

static const char *const SCHEMA = "hone.ceilings/1";

enum { FILE_MAX = 64 << 10 };

json_t *ceilings_to_json(const struct target *t) {
    const struct ceilings *c = &t->ceilings;
    json_t *traffic = json_array();
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        json_array_append_new(traffic,
                              json_pack("{s:f, s:f, s:f}", "read_fraction",
                                        c->traffic[i].read_fraction, "bytes_per_s",
                                        c->traffic[i].bytes_per_s, "spread", c->traffic[i].spread));
    return json_pack("{s:s, s:s, s:s, s:s, s:f, s:o, s:f, s:f, s:o, s:o, s:o, s:s}", "schema",
                     SCHEMA, "id", t->id, "device", t->device, "measured_at", c->measured_at,
                     "launch_s", c->launch_s, "traffic", traffic, "f32_flops_per_s",
                     c->f32_flops_per_s, "f32_spread", c->f32_spread, "f64_flops_per_s",
                     json_optional_real(c->f64_flops_per_s), "bf16_flops_per_s",
                     json_optional_real(c->bf16_flops_per_s), "tf32_flops_per_s",
                     json_optional_real(c->tf32_flops_per_s), "how", c->how);
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
        if (!r->failed && !(c->traffic[i].bytes_per_s > 0))
            json_reader_fail(r, "bytes_per_s is not above zero");
        if (!r->failed && i > 0 && !(c->traffic[i].read_fraction < c->traffic[i - 1].read_fraction))
            json_reader_fail(r, "traffic is not ordered by falling read_fraction");
    }
}

bool ceilings_from_json(struct arena *a, const json_t *json, struct target *t, struct error *err) {
    struct ceilings c = {.present = true};
    struct json_reader r = {.where = "ceilings"};
    json_read_schema(&r, json, SCHEMA);
    c.launch_s = json_read_number(&r, json, "launch_s");
    read_traffic(&r, json_read_array(&r, json, "traffic"), &c);
    c.f32_flops_per_s = json_read_number(&r, json, "f32_flops_per_s");
    c.f32_spread = json_read_number(&r, json, "f32_spread");
    c.f64_flops_per_s = json_read_optional_number(&r, json, "f64_flops_per_s");
    c.bf16_flops_per_s = json_read_optional_number(&r, json, "bf16_flops_per_s");
    c.tf32_flops_per_s = json_read_optional_number(&r, json, "tf32_flops_per_s");
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

// Ceilings are a cache: whatever does not read as ours is absent, and will be measured again.
bool target_load_ceilings(struct arena *a, struct target *t, struct error *err) {
    const char *path = cache_path(a, t, err);
    if (!path)
        return false;
    struct error ignored = {0};
    size_t len;
    t->ceilings = (struct ceilings){0};
    if (!file_exists(path))
        return true;
    char *text = file_read(a, path, FILE_MAX, &len, &ignored);
    json_t *json = text ? json_parse(text, len, &ignored) : NULL;
    const char *id = json_string_value(json_object_get(json, "id"));
    if (id && strcmp(id, t->id) == 0)
        ceilings_from_json(a, json, t, &ignored);
    json_decref(json);
    return true;
}

bool target_save_ceilings(struct arena *a, const struct target *t, struct error *err) {
    assert(t->ceilings.present);
    const char *path = cache_path(a, t, err);
    if (!path)
        return false;
    json_t *json = ceilings_to_json(t);
    const char *text = json_print_pretty(a, json);
    json_decref(json);
    return file_write(path, text, strlen(text), err) || error_wrap(err, "save ceilings");
}

static double better(double old, double fresh) {
    return isnan(old) || fresh > old ? fresh : old;
}

void ceilings_raise(struct ceilings *c, const struct ceilings *fresh) {
    assert(c->present && fresh->present);
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        if (fresh->traffic[i].bytes_per_s > c->traffic[i].bytes_per_s)
            c->traffic[i] = fresh->traffic[i];
    if (fresh->launch_s < c->launch_s)
        c->launch_s = fresh->launch_s;
    c->f32_flops_per_s = better(c->f32_flops_per_s, fresh->f32_flops_per_s);
    c->f64_flops_per_s = better(c->f64_flops_per_s, fresh->f64_flops_per_s);
    c->bf16_flops_per_s = better(c->bf16_flops_per_s, fresh->bf16_flops_per_s);
    c->tf32_flops_per_s = better(c->tf32_flops_per_s, fresh->tf32_flops_per_s);
    c->measured_at = fresh->measured_at;
}

double ceilings_bandwidth(const struct ceilings *c, double read_fraction) {
    assert(c->present);
    const struct ceiling_traffic *mix = c->traffic;
    if (read_fraction >= mix[0].read_fraction)
        return mix[0].bytes_per_s;
    for (int i = 1; i < TRAFFIC_MIXES; i++) {
        if (read_fraction < mix[i].read_fraction)
            continue;
        double span = mix[i - 1].read_fraction - mix[i].read_fraction;
        double share = (read_fraction - mix[i].read_fraction) / span;
        return 1 / (share / mix[i - 1].bytes_per_s + (1 - share) / mix[i].bytes_per_s);
    }
    return mix[TRAFFIC_MIXES - 1].bytes_per_s;
}
