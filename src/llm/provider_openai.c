// OpenAI's Chat Completions, streamed, and everybody who speaks it; what they do differently
// is in their row.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "llm/provider.h"

enum {
    REFUSED_LIMIT_NAME = 1,  // max_completion_tokens: max_tokens is sent instead
    REFUSED_EFFORT = 2,
    REFUSED_STREAM_OPTIONS = 4,
    REFUSED_CACHE_KEY = 8,
    REFUSED_DEVELOPER = 16,
    REFUSED_TOOLS = 32,
};

static const struct optional_parameter optional[] = {
    {"max_completion_tokens", REFUSED_LIMIT_NAME},
    {"reasoning_effort", REFUSED_EFFORT},
    {"stream_options", REFUSED_STREAM_OPTIONS},
    {"include_usage", REFUSED_STREAM_OPTIONS},
    {"prompt_cache_key", REFUSED_CACHE_KEY},
    {"developer", REFUSED_DEVELOPER},
    {"role", REFUSED_DEVELOPER},
    {"tools", REFUSED_TOOLS},
    {NULL, 0},
};

// Known beforehand not to be taken; the rest is learned from the server's 400.
struct quirks {
    unsigned refused;
};

static const struct quirks quirks_openai = {0};
static const struct quirks quirks_vllm = {REFUSED_CACHE_KEY | REFUSED_DEVELOPER};
static const struct quirks quirks_llamacpp = {REFUSED_LIMIT_NAME | REFUSED_EFFORT |
                                              REFUSED_CACHE_KEY | REFUSED_DEVELOPER};
static const struct quirks quirks_ollama = {REFUSED_LIMIT_NAME | REFUSED_CACHE_KEY |
                                            REFUSED_DEVELOPER};
static const struct quirks quirks_gateway = {REFUSED_LIMIT_NAME | REFUSED_CACHE_KEY |
                                             REFUSED_DEVELOPER};

// ---- the request

static json_t *calls_of(const struct chat_message *m) {
    json_t *calls = json_array();
    for (int i = 0; i < m->n_calls; i++)
        json_array_append_new(calls,
                              json_pack("{s:s, s:s, s:{s:s, s:o}}", "id", m->calls[i].id, "type",
                                        "function", "function", "name", m->calls[i].name,
                                        "arguments", json_optional_text(m->calls[i].arguments)));
    return calls;
}

static json_t *message_of(const struct chat_message *m) {
    if (m->role == CHAT_TOOL)
        return json_pack("{s:s, s:s, s:o}", "role", "tool", "tool_call_id", m->call_id, "content",
                         json_optional_text(m->text));
    json_t *json = json_pack("{s:s, s:o}", "role", m->role == CHAT_USER ? "user" : "assistant",
                             "content", json_optional_text(m->text));
    if (m->n_calls > 0)
        json_object_set_new(json, "tool_calls", calls_of(m));
    return json;
}

static json_t *messages_of(const struct chat_request *q, const char *system_role) {
    json_t *messages = json_array();
    json_array_append_new(messages, json_pack("{s:s, s:o}", "role", system_role, "content",
                                              json_optional_text(q->system)));
    for (int i = 0; i < q->n_messages; i++)
        json_array_append_new(messages, message_of(&q->messages[i]));
    return messages;
}

static json_t *tools_of(const struct chat_request *q) {
    json_t *tools = json_array();
    for (int i = 0; i < q->n_tools; i++)
        json_array_append_new(tools, json_pack("{s:s, s:{s:s, s:s, s:o}}", "type", "function",
                                               "function", "name", q->tools[i].name, "description",
                                               q->tools[i].description, "parameters",
                                               json_loads(q->tools[i].schema, 0, NULL)));
    return tools;
}

