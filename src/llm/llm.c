// The client: finds the provider, tries, waits, tries again.
//
// Waits follow what both vendors' own clients do: what the server says, else
// min(first * 2^n, 8 s) shortened by up to a quarter at random, so that many clients do not
// come back at once. A server that wants more than a minute is taken as gone.
#include "llm/llm.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "llm/curl.h"
#include "llm/provider.h"

static const double WAIT_LONGEST_S = 8, WAIT_ASKED_MAX_S = 60;
enum { DEFAULT_RETRIES = 6, AGAIN_MAX = 8 };

static const struct provider *const providers[] = {
    &provider_anthropic, &provider_openai, &provider_vllm, &provider_llamacpp, &provider_ollama,
    &provider_gateway,   &provider_exec,   &provider_ask,  &provider_replay,   NULL,
};

static const char *const provider_names[] = {"anthropic", "openai", "vllm", "llamacpp", "ollama",
                                             "gateway",   "exec",   "ask",  "replay",   NULL};

const char *const *llm_provider_names(void) {
    return provider_names;
}

struct attempt attempt_answered(void) {
    return (struct attempt){.kind = ATTEMPT_ANSWERED, .retry_after_s = NAN};
}

struct attempt attempt_set(enum attempt_kind kind, enum error_kind error, const char *fmt, ...) {
    struct attempt t = {.kind = kind, .error = error, .retry_after_s = NAN};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(t.text, sizeof t.text, fmt, ap);
    va_end(ap);
    // A cut within a character would make the text unfit for JSON.
    str_clean(t.text, strlen(t.text));
    return t;
}

static bool find_provider(struct llm *l, const char *spec, const char **rest, struct error *err) {
    const char *colon = strchr(spec, ':');
    size_t len = colon ? (size_t)(colon - spec) : strlen(spec);
    struct span name = {spec, len};
    for (int i = 0; providers[i]; i++)
        if (span_is(name, providers[i]->name))
            l->provider = providers[i];
    if (l->provider && (!colon || !colon[1]))
        return error_set(err, ERROR_USAGE, "model '%s': expected %s", spec, l->provider->usage);
    *rest = colon ? colon + 1 : "";
    if (l->provider)
        return true;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(len < 40 ? len : 40), spec);
    const char *nearest = str_nearest(word, provider_names);
    return error_set(err, ERROR_USAGE,
                     nearest ? "unknown provider '%s'; did you mean '%s'?"
                             : "unknown provider '%s'; there are anthropic, openai, vllm, "
                               "llamacpp, ollama, gateway, exec, ask and replay%.0s",
                     word, nearest);
}

static bool read_key(struct llm *l, struct error *err) {
    const struct provider *p = l->provider;
    const char *file = p->variable ? l->settings.key_file : NULL;
    if (!secrets_read(&l->secrets, p->variable, file, err))
        return false;
    if (p->needs_key && !l->secrets.key[0])
        return error_set(err, ERROR_UNSUPPORTED,
                         "%s needs a key: set %s, or llm.key_file to a file of mode 600", p->name,
                         p->variable);
    return true;
}

bool llm_open(struct llm **out, const struct llm_settings *settings, struct error *err) {
    struct llm *l = calloc(1, sizeof *l);
    assert(l);
    l->settings = *settings;
    rng_init(&l->rng, rng_entropy());
    if (l->settings.idle_s <= 0)
        l->settings.idle_s = 120;
    if (l->settings.timeout_s <= 0)
        l->settings.timeout_s = 900;
    if (l->settings.n_retries < 0)
        l->settings.n_retries = DEFAULT_RETRIES;
    if (l->settings.backoff_s < 0)
        l->settings.backoff_s = 0.5;
    const char *rest = "";
    if (find_provider(l, settings->spec, &rest, err) && read_key(l, err) &&
        l->provider->open(l, rest, err)) {
        *out = l;
        return true;
    }
    llm_close(l);
    return false;
}

void llm_close(struct llm *l) {
    if (!l)
        return;
    if (l->provider && l->provider->close)
        l->provider->close(l);
    http_close(l->http);
    free(l->model);
    free(l->place);
    secrets_wipe(&l->secrets);
    free(l);
}

const char *llm_provider(const struct llm *l) {
    return l->provider->name;
}

const char *llm_model(const struct llm *l) {
    return l->model ? l->model : "";
}

const char *llm_place(const struct llm *l) {
    return l->place ? l->place : "";
}

const char *llm_key_origin(const struct llm *l) {
    return l->secrets.origin;
}

bool llm_is_free(const struct llm *l) {
    return l->provider->is_local && !l->is_elsewhere;
}

int llm_n_reworded(const struct llm *l) {
    return l->n_reworded;
}

void llm_strip(const struct llm *l, char *text) {
    secrets_strip(&l->secrets, text);
}

// What comes from outside goes into prompts, the store and messages. A server that sends our
// key back must not bring it there.
static void strip_answer(struct llm *l, struct arena *a, struct chat_answer *out) {
    char *text = arena_strdup(a, out->text ? out->text : "");
    llm_strip(l, text);
    out->text = text;
    struct chat_call *calls = arena_array(a, struct chat_call, out->n_calls + 1);
    for (int i = 0; i < out->n_calls; i++) {
        char *name = arena_strdup(a, out->calls[i].name ? out->calls[i].name : "");
        char *arguments = arena_strdup(a, out->calls[i].arguments ? out->calls[i].arguments : "");
        llm_strip(l, name);
        llm_strip(l, arguments);
        calls[i] = (struct chat_call){out->calls[i].id, name, arguments};
    }
    out->calls = calls;
    char *raw = out->raw ? arena_strdup(a, out->raw) : NULL;
    llm_strip(l, raw);
    out->raw = raw;
}

