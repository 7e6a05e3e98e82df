// Settings become a configuration; those that decide where keys and money go are refused from a
// project's file.
#include "ops/op_llm.h"

#include <string.h>

#include "base/arena.h"
#include "base/config.h"
#include "base/error.h"
#include "base/str.h"

struct number {
    const char *key;
    double least, most;
    double *into;
};

static bool read_numbers(const struct config *c, const struct number *rows, int n_rows,
                         struct error *err) {
    for (int i = 0; i < n_rows; i++) {
        const char *text = config_get(c, rows[i].key);
        if (!str_to_double(text, rows[i].into) || !(*rows[i].into >= rows[i].least) ||
            !(*rows[i].into <= rows[i].most))
            return error_set(err, ERROR_USAGE, "setting %s is '%s', not a number from %g to %g",
                             rows[i].key, text, rows[i].least, rows[i].most);
    }
    return true;
}

static bool check_effort(const char *effort, struct error *err) {
    static const char *const words[] = {"", "minimal", "low", "medium", "high", "xhigh", "max"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(effort, words[i]) == 0)
            return true;
    return error_set(err, ERROR_USAGE,
                     "setting llm.effort is '%s'; there are minimal, low, medium, high, xhigh, max",
                     effort);
}

// These decide where keys and prompts go, what is run and what may be spent. A directory that
// somebody got from elsewhere must not decide that.
static bool check_origins(const struct config *c, struct error *err) {
    static const char place[] = "/.hone/config";
    for (int i = 0; i < c->n_values; i++) {
        const struct config_value *v = &c->values[i];
        size_t len = strlen(v->origin), tail = sizeof place - 1;
        if (strncmp(v->key, "llm.", 4) == 0 && len >= tail &&
            strcmp(v->origin + len - tail, place) == 0)
            return error_set(err, ERROR_USAGE,
                             "%s: %s belongs into your own settings, not a project's: those decide "
                             "where keys and prompts go and what may be spent",
                             v->origin, v->key);
    }
    return true;
}

bool op_llm_config(struct arena *a, struct llm_config *out, struct error *err) {
    struct config *c = arena_new(a, struct config);
    *out = (struct llm_config){0};
    if (!config_load(a, c, err) || !check_origins(c, err))
        return false;
    double retries, max_tokens, window_tokens;
    const struct number rows[] = {
        {"llm.retries", 0, 100, &retries},
        {"llm.backoff_s", 0, 60, &out->settings.backoff_s},
        {"llm.idle_s", 0.1, 86400, &out->settings.idle_s},
        {"llm.timeout_s", 0.1, 86400, &out->settings.timeout_s},
        {"llm.max_tokens", 64, 1000000, &max_tokens},
        {"llm.window_tokens", 2000, 10000000, &window_tokens},
        {"llm.max_usd", 0, 1e6, &out->max_usd},
    };
    out->settings.effort = config_get(c, "llm.effort");
    if (!read_numbers(c, rows, sizeof rows / sizeof rows[0], err) ||
        !check_effort(out->settings.effort, err))
        return false;
    out->settings.n_retries = (int)retries;
    out->max_tokens = (int)max_tokens;
    out->window_tokens = (int)window_tokens;
    out->settings.key_file = config_get(c, "llm.key_file");
    out->settings.version = config_get(c, "llm.version");
    out->provider = config_get(c, "llm.provider");
    out->prices = config_get(c, "llm.prices");
    out->prompts = config_get(c, "llm.prompts");
    const char *tools = config_get(c, "llm.tools");
    out->no_tools = strcmp(tools, "off") == 0;
    if (!out->no_tools && strcmp(tools, "on") != 0)
        return error_set(err, ERROR_USAGE, "setting llm.tools is '%s', neither on nor off", tools);
    return true;
}

static const char *tokens(struct arena *a, int64_t n) {
    return n < 0 ? "unknown" : arena_printf(a, "%lld", (long long)n);
}

static const char *about(struct arena *a, const struct llm *l) {
    const char *key = llm_key_origin(l);
    return arena_printf(a, "%s%s%s at %s%s%s", llm_provider(l), *llm_model(l) ? ":" : "",
                        llm_model(l), llm_place(l), key ? ", key from " : "", key ? key : "");
}

bool op_llm_probe(struct arena *a, const char *spec, const char **found, struct error *err) {
    struct llm_config config;
    struct llm *l;
    if (!op_llm_config(a, &config, err))
        return false;
    config.settings.spec = spec;
    if (!llm_open(&l, &config.settings, err))
        return false;
    // Somebody who reads a folder of questions need not be asked whether he is there.
    if (strcmp(llm_provider(l), "ask") == 0 || strcmp(llm_provider(l), "replay") == 0) {
        *found = about(a, l);
        llm_close(l);
        return true;
    }
    struct chat_message question = {.role = CHAT_USER, .text = "Answer with the word ok."};
    struct chat_request q = {.tag = "doctor",
                             .system = "You are asked whether you can be reached.",
                             .messages = &question,
                             .n_messages = 1,
                             .max_tokens = 256};
    struct chat_answer answer;
    bool ok = llm_call(l, a, &q, &answer, err);
    if (ok)
        *found = arena_printf(a, "%s; answered in %.1f s (%s tokens in, %s out)", about(a, l),
                              answer.usage.wall_s, tokens(a, answer.usage.in_fresh),
                              tokens(a, answer.usage.out));
    llm_close(l);
    return ok;
}
