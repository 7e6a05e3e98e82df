// Queries on runs; what a run's columns say wins over its stored record.
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "record/run.h"
#include "store/store_private.h"

static void bind_run(sqlite3_stmt *st, const struct run *run) {
    sqlite3_bind_text(st, 1, run_state_name(run->state), -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 2, run->problem_name, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 3, run->started_at, -1, SQLITE_STATIC);
    store_bind_json(st, 4, run_to_json(run));
}

bool store_add_run(struct store *s, struct run *run, struct error *err) {
    sqlite3_stmt *st = store_prepare(
        s, "INSERT INTO run (state, problem, started_at, record) VALUES (?1, ?2, ?3, ?4)", err);
    if (!st)
        return error_wrap(err, "store a new run in %s", s->path);
    bind_run(st, run);
    if (!store_finish(s, st, err))
        return error_wrap(err, "store a new run in %s", s->path);
    run->id = sqlite3_last_insert_rowid(s->db);
    return true;
}

bool store_update_run(struct store *s, const struct run *run, struct error *err) {
    if (!s->db)
        return true;
    sqlite3_stmt *st = store_prepare(
        s, "UPDATE run SET state = ?1, problem = ?2, started_at = ?3, record = ?4 WHERE id = ?5",
        err);
    if (!st)
        return error_wrap(err, "store run %lld in %s", (long long)run->id, s->path);
    bind_run(st, run);
    sqlite3_bind_int64(st, 5, run->id);
    return store_finish(s, st, err) ||
           error_wrap(err, "store run %lld in %s", (long long)run->id, s->path);
}

// Columns: id, record, number of nodes. The row's id and count win over the record's: the
// record is written before the id is known and is not rewritten for every node.
static bool read_run(sqlite3_stmt *st, struct arena *a, struct run *run, struct error *err) {
    json_t *json = store_column_json(st, 1, err);
    if (!json)
        return false;
    bool ok = run_from_json(a, json, run, err);
    json_decref(json);
    run->id = sqlite3_column_int64(st, 0);
    run->n_nodes = sqlite3_column_int(st, 2);
    return ok;
}

#define RUN_COLUMNS "id, record, (SELECT count(*) FROM node WHERE run = run.id)"

bool store_get_run(struct store *s, struct arena *a, int64_t id, struct run *run,
                   struct error *err) {
    sqlite3_stmt *st = store_prepare(s, "SELECT " RUN_COLUMNS " FROM run WHERE id = ?1", err);
    if (!st)
        return error_wrap(err, "read %s", s->path);
    sqlite3_bind_int64(st, 1, id);
    bool ok = false;
    int code = sqlite3_step(st);
    if (code == SQLITE_ROW)
        ok = read_run(st, a, run, err) ||
             error_wrap(err, "read run %lld of %s", (long long)id, s->path);
    else if (code == SQLITE_DONE)
        error_set(err, ERROR_USAGE, "there is no run %lld in %s", (long long)id, s->path);
    else
        store_fail(s, err);
    sqlite3_finalize(st);
    return ok;
}

bool store_list_runs(struct store *s, struct arena *a, int limit, struct run **runs, int *n_runs,
                     struct error *err) {
    *n_runs = 0;
    sqlite3_stmt *st =
        store_prepare(s, "SELECT " RUN_COLUMNS " FROM run ORDER BY id DESC LIMIT ?1", err);
    if (!st)
        return error_wrap(err, "read %s", s->path);
    sqlite3_bind_int(st, 1, limit);
    *runs = NULL;
    int room = 0, code;
    bool ok = true;
    while (ok && (code = sqlite3_step(st)) == SQLITE_ROW) {
        if (*n_runs == room) {
            struct run *more = arena_array(a, struct run, room = room ? 2 * room : 16);
            if (*n_runs > 0)
                memcpy(more, *runs, sizeof **runs * (size_t)*n_runs);
            *runs = more;
        }
        ok = read_run(st, a, *runs + *n_runs, err);
        *n_runs += ok;
    }
    if (ok && code != SQLITE_DONE)
        ok = store_fail(s, err);
    sqlite3_finalize(st);
    return ok || error_wrap(err, "read %s", s->path);
}

static bool newest(struct store *s, int64_t *id, struct error *err) {
    sqlite3_stmt *st = store_prepare(s, "SELECT max(id) FROM run", err);
    if (!st)
        return false;
    bool ok = sqlite3_step(st) == SQLITE_ROW || store_fail(s, err);
    *id = ok ? sqlite3_column_int64(st, 0) : 0;
    sqlite3_finalize(st);
    return ok;
}

bool store_find_run(struct store *s, const char *name, int64_t *id, struct error *err) {
    int64_t last;
    if (!newest(s, &last, err))
        return error_wrap(err, "read %s", s->path);
    if (last == 0)
        return error_set(err, ERROR_USAGE, "there are no runs in %s yet", s->path);
    if (!name || !*name || strcmp(name, "last") == 0) {
        *id = last;
        return true;
    }
    long long number;
    if (!str_to_int64(name, &number))
        return error_set(err, ERROR_USAGE, "'%s' is not a run; give a number or 'last'", name);
    if (number < 1 || number > last)
        return error_set(err, ERROR_USAGE, "there is no run %lld; the newest in %s is %lld", number,
                         s->path, (long long)last);
    *id = number;
    return true;
}

bool store_remove_run(struct store *s, int64_t run, struct error *err) {
    static const char *const statements[] = {
        "DELETE FROM judgement WHERE run = ?1", "DELETE FROM exchange WHERE run = ?1",
        "DELETE FROM node WHERE run = ?1", "DELETE FROM run WHERE id = ?1"};
    struct arena a = {0};
    struct run there;
    bool ok = store_get_run(s, &a, run, &there, err);
    arena_reset(&a);
    if (!ok)
        return false;
    if (store_run_is_locked(s, run))
        return error_set(err, ERROR_USAGE, "run %lld is being worked on", (long long)run);
    if (!store_begin(s, err))
        return false;
    for (size_t i = 0; ok && i < sizeof statements / sizeof statements[0]; i++) {
        sqlite3_stmt *st = store_prepare(s, statements[i], err);
        ok = st != NULL;
        if (!ok)
            break;
        sqlite3_bind_int64(st, 1, run);
        ok = sqlite3_step(st) == SQLITE_DONE || store_fail(s, err);
        sqlite3_finalize(st);
    }
    return store_end(s, ok, err);
}

bool store_shrink(struct store *s, struct error *err) {
    return sqlite3_exec(s->db, "VACUUM", NULL, NULL, NULL) == SQLITE_OK || store_fail(s, err);
}
