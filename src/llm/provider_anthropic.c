// Anthropic's Messages API, streamed. Variety comes from the prompt: the API's newest version
// refuses temperature and its kin, so they are never sent. Content blocks of an assistant's
// turn are kept as they came and go back unchanged, as signed thinking blocks must.
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "llm/provider.h"

enum {
    REFUSED_THINKING = 1,
    REFUSED_EFFORT = 2,
    REFUSED_CACHE = 4,
    REFUSED_PARALLEL = 8,
    REFUSED_TOOLS = 16
};

static const struct optional_parameter optional[] = {
    {"thinking", REFUSED_THINKING},
    {"effort", REFUSED_EFFORT},
    {"output_config", REFUSED_EFFORT},
    {"cache_control", REFUSED_CACHE},
    {"disable_parallel_tool_use", REFUSED_PARALLEL},
    {"tools", REFUSED_TOOLS},
    {NULL, 0},
};

// ---- the request

static json_t *text_block(const char *text, bool cached) {
    json_t *block = json_pack("{s:s, s:o}", "type", "text", "text", json_optional_text(text));
    if (cached)
        json_object_set_new(block, "cache_control", json_pack("{s:s}", "type", "ephemeral"));
    return block;
}

static json_t *assistant_content(const struct chat_message *m) {
    json_t *raw = m->raw ? json_loads(m->raw, 0, NULL) : NULL;
    if (json_is_array(raw))
        return raw;
    json_decref(raw);
    json_t *content = json_array();
    if (m->text && *m->text)
        json_array_append_new(content, text_block(m->text, false));
    for (int i = 0; i < m->n_calls; i++) {
        json_t *input = json_loads(m->calls[i].arguments, 0, NULL);
        json_array_append_new(content, json_pack("{s:s, s:s, s:s, s:o}", "type", "tool_use", "id",
                                                 m->calls[i].id, "name", m->calls[i].name, "input",
                                                 input ? input : json_object()));
    }
    return content;
}

// Results of several calls belong into one message of the user's.
static void add_result(json_t *messages, const struct chat_message *m) {
    json_t *block = json_pack("{s:s, s:s, s:o}", "type", "tool_result", "tool_use_id", m->call_id,
                              "content", json_optional_text(m->text));
    json_t *last = json_array_get(messages, json_array_size(messages) - 1);
    json_t *content = json_object_get(last, "content");
    const char *type = json_string_value(json_object_get(json_array_get(content, 0), "type"));
    if (type && strcmp(type, "tool_result") == 0) {
        json_array_append_new(content, block);
        return;
    }
    json_array_append_new(messages, json_pack("{s:s, s:[o]}", "role", "user", "content", block));
}

static json_t *messages_of(const struct llm *l, const struct chat_request *q) {
    json_t *messages = json_array();
    for (int i = 0; i < q->n_messages; i++) {
        const struct chat_message *m = &q->messages[i];
        if (m->role == CHAT_TOOL) {
            add_result(messages, m);
            continue;
        }
        bool cached = i == 0 && !(l->refused & REFUSED_CACHE);
        json_t *content = m->role == CHAT_ASSISTANT ? assistant_content(m) : json_array();
        if (m->role == CHAT_USER)
            json_array_append_new(content, text_block(m->text, cached));
        json_array_append_new(messages, json_pack("{s:s, s:o}", "role",
                                                  m->role == CHAT_USER ? "user" : "assistant",
                                                  "content", content));
    }
    return messages;
}

static json_t *tools_of(const struct chat_request *q) {
    json_t *tools = json_array();
    for (int i = 0; i < q->n_tools; i++)
        json_array_append_new(tools,
                              json_pack("{s:s, s:s, s:o}", "name", q->tools[i].name, "description",
                                        q->tools[i].description, "input_schema",
                                        json_loads(q->tools[i].schema, 0, NULL)));
    return tools;
}

static json_t *body_of(const struct llm *l, const struct chat_request *q, unsigned *sent) {
    bool cached = !(l->refused & REFUSED_CACHE);
    json_t *body = json_pack("{s:s, s:i, s:b, s:[o], s:o}", "model", l->model, "max_tokens",
                             q->max_tokens, "stream", 1, "system", text_block(q->system, cached),
                             "messages", messages_of(l, q));
    *sent = cached ? REFUSED_CACHE : 0;
    if (q->n_tools > 0 && !(l->refused & REFUSED_TOOLS)) {
        *sent |= REFUSED_TOOLS;
        json_t *choice = json_pack("{s:s}", "type", "auto");
        if (!(l->refused & REFUSED_PARALLEL)) {
            json_object_set_new(choice, "disable_parallel_tool_use", json_true());
            *sent |= REFUSED_PARALLEL;
        }
        json_object_set_new(body, "tools", tools_of(q));
        json_object_set_new(body, "tool_choice", choice);
    }
    const char *effort = l->settings.effort;
    if (effort && *effort && !(l->refused & REFUSED_EFFORT)) {
        json_object_set_new(body, "output_config", json_pack("{s:s}", "effort", effort));
        *sent |= REFUSED_EFFORT;
        if (!(l->refused & REFUSED_THINKING)) {
            json_object_set_new(body, "thinking", json_pack("{s:s}", "type", "adaptive"));
            *sent |= REFUSED_THINKING;
        }
    }
    return body;
}

