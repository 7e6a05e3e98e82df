#include "ops/op_machine.h"

#include <string.h>

#include "base/arena.h"
#include "base/config.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

// Names that are targets of the design but not of this build.
static bool is_gpu_name(const char *name) {
    return strncmp(name, "cuda", 4) == 0 || strncmp(name, "sm_", 3) == 0;
}

static bool check_name(const char *name, struct error *err) {
    if (!name || strcmp(name, "cpu") == 0)
        return true;
    if (is_gpu_name(name))
        return error_set(err, ERROR_UNSUPPORTED, "target %s: this hone has no GPU part", name);
    const char *near = str_nearest(name, target_names);
    return error_set(err, ERROR_USAGE, "unknown target '%s'%s%s%s", name,
                     near ? "; did you mean '" : "; there is: cpu", near ? near : "",
                     near ? "'?" : "");
}

bool op_target(struct arena *a, const char *name, struct target *t, struct error *err) {
    struct config config;
    long long threads;
    if (!check_name(name, err) || !config_load(a, &config, err))
        return false;
    const char *text = config_get(&config, "run.threads");
    if (!str_to_int64(text, &threads) || threads < 0 || threads > 4096)
        return error_set(err, ERROR_USAGE, "setting run.threads is '%s', not a number of threads",
                         text);
    return target_read_cpu(a, (int)threads, config_get(&config, "build.cc"), t, err) &&
           target_load_ceilings(a, t, err);
}

json_t *op_devices(const struct target *t) {
    json_t *cpu =
        json_pack("{s:s, s:s, s:s, s:i, s:i, s:I, s:I, s:I, s:f, s:b}", "target", t->name, "device",
                  t->device, "isa", t->isa, "threads", t->n_threads, "vector_bytes",
                  t->vector_bytes, "l1_bytes", (json_int_t)t->l1_bytes, "l2_bytes",
                  (json_int_t)t->l2_bytes, "llc_bytes", (json_int_t)t->llc_bytes, "top_clock_hz",
                  t->top_clock_hz, "top_clock_known", t->top_clock_known);
    json_object_set_new(cpu, "ceilings", t->ceilings.present ? ceilings_to_json(t) : json_null());
    return json_pack("{s:s, s:[o]}", "schema", "hone.devices/1", "devices", cpu);
}