static json_t *body_of(const struct llm *l, const struct chat_request *q, unsigned *sent) {
    const struct quirks *quirks = l->provider->data;
    unsigned take = ~(l->refused | quirks->refused);
    const char *limit = take & REFUSED_LIMIT_NAME ? "max_completion_tokens" : "max_tokens";
    const char *effort = l->settings.effort;
    json_t *body = json_pack("{s:s, s:o, s:i, s:b}", "model", l->model, "messages",
                             messages_of(q, take & REFUSED_DEVELOPER ? "developer" : "system"),
                             limit, q->max_tokens, "stream", 1);
    *sent = take & (REFUSED_LIMIT_NAME | REFUSED_DEVELOPER);
    if (take & REFUSED_STREAM_OPTIONS)
        json_object_set_new(body, "stream_options", json_pack("{s:b}", "include_usage", 1));
    if (take & REFUSED_CACHE_KEY)
        json_object_set_new(body, "prompt_cache_key", json_string("hone"));
    if (effort && *effort && (take & REFUSED_EFFORT)) {
        json_object_set_new(body, "reasoning_effort", json_string(effort));
        *sent |= REFUSED_EFFORT;
    }
    *sent |= take & (REFUSED_STREAM_OPTIONS | REFUSED_CACHE_KEY);
    if (q->n_tools > 0 && (take & REFUSED_TOOLS)) {
        json_object_set_new(body, "tools", tools_of(q));
        *sent |= REFUSED_TOOLS;
    }
    return body;
}

// ---- the answer

enum { CALLS_MAX = 16 };

struct stream_state {
    struct str id[CALLS_MAX], name[CALLS_MAX], arguments[CALLS_MAX];
    int n_calls;
    bool has_finish;
};

static void take_usage(struct chat_usage *u, const json_t *usage) {
    if (!json_is_object(usage))
        return;
    const json_t *in = json_object_get(usage, "prompt_tokens");
    const json_t *out = json_object_get(usage, "completion_tokens");
    const json_t *details = json_object_get(usage, "prompt_tokens_details");
    const json_t *read = json_object_get(details, "cached_tokens");
    const json_t *reasoning =
        json_object_get(json_object_get(usage, "completion_tokens_details"), "reasoning_tokens");
    // What this API calls prompt tokens contains the cached ones; ours are apart.
    u->in_cache_read = json_is_integer(read) ? json_integer_value(read) : 0;
    u->in_cache_write = 0;
    if (json_is_integer(in))
        u->in_fresh = json_integer_value(in) - u->in_cache_read;
    if (u->in_fresh < 0)
        u->in_fresh = 0;
    if (json_is_integer(out))
        u->out = json_integer_value(out);
    if (json_is_integer(reasoning))
        u->out_reasoning = json_integer_value(reasoning);
}

static enum chat_stop stop_of(const char *reason) {
    static const struct {
        const char *reason;
        enum chat_stop stop;
    } rows[] = {
        {"stop", CHAT_END},
        {"length", CHAT_LENGTH},
        {"tool_calls", CHAT_TOOLS},
        {"function_call", CHAT_TOOLS},
        {"content_filter", CHAT_REFUSED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(reason, rows[i].reason) == 0)
            return rows[i].stop;
    return CHAT_OTHER;
}

static void add_piece(struct str *into, const json_t *object, const char *key) {
    const char *piece = json_string_value(json_object_get(object, key));
    if (piece)
        str_puts(into, piece);
}

// Pieces of a call carry its index; id and name come with the first piece only.
static void add_calls(struct stream_state *s, const json_t *calls) {
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        const json_t *index = json_object_get(call, "index");
        json_int_t at = json_is_integer(index) ? json_integer_value(index) : (json_int_t)i;
        if (at < 0 || at >= CALLS_MAX)
            continue;
        if (at >= s->n_calls)
            s->n_calls = (int)at + 1;
        add_piece(&s->id[at], call, "id");
        add_piece(&s->name[at], json_object_get(call, "function"), "name");
        add_piece(&s->arguments[at], json_object_get(call, "function"), "arguments");
    }
}

static void take_choice(struct answer_reading *r, const json_t *choice, const json_t *message) {
    struct stream_state *s = r->state;
    const char *reason = json_string_value(json_object_get(choice, "finish_reason"));
    add_piece(&r->text, message, "content");
    add_calls(s, json_object_get(message, "tool_calls"));
    const char *refusal = json_string_value(json_object_get(message, "refusal"));
    if (reason) {
        if (r->out->stop != CHAT_REFUSED)
            r->out->stop = stop_of(reason);
        s->has_finish = r->is_done = true;  // some servers send no [DONE]
    }
    if (refusal && *refusal)
        r->out->stop = CHAT_REFUSED;
}

static bool take_error(struct answer_reading *r, const json_t *data) {
    const json_t *error = json_object_get(data, "error");
    if (!error || json_is_null(error))
        return false;
    const char *message = json_is_string(error)
                              ? json_string_value(error)
                              : json_string_value(json_object_get(error, "message"));
    snprintf(r->failure, sizeof r->failure, "%.300s", message ? message : "error");
    r->is_overloaded = true;
    return true;
}

