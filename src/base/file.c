// Writes are to a new file that is then renamed, so a reader never sees half of one and a kill
// leaves the old. Directories follow the XDG rules.
#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/temporary.h"

// Append all of `fd` to `s`, until its end or until `s` is full.
static bool read_all(int fd, struct str *s) {
    char chunk[64 * 1024];
    while (!s->cut) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n == 0)
            return true;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        str_append(s, chunk, (size_t)n);
    }
    return true;
}

// `flags`: for open(2), besides reading.
static char *read_file(struct arena *a, const char *path, size_t max, size_t *len, int flags,
                       struct error *err) {
    assert(max > 0);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
    struct stat st;
    if (fd < 0) {
        error_set(err, ERROR_USAGE, "%s: %s", path, strerror(errno));
        return NULL;
    }
    bool is_known = fstat(fd, &st) == 0, is_dir = is_known && S_ISDIR(st.st_mode);
    if (is_dir || (flags && !(is_known && S_ISREG(st.st_mode)))) {
        close(fd);
        error_set(err, ERROR_USAGE, is_dir ? "%s: is a directory" : "%s: is no plain file", path);
        return NULL;
    }

    struct str s = {.max = max};
    bool ok = read_all(fd, &s);
    if (!ok)
        error_set(err, ERROR_IO, "read %s: %s", path, strerror(errno));
    else if (s.cut)
        ok = error_set(err, ERROR_USAGE, "%s: larger than %zu bytes", path, max);
    close(fd);
    if (!ok) {
        str_reset(&s);
        return NULL;
    }
    if (len)
        *len = s.len;
    return str_take(a, &s);
}

char *file_read(struct arena *a, const char *path, size_t max, size_t *len, struct error *err) {
    return read_file(a, path, max, len, 0, err);
}

char *file_read_plain(struct arena *a, const char *path, size_t max, size_t *len,
                      struct error *err) {
    return read_file(a, path, max, len, O_NONBLOCK, err);
}

