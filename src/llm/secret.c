// One read of one open file whose mode was checked; strip replaces a key wherever it occurs.
#include "llm/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

// Shorter ones would strike out ordinary words; no provider's key is that short.
enum { HIDE_LEAST = 8 };

static const char *const variables[] = {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
                                        "OPENAI_API_KEY", "HONE_LLM_KEY"};

static void hide(struct secrets *s, const char *text) {
    if (text && strlen(text) >= HIDE_LEAST && s->n_hidden < SECRETS_MAX)
        s->hidden[s->n_hidden++] = text;
}

static bool is_sound(const char *key) {
    for (const char *c = key; *c; c++)
        if (*c <= ' ' || *c > '~')
            return false;
    return *key != '\0';
}

static bool take(struct secrets *s, const char *key, const char *origin, struct error *err) {
    size_t len = strlen(key);
    if (len >= sizeof s->key || !is_sound(key))
        return error_set(err, ERROR_USAGE, "the key in %s is not one line of printable characters",
                         origin);
    memcpy(s->key, key, len + 1);
    s->origin = origin;
    hide(s, s->key);
    // Nor into a core file, should we crash.
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    return true;
}

// One read of one open file: what was checked is what is read.
static bool read_file(struct secrets *s, const char *path, struct error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_set(err, ERROR_USAGE, "key file %s: %s", path, strerror(errno));
    struct stat st;
    char text[SECRET_MAX + 2] = {0};
    bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    bool is_private = ok && (st.st_mode & 077) == 0;
    ssize_t len = is_private ? read(fd, text, sizeof text - 1) : 0;
    close(fd);
    if (!ok)
        return error_set(err, ERROR_USAGE, "key file %s is not a file", path);
    if (!is_private)
        return error_set(err, ERROR_USAGE,
                         "key file %s can be read by others (mode %03o); chmod 600 %s", path,
                         (unsigned)st.st_mode & 0777, path);
    if (len < 0)
        return error_set(err, ERROR_USAGE, "key file %s: %s", path, strerror(errno));
    if (len > 0 && memchr(text, '\0', (size_t)len))
        text[0] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    ok = take(s, text, path, err);
    explicit_bzero(text, sizeof text);
    return ok;
}

bool secrets_read(struct secrets *s, const char *variable, const char *file, struct error *err) {
    *s = (struct secrets){0};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        hide(s, getenv(variables[i]));
    if (file && *file)
        return read_file(s, file, err);
    const char *value = variable ? getenv(variable) : NULL;
    return !value || !*value || take(s, value, variable, err);
}

void secrets_strip(const struct secrets *s, char *text) {
    for (int i = 0; text && i < s->n_hidden; i++) {
        size_t len = strlen(s->hidden[i]);
        for (char *at = text; (at = strstr(at, s->hidden[i])); at += len)
            memset(at, '*', len);
    }
}

void secrets_wipe(struct secrets *s) {
    explicit_bzero(s, sizeof *s);
}
