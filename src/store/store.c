// Opening the store, and what its files share.
//
// WAL with synchronous=FULL: a transaction that was acknowledged survives kill -9 and
// a power cut. The file is never mapped (a full disk would then be a SIGBUS instead
// of an error). On a network file system, where WAL's shared memory does not work,
// the rollback journal serves.
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "base/temporary.h"
#include "store/store_private.h"

enum {
    APPLICATION_ID = 0x686f6e65,  // "hone": `file` and a foreign database's owner can tell
    BUSY_STEP_MS = 20,
    BUSY_MAX_MS = 60000,
};

// Schema i+1 from schema i; the first makes an empty file a store.
static const char *const migrations[] = {"schema.sql", "schema_2.sql", "schema_3.sql"};
_Static_assert(sizeof migrations / sizeof migrations[0] == STORE_SCHEMA, "one step per version");

bool store_fail(struct store *s, struct error *err) {
    int code = sqlite3_extended_errcode(s->db);
    const char *text = sqlite3_errmsg(s->db);
    if (interrupt_seen() && ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_INTERRUPT))
        return error_set(err, ERROR_INTERRUPTED, "interrupted");
    switch (code & 0xff) {
    case SQLITE_NOTADB:
        return error_set(err, ERROR_USAGE, "this is not a hone store (nor any database)");
    case SQLITE_CORRUPT:
        return error_set(err, ERROR_IO, "the file is damaged (%s); move it away to begin a new one",
                         text);
    case SQLITE_FULL:
        return error_set(err, ERROR_IO, "the disk is full; what was stored before is safe");
    case SQLITE_READONLY:
        return error_set(err, ERROR_IO, "cannot be written (%s)", text);
    case SQLITE_CANTOPEN:
        return error_set(err, ERROR_IO, "cannot be opened or made (%s)",
                         sqlite3_system_errno(s->db) ? strerror(sqlite3_system_errno(s->db))
                                                     : text);
    case SQLITE_BUSY:
        return error_set(err, ERROR_IO, "another process has been writing for %d s",
                         BUSY_MAX_MS / 1000);
    case SQLITE_IOERR:
        return error_set(err, ERROR_IO, "%s%s%s; what was stored before is safe", text,
                         sqlite3_system_errno(s->db) ? ": " : "",
                         sqlite3_system_errno(s->db) ? strerror(sqlite3_system_errno(s->db)) : "");
    default:
        return error_set(err, ERROR_IO, "%s", text);
    }
}

sqlite3_stmt *store_prepare(struct store *s, const char *sql, struct error *err) {
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) != SQLITE_OK)
        store_fail(s, err);
    return st;
}

bool store_finish(struct store *s, sqlite3_stmt *st, struct error *err) {
    bool ok = sqlite3_step(st) == SQLITE_DONE || store_fail(s, err);
    sqlite3_finalize(st);
    return ok;
}

void store_bind_json(sqlite3_stmt *st, int index, json_t *json) {
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    assert(text);
    sqlite3_bind_text(st, index, text, -1, SQLITE_TRANSIENT);
    free(text);
    json_decref(json);
}

json_t *store_column_json(sqlite3_stmt *st, int column, struct error *err) {
    const char *text = (const char *)sqlite3_column_text(st, column);
    return json_parse(text ? text : "", text ? strlen(text) : 0, err);
}

// Waits for another writer. One that writes much hardly leaves a gap, and on a busy disk each
// write takes its time; Ctrl-C ends the wait at once.
static int wait_busy(void *ctx, int n_calls) {
    (void)ctx;
    if (interrupt_seen() || n_calls >= BUSY_MAX_MS / BUSY_STEP_MS)
        return 0;
    sqlite3_sleep(BUSY_STEP_MS);
    return 1;
}

static bool exec(struct store *s, const char *sql, struct error *err) {
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK || store_fail(s, err);
}

bool store_begin(struct store *s, struct error *err) {
    return !s->db || exec(s, "BEGIN IMMEDIATE", err) || error_wrap(err, "write to %s", s->path);
}

