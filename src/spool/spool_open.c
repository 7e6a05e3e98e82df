// Opening a spool: is it one, and of our version; else make it.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "spool/spool_private.h"

static const char *const SCHEMA = "hone.spool/1";
static const char *const parts[] = {"queue", "claimed", "done", "wanted", "machines", "tmp"};

// Somebody's own directory is no place for a spool; one that is being made, or whose maker was
// killed, is.
static bool is_ours(const char *name) {
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(name, parts[i]) == 0)
            return true;
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
           strncmp(name, "spool.json", strlen("spool.json")) == 0;
}

static bool holds_others(const char *dir) {
    DIR *d = opendir(dir);
    bool others = false;
    for (struct dirent *e = d ? readdir(d) : NULL; e && !others; e = readdir(d))
        others = !is_ours(e->d_name);
    if (d)
        closedir(d);
    return others;
}

// Parts that are empty may have been left behind when the rest was carried.
static bool make_parts(struct spool *s, struct error *err) {
    char path[SPOOL_PATH];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (mkdir(spool_path(s, path, parts[i], ""), 0777) != 0 && errno != EEXIST)
            return error_set(err, ERROR_IO, "spool %s: make %s: %s", s->dir, parts[i],
                             strerror(errno));
    if (access(spool_path(s, path, "tmp", ""), W_OK | X_OK) != 0)
        return error_set(err, ERROR_IO, "spool %s: cannot be written: %s", s->dir, strerror(errno));
    return true;
}

// Two processes may both find none; each writes the same.
static bool make_new(struct spool *s, const char *version, struct error *err) {
    char path[SPOOL_PATH], text[64];
    if (mkdir(s->dir, 0777) != 0 && errno != EEXIST)
        return error_set(err, errno == ENOENT || errno == ENOTDIR ? ERROR_USAGE : ERROR_IO,
                         "spool %s: %s", s->dir, strerror(errno));
    snprintf(text, sizeof text, "{\"schema\": \"%s\"}\n", SCHEMA);
    return make_parts(s, err) && spool_write(s, text, path, err) &&
           spool_place(s, path, version, err);
}

static bool check_version(struct spool *s, const char *version, struct error *err) {
    struct arena a = {0};
    size_t len;
    char *text = file_read_plain(&a, version, 4096, &len, err);
    json_t *json = text ? json_parse(text, len, err) : NULL;
    const char *schema = json_string_value(json_object_get(json, "schema"));
    bool ok = json && schema && strcmp(schema, SCHEMA) == 0;
    if (json && !ok)
        error_set(err, ERROR_USAGE, "spool %s: it is %s, and this hone knows %s", s->dir,
                  schema ? schema : "of no version", SCHEMA);
    else if (!ok) {
        err->kind = ERROR_USAGE;
        error_wrap(err, text ? "spool %s: spool.json" : "spool %s", s->dir);
    }
    json_decref(json);
    arena_reset(&a);
    return ok;
}

static bool prepare(struct spool *s, struct error *err) {
    char version[SPOOL_PATH];
    struct stat st;
    spool_path(s, version, "spool.json", "");
    if (stat(s->dir, &st) == 0 && !S_ISDIR(st.st_mode))
        return error_set(err, ERROR_USAGE, "spool %s: is not a directory", s->dir);
    if (file_exists(version))
        return check_version(s, version, err) && make_parts(s, err);
    if (holds_others(s->dir))
        return error_set(err, ERROR_USAGE,
                         "spool %s: the directory holds other things and no spool.json", s->dir);
    return make_new(s, version, err);
}

bool spool_open(struct spool **out, const char *dir, struct error *err) {
    if (!*dir || strlen(dir) >= sizeof(*out)->dir)
        return error_set(err, ERROR_USAGE, "spool '%.64s': %s", dir,
                         strerror(*dir ? ENAMETOOLONG : ENOENT));
    struct spool *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    s->inotify = -1;
    snprintf(s->dir, sizeof s->dir, "%s", dir);
    owner_self(s->owner);
    if (prepare(s, err) && spool_tidy(s, err)) {
        *out = s;
        return true;
    }
    spool_close(s);
    return false;
}

void spool_close(struct spool *s) {
    if (!s)
        return;
    if (s->inotify >= 0)
        close(s->inotify);
    free(s->jobs);
    free(s);
}

const char *spool_dir(const struct spool *s) {
    return s->dir;
}
