// Exchanges with models, and judgements: rows of a run, written in order, read back in order.
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "record/exchange.h"
#include "record/judgement.h"
#include "store/store_private.h"

// The next number of a table's rows of this run.
static bool next_number(struct store *s, const char *sql, int64_t run, int *number,
                        struct error *err) {
    sqlite3_stmt *st = store_prepare(s, sql, err);
    if (!st)
        return false;
    sqlite3_bind_int64(st, 1, run);
    bool ok = sqlite3_step(st) == SQLITE_ROW || store_fail(s, err);
    *number = ok ? sqlite3_column_int(st, 0) + 1 : 0;
    sqlite3_finalize(st);
    return ok;
}

// A question that is about to be asked must outlive us, not a power cut: it is in the log for the
// answer to be synchronised with, and asked again where that never came. This halves what an
// exchange waits for the disk.
static void synchronise(struct store *s, bool fully) {
    sqlite3_exec(s->db, fully ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", NULL,
                 NULL, NULL);
}

bool store_put_exchange(struct store *s, int64_t run, struct exchange *e, struct error *err) {
    if (e->number == 0 &&
        !next_number(s, "SELECT max(number) FROM exchange WHERE run = ?1", run, &e->number, err))
        return error_wrap(err, "store an exchange in %s", s->path);
    sqlite3_stmt *st =
        store_prepare(s,
                      "INSERT INTO exchange (run, number, node, step, state, record)"
                      " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (run, number) DO UPDATE SET"
                      " state = excluded.state, record = excluded.record",
                      err);
    if (!st)
        return error_wrap(err, "store an exchange in %s", s->path);
    sqlite3_bind_int64(st, 1, run);
    sqlite3_bind_int(st, 2, e->number);
    sqlite3_bind_int(st, 3, e->node);
    sqlite3_bind_int(st, 4, e->step);
    sqlite3_bind_text(st, 5, exchange_state_name(e->state), -1, SQLITE_STATIC);
    store_bind_json(st, 6, exchange_to_json(e));
    synchronise(s, e->state != EXCHANGE_ASKED);
    bool ok = store_finish(s, st, err) || error_wrap(err, "store an exchange in %s", s->path);
    synchronise(s, true);
    return ok;
}

bool store_add_judgement(struct store *s, int64_t run, struct judgement *j, struct error *err) {
    if (!next_number(s, "SELECT max(number) FROM judgement WHERE run = ?1", run, &j->number, err))
        return error_wrap(err, "store a judgement in %s", s->path);
    sqlite3_stmt *st = store_prepare(
        s, "INSERT INTO judgement (run, number, subject, record) VALUES (?1, ?2, ?3, ?4)", err);
    if (!st)
        return error_wrap(err, "store a judgement in %s", s->path);
    sqlite3_bind_int64(st, 1, run);
    sqlite3_bind_int(st, 2, j->number);
    sqlite3_bind_text(st, 3, j->subject, -1, SQLITE_STATIC);
    store_bind_json(st, 4, judgement_to_json(j));
    return store_finish(s, st, err) || error_wrap(err, "store a judgement in %s", s->path);
}

bool store_drop_judgements(struct store *s, int64_t run, const char *subject, bool but_races,
                           struct error *err) {
    sqlite3_stmt *st = store_prepare(s,
                                     "DELETE FROM judgement WHERE run = ?1 AND subject = ?2 AND"
                                     " NOT (?3 AND json_extract(record, '$.depth') = 'race')",
                                     err);
    if (!st)
        return false;
    sqlite3_bind_int(st, 3, but_races);
    sqlite3_bind_int64(st, 1, run);
    sqlite3_bind_text(st, 2, subject, -1, SQLITE_STATIC);
    return store_finish(s, st, err);
}

// A store of schema 1 that is only read has neither table, and no rows.
static bool has_table(struct store *s, const char *name) {
    struct error ignored = {0};
    sqlite3_stmt *st = store_prepare(
        s, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1", &ignored);
    if (!st)
        return false;
    sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
    bool found = sqlite3_step(st) == SQLITE_ROW;
    sqlite3_finalize(st);
    return found;
}

// Rows of a table as an array of `size` bytes each, filled by `read`.
struct rows {
    const char *table, *sql;
    size_t size;
    bool (*read)(struct arena *a, const json_t *json, void *into, struct error *err);
};

static bool read_exchange(struct arena *a, const json_t *json, void *into, struct error *err) {
    return exchange_from_json(a, json, into, err);
}

static bool read_judgement(struct arena *a, const json_t *json, void *into, struct error *err) {
    return judgement_from_json(a, json, into, err);
}

static bool read_rows(struct store *s, struct arena *a, int64_t run, const struct rows *rows,
                      void **out, int *n, struct error *err) {
    sqlite3_stmt *st = store_prepare(s, rows->sql, err);
    if (!st)
        return false;
    sqlite3_bind_int64(st, 1, run);
    int room = 0, code = SQLITE_DONE;
    bool ok = true;
    while (ok && (code = sqlite3_step(st)) == SQLITE_ROW) {
        if (*n == room) {
            room = room ? 2 * room : 16;
            char *more = arena_alloc(a, rows->size * (size_t)room);
            if (*n > 0)
                memcpy(more, *out, rows->size * (size_t)*n);
            *out = more;
        }
        json_t *json = store_column_json(st, 0, err);
        ok = json && rows->read(a, json, (char *)*out + rows->size * (size_t)*n, err);
        json_decref(json);
        *n += ok;
    }
    if (ok && code != SQLITE_DONE)
        ok = store_fail(s, err);
    sqlite3_finalize(st);
    return ok;
}

static bool get_rows(struct store *s, struct arena *a, int64_t run, const struct rows *rows,
                     void **out, int *n, struct error *err) {
    *n = 0;
    *out = arena_alloc(a, rows->size);
    return !has_table(s, rows->table) || read_rows(s, a, run, rows, out, n, err) ||
           error_wrap(err, "read run %lld in %s", (long long)run, s->path);
}

bool store_get_exchanges(struct store *s, struct arena *a, int64_t run, struct exchange **out,
                         int *n, struct error *err) {
    static const struct rows rows = {"exchange",
                                     "SELECT record FROM exchange WHERE run = ?1 ORDER BY number",
                                     sizeof(struct exchange), read_exchange};
    void *array;
    bool ok = get_rows(s, a, run, &rows, &array, n, err);
    *out = array;
    return ok;
}

bool store_get_judgements(struct store *s, struct arena *a, int64_t run, struct judgement **out,
                          int *n, struct error *err) {
    static const struct rows rows = {"judgement",
                                     "SELECT record FROM judgement WHERE run = ?1 ORDER BY number",
                                     sizeof(struct judgement), read_judgement};
    void *array;
    bool ok = get_rows(s, a, run, &rows, &array, n, err);
    *out = array;
    return ok;
}
