#include "model/target_facts.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "model/target.h"

json_t *target_facts_to_json(const struct target *t) {
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:b, s:s, s:i, s:i, s:o, s:I, s:I, s:I}", "schema", "hone.target/1",
        "name", t->name, "device", t->device, "id", t->id ? t->id : "", "is_gpu", t->is_gpu, "isa",
        t->isa, "n_threads", t->n_threads, "vector_bytes", t->vector_bytes, "cc",
        json_optional_text(t->cc), "l1_bytes", (json_int_t)t->l1_bytes, "l2_bytes",
        (json_int_t)t->l2_bytes, "llc_bytes", (json_int_t)t->llc_bytes);
    json_t *rest = json_pack(
        "{s:i, s:i, s:I, s:I, s:i, s:i, s:I, s:o, s:o, s:b, s:o, s:o, s:i, s:o}", "ordinal",
        t->ordinal, "sms", t->sms, "shared_per_block", (json_int_t)t->shared_per_block,
        "shared_per_sm", (json_int_t)t->shared_per_sm, "registers_per_sm", t->registers_per_sm,
        "threads_per_sm", t->threads_per_sm, "memory_bytes", (json_int_t)t->memory_bytes, "driver",
        json_optional_text(t->driver), "top_clock_hz", json_optional_real(t->top_clock_hz),
        "top_clock_known", t->top_clock_known, "peak_bytes_per_s",
        json_optional_real(t->peak_bytes_per_s), "peak_per_s", target_peaks_to_json(t),
        "blocks_per_sm", t->blocks_per_sm, "ceilings",
        t->ceilings.present ? ceilings_to_json(t) : json_null());
    json_object_update(json, rest);
    json_decref(rest);
    return json;
}

bool target_facts_from_json(struct arena *a, const json_t *json, struct target *t,
                            struct error *err) {
    struct json_reader r = {.where = "target"};
    json_read_schema(&r, json, "hone.target/1");
    *t = (struct target){
        .name = json_read_string(&r, a, json, "name"),
        .device = json_read_string(&r, a, json, "device"),
        .id = json_read_string(&r, a, json, "id"),
        .is_gpu = json_read_bool(&r, json, "is_gpu"),
        .isa = json_read_string(&r, a, json, "isa"),
        .n_threads = (int)json_read_int(&r, json, "n_threads"),
        .vector_bytes = (int)json_read_int(&r, json, "vector_bytes"),
        .cc = json_read_optional_string(&r, a, json, "cc"),
        .l1_bytes = json_read_int(&r, json, "l1_bytes"),
        .l2_bytes = json_read_int(&r, json, "l2_bytes"),
        .llc_bytes = json_read_int(&r, json, "llc_bytes"),
        .ordinal = (int)json_read_int(&r, json, "ordinal"),
        .sms = (int)json_read_int(&r, json, "sms"),
        .shared_per_block = json_read_int(&r, json, "shared_per_block"),
        .shared_per_sm = json_read_int(&r, json, "shared_per_sm"),
        .registers_per_sm = (int)json_read_int(&r, json, "registers_per_sm"),
        .threads_per_sm = (int)json_read_int(&r, json, "threads_per_sm"),
        .memory_bytes = json_read_int(&r, json, "memory_bytes"),
        .driver = json_read_optional_string(&r, a, json, "driver"),
        .top_clock_hz = json_read_optional_number(&r, json, "top_clock_hz"),
        .top_clock_known = json_read_bool(&r, json, "top_clock_known"),
        .peak_bytes_per_s = json_read_optional_number(&r, json, "peak_bytes_per_s"),
        .blocks_per_sm = (int)json_read_int(&r, json, "blocks_per_sm"),
    };
    target_peaks_from_json(&r, json_object_get(json, "peak_per_s"), t);
    const json_t *ceilings = json_object_get(json, "ceilings");
    if (!json_reader_done(&r, err))
        return false;
    return !json_is_object(ceilings) || ceilings_from_json(a, ceilings, t, err);
}