// ---- the answer

enum { BLOCKS_MAX = 64 };

struct stream_state {
    json_t *blocks[BLOCKS_MAX];
    struct str parts[BLOCKS_MAX];  // text, thinking or a tool's arguments so far
    struct str signature[BLOCKS_MAX];
    int n_blocks;
};

static const char *type_of(const json_t *object) {
    const char *type = json_string_value(json_object_get(object, "type"));
    return type ? type : "";
}

static void take_count(const json_t *usage, const char *key, int64_t *into) {
    const json_t *value = json_object_get(usage, key);
    if (json_is_integer(value))
        *into = json_integer_value(value);
}

static void take_usage(struct chat_usage *u, const json_t *usage) {
    take_count(usage, "input_tokens", &u->in_fresh);
    take_count(usage, "cache_read_input_tokens", &u->in_cache_read);
    take_count(usage, "cache_creation_input_tokens", &u->in_cache_write);
    take_count(usage, "output_tokens", &u->out);
    take_count(json_object_get(usage, "output_tokens_details"), "thinking_tokens",
               &u->out_reasoning);
}

static enum chat_stop stop_of(const char *reason) {
    static const struct {
        const char *reason;
        enum chat_stop stop;
    } rows[] = {
        {"end_turn", CHAT_END},
        {"stop_sequence", CHAT_END},
        {"tool_use", CHAT_TOOLS},
        {"max_tokens", CHAT_LENGTH},
        {"model_context_window_exceeded", CHAT_LENGTH},
        {"refusal", CHAT_REFUSED},
    };
    for (size_t i = 0; reason && i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(reason, rows[i].reason) == 0)
            return rows[i].stop;
    return CHAT_OTHER;
}

static int index_of(const json_t *data, const struct stream_state *s) {
    json_int_t index = json_integer_value(json_object_get(data, "index"));
    return index >= 0 && index < s->n_blocks ? (int)index : -1;
}

static void begin_block(struct stream_state *s, const json_t *data) {
    json_t *block = json_object_get(data, "content_block");
    if (!json_is_object(block) || s->n_blocks >= BLOCKS_MAX)
        return;
    s->blocks[s->n_blocks++] = json_deep_copy(block);
}

static void add_delta(struct answer_reading *r, struct stream_state *s, const json_t *data) {
    static const char *const keys[] = {"text", "partial_json", "thinking"};
    const json_t *delta = json_object_get(data, "delta");
    int i = index_of(data, s);
    if (i < 0)
        return;
    for (int k = 0; k < 3; k++) {
        const char *piece = json_string_value(json_object_get(delta, keys[k]));
        if (piece)
            str_puts(&s->parts[i], piece);
        if (piece && k == 0)
            str_puts(&r->text, piece);
    }
    const char *signature = json_string_value(json_object_get(delta, "signature"));
    if (signature)
        str_puts(&s->signature[i], signature);
}

static void take_error(struct answer_reading *r, const json_t *data) {
    const json_t *error = json_object_get(data, "error");
    const char *type = type_of(error);
    const char *message = json_string_value(json_object_get(error, "message"));
    snprintf(r->failure, sizeof r->failure, "%.80s: %.300s", *type ? type : "error",
             message ? message : "");
    r->is_overloaded = strcmp(type, "overloaded_error") == 0 || strcmp(type, "api_error") == 0 ||
                       strcmp(type, "rate_limit_error") == 0 || strcmp(type, "timeout_error") == 0;
}