bool store_end(struct store *s, bool ok, struct error *err) {
    if (!s->db)
        return ok;
    bool is_open = !sqlite3_get_autocommit(s->db);
    if (ok && exec(s, "COMMIT", err))
        return true;
    if (ok)
        error_wrap(err, "write to %s", s->path);
    if (is_open)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

// One statement, so that all three belong to one moment: another process may be making
// the store right now.
static bool read_versions(struct store *s, int64_t *version, int64_t *application,
                          int64_t *n_tables, struct error *err) {
    sqlite3_stmt *st =
        store_prepare(s,
                      "SELECT (SELECT count(*) FROM sqlite_schema), user_version, application_id"
                      " FROM pragma_user_version, pragma_application_id",
                      err);
    if (!st)
        return false;
    bool ok = sqlite3_step(st) == SQLITE_ROW || store_fail(s, err);
    *n_tables = ok ? sqlite3_column_int64(st, 0) : 0;
    *version = ok ? sqlite3_column_int64(st, 1) : 0;
    *application = ok ? sqlite3_column_int64(st, 2) : 0;
    sqlite3_finalize(st);
    return ok;
}

// Is this a store, and one that we understand? An empty file is schema 0.
static bool check_version(struct store *s, int64_t *version, struct error *err) {
    int64_t application, n_tables;
    if (!read_versions(s, version, &application, &n_tables, err))
        return false;
    if (*version == 0 && application == 0 && n_tables == 0)
        return true;
    if (application != APPLICATION_ID)
        return error_set(err, ERROR_USAGE, "this is a database, but not a hone store");
    if (*version > STORE_SCHEMA)
        return error_set(err, ERROR_UNSUPPORTED,
                         "schema %lld is newer than %d, the newest that this hone knows",
                         (long long)*version, STORE_SCHEMA);
    return true;
}

// Bring the file to our schema, all or nothing. Two processes may start at once: the
// version is read again under the write lock.
static bool migrate(struct store *s, struct error *err) {
    if (!exec(s, "BEGIN IMMEDIATE", err))
        return false;
    int64_t version;
    if (!check_version(s, &version, err))
        goto undo;
    for (; version < STORE_SCHEMA; version++)
        if (!exec(s, embedded_text(migrations[version]), err))
            goto undo;
    char pragmas[96];
    snprintf(pragmas, sizeof pragmas, "PRAGMA user_version = %d; PRAGMA application_id = %d",
             STORE_SCHEMA, APPLICATION_ID);
    if (exec(s, pragmas, err) && exec(s, "COMMIT", err))
        return true;
undo:
    sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

// WAL needs shared memory between processes, which these do not give.
static bool is_network_file_system(const char *path) {
    static const long magics[] = {0x6969,     0x517b,    (long)0xff534d42, (long)0xfe534d42,
                                  0x01021997, 0x65735546};  // nfs, smb, cifs, smb2, 9p, fuse
    struct statfs fs;
    if (statfs(path, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        if ((unsigned)fs.f_type == (unsigned)magics[i])
            return true;
    return false;
}

// The switch to WAL takes an exclusive lock for which SQLite does not call the busy
// handler, so that two first starts at once would trip over each other.
static bool set_journal(struct store *s, struct error *err) {
    const char *sql = is_network_file_system(s->path) ? "PRAGMA journal_mode = DELETE"
                                                      : "PRAGMA journal_mode = WAL";
    for (int i = 0;; i++) {
        int code = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
        if (code == SQLITE_OK)
            return true;
        if (code != SQLITE_BUSY || !wait_busy(NULL, i))
            return store_fail(s, err);
    }
}

static bool set_up_writer(struct store *s, struct error *err) {
    int64_t version;
    return check_version(s, &version, err) && set_journal(s, err) &&
           exec(s, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA mmap_size = 0",
                err) &&
           (version == STORE_SCHEMA || migrate(s, err));
}

static bool connect_to(struct store *s, const char *name, int flags, struct error *err) {
    if (sqlite3_open_v2(name, &s->db, flags, NULL) != SQLITE_OK)
        return store_fail(s, err);
    sqlite3_busy_handler(s->db, wait_busy, NULL);
    return true;
}

// The path as a URI that says: nobody changes this file. NULL when a log next to it holds
// more than the file does.
static char *immutable_uri(struct arena *a, const char *path) {
    struct stat st;
    if (stat(arena_printf(a, "%s-wal", path), &st) == 0 && st.st_size > 0)
        return NULL;
    struct str uri = {0};
    str_puts(&uri, "file:");
    for (const char *c = path; *c; c++)
        if (strchr("%?#", *c))
            str_printf(&uri, "%%%02x", (unsigned char)*c);
        else
            str_append(&uri, c, 1);
    str_puts(&uri, "?immutable=1");
    return str_take(a, &uri);
}

// Reading. Where the directory may not be written, WAL's shared memory cannot be made and
// the file is read as it stands.
static bool set_up_reader(struct store *s, struct arena *a, struct error *err) {
    int64_t version;
    bool ok = check_version(s, &version, err);
    char *uri = ok || err->kind != ERROR_IO ? NULL : immutable_uri(a, s->path);
    if (uri) {
        sqlite3_close(s->db);
        s->db = NULL;
        ok = connect_to(s, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err) &&
             check_version(s, &version, err);
    }
    if (ok && version == 0)
        return error_set(err, ERROR_USAGE, "the store is empty");
    return ok;
}

// `.hone` of this directory or the nearest one above that has it; NULL when none has.
static char *find_upward(struct arena *a) {
    char *dir = getcwd(NULL, 0);
    char *found = NULL;
    while (dir && !found) {
        char *try = arena_printf(a, "%s/.hone", strcmp(dir, "/") == 0 ? "" : dir);
        struct stat st;
        if (stat(try, &st) == 0 && S_ISDIR(st.st_mode))
            found = try;
        char *slash = strrchr(dir, '/');
        if (found || !slash || strcmp(dir, "/") == 0)
            break;
        slash[slash == dir] = '\0';
    }
    free(dir);
    return found;
}

// Runs are nobody's source: the directory keeps itself out of version control.
static bool make_hone_dir(struct arena *a, const char *dir, struct error *err) {
    const char *ignore = arena_printf(a, "%s/.gitignore", dir);
    return file_make_dirs(dir, err) && (file_exists(ignore) || file_write(ignore, "*\n", 2, err));
}

// A named directory means the store in it.
static bool resolve_named(struct arena *a, const char *named, bool create, const char **path,
                          struct error *err) {
    struct stat st;
    *path = named;
    if (stat(named, &st) == 0 && S_ISDIR(st.st_mode))
        *path = arena_printf(a, "%s/runs.db", named);
    if (!create || file_exists(*path))
        return true;
    const char *slash = strrchr(*path, '/');
    if (!slash || slash == *path)
        return true;
    return file_make_dirs(arena_strndup(a, *path, (size_t)(slash - *path)), err);
}

static bool resolve(struct arena *a, const char *named, bool create, const char **path,
                    struct error *err) {
    if (named)
        return resolve_named(a, named, create, path, err);
    const char *dir = find_upward(a);
    *path = arena_printf(a, "%s/runs.db", dir ? dir : ".hone");
    if (create)
        return make_hone_dir(a, dir ? dir : ".hone", err);
    if (!dir || !file_exists(*path))
        return error_set(err, ERROR_USAGE,
                         "there are no runs here or above; `hone optimize FILE` makes one, "
                         "--store PATH names those of another place");
    return true;
}

bool store_open(struct store **out, const char *path, bool create, struct error *err) {
    struct arena a = {0};
    struct store *s = calloc(1, sizeof *s);
    assert(s);
    s->lock_fd = -1;
    bool ok = resolve(&a, path, create, &path, err);
    if (ok && !create && access(path, R_OK) != 0)
        ok = error_set(err, ERROR_USAGE, "%s", strerror(errno));
    if (ok) {
        s->path = strdup(path);
        temporary_remove_dead_next_to(path);
        int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
        ok = connect_to(s, path, flags, err) &&
             (create ? set_up_writer(s, err) : set_up_reader(s, &a, err));
    }
    if (!ok)
        error_wrap(err, "open store %s", path);
    arena_reset(&a);
    if (ok) {
        *out = s;
        return true;
    }
    store_close(s);
    return false;
}

struct store *store_open_none(void) {
    struct store *s = calloc(1, sizeof *s);
    assert(s);
    s->lock_fd = -1;
    return s;
}

void store_close(struct store *s) {
    if (!s)
        return;
    sqlite3_close(s->db);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    free(s->path);
    free(s);
}

const char *store_path(const struct store *s) {
    return s->path;
}

// A run's lock is on byte `run` of a file next to the database. The kernel drops it when
// the process ends, however it ends, so that a killed run can be resumed at once.
static int open_locks(const struct store *s, int flags) {
    char *name = sqlite3_mprintf("%s-runs", s->path);
    int fd = open(name, flags | O_CLOEXEC, 0666);
    sqlite3_free(name);
    return fd;
}

static struct flock run_byte(int64_t run) {
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = run, .l_len = 1};
}

bool store_lock_run(struct store *s, int64_t run, struct error *err) {
    if (s->lock_fd < 0)
        s->lock_fd = open_locks(s, O_RDWR | O_CREAT);
    if (s->lock_fd < 0)
        return error_set(err, ERROR_IO, "make the lock file next to %s: %s", s->path,
                         strerror(errno));
    struct flock lock = run_byte(run);
    if (fcntl(s->lock_fd, F_OFD_SETLK, &lock) == 0)
        return true;
    if (errno == EAGAIN || errno == EACCES)
        return error_set(err, ERROR_USAGE, "run %lld is being worked on by another process",
                         (long long)run);
    return error_set(err, ERROR_IO, "lock run %lld: %s", (long long)run, strerror(errno));
}

bool store_run_is_locked(const struct store *s, int64_t run) {
    int fd = open_locks(s, O_RDONLY);
    if (fd < 0)
        return false;
    struct flock lock = run_byte(run);
    bool locked = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return locked;
}