static bool write_all(int fd, const char *bytes, size_t len) {
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

// A device or a pipe cannot be replaced by rename; it is written as it is.
static bool write_in_place(const char *path, const char *bytes, size_t len, struct error *err) {
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return error_set(err, ERROR_IO, "%s: %s", path, strerror(errno));
    bool ok = write_all(fd, bytes, len);
    int why = errno;
    if (close(fd) != 0 && ok) {
        ok = false;
        why = errno;
    }
    return ok || error_set(err, ERROR_IO, "write %s: %s", path, strerror(why));
}

// Make the rename itself durable. A file system that cannot is no reason to fail.
static void sync_parent(const char *path) {
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int len = slash ? (int)(slash - path) : 0;
    snprintf(parent, sizeof parent, "%.*s", len > 0 ? len : 1, slash ? path : ".");
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

// A new file of these bytes, if need be on the disk; 0 or why not, and then it is gone.
static int write_new(const char *path, struct span bytes, bool durable, bool *made) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    *made = fd >= 0;
    if (fd < 0)
        return errno;
    int why = write_all(fd, bytes.ptr, bytes.len) && (!durable || fsync(fd) == 0) ? 0 : errno;
    if (close(fd) != 0 && !why)
        why = errno;
    if (why)
        unlink(path);
    return why;
}

static bool replace(const char *path, struct span bytes, bool durable, struct error *err) {
    char temporary[PATH_MAX], name[TEMPORARY_MAX];
    bool made;
    const char *slash = strrchr(path, '/');
    temporary_name(name);
    int wanted = snprintf(temporary, sizeof temporary, "%.*s%s",
                          slash ? (int)(slash - path) + 1 : 0, path, name);
    if ((size_t)wanted >= sizeof temporary)
        return error_set(err, ERROR_IO, "%s: %s", path, strerror(ENAMETOOLONG));
    int why = write_new(temporary, bytes, durable, &made);
    if (!why && rename(temporary, path) != 0) {
        why = errno;
        unlink(temporary);
    }
    if (why)
        return error_set(err, ERROR_IO, "%s%s: %s", made ? "write " : "", path, strerror(why));
    if (durable)
        sync_parent(path);
    return true;
}

bool file_create(const char *path, const char *bytes, size_t len, struct error *err) {
    bool made;
    int why = write_new(path, (struct span){bytes, len}, true, &made);
    return !why || error_set(err, ERROR_IO, "write %s: %s", path, strerror(why));
}

bool file_write(const char *path, const char *bytes, size_t len, struct error *err) {
    struct stat st;
    if (stat(path, &st) != 0) {
        temporary_remove_dead_next_to(path);
        return replace(path, (struct span){bytes, len}, true, err);
    }
    if (S_ISDIR(st.st_mode))
        return error_set(err, ERROR_IO, "write %s: is a directory", path);
    if (!S_ISREG(st.st_mode))
        return write_in_place(path, bytes, len, err);

    // Replace what a link points to, not the link.
    char *real = realpath(path, NULL);
    const char *target = real ? real : path;
    temporary_remove_dead_next_to(target);
    bool ok = replace(target, (struct span){bytes, len}, true, err);
    free(real);
    return ok;
}

bool file_keep(const char *path, const char *bytes, size_t len, struct error *err) {
    return replace(path, (struct span){bytes, len}, false, err);
}

static bool make_dir(const char *path, struct error *err) {
    struct stat st;
    if (mkdir(path, 0777) == 0)
        return true;
    int why = errno;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return true;
    return error_set(err, ERROR_IO, "make directory %s: %s", path,
                     strerror(why == EEXIST ? ENOTDIR : why));
}

bool file_make_dirs(const char *path, struct error *err) {
    char part[PATH_MAX];
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof part)
        return error_set(err, ERROR_IO, "make directory %s: %s", path,
                         strerror(len ? ENAMETOOLONG : ENOENT));
    for (size_t i = 1; i < len; i++) {
        if (path[i] != '/' || path[i - 1] == '/')
            continue;
        snprintf(part, sizeof part, "%.*s", (int)i, path);
        if (!make_dir(part, err))
            return false;
    }
    return make_dir(path, err);
}

bool file_exists(const char *path) {
    return access(path, F_OK) == 0;
}

int64_t file_size(const char *path) {
    struct stat st;
    bool is_plain = stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0;
    return is_plain ? (int64_t)st.st_size : -1;
}

static bool remove_entry(const FTSENT *e) {
    switch (e->fts_info) {
    case FTS_D:
        return true;  // comes again as FTS_DP, when it is empty
    case FTS_DP:
        return rmdir(e->fts_accpath) == 0 || errno == ENOENT;
    case FTS_DNR:
    case FTS_ERR:
        errno = e->fts_errno;
        return false;
    case FTS_NS:
        errno = e->fts_errno;
        return errno == ENOENT;
    default:
        return unlink(e->fts_accpath) == 0 || errno == ENOENT;
    }
}

bool file_remove_tree(const char *path, struct error *err) {
    char *copy = strdup(path);
    char *roots[] = {copy, NULL};
    FTS *walk = copy ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL) : NULL;
    bool ok = walk || error_set(err, ERROR_IO, "remove %s: %s", path, strerror(errno));
    while (ok) {
        errno = 0;
        FTSENT *e = fts_read(walk);
        if (!e) {
            ok = errno == 0 || error_set(err, ERROR_IO, "remove %s: %s", path, strerror(errno));
            break;
        }
        if (!remove_entry(e))
            ok = error_set(err, ERROR_IO, "remove %s: %s", e->fts_path, strerror(errno));
    }
    if (walk)
        fts_close(walk);
    free(copy);
    return ok;
}

const char *file_find_upward(struct arena *a, const char *name) {
    char dir[PATH_MAX];
    if (!getcwd(dir, sizeof dir))
        return NULL;
    for (;;) {
        const char *path = arena_printf(a, "%s/%s", strcmp(dir, "/") ? dir : "", name);
        if (file_exists(path))
            return path;
        char *slash = strrchr(dir, '/');
        if (!slash || strcmp(dir, "/") == 0)
            return NULL;
        slash[slash == dir] = '\0';
    }
}

