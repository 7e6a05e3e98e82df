// The store: one SQLite file, `./.hone/runs.db`, holding every run step by step.
//
// A call that returns true is durable: kill -9 after it loses nothing. One connection
// writes; a store written by a newer hone is refused; one by an older is migrated.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/run.h"

struct arena;
struct error;
struct exchange;
struct judgement;
struct store;

enum { STORE_SCHEMA = 3 };

// `path` NULL: `.hone/runs.db` found upward from here, else made here (with a `.gitignore`
// of `*`); a directory means the `runs.db` in it. With `create` false a missing store is
// ERROR_USAGE and nothing is ever written. A newer schema is ERROR_UNSUPPORTED.
bool store_open(struct store **out, const char *path, bool create, struct error *err);
// One that keeps nothing, for runs that nobody resumes or reads: writing does nothing, and there
// are no nodes.
struct store *store_open_none(void);
void store_close(struct store *s);
const char *store_path(const struct store *s);

// Several calls as one: all that is written between the two is durable once the second returns
// true, and none of it otherwise. With `ok` false it is undone, and `err` stays as it is.
bool store_begin(struct store *s, struct error *err);
bool store_end(struct store *s, bool ok, struct error *err);

// Runs. store_add_run fills run->id.
bool store_add_run(struct store *s, struct run *run, struct error *err);
bool store_update_run(struct store *s, const struct run *run, struct error *err);
bool store_get_run(struct store *s, struct arena *a, int64_t id, struct run *run,
                   struct error *err);
// All runs, newest first, at most `limit`.
bool store_list_runs(struct store *s, struct arena *a, int limit, struct run **runs, int *n_runs,
                     struct error *err);
// "last", "" or a number -> id.
bool store_find_run(struct store *s, const char *name, int64_t *id, struct error *err);

// Work on a run belongs to one process: ERROR_USAGE when another has it. The lock goes with
// the store, or with the process. A run that is active and not locked was killed.
bool store_lock_run(struct store *s, int64_t run, struct error *err);
bool store_run_is_locked(const struct store *s, int64_t run);

// Remove a run with all that belongs to it; refused while some process works on it. Its number is
// not given again. The file keeps its size until store_shrink.
bool store_remove_run(struct store *s, int64_t run, struct error *err);
bool store_shrink(struct store *s, struct error *err);

// Nodes. Writing a node of a number that is there replaces it (proposed -> evaluated).
bool store_put_node(struct store *s, int64_t run, const struct search_node *n, struct error *err);
bool store_get_nodes(struct store *s, struct arena *a, int64_t run, struct search_node **nodes,
                     int *n_nodes, struct error *err);

// Exchanges with models. One without a number gets the next; one with a number is replaced
// (asked -> answered).
bool store_put_exchange(struct store *s, int64_t run, struct exchange *e, struct error *err);
bool store_get_exchanges(struct store *s, struct arena *a, int64_t run, struct exchange **out,
                         int *n, struct error *err);

// What the judge said, in order. Those of a subject are dropped when it is judged anew because
// the process that had it judged was killed before the node was stored.
bool store_add_judgement(struct store *s, int64_t run, struct judgement *j, struct error *err);
// `but_races`: what a race said of it stays.
bool store_drop_judgements(struct store *s, int64_t run, const char *subject, bool but_races,
                           struct error *err);
bool store_get_judgements(struct store *s, struct arena *a, int64_t run, struct judgement **out,
                          int *n, struct error *err);
