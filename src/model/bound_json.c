// The bound as JSON: what every document that has one carries, and what runs are stored with.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "model/bound.h"

static json_t *way_to_json(const struct bound *b, const struct realisation *way) {
    if (b->work.contract_flops <= 0)
        return json_null();
    return json_pack("{s:s, s:i}", "pipe", pipe_name(way->pipe), "products",
                     way->products > 0 ? way->products : 1);
}

static json_t *pipes_to_json(const double *of) {
    json_t *pipes = json_object();
    for (enum pipe i = 0; i < PIPE_COUNT; i++)
        if (of[i] > 0)
            json_object_set_new(pipes, pipe_name(i), json_real(of[i]));
    return pipes;
}

static void read_pipes(const json_t *json, double *of) {
    for (enum pipe i = 0; i < PIPE_COUNT; i++)
        of[i] = json_number_value(json_object_get(json, pipe_name(i)));
}

static json_t *reach_to_json(const struct bound *b) {
    if (isnan(b->reach_s))
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:f, s:o, s:o, s:o}", "seconds", b->reach_s, "fixed_s",
                     b->reach_fixed_s, "memory_s", b->reach_memory_s, "compute_s",
                     b->reach_compute_s, "pipes_s", pipes_to_json(b->reach_pipe_s),
                     "contraction_flops", pipes_to_json(b->reach_flops), "contraction",
                     way_to_json(b, &b->reach_way));
}

static json_t *pipe_load_to_json(const struct pipe_load *l) {
    return json_pack("{s:f, s:f, s:f}", "flops", l->flops, "ops", l->ops, "per_s", l->per_s);
}

// Bytes and operations with the rates that they were divided by.
static void put_load(json_t *json, const struct load *l) {
    json_t *pipes = json_object();
    for (enum pipe p = 0; p < PIPE_COUNT; p++)
        if (l->pipe[p].ops > 0)
            json_object_set_new(pipes, pipe_name(p), pipe_load_to_json(&l->pipe[p]));
    json_object_set_new(json, "bytes", json_real(l->bytes));
    json_object_set_new(json, "bytes_per_s", json_real(l->bytes_per_s));
    json_object_set_new(json, "pipes", pipes);
}

static json_t *light_to_json(const struct bound *b) {
    if (isnan(b->light_s))
        return json_null();
    json_t *json =
        json_pack("{s:f, s:f, s:f, s:s, s:o}", "seconds", b->light_s, "memory_s", b->light_memory_s,
                  "compute_s", b->light_compute_s, "rest_pipe", pipe_name(b->light.rest_pipe),
                  "rest", pipe_load_to_json(&b->light.rest));
    put_load(json, &b->light);
    return json;
}

static const char *const left_out_names[REASON_SIDES] = {
    [REASON_PRODUCTS] = "products", [REASON_BYTES] = "bytes"};

static json_t *left_out_to_json(const struct bound *b) {
    json_t *json = json_object();
    for (int side = 0; side < REASON_SIDES; side++) {
        json_t *causes = json_object();
        for (enum limit_cause c = CAUSE_NONE; c < CAUSE_COUNT; c++)
            if (b->left_out[side][c] > 0)
                json_object_set_new(causes, limit_cause_name(c), json_real(b->left_out[side][c]));
        json_object_set_new(json, left_out_names[side], causes);
    }
    return json;
}

static void read_left_out(const json_t *json, struct bound *b) {
    for (int side = 0; side < REASON_SIDES; side++) {
        const json_t *causes = json_object_get(json, left_out_names[side]);
        for (enum limit_cause c = CAUSE_NONE; c < CAUSE_COUNT; c++)
            b->left_out[side][c] = json_number_value(json_object_get(causes, limit_cause_name(c)));
    }
}

static json_t *limit_to_json(const struct bound *b) {
    struct arena a = {0};
    json_t *json = json_pack("{s:f, s:f, s:f, s:o, s:o, s:o, s:o}", "seconds", b->limit_s,
                             "memory_s", b->limit_memory_s, "compute_s", b->limit_compute_s,
                             "contraction", way_to_json(b, &b->limit_way), "products",
                             limit_reason_to_json(&b->reason[REASON_PRODUCTS]), "reads_and_writes",
                             limit_reason_to_json(&b->reason[REASON_BYTES]), "why",
                             json_optional_text(bound_limit_why(&a, b)));
    put_load(json, &b->limit);
    json_object_set_new(json, "left_out", left_out_to_json(b));
    arena_reset(&a);
    return json;
}

json_t *bound_to_json(const struct bound *b) {
    const struct work *w = &b->work;
    json_t *work =
        json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:b, s:b}", "bytes_read",
                  w->bytes_read, "bytes_written", w->bytes_written, "bytes_again", w->bytes_again,
                  "bytes_least", w->bytes_least, "flops", w->flops, "contract_flops",
                  w->contract_flops, "vector_ops", w->vector_ops, "function_ops", w->function_ops,
                  "chain_ops", w->chain_ops, "depends_on_data", w->depends_on_data, "is_prepared",
                  w->is_prepared, "is_collapsed", w->is_collapsed);
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s}", "schema", "hone.bound/1", "work", work,
                     "speed_of_light", light_to_json(b), "limit", limit_to_json(b), "reach",
                     reach_to_json(b), "side", bound_side_name(b->side));
}

