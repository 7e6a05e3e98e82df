// JSON forms, and the hash by which a replay recognises a question.
#include "record/chat.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"

static const char *const role_names[] = {
    [CHAT_USER] = "user", [CHAT_ASSISTANT] = "assistant", [CHAT_TOOL] = "tool"};
static const char *const stop_names[CHAT_STOP_COUNT] = {[CHAT_END] = "end",
                                                        [CHAT_LENGTH] = "length",
                                                        [CHAT_TOOLS] = "tools",
                                                        [CHAT_REFUSED] = "refused",
                                                        [CHAT_OTHER] = "other"};

const char *chat_stop_name(enum chat_stop s) {
    return stop_names[s];
}

struct chat_usage chat_usage_unknown(void) {
    return (struct chat_usage){-1, -1, -1, -1, -1, 0, 0};
}

// ---- to JSON

static json_t *calls_to_json(const struct chat_call *calls, int n_calls) {
    json_t *array = json_array();
    for (int i = 0; i < n_calls; i++)
        json_array_append_new(array,
                              json_pack("{s:o, s:o, s:o}", "id", json_optional_text(calls[i].id),
                                        "name", json_optional_text(calls[i].name), "arguments",
                                        json_optional_text(calls[i].arguments)));
    return array;
}

static json_t *message_to_json(const struct chat_message *m) {
    json_t *json = json_pack("{s:s, s:o}", "role", role_names[m->role], "text",
                             json_optional_text(m->text ? m->text : ""));
    if (m->n_calls > 0)
        json_object_set_new(json, "calls", calls_to_json(m->calls, m->n_calls));
    if (m->call_id)
        json_object_set_new(json, "call_id", json_optional_text(m->call_id));
    if (m->raw)
        json_object_set_new(json, "raw", json_optional_text(m->raw));
    return json;
}

static json_t *asked_to_json(const struct chat_request *q) {
    json_t *messages = json_array(), *tools = json_array();
    for (int i = 0; i < q->n_messages; i++)
        json_array_append_new(messages, message_to_json(&q->messages[i]));
    for (int i = 0; i < q->n_tools; i++)
        json_array_append_new(tools,
                              json_pack("{s:s, s:s, s:s}", "name", q->tools[i].name, "description",
                                        q->tools[i].description, "schema", q->tools[i].schema));
    return json_pack("{s:o, s:o, s:o, s:i}", "system",
                     json_optional_text(q->system ? q->system : ""), "messages", messages, "tools",
                     tools, "max_tokens", q->max_tokens);
}

json_t *chat_request_to_json(const struct chat_request *q) {
    json_t *json = asked_to_json(q);
    json_object_set_new(json, "tag", json_optional_text(q->tag ? q->tag : ""));
    return json;
}

const char *chat_request_hash(struct arena *a, const struct chat_request *q) {
    json_t *json = asked_to_json(q);
    const char *hash = hash_text(a, json_print(a, json));
    json_decref(json);
    return hash;
}

static json_t *count(int64_t n) {
    return n < 0 ? json_null() : json_integer(n);
}

json_t *chat_answer_to_json(const struct chat_answer *answer) {
    const struct chat_usage *u = &answer->usage;
    json_t *usage = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:i, s:f}", "in_fresh", count(u->in_fresh), "in_cache_read",
        count(u->in_cache_read), "in_cache_write", count(u->in_cache_write), "out", count(u->out),
        "out_reasoning", count(u->out_reasoning), "requests", u->n_requests, "wall_s", u->wall_s);
    return json_pack("{s:o, s:o, s:o, s:o, s:s, s:o}", "text",
                     json_optional_text(answer->text ? answer->text : ""), "calls",
                     calls_to_json(answer->calls, answer->n_calls), "raw",
                     json_optional_text(answer->raw), "model", json_optional_text(answer->model),
                     "stop", stop_names[answer->stop], "usage", usage);
}

// ---- from JSON

