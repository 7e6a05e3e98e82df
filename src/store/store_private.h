// What the files of the store share: the connection and its small helpers.
#pragma once

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>

#include "store/store.h"

struct store {
    sqlite3 *db;  // NULL: it keeps nothing
    char *path;
    int lock_fd;  // of the file next to the database that holds the runs' locks; -1: not open
};

// Say what the database's last result code means, in words that name the remedy.
bool store_fail(struct store *s, struct error *err);

// A prepared statement, or NULL and `err`.
sqlite3_stmt *store_prepare(struct store *s, const char *sql, struct error *err);

// Run a statement that gives no rows, and finalize it.
bool store_finish(struct store *s, sqlite3_stmt *st, struct error *err);

// Bind the compact JSON of a record and release it.
void store_bind_json(sqlite3_stmt *st, int index, json_t *json);

// The JSON text in column `column` of the current row, parsed; NULL and `err` when it is none.
json_t *store_column_json(sqlite3_stmt *st, int column, struct error *err);
