#include "mcp/mcp_roots.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/error.h"
#include "mcp/mcp_message.h"

static int hex(char c) {
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;
    return at ? (int)(at - digits) : -1;
}

// The path of "file:///a%20b" or "file://localhost/a"; another text is a path already.
static const char *uri_path(struct arena *a, const char *uri) {
    if (strncmp(uri, "file://", 7) != 0)
        return uri;
    const char *from = strchr(uri + 7, '/');
    if (!from)
        return "";
    char *path = arena_strdup(a, from), *to = path;
    for (const char *p = path; *p; p++, to++) {
        bool is_coded = p[0] == '%' && hex(p[1]) >= 0 && hex(p[2]) >= 0;
        *to = is_coded ? (char)(hex(p[1]) * 16 + hex(p[2])) : *p;
        p += is_coded ? 2 : 0;
    }
    *to = '\0';
    return path;
}

bool mcp_roots_add(struct mcp_roots *r, struct arena *a, const char *place) {
    char real[PATH_MAX];
    struct stat st;
    if (r->n == MCP_ROOTS_MAX || !realpath(uri_path(a, place), real) || stat(real, &st) != 0 ||
        !S_ISDIR(st.st_mode))
        return false;
    r->paths[r->n++] = arena_strdup(a, real);
    return true;
}

bool mcp_roots_read(struct mcp_roots *r, struct arena *a, const json_t *result) {
    struct mcp_roots found = {0};
    size_t i;
    json_t *root;
    json_array_foreach(json_object_get(result, "roots"), i, root) {
        const char *uri = mcp_text(root, "uri");
        if (uri && strncmp(uri, "file://", 7) == 0)
            mcp_roots_add(&found, a, uri);
    }
    if (found.n == 0)
        return false;
    *r = found;
    return true;
}

static bool is_within(const char *path, const char *root) {
    size_t len = strlen(root);
    if (strcmp(root, "/") == 0)
        return true;
    return strncmp(path, root, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

// Resolve what is there of a path whose end may not be; the end must not climb.
static bool resolve_new(const char *path, char real[PATH_MAX]) {
    if (realpath(path, real))
        return true;
    char head[PATH_MAX];
    snprintf(head, sizeof head, "%s", path);
    char *slash = strrchr(head, '/');
    if (errno != ENOENT || !slash || slash == head)
        return false;
    *slash = '\0';
    const char *name = slash + 1;
    bool is_plain = *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    if (!is_plain || !resolve_new(head, real))
        return false;
    size_t len = strlen(real);
    return (size_t)snprintf(real + len, PATH_MAX - len, "/%s", name) < PATH_MAX - len;
}

const char *mcp_roots_find(const struct mcp_roots *r, struct arena *a, const char *path,
                           bool is_new, struct error *err) {
    char full[PATH_MAX], real[PATH_MAX];
    path = uri_path(a, path);
    bool fits = (size_t)snprintf(full, sizeof full, "%s%s%s", *path == '/' ? "" : r->paths[0],
                                 *path == '/' ? "" : "/", path) < sizeof full;
    if (!fits)
        errno = ENAMETOOLONG;
    if (!fits || !(is_new ? resolve_new(full, real) : realpath(full, real) != NULL)) {
        error_set(err, ERROR_USAGE, "%s: %s", full, strerror(errno));
        return NULL;
    }
    // A pipe or a device would never end, and neither would reading it here.
    struct stat st;
    if (stat(real, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        error_set(err, ERROR_USAGE, "%s is neither a file nor a directory", real);
        return NULL;
    }
    for (int i = 0; i < r->n; i++)
        if (is_within(real, r->paths[i]))
            return arena_strdup(a, real);
    error_set(err, ERROR_USAGE, "%s lies outside of the roots (the first is %s)", real,
              r->paths[0]);
    return NULL;
}
