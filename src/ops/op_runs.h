// Looking at runs: what `runs`, `show` and `report` share.
#pragma once

#include <stdbool.h>

#include "report/report.h"

struct arena;
struct error;
struct problem;
struct store;
struct target;

// Open the store that was named, else the one of the settings, else `.hone` found upward.
bool op_open_store(struct arena *a, const char *named, bool create, struct store **out,
                   struct error *err);

// " --store PATH" for a command line that uses the store that was named; NULL where none was.
const char *op_store_option(struct arena *a, const char *named);

// Read one run with its nodes.
bool op_read_run(struct arena *a, struct store *s, int64_t id, struct run_view *v,
                 struct error *err);

// All runs, newest first, without their nodes.
bool op_runs(struct arena *a, const char *store, struct run_view **views, int *n_views,
             struct error *err);

// The run that "", "last", "3" or "3.7" means; *node is 7 for the last, else -1.
bool op_show(struct arena *a, const char *store, const char *name, struct run_view *v, int *node,
             struct error *err);

// Remove runs by name, all or none.
bool op_remove_runs(struct arena *a, const char *store, const char *const *names, int n_names,
                    struct error *err);

// The problem that a run is about, from its stored text.
bool op_stored_problem(struct arena *a, const struct run *run, struct problem **problem,
                       struct error *err);

// Its graph, a line per node; NULL where the text cannot be read any more.
const char *op_run_graph(struct arena *a, const struct run *run);

// The device of a run with what it could do when the run last asked; *found is false where the
// record does not say.
bool op_stored_target(struct arena *a, struct store *s, const struct run *run, struct target *t,
                      bool *found, struct error *err);