static void take_model(struct answer_reading *r, const json_t *data) {
    const char *model = json_string_value(json_object_get(data, "model"));
    if (model && !r->out->model)
        r->out->model = arena_strdup(r->a, model);
}

static bool on_event(struct answer_reading *r, const char *event, const json_t *data) {
    (void)event;
    if (take_error(r, data))
        return false;
    const json_t *choice = json_array_get(json_object_get(data, "choices"), 0);
    take_model(r, data);
    take_choice(r, choice, json_object_get(choice, "delta"));
    take_usage(&r->out->usage, json_object_get(data, "usage"));
    return true;
}

static bool on_body(struct answer_reading *r, const json_t *body) {
    const json_t *choice = json_array_get(json_object_get(body, "choices"), 0);
    const json_t *message = json_object_get(choice, "message");
    if (!json_is_object(message))
        return false;
    take_model(r, body);
    take_choice(r, choice, message);
    take_usage(&r->out->usage, json_object_get(body, "usage"));
    return true;
}

static void finish(struct answer_reading *r, struct stream_state *s) {
    struct chat_call *calls = arena_array(r->a, struct chat_call, s->n_calls + 1);
    for (int i = 0; i < s->n_calls; i++) {
        // Some servers give no id; a result must name one.
        const char *id = s->id[i].len > 0 ? arena_strdup(r->a, str_text(&s->id[i]))
                                          : arena_printf(r->a, "call_%d", i);
        calls[i] = (struct chat_call){.id = id,
                                      .name = arena_strdup(r->a, str_text(&s->name[i])),
                                      .arguments = arena_strdup(r->a, str_text(&s->arguments[i]))};
        str_reset(&s->id[i]);
        str_reset(&s->name[i]);
        str_reset(&s->arguments[i]);
    }
    r->out->calls = calls;
    r->out->n_calls = s->n_calls;
    if (s->n_calls > 0 && r->out->stop == CHAT_END)
        r->out->stop = CHAT_TOOLS;  // several local servers say "stop"
}

static struct attempt attempt(struct llm *l, struct arena *a, const struct chat_request *q,
                              struct chat_answer *out) {
    // Ollama ignores the key, and wants one that is not empty.
    const char *key = l->secrets.key[0] ? l->secrets.key : "none";
    const char *headers[] = {arena_printf(a, "authorization: Bearer %s", key), NULL};
    struct stream_state state = {0};
    struct answer_reading r = {
        .a = a, .out = out, .on_event = on_event, .on_body = on_body, .state = &state};
    struct http_call call = {.path = "/chat/completions", .headers = headers, .optional = optional};
    call.body = body_of(l, q, &call.sent);
    struct attempt t = http_provider_call(l, &call, &r);
    finish(&r, &state);
    return t;
}

const struct provider provider_openai = {
    .name = "openai",
    .usage = "openai:MODEL",
    .variable = "OPENAI_API_KEY",
    .needs_key = true,
    .url = "https://api.openai.com/v1",
    .data = &quirks_openai,
    .open = http_provider_open,
    .attempt = attempt,
};

const struct provider provider_vllm = {
    .name = "vllm",
    .usage = "vllm:MODEL",
    .variable = "HONE_LLM_KEY",
    .is_local = true,
    .url = "http://127.0.0.1:8000/v1",
    .data = &quirks_vllm,
    .open = http_provider_open,
    .attempt = attempt,
};

const struct provider provider_llamacpp = {
    .name = "llamacpp",
    .usage = "llamacpp:MODEL",
    .variable = "HONE_LLM_KEY",
    .is_local = true,
    .url = "http://127.0.0.1:8080/v1",
    .data = &quirks_llamacpp,
    .open = http_provider_open,
    .attempt = attempt,
};

const struct provider provider_ollama = {
    .name = "ollama",
    .usage = "ollama:MODEL",
    .variable = "HONE_LLM_KEY",
    .is_local = true,
    .url = "http://127.0.0.1:11434/v1",
    .data = &quirks_ollama,
    .open = http_provider_open,
    .attempt = attempt,
};

const struct provider provider_gateway = {
    .name = "gateway",
    .usage = "gateway:MODEL@URL",
    .variable = "HONE_LLM_KEY",
    .data = &quirks_gateway,
    .open = http_provider_open,
    .attempt = attempt,
};
