// The plan's JSON form; plan_parse.c reads it from a source.
#include "record/plan.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "ir/cutlass.h"

static const char *const role_names[] = {
    [BUFFER_INPUT] = "input", [BUFFER_OUTPUT] = "output", [BUFFER_SCRATCH] = "scratch"};

uint64_t plan_fill_word(enum dtype type, double value) {
    uint64_t word = 0;
    for (int64_t i = 0; i * dtype_infos[type].bits < 64; i++)
        dtype_put(type, &word, i, value);
    return word;
}

// Room for one more than `n`: lists that are built here have room for a power of two.
static void *roomy(struct arena *a, void *list, int n, size_t size) {
    if (n > 0 && (n < 8 || (n & (n - 1)) != 0))
        return list;
    void *larger = arena_alloc(a, size * (size_t)(n < 8 ? 8 : 2 * n));
    return n > 0 ? memcpy(larger, list, size * (size_t)n) : larger;
}

struct plan_buffer *plan_add_buffer(struct arena *a, struct plan *p) {
    p->buffers = roomy(a, p->buffers, p->n_buffers, sizeof *p->buffers);
    return &p->buffers[p->n_buffers++];
}

struct plan_tensormap *plan_add_tensormap(struct arena *a, struct plan *p) {
    p->tensormaps = roomy(a, p->tensormaps, p->n_tensormaps, sizeof *p->tensormaps);
    return &p->tensormaps[p->n_tensormaps++];
}

struct plan_step *plan_add_step(struct arena *a, struct plan *p) {
    p->steps = roomy(a, p->steps, p->n_steps, sizeof *p->steps);
    return &p->steps[p->n_steps++];
}

void plan_add_arg(struct arena *a, struct plan_step *s, int arg) {
    s->args = roomy(a, s->args, s->n_args, sizeof *s->args);
    s->args[s->n_args++] = arg;
}

bool plan_has_calls(const struct plan *p) {
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i].kind == STEP_CALL)
            return true;
    return false;
}

void plan_call_types(const struct plan *p, const struct plan_step *s, enum dtype *types) {
    for (int i = 0; i < s->n_args && i < CALL_BUFFERS_MAX; i++)
        types[i] = p->buffers[s->args[i]].type;
}

static const char *configuration_broken(const struct call *c, const enum dtype *types) {
    struct cutlass_objection why;
    return c->kind != CALL_CUTLASS || cutlass_check(c, types, &why)
               ? NULL
               : "its configuration is none that CUTLASS has";
}

const char *plan_call_broken(const struct plan *p, const struct plan_step *s) {
    enum dtype types[CALL_BUFFERS_MAX];
    int64_t sizes[CALL_BUFFERS_MAX];
    bool is_cutlass = s->call->kind == CALL_CUTLASS;
    int most = is_cutlass ? CALL_BUFFERS_MAX : CALL_LOADED;
    if (s->n_args < (is_cutlass ? CALL_LOADED : CALL_WORK) || s->n_args > most)
        return "it takes two operands, a result and perhaps memory to work in";
    for (int i = 0; i < s->n_args; i++) {
        if (s->args[i] < 0)
            return "it takes no tensor map";
        types[i] = p->buffers[s->args[i]].type;
        sizes[i] = p->buffers[s->args[i]].size_bytes;
    }
    for (int i = CALL_OUT; i < s->n_args && i < CALL_LOADED; i++) {
        if (p->buffers[s->args[i]].role == BUFFER_INPUT)
            return "its result is an input";
        for (int k = 0; k < s->n_args; k++)
            if (k != i && s->args[k] == s->args[i])
                return "its result overlaps another argument";
    }
    const char *broken = call_broken(s->call, types, sizes, s->n_args);
    return broken ? broken : configuration_broken(s->call, types);
}

static json_t *numbers_to_json(const int64_t *values, int n) {
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_integer((json_int_t)values[i]));
    return list;
}

static json_t *shape_to_json(const struct plan_shape *s) {
    return json_pack("{s:o, s:o, s:I, s:o, s:b, s:b}", "grid", numbers_to_json(s->grid, 3), "block",
                     numbers_to_json(s->block, 3), "shared", (json_int_t)s->shared_bytes, "cluster",
                     s->cluster[0] ? numbers_to_json(s->cluster, 3) : json_null(), "cooperative",
                     (int)s->is_cooperative, "programmatic", (int)s->is_programmatic);
}

static json_t *call_to_json(const struct plan_step *s, json_t *args) {
    const struct call *c = s->call;
    json_t *json = json_pack("{s:s, s:s, s:s, s:o, s:o}", "kind", "call", "call",
                             call_kind_name(c->kind), "math", call_math_name(c->math), "numbers",
                             numbers_to_json(c->number, call_numbers(c->kind)), "args", args);
    if (c->kind != CALL_CUTLASS)
        return json;
    struct str epilogue = {0};
    epilogue_print(&epilogue, &c->epilogue);
    json_object_set_new(json, "epilogue", json_string(str_text(&epilogue)));
    json_object_set_new(json, "object", json_optional_text(s->object));
    str_reset(&epilogue);
    return json;
}

