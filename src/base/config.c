// One table of settings with their defaults; each place that may set one is read in turn, from the
// weakest to the strongest, and leaves its name for `hone config --origin`. An unknown key in a
// file is an error with its line and the nearest name.
#include "base/config.h"

#include <assert.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"

static const struct setting {
    const char *key;
    const char *variable;
    const char *value;  // default
} settings[] = {
    {"build.cc", "HONE_BUILD_CC", "cc"},
    {"llm.provider", "HONE_LLM_PROVIDER", ""},
    {"llm.key_file", "HONE_LLM_KEY_FILE", ""},
    {"llm.effort", "HONE_LLM_EFFORT", ""},
    {"llm.version", "HONE_LLM_VERSION", ""},
    {"llm.max_tokens", "HONE_LLM_MAX_TOKENS", "16000"},
    {"llm.max_usd", "HONE_LLM_MAX_USD", "2"},
    {"llm.prices", "HONE_LLM_PRICES", ""},
    {"llm.prompts", "HONE_LLM_PROMPTS", ""},
    {"llm.window_tokens", "HONE_LLM_WINDOW_TOKENS", "24000"},
    {"llm.tools", "HONE_LLM_TOOLS", "on"},
    {"llm.retries", "HONE_LLM_RETRIES", "6"},
    {"llm.backoff_s", "HONE_LLM_BACKOFF_S", "0.5"},
    {"llm.idle_s", "HONE_LLM_IDLE_S", "120"},
    {"llm.timeout_s", "HONE_LLM_TIMEOUT_S", "900"},
    {"memory.path", "HONE_MEMORY_PATH", ""},
    {"run.target", "HONE_TARGET", ""},
    {"run.threads", "HONE_RUN_THREADS", "0"},
    {"store.path", "HONE_STORE_PATH", ""},
};
enum { N_SETTINGS = sizeof settings / sizeof settings[0], MAX_FILE = 1 << 20 };

struct reading {
    struct arena *a;
    struct config *c;
    const char *path;
    const char *rest;  // of the text
    int line;          // the one that inih has now
    int bad_line;      // the first whose mistake we found ourselves; 0: none
    char message[256];
};

static struct config_value *find(const struct config *c, const char *key) {
    for (int i = 0; i < c->n_values; i++)
        if (strcmp(c->values[i].key, key) == 0)
            return &c->values[i];
    return NULL;
}

static void note_unknown(struct reading *r, const char *key) {
    const char *names[N_SETTINGS + 1] = {NULL};
    for (int i = 0; i < N_SETTINGS; i++)
        names[i] = settings[i].key;
    const char *nearest = str_nearest(key, names);
    r->bad_line = r->line;
    snprintf(r->message, sizeof r->message,
             nearest ? "unknown key '%s'; did you mean '%s'?" : "unknown key '%s'", key, nearest);
}

// Called by inih for each `name = value`; 0 marks the line as a mistake.
static int on_value(void *user, const char *section, const char *name, const char *value) {
    struct reading *r = user;
    if (r->bad_line)
        return 1;
    const char *key = arena_printf(r->a, *section ? "%s.%s" : "%s%s", section, name);
    struct config_value *v = find(r->c, key);
    if (!v) {
        note_unknown(r, key);
        return 0;
    }
    v->value = arena_strdup(r->a, value);
    v->origin = r->path;
    return 1;
}

// Called by inih for the next line. It would cut a longer one in two without a word.
static char *next_line(char *into, int size, void *user) {
    struct reading *r = user;
    if (!*r->rest || r->bad_line)
        return NULL;
    size_t len = strcspn(r->rest, "\n");
    r->line++;
    if (len + 2 > (size_t)size) {
        r->bad_line = r->line;
        snprintf(r->message, sizeof r->message, "line longer than %d bytes", size - 2);
        return NULL;
    }
    snprintf(into, (size_t)size, "%.*s", (int)len, r->rest);
    r->rest += len + (r->rest[len] == '\n');
    return into;
}

static bool read_settings(struct arena *a, struct config *c, const char *path, struct error *err) {
    if (!path || !file_exists(path))
        return true;
    size_t len;
    const char *text = file_read(a, path, MAX_FILE, &len, err);
    if (!text)
        return false;
    if (strlen(text) != len)
        return error_set(err, ERROR_USAGE, "%s: holds a NUL byte", path);
    struct reading r = {.a = a, .c = c, .path = path, .rest = text};
    int line = ini_parse_stream(next_line, &r, on_value, &r);
    if (line == 0 && r.bad_line == 0)
        return true;
    // inih goes on after a mistake of form; the first mistake is the one to show.
    if (line > 0 && line != r.bad_line)
        return error_set(err, ERROR_USAGE, "%s:%d: expected 'name = value' or '[section]'", path,
                         line);
    return error_set(err, ERROR_USAGE, "%s:%d: %s", path, r.bad_line, r.message);
}

static void read_environment(struct arena *a, struct config *c) {
    for (int i = 0; i < N_SETTINGS; i++) {
        const char *value = getenv(settings[i].variable);
        if (!value || !*value)
            continue;
        c->values[i].value = arena_strdup(a, value);
        c->values[i].origin = settings[i].variable;
    }
}

bool config_load(struct arena *a, struct config *c, struct error *err) {
    c->n_values = N_SETTINGS;
    c->values = arena_array(a, struct config_value, N_SETTINGS);
    for (int i = 0; i < N_SETTINGS; i++)
        c->values[i] = (struct config_value){settings[i].key, settings[i].value, "default"};
    if (!read_settings(a, c, file_config_path(a), err) ||
        !read_settings(a, c, file_find_upward(a, ".hone/config"), err))
        return false;
    read_environment(a, c);
    return true;
}

const char *config_get(const struct config *c, const char *key) {
    const struct config_value *v = find(c, key);
    assert(v && "the key is in the table");
    return v->value;
}
