// The file: opening, versions, one transaction per call, and what SQLite's codes mean to a user.
#include "memory/memory.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"

enum {
    APPLICATION_ID = 0x686f6e6d,  // "honm": not a store of runs
    BUSY_MS = 10000,              // a write takes milliseconds
};

struct memory {
    sqlite3 *db;
    char *path;
};

const char *memory_path(struct arena *a, const char *named) {
    return named && *named ? named : file_data_path(a, "memory.db");
}

static bool fail(struct memory *m, struct error *err) {
    const char *text = sqlite3_errmsg(m->db);
    int code = sqlite3_errcode(m->db) & 0xff;
    switch (code) {
    case SQLITE_NOTADB:
        return error_set(err, ERROR_USAGE, "this is not a hone memory (nor any database)");
    case SQLITE_CORRUPT:
        return error_set(err, ERROR_IO, "the file is damaged (%s); move it away to begin a new one",
                         text);
    case SQLITE_FULL:
        return error_set(err, ERROR_IO, "the disk is full; what was learned before is safe");
    case SQLITE_READONLY:
        return error_set(err, ERROR_IO, "it cannot be written (%s)", text);
    case SQLITE_CANTOPEN:
        return error_set(err, ERROR_IO, "it cannot be opened or made (%s)",
                         sqlite3_system_errno(m->db) ? strerror(sqlite3_system_errno(m->db))
                                                     : text);
    case SQLITE_BUSY:
        return error_set(err, ERROR_IO, "another process has been writing for %d s",
                         BUSY_MS / 1000);
    case SQLITE_IOERR:
        return error_set(err, ERROR_IO, "%s%s%s; what was learned before is safe", text,
                         sqlite3_system_errno(m->db) ? ": " : "",
                         sqlite3_system_errno(m->db) ? strerror(sqlite3_system_errno(m->db)) : "");
    default:
        return error_set(err, ERROR_IO, "%s", text);
    }
}

static bool exec(struct memory *m, const char *sql, struct error *err) {
    return sqlite3_exec(m->db, sql, NULL, NULL, NULL) == SQLITE_OK || fail(m, err);
}

static sqlite3_stmt *prepare(struct memory *m, const char *sql, struct error *err) {
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(m->db, sql, -1, &st, NULL) != SQLITE_OK)
        fail(m, err);
    return st;
}

// Is this a memory, and one that we understand? An empty file is schema 0.
static bool check_version(struct memory *m, int *version, struct error *err) {
    sqlite3_stmt *st =
        prepare(m,
                "SELECT (SELECT count(*) FROM sqlite_schema), user_version, application_id"
                " FROM pragma_user_version, pragma_application_id",
                err);
    if (!st)
        return false;
    bool ok = sqlite3_step(st) == SQLITE_ROW || fail(m, err);
    bool is_empty = ok && sqlite3_column_int(st, 0) == 0 && sqlite3_column_int(st, 2) == 0;
    int application = ok ? sqlite3_column_int(st, 2) : 0;
    *version = ok ? sqlite3_column_int(st, 1) : 0;
    sqlite3_finalize(st);
    if (!ok || (is_empty && *version == 0))
        return ok;
    if (application != APPLICATION_ID)
        return error_set(err, ERROR_USAGE, "this is a database, but not a hone memory");
    if (*version > MEMORY_SCHEMA)
        return error_set(err, ERROR_UNSUPPORTED,
                         "schema %d is newer than %d, the newest that this hone knows", *version,
                         MEMORY_SCHEMA);
    return true;
}