static json_t *step_to_json(const struct plan_step *s) {
    if (s->kind == STEP_FILL)
        return json_pack("{s:s, s:i, s:f}", "kind", "fill", "buffer", s->fill_buffer, "value",
                         s->fill_value);
    json_t *args = json_array();
    for (int i = 0; i < s->n_args; i++)
        json_array_append_new(args, json_integer(s->args[i]));
    if (s->kind == STEP_CALL)
        return call_to_json(s, args);
    json_t *step = json_pack("{s:s, s:s, s:I, s:o}", "kind", "launch", "function", s->function,
                             "grid", (json_int_t)s->grid, "args", args);
    if (s->shape.block[0])
        json_object_set_new(step, "gpu", shape_to_json(&s->shape));
    return step;
}

static json_t *buffer_to_json(const struct plan_buffer *b) {
    json_t *json = json_pack("{s:s, s:s, s:I, s:b}", "name", b->name, "role", role_names[b->role],
                             "bytes", (json_int_t)b->size_bytes, "zeroed", (int)b->is_zeroed);
    json_object_set_new(json, "type", json_string(dtype_name(b->type)));
    return json;
}

static json_t *tensormap_to_json(const struct plan_tensormap *m) {
    return json_pack("{s:s, s:i, s:o, s:o, s:o, s:i, s:i, s:b}", "name", m->name, "buffer",
                     m->buffer, "dims", numbers_to_json(m->dims, m->rank), "strides",
                     numbers_to_json(m->strides_bytes, m->rank - 1), "box",
                     numbers_to_json(m->box, m->rank), "swizzle", m->swizzle_bytes, "promote",
                     m->promote_bytes, "nan_outside", (int)m->is_nan_outside);
}

json_t *plan_to_json(const struct plan *p) {
    json_t *buffers = json_array(), *steps = json_array(), *maps = json_array();
    for (int i = 0; i < p->n_buffers; i++)
        json_array_append_new(buffers, buffer_to_json(&p->buffers[i]));
    for (int i = 0; i < p->n_tensormaps; i++)
        json_array_append_new(maps, tensormap_to_json(&p->tensormaps[i]));
    for (int i = 0; i < p->n_steps; i++)
        json_array_append_new(steps, step_to_json(&p->steps[i]));
    json_t *plan =
        json_pack("{s:s, s:o, s:o}", "schema", "hone.plan/1", "buffers", buffers, "steps", steps);
    if (p->n_tensormaps)
        json_object_set(plan, "tensormaps", maps);
    json_decref(maps);
    return plan;
}

static void buffer_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                             struct plan_buffer *b) {
    b->name = json_read_string(r, a, json, "name");
    b->size_bytes = json_read_int(r, json, "bytes");
    b->is_zeroed = json_read_bool(r, json, "zeroed");
    const char *type = json_read_optional_string(r, a, json, "type");
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
    if (type && !dtype_find(type, &b->type))
        json_reader_fail(r, "unknown type '%s'", type);
}

static int index_below(struct json_reader *r, const char *what, json_int_t index, int n) {
    if (index >= 0 && index < n)
        return (int)index;
    json_reader_fail(r, "there is no %s %lld", what, (long long)index);
    return 0;
}

// Numbers of a list of at most `max`; how many.
static int numbers_from_json(struct json_reader *r, const json_t *json, const char *key,
                             int64_t *values, int max) {
    const json_t *list = json_read_array(r, json, key);
    int n = (int)json_array_size(list);
    if (n > max) {
        json_reader_fail(r, "%s: more than %d numbers", key, max);
        return 0;
    }
    for (int i = 0; i < n; i++)
        values[i] = json_integer_value(json_array_get(list, (size_t)i));
    return n;
}

static void tensormap_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                                const struct plan *p, struct plan_tensormap *m) {
    m->name = json_read_string(r, a, json, "name");
    m->buffer = index_below(r, "buffer", json_read_int(r, json, "buffer"), p->n_buffers);
    m->rank = numbers_from_json(r, json, "dims", m->dims, TENSORMAP_RANK_MAX);
    int n_strides = numbers_from_json(r, json, "strides", m->strides_bytes, TENSORMAP_RANK_MAX - 1);
    int n_box = numbers_from_json(r, json, "box", m->box, TENSORMAP_RANK_MAX);
    m->swizzle_bytes = (int)json_read_int(r, json, "swizzle");
    m->promote_bytes = (int)json_read_int(r, json, "promote");
    m->is_nan_outside = json_read_bool(r, json, "nan_outside");
    if (m->rank < 1 || n_box != m->rank || n_strides != m->rank - 1)
        json_reader_fail(r, "tensor map '%s' has %d dims, %d strides, %d in its box", m->name,
                         m->rank, n_strides, n_box);
}

