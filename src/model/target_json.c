// The JSON form of a target's facts, for records, messages and spools.
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "model/target.h"

json_t *target_peaks_to_json(const struct target *t) {
    json_t *json = json_object();
    for (enum pipe p = 0; p < PIPE_COUNT; p++)
        if (t->peak_per_s[p] > 0)
            json_object_set_new(json, pipe_name(p), json_real(t->peak_per_s[p]));
    return json;
}

void target_peaks_from_json(struct json_reader *r, const json_t *json, struct target *t) {
    for (enum pipe p = 0; p < PIPE_COUNT; p++) {
        double rate = json_read_optional_number(r, json, pipe_name(p));
        t->peak_per_s[p] = rate > 0 ? rate : 0;
    }
}

json_t *target_to_json(const struct target *t) {
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:f, s:b, s:f, s:o}", "target",
                             t->name, "device", t->device, "id", t->id, "isa", t->isa, "l1_bytes",
                             (json_int_t)t->l1_bytes, "l2_bytes", (json_int_t)t->l2_bytes,
                             "llc_bytes", (json_int_t)t->llc_bytes, "top_clock_hz", t->top_clock_hz,
                             "top_clock_known", t->top_clock_known, "peak_bytes_per_s",
                             t->peak_bytes_per_s, "peak_per_s", target_peaks_to_json(t));
    if (t->is_gpu)
        json_object_update_new(
            json,
            json_pack("{s:i, s:i, s:I, s:I, s:i, s:i, s:i, s:I, s:s}", "ordinal", t->ordinal, "sms",
                      t->sms, "shared_per_block", (json_int_t)t->shared_per_block, "shared_per_sm",
                      (json_int_t)t->shared_per_sm, "registers_per_sm", t->registers_per_sm,
                      "threads_per_sm", t->threads_per_sm, "blocks_per_sm", t->blocks_per_sm,
                      "memory_bytes", (json_int_t)t->memory_bytes, "driver", t->driver));
    else
        json_object_update_new(json, json_pack("{s:i, s:i}", "threads", t->n_threads,
                                               "vector_bytes", t->vector_bytes));
    if (t->cutlass[0])
        json_object_set_new(json, "cutlass", json_string(t->cutlass));
    if (t->compiler)
        json_object_set_new(json, "compiler", json_string(t->compiler));
    json_object_set_new(json, "ceilings", t->ceilings.present ? ceilings_to_json(t) : json_null());
    return json;
}

static void read_gpu(struct json_reader *r, struct arena *a, const json_t *json, struct target *t) {
    t->ordinal = (int)json_read_int(r, json, "ordinal");
    t->sms = (int)json_read_int(r, json, "sms");
    t->shared_per_block = json_read_int(r, json, "shared_per_block");
    t->shared_per_sm = json_read_int(r, json, "shared_per_sm");
    t->registers_per_sm = (int)json_read_int(r, json, "registers_per_sm");
    t->threads_per_sm = (int)json_read_int(r, json, "threads_per_sm");
    t->blocks_per_sm = (int)json_read_int(r, json, "blocks_per_sm");
    t->memory_bytes = json_read_int(r, json, "memory_bytes");
    t->driver = json_read_string(r, a, json, "driver");
    const char *cutlass = json_read_optional_string(r, a, json, "cutlass");
    snprintf(t->cutlass, sizeof t->cutlass, "%s", cutlass ? cutlass : "");
    if (!r->failed && (t->sms <= 0 || t->shared_per_block <= 0 || t->registers_per_sm <= 0 ||
                       t->threads_per_sm <= 0))
        json_reader_fail(r, "a GPU without multiprocessors, registers or shared memory");
}

static void read_cpu(struct json_reader *r, const json_t *json, struct target *t) {
    t->n_threads = (int)json_read_int(r, json, "threads");
    t->vector_bytes = (int)json_read_int(r, json, "vector_bytes");
    t->cc = "";
    if (!r->failed && (t->n_threads <= 0 || t->vector_bytes < 16 || t->vector_bytes > 1024))
        json_reader_fail(r, "a CPU without threads or vectors");
}

bool target_from_json(struct arena *a, const json_t *json, struct target *t, struct error *err) {
    struct json_reader r = {.where = "target"};
    *t = (struct target){0};
    t->name = json_read_string(&r, a, json, "target");
    t->device = json_read_string(&r, a, json, "device");
    t->id = json_read_string(&r, a, json, "id");
    t->isa = json_read_string(&r, a, json, "isa");
    t->l1_bytes = json_read_int(&r, json, "l1_bytes");
    t->l2_bytes = json_read_int(&r, json, "l2_bytes");
    t->llc_bytes = json_read_int(&r, json, "llc_bytes");
    t->top_clock_hz = json_read_number(&r, json, "top_clock_hz");
    t->top_clock_known = json_read_bool(&r, json, "top_clock_known");
    t->peak_bytes_per_s = json_read_number(&r, json, "peak_bytes_per_s");
    target_peaks_from_json(&r, json_read_object(&r, json, "peak_per_s"), t);
    t->compiler = json_read_optional_string(&r, a, json, "compiler");
    t->is_gpu = json_object_get(json, "sms") != NULL;
    if (t->is_gpu)
        read_gpu(&r, a, json, t);
    else
        read_cpu(&r, json, t);
    if (!r.failed && (t->l1_bytes <= 0 || t->llc_bytes <= 0 || !(t->peak_bytes_per_s > 0) ||
                      !(t->peak_per_s[PIPE_F32] > 0)))
        json_reader_fail(&r, "a cache or a peak is not above zero");
    const json_t *ceilings = json_object_get(json, "ceilings");
    return json_reader_done(&r, err) &&
           (!ceilings || json_is_null(ceilings) || ceilings_from_json(a, ceilings, t, err));
}
