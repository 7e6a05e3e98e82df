// What the providers that speak HTTP share: the URL, one request, and what a status means.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "llm/curl.h"
#include "llm/provider.h"
#include "llm/sse.h"

enum { ANSWER_MAX = 4 << 20, CONNECT_S = 10 };

static bool is_loopback(const char *host) {
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (int i = 0; i < 3; i++) {
        size_t len = strlen(names[i]);
        if (strncmp(host, names[i], len) == 0 && strchr(":/", host[len]))
            return true;
    }
    return false;
}

// A key goes over an encrypted connection or stays on this machine; and none stands in a URL,
// since URLs are printed.
static bool check_url(struct llm *l, const char *url, struct error *err) {
    bool is_http = strncmp(url, "http://", 7) == 0, is_https = strncmp(url, "https://", 8) == 0;
    if (!is_http && !is_https)
        return error_set(err, ERROR_USAGE, "%s: '%.200s' is no http:// or https:// address",
                         l->provider->name, url);
    const char *host = url + (is_https ? 8 : 7);
    l->is_elsewhere = !is_loopback(host);
    if (memchr(host, '@', strcspn(host, "/")))
        return error_set(err, ERROR_USAGE, "%s: the address must hold no user name or password",
                         l->provider->name);
    for (const char *c = url; *c; c++)
        if (*c <= ' ' || *c > '~')
            return error_set(err, ERROR_USAGE, "%s: the address holds a character that none has",
                             l->provider->name);
    if (is_http && l->secrets.key[0] && !is_loopback(host))
        return error_set(err, ERROR_USAGE,
                         "%s: a key is not sent over plain http to another machine; use https",
                         l->provider->name);
    return true;
}

bool http_provider_open(struct llm *l, const char *rest, struct error *err) {
    // A model's name may hold an '@'; an address begins with http.
    const char *at = strstr(rest, "@http");
    size_t len = at ? (size_t)(at - rest) : strlen(rest);
    const char *url = at ? at + 1 : l->provider->url;
    // An address left empty does not mean the default one.
    if (len == 0 || !url || rest[len - 1] == '@')
        return error_set(err, ERROR_USAGE, "expected %s", l->provider->usage);
    for (size_t i = 0; i < len; i++)
        if (rest[i] <= ' ' || rest[i] > '~')
            return error_set(err, ERROR_USAGE, "%s: a model's name has no spaces",
                             l->provider->name);
    l->model = strndup(rest, len);
    l->place = strdup(url);
    for (size_t end = strlen(l->place); end > 0 && l->place[end - 1] == '/'; end--)
        l->place[end - 1] = '\0';
    return check_url(l, url, err);
}

// ---- reading

static bool on_event(void *ctx, const char *event, const char *data, size_t len) {
    struct answer_reading *r = ctx;
    if (strcmp(data, "[DONE]") == 0) {
        r->is_done = true;
        return true;
    }
    char *clean = arena_strndup(r->a, data, len);
    str_clean(clean, len);
    json_error_t where;
    json_t *json = json_loadb(clean, len, 0, &where);
    if (!json) {
        snprintf(r->failure, sizeof r->failure, "the stream holds an event that is no JSON: %s",
                 where.text);
        return false;
    }
    bool go_on = r->on_event(r, event, json);
    json_decref(json);
    if (r->text.cut) {
        snprintf(r->failure, sizeof r->failure, "the answer is longer than %d MiB",
                 ANSWER_MAX >> 20);
        return false;
    }
    return go_on;
}

struct stream {
    struct answer_reading *r;
    struct sse sse;
};

static bool on_data(void *ctx, const char *bytes, size_t len) {
    struct stream *s = ctx;
    s->r->n_bytes += (int64_t)len;
    return sse_feed(&s->sse, bytes, len);
}

// ---- statuses

// The error object's words: {"error": {"message", "type", "code", "param"}} of either vendor.
struct complaint {
    const char *message, *code, *param;
};

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static struct complaint read_complaint(struct arena *a, const char *body) {
    json_t *json = json_loads(body, 0, NULL);
    const json_t *error = json_object_get(json, "error");
    struct complaint c = {
        .message = arena_strdup(a, json_is_string(error) ? json_string_value(error)
                                                         : text_of(error, "message")),
        .code = arena_strdup(a, text_of(error, "code")),
        .param = arena_strdup(a, text_of(error, "param")),
    };
    if (!*c.code)
        c.code = arena_strdup(a, text_of(error, "type"));
    json_decref(json);
    return c;
}

static bool is_word_char(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static bool names_word(const char *text, const char *word) {
    size_t len = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += len)
        if ((at == text || !is_word_char(at[-1])) && !is_word_char(at[len]))
            return true;
    return false;
}

// A parameter that was sent, may be left out, and is what the server complains of.
static unsigned refused_parameter(const struct http_call *call, const struct complaint *c) {
    for (const struct optional_parameter *p = call->optional; p && p->name; p++)
        if ((call->sent & p->bit) &&
            (names_word(c->param, p->name) || (!*c->param && names_word(c->message, p->name))))
            return p->bit;
    return 0;
}

static struct attempt later(const struct http_response *response, const char *what,
                            const struct complaint *c) {
    struct attempt t = attempt_set(ATTEMPT_LATER, ERROR_IO, "%s (%d%s%.200s)", what,
                                   response->status, *c->message ? ": " : "", c->message);
    t.retry_after_s = response->retry_after_s;
    return t;
}

