// Queries on nodes.
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "record/run.h"
#include "store/store_private.h"

bool store_put_node(struct store *s, int64_t run, const struct search_node *n, struct error *err) {
    if (!s->db)
        return true;
    // ON CONFLICT rather than REPLACE, which would delete the row that children refer to.
    sqlite3_stmt *st = store_prepare(
        s,
        "INSERT INTO node (run, number, parent, verdict, time_s, record)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        " ON CONFLICT (run, number) DO UPDATE SET parent = excluded.parent,"
        " verdict = excluded.verdict, time_s = excluded.time_s, record = excluded.record",
        err);
    if (!st)
        return error_wrap(err, "store node %lld.%d in %s", (long long)run, n->number, s->path);
    sqlite3_bind_int64(st, 1, run);
    sqlite3_bind_int(st, 2, n->number);
    if (n->parent >= 0)
        sqlite3_bind_int(st, 3, n->parent);
    if (n->state == NODE_EVALUATED) {
        sqlite3_bind_text(st, 4, verdict_kind_name(n->verdict.kind), -1, SQLITE_STATIC);
        if (isfinite(n->time_s))
            sqlite3_bind_double(st, 5, n->time_s);
    }
    store_bind_json(st, 6, search_node_to_json(n));
    return store_finish(s, st, err) ||
           error_wrap(err, "store node %lld.%d in %s", (long long)run, n->number, s->path);
}

static bool read_node(sqlite3_stmt *st, struct arena *a, struct search_node *n, struct error *err) {
    json_t *json = store_column_json(st, 0, err);
    if (!json)
        return false;
    bool ok = search_node_from_json(a, json, n, err);
    json_decref(json);
    return ok;
}

static bool count_nodes(struct store *s, int64_t run, int *n, struct error *err) {
    sqlite3_stmt *st = store_prepare(s, "SELECT count(*) FROM node WHERE run = ?1", err);
    if (!st)
        return false;
    sqlite3_bind_int64(st, 1, run);
    bool ok = sqlite3_step(st) == SQLITE_ROW || store_fail(s, err);
    *n = ok ? sqlite3_column_int(st, 0) : 0;
    sqlite3_finalize(st);
    return ok;
}

bool store_get_nodes(struct store *s, struct arena *a, int64_t run, struct search_node **nodes,
                     int *n_nodes, struct error *err) {
    int room;
    *n_nodes = 0;
    *nodes = NULL;
    if (!s->db)
        return true;
    if (!count_nodes(s, run, &room, err))
        return error_wrap(err, "read %s", s->path);
    *nodes = arena_array(a, struct search_node, room > 0 ? room : 1);
    sqlite3_stmt *st =
        store_prepare(s, "SELECT record FROM node WHERE run = ?1 ORDER BY number LIMIT ?2", err);
    if (!st)
        return error_wrap(err, "read %s", s->path);
    sqlite3_bind_int64(st, 1, run);
    sqlite3_bind_int(st, 2, room);
    bool ok = true;
    int code;
    while (ok && (code = sqlite3_step(st)) == SQLITE_ROW) {
        struct search_node *n = *nodes + *n_nodes;
        ok = read_node(st, a, n, err);
        if (ok && n->number != *n_nodes)
            ok = error_set(err, ERROR_IO, "node %d is missing", *n_nodes);
        *n_nodes += ok;
    }
    if (ok && code != SQLITE_DONE)
        ok = store_fail(s, err);
    sqlite3_finalize(st);
    return ok || error_wrap(err, "read nodes of run %lld in %s", (long long)run, s->path);
}
