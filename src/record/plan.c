// The plan's JSON form; plan_parse.c reads it from a source.
#include "record/plan.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

static const char *const role_names[] = {
    [BUFFER_INPUT] = "input", [BUFFER_OUTPUT] = "output", [BUFFER_SCRATCH] = "scratch"};

static json_t *step_to_json(const struct plan_step *s) {
    if (s->kind == STEP_FILL)
        return json_pack("{s:s, s:i, s:f}", "kind", "fill", "buffer", s->fill_buffer, "value",
                         s->fill_value);
    json_t *args = json_array();
    for (int i = 0; i < s->n_args; i++)
        json_array_append_new(args, json_integer(s->args[i]));
    return json_pack("{s:s, s:s, s:I, s:o}", "kind", "launch", "function", s->function, "grid",
                     (json_int_t)s->grid, "args", args);
}

json_t *plan_to_json(const struct plan *p) {
    json_t *buffers = json_array(), *steps = json_array();
    for (int i = 0; i < p->n_buffers; i++) {
        const struct plan_buffer *b = &p->buffers[i];
        json_array_append_new(
            buffers, json_pack("{s:s, s:s, s:I, s:b}", "name", b->name, "role", role_names[b->role],
                               "bytes", (json_int_t)b->size_bytes, "zeroed", (int)b->is_zeroed));
    }
    for (int i = 0; i < p->n_steps; i++)
        json_array_append_new(steps, step_to_json(&p->steps[i]));
    return json_pack("{s:s, s:o, s:o}", "schema", "hone.plan/1", "buffers", buffers, "steps",
                     steps);
}

static void buffer_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                             struct plan_buffer *b) {
    b->name = json_read_string(r, a, json, "name");
    b->size_bytes = json_read_int(r, json, "bytes");
    b->is_zeroed = json_read_bool(r, json, "zeroed");
    const char *role = json_read_string(r, a, json, "role");
    for (int i = BUFFER_INPUT; i <= BUFFER_SCRATCH; i++) {
        b->role = (enum buffer_role)i;
        if (strcmp(role, role_names[i]) == 0)
            break;
        if (i == BUFFER_SCRATCH)
            json_reader_fail(r, "unknown role '%s'", role);
    }
    if (b->size_bytes <= 0)
        json_reader_fail(r, "buffer '%s' has no bytes", b->name);
}

static int buffer_index(struct json_reader *r, const struct plan *p, json_int_t index) {
    if (index >= 0 && index < p->n_buffers)
        return (int)index;
    json_reader_fail(r, "there is no buffer %lld", (long long)index);
    return 0;
}

static void step_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                           const struct plan *p, struct plan_step *s) {
    const char *kind = json_read_string(r, a, json, "kind");
    if (strcmp(kind, "fill") == 0) {
        s->kind = STEP_FILL;
        s->fill_buffer = buffer_index(r, p, json_read_int(r, json, "buffer"));
        s->fill_value = json_read_number(r, json, "value");
        return;
    }
    if (strcmp(kind, "launch") != 0)
        json_reader_fail(r, "unknown step '%s'", kind);
    s->kind = STEP_LAUNCH;
    s->function = json_read_string(r, a, json, "function");
    s->grid = json_read_int(r, json, "grid");
    const json_t *args = json_read_array(r, json, "args");
    if (json_array_size(args) > PLAN_ARGS_MAX)
        json_reader_fail(r, "more than %d arguments", PLAN_ARGS_MAX);
    for (size_t i = 0; !r->failed && i < json_array_size(args); i++)
        s->args[s->n_args++] = buffer_index(r, p, json_integer_value(json_array_get(args, i)));
}

bool plan_from_json(struct arena *a, const json_t *json, struct plan *p, struct error *err) {
    struct json_reader r = {.where = "plan"};
    json_read_schema(&r, json, "hone.plan/1");
    *p = (struct plan){0};
    const json_t *buffers = json_read_array(&r, json, "buffers");
    const json_t *steps = json_read_array(&r, json, "steps");
    if (json_array_size(buffers) > PLAN_BUFFERS_MAX || json_array_size(steps) > PLAN_STEPS_MAX)
        json_reader_fail(&r, "too many buffers or steps");
    for (size_t i = 0; !r.failed && i < json_array_size(buffers); i++)
        buffer_from_json(&r, a, json_array_get(buffers, i), &p->buffers[p->n_buffers++]);
    for (size_t i = 0; !r.failed && i < json_array_size(steps); i++)
        step_from_json(&r, a, json_array_get(steps, i), p, &p->steps[p->n_steps++]);
    return json_reader_done(&r, err);
}
