// Memory: one SQLite file, `$XDG_DATA_HOME/hone/memory.db`, with a lesson (record/lesson.h) for
// every run that came to its end here, whatever store the run itself is in.
//
// What it says is summed up over lessons for each question. A lesson belongs to a run by its random
// identity, so that a run which is resumed, imported or merged again replaces its lesson. Nothing
// depends on the file: without it a search takes longer, and that is all.
//
// Each call is one transaction. The journal is the plain one (no WAL): a run reads once and writes
// once, two runs at once wait for each other for a moment, and the file can be copied, or be
// read in a directory that may not be written.
#pragma once

#include <stdbool.h>

#include "record/lesson.h"

struct arena;
struct error;
struct memory;

enum { MEMORY_SCHEMA = 1 };

// The file that is meant: `named`, or where `named` is NULL or "" the user's own. NULL: there is
// none since neither XDG_DATA_HOME nor HOME is set.
const char *memory_path(struct arena *a, const char *named);

// With `create` a missing file is made; else it is ERROR_USAGE and nothing is written. A newer
// schema is ERROR_UNSUPPORTED.
bool memory_open(struct memory **out, const char *path, bool create, struct error *err);
void memory_close(struct memory *m);

// Which lessons: of this skeleton, for this target; NULL: any.
struct memory_filter {
    const char *skeleton, *target;
};

// Newest first.
bool memory_list(struct memory *m, struct arena *a, const struct memory_filter *filter,
                 struct lesson **lessons, int *n, struct error *err);

// Add lessons, all or none. One whose run is there replaces it unless it tells less. *n_new says
// how many were added or replaced.
bool memory_put(struct memory *m, const struct lesson *lessons, int n, int *n_new,
                struct error *err);

// Of lessons on the same kind, sizes and device keep the `keep` newest and the one with the fastest
// champion; *n_removed says how many went.
bool memory_prune(struct memory *m, int keep, int *n_removed, struct error *err);