static struct attempt judge_status(struct llm *l, struct arena *a, const struct http_call *call,
                                   const struct http_response *response) {
    struct complaint c = read_complaint(a, response->body);
    const char *dots = *c.message ? ": " : "";
    int status = response->status;
    unsigned bit = status == 400 || status == 422 ? refused_parameter(call, &c) : 0;
    if (bit) {
        l->refused |= bit;
        return attempt_set(ATTEMPT_AGAIN, ERROR_USAGE, "a parameter was refused (%d%s%.200s)",
                           status, dots, c.message);
    }
    if (strcmp(c.code, "insufficient_quota") == 0 || status == 402)
        return attempt_set(ATTEMPT_FAILED, ERROR_UNSUPPORTED,
                           "the account has nothing left (%d%s%.200s)", status, dots, c.message);
    if (status == 401 || status == 403)
        return attempt_set(
            ATTEMPT_FAILED, ERROR_UNSUPPORTED, "the key in %s was refused (%d%s%.200s)",
            l->secrets.origin ? l->secrets.origin : "(none)", status, dots, c.message);
    if (status == 404)
        return attempt_set(ATTEMPT_FAILED, ERROR_UNSUPPORTED,
                           "there is no model '%s' at %s (404%s%.200s)", l->model, l->place, dots,
                           c.message);
    bool retries = status == 408 || status == 409 || status == 429 || status >= 500;
    if (response->should_retry >= 0)
        retries = response->should_retry;
    if (retries)
        return later(response, status == 429 ? "too many requests" : "the server is in trouble",
                     &c);
    if (status >= 300 && status < 400)
        return attempt_set(ATTEMPT_FAILED, ERROR_UNSUPPORTED,
                           "%s sends us elsewhere (%d); name that address", l->place, status);
    return attempt_set(ATTEMPT_FAILED, ERROR_USAGE, "the request was not accepted (%d%s%.200s)",
                       status, dots, c.message);
}

static struct attempt judge_body(const struct http_response *response, struct answer_reading *r) {
    json_t *json = json_loads(response->body, 0, NULL);
    bool ok = json && r->on_body(r, json);
    json_decref(json);
    return ok ? attempt_answered()
              : attempt_set(ATTEMPT_LATER, ERROR_IO,
                            "the answer is not what the API promises: %.80s",
                            *response->body ? response->body : "(empty)");
}

static struct attempt judge_stream(const struct http_response *response, struct answer_reading *r) {
    if (r->failure[0])
        return attempt_set(r->is_overloaded ? ATTEMPT_LATER : ATTEMPT_FAILED, ERROR_IO,
                           "the answer broke off: %.300s", r->failure);
    if (response->failure[0] || !r->is_done)
        return attempt_set(ATTEMPT_LATER, ERROR_IO, "the answer broke off%s%.300s",
                           response->failure[0] ? ": " : "", response->failure);
    return attempt_answered();
}

static struct attempt conclude(struct llm *l, struct arena *a, const struct http_call *call,
                               const struct http_response *response, struct answer_reading *r) {
    if (response->is_interrupted)
        return attempt_set(ATTEMPT_FAILED, ERROR_INTERRUPTED, "interrupted");
    if (response->is_stream)
        return judge_stream(response, r);
    if (response->failure[0])
        return attempt_set(response->is_hopeless ? ATTEMPT_FAILED : ATTEMPT_LATER,
                           response->is_hopeless ? ERROR_UNSUPPORTED : ERROR_IO, "%s: %.300s",
                           l->place, response->failure);
    return response->status == 200 ? judge_body(response, r) : judge_status(l, a, call, response);
}

struct attempt http_provider_call(struct llm *l, const struct http_call *call,
                                  struct answer_reading *r) {
    struct error err = {0};
    if (!l->http && !http_open(&l->http, &err)) {
        json_decref(call->body);
        return attempt_set(ATTEMPT_FAILED, err.kind, "%.400s", err.text);
    }
    const char *headers[8] = {"content-type: application/json", "accept: text/event-stream"};
    for (int i = 0; call->headers[i] && i < 5; i++)
        headers[2 + i] = call->headers[i];
    struct stream stream = {.r = r, .sse = {.on_event = on_event, .ctx = r}};
    const char *body = json_print(r->a, call->body);
    json_decref(call->body);
    struct http_request q = {
        .url = arena_printf(r->a, "%s%s", l->place, call->path),
        .headers = headers,
        .body = body,
        .body_len = strlen(body),
        .connect_s = CONNECT_S < l->deadline_s ? CONNECT_S : l->deadline_s,
        .idle_s = l->settings.idle_s,
        .total_s = l->deadline_s,
        .on_data = on_data,
        .ctx = &stream,
    };
    struct http_response response;
    r->text.max = ANSWER_MAX;
    http_send(l->http, r->a, &q, &response);
    if (stream.sse.too_large)
        snprintf(r->failure, sizeof r->failure, "an event is larger than %d MiB",
                 SSE_EVENT_MAX >> 20);
    struct attempt t = conclude(l, r->a, call, &response, r);
    t.received_bytes = r->n_bytes;
    t.is_free = t.kind != ATTEMPT_ANSWERED && !response.is_stream;
    sse_reset(&stream.sse);
    r->out->text = str_take(r->a, &r->text);
    return t;
}