// $VARIABLE, else $HOME/fallback, else NULL. The XDG rules ignore relative paths.
static const char *base_dir(struct arena *a, const char *variable, const char *fallback) {
    const char *dir = getenv(variable);
    if (dir && dir[0] == '/')
        return dir;
    const char *home = getenv("HOME");
    return home && home[0] == '/' ? arena_printf(a, "%s/%s", home, fallback) : NULL;
}

const char *file_cache_dir(struct arena *a, const char *name, struct error *err) {
    const char *base = base_dir(a, "XDG_CACHE_HOME", ".cache");
    if (!base) {
        error_set(err, ERROR_UNSUPPORTED, "no cache directory: set HOME or XDG_CACHE_HOME");
        return NULL;
    }
    const char *dir = arena_printf(a, "%s/hone/%s", base, name);
    if (!file_make_dirs(dir, err))
        return NULL;
    if (access(dir, W_OK) == 0) {
        temporary_remove_dead(dir);
        return dir;
    }
    error_set(err, ERROR_IO, "%s: %s", dir, strerror(errno));
    return NULL;
}

// A directory of ours alone: what another user made under that name is not touched.
static bool make_private(const char *path) {
    struct stat st;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return false;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 0077) == 0;
}

const char *file_work_dir(struct arena *a, const char *name, struct error *err) {
    const char *dir = file_cache_dir(a, name, err);
    if (dir)
        return dir;
    const char *temporary = getenv("TMPDIR");
    const char *base = arena_printf(
        a, "%s/hone-%u", temporary && temporary[0] == '/' ? temporary : "/tmp", geteuid());
    dir = arena_printf(a, "%s/%s", base, name);
    if (!make_private(base) || !make_private(dir))
        return NULL;
    temporary_remove_dead(dir);
    return dir;
}

const char *file_scratch_dir(struct arena *a, struct error *err) {
    char name[TEMPORARY_MAX];
    const char *base = file_work_dir(a, "objects", err);
    if (!base)
        return NULL;
    *err = (struct error){0};
    temporary_name(name);
    const char *dir = arena_printf(a, "%s/%s", base, name);
    if (mkdir(dir, 0700) == 0)
        return dir;
    error_set(err, ERROR_IO, "make directory %s: %s", dir, strerror(errno));
    return NULL;
}

const char *file_config_path(struct arena *a) {
    const char *base = base_dir(a, "XDG_CONFIG_HOME", ".config");
    return base ? arena_printf(a, "%s/hone/config", base) : NULL;
}

const char *file_data_path(struct arena *a, const char *name) {
    const char *base = base_dir(a, "XDG_DATA_HOME", ".local/share");
    return base ? arena_printf(a, "%s/hone/%s", base, name) : NULL;
}

const char *file_self(struct arena *a, struct error *err) {
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    if (len < 0) {
        error_set(err, ERROR_IO, "find our own binary: /proc/self/exe: %s", strerror(errno));
        return NULL;
    }
    path[len] = '\0';
    // Replaced while we run (a rebuild): the kernel still has the old one under this name.
    if (!file_exists(path))
        return arena_printf(a, "/proc/%d/exe", (int)getpid());
    return arena_strdup(a, path);
}

static bool is_program(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

const char *file_find_program(struct arena *a, const char *name) {
    if (!*name)
        return NULL;
    if (strchr(name, '/'))
        return is_program(name) ? arena_strdup(a, name) : NULL;
    const char *path = getenv("PATH");
    while (path && *path) {
        const char *end = strchrnul(path, ':');
        const char *candidate = end == path
                                    ? arena_printf(a, "./%s", name)
                                    : arena_printf(a, "%.*s/%s", (int)(end - path), path, name);
        if (is_program(candidate))
            return candidate;
        path = *end ? end + 1 : end;
    }
    return NULL;
}