static bool end(struct memory *m, bool ok, struct error *err) {
    if (ok && exec(m, "COMMIT", err))
        return true;
    if (!sqlite3_get_autocommit(m->db))
        sqlite3_exec(m->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

// Two first runs may come here at once: the version is read again under the lock.
static bool make_tables(struct memory *m, struct error *err) {
    int version;
    char pragmas[96];
    snprintf(pragmas, sizeof pragmas, "PRAGMA user_version = %d; PRAGMA application_id = %d",
             MEMORY_SCHEMA, APPLICATION_ID);
    if (!exec(m, "BEGIN IMMEDIATE", err))
        return false;
    bool ok = check_version(m, &version, err);
    if (ok && version == 0)
        ok = exec(m, embedded_text("memory.sql"), err) && exec(m, pragmas, err);
    return end(m, ok, err);
}

static bool make_directory(const char *path, struct error *err) {
    struct arena a = {0};
    const char *slash = strrchr(path, '/');
    bool ok = !slash || slash == path ||
              file_make_dirs(arena_strndup(&a, path, (size_t)(slash - path)), err);
    arena_reset(&a);
    return ok;
}

static bool connect_to(struct memory *m, bool create, struct error *err) {
    int version;
    // Also to read: what a process left half written when it was killed has to be taken back first.
    // Where the file may not be written SQLite opens it for reading.
    int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    if (!create && access(m->path, R_OK) != 0)
        return error_set(err, errno == ENOENT ? ERROR_USAGE : ERROR_IO, "%s", strerror(errno));
    if (create && !make_directory(m->path, err))
        return false;
    if (sqlite3_open_v2(m->path, &m->db, flags, NULL) != SQLITE_OK)
        return fail(m, err);
    sqlite3_busy_timeout(m->db, BUSY_MS);
    if (!check_version(m, &version, err))
        return false;
    if (!create)
        return version > 0 || error_set(err, ERROR_USAGE, "the memory is empty");
    return exec(m, "PRAGMA synchronous = FULL; PRAGMA mmap_size = 0", err) &&
           (version == MEMORY_SCHEMA || make_tables(m, err));
}

bool memory_open(struct memory **out, const char *path, bool create, struct error *err) {
    struct memory *m = calloc(1, sizeof *m);
    assert(m);
    m->path = strdup(path);
    if (connect_to(m, create, err)) {
        *out = m;
        return true;
    }
    memory_close(m);
    return error_wrap(err, "memory %s", path);
}

void memory_close(struct memory *m) {
    if (!m)
        return;
    sqlite3_close(m->db);
    free(m->path);
    free(m);
}

// One that cannot be read is left out: it may have been made by a hone of tomorrow.
static bool read_lesson(sqlite3_stmt *st, struct arena *a, struct lesson *l) {
    struct error why = {0};
    const char *text = (const char *)sqlite3_column_text(st, 0);
    json_t *json = json_parse(text ? text : "", text ? strlen(text) : 0, &why);
    bool ok = json && lesson_from_json(a, json, l, &why);
    json_decref(json);
    if (!ok)
        log_info("a lesson is left out: %s", why.text);
    return ok;
}

bool memory_list(struct memory *m, struct arena *a, const struct memory_filter *filter,
                 struct lesson **lessons, int *n, struct error *err) {
    *n = 0;
    *lessons = NULL;
    sqlite3_stmt *st = prepare(m,
                               "SELECT record FROM lesson WHERE (?1 IS NULL OR skeleton = ?1) AND"
                               " (?2 IS NULL OR target = ?2) ORDER BY learned_at DESC, run",
                               err);
    if (!st)
        return error_wrap(err, "memory %s", m->path);
    sqlite3_bind_text(st, 1, filter->skeleton, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 2, filter->target, -1, SQLITE_STATIC);
    int room = 0, code;
    while ((code = sqlite3_step(st)) == SQLITE_ROW) {
        if (*n == room) {
            struct lesson *more = arena_array(a, struct lesson, room = room ? 2 * room : 16);
            if (*n > 0)
                memcpy(more, *lessons, sizeof **lessons * (size_t)*n);
            *lessons = more;
        }
        *n += read_lesson(st, a, *lessons + *n);
    }
    bool ok = code == SQLITE_DONE || fail(m, err);
    sqlite3_finalize(st);
    return ok || error_wrap(err, "memory %s", m->path);
}

static const char *place_text(struct arena *a, const struct lesson *l) {
    struct str text = {0};
    str_printf(&text, "%s|%s|%s|%s", l->kind.form, l->kind.types, l->target, l->device);
    for (int i = 0; i < l->kind.n_sizes; i++)
        str_printf(&text, "|%.4f", l->kind.sizes[i]);
    return str_take(a, &text);
}

static bool put_one(struct memory *m, const struct lesson *l, int *n_new, struct error *err) {
    struct arena a = {0};
    sqlite3_stmt *st = prepare(
        m,
        "INSERT INTO lesson (run, skeleton, target, place, learned_at, evals, time_s, record)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (run) DO UPDATE SET skeleton = ?2,"
        " target = ?3, place = ?4, learned_at = ?5, evals = ?6, time_s = ?7, record = ?8"
        " WHERE excluded.evals > lesson.evals OR (excluded.evals = lesson.evals AND"
        " excluded.record <> lesson.record AND excluded.learned_at >= lesson.learned_at)",
        err);
    if (!st)
        return false;
    json_t *json = lesson_to_json(l);
    sqlite3_bind_text(st, 1, l->run, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 2, l->kind.skeleton, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 3, l->target, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 4, place_text(&a, l), -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 5, l->learned_at, -1, SQLITE_STATIC);
    sqlite3_bind_int(st, 6, l->n_evals);
    if (isfinite(l->time_s))
        sqlite3_bind_double(st, 7, l->time_s);
    sqlite3_bind_text(st, 8, json_print(&a, json), -1, SQLITE_STATIC);
    json_decref(json);
    bool ok = sqlite3_step(st) == SQLITE_DONE || fail(m, err);
    sqlite3_finalize(st);
    arena_reset(&a);
    *n_new += ok ? sqlite3_changes(m->db) : 0;
    return ok;
}

bool memory_put(struct memory *m, const struct lesson *lessons, int n, int *n_new,
                struct error *err) {
    *n_new = 0;
    bool ok = exec(m, "BEGIN IMMEDIATE", err);
    for (int i = 0; ok && i < n; i++)
        ok = put_one(m, &lessons[i], n_new, err);
    return end(m, ok, err) || error_wrap(err, "write memory %s", m->path);
}

bool memory_prune(struct memory *m, int keep, int *n_removed, struct error *err) {
    *n_removed = 0;
    sqlite3_stmt *st =
        prepare(m,
                "DELETE FROM lesson WHERE run IN (SELECT run FROM (SELECT run,"
                " row_number() OVER (PARTITION BY place ORDER BY learned_at DESC, run) AS age,"
                " row_number() OVER (PARTITION BY place ORDER BY time_s IS NULL, time_s, run)"
                " AS rank FROM lesson) WHERE age > ?1 AND rank > 1)",
                err);
    if (!st)
        return error_wrap(err, "memory %s", m->path);
    sqlite3_bind_int(st, 1, keep);
    bool ok = sqlite3_step(st) == SQLITE_DONE || fail(m, err);
    sqlite3_finalize(st);
    *n_removed = ok ? sqlite3_changes(m->db) : 0;
    return (ok && exec(m, "VACUUM", err)) || error_wrap(err, "memory %s", m->path);
}