static bool on_event(struct answer_reading *r, const char *event, const json_t *data) {
    struct stream_state *s = r->state;
    const char *type = type_of(data);
    (void)event;
    if (strcmp(type, "message_start") == 0) {
        const json_t *message = json_object_get(data, "message");
        const char *model = json_string_value(json_object_get(message, "model"));
        r->out->model = model ? arena_strdup(r->a, model) : NULL;
        take_usage(&r->out->usage, json_object_get(message, "usage"));
    } else if (strcmp(type, "content_block_start") == 0) {
        begin_block(s, data);
    } else if (strcmp(type, "content_block_delta") == 0) {
        add_delta(r, s, data);
    } else if (strcmp(type, "message_delta") == 0) {
        const json_t *delta = json_object_get(data, "delta");
        r->out->stop = stop_of(json_string_value(json_object_get(delta, "stop_reason")));
        take_usage(&r->out->usage, json_object_get(data, "usage"));
    } else if (strcmp(type, "message_stop") == 0) {
        r->is_done = true;
    } else if (strcmp(type, "error") == 0) {
        take_error(r, data);
        return false;
    }
    return true;
}

static bool on_body(struct answer_reading *r, const json_t *body) {
    struct stream_state *s = r->state;
    const json_t *content = json_object_get(body, "content");
    if (!json_is_array(content))
        return false;
    for (size_t i = 0; i < json_array_size(content) && s->n_blocks < BLOCKS_MAX; i++) {
        const json_t *block = json_array_get(content, i);
        const char *text = json_string_value(json_object_get(block, "text"));
        if (text)
            str_puts(&r->text, text);
        s->blocks[s->n_blocks++] = json_deep_copy(block);
    }
    r->out->stop = stop_of(json_string_value(json_object_get(body, "stop_reason")));
    take_usage(&r->out->usage, json_object_get(body, "usage"));
    return true;
}

// Put the pieces of a streamed block where they belong.
static void complete_block(json_t *block, struct str *part, struct str *signature) {
    const char *type = type_of(block);
    if (part->len == 0 && signature->len == 0)
        return;
    if (strcmp(type, "tool_use") == 0) {
        json_t *input = json_loads(str_text(part), 0, NULL);
        json_object_set_new(block, "input", input ? input : json_object());
    } else {
        json_object_set_new(block, strcmp(type, "thinking") == 0 ? "thinking" : "text",
                            json_optional_text(str_text(part)));
    }
    if (signature->len > 0)
        json_object_set_new(block, "signature", json_optional_text(str_text(signature)));
}

static void add_call(struct answer_reading *r, struct chat_call *call, const json_t *block,
                     const struct str *part) {
    const char *id = json_string_value(json_object_get(block, "id"));
    const char *name = json_string_value(json_object_get(block, "name"));
    const json_t *input = json_object_get(block, "input");
    // The model's own text where it was streamed, even when it is no JSON: somebody must tell it.
    call->id = arena_strdup(r->a, id ? id : "");
    call->name = arena_strdup(r->a, name ? name : "");
    call->arguments = part->len > 0 ? arena_strdup(r->a, str_text(part))
                                    : json_print(r->a, json_is_object(input) ? input : NULL);
}

static void finish(struct answer_reading *r, struct stream_state *s) {
    struct chat_call *calls = arena_array(r->a, struct chat_call, s->n_blocks + 1);
    json_t *content = json_array();
    for (int i = 0; i < s->n_blocks; i++) {
        complete_block(s->blocks[i], &s->parts[i], &s->signature[i]);
        if (strcmp(type_of(s->blocks[i]), "tool_use") == 0)
            add_call(r, &calls[r->out->n_calls++], s->blocks[i], &s->parts[i]);
        json_array_append_new(content, s->blocks[i]);
        str_reset(&s->parts[i]);
        str_reset(&s->signature[i]);
    }
    r->out->calls = calls;
    r->out->raw = json_print(r->a, content);
    json_decref(content);
}

static struct attempt attempt(struct llm *l, struct arena *a, const struct chat_request *q,
                              struct chat_answer *out) {
    const char *version = l->settings.version;
    const char *headers[] = {
        arena_printf(a, "x-api-key: %s", l->secrets.key),
        arena_printf(a, "anthropic-version: %s", version && *version ? version : "2023-06-01"),
        NULL,
    };
    struct stream_state state = {0};
    struct answer_reading r = {
        .a = a, .out = out, .on_event = on_event, .on_body = on_body, .state = &state};
    struct http_call call = {.path = "/v1/messages", .headers = headers, .optional = optional};
    call.body = body_of(l, q, &call.sent);
    struct attempt t = http_provider_call(l, &call, &r);
    finish(&r, &state);
    return t;
}

const struct provider provider_anthropic = {
    .name = "anthropic",
    .usage = "anthropic:MODEL",
    .variable = "ANTHROPIC_API_KEY",
    .needs_key = true,
    .url = "https://api.anthropic.com",
    .open = http_provider_open,
    .attempt = attempt,
};
