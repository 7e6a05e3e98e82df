// A line per model; every line is parsed even where the first matches, so that mistakes are found.
#include "llm/prices.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "record/chat.h"

enum { TABLE_MAX = 1 << 20, N_PRICES = 4 };

struct price price_unknown(void) {
    return (struct price){NAN, NAN, NAN, NAN, NULL};
}

struct price price_free(void) {
    return (struct price){.origin = "runs on this machine"};
}

static bool fits(const char *row, const char *model) {
    size_t len = strlen(row);
    if (len > 0 && row[len - 1] == '*')
        return strncmp(row, model, len - 1) == 0;
    return strcmp(row, model) == 0;
}

// The next word of a line; "" at its end.
static const char *word(struct arena *a, const char **at) {
    *at += strspn(*at, " \t\r");
    size_t len = strcspn(*at, " \t\r");
    const char *text = arena_strndup(a, *at, len);
    *at += len;
    return text;
}

// MODEL and four prices; false with a reason in `err`.
static bool read_row(struct arena *a, const char *line, const char **model, struct price *p,
                     struct error *err) {
    double *into[N_PRICES] = {&p->in, &p->out, &p->cache_read, &p->cache_write};
    *model = word(a, &line);
    for (int i = 0; i < N_PRICES; i++) {
        const char *text = word(a, &line);
        *into[i] = NAN;
        if (strcmp(text, "-") == 0)
            continue;
        if (!str_to_double(text, into[i]) || !(*into[i] >= 0) || !(*into[i] < 1e6))
            return error_set(err, ERROR_USAGE,
                             "expected a model and four prices in USD per million tokens, or '-' "
                             "for one that is not known; found '%.40s'",
                             text);
    }
    const char *more = word(a, &line);
    return !*more || error_set(err, ERROR_USAGE, "'%.40s' after the four prices", more);
}

// Every line is read, so that a mistake is found whichever model is asked for.
static bool search(struct arena *a, const char *text, const char *origin, const char *model,
                   struct price *out, struct error *err) {
    int number = 0;
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, "\n");
        char *line = arena_strndup(a, at, len);
        at += len + (at[len] == '\n');
        number++;
        line[strcspn(line, "#")] = '\0';
        if (line[strspn(line, " \t\r")] == '\0')
            continue;
        struct price p = {0};
        const char *row;
        if (!read_row(a, line, &row, &p, err))
            return error_wrap(err, "%s:%d", origin, number);
        if (!out->origin && fits(row, model)) {
            p.origin = origin;
            *out = p;
        }
    }
    return true;
}

static const char *users_table(struct arena *a) {
    const char *config = file_config_path(a);
    const char *slash = config ? strrchr(config, '/') : NULL;
    return slash ? arena_printf(a, "%.*s/prices", (int)(slash - config), config) : NULL;
}

bool prices_find(struct arena *a, const char *path, const char *model, struct price *out,
                 struct error *err) {
    *out = price_unknown();
    bool is_named = path && *path;
    if (!is_named)
        path = users_table(a);
    if (is_named || (path && file_exists(path))) {
        size_t len;
        const char *text = file_read(a, path, TABLE_MAX, &len, err);
        if (!text)
            return error_wrap(err, "price table");
        if (strlen(text) != len)
            return error_set(err, ERROR_USAGE, "price table %s holds a NUL byte", path);
        if (!search(a, text, path, model, out, err))
            return error_wrap(err, "price table");
    }
    return out->origin || search(a, embedded_text("prices.txt"), "built in", model, out, err);
}

static double part(double price, int64_t n) {
    if (n == 0)
        return 0;
    return n < 0 ? NAN : price * (double)n / 1e6;
}

double price_cost(const struct price *p, const struct chat_usage *u) {
    // A provider that counts its input and names no cached part has none.
    int64_t read = u->in_fresh >= 0 && u->in_cache_read < 0 ? 0 : u->in_cache_read;
    int64_t written = u->in_fresh >= 0 && u->in_cache_write < 0 ? 0 : u->in_cache_write;
    return part(p->in, u->in_fresh) + part(p->cache_read, read) + part(p->cache_write, written) +
           part(p->out, u->out);
}

const char *price_text(struct arena *a, const struct price *p) {
    if (isnan(p->in) || isnan(p->out))
        return "unknown";
    if (p->in == 0 && p->out == 0)
        return "nothing";
    return arena_printf(a, "%g USD in, %g USD out per million tokens", p->in, p->out);
}