static enum bound_side read_side(struct json_reader *r, const json_t *json) {
    const char *name = json_string_value(json_object_get(json, "side"));
    for (enum bound_side s = BOUND_MEMORY; s <= BOUND_CHAIN; s++)
        if (name && strcmp(name, bound_side_name(s)) == 0)
            return s;
    json_reader_fail(r, "side is none of memory, compute, launch, chain");
    return BOUND_MEMORY;
}

static enum pipe read_pipe(const json_t *json, const char *key) {
    const char *name = json_string_value(json_object_get(json, key));
    for (enum pipe i = 0; name && i < PIPE_COUNT; i++)
        if (strcmp(name, pipe_name(i)) == 0)
            return i;
    return PIPE_F32;
}

static void read_way(const json_t *json, struct realisation *way) {
    way->pipe = read_pipe(json, "pipe");
    way->products = (int)json_integer_value(json_object_get(json, "products"));
}

static void read_pipe_load(const json_t *json, struct pipe_load *l) {
    l->flops = json_number_value(json_object_get(json, "flops"));
    l->ops = json_number_value(json_object_get(json, "ops"));
    l->per_s = json_number_value(json_object_get(json, "per_s"));
}

static void read_load(const json_t *json, struct load *l) {
    const json_t *pipes = json_object_get(json, "pipes");
    l->bytes = json_number_value(json_object_get(json, "bytes"));
    l->bytes_per_s = json_number_value(json_object_get(json, "bytes_per_s"));
    for (enum pipe i = 0; i < PIPE_COUNT; i++)
        read_pipe_load(json_object_get(pipes, pipe_name(i)), &l->pipe[i]);
}

static void read_light(struct json_reader *r, const json_t *json, struct bound *b) {
    if (!json_is_object(json))
        return;
    b->light_s = json_read_number(r, json, "seconds");
    b->light_memory_s = json_read_number(r, json, "memory_s");
    b->light_compute_s = json_read_number(r, json, "compute_s");
    read_load(json, &b->light);
    read_pipe_load(json_object_get(json, "rest"), &b->light.rest);
    b->light.rest_pipe = read_pipe(json, "rest_pipe");
}

// What the first version did not have is optional: runs of the past are read too.
static void read_work(struct json_reader *r, const json_t *json, struct work *w) {
    w->bytes_read = json_read_number(r, json, "bytes_read");
    w->bytes_written = json_read_number(r, json, "bytes_written");
    w->bytes_again = json_number_value(json_object_get(json, "bytes_again"));
    w->bytes_least = json_number_value(json_object_get(json, "bytes_least"));
    w->flops = json_read_number(r, json, "flops");
    w->contract_flops = json_read_number(r, json, "contract_flops");
    w->vector_ops = json_number_value(json_object_get(json, "vector_ops"));
    w->function_ops = json_number_value(json_object_get(json, "function_ops"));
    w->chain_ops = json_number_value(json_object_get(json, "chain_ops"));
    w->depends_on_data = json_is_true(json_object_get(json, "depends_on_data")) ||
                         json_is_true(json_object_get(json, "hangs_on_data"));  // until 2026-11
    w->is_prepared = json_is_true(json_object_get(json, "is_prepared"));
    w->is_collapsed = json_is_true(json_object_get(json, "is_collapsed"));
}

bool bound_from_json(const json_t *json, struct bound *b, struct error *err) {
    struct json_reader r = {.where = "bound"};
    bound_init(b);
    json_read_schema(&r, json, "hone.bound/1");
    read_work(&r, json_read_object(&r, json, "work"), &b->work);
    const json_t *limit = json_read_object(&r, json, "limit");
    b->limit_s = json_read_number(&r, limit, "seconds");
    b->limit_memory_s = json_read_number(&r, limit, "memory_s");
    b->limit_compute_s = json_read_number(&r, limit, "compute_s");
    read_way(json_object_get(limit, "contraction"), &b->limit_way);
    read_load(limit, &b->limit);
    limit_reason_from_json(json_object_get(limit, "products"), &b->reason[REASON_PRODUCTS]);
    limit_reason_from_json(json_object_get(limit, "reads_and_writes"), &b->reason[REASON_BYTES]);
    read_left_out(json_object_get(limit, "left_out"), b);
    read_light(&r, json_object_get(json, "speed_of_light"), b);
    const json_t *reach = json_object_get(json, "reach");
    if (json_is_object(reach)) {
        b->reach_s = json_read_number(&r, reach, "seconds");
        b->reach_fixed_s = json_read_number(&r, reach, "fixed_s");
        b->reach_memory_s = json_read_number(&r, reach, "memory_s");
        b->reach_compute_s = json_read_number(&r, reach, "compute_s");
        read_pipes(json_object_get(reach, "pipes_s"), b->reach_pipe_s);
        read_pipes(json_object_get(reach, "contraction_flops"), b->reach_flops);
        read_way(json_object_get(reach, "contraction"), &b->reach_way);
    }
    b->side = read_side(&r, json);
    return json_reader_done(&r, err);
}