static double wait_before(struct llm *l, int n_retry, double asked_s) {
    if (isfinite(asked_s))
        return asked_s < 0 ? 0 : asked_s;
    double wait_s = l->settings.backoff_s * pow(2, n_retry);
    wait_s = wait_s < WAIT_LONGEST_S ? wait_s : WAIT_LONGEST_S;
    return wait_s * (1 - 0.25 * rng_unit(&l->rng));
}

// False when Ctrl-C came.
static bool pause_for(double seconds) {
    int64_t end_ns = clock_now_ns() + (int64_t)(seconds * 1e9);
    for (int64_t left_ns; (left_ns = end_ns - clock_now_ns()) > 0;) {
        if (interrupt_seen())
            return false;
        if (left_ns > 50 * 1000 * 1000)
            left_ns = 50 * 1000 * 1000;
        struct timespec ts = {.tv_sec = 0, .tv_nsec = left_ns};
        nanosleep(&ts, NULL);
    }
    return !interrupt_seen();
}

static void note(struct llm *l, const char *words) {
    log_info("%s", words);
    if (l->settings.on_note)
        l->settings.on_note(l->settings.note_ctx, words);
}

// Wait before the next attempt; false when there shall be none, with the reason in `err`.
static bool wait_for_next(struct llm *l, const struct attempt *t, int n_retry, double left_s,
                          struct error *err) {
    double wait_s = wait_before(l, n_retry, t->retry_after_s);
    if (n_retry >= l->settings.n_retries)
        return error_set(err, t->error, "%s; gave up after %d attempt%s", t->text, n_retry + 1,
                         n_retry > 0 ? "s" : "");
    if (wait_s > WAIT_ASKED_MAX_S)
        return error_set(err, t->error, "%s; the server asks to wait %.0f s, which is too long",
                         t->text, wait_s);
    if (wait_s > left_s)
        return error_set(err, ERROR_TIMEOUT, "%s; no time is left for another attempt", t->text);
    char words[600];
    snprintf(words, sizeof words, "%s: %s; trying again in %.1f s", l->provider->name, t->text,
             wait_s);
    note(l, words);
    return pause_for(wait_s) || error_set(err, ERROR_INTERRUPTED, "interrupted");
}

static struct attempt try_once(struct llm *l, struct arena *a, const struct chat_request *q,
                               struct chat_answer *out) {
    int n_requests = out->usage.n_requests;
    *out = (struct chat_answer){.text = "", .usage = chat_usage_unknown()};
    struct attempt t = l->provider->attempt(l, a, q, out);
    out->usage.n_requests = n_requests + 1;
    llm_strip(l, t.text);
    return t;
}

// What broken attempts took, besides the one that counted: input as counted, output by its bytes.
struct wasted_usage {
    int64_t in, out;
    bool is_charged;  // some attempt began an answer, or nobody can tell
};

static void add_lost(struct wasted_usage *lost, const struct attempt *t,
                     const struct chat_usage *u) {
    enum { EVENT_BYTES = 16 };  // of a stream per token, its wrapping included
    if (t->is_free)
        return;
    lost->is_charged = true;
    lost->in += u->in_fresh > 0 ? u->in_fresh : 0;
    lost->out += t->received_bytes / EVENT_BYTES;
}

static void settle_lost(const struct wasted_usage *lost, bool ok, struct chat_usage *u) {
    if (!ok && !lost->is_charged) {
        u->in_fresh = u->in_cache_read = u->in_cache_write = u->out = 0;
        return;
    }
    if (u->in_fresh >= 0 && u->out >= 0 && ok) {
        u->in_fresh += lost->in;
        u->out += lost->out;
    }
}

static bool attempts(struct llm *l, struct arena *a, const struct chat_request *q,
                     struct chat_answer *out, struct wasted_usage *lost, struct error *err) {
    int64_t start_ns = clock_now_ns();
    double total_s = q->timeout_s > 0 ? q->timeout_s : INFINITY;
    for (int n_retry = 0, n_again = 0;;) {
        double left_s = total_s - (double)(clock_now_ns() - start_ns) / 1e9;
        bool is_short = left_s < l->settings.timeout_s || l->provider->is_patient;
        l->deadline_s = is_short ? left_s : l->settings.timeout_s;
        if (interrupt_seen())
            return error_set(err, ERROR_INTERRUPTED, "interrupted");
        if (left_s <= 0)
            return error_set(err, ERROR_TIMEOUT, "no time is left");
        struct attempt t = try_once(l, a, q, out);
        if (t.kind == ATTEMPT_ANSWERED)
            return true;
        add_lost(lost, &t, &out->usage);
        if (t.kind == ATTEMPT_FAILED)
            return error_set(err, t.error, "%s", t.text);
        if (t.kind == ATTEMPT_AGAIN && n_again++ < AGAIN_MAX)
            continue;
        left_s = total_s - (double)(clock_now_ns() - start_ns) / 1e9;
        if (!wait_for_next(l, &t, n_retry++, left_s, err))
            return false;
    }
}

bool llm_call(struct llm *l, struct arena *a, const struct chat_request *q, struct chat_answer *out,
              struct error *err) {
    int64_t start_ns = clock_now_ns();
    *out = (struct chat_answer){.text = "", .usage = chat_usage_unknown()};
    struct wasted_usage lost = {0};
    bool ok = attempts(l, a, q, out, &lost, err);
    settle_lost(&lost, ok, &out->usage);
    out->usage.wall_s = (double)(clock_now_ns() - start_ns) / 1e9;
    strip_answer(l, a, out);
    return ok || error_wrap(err, "%s", l->provider->name);
}