static struct chat_call *calls_from_json(struct json_reader *r, struct arena *a,
                                         const json_t *array, int *n_calls) {
    *n_calls = (int)json_array_size(array);
    struct chat_call *calls = arena_array(a, struct chat_call, *n_calls + 1);
    for (int i = 0; i < *n_calls; i++) {
        const json_t *call = json_array_get(array, (size_t)i);
        calls[i].id = json_read_optional_string(r, a, call, "id");
        calls[i].name = json_read_optional_string(r, a, call, "name");
        calls[i].arguments = json_read_optional_string(r, a, call, "arguments");
    }
    return calls;
}

static void message_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                              struct chat_message *m) {
    const char *role = json_read_string(r, a, json, "role");
    m->role = strcmp(role, "assistant") == 0 ? CHAT_ASSISTANT
              : strcmp(role, "tool") == 0    ? CHAT_TOOL
                                             : CHAT_USER;
    m->text = json_read_string(r, a, json, "text");
    m->calls = calls_from_json(r, a, json_object_get(json, "calls"), &m->n_calls);
    m->call_id = json_read_optional_string(r, a, json, "call_id");
    m->raw = json_read_optional_string(r, a, json, "raw");
}

void chat_request_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                            struct chat_request *q) {
    *q = (struct chat_request){.tag = json_read_string(r, a, json, "tag"),
                               .system = json_read_string(r, a, json, "system"),
                               .max_tokens = (int)json_read_int(r, json, "max_tokens")};
    const json_t *messages = json_read_array(r, json, "messages");
    const json_t *tools = json_read_array(r, json, "tools");
    if (r->failed)
        return;
    q->n_messages = (int)json_array_size(messages);
    q->n_tools = (int)json_array_size(tools);
    struct chat_message *m = arena_array(a, struct chat_message, q->n_messages + 1);
    struct chat_tool *t = arena_array(a, struct chat_tool, q->n_tools + 1);
    for (int i = 0; i < q->n_messages; i++)
        message_from_json(r, a, json_array_get(messages, (size_t)i), &m[i]);
    for (int i = 0; i < q->n_tools; i++) {
        const json_t *tool = json_array_get(tools, (size_t)i);
        t[i].name = json_read_string(r, a, tool, "name");
        t[i].description = json_read_string(r, a, tool, "description");
        t[i].schema = json_read_string(r, a, tool, "schema");
    }
    q->messages = m;
    q->tools = t;
}

static int64_t read_count(struct json_reader *r, const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return !value || json_is_null(value) ? -1 : json_read_int(r, object, key);
}

static enum chat_stop stop_parse(struct json_reader *r, const char *name) {
    for (int s = 0; s < CHAT_STOP_COUNT; s++)
        if (strcmp(name, stop_names[s]) == 0)
            return (enum chat_stop)s;
    json_reader_fail(r, "unknown stop '%s'", name);
    return CHAT_OTHER;
}

void chat_answer_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                           struct chat_answer *answer) {
    *answer = (struct chat_answer){.text = json_read_string(r, a, json, "text"),
                                   .raw = json_read_optional_string(r, a, json, "raw"),
                                   .model = json_read_optional_string(r, a, json, "model")};
    answer->stop = stop_parse(r, json_read_string(r, a, json, "stop"));
    const json_t *usage = json_read_object(r, json, "usage");
    const json_t *calls = json_read_array(r, json, "calls");
    if (r->failed)
        return;
    answer->calls = calls_from_json(r, a, calls, &answer->n_calls);
    answer->usage = (struct chat_usage){
        .in_fresh = read_count(r, usage, "in_fresh"),
        .in_cache_read = read_count(r, usage, "in_cache_read"),
        .in_cache_write = read_count(r, usage, "in_cache_write"),
        .out = read_count(r, usage, "out"),
        .out_reasoning = read_count(r, usage, "out_reasoning"),
        .n_requests = (int)json_read_int(r, usage, "requests"),
        .wall_s = json_read_number(r, usage, "wall_s"),
    };
}
