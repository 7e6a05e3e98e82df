// What a provider is, and what the files of llm/ share. Private to llm/.
#pragma once

#include "base/error.h"
#include "base/rng.h"
#include "base/str.h"
#include "llm/llm.h"
#include "llm/secret.h"

struct arena;
struct http;
struct http_response;

// What became of one attempt.
enum attempt_kind {
    ATTEMPT_ANSWERED,
    ATTEMPT_AGAIN,   // at once: something that the server refuses will not be sent again
    ATTEMPT_LATER,   // after a wait
    ATTEMPT_FAILED,  // for good
};

struct attempt {
    enum attempt_kind kind;
    double retry_after_s;   // ATTEMPT_LATER: as the server wants it; NAN: it did not say
    enum error_kind error;  // else why it failed
    char text[480];
    int64_t received_bytes;  // of an answer that broke off: it is paid for all the same
    bool is_free;            // it was refused before any answer began: nobody charges for it
};

struct provider {
    const char *name;
    const char *usage;     // "anthropic:MODEL"
    const char *variable;  // environment variable with its key; NULL: it needs none
    bool needs_key;
    bool is_local;     // on this machine, nothing is charged
    bool is_patient;   // people take their time: no limit per attempt
    const char *url;   // the usual server; NULL: must be given, or it has none
    const void *data;  // the provider's own table; may be NULL
    // Called once with what follows "name:"; sets model and place, checks them.
    bool (*open)(struct llm *l, const char *rest, struct error *err);
    // Called for each attempt; fills `out` when it is answered.
    struct attempt (*attempt)(struct llm *l, struct arena *a, const struct chat_request *q,
                              struct chat_answer *out);
    // May be NULL: nothing to release.
    void (*close)(struct llm *l);
};

struct llm {
    const struct provider *provider;
    struct llm_settings settings;
    char *model, *place;
    struct secrets secrets;
    struct http *http;  // opened at the first call
    unsigned refused;   // parameters that this model does not take, as bits of the provider's own
    struct rng rng;     // for the waits
    double deadline_s;  // of the attempt under way
    int n_reworded;     // questions of a replay that were worded differently when recorded
    bool is_elsewhere;  // a server that is usually local and here is not
    void *state;        // the provider's own
};

extern const struct provider provider_anthropic, provider_openai, provider_vllm, provider_llamacpp,
    provider_ollama, provider_gateway, provider_exec, provider_ask, provider_replay;

struct attempt attempt_answered(void);
struct attempt attempt_set(enum attempt_kind kind, enum error_kind error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// ---- for the providers that speak HTTP (http_provider.c)

// "MODEL" or "MODEL@URL".
bool http_provider_open(struct llm *l, const char *rest, struct error *err);

// A parameter that may be left out, and its bit in llm.refused.
struct optional_parameter {
    const char *name;
    unsigned bit;
};

// What a stream of events or a whole body becomes.
struct answer_reading {
    struct arena *a;
    struct chat_answer *out;
    bool (*on_event)(struct answer_reading *r, const char *event, const json_t *data);
    bool (*on_body)(struct answer_reading *r,
                    const json_t *body);  // an answer that was not streamed
    bool is_done;                         // the end was seen; a stream without it broke off
    char failure[400];                    // an error within the stream
    bool is_overloaded;                   // and that it may go away
    int64_t n_bytes;
    struct str text;
    void *state;
};

struct http_call {
    const char *path;                           // after the URL: "/v1/messages"
    const char *const *headers;                 // besides content-type; NULL-terminated
    json_t *body;                               // taken
    const struct optional_parameter *optional;  // ends with a NULL name
    unsigned sent;                              // bits of those that the body has
};

// Send, read the stream, and say what became of it.
struct attempt http_provider_call(struct llm *l, const struct http_call *call,
                                  struct answer_reading *r);

// The whole conversation as one text, for models that take no more than that.
void prompt_text(struct str *out, const struct chat_request *q);
// An answer in plain text: tool calls are a JSON object {"tool": ..., "arguments": {...}} alone.
void prompt_read_answer(struct arena *a, const struct chat_request *q, const char *text,
                        struct chat_answer *out);
