// A conversation with a model, in no provider's dialect: what is asked and what came back.
// Keys are never part of it. JSON forms inside hone.exchange/1 (record/exchange.h).
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct arena;
struct json_reader;

enum chat_role { CHAT_USER, CHAT_ASSISTANT, CHAT_TOOL };

// A tool that the model wants called; `arguments` is JSON text as the model wrote it, which
// may be no JSON at all.
struct chat_call {
    const char *id, *name, *arguments;
};

struct chat_message {
    enum chat_role role;
    const char *text;
    const struct chat_call *calls;  // an assistant's
    int n_calls;
    const char *call_id;  // a tool's result: of which call
    const char *raw;      // an assistant's content in its provider's own form (JSON text), which
                          // must go back unchanged; NULL: none
};

struct chat_tool {
    const char *name, *description;
    const char *schema;  // of its arguments: JSON text
};

struct chat_request {
    const char *tag;     // names the question within a store: "run3-node012-0-plan"
    const char *system;  // the same for every call of a role, so that providers can cache it
    const struct chat_message *messages;
    int n_messages;
    const struct chat_tool *tools;
    int n_tools;
    int max_tokens;    // of the answer
    double timeout_s;  // for the whole call, retries included; 0: the client's own
};

enum chat_stop {
    CHAT_END,      // it said all it wanted
    CHAT_LENGTH,   // cut off at max_tokens or the context's end
    CHAT_TOOLS,    // it waits for the results of `calls`
    CHAT_REFUSED,  // it or a filter declined
    CHAT_OTHER,
    CHAT_STOP_COUNT
};

// Tokens as the provider counted them; -1 where it did not say. Input is split so that each
// part has one price: fresh, read from a cache, written to a cache.
struct chat_usage {
    int64_t in_fresh, in_cache_read, in_cache_write;
    int64_t out;            // reasoning included
    int64_t out_reasoning;  // of that
    int n_requests;         // HTTP requests, processes or questions it took
    double wall_s;          // the provider's own time, waits between retries included
};

struct chat_answer {
    const char *text;
    const struct chat_call *calls;
    int n_calls;
    const char *raw;    // see chat_message
    const char *model;  // as the provider names it; NULL: it did not
    enum chat_stop stop;
    struct chat_usage usage;
};

const char *chat_stop_name(enum chat_stop s);
struct chat_usage chat_usage_unknown(void);

// The request as one JSON object; its compact text is what a request's hash is of.
json_t *chat_request_to_json(const struct chat_request *q);
void chat_request_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                            struct chat_request *q);
json_t *chat_answer_to_json(const struct chat_answer *answer);
void chat_answer_from_json(struct json_reader *r, struct arena *a, const json_t *json,
                           struct chat_answer *answer);

// SHA-256 of what is asked: system, messages, tools and the limit; not the tag, not the time.
const char *chat_request_hash(struct arena *a, const struct chat_request *q);