static void shape_from_json(struct json_reader *r, const json_t *json, struct plan_shape *s) {
    const json_t *cluster = json_object_get(json, "cluster");
    bool ok = numbers_from_json(r, json, "grid", s->grid, 3) == 3 &&
              numbers_from_json(r, json, "block", s->block, 3) == 3 &&
              (!cluster || json_is_null(cluster) ||
               numbers_from_json(r, json, "cluster", s->cluster, 3) == 3);
    s->shared_bytes = json_read_int(r, json, "shared");
    s->is_cooperative = json_read_bool(r, json, "cooperative");
    s->is_programmatic = json_read_bool(r, json, "programmatic");
    for (int i = 0; ok && i < 3; i++)
        ok = s->grid[i] > 0 && s->block[i] > 0 && s->block[i] <= 1024 && s->cluster[i] >= 0;
    if (!ok || s->shared_bytes < 0 || s->shared_bytes > INT32_MAX)
        json_reader_fail(r, "a launch has no grid or block, or one out of range");
}

static int argument(struct json_reader *r, const struct plan *p, json_int_t index) {
    if (index < 0)
        return -1 - index_below(r, "tensor map", -1 - index, p->n_tensormaps);
    return index_below(r, "buffer", index, p->n_buffers);
}

static void call_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                           struct plan_step *s) {
    struct call *c = arena_new(a, struct call);
    const char *kind = json_read_string(r, a, json, "call");
    const char *math = json_read_string(r, a, json, "math");
    if (!r->failed && (!call_kind_find(kind, &c->kind) || !call_math_find(math, &c->math)))
        json_reader_fail(r, "unknown call '%s' in '%s'", kind, math);
    numbers_from_json(r, json, "numbers", c->number, CALL_NUMBERS_MAX);
    if (c->kind == CALL_CUTLASS) {
        const char *epilogue = json_read_string(r, a, json, "epilogue");
        const char *wrong =
            r->failed ? NULL : epilogue_parse(epilogue, strlen(epilogue), &c->epilogue);
        if (wrong)
            json_reader_fail(r, "%s", wrong);
        s->object = json_read_optional_string(r, a, json, "object");
    }
    s->call = c;
    s->function = arena_printf(a, "library %s", call_kind_name(c->kind));
}

static void step_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                           const struct plan *p, struct plan_step *s) {
    const char *kind = json_read_string(r, a, json, "kind");
    if (strcmp(kind, "fill") == 0) {
        s->kind = STEP_FILL;
        s->fill_buffer = index_below(r, "buffer", json_read_int(r, json, "buffer"), p->n_buffers);
        s->fill_value = json_read_number(r, json, "value");
        return;
    }
    bool is_call = strcmp(kind, "call") == 0;
    if (!is_call && strcmp(kind, "launch") != 0)
        json_reader_fail(r, "unknown step '%s'", kind);
    s->kind = is_call ? STEP_CALL : STEP_LAUNCH;
    if (is_call) {
        call_from_json(r, a, json, s);
    } else {
        s->function = json_read_string(r, a, json, "function");
        s->grid = json_read_int(r, json, "grid");
    }
    if (json_object_get(json, "gpu"))
        shape_from_json(r, json_read_object(r, json, "gpu"), &s->shape);
    const json_t *args = json_read_array(r, json, "args");
    if (json_array_size(args) > PLAN_ARGS_MAX)
        json_reader_fail(r, "more than %d arguments", PLAN_ARGS_MAX);
    for (size_t i = 0; !r->failed && i < json_array_size(args); i++)
        plan_add_arg(a, s, argument(r, p, json_integer_value(json_array_get(args, i))));
    const char *broken = is_call && !r->failed ? plan_call_broken(p, s) : NULL;
    if (broken)
        json_reader_fail(r, "a call of %s: %s", s->function, broken);
}

bool plan_from_json(struct arena *a, const json_t *json, struct plan *p, struct error *err) {
    struct json_reader r = {.where = "plan"};
    json_read_schema(&r, json, "hone.plan/1");
    *p = (struct plan){0};
    const json_t *buffers = json_read_array(&r, json, "buffers");
    const json_t *maps = json_object_get(json, "tensormaps");
    const json_t *steps = json_read_array(&r, json, "steps");
    if (json_array_size(buffers) > PLAN_BUFFERS_MAX || json_array_size(steps) > PLAN_STEPS_MAX ||
        json_array_size(maps) > PLAN_TENSORMAPS_MAX)
        json_reader_fail(&r, "too many buffers, tensor maps or steps");
    for (size_t i = 0; !r.failed && i < json_array_size(buffers); i++)
        buffer_from_json(&r, a, json_array_get(buffers, i), plan_add_buffer(a, p));
    for (size_t i = 0; !r.failed && i < json_array_size(maps); i++)
        tensormap_from_json(&r, a, json_array_get(maps, i), p, plan_add_tensormap(a, p));
    for (size_t i = 0; !r.failed && i < json_array_size(steps); i++)
        step_from_json(&r, a, json_array_get(steps, i), p, plan_add_step(a, p));
    return json_reader_done(&r, err);
}
